package timeline

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// D18: the energy counter is refreshed every 30 ms and read every 10.
func TestRateOfAStaircase(t *testing.T) {
	var fixture struct {
		PollMillis  int64     `json:"poll_ms"`
		Millijoules []float64 `json:"energy_mj"`
	}
	readFixture(t, "D18_energy_steps.json", &fixture)
	var counter gpu.Series
	for i, mj := range fixture.Millijoules {
		counter.Times = append(counter.Times, int64(i)*fixture.PollMillis)
		counter.Values = append(counter.Values, mj/1000)
	}
	watts := Rate([]gpu.Series{counter}, 90*time.Millisecond)[0]
	require.NotEmpty(t, watts.Values)
	for i, w := range watts.Values {
		require.InDelta(t, 1000, w, 1, "at %d ms", watts.Times[i])
	}
	require.Equal(t, int64(60), watts.Times[0], "one refresh tells nothing yet")
}

func TestRate(t *testing.T) {
	seconds := func(n int) []int64 {
		times := make([]int64, n)
		for i := range times {
			times[i] = int64(i) * 1000
		}
		return times
	}
	for _, tc := range []struct {
		name   string
		window time.Duration
		times  []int64
		values []float64
		from   int64
		want   []float64
	}{
		{name: "empty", window: time.Second},
		{name: "one sample", window: time.Second, times: seconds(1), values: []float64{5}},
		{
			name: "smooth", window: 4 * time.Second, times: seconds(7), values: []float64{0, 10, 20, 30, 40, 50, 60},
			from: 2000, want: []float64{10, 10, 10, 10, 10},
		},
		{
			name: "idle", window: 4 * time.Second, times: seconds(7), values: []float64{9, 9, 9, 9, 9, 9, 9},
			from: 4000, want: []float64{0, 0, 0},
		},
		{
			name: "a single event is spread over the window and then over", window: 4 * time.Second,
			times: seconds(11), values: []float64{0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8},
			from: 4000, want: []float64{0, 2, 2, 2, 2, 0, 0},
		},
		{
			name: "a reset starts from zero", window: 4 * time.Second, times: seconds(8),
			values: []float64{100, 110, 120, 130, 10, 20, 30, 40},
			from:   2000, want: []float64{10, 10, 10, 10, 10, 10},
		},
		{
			name: "an absent reading is a gap and nothing else", window: 4 * time.Second, times: seconds(8),
			values: []float64{0, 10, 20, 30, nan, 50, 60, 70},
			from:   2000, want: []float64{10, 10, nan, 10, 10, 10},
		},
		{
			name: "after a long hole the rate is not known at once", window: 4 * time.Second,
			times: []int64{0, 1000, 2000, 60_000, 61_000, 62_000}, values: []float64{0, 10, 20, 600, 610, 620},
			from: 2000, want: []float64{10, nan, nan, 10},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Rate([]gpu.Series{{Times: tc.times, Values: tc.values}}, tc.window)[0]
			sameValues(t, tc.want, got.Values)
			if len(tc.want) > 0 {
				require.Equal(t, tc.from, got.Times[0])
			}
		})
	}
}

// A rate is never negative, and over a long steady stretch it is the counter's slope whatever the refresh is.
func TestRateOfAnyStaircase(t *testing.T) {
	for refresh := int64(20); refresh <= 1000; refresh += 20 {
		var counter gpu.Series
		for at := int64(0); at < 30_000; at += 100 {
			counter.Times = append(counter.Times, at)
			counter.Values = append(counter.Values, float64(at/refresh*refresh)*0.7)
		}
		watts := Rate([]gpu.Series{counter}, 4*time.Second)[0]
		for i, w := range watts.Values {
			require.False(t, math.IsNaN(w))
			require.GreaterOrEqual(t, w, 0.0)
			if watts.Times[i] >= 4000 {
				require.InEpsilon(t, 700, w, 0.07, "refresh %d ms, at %d ms", refresh, watts.Times[i])
			}
		}
	}
}

func TestRateWindow(t *testing.T) {
	require.Equal(t, 15*time.Second, RateWindow(15*time.Second, time.Second))
	require.Equal(t, 4*time.Second, RateWindow(time.Second, time.Second))
}

// A counter of seconds that is measured every five, in ticks every second that repeat it, never runs faster than time.
func TestRateOfACounterThatTicksRepeat(t *testing.T) {
	s := gpu.Series{}
	for i := range int64(120) {
		s.Times = append(s.Times, i*1000)
		s.Values = append(s.Values, float64(i/5*5))
	}
	plan := Plan{Step: time.Second, Period: time.Second, Counter: true}
	over := func() (n int) {
		for _, v := range plan.Live([]gpu.Series{s})[0].Values {
			if v > 1 {
				n++
			}
		}
		return n
	}
	if over() == 0 {
		t.Error("the test shows nothing")
	}
	plan.Measured = 5 * time.Second
	if n := over(); n > 0 {
		t.Errorf("%d rates are above 1", n)
	}
}
