package agenttest

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// beside is what an agent has besides samples.
type beside struct {
	events    []*wire.Event
	dropped   uint64
	processes *wire.Processes
	owners    *wire.Owners
}

// Event makes something happen, and tells the readers that asked for events. The device's identity and the time, zero
// for the agent's now, are taken out of e; its number is the next one.
func (a *Agent) Event(e gpu.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.Time.IsZero() {
		e.Time = a.now()
	}
	w := &wire.Event{
		Seq: uint64(len(a.beside.events)) + a.beside.dropped + 1, TimeUnixMs: e.Time.UnixMilli(), Kind: e.Kind, Origin: e.Origin,
		Uuid: e.Device.UUID, GpuInstance: number(e.Device.GPUInstance), ComputeInstance: number(e.Device.ComputeInstance),
		Xid: e.XID, Detail: e.Detail,
	}
	a.beside.events = append(a.beside.events, w)
	a.eachAsking(func(r *wire.Request) bool { return r.GetEvents() }, &wire.Message{Body: &wire.Message_Events{
		Events: &wire.Events{Events: []*wire.Event{w}},
	}})
}

// ForgetEvents makes the agent forget what happened so far.
func (a *Agent) ForgetEvents() {
	a.set(func() { a.beside.dropped, a.beside.events = a.beside.dropped+uint64(len(a.beside.events)), nil })
}

// SetProcesses is a new list of processes, which are on devices of the agent's.
func (a *Agent) SetProcesses(incomplete string, list ...gpu.Process) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := &wire.Processes{TimeUnixMs: a.now().UnixMilli(), Incomplete: incomplete}
	for _, p := range list {
		w := &wire.Process{
			Device: a.device(p.Device), Pid: p.PID, Name: p.Name, User: p.User, Kind: p.Kind, SmRatio: ratio(p.SMRatio),
			MemoryActivityRatio: ratio(p.MemoryActivityRatio), EncoderRatio: ratio(p.EncoderRatio), DecoderRatio: ratio(p.DecoderRatio),
		}
		if p.MemoryBytes.OK() {
			w.MemoryBytes = proto.Uint64(uint64(p.MemoryBytes.Value))
		}
		if p.Owner.Known() {
			w.Owner = owner(p.Owner)
		}
		m.Processes = append(m.Processes, w)
	}
	a.beside.processes = m
	a.eachAsking(func(r *wire.Request) bool { return r.GetProcesses() }, &wire.Message{Body: &wire.Message_Processes{Processes: m}})
}

// SetOwners is a new list of owners of devices of the agent's.
func (a *Agent) SetOwners(list ...gpu.Ownership) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := &wire.Owners{TimeUnixMs: a.now().UnixMilli()}
	for _, o := range list {
		m.Owners = append(m.Owners, &wire.Ownership{Device: a.device(o.Device), Owner: owner(o.Owner)})
	}
	a.beside.owners = m
	a.eachAsking(func(r *wire.Request) bool { return r.GetOwners() }, &wire.Message{Body: &wire.Message_Owners{Owners: m}})
}

// device is the index of a device. One that is not there gets an index that is not there.
func (a *Agent) device(d gpu.Device) uint32 {
	for i, have := range a.devices {
		if have.UUID == d.UUID && have.GPUInstance == d.GPUInstance && have.ComputeInstance == d.ComputeInstance {
			return uint32(i)
		}
	}
	return uint32(len(a.devices))
}

func (a *Agent) eachAsking(asks func(*wire.Request) bool, m *wire.Message) {
	if a.options.Old {
		return
	}
	a.each(func(c *connection) *wire.Message {
		if c.encoder == nil || !asks(c.request) {
			return nil
		}
		return m
	})
}

// sendBeside sends what a request asks for besides samples.
func (a *Agent) sendBeside(ctx context.Context, c *connection, epoch string) error {
	r := c.request
	if a.options.Old {
		return nil
	}
	if r.GetEvents() {
		m := &wire.Events{}
		after := r.GetEventsAfter()
		if r.GetResumeEpoch() != epoch {
			after = 0
		}
		if after < a.beside.dropped {
			m.Dropped = a.beside.dropped - after
		}
		for _, e := range a.beside.events {
			if e.GetSeq() > after {
				m.Events = append(m.Events, e)
			}
		}
		if len(m.GetEvents()) > 0 {
			if err := c.send(ctx, &wire.Message{Body: &wire.Message_Events{Events: m}}); err != nil {
				return err
			}
		}
	}
	if r.GetProcesses() && a.beside.processes != nil {
		if err := c.send(ctx, &wire.Message{Body: &wire.Message_Processes{Processes: a.beside.processes}}); err != nil {
			return err
		}
	}
	if r.GetOwners() && a.beside.owners != nil {
		return c.send(ctx, &wire.Message{Body: &wire.Message_Owners{Owners: a.beside.owners}})
	}
	return nil
}

// heed takes samples as often as the most eager reader wishes, and announces that to the others. The caller holds mu.
func (a *Agent) heed(except *connection) {
	if a.options.MinPeriod == 0 {
		return
	}
	period := a.options.Period
	for c := range a.conns {
		if p := time.Duration(c.request.GetPeriodMs()) * time.Millisecond; p > 0 {
			period = max(a.options.MinPeriod, min(period, p))
		}
	}
	if period == a.period {
		return
	}
	a.period = period
	a.each(func(c *connection) *wire.Message {
		if c == except || c.encoder == nil {
			return nil
		}
		schema := a.schema()
		c.encoder = wire.NewEncoder(schema)
		return &wire.Message{Body: &wire.Message_Schema{Schema: schema}}
	})
}

// Period is how far apart samples are taken.
func (a *Agent) Period() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.period
}

func owner(o gpu.Owner) *wire.Owner {
	return &wire.Owner{
		Namespace: o.Namespace, Pod: o.Pod, Container: o.Container, SlurmJob: o.SlurmJob, SlurmStep: o.SlurmStep, User: o.User,
		ContainerId: o.ContainerID, Source: o.Source, Replica: o.Replica,
	}
}

func ratio(r gpu.Reading) *float64 {
	if !r.OK() {
		return nil
	}
	return proto.Float64(r.Value)
}

func number(text string) *uint32 {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return nil
	}
	return proto.Uint32(uint32(n))
}
