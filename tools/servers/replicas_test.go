package servers

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// lookback is how long Prometheus repeats the last sample of a series that was not ended.
const lookback = 5 * minute

// watts is what a GPU draws.
func watts(gpu int, t int64) float64 { return float64(100+gpu) + float64((t-t0)/15%400)/4 }

// fleet is two nodes of 8 GPUs each.
func fleet() (lines []line) {
	for i := range 16 {
		node := fmt.Sprintf("n%d", i/8)
		lines = append(lines, line{
			labels: labels.FromStrings(labels.MetricName, "gpu_power_watts", "node", node, "gpu", fmt.Sprint(i%8), "gpu_uuid", fmt.Sprintf("GPU-%02d", i),
				"model", "NVIDIA H100", "instance", node+":9847", "job", "agent"),
			at: func(t int64) float64 { return watts(i, t) },
		})
	}
	return lines
}

func gapped(from, to int64) (lines []line) {
	for _, l := range fleet() {
		lines = append(lines, l.without(from, to))
	}
	return lines
}

func twoHours() query.Window {
	return query.NewWindow(query.WindowOptions{
		From: time.Unix(t0, 0), To: time.Unix(t0+2*hour-minute, 0), MaxDataPoints: 11_000, MinStep: 30 * time.Second, ScrapeInterval: 15 * time.Second,
	})
}

// whole checks that each GPU has a value on every point, the mean of the two samples of its step. Where a gap begins or ends
// it may be one of them, and some of those after its beginning are what a server repeats.
func whole(series []gpu.Series, w query.Window, gaps ...int64) error {
	if len(series) != 16 {
		return fmt.Errorf("%d GPUs, want 16", len(series))
	}
	points := int(w.End().Sub(w.Start())/w.Step) + 1
	for i, s := range series {
		if len(s.Values) != points {
			return fmt.Errorf("%s has %d points, want %d", s.Device.Name(), len(s.Values), points)
		}
		for k, v := range s.Values {
			at := s.Times[k] / 1000
			before, now := watts(i, max(at-15, t0)), watts(i, at)
			right := v == (before+now)/2
			for _, gap := range gaps {
				edge := at >= gap && at < gap+30 || at >= gap+15*minute && at < gap+15*minute+30
				right = right || at >= gap && at <= gap+lookback && v == watts(i, gap-15) || edge && (v == before || v == now)
			}
			if !right {
				return fmt.Errorf("%s is %v at %d s, want %v", s.Device.Name(), v, at-t0, (before+now)/2)
			}
		}
	}
	return nil
}

// Two replicas were each down for a while, at different times: together they have everything, and there is nothing to tell.
func TestReplicasFillEachOthersGaps(t *testing.T) {
	t.Parallel()
	gapA, gapB := t0+30*minute, t0+80*minute
	var endpoints []history.Endpoint
	for id, gap := range map[string]int64{"a": gapA, "b": gapB} {
		dir := t.TempDir()
		store(t, dir, t0, t0+2*hour, 15, gapped(gap, gap+15*minute))
		endpoints = append(endpoints, history.Endpoint{ID: id, Cluster: "north", URL: start(t, dir, "").url, Replica: true})
	}
	h := open(t, endpoints...)
	w := twoHours()
	result := ask(t, h, "gpu_power_watts", w)
	if err := whole(result.Series, w, gapA, gapB); err != nil {
		t.Error(err)
	}
	if len(result.Notices) > 0 {
		t.Errorf("notices %v", texts(result.Notices))
	}
	// One alone has a hole of ten minutes: five of fifteen are repeated.
	if alone := ask(t, open(t, endpoints[0]), "gpu_power_watts", w); whole(alone.Series, w, gapA, gapB) == nil {
		// A hole in the middle is a NaN, which is no right value.
		t.Error("one replica alone has no hole")
	}
}

// Of two replicas one has a gap, and is killed while many ask: every answer is whole and says at most one thing.
func TestReplicaIsKilledMidway(t *testing.T) {
	t.Parallel()
	gap := t0 + 30*minute
	dirs := [2]string{t.TempDir(), t.TempDir()}
	store(t, dirs[0], t0, t0+2*hour, 15, gapped(gap, gap+15*minute))
	store(t, dirs[1], t0, t0+2*hour, 15, fleet())
	first, second := start(t, dirs[0], ""), start(t, dirs[1], "")
	h := open(t, history.Endpoint{ID: "a", Cluster: "north", URL: first.url, Replica: true}, history.Endpoint{ID: "b", Cluster: "north", URL: second.url, Replica: true})
	w := twoHours()
	var asking sync.WaitGroup
	var answers, told atomic.Int64
	kill := sync.OnceFunc(func() { first.kill(t) })
	for range 4 {
		asking.Go(func() {
			for range 12 {
				if answers.Add(1) == 16 {
					kill()
				}
				result := ask(t, h, "gpu_power_watts", w)
				if err := whole(result.Series, w, gap); err != nil {
					t.Errorf("%v; notices %v", err, texts(result.Notices))
				}
				if len(result.Notices) > 1 {
					t.Errorf("%d notices: %v", len(result.Notices), texts(result.Notices))
				}
				for _, n := range result.Notices {
					told.Add(1)
					if n.Severity != gpu.Info || !strings.Contains(n.Text, "a: ") && !strings.Contains(n.Text, "endpoint a") {
						t.Errorf("notice %q", n.Text)
					}
				}
			}
		})
	}
	asking.Wait()
	t.Logf("%d of %d answers told of the replica that died", told.Load(), answers.Load())
}
