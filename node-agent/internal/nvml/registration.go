package nvml

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// registration is a GPU that is being put into a set of events. A driver that hangs for one GPU must not keep the events
// of the others from being heard.
type registration struct {
	done chan struct{} // closed when it is answered

	handle nvml.Device
	board  *listened // nil for one that is in the set already
	split  bool
	err    error
}

// register asks for the events of every board that has any and is not in the set yet. It fails only when no board has.
func (l *listener) register(ctx context.Context) error {
	count, ret := l.source.lib.api.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return failure("count GPUs", ret)
	}
	var failures []error
	for i := range count {
		if err := l.add(ctx, i); err != nil {
			failures = append(failures, err)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(l.boards) == 0 && len(l.pending) == 0 && count > 0 {
		return fmt.Errorf("listen for events: %w", errors.Join(failures...))
	}
	for _, err := range failures {
		l.source.log.Warn("XID errors and other events of a GPU will not be seen", "err", err)
	}
	return nil
}

// add puts GPU i into the set, or leaves it to do so when it answers.
func (l *listener) add(ctx context.Context, i int) error {
	r, late := l.pending[i]
	if !late {
		r = &registration{done: make(chan struct{})}
		l.pending[i] = r
		known := maps.Clone(l.boards)
		l.source.registering.Add(1)
		go func() {
			defer close(r.done)
			defer l.source.registering.Add(-1) // before anybody is told that it is done
			r.err = r.ask(l.source.lib, i, l.set, known)
		}()
	}
	patience := openPatience
	if late { // nobody waits for it twice
		patience = 0
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-r.done:
		delete(l.pending, i)
		return l.accept(r)
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("listen to GPU %d: a call to the driver does not come back; the node may need a reboot", i)
	}
}

// settle takes in the boards that answered late.
func (l *listener) settle() {
	for i, r := range l.pending {
		select {
		case <-r.done:
			delete(l.pending, i)
			if err := l.accept(r); err != nil {
				l.source.log.Warn("XID errors and other events of a GPU will not be seen", "err", err)
			}
		default:
		}
	}
}

func (l *listener) accept(r *registration) error {
	if r.err != nil {
		return r.err
	}
	if known, ok := l.boards[r.handle]; ok {
		known.split = r.split
	} else if r.board != nil {
		l.boards[r.handle] = r.board
	}
	return nil
}

// free gives the set back, unless the driver stays busy with it.
func (l *listener) free() {
	patience := time.NewTimer(openPatience)
	defer patience.Stop()
	for _, r := range l.pending {
		select {
		case <-r.done:
		case <-patience.C:
			return
		}
	}
	_ = l.set.Free() // the set is gone either way
}

// ask puts GPU i into a set. known are the boards that are in it, and are only read.
func (r *registration) ask(lib *library, i int, set nvml.EventSet, known map[nvml.Device]*listened) error {
	var ret nvml.Return
	if r.handle, ret = lib.api.DeviceGetHandleByIndex(i); ret != nvml.SUCCESS {
		return failure(fmt.Sprintf("open GPU %d", i), ret)
	}
	if lib.has(callMIGMode) {
		mode, _, ret := r.handle.GetMigMode()
		r.split = ret == nvml.SUCCESS && mode == nvml.DEVICE_MIG_ENABLE
	}
	if _, ok := known[r.handle]; ok {
		return nil
	}
	var kinds uint64
	for k := range eventKinds {
		kinds |= k
	}
	supported := uint64(oldEvents)
	if lib.has(callEventTypes) {
		if told, ret := r.handle.GetSupportedEventTypes(); ret == nvml.SUCCESS {
			supported = told
		}
	}
	if kinds &= supported; kinds == 0 {
		return fmt.Errorf("listen to GPU %d: %w", i, device.ErrNotSupported)
	}
	uuid, ret := r.handle.GetUUID()
	if ret != nvml.SUCCESS {
		return failure(fmt.Sprintf("read the UUID of GPU %d", i), ret)
	}
	if ret := r.handle.RegisterEvents(kinds, set); ret != nvml.SUCCESS {
		return failure(fmt.Sprintf("listen to GPU %d", i), ret)
	}
	r.board = &listened{uuid: uuid, split: r.split}
	return nil
}
