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
	Driver string // version of the driver
	Boards []Board
	// Unreadable says for each board that was counted but would not tell who it is, why.
	Unreadable []error
}

// Board is one physical GPU, with its MIG instances.
type Board interface {
	// Devices are the board and after it its MIG instances, without cluster and node. They never change: a board that
	// is split differently is another Board.
	Devices() []gpu.Device
	// Sample measures the board and each instance once, into one Values for each of Devices. at is the time the sample
	// is scheduled for. It is called by one goroutine at a time.
	//
	// A nil error means that every reading says for itself whether it was taken. An error concerns the whole board, and
	// values are then meaningless: see StateOf. Sample looks at ctx between calls to the driver, which it cannot interrupt.
	Sample(ctx context.Context, at time.Time, values []Values) error
}

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
