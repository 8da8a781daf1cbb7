package nvml

import (
	"context"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func (b *board) readRemapping(_ context.Context, groups device.Groups, into *device.Sample) {
	v := &into.Values[0]
	if groups.Has(device.GroupRemapping) && v[device.RemappedRowsCorrectable].State == gpu.NotSupported {
		b.readRemappedRows(v)
	}
	if groups.Has(device.GroupRemapHistogram) {
		var h nvml.RowRemapperHistogramValues
		state := b.call(callHistogram, func() (ret nvml.Return) {
			h, ret = b.handle.GetRowRemapperHistogram()
			return ret
		})
		for i, banks := range [...]uint32{h.Max, h.High, h.Partial, h.Low, h.None} {
			if m := device.RowRemapBanks.At(i); state == gpu.OK {
				v.Set(m, float64(banks))
			} else {
				v[m] = gpu.Absent(state)
			}
		}
	}
}

// readRemappedRows stands in for fields that a driver lacks.
func (b *board) readRemappedRows(v *device.Values) {
	var correctable, uncorrectable int
	var pending, failed bool
	state := b.call(callRemapped, func() (ret nvml.Return) {
		correctable, uncorrectable, pending, failed, ret = b.handle.GetRemappedRows()
		return ret
	})
	set := func(m device.Metric, value float64) {
		if v[m] = gpu.Absent(state); state == gpu.OK {
			v.Set(m, value)
		}
	}
	set(device.RemappedRowsCorrectable, float64(correctable))
	set(device.RemappedRowsUncorrectable, float64(uncorrectable))
	set(device.RowRemapPending, truth(pending))
	set(device.RowRemapFailure, truth(failed))
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (b *board) readHealth(_ context.Context, _ device.Groups, into *device.Sample) {
	v := &into.Values[0]
	v[device.XIDLast] = gpu.Absent(gpu.NoData) // comes from events
	var sram nvml.EccSramErrorStatus
	state := b.call(callSRAM, func() (ret nvml.Return) {
		sram, ret = b.handle.GetSramEccErrorStatus()
		return ret
	})
	if v[device.SRAMThresholdExceeded] = gpu.Absent(state); state == gpu.OK {
		v.Set(device.SRAMThresholdExceeded, truth(sram.BThresholdExceeded != 0))
	}
	var memory nvml.UnrepairableMemoryStatus_v1
	state = b.call(callUnrepairable, func() (ret nvml.Return) {
		memory, ret = b.handle.GetUnrepairableMemoryFlag_v1()
		return ret
	})
	if v[device.MemoryUnrepairable] = gpu.Absent(state); state == gpu.OK {
		v.Set(device.MemoryUnrepairable, truth(memory.BUnrepairableMemory != 0))
	}
}

func (b *board) readFabric(_ context.Context, _ device.Groups, into *device.Sample) {
	v := &into.Values[0]
	var f fabric
	state := gpu.NotSupported
	if b.lib.versioned != nil {
		state = b.call(callFabricV, func() (ret nvml.Return) {
			f, ret = b.lib.versioned.fabric(b.handle)
			return ret
		})
	}
	if state == gpu.NotSupported { // the first version knows no health
		state = b.call(callFabric, func() nvml.Return {
			info, ret := b.handle.GetGpuFabricInfo()
			f = fabric{state: uint32(info.State), status: info.Status}
			return ret
		})
	}
	if state != gpu.OK {
		v[device.FabricState], v[device.FabricStatus], v[device.FabricHealth] = gpu.Absent(state), gpu.Absent(state), gpu.Absent(state)
		return
	}
	v.Set(device.FabricState, float64(f.state))
	v.Set(device.FabricStatus, float64(f.status))
	if f.hasHealth {
		v.Set(device.FabricHealth, float64(f.health))
	}
}

func (b *board) readModes(_ context.Context, _ device.Groups, into *device.Sample) {
	v := &into.Values[0]
	v[device.PersistenceMode] = enum(b, callPersistence, b.handle.GetPersistenceMode)
	v[device.ComputeMode] = enum(b, callComputeMode, b.handle.GetComputeMode)
	var eccPending nvml.EnableState
	v[device.ECCMode] = enum(b, callECCMode, func() (now nvml.EnableState, ret nvml.Return) {
		now, eccPending, ret = b.handle.GetEccMode()
		return now, ret
	})
	v[device.ECCModePending] = pending(v[device.ECCMode], float64(eccPending))
	var migPending int
	v[device.MIGMode] = enum(b, callMIGMode, func() (now int, ret nvml.Return) {
		now, migPending, ret = b.handle.GetMigMode()
		return now, ret
	})
	v[device.MIGModePending] = pending(v[device.MIGMode], float64(migPending))
	v[device.ConfidentialCompute] = number(b, callConfidential, slot(callConfidential), 1, func() (uint32, nvml.Return) {
		state, ret := b.lib.api.SystemGetConfComputeState()
		return state.CcFeature, ret
	})
}

// pending is the second half of an answer whose first half is now.
func pending(now gpu.Reading, value float64) gpu.Reading {
	if !now.OK() {
		return now
	}
	return gpu.Read(value)
}

// readLinkStates stands in for the field that old drivers lack.
func (b *board) readLinkStates(_ context.Context, groups device.Groups, into *device.Sample) {
	v := &into.Values[0]
	total := groups.Has(device.GroupNVLinkState) && v[device.NVLinkLinksActive].State == gpu.NotSupported
	single := groups.Has(device.GroupNVLinkLinks) && v[device.LinkState].State == gpu.NotSupported
	if b.links == 0 || !total && !single {
		return
	}
	active, answered := 0, 0
	for link := range b.links {
		var up nvml.EnableState
		state := b.try(callLinkState, slotLinkState+slot(link), &b.unsupported, func() (ret nvml.Return) {
			up, ret = b.handle.GetNvLinkState(link)
			return ret
		})
		if state == gpu.OK {
			answered++
			active += int(truth(up == nvml.FEATURE_ENABLED))
		}
		if !single || link >= device.MaxNVLinks {
			continue
		}
		if m := device.LinkState.At(link); state == gpu.OK {
			v.Set(m, truth(up == nvml.FEATURE_ENABLED))
		} else {
			v[m] = gpu.Absent(state)
		}
	}
	if total && answered > 0 {
		v.Set(device.NVLinkLinksActive, float64(active))
	}
}
