package history

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// Whatever is asked for, in whatever order, while samples arrive late: with the cache the answer is the one without.
func TestCachedAnswersAreTheUncached(t *testing.T) {
	known := mustCatalog(t)
	rapid.Check(t, func(rt *rapid.T) {
		start := time.Unix(t0+rapid.Int64Range(0, 100_000).Draw(rt, "start"), 0)
		fleet := drawArrivals(rt, start, 2*time.Hour)
		now := start.Add(time.Hour)
		store := fleet.until(now.UnixMilli())
		served := &upstream{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { store.ServeHTTP(w, r) })}
		o := Options{ScrapeInterval: 15 * time.Second}
		if rapid.Bool().Draw(rt, "small") {
			o.CacheBytes = 20_000
		}
		if rapid.Bool().Draw(rt, "remote") {
			o.CacheRemote, o.CacheNamespace = &shelf{values: map[string][]byte{}}, "test"
		}
		cached := cachedAt(t, served, &now, o)
		uncached := cachedAt(t, served, &now, Options{ScrapeInterval: 15 * time.Second, CacheBytes: -1})
		// A dashboard asks for the same few things again and again.
		exprs := rapid.SliceOfN(rapid.SampledFrom([]string{
			"gauge", "rate(count_total[2m])", "max by (gpu) (gauge)", "gauge or count_total", "gauge > 10",
			"max_over_time(gauge[3m:1m])", "sum(gauge)", "nothing", "gpu_power_watts", "gpu_energy_joules_total",
		}), 1, 2).Draw(rt, "exprs")
		steps := rapid.SliceOfN(rapid.SampledFrom([]int{15, 15, 30, 37, 60, 300}), 1, 2).Draw(rt, "steps")
		moods := []string{""}
		if rapid.Bool().Draw(rt, "moody") {
			moods = []string{"", "", "", "", warns, hints, partly, downMood}
		}
		for range rapid.IntRange(3, 12).Draw(rt, "queries") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 7, 30, 30, 60, 300, 1500}).Draw(rt, "later")) * time.Second)
			store = fleet.until(now.UnixMilli())
			mood := rapid.SampledFrom(moods).Draw(rt, "mood")
			served.set(mood)
			to := now.Add(-time.Duration(rapid.SampledFrom([]int{0, 0, 0, 45, 1800}).Draw(rt, "ago")) * time.Second)
			length := time.Duration(rapid.SampledFrom([]int{60, 600, 3600, 9000}).Draw(rt, "length")) * time.Second
			step := time.Duration(rapid.SampledFrom(steps).Draw(rt, "step")) * time.Second
			w := windowOf(to.Add(-length), to, step)
			served.reset()
			var got, want Result
			expr := rapid.SampledFrom(exprs).Draw(rt, "expr")
			ask := func(h *History) Result { return rangeOf(t, h, expr, w) }
			if m, ok := known.Metric(expr); ok && rapid.Bool().Draw(rt, "canonical") {
				ask = func(h *History) Result { return h.Metric(context.Background(), query.Query{Metric: expr}, m, w) }
			}
			got = ask(cached)
			if asked, _, _ := served.reset(); asked == 0 && mood != downMood {
				served.set("") // nobody was asked, so nobody could warn
			}
			want = ask(uncached)
			if mood == downMood && got.Err == nil {
				// All of it was cached.
				served.set("")
				continue
			}
			if !same(t, got, want) || !reflect.DeepEqual(got.Notices, want.Notices) {
				rt.Fatalf("%s, step %s:\ngot  %s\nwant %s", got.Executed, step, show(got), show(want))
			}
		}
	})
}

func show(r Result) string {
	text := fmt.Sprintf("%v %v", r.Err, r.Notices)
	for _, s := range r.Series {
		text += fmt.Sprintf("\n  %v %v:", s.Device, s.Labels)
		for i := range s.Times {
			text += fmt.Sprintf(" %d=%v", s.Times[i]/1000, s.Values[i])
		}
	}
	return text
}

// drawArrivals makes gauges and counters that begin, pause, end with and without a word, and arrive up to a minute late.
func drawArrivals(rt *rapid.T, start time.Time, length time.Duration) arrivals {
	var all arrivals
	n := rapid.IntRange(1, 5).Draw(rt, "series")
	for i := range n {
		born := rapid.Int64Range(0, length.Milliseconds()/2).Draw(rt, "born")
		dead := rapid.Int64Range(born, 2*length.Milliseconds()).Draw(rt, "dead")
		pause := rapid.Int64Range(0, length.Milliseconds()).Draw(rt, "pause")
		pauses := rapid.SampledFrom([]int64{0, 60_000, 900_000}).Draw(rt, "pauses")
		late := rapid.SampledFrom([]int64{0, 1000, 30_000, 60_000}).Draw(rt, "late")
		kind := rapid.SampledFrom([]string{"gauge", "count_total", "power", "energy"}).Draw(rt, "kind")
		seed := rapid.Uint64().Draw(rt, "seed")
		stale := rapid.Bool().Draw(rt, "stale")
		labels := map[string]string{"__name__": kind, "gpu": fmt.Sprint(i), "node": `n"1 \ é`, "instance": "a:9400"}
		switch kind {
		case "power":
			labels = map[string]string{"__name__": "gpu_power_watts", "node": "a", "gpu": fmt.Sprint(i), "gpu_uuid": fmt.Sprintf("GPU-%d", i)}
		case "energy":
			labels = map[string]string{"__name__": "gpu_energy_joules_total", "node": "a", "gpu": fmt.Sprint(i), "gpu_uuid": fmt.Sprintf("GPU-%d", i)}
		}
		var points []arriving
		total := 0.0
		for at := born; at <= min(dead, length.Milliseconds()); at += 15_000 {
			if at > pause && at < pause+pauses {
				continue
			}
			seed = seed*6364136223846793005 + 1442695040888963407
			total += float64(seed >> 56)
			p := arriving{at: start.UnixMilli() + at + late*int64(seed>>33%2)}
			p.Time, p.Value = start.UnixMilli()+at, float64(seed>>54)/7
			switch {
			case kind == "count_total" || kind == "energy":
				if p.Value = total; seed>>40%97 == 0 {
					total = 0
				}
			case kind == "gauge" && seed>>40%31 == 0:
				p.Value = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 5e-324}[seed>>20%5]
			}
			points = append(points, p)
		}
		if stale && len(points) > 0 {
			end := points[len(points)-1]
			end.Time, end.at, end.Value = end.Time+15_000, end.at+15_000, promtest.Stale()
			points = append(points, end)
		}
		all = append(all, struct {
			labels map[string]string
			points []arriving
		}{labels, points})
	}
	return all
}
