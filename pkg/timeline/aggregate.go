package timeline

import (
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Aggregate makes one series of each group of devices. The input must be on one grid (see [Align]). A point is the
// aggregate of the devices that have a value there, NaN when none has one; there is a point wherever one of the group
// has one. A device that has no point counts with its last one for as long as carry, which is for devices that are
// sampled less often than the grid's step; a NaN ends that.
//
// A MIG instance counts only where its GPU has no value of its own: the board's memory and power are not to be
// counted a second time by its instances.
//
// An aggregate by identity keeps its device and labels; any other has no device, and its group in the labels
// ("cluster", "node", "model"). The answer is in the order of devices, then of labels.
func Aggregate(series []gpu.Series, agg Aggregation, carry time.Duration) []gpu.Series {
	groups := group(series, agg)
	out := make([]gpu.Series, 0, len(groups))
	for _, g := range groups {
		if len(g.members) == 1 && g.members[0].parent < 0 {
			g.head.Times, g.head.Values = series[g.members[0].series].Times, series[g.members[0].series].Values
		} else {
			g.head.Times, g.head.Values = aggregateGroup(series, g, agg, carry.Milliseconds())
		}
		out = append(out, g.head)
	}
	sortSeries(out)
	return out
}

type seriesGroup struct {
	head    gpu.Series
	members []seriesMember
}

type seriesMember struct {
	series int
	parent int // the series of the physical GPU of a MIG instance, -1 when there is none to count instead
}

func group(series []gpu.Series, agg Aggregation) []*seriesGroup {
	boards := make(map[gpu.Identity]int, len(series))
	if agg.By != ByIdentity {
		for i, s := range series {
			if !s.Device.IsMIG() {
				boards[s.Device.Identity] = i
			}
		}
	}
	at := make(map[key]*seriesGroup)
	var groups []*seriesGroup
	for i, s := range series {
		head := gpu.Series{Device: s.Device, Labels: s.Labels}
		if agg.By != ByIdentity {
			head = gpu.Series{Labels: agg.group(s.Device)}
		}
		k := keyOf(head.Device, head.Labels)
		g, ok := at[k]
		if !ok {
			g = &seriesGroup{head: head}
			at[k] = g
			groups = append(groups, g)
		}
		member := seriesMember{series: i, parent: -1}
		if s.Device.IsMIG() {
			if parent, ok := boards[s.Device.Parent()]; ok {
				member.parent = parent
			}
		}
		g.members = append(g.members, member)
	}
	return groups
}

func aggregateGroup(series []gpu.Series, g *seriesGroup, agg Aggregation, carry int64) ([]int64, []float64) {
	var times []int64
	for _, m := range g.members {
		times = mergeTimes(times, series[m.series].Times)
	}
	folds := make([]fold, len(times))
	own, parent := make([]float64, len(times)), make([]float64, len(times))
	for _, m := range g.members {
		weight := agg.weight(series[m.series].Device)
		spread(own, times, series[m.series], carry)
		if m.parent >= 0 {
			spread(parent, times, series[m.parent], carry)
		}
		for i, v := range own {
			if m.parent < 0 || math.IsNaN(parent[i]) {
				folds[i].add(v, weight)
			}
		}
	}
	values := own
	for i := range folds {
		values[i] = folds[i].value(agg.Fn)
	}
	return times, values
}

// spread writes the value that a series counts with at each of the times, NaN where it has none.
func spread(out []float64, times []int64, s gpu.Series, carry int64) {
	at := 0
	for i, t := range times {
		for at < len(s.Times) && s.Times[at] <= t {
			at++
		}
		switch {
		case at == 0 || t-s.Times[at-1] > carry:
			out[i] = math.NaN()
		default:
			out[i] = s.Values[at-1]
		}
	}
}

// mergeTimes is the union of two rising lists. It returns one of them when the other adds nothing, so that the union of
// very many lists that are alike costs no memory.
func mergeTimes(a, b []int64) []int64 {
	switch {
	case len(b) == 0 || len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] || contains(a, b):
		return a
	case len(a) == 0:
		return b
	}
	out := make([]int64, 0, len(a)+len(b)/8)
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] < b[j]:
			out = append(out, a[i])
			i++
		case a[i] > b[j]:
			out = append(out, b[j])
			j++
		default:
			out = append(out, a[i])
			i, j = i+1, j+1
		}
	}
	out = append(out, a[i:]...)
	return append(out, b[j:]...)
}

// contains reports whether all of the rising list b is in the rising list a.
func contains(a, b []int64) bool {
	i := 0
	for _, t := range b {
		for i < len(a) && a[i] < t {
			i++
		}
		if i == len(a) || a[i] != t {
			return false
		}
		i++
	}
	return true
}
