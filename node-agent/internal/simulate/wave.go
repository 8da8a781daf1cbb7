package simulate

import "math"

// wave is the rhythm of a workload: on for a share of each period, then off. Training alternates so between computing
// and waiting for the others, a server between a batch and the next.
type wave struct {
	period float64 // seconds, > 0
	phase  float64 // seconds by which the rhythm is shifted
	busy   float64 // share of the period that is on, 0 to 1
}

// mean is the share of [from, to] that is on; from < to, Unix seconds.
func (w wave) mean(from, to float64) float64 {
	switch {
	case w.busy <= 0:
		return 0
	case w.busy >= 1:
		return 1
	}
	return clamp((w.integral(to)-w.integral(from))/(to-from), 0, 1)
}

// integral is the time spent on between the rhythm's start and t.
func (w wave) integral(t float64) float64 {
	turns := (t - w.phase) / w.period
	whole := math.Floor(turns)
	return w.period * (whole*w.busy + math.Min(turns-whole, w.busy))
}
