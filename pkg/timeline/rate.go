package timeline

import (
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// RateWindow is the window that [Rate] needs for samples every period that are shown every step: four periods, as
// Prometheus' users take for rate(), and at least a step.
func RateWindow(step, period time.Duration) time.Duration { return max(step, 4*period) }

// Rate turns counters into their increase per second, over a window that ends at each sample. A counter that falls was
// reset and starts again from zero.
//
// Many counters move in steps, because the hardware refreshes them less often than they are read: between refreshes
// nothing seems to happen, and then all of it at once. When the window holds at least two changes at a regular pace the
// rate is therefore taken from the first change to the last, which is exact for a staircase and for a smooth counter;
// otherwise it is the increase over the window. Samples before either is known are left out. The window should span
// several refreshes: nothing can tell a rate over less than one.
func Rate(series []gpu.Series, window time.Duration) []gpu.Series {
	rates := make([]gpu.Series, len(series))
	for i, s := range series {
		rates[i] = s
		rates[i].Times = make([]int64, 0, len(s.Times))
		rates[i].Values = make([]float64, 0, len(s.Times))
		c := counter{window: window.Milliseconds()}
		for j, t := range s.Times {
			v := c.add(t, s.Values[j])
			if math.IsNaN(v) && len(rates[i].Times) == 0 {
				continue
			}
			rates[i].Times = append(rates[i].Times, t)
			rates[i].Values = append(rates[i].Values, v)
		}
	}
	return rates
}

// Follower takes the rate of one counter as its samples come.
type Follower struct{ counter counter }

// NewFollower takes rates over a window that ends at each sample, see [Rate].
func NewFollower(window time.Duration) *Follower {
	return &Follower{counter{window: window.Milliseconds()}}
}

// Add takes the next reading at a time in Unix milliseconds and returns the rate there, NaN where it is not known or the
// time does not rise.
func (f *Follower) Add(t int64, v float64) float64 { return f.counter.follow(t, v) }

// counter follows one counter. Its memory is bounded by the samples in the window.
type counter struct {
	window int64 // milliseconds

	started bool
	raw     float64 // newest reading
	total   float64 // increase since the first reading, resets taken out
	samples []point // in the window, and the newest one before it
	changes []point // the samples in the window at which the total changed
}

type point struct {
	time  int64
	total float64
}

// add takes the next reading and returns the rate at it, NaN when it is not known. Times must rise.
func (c *counter) add(t int64, v float64) float64 {
	if math.IsNaN(v) {
		return math.NaN()
	}
	if n := len(c.samples); n > 0 && t-c.samples[n-1].time > c.window {
		// When in such a hole the counter moved is not known.
		c.started, c.samples, c.changes = false, c.samples[:0], c.changes[:0]
	}
	if c.started {
		increase := v - c.raw
		if increase < 0 {
			increase = v
		}
		c.total += increase
		if increase != 0 {
			c.changes = append(c.changes, point{t, c.total})
		}
	}
	c.started, c.raw = true, v
	c.samples = append(c.samples, point{t, c.total})
	c.trim(t - c.window)
	return c.rate(t)
}

func (c *counter) trim(start int64) {
	drop := 0
	for drop+1 < len(c.samples) && c.samples[drop+1].time <= start {
		drop++
	}
	c.samples = c.samples[:copy(c.samples, c.samples[drop:])]
	drop = 0
	for drop < len(c.changes) && c.changes[drop].time < start {
		drop++
	}
	c.changes = c.changes[:copy(c.changes, c.changes[drop:])]
}

func (c *counter) rate(t int64) float64 {
	base := c.samples[0]
	if n := len(c.changes); n >= 2 {
		first, last := c.changes[0], c.changes[n-1]
		span := last.time - first.time
		pace := span / int64(n-1)
		if t-last.time <= 2*pace && first.time-max(t-c.window, base.time) <= 2*pace {
			return perSecond(last.total-first.total, span)
		}
	}
	// Without a sample from the start of the window, what happened in it is not known.
	if t-base.time < c.window {
		return math.NaN()
	}
	return perSecond(c.total-base.total, t-base.time)
}

func perSecond(increase float64, milliseconds int64) float64 {
	return increase * 1000 / float64(milliseconds)
}
