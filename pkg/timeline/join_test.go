package timeline

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestJoin(t *testing.T) {
	a, b := device("n1", "GPU-a"), device("n1", "GPU-b")
	for _, tc := range []struct {
		name                string
		history, live, want []gpu.Series
	}{
		{name: "both empty", want: []gpu.Series{}},
		{
			name:    "history only",
			history: []gpu.Series{line(a, []int64{0, 15}, 1, 2)},
			want:    []gpu.Series{line(a, []int64{0, 15}, 1, 2)},
		},
		{
			name: "live only",
			live: []gpu.Series{line(a, []int64{0, 15}, 1, 2)},
			want: []gpu.Series{line(a, []int64{0, 15}, 1, 2)},
		},
		{
			name:    "history stops before the first live sample",
			history: []gpu.Series{line(a, []int64{0, 10, 20, 30}, 1, 2, 3, 4)},
			live:    []gpu.Series{line(a, []int64{20, 21, 22}, 30, 31, 32)},
			want:    []gpu.Series{line(a, []int64{0, 10, 20, 21, 22}, 1, 2, 30, 31, 32)},
		},
		{
			name:    "live that reaches further back than history",
			history: []gpu.Series{line(a, []int64{20, 30}, 3, 4)},
			live:    []gpu.Series{line(a, []int64{5, 25}, 1, 2)},
			want:    []gpu.Series{line(a, []int64{5, 25}, 1, 2)},
		},
		{
			name:    "a live series without samples",
			history: []gpu.Series{line(a, []int64{0, 10}, 1, 2)},
			live:    []gpu.Series{line(a, nil)},
			want:    []gpu.Series{line(a, []int64{0, 10}, 1, 2)},
		},
		{
			name:    "a gap in live is not filled from history",
			history: []gpu.Series{line(a, []int64{0, 10, 20, 30}, 1, 2, 3, 4)},
			live:    []gpu.Series{line(a, []int64{10, 30}, nan, 40)},
			want:    []gpu.Series{line(a, []int64{0, 10, 30}, 1, nan, 40)},
		},
		{
			name:    "each device by itself, live-only ones last",
			history: []gpu.Series{line(b, []int64{0}, 1)},
			live:    []gpu.Series{line(a, []int64{5}, 2), line(b, []int64{5}, 3)},
			want:    []gpu.Series{line(b, []int64{0, 5}, 1, 3), line(a, []int64{5}, 2)},
		},
		{
			name:    "two exporters of one device",
			history: []gpu.Series{line(a, []int64{0, 10}, 1, 2), line(a, []int64{5, 10, 15}, 7, 8, 9)},
			live:    []gpu.Series{line(a, []int64{12}, 3)},
			want:    []gpu.Series{line(a, []int64{0, 5, 10, 12}, 1, 7, 2, 3)},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Join(tc.history, tc.live)
			require.Len(t, got, len(tc.want))
			for i := range tc.want {
				require.Equal(t, tc.want[i].Device, got[i].Device)
				require.Equal(t, tc.want[i].Times, got[i].Times)
				sameValues(t, tc.want[i].Values, got[i].Values)
			}
		})
	}
}

func TestJoinByBoard(t *testing.T) {
	live := instance("gpu01", "GPU-a", "7")
	live.ComputeInstance, live.MIGUUID = "0", "MIG-1"
	past := instance("GPU01.example.com", "GPU-a", "7")
	past.Model, past.Driver = "H200 SXM", "590.48"

	t.Run("another spelling of the node is the same GPU", func(t *testing.T) {
		live.Model = ""
		got := Join([]gpu.Series{line(past, []int64{0}, 1)}, []gpu.Series{line(live, []int64{5}, 2)})
		require.Len(t, got, 1)
		require.Equal(t, []int64{0, 5}, got[0].Times)
		require.Equal(t, live.Identity, got[0].Device.Identity)
		require.Equal(t, "H200 SXM", got[0].Device.Model, "what only the exporter knows is kept")
		require.Equal(t, "MIG-1", got[0].Device.MIGUUID)
	})
	t.Run("not when it could be one of two", func(t *testing.T) {
		other := past
		other.Node = "elsewhere"
		got := Join([]gpu.Series{line(past, []int64{0}, 1), line(other, []int64{0}, 1)}, []gpu.Series{line(live, []int64{5}, 2)})
		require.Len(t, got, 3)
	})
	t.Run("not in another cluster", func(t *testing.T) {
		other := past
		other.Cluster = "south"
		require.Len(t, Join([]gpu.Series{line(other, []int64{0}, 1)}, []gpu.Series{line(live, []int64{5}, 2)}), 2)
	})
	t.Run("not another instance of it", func(t *testing.T) {
		other := past
		other.GPUInstance = "8"
		require.Len(t, Join([]gpu.Series{line(other, []int64{0}, 1)}, []gpu.Series{line(live, []int64{5}, 2)}), 2)
	})
	t.Run("not without a UUID", func(t *testing.T) {
		l, h := live, past
		l.UUID, h.UUID = "", ""
		require.Len(t, Join([]gpu.Series{line(h, []int64{0}, 1)}, []gpu.Series{line(l, []int64{5}, 2)}), 2)
	})
}

// Whatever history and live samples there are: times rise, every live sample is there untouched, and no hole is wider
// than the coarser of the two periods as long as both cover the join.
func TestJoinProperties(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 1))
		historyPeriod, livePeriod := 1+rng.Int64N(30_000), 1+rng.Int64N(10_000)
		history := regular(rng, 1_000_000, historyPeriod, 1+rng.IntN(200))
		newest := history.Times[len(history.Times)-1]
		live := regular(rng, 1_000_000+rng.Int64N(newest-1_000_000+1), livePeriod, 1+rng.IntN(200))

		joined := Join([]gpu.Series{history}, []gpu.Series{live})
		require.Len(t, joined, 1)
		got := joined[0]
		for i := 1; i < len(got.Times); i++ {
			hole := got.Times[i] - got.Times[i-1]
			require.Positive(t, hole, "seed %d: times rise, so none is there twice", seed)
			require.LessOrEqual(t, hole, max(historyPeriod, livePeriod), "seed %d", seed)
		}
		tail := len(got.Times) - len(live.Times)
		require.Equal(t, live.Times, got.Times[tail:], "seed %d", seed)
		require.Equal(t, live.Values, got.Values[tail:], "seed %d", seed)
		require.Equal(t, history.Times[:tail], got.Times[:tail], "seed %d", seed)
		require.Equal(t, history.Values[:tail], got.Values[:tail], "seed %d", seed)

		seam, ok := Seam(history, live)
		require.Equal(t, tail > 0, ok, "seed %d", seed)
		if ok {
			require.Equal(t, live.Times[0], seam, "seed %d", seed)
		}
	}
}

func regular(rng *rand.Rand, start, period int64, n int) gpu.Series {
	s := gpu.Series{Device: device("n1", "GPU-a")}
	for i := range n {
		s.Times, s.Values = append(s.Times, start+int64(i)*period), append(s.Values, rng.Float64())
	}
	return s
}

// B18: the database repeats the last sample for five minutes; the agent says that there is none.
func TestLiveWinsOverRepeatedHistory(t *testing.T) {
	var fixture struct {
		API   matrix `json:"api"`
		Truth int64  `json:"truth_last_sample"`
	}
	readFixture(t, "B18_lookback_range.json", &fixture)
	history := fixture.API.series(t)
	live := gpu.Series{Device: history.Device}
	for at := fixture.Truth + 1; at < fixture.Truth+300; at++ {
		live.Times, live.Values = append(live.Times, at*1000), append(live.Values, nan)
	}
	got := Join([]gpu.Series{history}, []gpu.Series{live})[0]
	for i, at := range got.Times {
		if at > fixture.Truth*1000 {
			require.True(t, gpuAbsent(got.Values[i]), "at %d the series had ended", at)
		}
	}
}

func gpuAbsent(v float64) bool { return v != v }

// A37: the scraper repeats what the exporter caches. The stairs stay stairs, and the seam is where live begins.
func TestStairsAreNotSmoothed(t *testing.T) {
	var fixture struct {
		History matrix `json:"history"`
		Live    struct {
			UUID  string    `json:"uuid"`
			Times []int64   `json:"ts_ms"`
			Watts []float64 `json:"power_w"`
		} `json:"live"`
	}
	readFixture(t, "A37_plateau_range.json", &fixture)
	history := fixture.History.series(t)
	live := gpu.Series{
		Device: gpu.Device{Identity: gpu.Identity{Node: "rack1-gpu01", UUID: fixture.Live.UUID}},
		Times:  fixture.Live.Times, Values: fixture.Live.Watts,
	}
	joined := Join([]gpu.Series{history}, []gpu.Series{live})
	require.Len(t, joined, 1)
	require.Equal(t, append(append([]float64{}, history.Values...), live.Values...), joined[0].Values)
	seam, ok := Seam(history, live)
	require.True(t, ok)
	require.Equal(t, int64(1793400180000), seam)
}

func BenchmarkJoin(b *testing.B) {
	history, live := fleet(1000, 1000, 15_000, 0), fleet(1000, 60, 1_000, 14_970_000)
	samples := float64(1000 * (985 + 60))

	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Join(history, live)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/samples, "ns/sample")
	})
	b.Run("map-by-time", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			naiveJoin(history, live)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/samples, "ns/sample")
	})
}

func fleet(series, samples int, period, start int64) []gpu.Series {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([]gpu.Series, series)
	for i := range out {
		out[i] = regular(rng, start, period, samples)
		out[i].Device = device("n"+string(rune('a'+i/26/26))+string(rune('a'+i/26%26)), "GPU-"+string(rune('a'+i%26)))
	}
	return out
}
