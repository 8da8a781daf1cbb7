package history

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// Alerts of two replicas are one; pending is not firing; what was short is found; steps between two evaluations are no gaps.
func TestAlerts(t *testing.T) {
	url := func(replica string) string {
		s := &promtest.Store{}
		add := func(name, state, node string, spans ...[2]int64) {
			var points []promtest.Point
			for _, span := range spans {
				points = append(points, scraped(span[0], span[1], func(int64) float64 { return 1 })...)
				points = append(points, promtest.Point{Time: (t0 + span[1] + 30) * 1000, Value: promtest.Stale()})
			}
			s.Add(map[string]string{"__name__": "ALERTS", "alertname": name, "alertstate": state, "node": node, "prometheus": replica}, points...)
		}
		add("GpuMissing", "pending", "n1", [2]int64{0, 3000})
		add("GpuMissing", "firing", "n1", [2]int64{600, 1200}, [2]int64{2400, 3600})
		add("GpuXidCritical", "firing", "n2", [2]int64{-600, 300})
		return promtest.Serve(t, s)
	}
	h := openAt(t,
		Endpoint{ID: "a", Cluster: "north", URL: url("a"), ReplicaLabels: []string{"prometheus"}},
		Endpoint{ID: "b", Cluster: "north", URL: url("b"), ReplicaLabels: []string{"prometheus"}})
	for _, step := range []time.Duration{15 * time.Second, time.Minute, 5 * time.Minute} {
		got := h.Alerts(t.Context(), query.Scope{}, window(3600, step))
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		var lines []string
		for _, a := range got.List {
			lines = append(lines, fmt.Sprint(a.Cluster, " ", a.Labels["alertname"], " ", a.Labels["node"], " ", a.Earlier, " ", a.Ongoing))
			if _, known := a.Labels["alertstate"]; known || len(a.Labels) != 2 || !a.Until.After(a.From) {
				t.Errorf("labels %v from %v to %v", a.Labels, a.From, a.Until)
			}
		}
		want := []string{"north GpuXidCritical n2 true false", "north GpuMissing n1 false false", "north GpuMissing n1 false true"}
		if !slices.Equal(lines, want) {
			t.Errorf("step %s: got %q", step, lines)
		}
		if from := got.List[1].From.Unix() - t0; from < 600 || from > 600+int64(step.Seconds()) {
			t.Errorf("step %s: it fires from %d s on", step, from)
		}
		if !strings.Contains(got.Executed, `ALERTS{alertstate="firing"}`) {
			t.Errorf("asked %s", got.Executed)
		}
	}
	if got := openAt(t, Endpoint{ID: "x", URL: "http://127.0.0.1:1"}).Alerts(t.Context(), query.Scope{}, window(3600, time.Minute)); got.Err == nil {
		t.Error("nobody answered, and there is no error")
	}
}
