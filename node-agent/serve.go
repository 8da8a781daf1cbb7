package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"time"

	oklog "github.com/oklog/run"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/warpwatch/warpwatch/node-agent/internal/collect"
	"github.com/warpwatch/warpwatch/node-agent/internal/config"
	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/export"
	"github.com/warpwatch/warpwatch/node-agent/internal/replay"
	"github.com/warpwatch/warpwatch/node-agent/internal/server"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

// maxReadings bounds the memory that the past may take, at 16 bytes each.
const maxReadings = 2 << 20

// serve samples and serves until ctx ends.
func serve(ctx context.Context, c config.Serve, log *slog.Logger) error {
	src, err := source(c, log)
	if err != nil {
		return err
	}
	cat, rows, err := loadCatalog()
	if err != nil {
		return err
	}
	epoch, err := newEpoch()
	if err != nil {
		return err
	}
	node := snapshot.Node{
		Cluster: c.Cluster, Name: c.Node, Version: versionName(), Source: src.Name(), Epoch: epoch, Period: c.Interval,
	}
	store := snapshot.NewStore(int(c.Ring/c.Interval)+1, maxReadings)
	own := ownRegistry(node, store)
	collector := collect.New(collect.Options{
		Source: src, Store: store, Node: node, Rows: rows, Metrics: collect.NewMetrics(own), Logger: log,
		Schedule: c.Schedule,
	})

	webConfig, err := server.ReadWebConfig(c.WebConfigFile)
	if err != nil {
		return err
	}
	access, err := server.NewAccess(server.AccessOptions{
		Users: webConfig.Users, TokenFile: c.TokenFile, ClientCerts: webConfig.ClientCerts,
	})
	if err != nil {
		return err
	}
	scheme := "http"
	if webConfig.TLS != nil {
		scheme = "https"
	}
	exporter, err := export.New(export.Options{
		Store: store, Node: node, Identity: export.Identity{Address: c.Advertise, Scheme: scheme}, Catalog: cat,
		Settings: export.Settings{Window: export.DefaultWindow, Windowed: export.FastGroups()},
	})
	if err != nil {
		return err
	}
	web, err := server.New(server.Options{
		Node: node, Store: store, Empty: snapshot.NewSchema(node, "", nil, device.AllGroups, rows),
		Metrics: export.Handler(export.HandlerOptions{Exporter: exporter, Own: own, Logger: log}),
		Access:  access, TLS: webConfig.TLS, Headers: webConfig.Headers, MaxSubscribers: c.MaxSubscribers, Limiter: webConfig.Limiter,
		Registerer: own,
		Logger:     log,
	})
	if err != nil {
		return err
	}
	listeners, err := listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	if access == nil {
		warnOpen(listeners, log)
	}
	log.Info("Starting", "version", node.Version, "node", node.Name, "from", node.Source, "every", node.Period)

	var group oklog.Group
	group.Add(actor(ctx, collector.Run))
	group.Add(actor(ctx, func(ctx context.Context) error { return web.Run(ctx, listeners) }))
	err = group.Run()
	log.Info("Stopped")
	return err
}

// actor runs f until the group is interrupted, or ctx ends.
func actor(ctx context.Context, f func(context.Context) error) (execute func() error, interrupt func(error)) {
	ctx, cancel := context.WithCancel(ctx)
	return func() error { return f(ctx) }, func(error) { cancel() }
}

// newEpoch names this run of the agent.
func newEpoch() (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("name this run: %w", err)
	}
	return time.Now().UTC().Format("20060102T150405Z-") + hex.EncodeToString(b[:]), nil
}

// ownRegistry holds the agent's figures about itself.
func ownRegistry(node snapshot.Node, store *snapshot.Store) *prometheus.Registry {
	own := prometheus.NewRegistry()
	own.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "warpwatch_agent_build_info", Help: "What this agent was built from; always 1.",
			ConstLabels: prometheus.Labels{"version": node.Version, "goversion": runtime.Version()},
		}, func() float64 { return 1 }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "warpwatch_agent_ring_samples", Help: "Samples of the past that are kept for the live stream.",
		}, func() float64 {
			frames, _ := store.Kept()
			return float64(frames)
		}),
	)
	return own
}

// listen opens all addresses, or none.
func listen(ctx context.Context, addresses []string) ([]net.Listener, error) {
	var listeners []net.Listener
	for _, address := range addresses {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			errs := []error{fmt.Errorf("%w: choose another with --web.listen-address", err)}
			for _, open := range listeners {
				errs = append(errs, open.Close())
			}
			return nil, errors.Join(errs...)
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// warnOpen says so when the network can read what the agent knows.
func warnOpen(listeners []net.Listener, log *slog.Logger) {
	for _, l := range listeners {
		if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
			log.Warn("Everybody who can reach this address can read the GPUs' metrics; set --web.config.file or --web.bearer-token-file",
				"address", l.Addr().String())
		}
	}
}

// serveReplay serves files until ctx ends.
func serveReplay(ctx context.Context, c config.Replay, log *slog.Logger) error {
	files, err := replay.Load(c.Path, c.AllowInvalid, log)
	if err != nil {
		return err
	}
	listeners, err := listen(ctx, []string{c.Listen})
	if err != nil {
		return err
	}
	hs := &http.Server{Handler: replay.Handler(files), ReadHeaderTimeout: 10 * time.Second}
	log.Info("Replaying", "files", len(files), "address", listeners[0].Addr().String())
	stopped := make(chan error, 1)
	go func() { stopped <- hs.Serve(listeners[0]) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("serve %s: %w", c.Listen, err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err = hs.Shutdown(grace)
	if serr := <-stopped; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve %s: %w", c.Listen, serr))
	}
	return err
}
