package simulate

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Board is one simulated GPU. What it reads is a function of the options and the time alone: the state that it keeps
// only saves walking from the last reboot to now each time.
type Board struct {
	model     Model
	key       uint64
	window    float64 // seconds
	devices   []gpu.Device
	instances []instance // empty for a whole board
	workers   []worker   // one for each instance, or one
	faults    faults
	inlet     float64 // °C where the air comes in
	appetite  float64 // power of this board compared with others of its model

	state    state
	readings []device.Values // of all metrics, at the newest sample
	latest   []latest        // of each worker, at the newest sample
}

// state is the board at the start of a cell, and what holds during it.
type state struct {
	valid  bool
	cell   int64
	booted int64
	heat   thermal

	energy                      float64 // joules
	carried                     float64 // bytes sent over NVLink
	throttlePower, throttleHeat float64 // seconds
	corrected, replays          int
	uncorrectable               bool
	crashed                     int64 // cell of the last crash, noCell for none
	xid                         uint64
	now                         cellParams
}

// cellParams hold for the whole of a cell.
type cellParams struct {
	loads             []load
	held              bool
	clock             float64 // share of the maximum
	gain              float64 // clock raised to the exponent
	heat, power       bool    // what keeps the clock below its maximum
	inlet, resistance float64
}

// Devices implements device.Board.
func (b *Board) Devices() []gpu.Device { return b.devices }

// Facts implements device.Board.
func (b *Board) Facts() device.Facts {
	f := device.Facts{
		Serial: fmt.Sprintf("16%011d", mix(b.key, 33)%1e11), Brand: "NVIDIA", Architecture: b.model.Architecture,
		ComputeCapability: b.model.ComputeCapability, VBIOS: "96.00.D0.00.03", Minor: b.devices[0].Index,
		MemoryBusBits: b.model.BusBits, Cores: b.model.Cores, Placements: map[string]device.Placement{},
	}
	start := 0
	for _, in := range b.instances {
		size := int(math.Round(in.memory * float64(b.model.MemoryUnits)))
		f.Placements[fmt.Sprint(in.id)] = device.Placement{Start: start, Size: size}
		start += size
	}
	return f
}

// Sample implements device.Board.
func (b *Board) Sample(_ context.Context, at time.Time, groups device.Groups, into *device.Sample) error {
	if len(into.Values) != len(b.devices) {
		return fmt.Errorf("sample simulated GPU %d: %d values for %d devices", b.devices[0].Index, len(into.Values), len(b.devices))
	}
	into.Extents = into.Extents[:0]
	t := float64(at.UnixMilli()) / 1000
	// A cell holds its end, not its start, so that a window that ends on the border lies in one cell.
	cell := int64(math.Ceil(t/cellSeconds)) - 1
	b.walk(cell)
	if fell := b.faults.offBus(b.state.booted); fell != noCell && cell >= fell && cell < fell+offBusLasts {
		return &device.Error{
			Act: fmt.Sprintf("sample GPU %d", b.devices[0].Index), Code: "ERROR_GPU_IS_LOST", Kind: device.ErrLost,
			Hint: "reboot the node; if it happens again, have the board inspected",
		}
	}
	b.read(t, b.readings)
	for i := range b.readings {
		for m := range device.NumMetrics {
			if groups.Has(m.Group()) && (i == 0 || m.PerInstance()) {
				into.Values[i][m] = b.readings[i][m]
			}
		}
	}
	if groups.Has(device.GroupPower) {
		into.Extents = append(into.Extents, b.powerExtent(t))
	}
	return nil
}

// powerExtent is what the driver's buffer would hold: the power at several moments of the window that ends at t.
func (b *Board) powerExtent(t float64) device.Extent {
	const moments = 10
	start := float64(b.state.cell) * cellSeconds
	step := (t - math.Max(start, t-b.window)) / moments
	e := device.Extent{Metric: device.Power, Min: math.Inf(1), Max: math.Inf(-1), Count: moments}
	for i := range moments {
		p := math.Round(b.power(t-float64(i+1)*step, t-float64(i)*step)*1000) / 1000
		e.Min, e.Max, e.Mean = math.Min(e.Min, p), math.Max(e.Max, p), e.Mean+p/moments
	}
	e.Mean = clamp(e.Mean, e.Min, e.Max)
	return e
}

// walk brings the state to the start of a cell.
func (b *Board) walk(cell int64) {
	s := &b.state
	booted := b.faults.booted(cell)
	if !s.valid || s.booted != booted || s.cell > cell {
		*s = state{valid: true, cell: booted, booted: booted, crashed: noCell, now: s.now}
		idle := b.model.PowerIdle * b.appetite
		s.heat = thermal{die: idle, sink: idle}
		b.enter()
	}
	for s.cell < cell {
		b.leave()
		s.cell++
		b.enter()
	}
}

// dieStep and sinkStep are what a whole cell does to the heat.
var (
	dieStep  = 1 - math.Exp(-cellSeconds/dieTau)
	sinkStep = 1 - math.Exp(-cellSeconds/sinkTau)
)

// enter works out what holds during the state's cell.
func (b *Board) enter() {
	s := &b.state
	for _, code := range b.faults.xids(s.cell) {
		s.xid = code
	}
	if at, _ := b.faults.crash(s.cell); at == s.cell && s.cell-s.booted >= maintenance {
		s.crashed = at
	}
	s.uncorrectable = s.uncorrectable || s.cell == b.faults.uncorrectable(s.booted)

	p := &s.now
	p.loads, p.held = p.loads[:0], false
	for i, w := range b.workers {
		var l load
		stopped := s.cell-s.booted < maintenance || (s.crashed != noCell && s.cell < s.crashed+crashLasts && b.hit(s.crashed) == i)
		if !stopped {
			l = w.load(s.cell)
		}
		p.loads = append(p.loads, l)
		p.held = p.held || l.held
	}
	p.inlet = b.inlet + 1.5*(smooth(b.key, s.cell, cellsAnHour)-0.5)
	p.resistance = b.model.Resistance * b.faults.resistance(s.cell)

	ceiling := 1.0
	if peak := b.peak(); peak > 1 {
		ceiling = math.Pow(1/peak, 1/clockExponent)
	}
	start, end := float64(s.cell)*cellSeconds, float64(s.cell+1)*cellSeconds
	p.clock = settle(ceiling, b.model.TemperatureSlowdown, func(clock float64) float64 {
		p.clock, p.gain = clock, math.Pow(clock, clockExponent)
		return p.inlet + p.resistance*s.heat.afterShares(b.power(start, end), dieStep, sinkStep).watts()
	})
	p.gain = math.Pow(p.clock, clockExponent)
	p.heat = p.clock < ceiling*noticeable
	p.power = !p.heat && p.clock < noticeable
}

// hit is which worker of a split board a crash takes.
func (b *Board) hit(crash int64) int { return int(mix(b.key, uint64(crash)) % uint64(len(b.workers))) }

// leave adds what the state's cell did.
func (b *Board) leave() {
	s := &b.state
	start, end := float64(s.cell)*cellSeconds, float64(s.cell+1)*cellSeconds
	power := b.power(start, end)
	s.energy += power * cellSeconds
	if len(b.instances) == 0 {
		s.carried += b.activity(0, start, end).nvlink * b.model.NVLink * cellSeconds
	}
	s.heat = s.heat.afterShares(power, dieStep, sinkStep)
	s.throttlePower, s.throttleHeat = b.throttled(start, end)
	s.corrected += b.faults.corrected(s.cell)
	s.replays += b.faults.replays(s.cell)
}

// share is how much of the board's compute belongs to worker i.
func (b *Board) share(i int) float64 {
	if len(b.instances) == 0 {
		return 1
	}
	return b.instances[i].compute
}

// peak is the power, as a share of the span up to the limit, when everything is on.
func (b *Board) peak() float64 {
	sum := 0.0
	for i, l := range b.state.now.loads {
		sum += b.share(i) * math.Max(l.on.power(), l.off.power())
	}
	return sum * b.appetite
}

// activity is the mean of what worker i does in a window within the state's cell.
func (b *Board) activity(i int, from, to float64) intensity {
	l := &b.state.now.loads[i]
	w := l.wave
	if w.period == 0 {
		return l.off
	}
	w.busy = l.busyAt(b.state.now.clock)
	return between(l.on, l.off, w.mean(from, to))
}

// power is the mean power in a window within the state's cell, in watts.
func (b *Board) power(from, to float64) float64 {
	p := &b.state.now
	base := b.model.PowerIdle
	if p.held {
		base = b.model.PowerHeld
	}
	drawn := 0.0
	for i := range p.loads {
		drawn += b.share(i) * b.activity(i, from, to).power()
	}
	return b.appetite*base + (b.model.PowerLimit-b.appetite*base)*math.Min(drawn*b.appetite*p.gain, 1)
}

// throttled are the seconds that the clock was held down by power and by heat, up to a time in the state's cell.
func (b *Board) throttled(from, to float64) (power, heat float64) {
	s := &b.state
	power, heat = s.throttlePower, s.throttleHeat
	if to <= from || (!s.now.power && !s.now.heat) {
		return power, heat
	}
	busy := 0.0
	for i := range s.now.loads {
		busy = math.Max(busy, b.activity(i, from, to).sm)
	}
	held := (to - from) * math.Min(busy/0.8, 1)
	if s.now.heat {
		return power, heat + held
	}
	return power + held, heat
}
