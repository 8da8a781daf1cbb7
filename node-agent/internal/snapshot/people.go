package snapshot

import (
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// ProcessList is every process that uses a GPU of the node. It is immutable once published.
type ProcessList struct {
	Time      time.Time
	Processes []Process
	// Incomplete says why processes are missing from the list, or lack a name; "" when nothing is.
	Incomplete string
}

// Process is a process on a device.
type Process struct {
	device.Process
	UUID string // of the physical GPU; GPUInstance says which part of it
	// Name and User are "" where they are not known: the agent must share the host's process ids to know them.
	Name, User string
	Owner      *device.Owner // nil when not known
}

// OwnerList is every workload that was given a GPU of the node, or uses one. It is immutable once published.
type OwnerList struct {
	Time    time.Time
	Owners  []device.Owner
	Notices []string // what could not be found out, a sentence each
}

// Latest holds the newest of something that is published whole. The zero value is ready; it is safe for concurrent use.
type Latest[T any] struct {
	mu      sync.Mutex
	value   *T
	changed chan struct{}
}

// Set publishes a value, which must not be changed afterwards.
func (l *Latest[T]) Set(value *T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.value = value
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// Get is the newest value, nil before the first. The channel is closed when there is a newer one.
func (l *Latest[T]) Get() (*T, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.value, l.changed
}
