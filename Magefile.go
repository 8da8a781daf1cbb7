//go:build mage

// Everything a developer or a continuous integration runs. `go tool mage -l` lists it.
package main

import (
	"context"
	"errors"
	"os"
	"os/exec"

	// mage:import sdk
	_ "github.com/grafana/grafana-plugin-sdk-go/build"

	"github.com/warpwatch/warpwatch/internal/build"
	"github.com/warpwatch/warpwatch/internal/console"
	"github.com/warpwatch/warpwatch/internal/dashboards"
	"github.com/warpwatch/warpwatch/internal/demo"
	// mage:import demo
	_ "github.com/warpwatch/warpwatch/internal/demo/target"
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
