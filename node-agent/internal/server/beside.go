package server

import (
	"context"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// batchEvents is how many events go into one message at most.
const batchEvents = 256

// beside is what a reader asked for besides samples. A channel is nil when it did not.
type beside struct {
	events struct {
		wanted  bool
		after   uint64
		changed <-chan struct{}
	}
	processes following[snapshot.ProcessList]
	owners    following[snapshot.OwnerList]
}

// following is a list of which a reader gets the newest, whenever there is a newer one or other devices.
type following[T any] struct {
	of      *snapshot.Latest[T] // nil when it is not wanted
	changed <-chan struct{}
	sent    *T
	schema  *snapshot.Schema // that its indices were of
}

// next is what there is to send now, nil for nothing.
func (f *following[T]) next(schema *snapshot.Schema) *T {
	if f.of == nil {
		return nil
	}
	var newest *T
	newest, f.changed = f.of.Get()
	if newest == f.sent && schema == f.schema {
		return nil
	}
	f.sent, f.schema = newest, schema
	return newest
}

// besides is what a request asks for.
func (s *Server) besides(r *wire.Request) beside {
	var b beside
	if r.GetEvents() && s.o.Events != nil {
		b.events.wanted = true
		// Numbers of another run, or of no run at all, say nothing about this one's.
		if r.GetResumeEpoch() == s.o.Node.Epoch && r.GetEventsAfter() <= s.newestEvent() {
			b.events.after = r.GetEventsAfter()
		}
	}
	if r.GetProcesses() {
		b.processes.of = s.o.Processes
	}
	if r.GetOwners() {
		b.owners.of = s.o.Owners
	}
	return b
}

// newestEvent is the number of the newest event, 0 before the first.
func (s *Server) newestEvent() uint64 {
	if s.o.Events == nil {
		return 0
	}
	events, _, _ := s.o.Events.After(0, nil)
	if len(events) == 0 {
		return 0
	}
	return events[len(events)-1].Seq
}

// sendBeside sends what is new, and says whether there was anything.
func (sub *subscriber) sendBeside(ctx context.Context) (bool, error) {
	sent, err := sub.sendEvents(ctx)
	if err != nil {
		return sent, err
	}
	if list := sub.beside.processes.next(sub.schema); list != nil {
		sent = true
		if err := sub.write(ctx, &wire.Message{Body: &wire.Message_Processes{Processes: wireProcesses(sub.schema, list)}}); err != nil {
			return sent, err
		}
	}
	if list := sub.beside.owners.next(sub.schema); list != nil {
		sent = true
		if err := sub.write(ctx, &wire.Message{Body: &wire.Message_Owners{Owners: wireOwners(sub.schema, list)}}); err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// sendEvents sends the events that happened since. Those that the log has forgotten meanwhile are counted.
func (sub *subscriber) sendEvents(ctx context.Context) (bool, error) {
	b := &sub.beside.events
	if !b.wanted {
		return false, nil
	}
	var events []snapshot.Event
	var dropped uint64
	events, dropped, b.changed = sub.server.o.Events.After(b.after, nil)
	sub.server.figures.forgot.Add(float64(dropped))
	sent := len(events) > 0
	for len(events) > 0 {
		n := min(len(events), batchEvents)
		m := &wire.Events{Dropped: dropped}
		for _, e := range events[:n] {
			m.Events = append(m.Events, wireEvent(e))
		}
		if err := sub.write(ctx, &wire.Message{Body: &wire.Message_Events{Events: m}}); err != nil {
			return sent, err
		}
		b.after, dropped, events = events[n-1].Seq, 0, events[n:]
	}
	return sent, nil
}

func wireEvent(e snapshot.Event) *wire.Event {
	return &wire.Event{
		Seq: e.Seq, TimeUnixMs: e.Time.UnixMilli(), Kind: e.Kind.String(), Origin: string(e.Origin), Uuid: e.UUID,
		GpuInstance: instance(e.GPUInstance), ComputeInstance: instance(e.ComputeInstance), Xid: e.XID, Detail: valid(e.Detail),
	}
}

// instance is the number of a MIG instance, nil for none.
func instance(text string) *uint32 {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return nil
	}
	return proto.Uint32(uint32(n))
}

// deviceIndex finds a device in a schema: the compute instance, or else its GPU instance.
func deviceIndex(s *snapshot.Schema, uuid, gpuInstance, computeInstance string) (uint32, bool) {
	found := -1
	for i, d := range s.Devices {
		if d.UUID != uuid || d.GPUInstance != gpuInstance {
			continue
		}
		if d.ComputeInstance == computeInstance {
			return uint32(i), true
		}
		if found < 0 {
			found = i
		}
	}
	return uint32(max(found, 0)), found >= 0
}

func wireProcesses(s *snapshot.Schema, list *snapshot.ProcessList) *wire.Processes {
	m := &wire.Processes{TimeUnixMs: list.Time.UnixMilli(), Incomplete: valid(list.Incomplete)}
	for _, p := range list.Processes {
		i, ok := deviceIndex(s, p.UUID, p.GPUInstance, p.ComputeInstance)
		if !ok {
			continue // of a device that is gone, or that is not known yet
		}
		w := &wire.Process{
			Device: i, Pid: uint32(p.PID), Name: valid(p.Name), User: valid(p.User), Kind: string(p.Kind),
			SmRatio: number(p.SM), MemoryActivityRatio: number(p.MemoryActivity), EncoderRatio: number(p.Encoder),
			DecoderRatio: number(p.Decoder),
		}
		if p.Memory.OK() && p.Memory.Value >= 0 {
			w.MemoryBytes = proto.Uint64(uint64(p.Memory.Value))
		}
		if p.Owner != nil {
			w.Owner = wireOwner(*p.Owner)
		}
		m.Processes = append(m.Processes, w)
	}
	return m
}

func wireOwners(s *snapshot.Schema, list *snapshot.OwnerList) *wire.Owners {
	m := &wire.Owners{TimeUnixMs: list.Time.UnixMilli()}
	for _, o := range list.Owners {
		if i, ok := deviceIndex(s, o.UUID, o.GPUInstance, ""); ok {
			m.Owners = append(m.Owners, &wire.Ownership{Device: i, Owner: wireOwner(o)})
		}
	}
	return m
}

func wireOwner(o device.Owner) *wire.Owner {
	return &wire.Owner{
		Namespace: valid(o.Namespace), Pod: valid(o.Pod), Container: valid(o.Container), SlurmJob: valid(o.SlurmJob),
		SlurmStep: valid(o.SlurmStep), User: valid(o.User), ContainerId: valid(o.ContainerID), Source: o.Source, Replica: valid(o.Replica),
		Conflict: string(o.Conflict),
	}
}

func number(r gpu.Reading) *float64 {
	if !r.OK() {
		return nil
	}
	return proto.Float64(r.Value)
}

// valid is text that protobuf can carry, wherever it came from.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
