package plugin

import (
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// The panel of a short range has a sample for each of its points from the agents that can take so many, at once and not
// only after a refresh. Others go on as they are.
func TestShortRangesAreSampledMoreOften(t *testing.T) {
	for _, test := range []struct {
		least  time.Duration // of the agent
		length time.Duration // of the range
		query  string
		want   int64 // between rows
	}{
		{100 * time.Millisecond, time.Minute, metricQuery(), 100},
		{500 * time.Millisecond, time.Minute, metricQuery(), 500},
		{0, time.Minute, metricQuery(), 1000},
		{100 * time.Millisecond, time.Hour, metricQuery(), 5_000},
		{100 * time.Millisecond, time.Minute, metricQuery(`"live":false`), 0},
		{100 * time.Millisecond, time.Minute, `{"queryType":"metric","metric":"gpu_energy_joules_total"}`, 1000},
	} {
		bubble(t, func(t *testing.T) {
			f := newFleet(t, agenttest.Options{Node: "n1", MinPeriod: test.least, Metrics: []string{power, "gpu_energy_joules_total"}})
			time.Sleep(5 * time.Second)
			answer := f.frames(t, test.length, test.query)
			if test.want == 0 {
				time.Sleep(time.Second)
				if got := f.agents[0].Period(); got != time.Second {
					t.Errorf("a panel that does not go on live makes the agent take samples every %s", got)
				}
				return
			}
			path, raw := channelOf(t, answer[0])
			received, stop := f.runStream(t, path, raw)
			time.Sleep(31 * time.Second)
			if err := stop(); err != nil {
				t.Error(err)
			}
			times, _ := received.rows(0)
			if len(times) < 3 {
				t.Fatalf("%+v: %d rows", test, len(times))
			}
			for i := len(times) - 1; i > len(times)*2/3; i-- {
				if step := times[i] - times[i-1]; step != test.want {
					t.Errorf("%+v: %d ms between rows", test, step)
				}
			}
			// 15 s after the last viewer, and some for the way, the agent takes them as before.
			time.Sleep(30 * time.Second)
			if got := f.agents[0].Period(); got != time.Second {
				t.Errorf("%+v: every %s when nobody looks", test, got)
			}
		})
	}
}
