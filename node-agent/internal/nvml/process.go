package nvml

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

const (
	noInstance   = ^uint32(0) // of a process that uses the whole board
	maxProcesses = 1 << 16    // more are not listed
	// listingLasts is how long one listing serves both a sample and the list of processes that is asked for beside it.
	listingLasts = 500 * time.Millisecond
)

// listing is the processes that a board last told.
type listing struct {
	at     time.Time
	found  []device.Process
	places map[processKey]int // in found
	err    error
	newest uint64 // time stamp of the newest measurement of a process's share, in µs
}

// processKey is what makes two rows the same process.
type processKey struct {
	pid                          int
	gpuInstance, computeInstance string
}

// Processes implements device.Board.
func (b *board) Processes(ctx context.Context, into []device.Process) ([]device.Process, error) {
	b.start()
	found, err := b.list()
	if err != nil {
		return into, err
	}
	if err := b.end(ctx); err != nil {
		return into, err
	}
	return append(into, found...), nil
}

// readProcesses counts the processes of the board and of each instance.
func (b *board) readProcesses(_ context.Context, _ device.Groups, into *device.Sample) {
	found, err := b.list()
	if err != nil {
		for i := range into.Values {
			into.Values[i][device.Processes] = gpu.Absent(device.StateOf(err))
		}
		return
	}
	into.Values[0].Set(device.Processes, float64(len(found)))
	for i, d := range b.devices[1:] {
		n := 0
		for _, p := range found {
			if p.GPUInstance == d.GPUInstance {
				n++
			}
		}
		into.Values[i+1].Set(device.Processes, float64(n))
	}
}

// list asks for all processes, unless it just did.
func (b *board) list() ([]device.Process, error) {
	now, l := b.lib.now(), &b.processes
	if since := now.Sub(l.at); !l.at.IsZero() && since >= 0 && since < listingLasts {
		return l.found, l.err
	}
	l.at, l.found, l.places = now, l.found[:0], map[processKey]int{}
	if b.split() {
		l.err = b.listInstances()
	} else {
		l.err = b.listOf(b.handle, &b.unsupported, nil)
	}
	if l.err == nil && len(l.found) > 0 && !b.split() {
		b.readShares(now)
	}
	return l.found, l.err
}

// listInstances lists the processes of each MIG device. Where that is not offered, the board may list them all.
func (b *board) listInstances() error {
	if !b.lib.canSplit() {
		return b.listOf(b.handle, &b.unsupported, nil)
	}
	count, ret := migSlots(b.handle)
	if b.tally(ret); ret != nvml.SUCCESS {
		return b.unlisted(stateOf(ret))
	}
	listed := false
	var last error
	for i := range count {
		mig, ret := b.handle.GetMigDeviceHandleByIndex(i)
		if ret != nvml.SUCCESS {
			b.tally(ret)
			continue
		}
		id, ret := mig.GetGpuInstanceId()
		if ret != nvml.SUCCESS {
			b.tally(ret)
			continue
		}
		at := slices.IndexFunc(b.instances, func(in *instance) bool { return in.id == id })
		if at < 0 {
			continue // it was made since the board was described
		}
		if err := b.listOf(mig, &b.instances[at].unsupported, &id); err != nil {
			last = err
			continue
		}
		listed = true
	}
	if !listed && errors.Is(last, device.ErrNotSupported) {
		return b.listOf(b.handle, &b.unsupported, nil)
	}
	if !listed {
		return last
	}
	return nil
}

// listOf adds the processes that one device lists, in the order of the kinds. It fails when no kind can be listed.
func (b *board) listOf(handle nvml.Device, known *unsupported, gpuInstance *int) error {
	answered, why := false, gpu.NotSupported
	for _, kind := range [...]struct {
		call call
		kind device.ProcessKind
		list func() ([]nvml.ProcessInfo, nvml.Return)
	}{
		{callComputeProcesses, device.Compute, handle.GetComputeRunningProcesses},
		{callMPSProcesses, device.MPS, handle.GetMPSComputeRunningProcesses},
		{callGraphicsProcesses, device.Graphics, handle.GetGraphicsRunningProcesses},
	} {
		var infos []nvml.ProcessInfo
		state := b.try(kind.call, slot(kind.call), known, func() (ret nvml.Return) {
			infos, ret = kind.list()
			if ret == nvml.ERROR_NOT_FOUND {
				return nvml.SUCCESS // there are none
			}
			return ret
		})
		switch {
		case state == gpu.OK:
			answered = true
		case state != gpu.NotSupported:
			why = state
		}
		for _, info := range infos {
			b.addProcess(info, kind.kind, gpuInstance)
		}
	}
	if answered {
		return nil
	}
	return b.unlisted(why)
}

// unlisted is the error for processes that cannot be listed.
func (b *board) unlisted(why gpu.State) error {
	kind := errFailed
	switch why {
	case gpu.NotSupported:
		kind = device.ErrNotSupported
	case gpu.NoPermission:
		kind = device.ErrNoPermission
	case gpu.Lost:
		return failure("list the processes of "+b.name, b.lost)
	}
	return fmt.Errorf("list the processes of %s: %w", b.name, kind)
}

// addProcess adds a process that is not listed yet.
func (b *board) addProcess(info nvml.ProcessInfo, kind device.ProcessKind, gpuInstance *int) {
	if info.Pid == 0 || len(b.processes.found) >= maxProcesses {
		return
	}
	p := device.Process{PID: int(info.Pid), Kind: kind, Memory: gpu.Absent(gpu.NoData)}
	if info.UsedGpuMemory != none64 {
		p.Memory = gpu.Read(float64(info.UsedGpuMemory))
	}
	if b.split() {
		switch {
		case gpuInstance != nil:
			p.GPUInstance = strconv.Itoa(*gpuInstance)
		case info.GpuInstanceId != noInstance:
			p.GPUInstance = strconv.FormatUint(uint64(info.GpuInstanceId), 10)
		}
		if info.ComputeInstanceId != noInstance {
			p.ComputeInstance = strconv.FormatUint(uint64(info.ComputeInstanceId), 10)
		}
	}
	key := processKey{p.PID, p.GPUInstance, p.ComputeInstance}
	if i, known := b.processes.places[key]; known {
		if !b.processes.found[i].Memory.OK() {
			b.processes.found[i].Memory = p.Memory
		}
		return
	}
	b.processes.places[key] = len(b.processes.found)
	p.SM, p.MemoryActivity = gpu.Absent(gpu.NotSupported), gpu.Absent(gpu.NotSupported)
	p.Encoder, p.Decoder = gpu.Absent(gpu.NotSupported), gpu.Absent(gpu.NotSupported)
	b.processes.found = append(b.processes.found, p)
}
