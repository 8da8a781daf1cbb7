//go:build mage

// Everything a developer or a continuous integration runs. `go tool mage -l` lists it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	// mage:import sdk
	_ "github.com/grafana/grafana-plugin-sdk-go/build"
	"golang.org/x/sync/errgroup"

	"github.com/warpwatch/warpwatch/internal/build"
	"github.com/warpwatch/warpwatch/internal/console"
	"github.com/warpwatch/warpwatch/internal/dashboards"
	"github.com/warpwatch/warpwatch/internal/demo"
	// mage:import demo
	_ "github.com/warpwatch/warpwatch/internal/demo/target"
	"github.com/warpwatch/warpwatch/internal/fuzz"
	"github.com/warpwatch/warpwatch/internal/load"
	"github.com/warpwatch/warpwatch/internal/release"
	"github.com/warpwatch/warpwatch/internal/verify"
)

// Demo starts a simulated fleet, a Prometheus for each cluster and the built plugin, and shows them until Ctrl-C.
func Demo(ctx context.Context) error {
	root, out, err := here()
	if err != nil {
		return err
	}
	return demo.Run(ctx, root, out)
}

// Test runs everything that continuous integration runs.
func Test(ctx context.Context) error {
	root, out, err := here()
	if err != nil {
		return err
	}
	return verify.All(ctx, root, out)
}

// Lint runs only the checks that read the sources.
func Lint(ctx context.Context) error {
	root, out, err := here()
	if err != nil {
		return err
	}
	return verify.Lint(ctx, root, out)
}

// Build makes the plugin for this machine in dist/, and the agent in bin/.
func Build(ctx context.Context) error {
	root, out, err := here()
	if err != nil {
		return err
	}
	b := build.Builder{Root: root, Console: out}
	for _, step := range []func(context.Context) error{b.Packages, b.Frontend, b.Backend, b.Agent} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Dist makes what is published, in release/, as far as this machine has compilers for it, and says what was left out.
func Dist(ctx context.Context) error {
	root, out, err := here()
	if err != nil {
		return err
	}
	return release.Make(ctx, root, out, false)
}

// Release does what dist does, and fails where anything would be left out.
func Release(ctx context.Context) error {
	root, out, err := here()
	if err != nil {
		return err
	}
	return release.Make(ctx, root, out, true)
}

// Audit looks for known vulnerabilities in what the plugin, the agent and the front end are made of. It asks the Go
// project's database and npm's registry.
func Audit(ctx context.Context) error {
	root, _, err := here()
	if err != nil {
		return err
	}
	return errors.Join(
		tool(ctx, "go", "-C", "tools/audit", "tool", "govulncheck", "-C", root, "./pkg", "./node-agent"),
		tool(ctx, "npm", "audit", "--audit-level=high"),
	)
}

// Bench runs the benchmarks and prints a line for each, with its rival, the ratio and the goal.
func Bench(ctx context.Context) error {
	return tool(ctx, "go", "-C", "tools", "run", "./bench", "..")
}

// Fuzz runs every fuzz target for a minute, or for FUZZ_TIME. FUZZ_ONLY picks those with a text in their package or name.
func Fuzz(ctx context.Context) error {
	root, out, err := here()
	if err != nil {
		return err
	}
	each, err := fuzz.Time(os.Getenv("FUZZ_TIME"))
	if err != nil {
		return err
	}
	return fuzz.Run(ctx, root, os.Getenv("FUZZ_ONLY"), each, out)
}

// Load lets 200 viewers of 20 panels each look at the demo for five minutes, and fails when an answer does or when the plugin
// takes more memory than it may. LOAD_VIEWERS, LOAD_PANELS, LOAD_REFRESH, LOAD_TIME and LOAD_MOST_MIB change that.
func Load(ctx context.Context) error {
	root, out, err := here()
	if err != nil {
		return err
	}
	options, err := load.Defaults().FromEnv(os.Getenv)
	if err != nil {
		return err
	}
	return look(ctx, root, options, out)
}

// Soak lets 20 viewers look at the demo for an hour, or for SOAK_TIME, while its agents are paused in turn. Beside it agents as they
// are shipped stream to subscribers that come and go over connections that break.
func Soak(ctx context.Context) error {
	root, out, err := here()
	if err != nil {
		return err
	}
	options := load.Defaults()
	options.Viewers, options.Length, options.Faults = 20, time.Hour, true
	if text := os.Getenv("SOAK_TIME"); text != "" {
		if options.Length, err = time.ParseDuration(text); err != nil {
			return fmt.Errorf("SOAK_TIME must be a length of time, such as 60m: %w", err)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return look(ctx, root, options, out) })
	group.Go(func() error {
		return tool(ctx, "go", "test", "./internal/faults", "-count=1", "-v", "-run=^TestSubscribersJoinAndLeave$",
			"-faults.churn="+options.Length.String(), "-timeout="+(options.Length+10*time.Minute).String())
	})
	return group.Wait()
}

// look starts the demo's stack and lets viewers look at it.
func look(ctx context.Context, root string, o load.Options, out *console.Console) error {
	if err := demo.Build(ctx, build.Builder{Root: root, Console: out}); err != nil {
		return err
	}
	return demo.WithStack(ctx, root, out, func(ctx context.Context, s *demo.Stack) error { return load.Run(ctx, root, s, o, out) })
}

// Generate writes the stream's messages anew from pkg/wire/agent.proto.
func Generate(ctx context.Context) error {
	return tool(ctx, "go", "run", "github.com/bufbuild/buf/cmd/buf@v1.75.0", "generate", "--template=pkg/wire/buf.gen.yaml",
		"--config=pkg/wire/buf.yaml", "--path=pkg/wire/agent.proto")
}

// Dashboards writes the bundled dashboards and their gallery anew from internal/dashboards.
func Dashboards() error {
	root, _, err := here()
	if err != nil {
		return err
	}
	return dashboards.Write(root)
}

func here() (root string, out *console.Console, err error) {
	root, err = os.Getwd()
	return root, console.New(os.Stdout), err
}

func tool(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
