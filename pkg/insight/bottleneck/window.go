package bottleneck

import (
	"math"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// reader reads windows of a grid of devices.
type reader struct {
	grid    *insight.Devices
	rows    [columns][][]float64 // of each column, by subject
	most    [columns]float64
	present []column
	empty   [columns]float64 // NaN
	window  int              // steps
	need    int              // of them that must be measured
	buffer  []float64
}

func newReader(grid *insight.Devices, window, need int) *reader {
	r := &reader{grid: grid, window: window, need: need}
	for c, s := range sources() {
		r.empty[c], r.most[c] = math.NaN(), s.most
		if r.rows[c] = grid.Column(s.field); r.rows[c] != nil {
			r.present = append(r.present, column(c))
		}
	}
	return r
}

// span is the window that ends with step t, from its first step to before to. The first steps share the first whole window.
func (r *reader) span(t int) (from, to int) {
	to = min(max(t+1, r.window), len(r.grid.Times))
	return max(0, to-r.window), to
}

// values are a subject's of a column; nil when it has none.
func (r *reader) values(c column, subject int) []float64 {
	if r.rows[c] == nil {
		return nil
	}
	return r.rows[c][subject]
}

// measured is what a window says of a device. What was not measured is NaN.
type measured struct {
	mean  [columns]float64
	fresh int // steps with any activity

	activity  float64 // the first of SM, graphics engine and utilization that was measured
	deficit   float64 // of clock while busy
	thermal   float64 // share of time by the driver's count
	hot       float64 // share of samples with a bit of heat
	brake     float64 // the higher of the shares by count and by samples
	capped    float64
	memory    float64 // used share
	pcieIn    float64 // bytes per second towards the GPU
	pcie      float64 // both directions
	pcieShare float64 // of pcieIn in what the link carries
	link      float64 // NVLink's share
	power     float64 // share of the limit
}

// read reads the window that ends with step t.
func (r *reader) read(subject, t int, m *ofModel, into *measured) {
	from, to := r.span(t)
	into.mean = r.empty
	for _, c := range r.present {
		row := r.rows[c][subject]
		if row == nil || c == reasons {
			continue
		}
		sum, n := 0.0, 0
		for _, v := range row[from:to] {
			if v >= 0 && v <= r.most[c] {
				sum += v
				n++
			}
		}
		if n > 0 {
			into.mean[c] = sum / float64(n)
		}
	}
	v := &into.mean
	for _, c := range [...]column{smActive, graphicsActive, utilization, tensorActive, dramActive, occupancy} {
		if v[c] > 1 {
			v[c] = 1
		}
	}
	into.activity = first(v[smActive], v[graphicsActive], v[utilization])
	into.fresh = r.fresh(subject, from, to)
	r.clocks(subject, from, to, m.numbers[idleActivity], into)
	into.thermal = min(first(v[thermalSeconds], larger(v[softThermalSeconds], v[hardThermalSeconds])), 1)
	into.brake = larger(into.brake, min(v[brakeSeconds], 1))
	into.capped = larger(into.capped, min(v[capSeconds], 1))
	into.memory = memoryShare(v)

	s := &r.grid.Subjects[subject]
	into.pcieIn, into.pcie, into.pcieShare, into.link, into.power = math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()
	if s.IsMIG() {
		return // the board's, not the instance's
	}
	into.pcieIn = first(v[pcieReceive], v[pcieReceiveTotal])
	into.pcie = plus(into.pcieIn, first(v[pcieTransmit], v[pcieTransmitTotal]))
	can := m.pcie
	if !math.IsNaN(v[linkGenerationMax]) && !math.IsNaN(v[linkWidthMax]) {
		can = first(pcieBytes(int(v[linkGenerationMax]+0.5), int(v[linkWidthMax]+0.5)), can)
	}
	into.pcieShare = into.pcieIn / can
	if m.nvlink > 0 {
		into.link = first(v[nvlinkThroughput], plus(v[nvlinkTransmit], v[nvlinkReceive])) / m.nvlink
	}
	limit := v[powerLimit]
	if !(limit > 0) {
		limit = m.watts
	}
	into.power = v[power] / limit
}

func (r *reader) fresh(subject, from, to int) int {
	best := 0
	for _, c := range [...]column{smActive, graphicsActive, utilization} {
		n := 0
		if row := r.values(c, subject); row != nil {
			for _, v := range row[from:to] {
				if v >= 0 && v <= r.most[c] {
					n++
				}
			}
		}
		best = max(best, n)
	}
	return best
}

// clocks finds how far clocks are down while the GPU is busy, and why. Where nobody says how high they may be it is the
// highest that was seen: the deficit is then at least what is said.
func (r *reader) clocks(subject, from, to int, idle float64, into *measured) {
	into.deficit, into.hot, into.brake, into.capped = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	bits, clock := r.values(reasons, subject), r.values(smClock, subject)
	if bits != nil {
		n, hot, brake, capped := 0.0, 0.0, 0.0, 0.0
		for _, v := range bits[from:to] {
			if !(v >= 0 && v <= r.most[reasons]) {
				continue
			}
			set := gpu.ClockEvents(v)
			n++
			if set&(gpu.SWThermalSlowdown|gpu.HWThermalSlowdown) != 0 {
				hot++
			}
			if set&gpu.HWPowerBrake != 0 {
				brake++
			}
			if set&gpu.SWPowerCap != 0 {
				capped++
			}
		}
		if n > 0 {
			into.hot, into.brake, into.capped = hot/n, brake/n, capped/n
		}
	}
	if clock == nil {
		return
	}
	most := into.mean[smClockMax]
	if !(most > 0) {
		most = 0
		for _, v := range clock {
			if v <= r.most[smClock] {
				most = max(most, v)
			}
		}
	}
	activity := r.activityRow(subject)
	sum, n := 0.0, 0.0
	for t := from; t < to; t++ {
		busy := activity != nil && activity[t] >= idle
		chosen := bits != nil && bits[t] >= 0 && bits[t] <= r.most[reasons] && gpu.ClockEvents(bits[t])&gpu.ApplicationsClocks != 0
		if v := clock[t]; busy && v > 0 && v <= r.most[smClock] {
			n++
			if !chosen && v < most {
				sum += 1 - v/most
			}
		}
	}
	if n > 0 && most > 0 {
		into.deficit = sum / n
	}
}

func (r *reader) activityRow(subject int) []float64 {
	for _, c := range [...]column{smActive, graphicsActive, utilization} {
		if row := r.values(c, subject); row != nil {
			return row
		}
	}
	return nil
}

// memoryShare is the used share of what can be used: what the driver keeps for itself does not count.
func memoryShare(v *[columns]float64) float64 {
	usable := v[memUsed] + v[memFree]
	if math.IsNaN(usable) {
		usable = v[memTotal]
		if !math.IsNaN(v[memReserved]) {
			usable -= v[memReserved]
		}
	}
	if share := v[memUsed] / usable; usable > 0 && share <= 1.1 {
		return min(share, 1)
	}
	return min(v[memRatio], 1)
}

// spread is how SM activity varies in the window: coefficient of variation, p10 and p90; NaN with fewer than five values.
func (r *reader) spread(subject, t int) (variation, p10, p90 float64) {
	const fewest = 5
	from, to := r.span(t)
	row := r.values(smActive, subject)
	if row == nil {
		return math.NaN(), math.NaN(), math.NaN()
	}
	r.buffer = r.buffer[:0]
	sum := 0.0
	for _, v := range row[from:to] {
		if v >= 0 && v <= r.most[smActive] {
			r.buffer = append(r.buffer, v)
			sum += v
		}
	}
	if len(r.buffer) < fewest {
		return math.NaN(), math.NaN(), math.NaN()
	}
	mean, square := sum/float64(len(r.buffer)), 0.0
	slices.Sort(r.buffer)
	for _, v := range r.buffer {
		square += (v - mean) * (v - mean)
	}
	if mean > 0 {
		variation = math.Sqrt(square/float64(len(r.buffer))) / mean
	}
	return variation, quantile(r.buffer, 0.1), quantile(r.buffer, 0.9)
}

// quantile interpolates between the nearest of sorted values.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}

// first is the first value that was measured.
func first(values ...float64) float64 {
	for _, v := range values {
		if !math.IsNaN(v) {
			return v
		}
	}
	return math.NaN()
}

// larger is the larger of two values, of which either may be NaN.
func larger(a, b float64) float64 {
	if math.IsNaN(a) || b > a {
		return b
	}
	return a
}

// plus adds what was measured of two values.
func plus(a, b float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	}
	return a + b
}
