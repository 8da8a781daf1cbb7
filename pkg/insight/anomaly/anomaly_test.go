package anomaly

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

func TestAHealthyFleetIsQuiet(t *testing.T) {
	const gpus, days = 40, 7
	g := fleet(gpus, 14+days, 5*time.Minute, 11)
	set := NewSet(gpus)
	a := Judge(g, nil, set, Options{Metric: power.Metric, Hours: days * 24}, DefaultLimits())
	require.Len(t, a.Results, gpus)
	episodes := 0
	for _, r := range a.Results {
		episodes += len(r.Episodes)
	}
	t.Logf("%d episodes in %d GPU-weeks", episodes, gpus)
	assert.LessOrEqual(t, float64(episodes), 0.25*gpus, "less than one a month of each GPU")
}

func TestWhatIsNotAsItWasIsFlagged(t *testing.T) {
	g := fleet(4, 15, 5*time.Minute, 5)
	disturb(g, 1, 3*time.Hour, time.Hour, func(float64) float64 { return 90 })
	disturb(g, 2, 2*time.Hour, 0, func(v float64) float64 { return v + 250 })
	disturb(g, 3, time.Hour, 55*time.Minute, func(float64) float64 { return 90 }) // too short
	a := Judge(g, nil, nil, Options{Metric: power.Metric}, DefaultLimits())
	require.Len(t, a.Results, 4)
	assert.Empty(t, a.Results[0].Episodes)
	assert.Contains(t, a.Results[0].Text, "Nothing odd")
	assert.Empty(t, a.Results[3].Episodes, "one step is not long enough")

	low := a.Results[1]
	require.Len(t, low.Episodes, 1)
	e := low.Episodes[0]
	end := monday.Add(15 * 24 * time.Hour).UnixMilli()
	assert.Equal(t, end-3*3_600_000, e.Start)
	assert.Equal(t, end-3_600_000, e.End)
	assert.False(t, e.Above)
	assert.False(t, e.Ongoing)
	assert.Nil(t, low.Reason, "it is over")
	assert.Greater(t, e.Score, 3.5)
	assert.Contains(t, e.Text, "90 W where")

	high := a.Results[2]
	require.Len(t, high.Episodes, 1)
	assert.True(t, high.Episodes[0].Above)
	require.NotNil(t, high.Reason)
	assert.Equal(t, insight.Warning, high.Reason.Severity)
	assert.Equal(t, high.Episodes[0].Start, high.Reason.Since)
	assert.Equal(t, insight.High, high.Confidence)
	for _, p := range high.Points {
		if p.Banded {
			assert.Less(t, p.Lower, p.Expected)
			assert.Less(t, p.Expected, p.Upper)
		}
	}
}

func TestALongOddityDoesNotMakeItselfNormal(t *testing.T) {
	g := fleet(1, 15, 5*time.Minute, 9)
	disturb(g, 0, 20*time.Hour, 0, func(float64) float64 { return 90 })
	a := Judge(g, nil, nil, Options{Metric: power.Metric}, DefaultLimits())
	require.NotEmpty(t, a.Results[0].Episodes)
	last := a.Results[0].Episodes[len(a.Results[0].Episodes)-1]
	assert.True(t, last.Ongoing)
	assert.GreaterOrEqual(t, last.End-last.Start, int64(19*3_600_000))
}

func TestWarmUpIsSaid(t *testing.T) {
	for days, want := range map[float64]string{0.5: "There is no band yet", 4: "same hour of the days before", 9: "one week before", 16: ""} {
		a := Judge(fleet(1, days, 5*time.Minute, 3), nil, nil, Options{Metric: power.Metric, Hours: 6}, DefaultLimits())
		r := a.Results[0]
		if want == "" {
			assert.Empty(t, r.WarmUp)
			assert.Equal(t, insight.High, r.Confidence)
			continue
		}
		assert.Contains(t, r.WarmUp, want, "%g days", days)
		assert.Contains(t, r.Text, want)
	}
	a := Judge(fleet(1, 1, time.Hour, 3), nil, nil, Options{Metric: "gpu_sm_active_ratio"}, DefaultLimits())
	assert.Equal(t, []string{"gpu_sm_active_ratio"}, a.Missing)
}

func TestSmallChangesAreNoNewsHoweverQuietItWas(t *testing.T) {
	l := DefaultLimits()
	for _, c := range []struct {
		value float64
		unit  gpu.Unit
		odd   bool
	}{{60.1, gpu.Celsius, false}, {62.9, gpu.Celsius, false}, {63.1, gpu.Celsius, true}, {56.9, gpu.Celsius, true}} {
		p := Point{Value: c.value, Measured: true}
		l.hold(&p, Expected{P1: 60, P50: 60, P99: 60, MAD: 0}, c.unit)
		assert.Equal(t, c.odd, p.odd, "%g", c.value)
		assert.Equal(t, c.odd, math.Abs(p.Z) > l.Z, "%g scores %g", c.value, p.Z)
	}
	p := Point{Value: 0.04, Measured: true}
	l.hold(&p, Expected{}, gpu.Ratio)
	assert.False(t, p.odd, "4 % of activity where there was none")
	p = Point{Value: 1, Measured: true}
	l.hold(&p, Expected{}, gpu.Count)
	assert.True(t, p.odd, "an error where there never was one")
	assert.LessOrEqual(t, p.Z, 99.0)
}

func TestClassesOfWorkHaveTheirOwnPast(t *testing.T) {
	g := fleet(1, 15, time.Hour, 4)
	set := NewSet(10)
	g.Subjects[0].Class = insight.Training
	set.Update(g, power)
	g.Subjects[0].Class = insight.Inference
	set.Update(g, power)
	assert.Equal(t, 2, set.Len())
	assert.False(t, NewSet(0).Put(Key{}, NewBaseline()))
	merged := set.Class(insight.Training, power)
	assert.Equal(t, set.Of(Key{g.Subjects[0].Identity, power, insight.Training}).Newest(), merged.Newest())
	set.Forget(math.MaxInt64)
	assert.Zero(t, set.Len())
}

func TestOptionsAndLimitsSayWhatIsWrong(t *testing.T) {
	require.ErrorContains(t, Options{}.Validate(), "name a metric")
	require.ErrorContains(t, Options{Metric: "x", Against: "stars"}.Validate(), `against: "stars"`)
	require.ErrorContains(t, Options{Metric: "x", Hours: math.NaN()}.Validate(), "hours")
	require.NoError(t, Options{Metric: "x", Against: Job}.Validate())
	l := DefaultLimits()
	require.NoError(t, l.Validate())
	l.MinPeers = 1
	require.ErrorContains(t, l.Validate(), "minPeers")
}

func TestThresholdsKeepTheirPromise(t *testing.T) {
	g := fleet(16, 14, 5*time.Minute, 21)
	l := DefaultLimits()
	for _, below := range []bool{false, true} {
		got := Learn(g, power, insight.Unclassified, below, l)
		require.True(t, got.Known)
		assert.LessOrEqual(t, got.Warn.PerWeek, l.WarnPerWeek)
		assert.LessOrEqual(t, got.Critical.PerWeek, got.Warn.PerWeek)
		if below {
			assert.Less(t, got.Critical.Value, got.Warn.Value)
			assert.Less(t, got.Warn.Value, got.P1+20)
		} else {
			assert.Greater(t, got.Critical.Value, got.Warn.Value)
			assert.InDelta(t, 580, got.Warn.Value, 40)
		}
		assert.Contains(t, got.Text, "warnings and")
		// What it says of false alarms is what the rule would have done.
		steps := int(l.DurationMinutes * 60 / g.Step.Seconds())
		count := 0
		for i := range g.Subjects {
			run := 0
			for _, v := range g.Values(power, i) {
				if beyond := v > got.Warn.Value; beyond != below && !math.IsNaN(v) {
					run++
				} else {
					run = 0
				}
				if run == steps {
					count++
				}
			}
		}
		if !below {
			assert.InDelta(t, float64(count)/2, got.Warn.PerWeek, 1e-9)
		}
	}
	short := Learn(fleet(1, 0.5, 5*time.Minute, 1), power, insight.Unclassified, false, l)
	assert.False(t, short.Known)
	assert.Contains(t, short.Text, "Too little history")
}
