// Command warpwatch-agent samples the GPUs of a node and serves what it reads, to Prometheus and to Warpwatch's live
// panels. See --help.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/prometheus/common/promslog"

	"github.com/warpwatch/warpwatch/node-agent/internal/config"
	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	nvmlsource "github.com/warpwatch/warpwatch/node-agent/internal/nvml"
	"github.com/warpwatch/warpwatch/node-agent/internal/simulate"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// version is set by the linker.
var version string

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program. It returns the exit status: 0, 1 when something failed, 2 when the command line is wrong.
func run(args []string, stdout, stderr io.Writer) int {
	// From the start on: nobody who asks early for a reload, or for an end, means to cut the agent off.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := config.Parse(args, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "warpwatch-agent:", err)
		return 2
	}
	c.Log.Writer = stderr
	log := promslog.New(&c.Log)
	if c.Command != config.ServeCommand {
		signal.Reset(syscall.SIGHUP)
	}
	switch c.Command {
	case config.VersionCommand:
		fmt.Fprintln(stdout, "warpwatch-agent", versionName())
	case config.HistoryCommand:
		err = writeHistory(ctx, c.History, stdout)
	case config.ReplayCommand:
		err = serveReplay(ctx, c.Replay, log)
	case config.ServeCommand:
		err = serve(ctx, c.Serve, hangups, log)
	case config.RulesCommand:
		err = printRules(c.Rules, stdout)
	case config.NoCommand:
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(stderr, "warpwatch-agent:", err)
		return 1
	}
	return 0
}

// versionName is the version that this binary was built as.
func versionName() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// source is where readings come from.
func source(c config.Serve, log *slog.Logger) (device.Source, error) {
	if c.Source == config.SourceSimulate {
		return simulate.New(c.Simulate, time.Now)
	}
	return nvmlsource.New(nvml.New(), nvmlsource.Options{Logger: log}), nil
}

func writeHistory(ctx context.Context, c config.History, stdout io.Writer) error {
	s, err := simulate.New(c.Simulate, time.Now)
	if err != nil {
		return err
	}
	_, rows, err := loadCatalog()
	if err != nil {
		return err
	}
	node := snapshot.Node{
		Cluster: c.Cluster, Name: c.Simulate.Node, Version: versionName(), Source: s.Name(), Epoch: "history", Period: c.Step,
	}
	out := bufio.NewWriterSize(stdout, 1<<18)
	if err := s.WriteHistory(ctx, out, node, rows, c.From, c.To); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

func loadCatalog() (*catalog.Catalog, *snapshot.Rows, error) {
	c, err := catalog.Load()
	if err != nil {
		return nil, nil, err
	}
	rows, err := snapshot.LoadRows(c)
	return c, rows, err
}
