package plugin

import (
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// What only recording rules know is answered from them, or refused with what to do.
func TestMetricOnlyRulesKnow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		q := metricQuery(`"aggregateBy":"namespace"`)
		refused := f.ask(t, 72*time.Hour, nil, map[string]string{"A": q})["A"]
		if refused.Error == nil || !strings.Contains(refused.Error.Error(), "Load rollup.rules.yaml and jobs.rules.yaml") {
			t.Errorf("without rules: %v", refused.Error)
		}
		at := time.Now().Truncate(time.Minute)
		f.past.rules = &history.Result{
			Series: []gpu.Series{{Labels: map[string]string{"cluster": "north", "namespace": "ml"}, Times: []int64{at.Add(-time.Minute).UnixMilli()}, Values: []float64{7}}},
			Step:   time.Minute, Executed: "gpu:power_watts:sum_by_job", Holes: []history.Stretch{{From: at.Add(-time.Hour), To: at}},
		}
		got := f.frames(t, 72*time.Hour, q)
		if len(got) != 1 || len(got[0].Fields) != 2 || !strings.Contains(got[0].Fields[1].Name, "ml") {
			t.Fatalf("%d frames, %+v", len(got), got)
		}
		if text := noticeTexts(got); !strings.Contains(text, "and only they know") {
			t.Errorf("notices %q", text)
		}
	})
}
