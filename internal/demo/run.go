package demo

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/warpwatch/warpwatch/internal/build"
	"github.com/warpwatch/warpwatch/internal/console"
)

// twoWeeks is the history that an empty database is given.
const twoWeeks = 14 * 24 * time.Hour

// untilTold ends when the process is told to stop, or when the command that started it is gone: `go tool` and Mage each run
// the next as a child, and one that is killed does not tell its own.
func untilTold(ctx context.Context) (_ context.Context, stop func()) {
	ctx, stopSignals := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	parent := os.Getppid()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if os.Getppid() != parent {
					cancel()
				}
			}
		}
	}()
	return ctx, func() {
		cancel()
		stopSignals()
		<-watched
	}
}

// Build makes everything a stack runs, the slowest part first. What is up to date takes no time.
func Build(ctx context.Context, b build.Builder) error {
	for _, step := range []func(context.Context) error{
		b.Prometheus, b.Packages, b.Backend, b.Agent, b.Backfill, b.Preview, b.Frontend, b.PreviewPage,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Run builds and shows the demo until ctx ends or the process is told to stop.
func Run(ctx context.Context, root string, c *console.Console) error {
	ctx, stop := untilTold(ctx)
	defer stop()
	start := time.Now()
	topology, err := FixedPorts(os.Getenv(portBaseVariable))
	if err != nil {
		return err
	}
	c.Print("Building what has changed")
	if err := Build(ctx, build.Builder{Root: root, Console: c}); err != nil {
		return err
	}
	c.Print("Starting the demo")
	stack, err := Start(ctx, Options{
		Root: root, Folder: Folder(filepath.Join(root, ".cache", "demo")), Topology: topology, History: twoWeeks, Console: c, Getenv: os.Getenv,
	})
	if err != nil {
		return err
	}
	defer stack.Stop()
	c.Print("\nWarpwatch is at %s  (ready after %s, logs in %s, Ctrl-C stops it)", stack.DashboardURL(),
		time.Since(start).Round(time.Second), relative(root, stack.folder.Logs()))
	if err := stack.Wait(ctx); err != nil {
		return err
	}
	c.Print("\nStopping")
	return nil
}

func relative(root, path string) string {
	if short, err := filepath.Rel(root, path); err == nil {
		return short
	}
	return path
}

// WithStack runs use against a stack on free ports, and stops it. It keeps its history apart from the demo's, so that
// both can run at the same time.
func WithStack(ctx context.Context, root string, c *console.Console, use func(context.Context, *Stack) error) (err error) {
	ctx, stop := untilTold(ctx)
	defer stop()
	topology, err := FreePorts()
	if err != nil {
		return err
	}
	stack, err := Start(ctx, Options{
		Root: root, Folder: Folder(filepath.Join(root, ".cache", "check")), Topology: topology, History: twoWeeks, Console: c, Getenv: os.Getenv,
	})
	if err != nil {
		return err
	}
	defer stack.Stop()
	c.Print("  the stack is at %s, logs in %s", stack.URL(), relative(root, stack.folder.Logs()))
	return use(ctx, stack)
}
