package nvml

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// slowEvery is how often readings are taken that hardly ever change: limits, link speed, error counts. Between, the last
// ones stand.
const slowEvery = 5 * time.Second

// board is one GPU. It implements device.Board.
type board struct {
	lib     *library
	handle  nvml.Device
	devices []gpu.Device
	name    string

	fast, links, slow *batch
	profiler          *profiler // of the whole board, nil when it is split
	instances         []*instance

	unsupported [numCalls]bool
	slowDue     time.Time
	slowValues  device.Values

	// Of the sample that is being taken.
	answered, unknown int
	lost              nvml.Return // SUCCESS while the board answers
}

// instance is one MIG instance of a board.
type instance struct {
	handle      nvml.Device // nil when it cannot be found
	profiler    *profiler
	unsupported [numCalls]bool
}

func newBoard(lib *library, handle nvml.Device, devices []gpu.Device) *board {
	b := &board{
		lib: lib, handle: handle, devices: devices, name: fmt.Sprintf("GPU %d (%s)", devices[0].Index, devices[0].UUID),
		fast: newBatch(fastFields), links: newBatch(linkFields), slow: newBatch(slowFields),
	}
	if !devices[0].MIGEnabled {
		b.profiler = newProfiler(lib, true, func(s nvml.GpmSample) nvml.Return { return lib.api.GpmSampleGet(handle, s) })
	}
	handles := migHandles(lib, handle, devices)
	for _, d := range devices[1:] {
		// describe made the id from a number.
		id, _ := strconv.Atoi(d.GPUInstance)
		b.instances = append(b.instances, &instance{
			handle: handles[d.GPUInstance],
			profiler: newProfiler(lib, false, func(s nvml.GpmSample) nvml.Return {
				return lib.api.GpmMigSampleGet(handle, id, s)
			}),
		})
	}
	return b
}

// migHandles finds a handle for each GPU instance, by its id.
func migHandles(lib *library, handle nvml.Device, devices []gpu.Device) map[string]nvml.Device {
	handles := map[string]nvml.Device{}
	if len(devices) == 1 || !lib.has(callMIGCount) || !lib.has(callMIGHandle) || !lib.has(callMIGGPUInstance) {
		return handles
	}
	count, ret := handle.GetMaxMigDeviceCount()
	if ret != nvml.SUCCESS {
		return handles
	}
	for i := range count {
		mig, ret := handle.GetMigDeviceHandleByIndex(i)
		if ret != nvml.SUCCESS {
			continue
		}
		if id, ret := mig.GetGpuInstanceId(); ret == nvml.SUCCESS {
			handles[strconv.Itoa(id)] = mig
		}
	}
	return handles
}

// Devices implements device.Board.
func (b *board) Devices() []gpu.Device { return b.devices }

// Facts implements device.Board.
func (b *board) Facts() device.Facts { return device.Facts{Minor: -1} }

// Processes implements device.Board.
func (b *board) Processes(context.Context, []device.Process) ([]device.Process, error) {
	return nil, fmt.Errorf("list the processes of %s: %w", b.name, device.ErrNotSupported)
}

// Sample implements device.Board.
func (b *board) Sample(ctx context.Context, _ time.Time, _ device.Groups, into *device.Sample) error {
	values := into.Values
	if len(values) != len(b.devices) {
		return fmt.Errorf("sample %s: %d values for %d devices", b.name, len(values), len(b.devices))
	}
	b.answered, b.unknown, b.lost = 0, 0, nvml.SUCCESS
	for i := range values {
		values[i].Fill(gpu.NotSupported)
	}
	board := &values[0]
	board[device.XIDLast] = gpu.Absent(gpu.NoData) // comes from events
	steps := []func(context.Context, *device.Values){
		b.readFast, b.readUtilization, b.readClocks, b.readProfile, b.readSlow,
	}
	for _, step := range steps {
		step(ctx, board)
		if err := b.end(ctx); err != nil {
			return err
		}
	}
	b.readMemory(b.handle, &b.unsupported, board)
	for i, in := range b.instances {
		b.readInstance(ctx, in, &values[i+1])
	}
	return b.end(ctx)
}

// end is why the sample cannot go on, or is worth nothing.
func (b *board) end(ctx context.Context) error {
	act := "sample " + b.name
	switch {
	case b.lost != nvml.SUCCESS:
		b.slowDue = time.Time{}
		return failure(act, b.lost)
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", act, ctx.Err())
	case b.answered == 0 && b.unknown > 2:
		return failure(act, nvml.ERROR_UNKNOWN)
	}
	return nil
}

// tally notes what an answer says about the whole board.
func (b *board) tally(ret nvml.Return) {
	switch {
	case isLost(ret):
		b.lost = ret
	case ret == nvml.ERROR_UNKNOWN:
		b.unknown++
	case ret == nvml.SUCCESS:
		b.answered++
	}
}

// try makes a call, unless it is known to be pointless. The value that f stores counts only when the state is OK.
func (b *board) try(c call, known *[numCalls]bool, f func() nvml.Return) gpu.State {
	switch {
	case b.lost != nvml.SUCCESS:
		return gpu.Lost
	case known[c]:
		return gpu.NotSupported
	case !b.lib.has(c):
		known[c] = true
		return gpu.NotSupported
	}
	ret := f()
	b.tally(ret)
	if isFinal(ret) {
		known[c] = true
		b.lib.log.Debug("The GPU does not support a call; it is not asked again", "gpu", b.name, "call", symbols[c][0],
			"answer", codeName(ret))
	}
	return stateOf(ret)
}

// number reads one unsigned number; notAvailable is NVML's way to say that there is none.
func number[T uint32 | uint64](b *board, c call, unit float64, notAvailable T, f func() (T, nvml.Return)) gpu.Reading {
	var value T
	state := b.try(c, &b.unsupported, func() (ret nvml.Return) {
		value, ret = f()
		return ret
	})
	switch {
	case state != gpu.OK:
		return gpu.Absent(state)
	case value == notAvailable:
		return gpu.Absent(gpu.NoData)
	}
	return gpu.Read(float64(value) * unit)
}

// release gives back what the board holds. No sample may be running.
func (b *board) release() {
	if b.profiler != nil {
		b.profiler.release()
	}
	for _, in := range b.instances {
		in.profiler.release()
	}
}
