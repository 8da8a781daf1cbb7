package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/warpwatch/warpwatch/internal/build"
	"github.com/warpwatch/warpwatch/internal/console"
	"github.com/warpwatch/warpwatch/internal/ports"
	"github.com/warpwatch/warpwatch/internal/supervise"
)

// stopGrace is how long processes may take to end on their own. Mage gives a target five seconds after Ctrl-C.
const stopGrace = 3 * time.Second

// Options say where and how a stack runs.
type Options struct {
	Root     string // the checkout, built
	Folder   Folder // absolute
	Topology Topology
	History  time.Duration // how much of it an empty database is given
	Console  *console.Console
	Getenv   func(string) string
}

// Stack is a running demo.
type Stack struct {
	options    Options
	folder     Folder
	topology   Topology
	console    *console.Console
	supervisor *supervise.Supervisor
	lone       *supervise.Supervisor // of the fleets of one kind; nil where there are none, and when they were asked
	client     *http.Client
	release    func()
	ui         string // the name of the process that shows the plugin
}

// Start brings a stack up and returns when its data source answers. On failure nothing is left running.
func Start(ctx context.Context, o Options) (_ *Stack, err error) {
	release, err := o.Folder.acquire()
	if err != nil {
		return nil, err
	}
	s := &Stack{
		options: o, folder: o.Folder, topology: o.Topology, console: o.Console, release: release,
		client: &http.Client{Timeout: 10 * time.Second},
	}
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()
	ended, err := s.folder.sweep()
	if err != nil {
		return nil, err
	}
	for _, e := range ended {
		s.console.Print("  ended %s (pid %d), left over from a demo that was killed", e.Name, e.PID)
	}
	if err := ports.Check(s.topology.Wants()); err != nil {
		return nil, fmt.Errorf("%w\nEnd what holds them, or set %s to move all ports of the demo, for example to 23000", err, portBaseVariable)
	}
	if s.supervisor, err = supervise.New(s.folder.Logs(), s.folder.mark()); err != nil {
		return nil, err
	}
	if len(s.topology.Lone) > 0 {
		if s.lone, err = supervise.New(s.folder.Logs(), s.folder.mark()); err != nil {
			return nil, err
		}
	}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	return s, s.writeState()
}

func (s *Stack) start(ctx context.Context) error {
	for _, c := range s.topology.all() {
		if err := writePrometheus(s.options.Root, s.folder, s.topology, c); err != nil {
			return err
		}
	}
	if err := together(ctx, s.supervisor, append(s.agents(s.topology.Clusters), s.replay())); err != nil {
		return err
	}
	if err := together(ctx, s.lone, s.agents(s.topology.Lone)); err != nil {
		return err
	}
	if err := s.backfill(ctx, s.builder()); err != nil {
		return err
	}
	ui, err := s.uiSpec(ctx)
	if err != nil {
		return err
	}
	// What the plugin is told when it first asks is remembered for a while, so its servers come first.
	if err := together(ctx, s.supervisor, s.prometheuses(s.topology.Clusters)); err != nil {
		return err
	}
	if _, err = s.supervisor.Start(ctx, ui); err != nil {
		return err
	}
	return s.startLone(ctx)
}

// together starts processes at the same time.
func together(ctx context.Context, by *supervise.Supervisor, specs []supervise.Spec) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, spec := range specs {
		group.Go(func() error {
			_, err := by.Start(ctx, spec)
			return err
		})
	}
	return group.Wait()
}

func (s *Stack) builder() build.Builder {
	return build.Builder{Root: s.options.Root, Console: s.console}
}

func (s *Stack) agentPath() string { return filepath.Join(s.options.Root, "bin", "warpwatch-agent") }

func (s *Stack) replayFolder() string { return filepath.Join(s.options.Root, "provisioning", "replay") }

func (s *Stack) replayFile(e Exporter) string {
	return filepath.Join(s.replayFolder(), e.File+".prom")
}

// simulation are the agent's flags that decide what is simulated: the same for its past and its present.
func (n Node) simulation() []string {
	flags := []string{
		"--node-name=" + n.Name, "--simulate.seed=" + strconv.Itoa(n.Seed), "--simulate.gpus=8", "--simulate.model=" + n.Model, "--simulate.profile=" + n.Profile,
	}
	for _, f := range n.Faults {
		flags = append(flags, "--simulate.fault="+f)
	}
	if len(n.MIG) > 0 {
		flags = append(flags, "--simulate.mig="+strings.Join(n.MIG, ","))
	}
	return flags
}

// agents are those of some clusters.
func (s *Stack) agents(of []Cluster) []supervise.Spec {
	var specs []supervise.Spec
	for _, c := range of {
		for _, n := range c.Nodes {
			specs = append(specs, supervise.Spec{
				Name: "agent-" + n.Name, Path: s.agentPath(),
				Args: append([]string{
					"--source=simulate", "--web.listen-address=" + address(n.Port), "--web.advertise-address=" + address(n.Port),
				}, n.simulation()...),
				Ready: supervise.HTTP(s.client, url(n.Port)+"/metrics"), Within: 20 * time.Second,
			})
		}
	}
	return specs
}

// replay plays every exporter of every fleet.
func (s *Stack) replay() supervise.Spec {
	return supervise.Spec{
		Name: "replay", Path: s.agentPath(), Args: []string{"replay", "--web.listen-address=" + address(s.topology.ReplayPort), s.replayFolder()},
		Ready: supervise.HTTP(s.client, url(s.topology.ReplayPort)+"/dcgm-4.8/metrics"), Within: 20 * time.Second,
	}
}

func (s *Stack) prometheuses(of []Cluster) []supervise.Spec {
	specs := make([]supervise.Spec, 0, len(of))
	for _, c := range of {
		specs = append(specs, supervise.Spec{
			Name: "prometheus-" + c.Name, Path: s.builder().Bin("prometheus"),
			Args: []string{
				"--config.file=" + filepath.Join(s.folder.prometheus(c.Name), "prometheus.yml"),
				"--storage.tsdb.path=" + s.folder.data(c.Name), "--storage.tsdb.retention.time=30d",
				"--web.listen-address=" + address(c.PrometheusPort),
			},
			Env:   []string{"WARPWATCH_CLUSTER=" + c.Name},
			Ready: supervise.HTTP(s.client, url(c.PrometheusPort)+"/-/ready"),
		})
	}
	return specs
}

// uiSpec is Grafana where there is one, else the preview. It is ready when the data source says that it is well.
func (s *Stack) uiSpec(ctx context.Context) (supervise.Spec, error) {
	spec := supervise.Spec{Dir: s.options.Root, Ready: supervise.HTTP(s.client, s.URL()+"/api/datasources/uid/"+datasourceUID+"/health")}
	for _, c := range s.topology.Clusters {
		spec.Env = append(spec.Env, "WARPWATCH_PROMETHEUS_"+strings.ToUpper(c.Name)+"="+url(c.PrometheusPort))
	}
	found, why := findGrafana(ctx, s.options.Getenv)
	if found == nil {
		s.console.Print("  %s: the preview shows the plugin", why)
		spec.Name, spec.Path, spec.Args = "preview", s.builder().Bin("preview"), s.previewArgs(filepath.Join("provisioning", "datasources"), s.topology.UIPort)
	} else {
		s.console.Print("  Grafana %s at %s shows the plugin", found.version, found.home)
		env, err := s.grafanaEnv()
		if err != nil {
			return spec, err
		}
		spec.Name, spec.Path, spec.Args = "grafana", found.program, []string{"server", "--homepath", found.home}
		spec.Env, spec.Within = append(spec.Env, env...), 3*time.Minute
	}
	s.ui = spec.Name
	return spec, nil
}

// previewArgs are those of a preview of some data sources.
func (s *Stack) previewArgs(datasources string, port int) []string {
	return []string{"--dist=dist", "--datasources=" + datasources, "--dashboards=dist/dashboards", "--page=" + s.builder().PageDir(), "--listen=" + address(port)}
}

// datasourceUID is the data source's in provisioning/datasources/gpu.yaml.
const datasourceUID = "warpwatch"

// URL is where the user interface is.
func (s *Stack) URL() string { return url(s.topology.UIPort) }

// DashboardURL is the page to look at first.
func (s *Stack) DashboardURL() string { return s.URL() + "/d/warpwatch-gpu-node-live" }

// Wait returns when ctx ends or when there is nothing left to look at. Other processes that end are told of: the demo
// goes on without them, as the product does.
func (s *Stack) Wait(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-s.supervisor.Exits():
			if e.Name == s.ui {
				return fmt.Errorf("%s ended: %w\n%s", e.Name, e.Err, supervise.Tail(e.Log, 15))
			}
			s.console.Print("%s ended (%v); its log is %s", e.Name, e.Err, e.Log)
		}
	}
}

// Stop ends every process and returns when none is left.
func (s *Stack) Stop() {
	s.stopLone()
	if s.supervisor != nil {
		s.supervisor.Stop(stopGrace)
	}
	if err := os.Remove(s.folder.State()); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.console.Print("  remove state file: %v", err)
	}
	s.release()
}
