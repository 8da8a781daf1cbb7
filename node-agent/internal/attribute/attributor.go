package attribute

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/kubelet"
	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/locate"
	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/proc"
	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/slurm"
)

// Usage is a process that the driver lists on a device.
type Usage struct {
	UUID        string // of the physical GPU
	GPUInstance string // "" for a whole GPU, or where the driver does not tell
	PID         int
}

// Options of an Attributor. Sources that are nil are not asked.
type Options struct {
	Devices func() []locate.Device // the node's devices now: see DevicesOf
	Usage   func() []Usage         // the processes on them now: see UsagesOf

	Proc    *proc.Reader
	Kubelet *kubelet.Client // closed when Run ends
	Slurm   *slurm.Reader
	// PodLogs and ContainerLogs are the folders whose entries name pods and containers, "" for none: see kubelet.ReadNames.
	PodLogs, ContainerLogs string

	Publish func(*Snapshot) // called with each new snapshot, nil for nobody

	Interval   time.Duration // 0 means ten seconds
	MaxOwners  int           // 0 means 4096
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

const (
	defaultInterval  = 10 * time.Second
	defaultMaxOwners = 4096
	maxProcesses     = 16384
	maxNotices       = 32
	shortestKeep     = time.Minute
)

// Snapshot is who used which GPU at a time. It does not change.
type Snapshot struct {
	Owners  []Owner  // sorted, none twice
	Notices []string // what is missing or contradicts itself, as sentences
	At      time.Time

	processes map[int]known
	names     kubelet.Names
	hostPIDs  bool
}

// Attributor says who uses which GPU.
type Attributor struct {
	o         Options
	m         *metrics
	kubelet   source[[]kubelet.Grant]
	slurm     source[slurmJobs]
	published atomic.Pointer[Snapshot]
}

// slurmJobs is what Slurm's folders hold.
type slurmJobs struct {
	jobs     []slurm.Job
	problems []string
}

// New prepares an attributor. Nothing runs until Run.
func New(o Options) *Attributor {
	if o.Interval == 0 {
		o.Interval = defaultInterval
	}
	if o.MaxOwners == 0 {
		o.MaxOwners = defaultMaxOwners
	}
	m := newMetrics(o.Registerer)
	keep := max(shortestKeep, 3*o.Interval)
	a := &Attributor{
		o: o, m: m,
		kubelet: source[[]kubelet.Grant]{name: sourceKubelet, absent: kubelet.ErrAbsent, keep: keep, m: m, log: o.Logger},
		slurm:   source[slurmJobs]{name: sourceSlurm, absent: slurm.ErrAbsent, keep: keep, m: m, log: o.Logger},
	}
	a.published.Store(&Snapshot{})
	return a
}

// Snapshot is the newest one; its At is zero before the first.
func (a *Attributor) Snapshot() *Snapshot { return a.published.Load() }

// Run looks at once and then every interval, until ctx ends, which is not an error.
func (a *Attributor) Run(ctx context.Context) error {
	ticker := time.NewTicker(a.o.Interval)
	defer ticker.Stop()
	for {
		a.refresh(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			if a.o.Kubelet == nil {
				return nil
			}
			if err := a.o.Kubelet.Close(); err != nil {
				return fmt.Errorf("leave the kubelet: %w", err)
			}
			return nil
		}
	}
}

// refresh asks all sources and publishes what they say together.
func (a *Attributor) refresh(ctx context.Context) {
	now := time.Now()
	table := locate.NewTable(a.o.Devices())
	var notices notices
	if table.Empty() {
		notices.add("no GPU of this node is known yet")
	}
	pods := a.pods(ctx, now, table, &notices)
	jobs := a.jobs(now, table, &notices)
	if ctx.Err() != nil {
		return
	}
	s := &Snapshot{At: now, processes: map[int]known{}}
	s.names = a.names(&notices)
	processes := a.processes(s, &notices)
	named, nameless := infer(pods, processes)
	if a.kubelet.last != nil && named+nameless > 0 {
		notices.add(fmt.Sprintf("%d pods on GPUs are known by UID only, and %d of them were named by the GPUs that they were given: let the agent list %s to learn names",
			named+nameless, named, orDefault(a.o.PodLogs, kubelet.DefaultPodLogs)))
	}
	owners, conflicts := merge(pods, jobs, processes)
	notices.add(conflicts...)
	s.remember(processes)
	if more := len(owners) - a.o.MaxOwners; more > 0 {
		owners = slices.Clip(owners[:a.o.MaxOwners])
		a.m.refused.Add(float64(more))
		notices.add(fmt.Sprintf("%d owners of GPUs are left out, because at most %d are told", more, a.o.MaxOwners))
	}
	a.m.owners.Set(float64(len(owners)))
	s.Owners, s.Notices = owners, notices.all()
	a.published.Store(s)
	if a.o.Publish != nil {
		a.o.Publish(s)
	}
}

func orDefault(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
