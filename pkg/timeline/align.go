package timeline

import (
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Align puts samples on a grid of step: each bin has the time of its start and the last value measured in it, or the
// largest or smallest when keep says so, NaN when all its samples are NaN. A bin without samples has no point, so that a
// hole stays one.
//
// period is how far apart the samples are meant to be, 0 when that is not known. Samples that are taken on the beat of
// the grid may come a little early and so land in the bin before their own; a sample in the last half period (of the
// shorter of period and step) of its bin therefore also fills the next one, when that is empty and the one after has a
// sample. A sample that was really missed stays missing.
func Align(series []gpu.Series, step, period time.Duration, keep Keep) []gpu.Series {
	aligned := make([]gpu.Series, len(series))
	for i, s := range series {
		aligned[i] = s
		aligned[i].Times, aligned[i].Values = alignOne(s, step.Milliseconds(), early(step, period), keep)
	}
	return aligned
}

// early is how long before a bin a sample may have been taken that was meant for it, in milliseconds.
func early(step, period time.Duration) int64 { return min(step, period).Milliseconds() / 2 }

func alignOne(s gpu.Series, step, early int64, keep Keep) ([]int64, []float64) {
	if step <= 0 || len(s.Times) == 0 {
		return s.Times, s.Values
	}
	bins := int((s.Times[len(s.Times)-1]-s.Times[0])/step) + 2
	times := make([]int64, 0, min(len(s.Times), bins))
	values := make([]float64, 0, cap(times))
	var last int64 // time of the newest sample in the newest bin
	for i, t := range s.Times {
		bin, n := floor(t, step), len(times)
		if n > 0 && times[n-1] == bin {
			values[n-1] = keep.merge(values[n-1], s.Values[i])
			last = t
			continue
		}
		if n > 0 && skipped(times[n-1], bin, last, step, early) {
			times, values = append(times, times[n-1]+step), append(values, values[n-1])
		}
		times, values = append(times, bin), append(values, s.Values[i])
		last = t
	}
	return times, values
}

// skipped reports whether the one empty bin between two others belongs to a sample taken a little early.
func skipped(bin, next, sample, step, early int64) bool {
	return next == bin+2*step && bin+step-sample <= early
}

// floor is the start of the bin that t is in.
func floor(t, step int64) int64 {
	r := t % step
	if r < 0 {
		r += step
	}
	return t - r
}
