package servers

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// One sample of 7 days is a peak, one a dip, and some say "no value"; what is asked for at 15 minutes knows all of them.
func TestASpikeBetweenStepsIsKeptForAWeek(t *testing.T) {
	t.Parallel()
	const scrape = 15
	end := t0 + 7*24*hour
	spike, dip := t0+50*hour+7*minute, t0+90*hour+8*minute
	blank := func(t int64) bool { return t == spike+scrape || t == dip-scrape || t == t0+120*hour+5*minute }
	power := func(at int64) float64 {
		switch {
		case at == spike:
			return 690
		case at == dip:
			return 60
		case blank(at):
			return 2147483632
		}
		return 300 + float64(at/scrape%3)
	}
	set := labels.FromStrings(labels.MetricName, "DCGM_FI_DEV_POWER_USAGE", "Hostname", "n1", "UUID", "GPU-1", "gpu", "0", "modelName", "NVIDIA H100", "instance", "n1:9400", "job", "dcgm")
	window := labels.FromStrings(labels.MetricName, "gpu_power_window_max_watts", "node", "n2", "gpu_uuid", "GPU-2", "gpu", "0", "model", "NVIDIA H100", "instance", "n2:9847", "job", "agent")
	sample := labels.NewBuilder(window).Set(labels.MetricName, "gpu_power_watts").Labels()
	dir := t.TempDir()
	store(t, dir, t0, end, scrape, []line{
		{labels: set, at: power},
		{labels: sample, at: func(int64) float64 { return 300 }},
		{labels: window, at: func(at int64) float64 {
			if at == spike {
				return 680
			}
			return 301
		}},
	})
	h := open(t, history.Endpoint{ID: "p", Cluster: "north", URL: start(t, dir, "").url})
	w := query.NewWindow(query.WindowOptions{From: time.Unix(t0, 0), To: time.Unix(end-minute, 0), MaxDataPoints: 1000, ScrapeInterval: scrape * time.Second})
	for _, fn := range []string{"max", "min", "avg"} {
		q, m := asked(t, "gpu_power_watts", `,"aggregation":"`+fn+`"`)
		r := h.Metric(context.Background(), q, m, w)
		if r.Err != nil || len(r.Series) != 2 {
			t.Fatalf("%s: %d lines, %v", fn, len(r.Series), r.Err)
		}
		for _, s := range r.Series {
			least, most := math.Inf(1), math.Inf(-1)
			for i, v := range s.Values {
				if math.IsNaN(v) {
					t.Errorf("%s of %s: nothing at %s", fn, s.Device.UUID, time.UnixMilli(s.Times[i]).UTC())
				}
				least, most = min(least, v), max(most, v)
			}
			dcgm := s.Device.UUID == "GPU-1"
			switch {
			case fn == "max" && dcgm && most != 690, fn == "max" && !dcgm && most != 680, fn == "min" && dcgm && least != 60,
				fn == "avg" && dcgm && (least < 290 || most > 310):
				t.Errorf("%s of %s: %v to %v\n%s", fn, s.Device.UUID, least, most, r.Executed)
			}
		}
	}
}

// Rules that began in the middle and stopped a while ago give, with the rest of each GPU's own series, what these alone give.
func TestRulesAndTheRestGiveTheSameAnswers(t *testing.T) {
	t.Parallel()
	end, from, until := t0+72*hour, t0+31*hour+17*minute, t0+65*hour+13*minute
	var lines []line
	for i := range 5 {
		node := []string{"n1", "n2"}[i/3]
		lines = append(lines, line{labels: labels.FromStrings(labels.MetricName, "gpu_power_watts", "node", node, "gpu", string(rune('0'+i)),
			"gpu_uuid", "GPU-"+string(rune('0'+i)), "model", "NVIDIA H200", "instance", node+":9847", "job", "agent"), at: func(at int64) float64 { return watts(i, at) }})
	}
	dir := t.TempDir()
	store(t, dir, t0, end, minute, lines)
	s := start(t, dir, "")
	rules := shipped(t, "power_watts")
	for name := range rules {
		if strings.Contains(name, ":avg_") || strings.Contains(name, ":p95_") || strings.Contains(name, "_by_device") {
			delete(rules, name)
		}
	}
	record(t, dir, s, from, until, rules)
	s.kill(t)
	s = start(t, dir, "")
	h := open(t, history.Endpoint{ID: "p", Cluster: "north", URL: s.url})
	w := query.NewWindow(query.WindowOptions{From: time.Unix(t0, 0), To: time.Unix(end-minute, 0), MaxDataPoints: 500, ScrapeInterval: 15 * time.Second})
	for _, by := range []string{"node", "cluster"} {
		for _, fn := range []string{"avg", "max", "min", "sum"} {
			q, m := asked(t, "gpu_power_watts", `,"aggregateBy":"`+by+`","aggregation":"`+fn+`"`)
			got, ok := h.Rollup(context.Background(), q, m, w)
			if !ok || len(got.Holes) != 2 {
				t.Errorf("%s by %s: used %v, holes %v: %s", fn, by, ok, got.Holes, got.Executed)
				continue
			}
			whole := map[string]gpu.Series{}
			for _, one := range raw(t, h, q, w) {
				whole[labelText(one.Labels)] = one
			}
			filled := map[string]map[int64]float64{}
			put := func(list []gpu.Series, inHole bool) {
				for _, one := range list {
					for i, at := range one.Times {
						if holed(got.Holes, at) == inHole {
							if filled[labelText(one.Labels)] == nil {
								filled[labelText(one.Labels)] = map[int64]float64{}
							}
							filled[labelText(one.Labels)][at] = one.Values[i]
						}
					}
				}
			}
			put(got.Series, false)
			for _, hole := range got.Holes {
				put(raw(t, h, q, hole.Window(w)), true)
			}
			for key, want := range whole {
				for i, at := range want.Times {
					if v, ok := filled[key][at]; !ok || !(math.Abs(v-want.Values[i]) <= 1e-9*want.Values[i]) {
						t.Errorf("%s by %s: %s at %d min is %v (%v), want %v", fn, by, key, (at/1000-t0)/minute, v, ok, want.Values[i])
						break
					}
				}
			}
		}
	}
}

func holed(holes []history.Stretch, ms int64) bool {
	for _, h := range holes {
		if ms >= h.From.UnixMilli() && ms <= h.To.UnixMilli() {
			return true
		}
	}
	return false
}

func labelText(l map[string]string) string { return l["cluster"] + "/" + l["node"] }
