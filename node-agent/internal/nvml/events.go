package nvml

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// eventWait bounds each wait for an event, so that the loop sees the end of its context.
const eventWait = 500 * time.Millisecond

// wanted are the events that are asked for, where a board has them.
const wanted = uint64(nvml.EventTypeXidCriticalError | nvml.EventMigConfigChange)

// Events implements device.Source.
func (s *Source) Events(ctx context.Context, emit func(device.Event)) error {
	if !s.lib.has(callEvents) {
		return fmt.Errorf("listen for XID errors: %w", device.ErrNotSupported)
	}
	set, ret := s.lib.api.EventSetCreate()
	if ret != nvml.SUCCESS {
		return failure("create an event set", ret)
	}
	defer func() { _ = set.Free() }() // the set is gone either way
	uuids, err := s.register(set)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		data, ret := set.Wait(uint32(eventWait.Milliseconds()))
		switch ret {
		case nvml.SUCCESS:
			if e, ok := s.event(data, uuids); ok {
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

// register asks for the events of every board that has any, and says which board is which. It fails only when none has.
func (s *Source) register(set nvml.EventSet) (map[nvml.Device]string, error) {
	count, ret := s.lib.api.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return nil, failure("count GPUs", ret)
	}
	var failures []error
	uuids := map[nvml.Device]string{}
	for i := range count {
		handle, ret := s.lib.api.DeviceGetHandleByIndex(i)
		if ret != nvml.SUCCESS {
			failures = append(failures, failure(fmt.Sprintf("open GPU %d", i), ret))
			continue
		}
		kinds := wanted
		if s.lib.has(callEventTypes) {
			if supported, ret := handle.GetSupportedEventTypes(); ret == nvml.SUCCESS {
				kinds &= supported
			}
		}
		if kinds == 0 {
			failures = append(failures, fmt.Errorf("listen to GPU %d: %w", i, device.ErrNotSupported))
			continue
		}
		if ret := handle.RegisterEvents(kinds, set); ret != nvml.SUCCESS {
			failures = append(failures, failure(fmt.Sprintf("listen to GPU %d", i), ret))
			continue
		}
		uuid, ret := handle.GetUUID()
		if ret != nvml.SUCCESS {
			failures = append(failures, failure(fmt.Sprintf("read the UUID of GPU %d", i), ret))
			continue
		}
		uuids[handle] = uuid
	}
	if len(uuids) == 0 && count > 0 {
		return nil, fmt.Errorf("listen for XID errors: %w", errors.Join(failures...))
	}
	for _, err := range failures {
		s.log.Warn("XID errors of a GPU will not be seen", "err", err)
	}
	return uuids, nil
}

// event translates NVML's; false for kinds that were not asked for.
func (s *Source) event(data nvml.EventData, uuids map[nvml.Device]string) (device.Event, bool) {
	// The board is not asked who it is: one that just fell off the bus does not tell.
	e := device.Event{Time: s.lib.now(), UUID: uuids[data.Device]}
	switch data.EventType {
	case nvml.EventTypeXidCriticalError:
		e.Kind, e.XID = device.EventXID, data.EventData
	case nvml.EventMigConfigChange:
		e.Kind = device.EventLayoutChanged
	default:
		return device.Event{}, false
	}
	return e, true
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
