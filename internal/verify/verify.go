// Package verify runs everything that continuous integration runs, in one order and with one heading each, so that
// what passes here passes there.
package verify

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/internal/build"
	"github.com/warpwatch/warpwatch/internal/console"
	"github.com/warpwatch/warpwatch/internal/demo"
)

// run is one verification of a checkout.
type run struct {
	root    string
	console *console.Console
	builder build.Builder
	took    []string
}

// step is one part, in the order of running: what fails soonest and most often comes first.
type step struct {
	name string
	do   func(*run, context.Context) error
}

func steps() []step {
	return []step{
		{"npm packages", (*run).packages},
		{"Prettier", (*run).prettier},
		{"TypeScript types", (*run).types},
		{"ESLint", (*run).eslint},
		{"Jest", (*run).jest},
		{"go vet", (*run).vet},
		{"Go tests with the race detector", (*run).goTests},
		{"golangci-lint", (*run).golangci},
		{"tests of the tools", (*run).toolTests},
		{"build", (*run).build},
		{"Prometheus rules", (*run).rules},
		{"dashboards and browser against a running stack", (*run).stack},
	}
}

// All runs every step and stops at the first that fails.
func All(ctx context.Context, root string, c *console.Console) error {
	r := &run{root: root, console: c, builder: build.Builder{Root: root, Console: c}}
	all := steps()
	start := time.Now()
	for i, s := range all {
		c.Heading("%d/%d %s", i+1, len(all), s.name)
		begun := time.Now()
		if err := s.do(r, ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		r.took = append(r.took, fmt.Sprintf("  %-50s %s", s.name, time.Since(begun).Round(time.Second)))
	}
	c.Heading("All passed after %s", time.Since(start).Round(time.Second))
	c.Print("%s", strings.Join(r.took, "\n"))
	return nil
}

// Lint runs only what reads the sources.
func Lint(ctx context.Context, root string, c *console.Console) error {
	r := &run{root: root, console: c, builder: build.Builder{Root: root, Console: c}}
	for _, do := range []func(*run, context.Context) error{
		(*run).packages, (*run).prettier, (*run).types, (*run).eslint, (*run).vet, (*run).golangci,
	} {
		if err := do(r, ctx); err != nil {
			return err
		}
	}
	return nil
}

// tool runs a program with its output on ours.
func (r *run) tool(ctx context.Context, dir string, env []string, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = filepath.Join(r.root, dir)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return nil
}

func (r *run) packages(ctx context.Context) error { return r.builder.Packages(ctx) }

func (r *run) prettier(ctx context.Context) error {
	return r.tool(ctx, "", nil, "npm", "run", "--silent", "format:check")
}

func (r *run) types(ctx context.Context) error {
	return r.tool(ctx, "", nil, "npm", "run", "--silent", "typecheck")
}

func (r *run) eslint(ctx context.Context) error {
	return r.tool(ctx, "", nil, "npm", "run", "--silent", "lint")
}

func (r *run) jest(ctx context.Context) error {
	return r.tool(ctx, "", []string{"CI=true"}, "npm", "run", "--silent", "test:ci")
}

// vet looks at the packages as they are compiled for the race detector, so that the tests need not compile what they
// import once more.
func (r *run) vet(ctx context.Context) error {
	return r.tool(ctx, "", build.CgoEnv(), "go", "vet", "-race", "./...")
}

func (r *run) goTests(ctx context.Context) error {
	return r.tool(ctx, "", build.CgoEnv(), "go", "test", "-race", "./...")
}

func (r *run) golangci(ctx context.Context) error {
	if err := r.builder.GolangciLint(ctx); err != nil {
		return err
	}
	return r.tool(ctx, "", build.CgoEnv(), r.builder.Bin("golangci-lint"), "run")
}

// toolTests does not take results from Go's cache, which does not look at what the tests read outside their modules.
func (r *run) toolTests(ctx context.Context) error {
	env := []string{"CGO_ENABLED=0"}
	for _, module := range []string{"tools", "tools/deploy", "tools/audit", "tools/release"} {
		if err := r.tool(ctx, module, env, "go", "vet", "./..."); err != nil {
			return err
		}
		if err := r.tool(ctx, module, env, "go", "test", "-count=1", "./..."); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) build(ctx context.Context) error {
	if err := demo.Build(ctx, r.builder); err != nil {
		return err
	}
	return r.builder.Promtool(ctx)
}

// stack asks a running stack what the dashboards ask, then lets a browser look at it.
func (r *run) stack(ctx context.Context) error {
	chromium, err := findChromium(ctx, r)
	if err != nil {
		return err
	}
	return demo.WithStack(ctx, r.root, r.console, func(ctx context.Context, s *demo.Stack) error {
		if err := s.Check(ctx); err != nil {
			return err
		}
		return r.tool(ctx, "", []string{"DEMO_STATE=" + s.StateFile(), "CHROMIUM=" + chromium, "CI=true"}, "npm", "run", "--silent", "e2e")
	})
}
