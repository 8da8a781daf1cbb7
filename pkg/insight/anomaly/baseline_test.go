package anomaly

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

// The tolerance that the package states: the values that made a band are known exactly at up to 12 values an hour, in
// single precision; beyond, up to a value every 15 seconds, quantiles are right to a tenth of the hour's values.
const exact = 1e-6

// plainly is what a baseline expects, worked out from all values at once.
func plainly(times []int64, values []float64, at int64) (p1, p50, p99 float64, n int) {
	hour := hourOf(at)
	var pool []float64
	for i, t := range times {
		h := hourOf(t)
		for _, weeks := range []int64{1, 2} {
			if d := h - (hour - weeks*weekly); d >= -1 && d <= 1 && !math.IsNaN(values[i]) && math.Abs(values[i]) <= biggest {
				pool = append(pool, values[i])
			}
		}
	}
	if len(pool) == 0 {
		return 0, 0, 0, 0
	}
	slices.Sort(pool)
	return stat.Quantile(0.01, stat.Empirical, pool, nil), halfway(pool), stat.Quantile(0.99, stat.Empirical, pool, nil), len(pool)
}

func TestABaselineKnowsWhatRecomputingKnows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := fleet(1, 16, 5*time.Minute, rapid.Uint64().Draw(t, "seed"))
		values := g.Values(power, 0)
		b := NewBaseline()
		for i, v := range values {
			b.Add(g.Times[i], v)
			if i > 4032 && i%97 == 0 { // at any time on the way
				b.At(g.Times[i])
			}
		}
		for range 20 {
			at := g.Times[rapid.IntRange(14*288, len(g.Times)-1).Draw(t, "at")]
			got := b.At(at)
			p1, p50, p99, n := plainly(g.Times, values, at)
			if n < fewest {
				continue
			}
			require.Equal(t, n, got.Values)
			require.InEpsilon(t, p1, got.P1, exact)
			require.InEpsilon(t, p50, got.P50, exact)
			require.InEpsilon(t, p99, got.P99, exact)
		}
		// One that was filled at once expects the same, to the last bit.
		again := NewBaseline()
		for i, v := range values {
			again.Add(g.Times[i], v)
		}
		require.Equal(t, again.At(g.Times[5000%len(g.Times)]), b.At(g.Times[5000%len(g.Times)]))
	})
}

func TestQuantilesOfManyValuesStayWithinTheirTolerance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// An hour in steps of 15 seconds, a week before; the answer must lie between the true ranks around it.
		values := rapid.SliceOfN(rapid.Float64Range(0, 1000), 240, 240).Draw(t, "values")
		asked := rapid.Bool().Draw(t, "asked on the way")
		b := NewBaseline()
		start := int64(0)
		for i, v := range values {
			at := start + int64(i)*15_000
			b.Add(at, v)
			if asked {
				b.At(at) // whoever asks on the way loses nothing
			}
		}
		b.Add(weekly*hourMS, 1)
		got := b.At(weekly * hourMS)
		require.Equal(t, 240, got.Values)
		slices.Sort(values)
		const tenth = 24
		require.GreaterOrEqual(t, got.P50, values[120-tenth]-1e-3)
		require.LessOrEqual(t, got.P50, values[120+tenth]+1e-3)
		require.GreaterOrEqual(t, got.P1, values[0]-1e-3)
		require.LessOrEqual(t, got.P1, values[tenth]+1e-3)
		require.GreaterOrEqual(t, got.P99, values[240-tenth]-1e-3)
		require.LessOrEqual(t, got.P99, values[239]+1e-3)
	})
}

func TestAStoredBaselineIsTheSame(t *testing.T) {
	g := fleet(1, 16, 5*time.Minute, 8)
	b := NewBaseline()
	for i, v := range g.Values(power, 0) {
		b.Add(g.Times[i], v)
	}
	raw, err := b.MarshalBinary()
	require.NoError(t, err)
	assert.Less(t, len(raw), 20_000)
	var back Baseline
	require.NoError(t, back.UnmarshalBinary(raw))
	for _, at := range g.Times[14*288:] {
		assert.Equal(t, b.At(at), back.At(at))
	}
	assert.Equal(t, b.Newest(), back.Newest())
	require.Error(t, back.UnmarshalBinary(raw[:len(raw)-1]))
	require.Error(t, back.UnmarshalBinary(append(raw, 0)))
	require.ErrorContains(t, back.UnmarshalBinary([]byte{9}), "version 9")

	empty, err := NewBaseline().MarshalBinary()
	require.NoError(t, err)
	require.NoError(t, back.UnmarshalBinary(empty))
	assert.Equal(t, Nothing, back.At(0).Basis)
}

func TestMergedBaselinesAreThatOfAllValues(t *testing.T) {
	one, other, both := NewBaseline(), NewBaseline(), NewBaseline()
	for i := range int64(24 * 12) {
		at := i * 300_000
		a, b := 100+float64(i%12), 200+float64(i%12)
		if i%2 == 0 {
			one.Add(at, a)
			both.Add(at, a)
		} else {
			other.Add(at, b)
			both.Add(at, b)
		}
	}
	late := int64(weekly+12) * hourMS
	for _, b := range []*Baseline{one, both} {
		b.Add(late, 1)
	}
	one.Merge(other)
	assert.Equal(t, both.At(late), one.At(late))
	one.Merge(NewBaseline())
	fresh := NewBaseline()
	fresh.Merge(both)
	assert.Equal(t, both.At(late), fresh.At(late))
}

func TestWhatIsTooOldOrNoNumberIsRefused(t *testing.T) {
	b := NewBaseline()
	assert.False(t, b.Add(0, math.NaN()))
	assert.False(t, b.Add(0, math.Inf(1)))
	assert.True(t, b.Add(1000*hourMS, 5))
	assert.True(t, b.Add(999*hourMS, 5), "an hour late")
	assert.False(t, b.Add(0, 5))
	assert.True(t, b.Add(100_000*hourMS, 5), "after years")
	assert.Equal(t, Nothing, b.At(100_000*hourMS).Basis)
}

func FuzzStoredBaseline(f *testing.F) {
	g := fleet(1, 3, time.Hour, 8)
	b := NewBaseline()
	for i, v := range g.Values(power, 0) {
		b.Add(g.Times[i], v)
	}
	raw, err := b.MarshalBinary()
	require.NoError(f, err)
	f.Add(raw)
	f.Add([]byte{1, 0})
	f.Add([]byte{1, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var b Baseline
		if b.UnmarshalBinary(raw) != nil {
			return
		}
		e := b.At(b.Newest() + weekly*hourMS)
		for _, v := range []float64{e.P1, e.P50, e.P99, e.MAD} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("%+v", e)
			}
		}
		again, err := b.MarshalBinary()
		require.NoError(t, err)
		var back Baseline
		require.NoError(t, back.UnmarshalBinary(again))
	})
}

func TestTheNearestHalfIsTheMedianOfDistances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-5, 5), 1, 40).Draw(t, "values")
		centre := rapid.Float64Range(-6, 6).Draw(t, "centre")
		distances := make([]float64, len(values))
		for i, v := range values {
			distances[i] = math.Abs(v - centre)
		}
		slices.Sort(values)
		slices.Sort(distances)
		require.InDelta(t, halfway(distances), nearestHalf(values, centre), 1e-12)
	})
}
