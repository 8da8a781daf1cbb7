package forecast

import (
	"embed"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/insighttest"
)

//go:embed testdata/*.test
var scenarios embed.FS

// brief is an answer in lines: name, metric, method, outlook, a span of when, and the reason.
func brief(s *insighttest.Scenario, args []string) ([]string, error) {
	o := Options{Of: Of(args[0])}
	if o.Validate() != nil {
		o = Options{Metric: args[0]}
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	answer := Judge(s.Devices, s.Workloads, o, DefaultLimits())
	var out []string
	for _, f := range answer.Forecasts {
		name := f.Name
		if f.Subject >= 0 {
			name = s.Devices.Subjects[f.Subject].UUID
		}
		words := []string{name, f.Field.Metric, string(f.Method)}
		if f.Method == None {
			words[2] = "none"
		}
		if f.Crossing.Outlook != NoLimit {
			words = append(words, string(f.Crossing.Outlook))
		}
		if in, ok := f.In(f.Crossing.Likely); ok && f.Crossing.Outlook == Likely {
			words = append(words, "in", when(in))
		}
		if f.Reason != nil {
			words = append(words, f.Reason.ID)
		}
		out = append(out, strings.Join(words, " "))
		if f.Wanting != "" {
			out = append(out, f.Text)
		}
	}
	for _, m := range answer.Missing {
		out = append(out, "missing "+m)
	}
	return out, nil
}

// when is the span that the scripts write a time in.
func when(in time.Duration) string {
	for _, span := range []struct {
		from, to time.Duration
		text     string
	}{
		{5 * time.Minute, 7 * time.Minute, "5m..7m"}, {19 * time.Minute, 21 * time.Minute, "19m..21m"},
		{155 * time.Minute, 170 * time.Minute, "2h35m..2h50m"}, {275 * time.Minute, 290 * time.Minute, "4h35m..4h50m"},
		{3 * day, 4 * day, "3d..4d"},
	} {
		if in >= span.from && in <= span.to {
			return span.text
		}
	}
	return in.String()
}

func TestScenarios(t *testing.T) {
	insighttest.Run(t, scenarios, insighttest.Evals{"forecast": brief})
}

func TestNoTrendIsSaid(t *testing.T) {
	r := recipe{step: time.Hour, days: 14, base: 60, noise: 2}
	for seed := range uint64(30) {
		values, _ := r.make(seed)
		res := Project(Series{Start: start, Step: r.step, Values: values}, Target{Horizon: 30 * day, Limit: 100, Lowest: 0, Highest: 200, Unit: gpu.Celsius})
		assert.NotEqual(t, Linear, res.Method, seed)
		assert.Contains(t, res.Text, "No trend", seed)
		assert.NotEqual(t, Likely, res.Crossing.Outlook, seed)
	}
}

func TestACrossingHasItsInterval(t *testing.T) {
	r := recipe{step: time.Hour, days: 14, base: 100, perDay: 3, noise: 4, daily: 5}
	for seed := range uint64(20) {
		values, _ := r.make(seed)
		res := Project(Series{Start: start, Step: r.step, Values: values}, Target{Horizon: 40 * day, Limit: 220, Lowest: 0, Highest: math.Inf(1), Unit: gpu.Count})
		require.Equal(t, Linear, res.Method, seed)
		require.Equal(t, Likely, res.Crossing.Outlook, seed)
		in, _ := res.In(res.Crossing.Likely)
		assert.InDelta(t, 25, in.Hours()/24, 4, "from 142 to a peak of 220 at 3 a day") // the daily peak is first
		assert.LessOrEqual(t, res.Crossing.Earliest, res.Crossing.Likely)
		assert.True(t, res.Crossing.Latest == 0 || res.Crossing.Latest >= res.Crossing.Likely)
		assert.InDelta(t, 3, res.Trend.PerDay, 0.4)
		assert.Less(t, res.Trend.Lower, res.Trend.Upper)
		assert.Contains(t, res.Text, "Rises by")
		assert.Contains(t, res.Text, "expected to reach 220")
	}
}

func TestTheilSenIsNotMovedByAFifthOfGarbage(t *testing.T) {
	y := make([]float64, 700)
	for i := range y {
		y[i] = 0.5 * float64(i)
		if i%5 == 0 {
			y[i] = 1e6
		}
	}
	perStep, _ := theilSen(y)
	assert.InDelta(t, 0.5, perStep, 0.01)
	again, _ := theilSen(y)
	assert.InDelta(t, perStep, again, 0, "the same each time")
}

func TestMannKendallKeepsItsWord(t *testing.T) {
	// Of series without trend, also of those whose values echo, few may be called trends.
	for _, echo := range []float64{0, 0.7, 0.97} {
		found := 0
		for seed := range uint64(200) {
			y, _ := recipe{step: time.Hour, days: 14, noise: 1, echo: echo}.make(seed)
			if trendOf(y).significant {
				found++
			}
		}
		assert.LessOrEqual(t, found, 6, "echo %g", echo)
	}
}

func TestMedianIsThatOfSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-10, 10), 1, 60).Draw(t, "values")
		sorted := append([]float64(nil), values...)
		want := sortedMedian(sorted)
		assert.InDelta(t, want, median(values), 0)
	})
}

func sortedMedian(v []float64) float64 {
	for i := range v {
		for j := i; j > 0 && v[j] < v[j-1]; j-- {
			v[j], v[j-1] = v[j-1], v[j]
		}
	}
	if len(v)%2 == 1 {
		return v[len(v)/2]
	}
	return (v[len(v)/2-1] + v[len(v)/2]) / 2
}

func TestSentinelsAreLeftOutAndSaid(t *testing.T) {
	values, _ := recipe{step: 5 * time.Minute, days: 3, base: 60, noise: 1}.make(1)
	values[100], values[200] = 1.8e19, math.Inf(1)
	res := Project(Series{Start: start, Step: 5 * time.Minute, Values: values}, Anything(day))
	require.NotEmpty(t, res.Points)
	for _, p := range res.Points {
		assert.InDelta(t, 60, p.Value, 5)
	}
	assert.Contains(t, strings.Join(res.Notes, " "), "2 values were left out")
}

func TestTheHorizonIsCutToWhatHistoryCarries(t *testing.T) {
	values, _ := recipe{step: time.Hour, days: 2, base: 60, noise: 1}.make(1)
	res := Project(Series{Start: start, Step: time.Hour, Values: values}, Anything(30*day))
	last := res.Points[len(res.Points)-1]
	assert.LessOrEqual(t, time.Duration(last.Time-start)*time.Millisecond, 10*day)
	assert.Contains(t, strings.Join(res.Notes, " "), "Looked only")
}

func TestOptionsSayWhatIsWrong(t *testing.T) {
	require.ErrorContains(t, Options{}.Validate(), "name a metric")
	require.ErrorContains(t, Options{Of: "luck"}.Validate(), `of: "luck" is none of`)
	require.ErrorContains(t, Options{Of: Capacity, Coverage: 2, HorizonHours: math.NaN()}.Validate(), "horizonHours")
	require.NoError(t, Options{Of: Memory}.Validate())
	l := DefaultLimits()
	require.NoError(t, l.Validate())
	l.MemoryRisky = 7
	require.ErrorContains(t, l.Validate(), "memoryRisky")
}

func TestUnitsFollowNames(t *testing.T) {
	for name, want := range map[string]gpu.Unit{
		"gpu_power_watts": gpu.Watts, "gpu_pcie_transmit_bytes_total": gpu.BytesPerSecond, "gpu_energy_joules_total": gpu.Watts,
		"gpu_throttle_thermal_seconds_total": gpu.Ratio, "gpu_processes": gpu.Count, "gpu_nvlink_throughput_bytes_per_second": gpu.BytesPerSecond,
	} {
		assert.Equal(t, want, UnitOf(insight.Field{Metric: name}), name)
	}
	assert.Equal(t, gpu.Bytes, UnitOf(insight.Field{Metric: "gpu_pcie_transmit_bytes_total", Of: insight.Rise}))
}

// sound says what is wrong with an answer: numbers that are none, an interval that is upside down, times out of order.
func sound(r Result) error {
	for i, p := range r.Points {
		if !isFinite(p.Value) || !isFinite(p.Lower) || !isFinite(p.Upper) {
			return fmt.Errorf("point %d is no number: %+v", i, p)
		}
		if p.Lower > p.Value || p.Upper < p.Value {
			return fmt.Errorf("point %d is outside of its interval: %+v", i, p)
		}
		if i > 0 && p.Time <= r.Points[i-1].Time {
			return fmt.Errorf("point %d is not after the one before", i)
		}
	}
	for _, v := range []float64{r.Trend.PerDay, r.Trend.Lower, r.Trend.Upper, r.Trend.PValue, r.Crossing.Limit} {
		if !isFinite(v) {
			return fmt.Errorf("trend or limit is no number: %+v %+v", r.Trend, r.Crossing)
		}
	}
	if math.IsInf(r.Backtest.Error, 0) || math.IsInf(r.Backtest.LastValue, 0) {
		return fmt.Errorf("error is infinite: %+v", r.Backtest)
	}
	if r.Text == "" || strings.Contains(r.Text, "NaN") || strings.Contains(r.Text, "Inf") {
		return fmt.Errorf("text: %q", r.Text)
	}
	return nil
}

func FuzzProject(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, int64(60_000), int64(start), uint8(0), 1e9, 20.0)
	f.Add([]byte{0, 0, 255, 254, 253, 252, 251, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, int64(3_600_000), int64(-5), uint8(5), 5e300, -1.0)
	f.Add([]byte{7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7}, int64(0), int64(0), uint8(9), 0.0, math.NaN())
	f.Add([]byte(strings.Repeat("abcdefghijklmnopqrstuvwxyz", 30)), int64(7_200_000), int64(start), uint8(1), 1.0, 105.0)
	f.Fuzz(func(t *testing.T, raw []byte, stepMS, from int64, repeat uint8, huge, limit float64) {
		if len(raw) > 2000 || stepMS < 0 || stepMS > 1e12 || from > 1e15 || from < -1e15 {
			t.Skip()
		}
		var values []float64
		for range int(repeat)%8 + 1 {
			for _, b := range raw {
				switch b {
				case 255:
					values = append(values, math.NaN())
				case 254:
					values = append(values, huge)
				case 253:
					values = append(values, math.Inf(1))
				case 252:
					values = append(values, -huge)
				default:
					values = append(values, float64(b))
				}
			}
		}
		s := Series{Start: from, Step: time.Duration(stepMS) * time.Millisecond, Values: values}
		target := Anything(time.Duration(stepMS) * time.Millisecond * time.Duration(repeat))
		target.Limit = limit
		target.Below = repeat%2 == 0
		if err := sound(Project(s, target)); err != nil {
			t.Fatal(err)
		}
	})
}
