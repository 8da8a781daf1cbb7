package timeline

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestTop(t *testing.T) {
	input := []gpu.Series{
		line(device("n1", "a"), []int64{0, 1, 2}, 1, 9, 2),
		line(device("n1", "b"), []int64{0, 1, 2}, 5, 5, 5),
		line(device("n1", "c"), []int64{0, 1, 2}, 4, 4, nan),
		line(device("n1", "d"), []int64{0, 1, 2}, nan, nan, nan),
		line(device("n1", "e"), []int64{0, 1, 2}, 4, 4, math.Inf(1)),
		line(device("n1", "f"), nil),
	}
	for _, tc := range []struct {
		k      int
		by     Rank
		lowest bool
		want   string
	}{
		{2, RankAvg, false, "b a"},
		{9, RankAvg, false, "b a c e"},
		{2, RankMax, false, "a b"},
		{2, RankMin, true, "a c"},
		{3, RankLast, false, "b c e"},
		{1, RankLast, true, "a"},
		{0, RankAvg, false, ""},
	} {
		got := ""
		for i, at := range Top(input, tc.k, tc.by, tc.lowest) {
			if i > 0 {
				got += " "
			}
			got += input[at].Device.UUID
		}
		require.Equal(t, tc.want, got, "%+v", tc)
	}
}

func TestHeatmap(t *testing.T) {
	input := []gpu.Series{
		line(device("n1", "a"), []int64{0, 1000}, 0, 0.05),
		line(device("n1", "b"), []int64{0, 1000}, 1, nan),
		line(device("n1", "c"), []int64{0, 1000}, 0.06, 0.3),
	}
	got := HeatmapOf(input, time.Second, KeepLast, Scale{High: 1})
	require.Equal(t, []int64{0, 1000}, got.Times)
	require.Equal(t, 0.0, got.Low)
	require.Equal(t, []float64{
		0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1,
	}, got.Upper, "numbers as people write them")
	require.Equal(t, []float64{1, 1}, got.Count[0], "the lower edge is in the first bin, an upper edge in its own")
	require.Equal(t, []float64{1, 0}, got.Count[1])
	require.Equal(t, []float64{0, 1}, got.Count[5])
	require.Equal(t, []float64{1, 0}, got.Count[19])

	warm := HeatmapOf([]gpu.Series{line(device("n", "a"), []int64{0, 1}, 31, 88)}, 0, KeepLast, Scale{})
	require.Equal(t, 30.0, warm.Low)
	require.Equal(t, 90.0, warm.Upper[len(warm.Upper)-1])
	require.Empty(t, HeatmapOf(nil, time.Second, KeepLast, Scale{High: 1}).Times)
	require.Empty(t, HeatmapOf([]gpu.Series{line(gpu.Device{}, []int64{0}, nan)}, time.Second, KeepLast, Scale{}).Upper)
}

// Whatever the values, each is counted once, in a bin that it belongs to.
func TestHeatmapCountsEveryValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exponent := rapid.IntRange(-30, 30).Draw(t, "exponent")
		values := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-100, 100), rapid.Float64Range(1e5, 1e5+1e-6)), 1, 50).Draw(t, "values")
		var input []gpu.Series
		for i, v := range values {
			values[i] = v * math.Pow(10, float64(exponent))
			input = append(input, gpu.Series{Times: []int64{0}, Values: values[i : i+1]})
		}
		h := HeatmapOf(input, time.Second, KeepLast, Scale{})
		if len(h.Upper) > 60 {
			t.Fatalf("%d bins", len(h.Upper))
		}
		for bin, upper := range h.Upper {
			lower := h.Low
			if bin > 0 {
				if lower = h.Upper[bin-1]; lower >= upper {
					t.Fatalf("edges %v", h.Upper)
				}
			}
			n := 0
			for _, v := range values {
				if v <= upper && (v > lower || bin == 0 && v >= h.Low) {
					n++
				}
			}
			if h.Count[bin][0] != float64(n) {
				t.Fatalf("bin %d, up to %v, has %v of %d: %v", bin, upper, h.Count[bin][0], n, values)
			}
		}
	})
}

func TestDecimate(t *testing.T) {
	inf := math.Inf(-1)
	times := []int64{0, 1000, 2000, 3000, 12_000, 13_000, 20_000}
	input := []gpu.Series{line(device("n", "a"), times, 1, 90, 2, nan, nan, nan, 5), line(device("n", "b"), times, 4, 3, 2, 1, inf, 7, 5)}
	for keep, want := range map[Keep][][]float64{
		KeepLast: {{2, nan, 5}, {1, 7, 5}}, KeepMean: {{31, nan, 5}, {2.5, 7, 5}},
		KeepMax: {{90, nan, 5}, {4, 7, 5}}, KeepMin: {{1, nan, 5}, {1, 7, 5}},
	} {
		got := Decimate(input, 10*time.Second, keep)
		for i := range got {
			require.Equal(t, []int64{0, 10_000, 20_000}, got[i].Times, "a bin without samples has no point")
			for j := range want[i] {
				if want[i][j] != got[i].Values[j] && !(math.IsNaN(want[i][j]) && math.IsNaN(got[i].Values[j])) {
					t.Errorf("keep %d, series %d: %v, want %v", keep, i, got[i].Values, want[i])
				}
			}
		}
		require.Same(t, &got[0].Times[0], &got[1].Times[0], "series with the same times share them")
	}
	same := Decimate(input, time.Second, KeepMax)
	require.Same(t, &input[0].Values[0], &same[0].Values[0], "what is on the grid is not copied")
	require.Equal(t, 7, Points(input))
	require.Equal(t, 8, Points(append(input, line(device("n", "c"), []int64{0, 500}, 1, 1))))
}

// A spike of one sample is in the answer however few pixels there are.
func TestPeaksSurvive(t *testing.T) {
	s := line(device("n", "a"), nil)
	for i := range int64(10_000) {
		s.Times, s.Values = append(s.Times, i*1000), append(s.Values, 50)
	}
	s.Values[7654] = 104
	for _, step := range []time.Duration{15 * time.Second, time.Minute, time.Hour} {
		require.Contains(t, Decimate([]gpu.Series{s}, step, KeepMax)[0].Values, 104.0)
		require.Contains(t, Align([]gpu.Series{s}, step, time.Second, KeepMax)[0].Values, 104.0)
	}
}

func BenchmarkTop(b *testing.B) {
	for _, count := range []int{1_000, 10_000, 100_000} {
		all := wide(count, 100)
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Top(all, 10, RankAvg, false)
			}
		})
	}
}

func BenchmarkHeatmap(b *testing.B) {
	for _, count := range []int{1_000, 10_000, 100_000} {
		all := wide(count, 100)
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				HeatmapOf(all, 15*time.Second, KeepMax, Scale{})
			}
		})
	}
}
