package plugin

import (
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// Lines that recording rules know are shown as they are, to panels and to alert rules; without rules the query inspector tells why.
func TestMetricFromRecordingRules(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		at := time.Now().Truncate(time.Minute)
		f.past.rules = &history.Result{
			Series: []gpu.Series{{
				Labels: map[string]string{"cluster": "north", "node": "n1"},
				Times:  []int64{at.Add(-2 * time.Minute).UnixMilli(), at.Add(-time.Minute).UnixMilli()}, Values: []float64{7, 8},
			}},
			Notices: []gpu.Notice{{Severity: gpu.Info, Text: "From recording rules."}}, Step: time.Minute, Executed: "gpu:power_watts:sum_by_node",
		}
		q := metricQuery(`"aggregateBy":"node"`)
		got := f.frames(t, 72*time.Hour, q)
		if len(got) != 1 || len(got[0].Fields) != 2 || got[0].Fields[1].Name != "north · n1" || got[0].Meta.Custom != nil {
			t.Fatalf("%d frames, first %+v", len(got), got[0].Meta)
		}
		if _, values := column(got[0], 1); *values[len(values)-1] != 8 {
			t.Errorf("ends with %v", *values[len(values)-1])
		}
		if text := noticeTexts(got); !strings.Contains(text, "From recording rules.") {
			t.Errorf("notices %q", text)
		}
		alert := f.ask(t, 72*time.Hour, map[string]string{"FromAlert": "true"}, map[string]string{"A": q})["A"]
		if alert.Error != nil || len(alert.Frames) != 1 || alert.Frames[0].Meta.ExecutedQueryString != "gpu:power_watts:sum_by_node" {
			t.Errorf("alert: error %v, %d frames", alert.Error, len(alert.Frames))
		}
		// A line for each device is none of theirs.
		if each := f.frames(t, 72*time.Hour, metricQuery()); strings.Contains(each[0].Meta.ExecutedQueryString, "sum_by_node") {
			t.Errorf("asked %q", each[0].Meta.ExecutedQueryString)
		}
		f.past.rules = &history.Result{Executed: "# The recording rules have nothing."}
		got = f.frames(t, 72*time.Hour, q)
		if text := got[0].Meta.ExecutedQueryString; !strings.HasPrefix(text, "# The recording rules have nothing.\nmetric") {
			t.Errorf("asked %q", text)
		}
	})
}
