package nvml

import (
	"context"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// readProfile reads what GPM measures of the board, or of its instances.
func (b *board) readProfile(ctx context.Context, groups device.Groups, into *device.Sample) {
	if b.profiler != nil {
		if state := b.canProfile(); state != gpu.OK {
			b.profiler.fill(groups&gpmGroups, &into.Values[0], state)
			return
		}
		b.profiler.read(ctx, groups, &into.Values[0], b.tally)
		return
	}
	for i, in := range b.instances {
		in.profiler.unsupported = in.profiler.unsupported || !b.lib.hasAll(callGPM, callGPMInstance)
		in.profiler.read(ctx, groups, &into.Values[i+1], b.tally)
	}
}

// canProfile asks once whether a whole board has GPM.
func (b *board) canProfile() gpu.State {
	p := b.profiler
	switch {
	case p.unsupported:
		return gpu.NotSupported
	case p.asked:
		return gpu.OK
	}
	var support nvml.GpmSupport
	state := b.call(callGPM, func() (ret nvml.Return) {
		support, ret = b.lib.api.GpmQueryDeviceSupport(b.handle)
		return ret
	})
	if state == gpu.OK && support.IsSupportedDevice == 0 {
		state = gpu.NotSupported
	}
	p.unsupported, p.asked = state == gpu.NotSupported, state == gpu.OK
	return state
}
