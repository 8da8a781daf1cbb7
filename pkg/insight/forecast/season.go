package forecast

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/stat"
)

// seasons are the additive patterns of a series: of a day, and what hours of the week differ from it.
type seasons struct {
	daily, weekly     []float64 // nil without
	dayPhase, wkPhase int
}

// at is the seasons' part of step i.
func (s *seasons) at(i int) float64 {
	v := 0.0
	if len(s.daily) > 0 {
		v += s.daily[(i+s.dayPhase)%len(s.daily)]
	}
	if len(s.weekly) > 0 {
		v += s.weekly[(i+s.wkPhase)%len(s.weekly)]
	}
	return v
}

// learn takes the seasons out of a series: medians by time of day once the trend and what moves more slowly than the season
// are gone; then, by time of week, the mean of what is left, over its neighbours and shrunk by how much of it is chance.
// Twice, as the first estimate of the slow part still has some of the seasons in it.
func learn(y []float64, m model, dayPhase, wkPhase int, trend bool) *seasons {
	s := &seasons{dayPhase: dayPhase, wkPhase: wkPhase}
	rest := make([]float64, len(y))
	without := func() {
		for i, v := range y {
			rest[i] = v - s.at(i)
		}
	}
	for pass := range 2 {
		without()
		if trend && pass > 0 {
			if perStep, _ := theilSen(rest); !math.IsNaN(perStep) {
				for i := range rest {
					rest[i] -= perStep * float64(i)
				}
			}
		}
		base := slow(rest, max(m.daily, m.weekly))
		for i := range rest {
			rest[i] += s.at(i) - base[i]
		}
		if m.daily > 0 {
			s.daily = bySlot(rest, m.daily, dayPhase)
			for i := range rest {
				rest[i] -= s.daily[(i+dayPhase)%m.daily]
			}
		}
		if m.weekly > 0 {
			reach := max(1, m.weekly/168)
			if len(y) >= 3*m.weekly {
				reach = 0 // each hour speaks for itself
			}
			s.weekly = byHourOfWeek(rest, m.weekly, wkPhase, reach)
		}
	}
	return s
}

// slow is the mean of a window around each step, which is as long as the season and therefore has none of it. At the ends it
// is the mean of the first and of the last whole window; 0 where nothing was measured.
func slow(y []float64, window int) []float64 {
	n := len(y)
	window = min(window, n)
	sums, counts := make([]float64, n+1), make([]float64, n+1)
	for i, v := range y {
		sums[i+1], counts[i+1] = sums[i], counts[i]
		if !math.IsNaN(v) {
			sums[i+1] += v
			counts[i+1]++
		}
	}
	out := make([]float64, n)
	for i := range out {
		from := max(0, min(n-window, i-window/2))
		if c := counts[from+window] - counts[from]; c > 0 {
			out[i] = (sums[from+window] - sums[from]) / c
		}
	}
	return out
}

// bySlot are middles by place in the period, 0 where nothing was measured, with mean 0, without the waves that are chance.
func bySlot(rest []float64, period, phase int) []float64 {
	out := make([]float64, period)
	var buffer []float64
	within, slots := 0.0, 0.0 // variances of the middles, and of how many they are known
	for slot := range out {
		buffer = buffer[:0]
		for i := (slot - phase + period) % period; i < len(rest); i += period {
			if !math.IsNaN(rest[i]) {
				buffer = append(buffer, rest[i])
			}
		}
		if n := float64(len(buffer)); n > 0 {
			out[slot] = midmean(buffer)
			if n >= leastInSlot {
				within += spreadWithin(buffer) / n
				slots++
			}
		}
	}
	centred(out)
	if slots > float64(period)/2 {
		return calm(out, within/slots)
	}
	return out
}

// leastInSlot is how many values say how far they are apart by chance.
const leastInSlot = 4

// spreadWithin is the variance of a midmean's values, times what a midmean of them is less sure of than their mean. Values are in
// order. It goes by the middle half, which outliers leave alone.
func spreadWithin(values []float64) float64 {
	quarter := len(values) / 4
	const (
		ofNormal = 1.349 // standard deviations that the middle half of a normal distribution is wide
		lost     = 1.2
	)
	width := (values[len(values)-1-quarter] - values[quarter]) / ofNormal
	return lost * width * width
}

// calm takes out of a season's values, which have mean 0 and the given variance by chance, as much of each of its waves as chance
// explains. What is left are the waves that are there: few of a smooth day, many of one with edges.
func calm(values []float64, variance float64) []float64 {
	n := len(values)
	transform := fourier.NewFFT(n)
	waves := transform.Coefficients(nil, values)
	for i, wave := range waves {
		power := real(wave)*real(wave) + imag(wave)*imag(wave)
		keep := 0.0
		if power > 0 {
			keep = max(0, 1-chance*float64(n)*variance/power)
		}
		waves[i] = wave * complex(keep, 0)
	}
	out := transform.Sequence(nil, waves)
	for i := range out {
		out[i] /= float64(n)
	}
	return out
}

// chance is how many times the expected power of noise a wave must have to be no noise.
const chance = 2

// midmean is the mean of the middle half of values, which are reordered: nearly as robust as their median, and less at the
// mercy of chance.
func midmean(values []float64) float64 {
	quarter := len(values) / 4
	if quarter == 0 {
		return median(values)
	}
	slices.Sort(values)
	return stat.Mean(values[quarter:len(values)-quarter], nil)
}

func centred(values []float64) {
	mean := 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for i := range values {
		values[i] -= mean
	}
}

// byHourOfWeek is what each day of the week has on average, and on top of it what its hours have: of a day there is much more
// to learn from than of an hour.
func byHourOfWeek(rest []float64, weekly, phase, reach int) []float64 {
	if weekly%7 != 0 {
		return shrunk(rest, weekly, phase, reach)
	}
	perDay := weekly / 7
	left := make([]float64, len(rest))
	out := make([]float64, weekly)
	var sums, counts [7]float64
	for i, v := range rest {
		if !math.IsNaN(v) {
			d := (i + phase) % weekly / perDay
			sums[d] += v
			counts[d]++
		}
	}
	for slot := range out {
		if d := slot / perDay; counts[d] > 0 {
			out[slot] = sums[d] / counts[d]
		}
	}
	for i, v := range rest {
		left[i] = v - out[(i+phase)%weekly]
	}
	for slot, v := range shrunk(left, weekly, phase, reach) {
		out[slot] += v
	}
	centred(out)
	return out
}

// shrunk are means by place in the period and reach steps to both sides, drawn towards 0 by the part of their variance that
// the variance of the values explains.
func shrunk(rest []float64, period, phase, reach int) []float64 {
	sums, squares, counts := make([]float64, period), make([]float64, period), make([]float64, period)
	for i, v := range rest {
		if math.IsNaN(v) {
			continue
		}
		slot := (i + phase) % period
		sums[slot] += v
		squares[slot] += v * v
		counts[slot]++
	}
	out := make([]float64, period)
	var within, between, measured float64
	for slot := range out {
		var sum, square, count float64
		for d := -reach; d <= reach; d++ {
			at := ((slot+d)%period + period) % period
			sum, square, count = sum+sums[at], square+squares[at], count+counts[at]
		}
		if count == 0 {
			continue
		}
		out[slot] = sum / count
		if count > 1 {
			within += max(0, square-sum*sum/count) / (count - 1) / count
			between += out[slot] * out[slot]
			measured++
		}
	}
	keep := 0.0
	if measured > 0 && between > 0 {
		keep = max(0, 1-2*within/between) // neighbours resemble each other: half of the values are news
	}
	for i := range out {
		out[i] *= keep
	}
	centred(out)
	return out
}

// smoothing are the parameters of Holt and Winters, each between 0 and 1.
type smoothing struct {
	level, trend, season float64
	echo                 float64 // of the last error in the next value
}

const damping = 0.98 // of the trend, per step: what goes on for ever is for Theil and Sen to say

// state is what exponential smoothing carries along a series.
type state struct {
	level, trend, miss float64
	seasons            seasons
	n                  int
}

// smooth runs over a series and returns the state at its end and the mean absolute error of looking one step ahead. fitted,
// when not nil, receives what was expected of each step. A step without a value only moves the state on.
func smooth(y []float64, s *seasons, p smoothing, fitted []float64) (state, float64) {
	st := state{seasons: seasons{
		daily: slices.Clone(s.daily), weekly: slices.Clone(s.weekly), dayPhase: s.dayPhase, wkPhase: s.wkPhase,
	}}
	st.level = startLevel(y, s)
	var sum, count float64
	burn := len(y) / 4 // the start says more of the start's level than of the parameters
	for i, v := range y {
		drift := damping * st.trend
		season := st.seasons.at(i)
		expected := st.level + drift + season + p.echo*st.miss
		if fitted != nil {
			fitted[i] = expected
		}
		st.n++
		if math.IsNaN(v) {
			st.level, st.trend, st.miss = st.level+drift, drift, p.echo*st.miss
			continue
		}
		if i >= burn {
			sum += math.Abs(v - expected)
			count++
		}
		off := v - st.level - drift - season
		before := st.level
		st.level += drift + p.level*off
		st.trend = drift + p.trend*(st.level-before-drift)
		st.miss = off
		st.seasons.move(i, p.season*(off-p.level*off))
	}
	if count == 0 {
		return st, 0
	}
	return st, sum / count
}

// startLevel is the median of the first values without their seasons.
func startLevel(y []float64, s *seasons) float64 {
	var first []float64
	for i, v := range y {
		if !math.IsNaN(v) {
			first = append(first, v-s.at(i))
		}
		if len(first) >= max(8, len(s.daily)) {
			break
		}
	}
	if len(first) == 0 {
		return 0
	}
	return median(first)
}

// move shifts the seasons at step i: the more particular one, which has fewer values to learn from, by half.
func (s *seasons) move(i int, by float64) {
	if len(s.daily) > 0 {
		s.daily[(i+s.dayPhase)%len(s.daily)] += by
	}
	if len(s.weekly) > 0 {
		s.weekly[(i+s.wkPhase)%len(s.weekly)] += by / 2
	}
}

// ahead is what the state expects h steps after the end.
func (st *state) ahead(h int, echo float64) float64 {
	drift := st.trend * damping * (1 - math.Pow(damping, float64(h))) / (1 - damping)
	return st.level + drift + st.seasons.at(st.n-1+h) + math.Pow(echo, float64(h))*st.miss
}
