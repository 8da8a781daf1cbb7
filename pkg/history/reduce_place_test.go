package history

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/warpwatch/warpwatch/pkg/query"
)

// The values of a column do not depend on how times are put on the grid: one by one, or in runs.
func TestTakePlacesEverySample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := time.Unix(t0, 0)
		g := gridOf(false, query.Window{From: from, To: from.Add(20 * time.Minute), Step: time.Minute, ScrapeInterval: time.Minute})
		c := column{}
		want, ranks := make([]float64, len(g.times)), make([]int, len(g.times))
		for i := range want {
			want[i] = math.NaN()
		}
		var times []int64
		for n := range rapid.IntRange(1, 4).Draw(t, "series") {
			if n == 0 || rapid.Bool().Draw(t, "other times") {
				offsets := rapid.SliceOfNDistinct(rapid.IntRange(-4, 100), 1, 40, rapid.ID).Draw(t, "offsets")
				slices.Sort(offsets)
				times = nil
				for _, quarter := range offsets {
					times = append(times, g.times[0]+int64(quarter)*15_000)
				}
			}
			next := candidate{times: times, want: ofRank(rapid.IntRange(0, 1).Draw(t, "rank"))}
			for range times {
				next.values = append(next.values, rapid.SampledFrom([]float64{1, 2, 3, math.NaN()}).Draw(t, "value"))
			}
			for i, at := range times {
				k := g.at(at)
				if k < 0 || math.IsNaN(next.values[i]) {
					continue
				}
				better := next.want.rank < ranks[k] || next.want.rank == ranks[k] && next.values[i] > want[k]
				if n == 0 || math.IsNaN(want[k]) || better {
					want[k], ranks[k] = next.values[i], next.want.rank
				}
			}
			next.values = slices.Clone(next.values)
			c.take(g, next)
		}
		for i := range want {
			if math.Float64bits(want[i]) != math.Float64bits(c.values[i]) && !(math.IsNaN(want[i]) && math.IsNaN(c.values[i])) {
				t.Fatalf("place %d: %v is not %v", i, c.values, want)
			}
		}
	})
}

func ofRank(rank int) *want { return &want{rank: rank} }
