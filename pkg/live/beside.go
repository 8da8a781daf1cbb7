package live

import (
	"slices"
	"strconv"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// Limits of what is remembered of a node besides its samples.
const (
	maxEvents = 1000
	// maxListed bounds one list of processes or owners.
	maxListed = 10_000
	// listsIn is how long after it was asked an agent may take for its first list of processes or owners. One that sent
	// none by then does not know of them.
	listsIn = 2 * time.Second
)

// Processes are all processes that used a node's GPUs at a time.
type Processes struct {
	At         time.Time
	List       []gpu.Process
	Incomplete string // why the list is not complete, "" when it is
}

// Owners are all workloads that owned a node's GPUs at a time.
type Owners struct {
	At   time.Time
	List []gpu.Ownership
}

// beside is what is known of a node besides its samples.
type beside struct {
	events  []gpu.Event // oldest first
	seq     uint64      // newest event of the schema's epoch
	dropped uint64      // events that nobody has any more

	processes *Processes
	owners    *Owners
}

// remember adds an event, and forgets the oldest when there are too many.
func (b *beside) remember(e gpu.Event) {
	if len(b.events) >= maxEvents {
		b.dropped++
		b.events = b.events[1:]
	}
	b.events = append(b.events, e)
}

// since are the events from then on.
func (b *beside) since(t time.Time) []gpu.Event {
	var events []gpu.Event
	for _, e := range b.events {
		if !e.Time.Before(t) {
			events = append(events, e)
		}
	}
	return events
}

// takeEvents remembers events that are new and tells the subscribers of them.
func (n *node) takeEvents(sent *wire.Events) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.beside.dropped += sent.GetDropped()
	var fresh []gpu.Event
	for _, w := range sent.GetEvents() {
		if w.GetSeq() <= n.beside.seq {
			continue
		}
		at, err := agentTime(w.GetTimeUnixMs())
		if err != nil {
			return err
		}
		n.beside.seq = w.GetSeq()
		e := n.event(w, n.clock.correct(at))
		n.beside.remember(e)
		fresh = append(fresh, e)
	}
	if len(fresh) == 0 {
		return nil
	}
	for sub := range n.subs {
		if !sub.selected.Events {
			continue
		}
		from := sub.heardFrom()
		events := slices.DeleteFunc(slices.Clone(fresh), func(e gpu.Event) bool { return e.Time.Before(from) })
		if len(events) > 0 {
			sub.offerEvents(n, events)
		}
	}
	n.tell()
	return nil
}

// attachBeside hands a new subscription what is known already. The caller holds mu.
func (n *node) attachBeside(sub *Subscription) {
	if sub.selected.Events {
		if events := n.beside.since(sub.heardFrom()); len(events) > 0 {
			sub.offerEvents(n, events)
		}
	}
	if sub.selected.Processes && n.beside.processes != nil {
		sub.offerProcesses(n, n.beside.processes)
	}
	if sub.selected.Owners && n.beside.owners != nil {
		sub.offerOwners(n, n.beside.owners)
	}
}

// heardFrom is the time from which events are handed to a subscription. Without one in the selection those of before it
// began are not, and its beginning is as uncertain as an agent's clock.
func (s *Subscription) heardFrom() time.Time {
	if s.selected.Since.IsZero() {
		return s.began.Add(-2 * tolerated)
	}
	return s.selected.Since
}

// event is what an agent's message says. The caller holds mu.
func (n *node) event(w *wire.Event, at time.Time) gpu.Event {
	return gpu.Event{
		Time: at, Kind: w.GetKind(), Origin: w.GetOrigin(), XID: w.GetXid(), Detail: w.GetDetail(), Seq: w.GetSeq(),
		Device: n.device(w.GetUuid(), instance(w.GpuInstance), instance(w.ComputeInstance)),
	}
}

// device is the one of the schema, or what is known of one that is not there. The caller holds mu.
func (n *node) device(uuid, gpuInstance, computeInstance string) gpu.Device {
	id := gpu.Identity{Cluster: n.where.Cluster, Node: n.where.Node, UUID: uuid, GPUInstance: gpuInstance, ComputeInstance: computeInstance}
	if uuid != "" && n.schema != nil {
		for _, d := range n.schema.Devices {
			if d.UUID == uuid && d.GPUInstance == gpuInstance && d.ComputeInstance == computeInstance {
				return d
			}
		}
	}
	return gpu.Device{Identity: id, Index: -1}
}

func instance(id *uint32) string {
	if id == nil {
		return ""
	}
	return strconv.FormatUint(uint64(*id), 10)
}

// takeProcesses replaces the list of processes.
func (n *node) takeProcesses(sent *wire.Processes) error {
	at, err := agentTime(sent.GetTimeUnixMs())
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	list := &Processes{At: n.clock.correct(at), List: []gpu.Process{}, Incomplete: sent.GetIncomplete()}
	for _, w := range sent.GetProcesses() {
		if int(w.GetDevice()) >= len(n.schema.Devices) {
			continue // of devices that are gone: a list of the new ones follows
		}
		if len(list.List) == maxListed {
			list.Incomplete = "more than " + strconv.Itoa(maxListed) + " processes"
			break
		}
		list.List = append(list.List, gpu.Process{
			Device: n.schema.Devices[w.GetDevice()], PID: w.GetPid(), Name: w.GetName(), User: w.GetUser(), Kind: w.GetKind(),
			Owner: toOwner(w.GetOwner()), MemoryBytes: whole(w.MemoryBytes), SMRatio: ratio(w.SmRatio),
			MemoryActivityRatio: ratio(w.MemoryActivityRatio), EncoderRatio: ratio(w.EncoderRatio), DecoderRatio: ratio(w.DecoderRatio),
		})
	}
	n.beside.processes = list
	for sub := range n.subs {
		if sub.selected.Processes {
			sub.offerProcesses(n, list)
		}
	}
	n.tell()
	return nil
}

// takeOwners replaces the list of owners.
func (n *node) takeOwners(sent *wire.Owners) error {
	at, err := agentTime(sent.GetTimeUnixMs())
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	list := &Owners{At: n.clock.correct(at), List: []gpu.Ownership{}}
	for _, w := range sent.GetOwners() {
		if int(w.GetDevice()) >= len(n.schema.Devices) {
			continue
		}
		if len(list.List) == maxListed {
			break
		}
		list.List = append(list.List, gpu.Ownership{Device: n.schema.Devices[w.GetDevice()], Owner: toOwner(w.GetOwner())})
	}
	n.beside.owners = list
	for sub := range n.subs {
		if sub.selected.Owners {
			sub.offerOwners(n, list)
		}
	}
	n.tell()
	return nil
}

func toOwner(w *wire.Owner) gpu.Owner {
	return gpu.Owner{
		Namespace: w.GetNamespace(), Pod: w.GetPod(), Container: w.GetContainer(), SlurmJob: w.GetSlurmJob(), SlurmStep: w.GetSlurmStep(),
		User: w.GetUser(), ContainerID: w.GetContainerId(), Replica: w.GetReplica(), Source: w.GetSource(),
		Conflict: w.GetConflict(),
	}
}

func whole(v *uint64) gpu.Reading {
	if v == nil {
		return gpu.Absent(gpu.NoData)
	}
	return gpu.Read(float64(*v))
}

func ratio(v *float64) gpu.Reading {
	if v == nil {
		return gpu.Absent(gpu.NoData)
	}
	return gpu.Read(*v)
}
