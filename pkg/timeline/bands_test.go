package timeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// sortedQuantile is the obvious way, and what PromQL's quantile gives.
func sortedQuantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	rank := q * float64(len(sorted)-1)
	lower, upper := int(math.Floor(rank)), int(math.Ceil(rank))
	weight := rank - math.Floor(rank)
	if weight == 0 {
		return sorted[lower]
	}
	return sorted[lower]*(1-weight) + sorted[upper]*weight
}

func TestQuantilesAreExact(t *testing.T) {
	var q quantiler
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Float64Range(-1e6, 1e6), rapid.Map(rapid.IntRange(0, 5), func(i int) float64 { return float64(i) }),
			rapid.SampledFrom([]float64{math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 0}))
		values := rapid.SliceOfN(value, 1, 300).Draw(t, "values")
		values = slices.Repeat(values, rapid.SampledFrom([]int{1, 1, 7, 20}).Draw(t, "times"))
		point := make([]float64, len(levels()))
		q.quantiles(slices.Clone(values), levels(), point)
		for i, level := range levels() {
			if want := sortedQuantile(values, level.Quantile); point[i] != want {
				t.Fatalf("%s of %v is %v, want %v", level.Name, values, point[i], want)
			}
		}
	})
}

// Orders that are bad for a pivot cost no more than a sort, and give the same.
func TestSelectionOfBadOrders(t *testing.T) {
	for name, at := range map[string]func(i int) float64{
		"rising":    func(i int) float64 { return float64(i) },
		"falling":   func(i int) float64 { return float64(-i) },
		"equal":     func(int) float64 { return 7 },
		"organ":     func(i int) float64 { return float64(min(i, 9999-i)) },
		"two":       func(i int) float64 { return float64(i % 2) },
		"saw tooth": func(i int) float64 { return float64(i % 111) },
	} {
		values := make([]float64, 10_000)
		for i := range values {
			values[i] = at(i)
		}
		sorted := slices.Sorted(slices.Values(values))
		for _, n := range []int{0, 1, 500, 5000, 9998, 9999} {
			input := slices.Clone(values)
			selectNth(input, n)
			require.Equal(t, sorted[n], input[n], "%s, %d", name, n)
			require.Equal(t, sorted, slices.Sorted(slices.Values(input)), name)
		}
	}
}

func TestBands(t *testing.T) {
	inf := math.Inf(1)
	input := []gpu.Series{
		line(device("n1", "GPU-a"), []int64{0, 15_000, 30_000}, 1, nan, inf),
		line(device("n1", "GPU-b"), []int64{0, 15_000, 45_000}, 2, 20, 5),
		line(device("n1", "GPU-c"), []int64{0, 5000, 10_000, 15_000}, 3, 9, 4, 30),
		line(device("n1", "GPU-d"), nil),
	}
	got := BandsOf(input, 15*time.Second, KeepMax)
	require.Equal(t, []int64{0, 15_000, 45_000}, got.Times, "no point where nothing has a finite value")
	require.Equal(t, []float64{3, 2, 1}, got.Count)
	require.Equal(t, "min p5 p25 p50 p75 p95 max", names(got))
	for i, want := range [][]float64{{1, 20, 5}, {1.1, 20.5, 5}, {1.5, 22.5, 5}, {2, 25, 5}, {5.5, 27.5, 5}, {8.3, 29.5, 5}, {9, 30, 5}} {
		sameValues(t, want, got.Levels[i].Values, got.Levels[i].Name)
	}
	require.Equal(t, 4.0, BandsOf(input, 15*time.Second, KeepLast).Levels[6].Values[0], "the last of a bin")

	now := BandsOf(input, 0, KeepLast)
	require.Equal(t, []int64{45_000}, now.Times)
	require.Equal(t, []float64{2}, now.Count, "the newest value of each")
	require.Equal(t, []float64{30}, now.Levels[6].Values)
	for _, nothing := range [][]gpu.Series{nil, {{}}, {line(gpu.Device{}, []int64{0}, nan)}} {
		require.Empty(t, BandsOf(nothing, time.Second, KeepLast).Times)
	}
}

func names(b Bands) (all string) {
	for i, l := range b.Levels {
		if i > 0 {
			all += " "
		}
		all += l.Name
	}
	return all
}

// The order of the series, and blocks of bins, make no difference.
func TestBandsDoNotDependOnOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var input []gpu.Series
	for i := range 57 {
		s := gpu.Series{Device: device("n", fmt.Sprint(i))}
		for at := range int64(100) {
			if rng.IntN(5) > 0 {
				s.Times, s.Values = append(s.Times, at*1000), append(s.Values, rng.NormFloat64())
			}
		}
		input = append(input, s)
	}
	want := BandsOf(input, time.Second, KeepLast)
	require.Len(t, want.Times, 100)
	for i, at := range want.Times {
		var values []float64
		for _, s := range input {
			if n, found := slices.BinarySearch(s.Times, at); found {
				values = append(values, s.Values[n])
			}
		}
		for _, level := range want.Levels {
			require.Equal(t, sortedQuantile(values, level.Quantile), level.Values[i])
		}
	}
	rng.Shuffle(len(input), func(i, j int) { input[i], input[j] = input[j], input[i] })
	require.Equal(t, want, BandsOf(input, time.Second, KeepLast))
}

// wide is many series on one grid, as history answers.
func wide(count, points int) []gpu.Series {
	rng := rand.New(rand.NewPCG(1, 2))
	times := make([]int64, points)
	for i := range times {
		times[i] = int64(i) * 15_000
	}
	all := make([]gpu.Series, count)
	for i := range all {
		values := make([]float64, points)
		for j := range values {
			values[j] = math.Round(rng.Float64()*7000) / 10
		}
		all[i] = gpu.Series{Device: device(fmt.Sprintf("n%05d", i/8), fmt.Sprint("GPU-", i)), Times: times, Values: values}
	}
	return all
}

func BenchmarkBands(b *testing.B) {
	for _, count := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			all := wide(count, 1000)
			b.SetBytes(int64(count) * 8000)
			b.ReportAllocs()
			for b.Loop() {
				if len(BandsOf(all, 15*time.Second, KeepMean).Times) != 1000 {
					b.Fatal("points are missing")
				}
			}
		})
	}
}
