package timeline

import (
	"cmp"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Rank is what of a series' values decides its place among others.
type Rank uint8

// The ways to rank.
const (
	RankAvg Rank = iota
	RankMax
	RankMin
	RankLast
)

// Top is where in the input the k series are that rank highest, or lowest, the first of them first. Of equals the one
// that comes first in the input, whose order must therefore not change from one call to the next. Values that are not finite do not count, and a series
// without any other is in no answer.
func Top(series []gpu.Series, k int, by Rank, lowest bool) []int {
	type ranked struct {
		at    int
		value float64
	}
	places := make([]ranked, 0, len(series))
	for i, s := range series {
		if v, ok := by.of(s.Values); ok {
			places = append(places, ranked{i, v})
		}
	}
	slices.SortFunc(places, func(a, b ranked) int {
		c := cmp.Compare(b.value, a.value)
		if lowest {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(a.at, b.at))
	})
	top := make([]int, 0, min(k, len(places)))
	for _, place := range places[:cap(top)] {
		top = append(top, place.at)
	}
	return top
}

// of is what values rank with, false when none of them is finite.
func (r Rank) of(values []float64) (rank float64, ok bool) {
	if r == RankLast {
		for _, v := range slices.Backward(values) {
			if finite(v) {
				return v, true
			}
		}
		return 0, false
	}
	keep := map[Rank]Keep{RankAvg: KeepMean, RankMax: KeepMax, RankMin: KeepMin}[r]
	var b kept
	for _, v := range values {
		b.add(v, keep)
	}
	return b.value, b.n > 0
}
