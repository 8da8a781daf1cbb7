package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"time"

	oklog "github.com/oklog/run"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/warpwatch/warpwatch/node-agent/internal/clock"
	"github.com/warpwatch/warpwatch/node-agent/internal/collect"
	"github.com/warpwatch/warpwatch/node-agent/internal/config"
	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/export"
	"github.com/warpwatch/warpwatch/node-agent/internal/kernlog"
	"github.com/warpwatch/warpwatch/node-agent/internal/server"
	"github.com/warpwatch/warpwatch/node-agent/internal/simulate"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/node-agent/internal/wish"
	"github.com/warpwatch/warpwatch/node-agent/internal/workload"
	"github.com/warpwatch/warpwatch/node-agent/internal/workload/otlp"
)

// maxPast bounds the memory that the past may take, in bytes.
const maxPast = 8 << 20

// serve samples and serves until ctx ends, and reads its configuration again at each hangup.
func serve(ctx context.Context, c config.Serve, hangups <-chan os.Signal, log *slog.Logger) error {
	a, err := newAgent(c, log)
	if err != nil {
		return err
	}
	a.hangups = hangups
	return a.run(ctx)
}

// agent is everything that serves, put together.
type agent struct {
	started   config.Serve
	node      snapshot.Node
	store     *snapshot.Store
	owners    *snapshot.Latest[snapshot.OwnerList]
	source    device.Source
	inputs    *inputs
	collector *collect.Collector
	exporter  *export.Exporter
	loader    *config.Loader
	web       *server.Server
	open      bool // everybody may read
	hangups   <-chan os.Signal
	log       *slog.Logger
}

func newAgent(c config.Serve, log *slog.Logger) (*agent, error) {
	src, err := source(c, log)
	if err != nil {
		return nil, err
	}
	webConfig, err := server.ReadWebConfig(c.WebConfigFile)
	if err != nil {
		return nil, err
	}
	identity := export.Identity{Address: c.Advertise, Scheme: "http"}
	if webConfig.TLS != nil {
		identity.Scheme = "https"
	}
	cat, rows, err := loadCatalog()
	if err != nil {
		return nil, err
	}
	epoch, err := newEpoch()
	if err != nil {
		return nil, err
	}
	a := &agent{
		started: c, source: src, log: log, owners: new(snapshot.Latest[snapshot.OwnerList]),
		store: snapshot.NewStore(c.Ring, maxPast),
		node: snapshot.Node{
			Cluster: c.Cluster, Name: c.Node, Version: versionName(), Source: src.Name(), Epoch: epoch, Period: c.Interval,
		},
	}
	wishes := wish.NewBook()
	own := ownRegistry(a.node, a.store)
	events := snapshot.NewEventLog(c.Settings.Events.Keep)
	processes := new(snapshot.Latest[snapshot.ProcessList])
	told := workload.New(workload.Options{Node: c.Node, Cluster: c.Cluster, GPU: a.uuidOf})
	own.MustRegister(workload.NewCollector(told))
	a.inputs = &inputs{
		node: a.node, store: a.store, processes: processes, owners: a.owners, workload: told, own: own, log: log,
		emit: func(e device.Event) { a.collector.Emit(e) },
	}
	a.collector = collect.New(collect.Options{
		Source: src, Store: a.store, Node: a.node, Rows: rows, Metrics: collect.NewMetrics(own), Logger: log,
		Schedule: c.Schedule, Events: events, Processes: processes, Describer: a.describer(), Sources: a.eventSources(own),
		MaxRelease: server.MaxRelease, Wishes: wishes,
	})
	a.exporter, err = export.New(export.Options{
		Store: a.store, Node: a.node, Catalog: cat, Settings: exported(c), Owners: a.owners, Processes: processes,
		Identity: identity,
	})
	if err != nil {
		return nil, err
	}
	a.loader = config.NewLoader(c, a.apply, own, log)

	access, err := server.NewAccess(server.AccessOptions{
		Users: webConfig.Users, TokenFile: c.TokenFile, ClientCerts: webConfig.ClientCerts, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	a.open = access == nil
	receive, err := receiver(c, told, log)
	if err != nil {
		return nil, err
	}
	a.web, err = server.New(server.Options{
		Node: a.node, Store: a.store, Empty: snapshot.NewSchema(a.node, "", nil, c.Schedule.Groups, rows),
		Metrics: export.Handler(export.HandlerOptions{
			Exporter: a.exporter, Own: own, Gatherers: []prometheus.Gatherer{a.inputs}, Appenders: []export.Appender{told}, Logger: log,
		}),
		Access: access, TLS: webConfig.TLS, Headers: webConfig.Headers, MaxSubscribers: c.MaxSubscribers, Limiter: webConfig.Limiter,
		Control: server.Control{Reload: a.reload, Release: a.collector.Release, Resume: a.resume}, Receive: receive,
		Events: events, Processes: processes, Owners: a.owners, Wishes: wishes, Registerer: own, Logger: log,
	})
	return a, err
}

// run samples and serves until ctx ends.
func (a *agent) run(ctx context.Context) error {
	listeners, err := listen(ctx, a.started.Listen)
	if err != nil {
		return err
	}
	if a.open {
		warnOpen(listeners, a.log)
	}
	a.log.Info("Starting", "version", a.node.Version, "node", a.node.Name, "from", a.node.Source, "every", a.node.Period)
	var group oklog.Group
	group.Add(actor(ctx, a.collector.Run))
	group.Add(actor(ctx, func(ctx context.Context) error { return a.inputs.run(ctx, a.started.Settings) }))
	group.Add(actor(ctx, func(ctx context.Context) error { return a.web.Run(ctx, listeners) }))
	group.Add(actor(ctx, a.reloadOnSignal))
	if s, ok := a.source.(*simulate.Source); ok {
		group.Add(actor(ctx, func(ctx context.Context) error { return a.publishOwners(ctx, s) }))
	}
	err = group.Run()
	a.log.Info("Stopped")
	return err
}

// describer names processes: those of a simulated node are known to the simulator.
func (a *agent) describer() collect.Describer {
	if s, ok := a.source.(*simulate.Source); ok {
		return s
	}
	return a.inputs
}

// publishOwners says who was given the boards of a simulated node.
func (a *agent) publishOwners(ctx context.Context, s *simulate.Source) error {
	a.owners.Set(&snapshot.OwnerList{Time: time.Now(), Owners: s.Owners()})
	<-ctx.Done()
	return nil
}

// eventSources tell of events besides the driver: the kernel's log, which knows nothing of simulated boards.
func (a *agent) eventSources(own prometheus.Registerer) []collect.EventSource {
	e := a.started.Settings.Events
	if e.KernelLog == "" || a.node.Source != config.SourceNVML {
		return nil
	}
	return []collect.EventSource{kernlog.New(kernlog.Options{
		Path: e.KernelLog, Since: time.Now().Add(-e.KernelHistory), Registerer: own,
		History: func(event device.Event) { a.collector.Past(event) },
	})}
}

// receiver takes what jobs send over OTLP, nil when it is switched off.
func receiver(c config.Serve, into *workload.Store, log *slog.Logger) (http.Handler, error) {
	o := c.Settings.Workload.OTLP
	if !o.Enabled {
		return nil, nil
	}
	return otlp.New(otlp.Options{Store: into, Node: c.Node, Lifetime: o.Lifetime, Logger: log})
}

// uuidOf is the GPU that a job means by an index.
func (a *agent) uuidOf(index string) (uuid string, ok bool) {
	f := a.store.Newest()
	if f == nil {
		return "", false
	}
	for _, d := range f.Schema.Devices {
		if !d.IsMIG() && strconv.Itoa(d.Index) == index {
			return d.UUID, true
		}
	}
	return "", false
}

// exported is how a configuration shows itself on /metrics.
func exported(c config.Serve) export.Settings {
	s := export.Settings{
		Window: c.Settings.Window, Timestamps: c.Settings.Web.SampleTimestamps, MaxProcesses: c.Settings.Processes.MaxSeries,
	}
	for g := range device.NumGroups {
		if c.Schedule.Groups.Has(g) && c.Schedule.Every[g] <= c.Schedule.Tick {
			s.Windowed |= device.GroupsOf(g)
		}
	}
	return s
}

// apply puts another configuration into effect.
func (a *agent) apply(next config.Serve) error {
	settings := exported(next)
	if err := settings.Check(); err != nil {
		return err
	}
	if err := a.inputs.apply(next.Settings); err != nil {
		return err
	}
	a.collector.Reconfigure(next.Schedule)
	a.exporter.Set(settings)
	return nil
}

func (a *agent) reload(context.Context) ([]string, error) { return a.loader.Reload() }

func (a *agent) resume(context.Context) error {
	a.collector.Resume()
	return nil
}

// reloadOnSignal reads the configuration again at each SIGHUP. What is wrong with it is in the log.
func (a *agent) reloadOnSignal(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.hangups:
			_, _ = a.loader.Reload()
		}
	}
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
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), clock.New(),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "warpwatch_agent_build_info", Help: "What this agent was built from; always 1.",
			ConstLabels: prometheus.Labels{"version": node.Version, "goversion": runtime.Version()},
		}, func() float64 { return 1 }),
		ringGauge("warpwatch_agent_ring_samples", "Samples of the past that are kept for the live stream.", func() float64 {
			frames, _, _ := store.Kept()
			return float64(frames)
		}),
		ringGauge("warpwatch_agent_ring_bytes", "Bytes that the past for the live stream takes.", func() float64 {
			_, bytes, _ := store.Kept()
			return float64(bytes)
		}),
		ringGauge("warpwatch_agent_ring_seconds", "For how long a time samples of the past are kept now.", func() float64 {
			_, _, span := store.Kept()
			return span.Seconds()
		}),
	)
	return own
}

func ringGauge(name, help string, value func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
}
