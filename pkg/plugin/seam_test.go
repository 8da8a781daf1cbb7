package plugin

import (
	"fmt"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

func line(node string, index int, times ...int64) gpu.Series {
	values := make([]float64, len(times))
	return gpu.Series{
		Device: gpu.Device{Identity: gpu.Identity{Cluster: "north", Node: node, UUID: fmt.Sprintf("GPU-%s-%d", node, index)}, Index: index},
		Times:  times, Values: values,
	}
}

// All live lines begin together, at the latest beginning; one that had ended by then is left to history.
func TestSewFromACommonStart(t *testing.T) {
	past := []gpu.Series{line("a", 0, 0, 15_000, 30_000), line("b", 0, 0, 15_000, 30_000), line("c", 0, 0)}
	ended := line("c", 0, 1000, 2000)
	got := sew(past, []gpu.Series{line("a", 0, 10_000, 20_500, 31_000), line("b", 0, 20_700, 30_700), ended}, timeline.ByIdentity, time.Second, time.Time{})
	if len(got.live) != 2 || got.live[0].Times[0] != 20_500 || got.live[1].Times[0] != 20_700 {
		t.Errorf("live %v", got.live)
	}
	if len(got.history) != 2 || len(got.rest) != 1 || got.rest[0].Device.Node != "c" || len(got.partial) != 0 {
		t.Errorf("history %d, rest %v, partial %v", len(got.history), got.rest, got.partial)
	}
}

func TestSewKeepsGroupsWhole(t *testing.T) {
	past := []gpu.Series{line("a", 0, 0), line("a", 1, 0), line("b", 0, 0)}
	now := []gpu.Series{line("a", 0, 1000), line("b", 0, 1000), line("d", 0, 1000)}
	for by, want := range map[timeline.By]struct {
		live    int
		partial string
	}{
		timeline.ByIdentity: {3, "[]"}, timeline.ByNode: {2, "[north\xffa]"}, timeline.ByCluster: {0, "[north]"}, timeline.ByModel: {0, "[]"},
	} {
		got := sew(past, now, by, time.Second, time.Time{})
		if len(got.live) != want.live || by != timeline.ByModel && fmt.Sprint(got.partial) != want.partial {
			t.Errorf("by %d: %d live, partial %q", by, len(got.live), got.partial)
		}
	}
}

func TestLastComplete(t *testing.T) {
	now := time.UnixMilli(100_400)
	for name, test := range map[string]struct {
		series       []gpu.Series
		step, period time.Duration
		want         int64
	}{
		"bin is over":            {[]gpu.Series{line("a", 0, 99_000)}, time.Second, time.Second, 99_000},
		"all have their sample":  {[]gpu.Series{line("a", 0, 100_000), line("b", 0, 100_000)}, time.Second, time.Second, 100_000},
		"one has not":            {[]gpu.Series{line("a", 0, 100_000), line("b", 0, 99_000)}, time.Second, time.Second, 99_000},
		"more samples may come":  {[]gpu.Series{line("a", 0, 100_000)}, 10 * time.Second, time.Second, 90_000},
		"nothing":                {nil, time.Second, time.Second, 99_000},
		"an empty line":          {[]gpu.Series{line("a", 0)}, time.Second, time.Second, 99_000},
		"period of another step": {[]gpu.Series{line("a", 0, 100_000)}, time.Second, 5 * time.Second, 100_000},
	} {
		if got := lastComplete(test.series, test.step, test.period, now); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

func TestLiveStep(t *testing.T) {
	end := time.Unix(10_000_000, 0)
	for _, test := range []struct {
		length  time.Duration
		points  int64
		period  time.Duration
		minStep time.Duration
		want    time.Duration
	}{
		{15 * time.Minute, 1000, time.Second, 0, time.Second},
		{5 * time.Minute, 1500, 100 * time.Millisecond, 0, 200 * time.Millisecond},
		{5 * time.Minute, 1500, time.Second, 0, time.Second},
		{time.Minute, 1000, 0, 0, 100 * time.Millisecond},
		{15 * time.Minute, 0, time.Second, 0, time.Second},
		{6 * time.Hour, 1000, time.Second, 0, 30 * time.Second},
		{15 * time.Minute, 1000, time.Second, 15 * time.Second, 15 * time.Second},
		{time.Minute, 1000, time.Second, 5 * time.Second, 5 * time.Second},
		{15 * time.Minute, 1000, 10 * time.Second, 0, 10 * time.Second},
		{0, 1000, time.Second, 0, time.Second},
	} {
		o := query.WindowOptions{From: end.Add(-test.length), To: end, MaxDataPoints: test.points, MinStep: test.minStep, ScrapeInterval: 15 * time.Second}
		if got := liveStep(o, test.period); got != test.want {
			t.Errorf("%s in %d points, period %s, at least %s: %s, want %s", test.length, test.points, test.period, test.minStep, got, test.want)
		}
	}
}
