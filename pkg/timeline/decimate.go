package timeline

import (
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Decimate puts series on a coarser grid: each bin of step has the time of its start and what keep makes of its
// samples, NaN when none of them is finite. A bin without samples has no point. Series that are on the grid already are
// returned as they are.
func Decimate(series []gpu.Series, step time.Duration, keep Keep) []gpu.Series {
	ms := step.Milliseconds()
	out := make([]gpu.Series, len(series))
	var shared grid
	for i, s := range series {
		out[i] = s
		if ms > 0 && !onGrid(s.Times, ms) {
			out[i].Times, out[i].Values = decimate(s, ms, keep)
			out[i].Times = shared.same(out[i].Times)
		}
	}
	return out
}

// Points is how many points a chart of the series has: the times that any of them has a sample at, each once.
func Points(series []gpu.Series) int {
	var times []int64
	for _, s := range series {
		times = mergeTimes(times, s.Times)
	}
	return len(times)
}

// onGrid reports whether every sample is alone in its bin and has the time of it.
func onGrid(times []int64, step int64) bool {
	for i, t := range times {
		if floor(t, step) != t || i > 0 && t-times[i-1] < step {
			return false
		}
	}
	return true
}

func decimate(s gpu.Series, step int64, keep Keep) ([]int64, []float64) {
	if len(s.Times) == 0 {
		return nil, nil
	}
	bins := int((s.Times[len(s.Times)-1]-s.Times[0])/step) + 2
	times := make([]int64, 0, min(len(s.Times), bins))
	values := make([]float64, 0, cap(times))
	var current kept
	for i, t := range s.Times {
		start := floor(t, step)
		if n := len(times); n == 0 || times[n-1] != start {
			current = kept{}
			times, values = append(times, start), append(values, math.NaN())
		}
		current.add(s.Values[i], keep)
		values[len(values)-1] = current.result()
	}
	return times, values
}

// grid lets series that have the same times share them.
type grid struct{ last []int64 }

func (g *grid) same(times []int64) []int64 {
	if len(times) == len(g.last) && len(times) > 0 && times[0] == g.last[0] {
		for i := range times {
			if times[i] != g.last[i] {
				g.last = times
				return times
			}
		}
		return g.last
	}
	g.last = times
	return times
}
