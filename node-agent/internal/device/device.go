// Package device is the agent's seam to the hardware: what a source of GPUs offers, and which errors it answers with.
// The driver (package nvml) and the simulator (package simulate) implement it; package devicetest holds both to it.
package device

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Errors that decide what the agent does next. Sources wrap them with the act and the driver's own words.
var (
	ErrNoDriver     = errors.New("no NVIDIA driver here")
	ErrMismatch     = errors.New("driver and library versions do not match")
	ErrNoAccess     = errors.New("access to the GPUs was lost")
	ErrLost         = errors.New("the GPU does not answer")
	ErrNotSupported = errors.New("not supported")
	ErrNoPermission = errors.New("no permission")
	ErrChanged      = errors.New("the set of GPUs changed, the source must be opened again")
)

// StateOf is the state of every reading of a board whose Sample failed with err.
func StateOf(err error) gpu.State {
	switch {
	case err == nil:
		return gpu.OK
	case errors.Is(err, ErrLost):
		return gpu.Lost
	case errors.Is(err, ErrNoAccess), errors.Is(err, ErrNoPermission):
		return gpu.NoPermission
	case errors.Is(err, ErrNotSupported):
		return gpu.NotSupported
	default:
		return gpu.NoData
	}
}

// Source is where GPUs come from.
//
// One goroutine calls Open, Inventory and Close, in this order, and may open again after closing. No board is sampled
// while Close runs or after it. Events runs beside everything else, between Open and Close.
type Source interface {
	// Name is "nvml" or "simulate".
	Name() string
	// Open attaches to the driver. Its error says what the user can do about it, and wraps one of the sentinels above
	// where one fits.
	Open(ctx context.Context) error
	// Inventory lists the boards that answer now. A board that did not change since the last call is the same value. The
	// error is ErrChanged, or says why nothing can be listed at all.
	Inventory(ctx context.Context) (Inventory, error)
	// Events calls emit for what the driver reports by itself, until ctx ends. It returns early, with an error, when the
	// source has no events or lost them. emit may be called only until Events returns.
	Events(ctx context.Context, emit func(Event)) error
	// Close detaches. The boards must not be used any more.
	Close() error
}

// Inventory is what a source found.
type Inventory struct {
	Driver   string   // version of the driver
	Versions Versions // of what else belongs to it
	Boards   []Board
	// Unreadable says for each board that was counted but would not tell who it is, why.
	Unreadable []error
}

// Versions are those of the parts of the driver, "" where one is not known.
type Versions struct {
	NVML string
	CUDA string // the newest CUDA that the driver supports: "13.1"
}

// Board is one physical GPU, with its MIG instances.
type Board interface {
	// Devices are the board and after it its MIG instances, without cluster and node. They never change: a board that
	// is split differently is another Board.
	Devices() []gpu.Device
	// Facts are what else is known of the board, read when it was found.
	Facts() Facts
	// Sample measures the board and each instance once: the metrics of groups, and no others. Sample.Values has one entry
	// for each of Devices; what is not asked for is left as it is. at is the time the sample is scheduled for. Sample and
	// Processes are called by one goroutine at a time.
	//
	// A nil error means that every reading says for itself whether it was taken. An error concerns the whole board, and
	// the values are then meaningless: see StateOf. Sample looks at ctx between calls to the driver, which it cannot
	// interrupt.
	Sample(ctx context.Context, at time.Time, groups Groups, into *Sample) error
	// Processes appends the processes that use the board to into. It fails with ErrNotSupported or ErrNoPermission where
	// they cannot be listed; having none is no error.
	Processes(ctx context.Context, into []Process) ([]Process, error)
}

// Facts are what is known of a board besides its identity. What is not known is "" or -1.
type Facts struct {
	Serial            string
	Brand             string // NVML's name, or its number when it is a new one
	Architecture      string // "Hopper", or its number
	ComputeCapability string // "9.0"
	VBIOS             string
	InfoROM           string // image version
	BoardPart         string
	Minor             int // /dev/nvidia<minor>
	MemoryBusBits     int
	Cores             int
	// SharedMemory: the board has no memory of its own and uses the host's, which its memory metrics then describe.
	SharedMemory bool
	// Placements of the MIG instances, by GPU instance id.
	Placements map[string]Placement
}

// Placement is where a MIG instance lies on its board, in memory slices.
type Placement struct {
	Start, Size int
}

// Sample is what one measurement of a board gave. It is reused from one to the next.
type Sample struct {
	Values []Values
	// Extents are what the driver's own buffers hold of the time since the sample before this one. A board without them
	// leaves it empty.
	Extents []Extent
}

// Extent is what a metric went through between two samples, from measurements that the driver took by itself.
type Extent struct {
	Device         int // index into Devices
	Metric         Metric
	Min, Mean, Max float64
	Count          int // of measurements
}

// Process is a process with a context on a board.
type Process struct {
	// PID is that of the host, whatever namespace the agent runs in.
	PID                          int
	GPUInstance, ComputeInstance string // of the MIG instance it uses, "" otherwise
	Kind                         ProcessKind
	Memory                       gpu.Reading // bytes of device memory
	// Shares of the time since the last listing; absent where the driver has no fresh measurement.
	SM, MemoryActivity, Encoder, Decoder gpu.Reading
}

// ProcessKind is what a process uses a board for. A process with several uses is listed once, with the first of them.
type ProcessKind string

// The kinds of processes.
const (
	Compute  ProcessKind = "compute"
	MPS      ProcessKind = "mps"
	Graphics ProcessKind = "graphics"
)

// Error tells which call of a source failed, and how. It unwraps to one of the sentinels.
type Error struct {
	Act  string // "read temperature of GPU 3"
	Code string // the driver's name for the failure: "ERROR_GPU_IS_LOST"
	Kind error
	Hint string // what the user can do, "" when there is nothing to say
}

func (e *Error) Error() string {
	text := e.Act + ": " + e.Kind.Error()
	if e.Code != "" {
		text = fmt.Sprintf("%s (%s)", text, e.Code)
	}
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}

// Unwrap is the sentinel.
func (e *Error) Unwrap() error { return e.Kind }
