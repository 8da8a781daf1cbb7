package snapshot

import (
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Frame is one sampling of the node. It is immutable once published.
type Frame struct {
	Seq      uint64
	Time     time.Time // what the sample was scheduled for, a multiple of the period
	Schema   *Schema
	Readings []gpu.Reading // one for each column
	// Extents are what metrics went through since the frame before, from the driver's own buffers; Extent.Device is an
	// index into Schema.Devices. Most frames have none.
	Extents []device.Extent
	// Sampled is when each group was last measured; zero for one that never was. It is shared by frames between which
	// nothing was measured.
	Sampled *[device.NumGroups]time.Time
	Status  *Status
}

// Stale reports whether the frame is too old for its readings to say anything about now.
func (f *Frame) Stale(now time.Time) bool {
	return now.Sub(f.Time) > max(10*time.Second, 5*f.Schema.Node.Period)
}

// Status is how the node and its boards are. It is shared by frames as long as it stays the same.
type Status struct {
	Source   Condition // of the source as a whole
	Versions device.Versions
	Boards   []Board // in the order of their indices
}

// Condition says whether something works, and if not, why and since when.
type Condition struct {
	State  State
	Reason string // one sentence for people, "" when there is nothing to say
	Since  time.Time
}

// State is how a source or a board is.
type State string

// The states.
const (
	StateOK       State = "ok"
	StateStarting State = "starting"  // nothing is known yet
	StateNoDriver State = "no_driver" // there is no NVIDIA driver on this node
	StateMismatch State = "mismatch"  // of driver and library
	StateNoAccess State = "no_access" // the agent may not, or no longer, use the GPUs
	StateLost     State = "lost"      // the board does not answer
	StateHung     State = "hung"      // a call to the driver does not come back
	StateReleased State = "released"  // the agent was told to let go of the GPUs for a while
	StateFailed   State = "failed"    // anything else
)

// SourceStates are those that a source can be in.
func SourceStates() []State {
	return []State{StateOK, StateStarting, StateNoDriver, StateMismatch, StateNoAccess, StateReleased, StateFailed}
}

// BoardStates are those that a board can be in.
func BoardStates() []State {
	return []State{StateOK, StateStarting, StateLost, StateHung, StateNoAccess, StateReleased, StateFailed}
}

// Board is how one physical GPU is.
type Board struct {
	Device    gpu.Device // the board itself, with cluster and node
	Condition Condition
	LastXID   uint64     // the newest code, 0 for none
	XIDs      []XIDCount // by rising code
	Facts     device.Facts
	Events    []EventCount // of other kinds than XID errors, by kind
}

// XIDCount is how often the driver reported a code since the agent started.
type XIDCount struct {
	Code  uint64
	Count uint64
	Last  time.Time
}

// EventCount is how often something happened since the agent started.
type EventCount struct {
	Kind  device.EventKind
	Count uint64
	Last  time.Time
}

// Alive reports whether the process still does its work. It is false when the GPUs there were are out of reach, which
// only a new process, in a new container, can change.
func (s *Status) Alive() bool {
	if s.Source.State == StateNoAccess {
		return false
	}
	for _, b := range s.Boards {
		if b.Condition.State != StateNoAccess {
			return true
		}
	}
	return len(s.Boards) == 0
}
