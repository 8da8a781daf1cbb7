package health

import (
	"math"
	"time"
)

// clock converts between times and steps of the grid.
type clock struct {
	times []int64
	step  time.Duration
}

func minutes(m float64) time.Duration { return time.Duration(m * float64(time.Minute)) }

// steps is how many steps cover a duration, at least one and at most what there are.
func (c clock) steps(d time.Duration) int {
	return max(1, min(len(c.times), c.wholeSteps(d)))
}

func (c clock) wholeSteps(d time.Duration) int {
	if c.step <= 0 {
		return 1
	}
	return int((d + c.step - 1) / c.step)
}

// end is when the last step is over, Unix milliseconds.
func (c clock) end() int64 {
	if len(c.times) == 0 {
		return 0
	}
	return c.times[len(c.times)-1] + c.step.Milliseconds()
}

// index is the step that holds a time, -1 for one before all of them. Times after the last step belong to it.
func (c clock) index(t int64) int {
	if len(c.times) == 0 || t < c.times[0] {
		return -1
	}
	if c.step.Milliseconds() <= 0 {
		return len(c.times) - 1
	}
	return int(min(int64(len(c.times)-1), (t-c.times[0])/c.step.Milliseconds()))
}

// last is the last value that was measured and its step, -1 when there is none.
func last(values []float64) (float64, int) {
	for i := len(values) - 1; i >= 0; i-- {
		if v := values[i]; !math.IsNaN(v) {
			return v, i
		}
	}
	return math.NaN(), -1
}

// hold says how long something has been so, up to the end of the range.
type hold struct {
	is      bool
	short   bool  // so all the time, but the range is shorter than it has to last
	since   int64 // Unix milliseconds
	minutes float64
}

// held looks whether something was so in all steps up to the end that were measured, for at least a duration. Values that end
// before the last so many steps are old and decide nothing. At least least steps must have been measured.
func (c clock) held(values []float64, d time.Duration, least int, is func(float64) bool) hold {
	v, at := last(values)
	if at < 0 || !is(v) || len(values)-1-at > c.fresh() {
		return hold{}
	}
	return c.run(d, least, at, func(i int) (bool, bool) {
		v := values[i]
		return !math.IsNaN(v), is(v)
	})
}

// fresh is how many of the last steps may be absent before what was measured before them is old: five minutes, and one step.
func (c clock) fresh() int { return max(1, c.wholeSteps(5*time.Minute)) }

// current reports whether a step is the last one, or the one before it in a grid of several: the last is often not full yet.
func (c clock) current(step int) bool {
	return step >= 0 && (step >= len(c.times)-1 || (len(c.times) > 2 && step == len(c.times)-2))
}

// run goes back from a step as long as what was measured is so.
func (c clock) run(d time.Duration, least, at int, state func(i int) (measured, is bool)) hold {
	start, count, broken := at, 0, false
	for i := at; i >= 0; i-- {
		measured, is := state(i)
		if !measured {
			continue
		}
		if !is {
			broken = true
			break
		}
		start = i
		if count++; (at-start+1) >= c.wholeSteps(d) && count >= least && start == 0 {
			break
		}
	}
	h := hold{is: true, since: c.times[start], minutes: (time.Duration(at-start+1) * c.step).Minutes()}
	if at-start+1 < c.wholeSteps(d) || count < least {
		if broken {
			return hold{}
		}
		h.short = true
	}
	return h
}

// heldSum is held for sums over a window that ends with each step: none of the last steps' sums may be at most the limit.
func (c clock) heldSum(values []float64, window, d time.Duration, limit float64) (float64, hold) {
	if total(values) <= limit || len(values) == 0 {
		return 0, hold{}
	}
	n := c.steps(window)
	at := len(values) - 1
	first := sum(values[max(0, at-n+1):])
	if first <= limit {
		return 0, hold{}
	}
	rolling, now := first, at
	return first, c.run(d, 1, at, func(i int) (bool, bool) {
		for now > i {
			rolling -= number(values[now])
			now--
			if now-n+1 >= 0 {
				rolling += number(values[now-n+1])
			}
		}
		return true, rolling > limit
	})
}

func number(v float64) float64 {
	if !math.IsNaN(v) {
		return v
	}
	return 0
}

func total(values []float64) float64 { return sum(values) }

// sum of what was measured, 0 when nothing was.
func sum(values []float64) float64 {
	var s float64
	for _, v := range values {
		if !math.IsNaN(v) {
			s += v
		}
	}
	return s
}

// mean of what was measured, NaN when nothing was.
func mean(values []float64) float64 {
	var s float64
	n := 0
	for _, v := range values {
		if !math.IsNaN(v) {
			s += v
			n++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return s / float64(n)
}

// tail are the last n values.
func tail(values []float64, n int) []float64 { return values[max(0, len(values)-n):] }

// highest value that was measured, NaN when nothing was.
func highest(values []float64) float64 {
	top := math.NaN()
	for _, v := range values {
		if !math.IsNaN(v) && !(v <= top) {
			top = v
		}
	}
	return top
}

// firstAbove is the time of the first of the last n values above a limit, 0 for none.
func (c clock) firstAbove(values []float64, n int, limit float64) int64 {
	for i := max(0, len(values)-n); i < len(values); i++ {
		if values[i] > limit {
			return c.times[i]
		}
	}
	return 0
}
