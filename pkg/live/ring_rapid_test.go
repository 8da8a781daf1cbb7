package live

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// Whatever the order in which samples come, newer and older ones, and whatever is dropped: what the ring reads is a
// stretch of what it took, to the last bit, ends with the newest, and takes the room that it says.
func TestARingIsTheEndOfWhatItTook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shared := &rings{limit: 1 << 30}
		r := newRing(shared, rapid.SampledFrom([]int{2000, 1 << 20}).Draw(t, "budget"), time.Hour)
		schema := ringSchema(1)
		var times []int64
		var values []float64
		now, seq := int64(1_000_000), uint64(1000)
		for range rapid.IntRange(1, 300).Draw(t, "samples") {
			now += rapid.Int64Range(-5, 2000).Draw(t, "step")
			seq++
			v := rapid.SampledFrom([]float64{1, 2.5, 1e300, float64(seq)}).Draw(t, "value")
			added := r.add(schema, wire.Sample{Seq: seq, Time: time.UnixMilli(now), Readings: []gpu.Reading{gpu.Read(v)}})
			require.Equal(t, len(times) == 0 || now > times[len(times)-1], added)
			if added {
				times, values = append(times, now), append(values, v)
			} else {
				now = times[len(times)-1]
			}
		}
		older := newRing(shared, 1<<20, time.Hour)
		if first := r.oldest(); rapid.Bool().Draw(t, "older come") && first == times[0] {
			for i := range int64(100) {
				at := first - 100 + i
				require.True(t, older.add(schema, wire.Sample{Seq: uint64(i), Time: time.UnixMilli(at), Readings: []gpu.Reading{gpu.Read(float64(i))}}))
				times, values = slices.Insert(times, int(i), at), slices.Insert(values, int(i), float64(i))
			}
			r.prepend(&older)
		}
		got := r.series("gpu_power_watts", 0)[0]
		n := len(got.Times)
		require.Positive(t, n)
		require.Equal(t, times[len(times)-n:], got.Times)
		require.Equal(t, values[len(values)-n:], got.Values)
		since := rapid.SampledFrom(times).Draw(t, "since")
		var later []int64
		r.samples(since, func(_ *Schema, s wire.Sample) { later = append(later, s.Time.UnixMilli()) })
		want := slices.DeleteFunc(slices.Clone(got.Times), func(at int64) bool { return at < since })
		require.Equal(t, want, later)
		require.EqualValues(t, r.size(), shared.used.Load())
		r.clear()
		require.Zero(t, shared.used.Load())
		require.Zero(t, shared.count.Load())
	})
}
