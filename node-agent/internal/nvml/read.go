package nvml

import (
	"context"
	"math"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Values by which NVML says that there is none.
const (
	none32 = uint32(math.MaxUint32)
	none64 = uint64(math.MaxUint64)
)

func (b *board) readFields(f *batch, v *device.Values) {
	f.read(b.lib.now(), v, func(values []nvml.FieldValue) gpu.State {
		return b.try(callFields, &b.unsupported, func() nvml.Return { return b.handle.GetFieldValues(values) })
	}, b.tally)
}

func (b *board) readFast(_ context.Context, v *device.Values) {
	b.readFields(b.fast, v)
	v[device.Power] = number(b, callPower, 1e-3, none32, b.handle.GetPowerUsage)
	if v[device.Energy].State == gpu.NotSupported {
		v[device.Energy] = number(b, callEnergy, 1e-3, none64, b.handle.GetTotalEnergyConsumption)
	}
	v[device.Temperature] = number(b, callTemperature, 1, none32, func() (uint32, nvml.Return) {
		return b.handle.GetTemperature(nvml.TEMPERATURE_GPU)
	})
	var margin nvml.MarginTemperature
	state := b.try(callMargin, &b.unsupported, func() (ret nvml.Return) {
		margin, ret = b.handle.GetMarginTemperature()
		return ret
	})
	if v[device.TemperatureMargin] = gpu.Absent(state); state == gpu.OK {
		v.Set(device.TemperatureMargin, float64(margin.MarginTemperature))
	}
}

// readUtilization asks a board in MIG mode nothing: NVIDIA does not offer it there, and an answer would be wrong.
func (b *board) readUtilization(_ context.Context, v *device.Values) {
	if b.devices[0].MIGEnabled {
		return
	}
	var u nvml.Utilization
	state := b.try(callUtilization, &b.unsupported, func() (ret nvml.Return) {
		u, ret = b.handle.GetUtilizationRates()
		return ret
	})
	v[device.Utilization], v[device.MemoryUtilization] = percent(u.Gpu, state), percent(u.Memory, state)

	var encoder, decoder uint32
	state = b.try(callEncoder, &b.unsupported, func() (ret nvml.Return) {
		encoder, _, ret = b.handle.GetEncoderUtilization()
		return ret
	})
	v[device.EncoderUtilization] = percent(encoder, state)
	state = b.try(callDecoder, &b.unsupported, func() (ret nvml.Return) {
		decoder, _, ret = b.handle.GetDecoderUtilization()
		return ret
	})
	v[device.DecoderUtilization] = percent(decoder, state)
}

// percent is a share. NVML was seen to answer garbage far above 100.
func percent(value uint32, state gpu.State) gpu.Reading {
	switch {
	case state != gpu.OK:
		return gpu.Absent(state)
	case value > 100:
		return gpu.Absent(gpu.NoData)
	}
	return gpu.Read(float64(value) / 100)
}

func (b *board) readClocks(_ context.Context, v *device.Values) {
	clock := func(kind nvml.ClockType) gpu.Reading {
		return number(b, callClock, 1e6, none32, func() (uint32, nvml.Return) { return b.handle.GetClockInfo(kind) })
	}
	v[device.SMClock], v[device.MemoryClock] = clock(nvml.CLOCK_SM), clock(nvml.CLOCK_MEM)

	reasons := number(b, callEventReasons, 1, none64, b.handle.GetCurrentClocksEventReasons)
	if reasons.State == gpu.NotSupported {
		reasons = number(b, callThrottleReasons, 1, none64, b.handle.GetCurrentClocksThrottleReasons)
	}
	v[device.ClockEventReasons] = reasons

	var state nvml.Pstates
	v[device.PerformanceState] = gpu.Absent(b.try(callPerformanceState, &b.unsupported, func() (ret nvml.Return) {
		state, ret = b.handle.GetPerformanceState()
		return ret
	}))
	if v[device.PerformanceState].OK() {
		v.Set(device.PerformanceState, float64(state))
		if state == nvml.PSTATE_UNKNOWN {
			v[device.PerformanceState] = gpu.Absent(gpu.NoData)
		}
	}
}

// readProfile reads what GPM measures, and NVLink's counters where GPM does not.
func (b *board) readProfile(ctx context.Context, v *device.Values) {
	if b.profiler == nil {
		return // neither GPM nor NVLink's counters know boards in MIG mode
	}
	if b.canProfile(v) {
		b.profiler.read(ctx, v, b.tally)
	}
	if v[device.NVLinkTransmit].State == gpu.NotSupported {
		b.readFields(b.links, v)
	}
}

// canProfile asks once whether the board has GPM, and fills in why not.
func (b *board) canProfile(v *device.Values) bool {
	if b.profiler.unsupported {
		b.profiler.fill(v, gpu.NotSupported)
		return false
	}
	if !b.profiler.at.IsZero() {
		return true
	}
	var support nvml.GpmSupport
	state := b.try(callGPM, &b.unsupported, func() (ret nvml.Return) {
		support, ret = b.lib.api.GpmQueryDeviceSupport(b.handle)
		return ret
	})
	if state == gpu.OK && support.IsSupportedDevice == 0 {
		state = gpu.NotSupported
	}
	b.profiler.unsupported = state == gpu.NotSupported
	if state != gpu.OK {
		b.profiler.fill(v, state)
	}
	return state == gpu.OK
}

func (b *board) readSlow(_ context.Context, v *device.Values) {
	if now := b.lib.now(); b.slowDue.IsZero() || !now.Before(b.slowDue) {
		b.slowValues.Fill(gpu.NotSupported)
		b.sampleSlow(&b.slowValues, v[device.PCIeTransmit].State)
		b.slowDue = now.Add(slowEvery)
	}
	for _, m := range slowMetrics {
		v[m] = b.slowValues[m]
	}
	// GPM's rates are better, and PCIe's counters take 20 ms each to read.
	for _, m := range []device.Metric{device.PCIeTransmit, device.PCIeReceive} {
		if v[m].State == gpu.NotSupported {
			v[m] = b.slowValues[m]
		}
	}
}

var slowMetrics = []device.Metric{
	device.PowerLimit, device.SMClockMax, device.PCIeLinkGeneration, device.PCIeLinkWidth, device.FanSpeed,
	device.PCIeReplayErrors, device.ECCCorrected, device.ECCUncorrected, device.RemappedRowsCorrectable,
	device.RemappedRowsUncorrectable, device.RowRemapPending, device.RowRemapFailure, device.RecoveryAction,
}

func (b *board) sampleSlow(v *device.Values, pcie gpu.State) {
	v[device.PowerLimit] = number(b, callPowerLimit, 1e-3, none32, b.handle.GetEnforcedPowerLimit)
	v[device.SMClockMax] = number(b, callMaxClock, 1e6, none32, func() (uint32, nvml.Return) {
		return b.handle.GetMaxClockInfo(nvml.CLOCK_SM)
	})
	count := func(f func() (int, nvml.Return)) func() (uint32, nvml.Return) {
		return func() (uint32, nvml.Return) {
			n, ret := f()
			return uint32(n), ret
		}
	}
	v[device.PCIeLinkGeneration] = number(b, callPCIeGeneration, 1, none32, count(b.handle.GetCurrPcieLinkGeneration))
	v[device.PCIeLinkWidth] = number(b, callPCIeWidth, 1, none32, count(b.handle.GetCurrPcieLinkWidth))
	v[device.FanSpeed] = number(b, callFan, 0.01, none32, b.handle.GetFanSpeed)
	b.readFields(b.slow, v)
	if pcie == gpu.NotSupported {
		const kilobyte = 1000
		throughput := func(direction nvml.PcieUtilCounter) gpu.Reading {
			return number(b, callPCIeThroughput, kilobyte, none32, func() (uint32, nvml.Return) {
				return b.handle.GetPcieThroughput(direction)
			})
		}
		v[device.PCIeTransmit], v[device.PCIeReceive] = throughput(nvml.PCIE_UTIL_TX_BYTES), throughput(nvml.PCIE_UTIL_RX_BYTES)
	}
}

// readMemory reads the memory of a board or an instance. Only the second version of the call knows what is reserved; the
// first counts that as used.
func (b *board) readMemory(handle nvml.Device, known *[numCalls]bool, v *device.Values) {
	var m nvml.Memory_v2
	state := b.try(callMemoryV2, known, func() (ret nvml.Return) {
		m, ret = handle.GetMemoryInfo_v2()
		return ret
	})
	if state == gpu.NotSupported {
		var old nvml.Memory
		state = b.try(callMemory, known, func() (ret nvml.Return) {
			old, ret = handle.GetMemoryInfo()
			return ret
		})
		m = nvml.Memory_v2{Total: old.Total, Free: old.Free, Used: old.Used, Reserved: none64}
	}
	for _, part := range [...]struct {
		metric device.Metric
		bytes  uint64
	}{
		{device.MemoryTotal, m.Total}, {device.MemoryUsed, m.Used}, {device.MemoryFree, m.Free}, {device.MemoryReserved, m.Reserved},
	} {
		metric, bytes := part.metric, part.bytes
		switch {
		case state != gpu.OK:
			v[metric] = gpu.Absent(state)
		case bytes == none64:
			v[metric] = gpu.Absent(gpu.NotSupported)
		default:
			v.Set(metric, float64(bytes))
		}
	}
}

func (b *board) readInstance(ctx context.Context, in *instance, v *device.Values) {
	if in.handle != nil {
		b.readMemory(in.handle, &in.unsupported, v)
	}
	state := b.try(callGPM, &in.unsupported, func() nvml.Return {
		if !b.lib.has(callGPMInstance) {
			return nvml.ERROR_FUNCTION_NOT_FOUND
		}
		return nvml.SUCCESS
	})
	if state != gpu.OK {
		in.profiler.fill(v, state)
		return
	}
	in.profiler.read(ctx, v, b.tally)
}
