package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/warpwatch/warpwatch/node-agent/internal/attribute"
	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/kubelet"
	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/locate"
	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/proc"
	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/slurm"
	"github.com/warpwatch/warpwatch/node-agent/internal/config"
	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/logrule"
	"github.com/warpwatch/warpwatch/node-agent/internal/otlpexport"
	"github.com/warpwatch/warpwatch/node-agent/internal/redfish"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/node-agent/internal/workload"
	"github.com/warpwatch/warpwatch/node-agent/internal/workload/textfile"
)

// inputs are the parts beside the GPUs' sampling, which read other things or send what was read elsewhere. Each of them
// may be replaced while the agent runs; one whose section of the configuration stays as it is goes on.
type inputs struct {
	node      snapshot.Node
	store     *snapshot.Store
	processes *snapshot.Latest[snapshot.ProcessList]
	owners    *snapshot.Latest[snapshot.OwnerList]
	workload  *workload.Store
	emit      func(device.Event)
	own       *prometheus.Registry
	log       *slog.Logger

	mu       sync.Mutex
	ctx      context.Context //nolint:containedctx // of the parts that are started later; nil while none may be
	settings config.File
	running  map[string]*part // by section
	shown    atomic.Pointer[shown]
}

// section is one part of the configuration, and what is made of it.
type section struct {
	name     string
	settings func(config.File) any
	add      func(*part, config.File, prometheus.Registerer) error
}

func (in *inputs) sections() []section {
	return []section{
		{"owners", func(f config.File) any { return f.Owners }, in.addOwners},
		{"workload.textfile", func(f config.File) any { return f.Workload.Textfile }, in.addTextfile},
		{"log_rules", func(f config.File) any { return f.LogRules }, in.addLogRules},
		{"redfish", func(f config.File) any { return f.Redfish }, in.addRedfish},
		{"otlp_export", func(f config.File) any { return f.OTLPExport }, in.addExport},
	}
}

// part is what runs for a section.
type part struct {
	describer *attribute.Attributor // of the owners' part, nil when nobody looks for them
	gather    prometheus.Gatherers
	runs      []func(context.Context) error
	figures   *registered // about the part itself

	stop    context.CancelFunc
	running sync.WaitGroup
}

// shown is what the running parts show.
type shown struct {
	gather    prometheus.Gatherers
	describer *attribute.Attributor
}

// run starts the parts of a configuration, and ends with ctx and with them.
func (in *inputs) run(ctx context.Context, f config.File) error {
	in.mu.Lock()
	in.ctx, in.settings, in.running = ctx, f, map[string]*part{}
	defer in.end()
	for _, s := range in.sections() {
		if err := in.start(s, f); err != nil {
			in.mu.Unlock()
			return err
		}
	}
	in.show()
	in.mu.Unlock()
	<-ctx.Done()
	return nil
}

// end stops everything.
func (in *inputs) end() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ctx = nil
	for _, s := range in.sections() {
		in.stop(s)
	}
	in.show()
}

// apply puts another configuration in the place of the one before. After an error everything is as it was.
func (in *inputs) apply(f config.File) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ctx == nil {
		return errors.New("the agent is starting or ending")
	}
	var changed []section
	for _, s := range in.sections() {
		if reflect.DeepEqual(s.settings(in.settings), s.settings(f)) {
			continue
		}
		trial, err := build(s, f, prometheus.NewRegistry())
		if err != nil {
			return err
		}
		trial.discard()
		changed = append(changed, s)
	}
	defer in.show()
	for _, s := range changed {
		in.stop(s)
		if err := in.start(s, f); err != nil {
			return errors.Join(err, in.restore(changed))
		}
	}
	in.settings = f
	return nil
}

// restore starts parts again as they were.
func (in *inputs) restore(changed []section) error {
	var errs []error
	for _, s := range changed {
		in.stop(s)
		errs = append(errs, in.start(s, in.settings))
	}
	return errors.Join(errs...)
}

// start builds and starts the part of a section, which must not be running.
func (in *inputs) start(s section, f config.File) error {
	p, err := build(s, f, in.own)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(in.ctx)
	p.stop = cancel
	for _, run := range p.runs {
		p.running.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				in.log.Error("A part of the agent ended; the rest goes on", "part", s.name, "err", err)
			}
		})
	}
	in.running[s.name] = p
	return nil
}

// stop ends the part of a section, and waits for it.
func (in *inputs) stop(s section) {
	p := in.running[s.name]
	if p == nil {
		return
	}
	delete(in.running, s.name)
	p.stop()
	p.running.Wait()
	p.figures.clear()
}

// show publishes what the running parts show.
func (in *inputs) show() {
	now := &shown{}
	for _, s := range in.sections() {
		if p := in.running[s.name]; p != nil {
			now.gather = append(now.gather, p.gather...)
			now.describer = cmp.Or(now.describer, p.describer)
		}
	}
	in.shown.Store(now)
	if now.describer == nil && in.ctx != nil && in.node.Source == config.SourceNVML {
		// What was known of owners before is not true for ever.
		in.owners.Set(&snapshot.OwnerList{Time: time.Now(), Notices: []string{"owners are not looked for: see owners.enabled"}})
	}
}

// build prepares the part of a section, which registers its figures about itself with r.
func build(s section, f config.File, r prometheus.Registerer) (*part, error) {
	p := &part{figures: &registered{with: r}}
	if err := s.add(p, f, p.figures); err != nil {
		p.discard()
		return nil, err
	}
	return p, nil
}

// discard ends a part that was only built to see whether it can be.
func (p *part) discard() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, run := range p.runs {
		_ = run(ended) // it gives back what it holds
	}
	p.figures.clear()
}

func (in *inputs) addOwners(p *part, f config.File, r prometheus.Registerer) error {
	if !f.Owners.Enabled || in.node.Source != config.SourceNVML {
		return nil
	}
	processes, err := proc.New(proc.Options{Passwd: f.Owners.Passwd})
	if err != nil {
		in.log.Warn("Processes are not named, and nothing is known of their owners", "err", err)
	}
	o := attribute.Options{
		Devices: func() []locate.Device { return attribute.DevicesOf(in.store.Newest()) },
		Usage: func() []attribute.Usage {
			list, _ := in.processes.Get()
			return attribute.UsagesOf(list)
		},
		Proc:    processes,
		Publish: func(s *attribute.Snapshot) { in.owners.Set(s.List()) },
		PodLogs: f.Owners.Kubelet.PodLogs, ContainerLogs: f.Owners.Kubelet.ContainerLogs,
		Interval: f.Owners.Interval, Registerer: r, Logger: in.log,
	}
	if k := f.Owners.Kubelet; k.Enabled {
		if o.Kubelet, err = kubelet.New(kubelet.Options{Socket: k.Socket, Resources: k.Resources}); err != nil {
			return fmt.Errorf("owners.kubelet: %w", err)
		}
	}
	if s := f.Owners.Slurm; s.Enabled && processes != nil {
		boot, err := processes.Boot()
		if err != nil {
			in.log.Debug("It is not known when this node was started; Slurm's files of before count, too", "err", err)
		}
		o.Slurm = slurm.New(slurm.Options{Jobs: s.Folder, Mapping: s.MappingFolder, Boot: boot})
	}
	p.describer = attribute.New(o)
	p.runs = append(p.runs, p.describer.Run)
	return nil
}

func (in *inputs) addTextfile(p *part, f config.File, r prometheus.Registerer) error {
	t := f.Workload.Textfile
	if t.Folder == "" {
		return nil
	}
	reader, err := textfile.New(textfile.Options{
		Dir: t.Folder, Store: in.workload, Interval: t.Interval, MaxBytes: t.MaxBytes, MaxFiles: t.MaxFiles, Logger: in.log,
	})
	if err != nil {
		return fmt.Errorf("workload.textfile: %w", err)
	}
	if err := r.Register(textfile.NewCollector(reader)); err != nil {
		return fmt.Errorf("register the figures of the textfiles: %w", err)
	}
	p.runs = append(p.runs, reader.Run)
	return nil
}

func (in *inputs) addLogRules(p *part, f config.File, r prometheus.Registerer) error {
	if len(f.LogRules) == 0 {
		return nil
	}
	reader, err := logrule.New(logrule.Options{
		Rules: f.LogRules, Emit: in.emit, Labels: in.labels(), Registerer: r, Logger: in.log,
	})
	if err != nil {
		return fmt.Errorf("log_rules: %w", err)
	}
	p.runs = append(p.runs, reader.Run)
	p.gather = append(p.gather, reader)
	return nil
}

func (in *inputs) addRedfish(p *part, f config.File, r prometheus.Registerer) error {
	for i, c := range f.Redfish {
		host, err := url.Parse(c.Endpoint)
		if err != nil {
			return fmt.Errorf("redfish[%d].endpoint: %w", i, err)
		}
		endpoint := prometheus.Labels{"endpoint": host.Host}
		labels := in.labels()
		labels["endpoint"] = host.Host
		reader, err := redfish.New(redfish.Options{
			Config: c, Labels: labels, Registerer: prometheus.WrapRegistererWith(endpoint, r), Logger: in.log,
		})
		if err != nil {
			return fmt.Errorf("redfish[%d]: %w", i, err)
		}
		p.runs = append(p.runs, reader.Run)
		p.gather = append(p.gather, reader)
	}
	return nil
}

func (in *inputs) addExport(p *part, f config.File, r prometheus.Registerer) error {
	if !f.OTLPExport.Enabled() {
		return nil
	}
	exporter, err := otlpexport.New(otlpexport.Options{
		Config: f.OTLPExport, Store: in.store, Node: in.node, Registerer: r, Logger: in.log,
	})
	if err != nil {
		return fmt.Errorf("otlp_export: %w", err)
	}
	p.runs = append(p.runs, exporter.Run)
	return nil
}

// labels are what every series of the node has.
func (in *inputs) labels() prometheus.Labels {
	labels := prometheus.Labels{"node": in.node.Name}
	if in.node.Cluster != "" {
		labels["cluster"] = in.node.Cluster
	}
	return labels
}

// Gather implements prometheus.Gatherer: what the parts measure.
func (in *inputs) Gather() ([]*dto.MetricFamily, error) {
	if now := in.shown.Load(); now != nil {
		return now.gather.Gather()
	}
	return nil, nil
}

// Describe implements collect.Describer.
func (in *inputs) Describe(pid int) (name, user string, owner *device.Owner, ok bool) {
	now := in.shown.Load()
	if now == nil || now.describer == nil {
		return "", "", nil, false
	}
	return attribute.Describer{Attributor: now.describer}.Describe(pid)
}
