package nvml

import (
	"context"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// readUtilization asks a board in MIG mode nothing: NVIDIA does not offer it there, and an answer would be wrong.
func (b *board) readUtilization(_ context.Context, groups device.Groups, into *device.Sample) {
	v := &into.Values[0]
	if b.split() {
		return
	}
	if groups.Has(device.GroupUtilization) {
		var u nvml.Utilization
		state := b.call(callUtilization, func() (ret nvml.Return) {
			u, ret = b.handle.GetUtilizationRates()
			return ret
		})
		v[device.Utilization], v[device.MemoryUtilization] = percent(u.Gpu, state), percent(u.Memory, state)
	}
	if groups.Has(device.GroupEngines) {
		engine := func(c call, f func() (uint32, uint32, nvml.Return)) gpu.Reading {
			var value uint32
			state := b.call(c, func() (ret nvml.Return) {
				value, _, ret = f()
				return ret
			})
			return percent(value, state)
		}
		v[device.EncoderUtilization] = engine(callEncoder, b.handle.GetEncoderUtilization)
		v[device.DecoderUtilization] = engine(callDecoder, b.handle.GetDecoderUtilization)
		v[device.JPEGUtilization] = engine(callJPEG, b.handle.GetJpgUtilization)
		v[device.OFAUtilization] = engine(callOFA, b.handle.GetOfaUtilization)
	}
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

func (b *board) readPower(_ context.Context, groups device.Groups, into *device.Sample) {
	v := &into.Values[0]
	watts := func(c call, f func() (uint32, nvml.Return)) gpu.Reading { return number(b, c, slot(c), milli, f) }
	if groups.Has(device.GroupPower) {
		v[device.Power] = watts(callPower, b.handle.GetPowerUsage)
		if v[device.Energy].State == gpu.NotSupported {
			v[device.Energy] = number(b, callEnergy, slot(callEnergy), milli, b.handle.GetTotalEnergyConsumption)
		}
	}
	if groups.Has(device.GroupLimits) {
		v[device.PowerLimit] = watts(callPowerLimit, b.handle.GetEnforcedPowerLimit)
		v[device.PowerLimitRequested] = watts(callPowerRequested, b.handle.GetPowerManagementLimit)
		v[device.PowerLimitDefault] = watts(callPowerDefault, b.handle.GetPowerManagementDefaultLimit)
		var highest uint32
		v[device.PowerLimitMin] = watts(callPowerConstraints, func() (lowest uint32, ret nvml.Return) {
			lowest, highest, ret = b.handle.GetPowerManagementLimitConstraints()
			return lowest, ret
		})
		v[device.PowerLimitMax] = gpu.Absent(v[device.PowerLimitMin].State)
		if v[device.PowerLimitMin].OK() {
			v.Set(device.PowerLimitMax, scaled(float64(highest), milli))
		}
	}
}

func (b *board) readTemperature(_ context.Context, groups device.Groups, into *device.Sample) {
	v := &into.Values[0]
	if groups.Has(device.GroupTemperature) {
		v[device.Temperature] = b.temperature()
		var margin nvml.MarginTemperature
		state := b.call(callMargin, func() (ret nvml.Return) {
			margin, ret = b.handle.GetMarginTemperature()
			return ret
		})
		if v[device.TemperatureMargin] = gpu.Absent(state); state == gpu.OK {
			v.Set(device.TemperatureMargin, float64(margin.MarginTemperature))
		}
	}
	if groups.Has(device.GroupThresholds) {
		for _, t := range [...]struct {
			metric device.Metric
			kind   nvml.TemperatureThresholds
		}{
			{device.TemperatureShutdown, nvml.TEMPERATURE_THRESHOLD_SHUTDOWN},
			{device.TemperatureSlowdown, nvml.TEMPERATURE_THRESHOLD_SLOWDOWN},
			{device.MemoryTemperatureMaxOperating, nvml.TEMPERATURE_THRESHOLD_MEM_MAX},
			{device.TemperatureMaxOperating, nvml.TEMPERATURE_THRESHOLD_GPU_MAX},
		} {
			v[t.metric] = number(b, callThreshold, slotThreshold+slot(t.kind), 1, func() (uint32, nvml.Return) {
				return b.handle.GetTemperatureThreshold(t.kind)
			})
		}
	}
}

// temperature is the GPU core's. Newer drivers offer the older call too, but announce its end.
func (b *board) temperature() gpu.Reading {
	if b.lib.versioned != nil {
		var celsius int32
		state := b.call(callTemperatureV, func() (ret nvml.Return) {
			celsius, ret = b.lib.versioned.temperature(b.handle)
			return ret
		})
		switch {
		case state == gpu.OK && celsius < 0:
			return gpu.Absent(gpu.NoData)
		case state == gpu.OK:
			return gpu.Read(float64(celsius))
		case state != gpu.NotSupported:
			return gpu.Absent(state)
		}
	}
	return number(b, callTemperature, slot(callTemperature), 1, func() (uint32, nvml.Return) {
		return b.handle.GetTemperature(nvml.TEMPERATURE_GPU)
	})
}

func (b *board) readClocks(_ context.Context, groups device.Groups, into *device.Sample) {
	v := &into.Values[0]
	clock := func(c call, first slot, kind nvml.ClockType, f func(nvml.ClockType) (uint32, nvml.Return)) gpu.Reading {
		return number(b, c, first+slot(kind), mega, func() (uint32, nvml.Return) { return f(kind) })
	}
	mask := func(c, older call, f, g func() (uint64, nvml.Return)) gpu.Reading {
		reading := number(b, c, slot(c), 1, f)
		if reading.State == gpu.NotSupported {
			reading = number(b, older, slot(older), 1, g)
		}
		return reading
	}
	if groups.Has(device.GroupClocks) {
		v[device.SMClock] = clock(callClock, slotClock, nvml.CLOCK_SM, b.handle.GetClockInfo)
		v[device.MemoryClock] = clock(callClock, slotClock, nvml.CLOCK_MEM, b.handle.GetClockInfo)
		v[device.GraphicsClock] = clock(callClock, slotClock, nvml.CLOCK_GRAPHICS, b.handle.GetClockInfo)
		v[device.VideoClock] = clock(callClock, slotClock, nvml.CLOCK_VIDEO, b.handle.GetClockInfo)
		v[device.ClockEventReasons] = mask(callEventReasons, callThrottleReasons,
			b.handle.GetCurrentClocksEventReasons, b.handle.GetCurrentClocksThrottleReasons)
		v[device.PerformanceState] = enum(b, callPerformanceState, b.handle.GetPerformanceState)
		if v[device.PerformanceState] == gpu.Read(float64(nvml.PSTATE_UNKNOWN)) {
			v[device.PerformanceState] = gpu.Absent(gpu.NoData)
		}
	}
	if groups.Has(device.GroupClockLimits) {
		v[device.SMClockMax] = clock(callMaxClock, slotMaxClock, nvml.CLOCK_SM, b.handle.GetMaxClockInfo)
		v[device.MemoryClockMax] = clock(callMaxClock, slotMaxClock, nvml.CLOCK_MEM, b.handle.GetMaxClockInfo)
		v[device.GraphicsClockMax] = clock(callMaxClock, slotMaxClock, nvml.CLOCK_GRAPHICS, b.handle.GetMaxClockInfo)
		v[device.VideoClockMax] = clock(callMaxClock, slotMaxClock, nvml.CLOCK_VIDEO, b.handle.GetMaxClockInfo)
		v[device.SMClockApplication] = clock(callApplicationClock, slotAppClock, nvml.CLOCK_SM, b.handle.GetApplicationsClock)
		if v[device.SMClockApplication].State == gpu.NotSupported { // set for both in one, and some boards name it so
			v[device.SMClockApplication] = clock(callApplicationClock, slotAppClock, nvml.CLOCK_GRAPHICS, b.handle.GetApplicationsClock)
		}
		v[device.MemoryClockApplication] = clock(callApplicationClock, slotAppClock, nvml.CLOCK_MEM, b.handle.GetApplicationsClock)
		v[device.ClockEventReasonsSupported] = mask(callReasonsSupported, callThrottleReasonsSupported,
			b.handle.GetSupportedClocksEventReasons, b.handle.GetSupportedClocksThrottleReasons)
	}
}

// readThrottling stands in for the fields that old drivers lack.
func (b *board) readThrottling(_ context.Context, _ device.Groups, into *device.Sample) {
	v := &into.Values[0]
	for _, t := range [...]struct {
		metric device.Metric
		policy nvml.PerfPolicyType
	}{
		{device.ThrottlePower, nvml.PERF_POLICY_POWER},
		{device.ThrottleThermal, nvml.PERF_POLICY_THERMAL},
		{device.ThrottleSyncBoost, nvml.PERF_POLICY_SYNC_BOOST},
		{device.ThrottleBoardLimit, nvml.PERF_POLICY_BOARD_LIMIT},
		{device.ThrottleLowUtilization, nvml.PERF_POLICY_LOW_UTILIZATION},
		{device.ThrottleReliability, nvml.PERF_POLICY_RELIABILITY},
		{device.ThrottleApplicationClocks, nvml.PERF_POLICY_TOTAL_APP_CLOCKS},
		{device.ThrottleBaseClocks, nvml.PERF_POLICY_TOTAL_BASE_CLOCKS},
	} {
		if v[t.metric].State == gpu.NotSupported {
			v[t.metric] = number(b, callViolation, slotViolation+slot(t.policy), nano, func() (uint64, nvml.Return) {
				violation, ret := b.handle.GetViolationStatus(t.policy)
				return violation.ViolationTime, ret
			})
		}
	}
}

func (b *board) readFan(_ context.Context, _ device.Groups, into *device.Sample) {
	into.Values[0][device.FanSpeed] = number(b, callFan, slot(callFan), 0.01, b.handle.GetFanSpeed)
}
