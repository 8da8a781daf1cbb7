package timeline

import (
	"slices"
	"sort"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Join makes one series of each device's past and present: history strictly before the first live sample, live
// samples from there on, gaps included. What an agent says about now is never overridden by what a database
// remembers, because the latter repeats its last sample for minutes after a series ended.
//
// Series are the same line when identity and labels are equal. Failing that, when exactly one series on each side has
// the same cluster, UUID and GPU instance. Several series of one line on the same side are merged, the first one
// winning where both have a sample. The answer is in the order of first appearance, history before live; its slices
// may be the input's.
func Join(history, live []gpu.Series) []gpu.Series {
	past, present := distinct(history), distinct(live)
	partner := pair(past, present)

	joined := make([]gpu.Series, 0, len(past)+len(present))
	taken := make([]bool, len(present))
	var times joinedTimes
	for i, h := range past {
		if at := partner[i]; at >= 0 {
			taken[at] = true
			joined = append(joined, times.join(h, present[at]))
			continue
		}
		joined = append(joined, h)
	}
	for i, l := range present {
		if !taken[i] {
			joined = append(joined, l)
		}
	}
	return joined
}

// Seam is the time of the first live sample in the join of two series. It is false when only one of them has a part in it.
func Seam(history, live gpu.Series) (int64, bool) {
	if len(history.Times) == 0 || len(live.Times) == 0 || history.Times[0] >= live.Times[0] {
		return 0, false
	}
	return live.Times[0], true
}

// joinedTimes is the times of the pair that was joined last: most pairs have theirs in common.
type joinedTimes struct{ past, present, joined []int64 }

func (j *joinedTimes) of(past, present []int64) []int64 {
	if !same(past, j.past) || !same(present, j.present) {
		j.past, j.present, j.joined = past, present, slices.Concat(past, present)
	}
	return j.joined
}

// same reports whether two lists are one piece of memory.
func same(a, b []int64) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

func (j *joinedTimes) join(history, live gpu.Series) gpu.Series {
	joined := live
	joined.Device = mergeFacts(live.Device, history.Device)
	if joined.Labels == nil {
		joined.Labels = history.Labels
	}
	if len(live.Times) == 0 {
		joined.Times, joined.Values = history.Times, history.Values
		return joined
	}
	cut := sort.Search(len(history.Times), func(i int) bool { return history.Times[i] >= live.Times[0] })
	if cut > 0 {
		joined.Times = j.of(history.Times[:cut], live.Times)
		joined.Values = slices.Concat(history.Values[:cut], live.Values)
	}
	return joined
}

// mergeFacts keeps what the agent says and fills in what only the exporter knows.
func mergeFacts(live, history gpu.Device) gpu.Device {
	if live == (gpu.Device{}) {
		return history
	}
	for _, fact := range []struct{ mine, other *string }{
		{&live.Model, &history.Model}, {&live.PCIBusID, &history.PCIBusID}, {&live.MIGProfile, &history.MIGProfile},
		{&live.MIGUUID, &history.MIGUUID}, {&live.Driver, &history.Driver},
	} {
		if *fact.mine == "" {
			*fact.mine = *fact.other
		}
	}
	if live.Index < 0 {
		live.Index = history.Index
	}
	return live
}

// pair finds for each past series the index of its present one, or -1.
func pair(past, present []gpu.Series) []int {
	partner := make([]int, len(past))
	exact := make(map[key]int, len(present))
	for i, l := range present {
		exact[keyOf(l.Device, l.Labels)] = i
	}
	alone := make([]bool, len(present))
	for i := range alone {
		alone[i] = true
	}
	for i, h := range past {
		partner[i] = -1
		if at, ok := exact[keyOf(h.Device, h.Labels)]; ok {
			partner[i], alone[at] = at, false
		}
	}

	// What is left over is compared by board; -1 marks a board that is there twice.
	pastBoards, presentBoards := make(map[board]int), make(map[board]int)
	note := func(seen map[board]int, s gpu.Series, at int) {
		b, ok := keyOf(s.Device, s.Labels).board()
		if !ok {
			return
		}
		if _, twice := seen[b]; twice {
			at = -1
		}
		seen[b] = at
	}
	for i, h := range past {
		if partner[i] < 0 {
			note(pastBoards, h, i)
		}
	}
	for i, l := range present {
		if alone[i] {
			note(presentBoards, l, i)
		}
	}
	for b, i := range pastBoards {
		if at, ok := presentBoards[b]; ok && at >= 0 && i >= 0 {
			partner[i] = at
		}
	}
	return partner
}

// distinct merges series that are the same line.
func distinct(series []gpu.Series) []gpu.Series {
	at := make(map[key]int, len(series))
	out := make([]gpu.Series, 0, len(series))
	for _, s := range series {
		k := keyOf(s.Device, s.Labels)
		if i, ok := at[k]; ok {
			out[i] = union(out[i], s)
			continue
		}
		at[k] = len(out)
		out = append(out, s)
	}
	return out
}

// union has the samples of both series; a's where both have one.
func union(a, b gpu.Series) gpu.Series {
	times := make([]int64, 0, len(a.Times)+len(b.Times))
	values := make([]float64, 0, cap(times))
	i, j := 0, 0
	for i < len(a.Times) || j < len(b.Times) {
		switch {
		case j == len(b.Times) || i < len(a.Times) && a.Times[i] <= b.Times[j]:
			if j < len(b.Times) && a.Times[i] == b.Times[j] {
				j++
			}
			times, values = append(times, a.Times[i]), append(values, a.Values[i])
			i++
		default:
			times, values = append(times, b.Times[j]), append(values, b.Values[j])
			j++
		}
	}
	a.Times, a.Values = times, values
	return a
}
