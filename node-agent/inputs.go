package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
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

// inputs are the parts beside the GPUs' sampling, which read other things or send what was read elsewhere. All of them
// may be replaced while the agent runs.
type inputs struct {
	node      snapshot.Node
	store     *snapshot.Store
	processes *snapshot.Latest[snapshot.ProcessList]
	owners    *snapshot.Latest[snapshot.OwnerList]
	workload  *workload.Store
	emit      func(device.Event)
	own       *prometheus.Registry
	log       *slog.Logger

	mu      sync.Mutex
	ctx     context.Context //nolint:containedctx // of the parts that are started later
	current atomic.Pointer[parts]
}

// parts are inputs of one configuration.
type parts struct {
	settings  config.File
	describer *attribute.Attributor // nil when nobody looks for owners
	gather    prometheus.Gatherers
	runs      []func(context.Context) error
	figures   *registered // about the parts themselves

	stop    context.CancelFunc
	running sync.WaitGroup
}

// run starts the parts of a configuration, and ends with ctx and with them.
func (in *inputs) run(ctx context.Context, f config.File) error {
	in.mu.Lock()
	in.ctx = ctx
	err := in.replace(f)
	in.mu.Unlock()
	if err != nil {
		return err
	}
	<-ctx.Done()
	in.mu.Lock()
	defer in.mu.Unlock()
	in.end(in.current.Swap(nil))
	return nil
}

// apply puts another configuration in the place of the one before. After an error everything is as it was.
func (in *inputs) apply(f config.File) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	before := in.current.Load()
	if before == nil {
		return errors.New("the agent is starting or ending")
	}
	trial, err := in.build(f, prometheus.NewRegistry())
	if err != nil {
		return err
	}
	in.discard(trial)
	in.end(in.current.Swap(nil))
	if err := in.replace(f); err != nil {
		return errors.Join(err, in.replace(before.settings))
	}
	return nil
}

// replace builds and starts the parts of a configuration. None may be running.
func (in *inputs) replace(f config.File) error {
	next, err := in.build(f, in.own)
	if err != nil {
		return err
	}
	if next.describer == nil && in.node.Source == config.SourceNVML {
		// What was known of owners before is not true for ever.
		in.owners.Set(&snapshot.OwnerList{Time: time.Now(), Notices: []string{"owners are not looked for: see owners.enabled"}})
	}
	ctx, cancel := context.WithCancel(in.ctx)
	next.stop = cancel
	for _, run := range next.runs {
		next.running.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				in.log.Error("A part of the agent ended; the rest goes on", "err", err)
			}
		})
	}
	in.current.Store(next)
	return nil
}

// end stops parts and waits for them.
func (in *inputs) end(p *parts) {
	if p == nil {
		return
	}
	p.stop()
	p.running.Wait()
	p.figures.clear()
}

// discard ends parts that were only built to see whether they can be.
func (in *inputs) discard(p *parts) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, run := range p.runs {
		_ = run(ended) // it gives back what it holds
	}
	p.figures.clear()
}

// build prepares the parts of a configuration, which register their figures about themselves with r.
func (in *inputs) build(f config.File, r prometheus.Registerer) (*parts, error) {
	p := &parts{settings: f, figures: &registered{with: r}}
	for _, add := range []func(*parts, config.File, prometheus.Registerer) error{
		in.addOwners, in.addTextfile, in.addLogRules, in.addRedfish, in.addExport,
	} {
		if err := add(p, f, p.figures); err != nil {
			in.discard(p)
			return nil, err
		}
	}
	return p, nil
}

func (in *inputs) addOwners(p *parts, f config.File, r prometheus.Registerer) error {
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

func (in *inputs) addTextfile(p *parts, f config.File, r prometheus.Registerer) error {
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

func (in *inputs) addLogRules(p *parts, f config.File, r prometheus.Registerer) error {
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

func (in *inputs) addRedfish(p *parts, f config.File, r prometheus.Registerer) error {
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

func (in *inputs) addExport(p *parts, f config.File, r prometheus.Registerer) error {
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
	p := in.current.Load()
	if p == nil {
		return nil, nil
	}
	return p.gather.Gather()
}

// Describe implements collect.Describer.
func (in *inputs) Describe(pid int) (name, user string, owner *device.Owner, ok bool) {
	p := in.current.Load()
	if p == nil || p.describer == nil {
		return "", "", nil, false
	}
	return attribute.Describer{Attributor: p.describer}.Describe(pid)
}
