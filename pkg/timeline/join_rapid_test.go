package timeline

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// What replicas of a database remember of a GPU and what agents say of it, each with holes of its own, the agent's clock
// off by what is tolerated, and the agent found twice: in whatever order they come, the timeline of each GPU rises, has
// no time twice, and is the truth – what agents said, and before that what any replica remembers.
func TestJoinIsTheMergedTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var history, live []gpu.Series
		want := map[string]map[int64]float64{}
		for _, uuid := range []string{"GPU-a", "GPU-b"} {
			truth := map[int64]float64{}
			at := rapid.Int64Range(0, 10_000).Draw(t, "start")
			for range rapid.IntRange(0, 40).Draw(t, "samples") {
				at += rapid.Int64Range(1, 5000).Draw(t, "gap")
				truth[at] = rapid.Float64Range(0, 700).Draw(t, "watts")
			}
			times := slices.Sorted(maps.Keys(truth))
			merged := map[int64]float64{}
			since := int64(math.MaxInt64)
			if rapid.Bool().Draw(t, "has an agent") {
				skew := rapid.Int64Range(-1000, 1000).Draw(t, "skew")
				from := rapid.IntRange(0, len(times)).Draw(t, "connected")
				for range rapid.IntRange(1, 2).Draw(t, "found") {
					s := part(t, uuid, times[from:], truth, skew)
					if rapid.Bool().Draw(t, "without") {
						s.Times, s.Values = nil, nil
					}
					for i, at := range s.Times {
						merged[at], since = s.Values[i], min(since, at)
					}
					live = append(live, s)
				}
			}
			for range rapid.IntRange(0, 3).Draw(t, "replicas") {
				s := part(t, uuid, times, truth, 0)
				for i, at := range s.Times {
					if at < since {
						merged[at] = s.Values[i]
					}
				}
				history = append(history, s)
			}
			want[uuid] = merged
		}
		history = rapid.Permutation(history).Draw(t, "history")
		live = rapid.Permutation(live).Draw(t, "live")

		seen := map[string]bool{}
		for _, got := range Join(history, live) {
			require.False(t, seen[got.Device.UUID], "one line for a GPU")
			seen[got.Device.UUID] = true
			merged := want[got.Device.UUID]
			require.Len(t, got.Times, len(merged))
			require.Len(t, got.Values, len(merged))
			for i, at := range got.Times {
				if i > 0 {
					require.Greater(t, at, got.Times[i-1])
				}
				require.Equal(t, merged[at], got.Values[i])
			}
		}
		for uuid, merged := range want {
			require.True(t, seen[uuid] || len(merged) == 0)
		}
	})
}

// part is what one source knows: some of the samples, at times that are off.
func part(t *rapid.T, uuid string, times []int64, truth map[int64]float64, skew int64) gpu.Series {
	s := gpu.Series{Device: device("n1", uuid)}
	for _, at := range times {
		if rapid.IntRange(0, 4).Draw(t, "hole") > 0 {
			s.Times, s.Values = append(s.Times, at+skew), append(s.Values, truth[at])
		}
	}
	return s
}
