package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	sdk "github.com/grafana/grafana-plugin-sdk-go/build"

	"github.com/warpwatch/warpwatch/internal/console"
	"github.com/warpwatch/warpwatch/internal/stamp"
)

// prometheusTags leave out service discoveries of clouds, whose clients are most of what Prometheus compiles.
const prometheusTags = "remove_all_sd,enable_dns_sd"

// promtoolTags add the service discoveries that the samples of provisioning/prometheus use.
const promtoolTags = ",enable_kubernetes_sd,enable_consul_sd"

// program is one Go executable for this machine.
type program struct {
	step    string
	dir     string // of its module, below the checkout
	pkg     string
	out     string
	cgo     bool
	tags    string
	ldflags string
	inputs  []string
	count   bool // worth counting the packages first, because it takes minutes
}

// Prometheus builds the server for the demo. The first time takes minutes.
func (b Builder) Prometheus(ctx context.Context) error {
	p, err := b.prometheusTool(ctx, "prometheus")
	if err != nil {
		return err
	}
	return b.program(ctx, p)
}

// Promtool builds the checker of rules and configurations.
func (b Builder) Promtool(ctx context.Context) error {
	p, err := b.prometheusTool(ctx, "promtool")
	if err != nil {
		return err
	}
	p.tags += promtoolTags
	return b.program(ctx, p)
}

// prometheusTool is a program of Prometheus that knows its version, as a release does.
func (b Builder) prometheusTool(ctx context.Context, name string) (program, error) {
	out, err := b.output(ctx, command{dir: "tools", argv: []string{"go", "list", "-m", "-f", "{{.Version}}", "github.com/prometheus/prometheus"}})
	if err != nil {
		return program{}, err
	}
	return program{
		step: name, dir: "tools", pkg: "github.com/prometheus/prometheus/cmd/" + name, out: b.Bin(name),
		tags: prometheusTags, ldflags: "-s -w -X github.com/prometheus/common/version.Version=" + serverVersion(out),
		inputs: []string{"tools/go.sum"}, count: true,
	}, nil
}

// serverVersion is what Prometheus calls the version that its module calls v0.316.0: 3.16.0.
func serverVersion(module string) string {
	var major, minor, patch int
	if _, err := fmt.Sscanf(strings.TrimSpace(module), "v0.%1d%d.%d", &major, &minor, &patch); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%d.%d.%d", major, minor, patch)
}

// Backfill builds the writer of past samples.
func (b Builder) Backfill(ctx context.Context) error {
	return b.program(ctx, program{
		step: "backfill", dir: "tools", pkg: "./backfill", out: b.Bin("backfill"),
		tags: prometheusTags, inputs: []string{"tools/go.sum", "tools/backfill", "pkg/wire", "pkg/gpu"},
	})
}

// Agent builds the node agent. It is the only program that needs a C compiler.
func (b Builder) Agent(ctx context.Context) error {
	version, err := b.Version()
	if err != nil {
		return err
	}
	return b.program(ctx, program{
		step: "agent", pkg: "./node-agent", out: filepath.Join(b.Root, "bin", "warpwatch-agent"), cgo: true,
		ldflags: agentFlags(version, runtime.GOOS), inputs: []string{"go.sum", "node-agent", "dashboards/rules", "pkg/wire", "pkg/gpu", "pkg/catalog"},
	})
}

// agentFlags are what the linker is told about the agent.
func agentFlags(version, system string) string {
	flags := "-X main.version=" + version
	if system == "linux" {
		// NVML's functions are bound when first called: a driver need not have all of them.
		flags += " -extldflags=-Wl,-z,lazy"
	}
	return flags
}

// Preview builds the host that shows the plugin without Grafana.
func (b Builder) Preview(ctx context.Context) error {
	return b.program(ctx, program{step: "preview", pkg: "./preview", out: b.Bin("preview"), inputs: []string{"go.sum", "preview"}})
}

// GolangciLint builds the linter of the Go sources. The first time takes minutes.
func (b Builder) GolangciLint(ctx context.Context) error {
	return b.program(ctx, program{
		step: "golangci-lint", dir: "tools/lint", pkg: "github.com/golangci/golangci-lint/v2/cmd/golangci-lint", out: b.Bin("golangci-lint"),
		ldflags: "-s -w", inputs: []string{"tools/lint/go.sum"}, count: true,
	})
}

// CgoEnv is how C is compiled wherever it is: NVML's header marks functions as deprecated that go-nvml wraps all the same.
// What is compiled with it is shared between the agent and the tests.
func CgoEnv() []string { return []string{"CGO_CFLAGS=-O2 -g -Wno-deprecated-declarations"} }

func (b Builder) program(ctx context.Context, p program) error {
	cgo := "0"
	if p.cgo {
		cgo = "1"
	}
	s := stamp.Stamp{
		Inputs: p.inputs, Outputs: []string{p.out},
		Extra: []string{runtime.Version(), p.pkg, p.tags, p.ldflags, cgo},
	}
	return b.step(p.step, s, func(progress *console.Progress) error {
		if err := os.MkdirAll(filepath.Dir(p.out), 0o755); err != nil {
			return err
		}
		env := append(CgoEnv(), "CGO_ENABLED="+cgo)
		total := ""
		if p.count {
			n, err := b.countPackages(ctx, p, env)
			if err != nil {
				return err
			}
			total = fmt.Sprintf(" of at most %d", n)
		}
		compiled := 0
		return b.run(ctx, p.step, progress, command{
			dir: p.dir, env: env,
			argv: []string{"go", "build", "-v", "-tags", p.tags, "-ldflags", p.ldflags, "-o", p.out, p.pkg},
			onLine: func(string) {
				compiled++
				progress.Update("%d packages compiled%s", compiled, total)
			},
		})
	})
}

// countPackages says how many packages a program is made of. Those in Go's build cache are not compiled again.
func (b Builder) countPackages(ctx context.Context, p program, env []string) (int, error) {
	out, err := b.output(ctx, command{dir: p.dir, env: env, argv: []string{"go", "list", "-deps", "-tags", p.tags, p.pkg}})
	return strings.Count(out, "\n"), err
}

// Backend builds the plugin's executable for this machine with the SDK's own build, so that it is what a release has.
func (b Builder) Backend(context.Context) error {
	out := filepath.Join(b.Root, "dist", "datasource", "gpx_warpwatch_"+runtime.GOOS+"_"+runtime.GOARCH)
	s := stamp.Stamp{
		Inputs: []string{"go.sum", "pkg", "package.json", "src/plugin.json", "src/datasource/plugin.json"}, Outputs: []string{out},
		Extra: []string{runtime.Version()},
	}
	return b.step("plugin backend", s, func(p *console.Progress) error {
		stop := keepAlive(p)
		defer stop()
		return sdkBuild()
	})
}

func sdkBuild() error {
	target := runtime.GOOS + "/" + runtime.GOARCH
	switch target {
	case "linux/amd64":
		return sdk.Build{}.Linux()
	case "linux/arm64":
		return sdk.Build{}.LinuxARM64()
	case "darwin/amd64":
		return sdk.Build{}.Darwin()
	case "darwin/arm64":
		return sdk.Build{}.DarwinARM64()
	default:
		return fmt.Errorf("Grafana has no backend plugins for %s", target)
	}
}
