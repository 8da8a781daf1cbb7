package live

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

func ringSchema(columns int) *Schema {
	sent := &wire.Schema{Devices: []*wire.Device{{Uuid: "GPU-a"}}}
	for range columns {
		sent.Columns = append(sent.Columns, &wire.Column{Metric: "gpu_power_watts", Multiplier: 1, Divisor: 1})
	}
	return newSchema(Target{Node: "n1"}, sent)
}

func ringSample(ms int64, columns int, reading gpu.Reading) wire.Sample {
	s := wire.Sample{Time: time.UnixMilli(ms), Readings: make([]gpu.Reading, columns)}
	for i := range s.Readings {
		s.Readings[i] = reading
	}
	return s
}

func TestRingKeepsToItsBudget(t *testing.T) {
	const columns = 240
	r := newRing(&rings{limit: 1 << 30}, 1<<20, time.Hour)
	schema := ringSchema(columns)
	for i := range int64(10_000) {
		require.True(t, r.add(schema, ringSample(i*100, columns, gpu.Read(float64(i)))))
		require.LessOrEqual(t, r.bytes, r.budget)
	}
	got := r.series("gpu_power_watts", 0)
	require.Len(t, got, 1)
	n := len(got[0].Times)
	require.Greater(t, n*columns*8, r.budget/2, "the budget is used")
	require.Equal(t, int64(999_900), got[0].Times[n-1])
	require.Equal(t, 9999.0, got[0].Values[n-1])
}

func TestRingHoldsTheNewestEvenOutsideItsBudget(t *testing.T) {
	r := newRing(&rings{limit: 1 << 30}, 100, time.Hour)
	schema := ringSchema(1000)
	for i := range int64(5) {
		r.add(schema, ringSample(i, 1000, gpu.Read(float64(i))))
	}
	got := r.series("gpu_power_watts", 0)
	require.Equal(t, []int64{4}, got[0].Times)
}

func TestRingForgetsWhatIsOld(t *testing.T) {
	r := newRing(&rings{limit: 1 << 30}, 1<<30, time.Minute)
	schema := ringSchema(1)
	for i := range int64(1000) {
		r.add(schema, ringSample(i*1000, 1, gpu.Read(0)))
	}
	n := len(r.series("gpu_power_watts", 0)[0].Times)
	require.GreaterOrEqual(t, n, 60)
	require.LessOrEqual(t, n, 60+2*blockRows)
}

func TestRingTimesRise(t *testing.T) {
	r := newRing(&rings{limit: 1 << 30}, 1<<20, time.Hour)
	schema := ringSchema(1)
	require.True(t, r.add(schema, ringSample(10, 1, gpu.Read(1))))
	require.False(t, r.add(schema, ringSample(10, 1, gpu.Read(2))))
	require.False(t, r.add(schema, ringSample(9, 1, gpu.Read(2))))
	require.Equal(t, []float64{1}, r.series("gpu_power_watts", 0)[0].Values)
}

func TestReadingsSurviveTheRing(t *testing.T) {
	for _, reading := range []gpu.Reading{
		gpu.Read(0), gpu.Read(-1.5), gpu.Read(math.MaxFloat64), gpu.Read(math.Inf(1)),
		gpu.Absent(gpu.NoData), gpu.Absent(gpu.NotSupported), gpu.Absent(gpu.NoPermission), gpu.Absent(gpu.Lost),
	} {
		for _, s := range []scale{{1, 1}, {1, 1000}, {1 << 20, 1}, {1, 3}} {
			require.Equal(t, reading, s.reading(s.toCell(reading, 7)))
		}
	}
	nan := scale{1, 1}.reading(scale{1, 1}.toCell(gpu.Read(math.NaN()), 0))
	require.True(t, nan.OK() && math.IsNaN(nan.Value), "a value that is no number is one all the same")
}

func TestDevicesThatNeverOfferedAMetricHaveNoSeries(t *testing.T) {
	for name, tc := range map[string]struct {
		states []gpu.State
		kept   bool
	}{
		"not supported, once it was asked":     {[]gpu.State{gpu.NoData, gpu.NotSupported}, false},
		"no permission, once it was asked":     {[]gpu.State{gpu.NoData, gpu.NoData, gpu.NoPermission}, false},
		"not asked yet":                        {[]gpu.State{gpu.NotSupported, gpu.NoData}, true},
		"lost":                                 {[]gpu.State{gpu.NotSupported, gpu.Lost}, true},
		"had values until it was split":        {[]gpu.State{gpu.OK, gpu.NotSupported}, true},
		"had values between other states only": {[]gpu.State{gpu.NoData, gpu.OK, gpu.NotSupported}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRing(&rings{limit: 1 << 30}, 1<<20, time.Hour)
			schema := ringSchema(1)
			for i, state := range tc.states {
				r.add(schema, ringSample(int64(i+1), 1, gpu.Reading{State: state}))
			}
			require.Equal(t, tc.kept, len(r.series("gpu_power_watts", 0)) == 1)
		})
	}
}

func TestALineBeginsWithWhatSaysSomething(t *testing.T) {
	r := newRing(&rings{limit: 1 << 30}, 1<<20, time.Hour)
	schema := ringSchema(1)
	for i, reading := range []gpu.Reading{
		gpu.Absent(gpu.NoData), gpu.Absent(gpu.NotSupported), gpu.Read(5), gpu.Absent(gpu.NoData), gpu.Read(6),
	} {
		r.add(schema, ringSample(int64(i+1), 1, reading))
	}
	got := r.series("gpu_power_watts", 0)
	require.Len(t, got, 1)
	require.Equal(t, []int64{3, 4, 5}, got[0].Times, "a gap between values stays")
	require.Equal(t, 5.0, got[0].Values[0])

	r = newRing(&rings{limit: 1 << 30}, 1<<20, time.Hour)
	r.add(schema, ringSample(1, 1, gpu.Absent(gpu.Lost)))
	r.add(schema, ringSample(2, 1, gpu.Read(5)))
	require.Equal(t, []int64{1, 2}, r.series("gpu_power_watts", 0)[0].Times, "a lost device is a gap from the start")
}

// A sample that is remembered as the integers that came is read back as one that is remembered by its readings.
func TestRingTakesAStateAsItsReadings(t *testing.T) {
	load := newTraining("n1", 2, 16)
	schema := newSchema(Target{Node: "n1"}, load.schema)
	encoder, state := wire.NewState(len(load.schema.GetColumns())), wire.NewState(len(load.schema.GetColumns()))
	byState, byReading := newRing(&rings{limit: 1 << 20}, 1<<20, time.Hour), newRing(&rings{limit: 1 << 20}, 1<<20, time.Hour)
	at := time.UnixMilli(1_800_000_000_000)
	for n := range 200 {
		sample := load.next(at.Add(time.Duration(n) * time.Second))
		sample.Seq = uint64(n + 1)
		sample.Readings[n%len(sample.Readings)] = gpu.Absent(gpu.Lost)
		tick, err := encoder.AppendSample(nil, load.schema.GetColumns(), sample)
		require.NoError(t, err)
		_, _, err = state.Apply(tick)
		require.NoError(t, err)
		state.Read(load.schema.GetColumns(), sample.Readings)
		require.True(t, byReading.add(schema, sample))
		require.True(t, byState.addState(schema, sample.Seq, sample.Time, state))
	}
	var want, got []wire.Sample
	byReading.samples(0, func(_ *Schema, s wire.Sample) { want = append(want, s) })
	byState.samples(0, func(_ *Schema, s wire.Sample) { got = append(got, s) })
	require.Len(t, got, 200)
	require.Equal(t, want, got)
}
