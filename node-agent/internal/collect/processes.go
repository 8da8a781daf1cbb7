package collect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Describer says who a process is. It is asked by several goroutines at once. ok is false when nothing is known: it has
// ended, or it is a process of a host whose process ids the agent does not share.
type Describer interface {
	Describe(pid int) (name, user string, owner *device.Owner, ok bool)
}

// maxProcesses is how many processes of one board are published.
const maxProcesses = 4096

const shareProcesses = "let the agent share the host's process ids (hostPID: true, --pid=host)"

// describe makes what a board listed fit to be published. nameless is how many processes nobody knows.
func (c *Collector) describe(uuid string, raw []device.Process, names bool) (list []snapshot.Process, nameless int) {
	list = make([]snapshot.Process, 0, len(raw))
	for _, p := range raw {
		p.SM, p.MemoryActivity = share(p.SM), share(p.MemoryActivity)
		p.Encoder, p.Decoder = share(p.Encoder), share(p.Decoder)
		if p.Memory.OK() && (p.Memory.Value < 0 || p.Memory.Value >= 1<<53) {
			p.Memory = gpu.Absent(gpu.NoData) // the driver's "not available", and nothing that a board could hold
		}
		list = append(list, snapshot.Process{Process: p, UUID: uuid})
	}
	slices.SortStableFunc(list, compareProcesses)
	list = slices.CompactFunc(list, func(a, b snapshot.Process) bool { return compareProcesses(a, b) == 0 })
	if !names || c.o.Describer == nil {
		return list, 0
	}
	for i := range list[:min(len(list), maxProcesses)] {
		p := &list[i]
		var ok bool
		if p.Name, p.User, p.Owner, ok = c.o.Describer.Describe(p.PID); !ok {
			nameless++
		}
	}
	return list, nameless
}

// share is a share of something, absent where the driver gave a number that is none.
func share(r gpu.Reading) gpu.Reading {
	if r.OK() && !(r.Value >= 0 && r.Value <= 1) {
		return gpu.Absent(gpu.NoData)
	}
	return r
}

func compareProcesses(a, b snapshot.Process) int {
	return cmp.Or(strings.Compare(a.GPUInstance, b.GPUInstance), strings.Compare(a.ComputeInstance, b.ComputeInstance), cmp.Compare(a.PID, b.PID))
}

// takeProcesses keeps what a worker listed.
func (c *Collector) takeProcesses(e *entry, r result) {
	if !r.list {
		return
	}
	e.processes, e.listErr, e.nameless, e.dropped = r.processes, r.listErr, r.nameless, 0
	if over := len(e.processes) - maxProcesses; over > 0 {
		e.processes, e.dropped = e.processes[:maxProcesses], over
		c.o.Metrics.droppedProcesses.Add(float64(over))
	}
	c.listed = true
}

// publishProcesses publishes the processes of all boards, if they changed.
func (c *Collector) publishProcesses(at time.Time) {
	if !c.listed || c.o.Processes == nil {
		return
	}
	c.listed = false
	l := &snapshot.ProcessList{Time: at}
	var why []string
	if !c.listing() {
		c.o.Processes.Set(&snapshot.ProcessList{Time: at, Incomplete: "processes are not listed: the configuration switches that off"})
		return
	}
	nameless := 0
	for _, e := range c.entries {
		l.Processes = append(l.Processes, e.processes...)
		nameless += e.nameless
		if e.listErr != nil {
			why = append(why, fmt.Sprintf("GPU %d: %v", e.devices[0].Index, e.listErr))
		}
		if e.dropped > 0 {
			why = append(why, fmt.Sprintf("GPU %d: %d more processes are not listed", e.devices[0].Index, e.dropped))
		}
	}
	switch {
	case len(l.Processes) == 0 || !c.schedule.Names:
	case c.o.Describer == nil:
		why = append(why, "the names and users of processes are not known: "+shareProcesses)
	case nameless > 0:
		why = append(why, fmt.Sprintf("%d processes have no name: they have ended, or %s", nameless, shareProcesses))
	}
	l.Incomplete = strings.Join(why, "; ")
	c.o.Processes.Set(l)
}

// listing reports whether processes are listed at all.
func (c *Collector) listing() bool {
	return c.schedule.List && c.schedule.Groups.Has(device.GroupProcesses)
}

// forgetProcesses says that nobody knows the processes of a board any more.
func (c *Collector) forgetProcesses(e *entry, why error) {
	if e.processes == nil && (e.listErr == nil) == (why == nil) {
		return
	}
	e.processes, e.nameless, e.dropped, e.listErr = nil, 0, 0, why
	c.listed = true
}

var errNotListed = errors.New("its processes are not known while it does not answer")
