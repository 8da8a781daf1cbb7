package memory

import (
	"math"
	"time"
)

// most is the largest value that anything here can have. What is beyond it, or negative, was not measured.
const most = 1e18

func plausible(v float64) bool { return v >= 0 && v <= most }

// summary is what a window has in it.
type summary struct {
	count              int
	sum, least, latest float64
	highest            float64
	at                 int // index of latest
}

// summarize looks at values[from:]. Without values all but count is 0.
func summarize(values []float64, from int) summary {
	var s summary
	for i := max(from, 0); i < len(values); i++ {
		v := values[i]
		if !plausible(v) {
			continue
		}
		if s.count == 0 {
			s.least, s.highest = v, v
		}
		s.count++
		s.sum += v
		s.least, s.highest = min(s.least, v), max(s.highest, v)
		s.latest, s.at = v, i
	}
	return s
}

func (s summary) mean() float64 { return s.sum / float64(s.count) }

// clock turns minutes into steps of the grid.
type clock struct {
	steps int
	step  time.Duration
}

// back is the index of the first step of the last minutes. The window is one step at least.
func (c clock) back(minutes float64) int {
	if c.step <= 0 {
		return 0
	}
	steps := math.Ceil(minutes * float64(time.Minute) / float64(c.step))
	return max(c.steps-int(min(max(steps, 1), float64(c.steps))), 0)
}

// covers reports whether the grid is as long as that and values are there for most of it.
func (c clock) covers(minutes float64, count int) bool {
	whole := float64(c.steps)*float64(c.step) >= minutes*float64(time.Minute)
	return whole && count > 0 && 2*count >= c.steps-c.back(minutes)
}

// fresh reports whether a value is new enough to speak of now: three steps, or five minutes where steps are short.
func (c clock) fresh(at int) bool {
	age := time.Duration(c.steps-1-at) * c.step
	return age <= max(3*c.step, 5*time.Minute)
}

// pointer is a figure, nil for what is none.
func pointer(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
