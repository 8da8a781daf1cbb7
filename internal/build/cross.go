package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/build/buildinfo"

	"github.com/warpwatch/warpwatch/internal/console"
)

// Platform is what a program is built for, in Go's words.
type Platform struct{ OS, Arch string }

// String is the platform as file names have it: linux_amd64.
func (p Platform) String() string { return p.OS + "_" + p.Arch }

// ErrNoCompiler says that this machine has no C compiler for a platform.
var ErrNoCompiler = errors.New("no C compiler")

// ReleasePlugin builds the plugin's executable for any platform, with the flags of the SDK's own build. Unlike that it
// holds nothing of the machine and of the moment: the same sources, Go and time of release give the same bytes.
func (b Builder) ReleasePlugin(ctx context.Context, target Platform, out string, at time.Time) error {
	version, err := b.Version()
	if err != nil {
		return err
	}
	id, err := b.pluginID()
	if err != nil {
		return err
	}
	vars := map[string]string{}
	buildinfo.Info{Time: at.UnixMilli(), PluginID: id, Version: version}.AppendFlags(vars)
	ldflags := `-w -s -extldflags "-static"`
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		ldflags += fmt.Sprintf(" -X '%s=%s'", name, vars[name])
	}
	return b.release(ctx, "plugin for "+target.String(), command{
		env:  []string{"CGO_ENABLED=0", "GOOS=" + target.OS, "GOARCH=" + target.Arch},
		argv: releaseArgs("arrow_json_stdlib", ldflags, out, "./pkg"),
	})
}

// ReleaseAgent builds the agent for Linux on any architecture that this machine has a C compiler for. The error is
// ErrNoCompiler where there is none, and says what to install.
func (b Builder) ReleaseAgent(ctx context.Context, arch, out string) error {
	version, err := b.Version()
	if err != nil {
		return err
	}
	compiler, err := crossCompiler(arch)
	if err != nil {
		return err
	}
	return b.release(ctx, "agent for linux_"+arch, command{
		env:  append(CgoEnv(), "CGO_ENABLED=1", "GOOS=linux", "GOARCH="+arch, "CC="+compiler),
		argv: releaseArgs("", "-w -s "+agentFlags(version, "linux"), out, "./node-agent"),
	})
}

func releaseArgs(tags, ldflags, out, pkg string) []string {
	return []string{"go", "build", "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", ldflags, "-o", out, pkg}
}

func (b Builder) release(ctx context.Context, step string, c command) error {
	return b.Console.Step(step, func(p *console.Progress) error {
		p.Note("built")
		return b.run(ctx, step, p, c)
	})
}

// gnuNames are the architectures as GNU's and Debian's compilers call them.
func gnuNames() map[string]struct{ compiler, debian string } {
	return map[string]struct{ compiler, debian string }{
		"amd64": {"x86_64-linux-gnu-gcc", "gcc-x86-64-linux-gnu libc6-dev-amd64-cross"},
		"arm64": {"aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"},
	}
}

// crossCompiler finds the C compiler for Linux on an architecture.
func crossCompiler(arch string) (string, error) {
	if runtime.GOOS == "linux" && runtime.GOARCH == arch {
		if cc := os.Getenv("CC"); cc != "" {
			return cc, nil
		}
		return "gcc", nil
	}
	gnu, known := gnuNames()[arch]
	if !known {
		return "", fmt.Errorf("%w for linux_%s is known", ErrNoCompiler, arch)
	}
	if _, err := exec.LookPath(gnu.compiler); err != nil {
		return "", fmt.Errorf("%w for linux_%s: install %s (on Debian and Ubuntu: apt-get install %s)", ErrNoCompiler, arch, gnu.compiler, gnu.debian)
	}
	return gnu.compiler, nil
}

// pluginID is the id of the app.
func (b Builder) pluginID() (string, error) {
	text, err := os.ReadFile(filepath.Join(b.Root, "src", "plugin.json"))
	if err != nil {
		return "", fmt.Errorf("read the plugin's id: %w", err)
	}
	var p struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return "", fmt.Errorf("read the plugin's id from src/plugin.json: %w", err)
	}
	return p.ID, nil
}

// Tool runs a program of one of the modules of tools, with its output in a log file.
func (b Builder) Tool(ctx context.Context, step, module string, args ...string) error {
	return b.Console.Step(step, func(p *console.Progress) error {
		p.Note("done")
		return b.run(ctx, step, p, command{dir: module, env: []string{"CGO_ENABLED=0"}, argv: append([]string{"go", "run", "."}, args...)})
	})
}

// Output is what a program prints that runs in the checkout.
func (b Builder) Output(ctx context.Context, argv ...string) (string, error) {
	out, err := b.output(ctx, command{argv: argv})
	return strings.TrimSpace(out), err
}
