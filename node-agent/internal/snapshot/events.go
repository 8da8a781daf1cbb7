package snapshot

import (
	"sync"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// Event is something that happened, with its number.
type Event struct {
	device.Event
	// Seq counts the events of this run of the agent; the first is 1.
	Seq uint64
}

// EventLog keeps the newest events. It is safe for concurrent use.
type EventLog struct {
	mu      sync.Mutex
	ring    []Event // ring[seq % len]
	newest  uint64
	changed chan struct{}
}

// NewEventLog keeps up to size events.
func NewEventLog(size int) *EventLog {
	return &EventLog{ring: make([]Event, max(size, 1)), changed: make(chan struct{})}
}

// Append numbers an event and keeps it.
func (l *EventLog) Append(e device.Event) Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newest++
	numbered := Event{Event: e, Seq: l.newest}
	l.ring[l.newest%uint64(len(l.ring))] = numbered
	close(l.changed)
	l.changed = make(chan struct{})
	return numbered
}

// After appends to into the events with a higher number than seq, oldest first, and says how many of them are gone
// already. The channel is closed when there are newer ones.
func (l *EventLog) After(seq uint64, into []Event) (events []Event, dropped uint64, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := uint64(1)
	if kept := uint64(len(l.ring)); l.newest > kept {
		first = l.newest - kept + 1
	}
	if seq+1 < first {
		dropped = first - seq - 1
	}
	for at := max(seq+1, first); at <= l.newest; at++ {
		into = append(into, l.ring[at%uint64(len(l.ring))])
	}
	return into, dropped, l.changed
}
