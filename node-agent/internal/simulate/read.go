package simulate

import (
	"math"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// read fills in what NVML would answer at t, in the state's cell: rounded as NVML rounds.
func (b *Board) read(t float64, values []device.Values) {
	start := float64(b.state.cell) * cellSeconds
	board := &values[0]
	board.Fill(gpu.NotSupported)
	b.readPower(board, start, t)
	b.readClocks(board)
	b.readErrors(board)
	b.readMemory(values)
	b.readActivity(values, math.Max(start, t-b.window), t)
	b.readDetails(board, start, t)
	if b.model.Fan {
		board.Set(device.FanSpeed, percent(clamp((board[device.Temperature].Value-40)/45, 0.3, 1)))
	}
}

func (b *Board) readPower(v *device.Values, start, t float64) {
	s, m := &b.state, &b.model
	tick := int64(t * 10)
	noisy := func(seconds, noise float64, key uint64) float64 {
		p := b.power(math.Max(start, t-seconds), t) * (1 + noise*signed(key, tick))
		return math.Round(p*1000) / 1000
	}
	v.Set(device.Power, noisy(1, 0.002, mix(b.key, 11)))
	v.Set(device.PowerInstant, noisy(0.1, 0.01, mix(b.key, 12)))
	v.Set(device.PowerLimit, m.PowerLimit)
	power := b.power(start, t)
	v.Set(device.Energy, math.Floor((s.energy+power*(t-start))*1000)/1000)
	byPower, byHeat := b.throttled(start, t)
	v.Set(device.ThrottlePower, byPower)
	v.Set(device.ThrottleThermal, byHeat)

	temperature := s.now.inlet + s.now.resistance*s.heat.after(power, t-start).watts()
	v.Set(device.Temperature, math.Round(temperature))
	v.Set(device.TemperatureMargin, math.Round(m.TemperatureSlowdown-temperature))
	if m.HBM {
		v.Set(device.MemoryTemperature, math.Round(s.now.inlet+5+0.6*(temperature-s.now.inlet)))
	}
}

func (b *Board) readClocks(v *device.Values) {
	p, m := &b.state.now, &b.model
	const bin = 15 * mhz
	clock, reasons, state := math.Round(m.ClockMax*p.clock/bin)*bin, gpu.ClockEvents(0), 0.0
	switch {
	case !p.held:
		clock, reasons = m.ClockIdle, gpu.GPUIdle
		if m.Fan {
			state = 8
		}
	case p.heat:
		reasons = gpu.SWThermalSlowdown
	case p.power:
		reasons = gpu.SWPowerCap
	}
	v.Set(device.SMClock, clock)
	v.Set(device.MemoryClock, m.ClockMemory)
	v.Set(device.SMClockMax, m.ClockMax)
	v.Set(device.ClockEventReasons, float64(reasons))
	v.Set(device.PerformanceState, state)
}

func (b *Board) readErrors(v *device.Values) {
	s := &b.state
	v.Set(device.XIDLast, float64(s.xid))
	v.Set(device.PCIeReplayErrors, float64(s.replays))
	v.Set(device.PCIeLinkGeneration, float64(b.model.PCIeGeneration))
	v.Set(device.PCIeLinkWidth, 16)
	v.Set(device.RecoveryAction, 0)
	if !b.model.HBM {
		return
	}
	v.Set(device.ECCCorrected, float64(s.corrected))
	// Rows stay remapped over reboots.
	var before float64
	if b.faults.weak {
		before = float64(floorDiv(s.booted, week) % 8)
	}
	v.Set(device.RemappedRowsCorrectable, 0)
	v.Set(device.RemappedRowsUncorrectable, before)
	v.Set(device.RowRemapFailure, 0)
	v.Set(device.RowRemapPending, 0)
	v.Set(device.ECCUncorrected, 0)
	if s.uncorrectable {
		v.Set(device.ECCUncorrected, 1)
		v.Set(device.RowRemapPending, 1)
		v.Set(device.RemappedRowsUncorrectable, before+1)
		v.Set(device.RecoveryAction, 1)
	}
}

func (b *Board) readMemory(values []device.Values) {
	m := &b.model
	var used float64
	for i, l := range b.state.now.loads {
		total, reserved := m.MemoryTotal, m.MemoryReserved
		if len(b.instances) > 0 {
			total = math.Floor(m.MemoryTotal*b.instances[i].memory/mib) * mib
			reserved = math.Floor(m.MemoryReserved*b.instances[i].memory/mib) * mib
			values[i+1].Fill(gpu.NotSupported)
		}
		taken := math.Floor((total-reserved)*l.memory/(2*mib)) * 2 * mib
		used += taken
		b.latest[i].held, b.latest[i].memory = l.held && taken > 0, taken
		if len(b.instances) > 0 {
			setMemory(&values[i+1], total, reserved, taken)
			values[i+1].Set(device.Processes, count(b.latest[i:i+1]))
		}
	}
	setMemory(&values[0], m.MemoryTotal, m.MemoryReserved, used)
	values[0].Set(device.Processes, count(b.latest))
}

// count is how many workers have a process.
func count(workers []latest) float64 {
	n := 0.0
	for _, w := range workers {
		if w.held {
			n++
		}
	}
	return n
}

func setMemory(v *device.Values, total, reserved, used float64) {
	v.Set(device.MemoryTotal, total)
	v.Set(device.MemoryReserved, reserved)
	v.Set(device.MemoryUsed, used)
	v.Set(device.MemoryFree, total-reserved-used)
}

func (b *Board) readActivity(values []device.Values, from, to float64) {
	board, m := &values[0], &b.model
	var all intensity
	for i := range b.state.now.loads {
		a := b.activity(i, from, to)
		b.latest[i].intensity = a
		all.send, all.receive = all.send+a.send*b.share(i), all.receive+a.receive*b.share(i)
		if len(b.instances) > 0 {
			setProfiling(&values[i+1], a, m.Profiling)
			continue
		}
		setProfiling(board, a, m.Profiling)
		board.Set(device.Utilization, percent(a.graphics))
		board.Set(device.MemoryUtilization, percent(0.8*a.dram))
		for _, engine := range []device.Metric{
			device.EncoderUtilization, device.DecoderUtilization, device.JPEGUtilization, device.OFAUtilization,
		} {
			board.Set(engine, 0)
		}
		if m.NVLink > 0 {
			board.Set(device.NVLinkTransmit, math.Round(a.nvlink*m.NVLink))
			board.Set(device.NVLinkReceive, math.Round(0.99*a.nvlink*m.NVLink))
		}
	}
	const chatter = 2e5 // bytes per second that an idle link carries
	board.Set(device.PCIeTransmit, math.Round(all.send*m.PCIe+chatter))
	board.Set(device.PCIeReceive, math.Round(all.receive*m.PCIe+chatter))
}

func setProfiling(v *device.Values, a intensity, supported bool) {
	if !supported {
		return
	}
	const resolution = 1e4
	round := func(x float64) float64 { return math.Round(clamp(x, 0, 1)*resolution) / resolution }
	v.Set(device.GraphicsEngineActive, round(a.graphics))
	v.Set(device.SMActive, round(a.sm))
	v.Set(device.SMOccupancy, round(a.occupancy))
	v.Set(device.TensorActive, round(a.tensor))
	v.Set(device.DRAMActive, round(a.dram))
	readPipes(v, a)
}

func percent(x float64) float64 { return math.Round(clamp(x, 0, 1)*100) / 100 }
