package nvmltest

import (
	"strconv"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
)

// queued is an event that waits for somebody to ask.
type queued struct {
	gpu  int
	kind uint64
	data uint64
}

// Emit lets something happen to GPU i.
func (m *Machine) Emit(i int, kind, data uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, queued{gpu: i, kind: kind, data: data})
	m.wake()
}

// Set is an event set. It implements nvml.EventSet.
type Set struct {
	*mock.EventSet // nil: what is not implemented panics

	m          *Machine
	generation int
	freed      bool
	kinds      map[int]uint64 // by GPU
	handles    map[int]*Device
	next       int // in the machine's events
}

// EventSetCreate implements nvml.Interface.
func (m *Machine) EventSetCreate() (nvml.EventSet, nvml.Return) {
	ret, _ := m.enter("EventSetCreate", nil, "")
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Set{m: m, generation: m.generation, kinds: map[int]uint64{}, handles: map[int]*Device{}, next: len(m.events)}, ret
}

// EventSetFree implements nvml.Interface.
func (m *Machine) EventSetFree(s nvml.EventSet) nvml.Return { return s.Free() }

// EventSetWait implements nvml.Interface.
func (m *Machine) EventSetWait(s nvml.EventSet, ms uint32) (nvml.EventData, nvml.Return) {
	return s.Wait(ms)
}

// RegisterEvents implements nvml.Device.
func (d *Device) RegisterEvents(kinds uint64, set nvml.EventSet) nvml.Return {
	if ret, _ := d.m.enter("RegisterEvents", d, ""); ret != nvml.SUCCESS {
		return ret
	}
	supported := uint64(d.gpu.spec.Answers["GetSupportedEventTypes"].Base)
	if d.mig != nil || supported == 0 || kinds&^supported != 0 {
		return nvml.ERROR_NOT_SUPPORTED
	}
	s := set.(*Set)
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	s.kinds[d.gpu.index] |= kinds
	s.handles[d.gpu.index] = d
	return nvml.SUCCESS
}

// Free implements nvml.EventSet.
func (s *Set) Free() nvml.Return {
	ret, _ := s.m.enter("EventSetFree", nil, "")
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if s.freed {
		s.m.breach("an event set was freed twice")
	}
	s.freed = true
	return ret
}

// Wait implements nvml.EventSet. Waiting takes real time, whatever clock the machine has.
func (s *Set) Wait(ms uint32) (nvml.EventData, nvml.Return) {
	timeout := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer timeout.Stop()
	ret, _ := s.m.enter("EventSetWait", nil, "")
	for ret == nvml.SUCCESS {
		s.m.queueSteps()
		e, found, changed, failed := s.take()
		if failed != nvml.SUCCESS || found {
			return e, failed
		}
		var again <-chan time.Time
		if s.m.pending() {
			again = time.After(20 * time.Millisecond) // steps come with time
		}
		select {
		case <-changed:
		case <-again:
		case <-timeout.C:
			ret = nvml.ERROR_TIMEOUT
		}
	}
	return nvml.EventData{}, ret
}

func (s *Set) take() (e nvml.EventData, found bool, changed <-chan struct{}, ret nvml.Return) {
	m := s.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.freed || s.generation != m.generation {
		m.breach("an event set was waited for after it was freed or NVML was closed")
		return e, false, nil, nvml.ERROR_UNINITIALIZED
	}
	for s.next < len(m.events) {
		q := m.events[s.next]
		s.next++
		if s.kinds[q.gpu]&q.kind != 0 {
			return nvml.EventData{
				Device: s.handles[q.gpu], EventType: q.kind, EventData: q.data, GpuInstanceId: none32, ComputeInstanceId: none32,
			}, true, nil, nvml.SUCCESS
		}
	}
	return e, false, m.changed, nvml.SUCCESS
}

// pending reports whether the script has events to come.
func (m *Machine) pending() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, step := range m.spec.Script {
		if step.Event != "" && !m.sent[i] {
			return true
		}
	}
	return false
}

// queueSteps queues the events of the script that are due.
func (m *Machine) queueSteps() {
	t := m.seconds()
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, step := range m.spec.Script {
		if step.Event == "" || step.T > t || m.sent[i] {
			continue
		}
		m.sent[i] = true
		kind := uint64(nvml.EventTypeXidCriticalError)
		if step.Event != "XID" {
			kind, _ = strconv.ParseUint(step.Event, 0, 64) // 0 is of no kind, and nobody gets it
		}
		gpu, _ := strconv.Atoi(step.Device.Value) // the first when none is named
		m.events = append(m.events, queued{gpu: gpu, kind: kind, data: step.Code})
	}
}
