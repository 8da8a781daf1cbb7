package plugin

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

func TestSpliced(t *testing.T) {
	labels := func(node string) map[string]string { return map[string]string{"node": node} }
	rules := []gpu.Series{{Labels: labels("a"), Times: []int64{20, 30, 40, 50}, Values: []float64{2, 3, 4, 5}}}
	own := []gpu.Series{
		{Labels: labels("a"), Times: []int64{0, 10, 20}, Values: []float64{100, 101, 102}},
		{Labels: labels("b"), Times: []int64{10}, Values: []float64{7}},
	}
	got := spliced(rules, own, history.Stretch{From: time.UnixMilli(0), To: time.UnixMilli(20)})
	if len(got) != 2 || !slices.Equal(got[0].Times, []int64{0, 10, 20, 30, 40, 50}) || !slices.Equal(got[0].Values, []float64{100, 101, 102, 3, 4, 5}) {
		t.Errorf("%+v", got)
	}
	if len(got) == 2 && (got[1].Labels["node"] != "b" || !slices.Equal(got[1].Values, []float64{7})) {
		t.Errorf("%+v", got[1])
	}
	// In the middle, where the GPUs themselves have nothing either.
	got = spliced(rules, nil, history.Stretch{From: time.UnixMilli(30), To: time.UnixMilli(40)})
	if len(got) != 1 || !slices.Equal(got[0].Times, []int64{20, 50}) || !slices.Equal(rules[0].Times, []int64{20, 30, 40, 50}) {
		t.Errorf("%+v of %+v", got, rules)
	}
}

// Rules that are younger than the range are continued to the left by each GPU's own series, and to the right by the agents where
// these measure all GPUs of a line.
func TestMetricFromRulesAndTheRest(t *testing.T) {
	t.Run("within a step", func(t *testing.T) { testRulesAndTheRest(t, 0, 21*time.Minute) })
	t.Run("before the first sample of a step", func(t *testing.T) { testRulesAndTheRest(t, time.Second/2, 20*time.Minute-time.Second/4) })
}

// testRulesAndTheRest asks a while after agents have started at a time of a second.
func testRulesAndTheRest(t *testing.T, start, while time.Duration) {
	bubble(t, func(t *testing.T) {
		time.Sleep(start)
		f := newFleet(t, agenttest.Options{Node: "n1"})
		time.Sleep(while) // into the hour
		end := time.Now()
		devices := 0
		for _, s := range f.frames(t, time.Minute, metricQuery()) {
			devices = max(devices, len(s.Fields)-1)
		}
		const step = time.Hour
		w := end.Add(-72 * time.Hour).Truncate(step)
		var times []int64
		var values []float64
		for at := w.Add(30 * time.Hour); !at.After(end.Truncate(step)); at = at.Add(step) {
			times, values = append(times, at.UnixMilli()), append(values, 7)
		}
		for _, tc := range []struct {
			counted int
			fresh   bool
		}{{devices, true}, {devices + 1, false}} {
			f.past.rules = &history.Result{
				Series: []gpu.Series{{Labels: map[string]string{"cluster": "north", "node": "n1"}, Times: times, Values: values}},
				Step:   step, Executed: "rules", Devices: []int{tc.counted},
				Holes: []history.Stretch{{From: w, To: w.Add(30 * time.Hour)}},
			}
			got := f.frames(t, 72*time.Hour, metricQuery(`"aggregateBy":"node"`))
			if text := noticeTexts(got); !strings.Contains(text, "the recording rules have nothing: that part is of each GPU's own series") {
				t.Errorf("notices %q", text)
			}
			at, _ := column(got[0], 1)
			if len(at) == 0 || at[0] > w.Add(step).UnixMilli() {
				t.Errorf("begins %v, want %v", at[0], w)
			}
			if fresh := at[len(at)-1] > end.Truncate(step).UnixMilli(); fresh != tc.fresh {
				t.Errorf("%d GPUs counted: ends %v, fresh %v", tc.counted, at[len(at)-1], fresh)
			}
		}
	})
}
