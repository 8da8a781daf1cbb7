package forecast

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Series is what was measured of one thing: values at even steps, NaN where there is none.
type Series struct {
	Start  int64 // of the first step, Unix milliseconds
	Step   time.Duration
	Values []float64
}

const (
	day  = 24 * time.Hour
	week = 7 * day

	// Bounds of the work that one series is.
	maxPast   = 720
	maxFuture = 1500

	longestStep = 31 * day

	// No instrument reports anything beyond it, and squares of what is below it are numbers.
	implausible = 1e100
)

// steps are those that a series is brought to: all divide a day.
func steps() []time.Duration {
	return []time.Duration{
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour, day,
	}
}

// work is a series as the models see it: cleaned, centred at offset, divided by scale, on a step that keeps it small.
type work struct {
	start         int64 // Unix milliseconds
	step          time.Duration
	y             []float64
	offset, scale float64
	present       int
	dropped       int // values that could not be measurements
}

// prepare cleans a series and brings it to a step at which neither it nor the horizon is too long. Leading and trailing
// steps without a value are left out at the start and kept at the end: the forecast starts where the range ends.
func prepare(s Series, horizon time.Duration, lowest, highest float64) work {
	values, dropped := clean(s.Values, lowest, highest)
	first := slices.IndexFunc(values, func(v float64) bool { return !math.IsNaN(v) })
	if first < 0 || s.Step < time.Millisecond || s.Step > longestStep {
		return work{dropped: dropped}
	}
	if most := int(min(int64(len(values)), int64(maxPast*day/s.Step)+1)); len(values)-first > most {
		first = len(values) - most // what is older than two years is not looked at
	}
	span := time.Duration(len(values)-first) * s.Step
	step := max(day, s.Step)
	for _, d := range steps() {
		if d >= s.Step && span/d <= maxPast && horizon/d <= maxFuture {
			step = d
			break
		}
	}
	w := work{step: step, dropped: dropped, scale: 1}
	width := step.Milliseconds()
	begin := s.Start + int64(first)*s.Step.Milliseconds()
	w.start = floor(begin, width) * width
	end := s.Start + int64(len(values))*s.Step.Milliseconds()
	n := int((end - w.start + width - 1) / width)
	w.y = make([]float64, n)
	counts := make([]int, n)
	for i := first; i < len(values); i++ {
		at := int((s.Start + int64(i)*s.Step.Milliseconds() - w.start) / width)
		if !math.IsNaN(values[i]) {
			counts[at]++
			w.y[at] += (values[i] - w.y[at]) / float64(counts[at])
		}
	}
	for i, c := range counts {
		if c == 0 {
			w.y[i] = math.NaN()
		}
	}
	w.normalise()
	return w
}

func (w *work) normalise() {
	present := insight.Present(nil, w.y)
	w.present = len(present)
	w.offset = median(present)
	if spread := spreadOf(present, w.offset); spread > 0 {
		w.scale = spread
	}
	for i := range w.y {
		w.y[i] = (w.y[i] - w.offset) / w.scale
	}
}

// spreadOf is the largest distance of values from a centre.
func spreadOf(values []float64, centre float64) float64 {
	var spread float64
	for _, v := range values {
		spread = max(spread, math.Abs(v-centre))
	}
	return spread
}

func (w *work) value(y float64) float64 { return w.offset + y*w.scale }

// period is how many steps a season has; 0 when the step does not fit it.
func (w *work) period(season time.Duration) int {
	if w.step <= 0 || season%w.step != 0 || season/w.step < 2 {
		return 0
	}
	return int(season / w.step)
}

// phase is where in a season the first step is.
func (w *work) phase(period int) int {
	p := floor(w.start, w.step.Milliseconds()) % int64(period)
	if p < 0 {
		p += int64(period)
	}
	return int(p)
}

func floor(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// clean drops what cannot be a measurement: outside of what the metric can be, or so far from everything else that it is a
// sentinel. It returns a copy, and how many values it dropped.
func clean(values []float64, lowest, highest float64) ([]float64, int) {
	out := slices.Clone(values)
	dropped := 0
	for i, v := range out {
		if math.IsNaN(v) {
			continue
		}
		if math.Abs(v) > implausible || v < lowest || v > highest {
			out[i] = math.NaN()
			dropped++
		}
	}
	present := insight.Present(nil, out)
	if len(present) < 20 {
		return out, dropped
	}
	slices.Sort(present)
	at := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, present, nil) }
	low, high := at(0.02), at(0.98)
	reach := 20 * (high - low)
	if reach == 0 {
		return out, dropped // as good as constant: what differs is what there is to see
	}
	for i, v := range out {
		if v < low-reach || v > high+reach {
			out[i] = math.NaN()
			dropped++
		}
	}
	return out, dropped
}

// median of values, which are reordered; NaN of none.
func median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	upper := selectNth(values, n/2)
	if n%2 == 1 {
		return upper
	}
	return (slices.Max(values[:n/2]) + upper) / 2
}

// selectNth reorders values so that the one of rank k is at its place, all smaller ones before it, and returns it. It takes
// time in proportion to their number: the middle of three is the pivot, which even sorted input does not defeat.
func selectNth(values []float64, k int) float64 {
	low, high := 0, len(values)-1
	for low < high {
		middle := low + (high-low)/2
		pivot := max(min(values[low], values[middle]), min(max(values[low], values[middle]), values[high]))
		i, j := low, high
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return values[k]
		}
	}
	return values[k]
}
