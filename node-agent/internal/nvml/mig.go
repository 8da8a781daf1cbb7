package nvml

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// instance is one GPU instance of a board in MIG mode.
//
// Its handle is looked up in each sample and dropped with it: an instance may be destroyed at any time, and nothing of the
// agent may keep that from happening or outlive it.
type instance struct {
	id          int
	at          int // under which number a MIG device of it was last found
	profiler    *profiler
	unsupported unsupported
}

// canSplit reports whether the library has all that is needed to see MIG instances.
func (l *library) canSplit() bool {
	return l.hasAll(callMIGCount, callMIGHandle, callMIGGPUInstance, callMIGComputeInstance)
}

// maxMIG bounds what the driver says of how many MIG devices there may be; boards have seven or eight.
const maxMIG = 64

// migSlots is how many MIG devices a board may have.
func migSlots(handle nvml.Device) (int, nvml.Return) {
	count, ret := handle.GetMaxMigDeviceCount()
	return min(count, maxMIG), ret
}

// open finds a MIG device of the instance: the first of several compute instances, which share its memory.
func (b *board) open(in *instance) (nvml.Device, gpu.State) {
	if !b.lib.canSplit() {
		return nil, gpu.NotSupported
	}
	if mig, ret := b.migAt(in.at, in.id); ret == nvml.SUCCESS && mig != nil {
		return mig, gpu.OK
	}
	if b.migSlots == 0 {
		count, ret := migSlots(b.handle)
		if b.tally(ret); ret != nvml.SUCCESS {
			return nil, stateOf(ret)
		}
		b.migSlots = count
	}
	why := gpu.NoData // it was destroyed since the board was described
	for i := range b.migSlots {
		mig, ret := b.migAt(i, in.id)
		switch {
		case ret == nvml.SUCCESS && mig != nil:
			in.at = i
			return mig, gpu.OK
		case isLost(ret):
			return nil, gpu.Lost
		case ret == nvml.ERROR_NO_PERMISSION:
			why = gpu.NoPermission
		}
	}
	return nil, why
}

// migAt is MIG device i of the board, nil when it lies in another GPU instance.
func (b *board) migAt(i, gpuInstance int) (nvml.Device, nvml.Return) {
	mig, ret := b.handle.GetMigDeviceHandleByIndex(i)
	if ret != nvml.SUCCESS {
		b.tally(ret)
		return nil, ret
	}
	id, ret := mig.GetGpuInstanceId()
	if b.tally(ret); ret != nvml.SUCCESS || id != gpuInstance {
		return nil, ret
	}
	return mig, nvml.SUCCESS
}
