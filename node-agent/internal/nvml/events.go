package nvml

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

const (
	// eventWait bounds each wait for an event, so that the loop sees the end of its context.
	eventWait = 500 * time.Millisecond
	// clockEvery is how often a board's changes of clocks are told. Under a power cap the clocks change many times a second.
	clockEvery = time.Minute
)

// eventKinds are NVML's events that mean something to people. Changes of the performance state are left out: it is sampled,
// and changes whenever work begins or ends.
var eventKinds = map[uint64]device.EventKind{
	nvml.EventTypeXidCriticalError:       device.EventXID,
	nvml.EventMigConfigChange:            device.EventLayoutChanged,
	nvml.EventTypeSingleBitEccError:      device.EventECCCorrected,
	nvml.EventTypeDoubleBitEccError:      device.EventECCUncorrected,
	nvml.EventTypeSingleBitEccErrorStorm: device.EventECCStorm,
	nvml.EventTypeDramRetirementEvent:    device.EventPageRetired,
	nvml.EventTypeDramRetirementFailure:  device.EventPageRetirementFailed,
	nvml.EventTypeNonFatalPoisonError:    device.EventPoisonContained,
	nvml.EventTypeFatalPoisonError:       device.EventPoisonUncontained,
	nvml.EventTypeClock:                  device.EventClocksChanged,
	nvml.EventTypePowerSourceChange:      device.EventPowerSourceChanged,
	nvml.EventTypeGpuRecoveryAction:      device.EventRecoveryActionChanged,
	nvml.EventTypeGpuUnavailableError:    device.EventUnavailable,
}

// oldEvents are those that every driver with events knows.
const oldEvents = nvml.EventTypeXidCriticalError | nvml.EventTypeSingleBitEccError | nvml.EventTypeDoubleBitEccError

// listener is one set of events.
type listener struct {
	source *Source
	set    nvml.EventSet
	boards map[nvml.Device]*listened
	// seen is the state of Source.changes for which the boards were registered.
	seen    int64
	pending map[int]*registration // of GPUs that did not answer yet, by number
}

// listened is a board in the set. It is not asked who it is when an event comes: one that just fell off the bus does not
// tell.
type listened struct {
	uuid  string
	split bool
	// Changes of the clocks that were not told since the last one was.
	toldAt  time.Time
	skipped int
}

// Events implements device.Source.
func (s *Source) Events(ctx context.Context, emit func(device.Event)) error {
	if !s.lib.has(callEvents) {
		return fmt.Errorf("listen for events: %w", device.ErrNotSupported)
	}
	set, ret := s.lib.api.EventSetCreate()
	if ret != nvml.SUCCESS {
		return failure("create an event set", ret)
	}
	l := &listener{
		source: s, set: set, boards: map[nvml.Device]*listened{}, seen: s.changes.Load(), pending: map[int]*registration{},
	}
	defer l.free()
	if err := l.register(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if now := s.changes.Load(); now != l.seen {
			l.seen = now
			if err := l.register(ctx); err != nil {
				return err
			}
		}
		l.settle()
		data, ret := set.Wait(uint32(eventWait.Milliseconds()))
		switch ret {
		case nvml.SUCCESS:
			if e, ok := l.event(data); ok {
				emit(e)
			}
		case nvml.ERROR_TIMEOUT:
		case nvml.ERROR_GPU_IS_LOST:
			// Every further wait answers so at once, while other boards may still have events.
			if !sleep(ctx, eventWait) {
				return ctx.Err()
			}
		default:
			return failure("wait for events", ret)
		}
	}
	return ctx.Err()
}

// event translates NVML's; false for what is not told.
func (l *listener) event(data nvml.EventData) (device.Event, bool) {
	kind, ok := eventKinds[data.EventType]
	if !ok {
		return device.Event{}, false
	}
	lib := l.source.lib
	e := device.Event{Kind: kind, Time: lib.now(), Origin: device.FromNVML}
	board := l.boards[data.Device]
	if board == nil {
		board = &listened{}
	}
	e.UUID = board.uuid
	switch kind {
	case device.EventXID:
		e.XID = data.EventData
		// The first version of the wait leaves these at 0, which is an instance too.
		if board.split && lib.has(callEventInstances) {
			e.GPUInstance, e.ComputeInstance = instanceID(data.GpuInstanceId), instanceID(data.ComputeInstanceId)
		}
	case device.EventClocksChanged:
		if !board.toldAt.IsZero() && e.Time.Sub(board.toldAt) < clockEvery {
			board.skipped++
			return device.Event{}, false
		}
		if board.skipped > 0 {
			e.Detail = fmt.Sprintf("%d times since %s", board.skipped+1, board.toldAt.UTC().Format(time.TimeOnly))
		}
		board.toldAt, board.skipped = e.Time, 0
	}
	return e, true
}

// instanceID is "" for no instance.
func instanceID(id uint32) string {
	if id == noInstance {
		return ""
	}
	return strconv.FormatUint(uint64(id), 10)
}

// sleep waits, and reports whether ctx still goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
