package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"go.yaml.in/yaml/v3"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// shipped are the recording rules of a metric, with what they read of each other in the place of its name: a server can then be
// asked at once for what they would have recorded.
func shipped(t testing.TB, metric string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "dashboards", "rules", "rollup.rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct{ Record, Expr string }
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	exprs := map[string]string{}
	for _, g := range file.Groups {
		if g.Name != "gpu_rollup_"+metric {
			continue
		}
		for _, r := range g.Rules {
			expr := strings.ReplaceAll(r.Expr, `{gpu_uuid!=""}`, "") // every series of the tests has one
			for name, known := range exprs {
				expr = strings.ReplaceAll(expr, name, "("+known+")")
			}
			exprs[r.Record] = expr
		}
	}
	if len(exprs) == 0 {
		t.Fatalf("no rules of %s", metric)
	}
	return exprs
}

// record evaluates rules once a minute, as a server does, and stores the answers.
func record(t testing.TB, dir string, s *server, from, to int64, rules map[string]string) {
	t.Helper()
	var lines []line
	for name, expr := range rules {
		found := map[string]map[int64]float64{}
		sets := map[string]labels.Labels{}
		for at := from; at < to; at += 10_000 * minute {
			for _, one := range overRange(t, s, expr, at, min(at+10_000*minute, to)-minute) {
				b := labels.NewBuilder(labels.FromMap(one.Metric))
				b.Set(labels.MetricName, name)
				set := b.Labels()
				sets[set.String()] = set
				if found[set.String()] == nil {
					found[set.String()] = map[int64]float64{}
				}
				for _, point := range one.Values {
					v, err := strconv.ParseFloat(point[1].(string), 64)
					if err != nil {
						t.Fatal(err)
					}
					found[set.String()][int64(point[0].(float64))] = v
				}
			}
		}
		for key, values := range found {
			lines = append(lines, line{labels: sets[key], at: func(at int64) float64 {
				if v, ok := values[at]; ok {
					return v
				}
				return math.NaN()
			}})
		}
	}
	store(t, dir, from, to, minute, lines)
}

type matrixSeries struct {
	Metric map[string]string
	Values [][2]any
}

func overRange(t testing.TB, s *server, expr string, from, to int64) []matrixSeries {
	t.Helper()
	resp, err := http.PostForm(s.url+"/api/v1/query_range", url.Values{
		"query": {expr}, "start": {fmt.Sprint(from)}, "end": {fmt.Sprint(to)}, "step": {"60"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body struct {
		Error string
		Data  struct{ Result []matrixSeries }
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil || body.Error != "" {
		t.Fatalf("%v %s\n%s", err, body.Error, expr)
	}
	return body.Data.Result
}

// Lines from the recording rules are those that each GPU's own series come to, over an upgrade of some exporters from one
// generation to the next, on nodes of different sizes and exporters.
func TestRulesGiveTheSameAnswers(t *testing.T) {
	t.Parallel()
	end, changed := t0+60*hour, t0+30*hour
	var lines []line
	for n := range 2 {
		name, change := fmt.Sprintf("n%d", n), changed+int64(n)*minute
		lines = append(append(lines, generations()["3.x"].exported(name, t0, change)...), generations()["4.9"].exported(name, change, end)...)
	}
	for i := range 7 {
		for metric, at := range map[string]func(int64) float64{
			"gpu_power_watts":       func(t int64) float64 { return watts(i, t) },
			"gpu_utilization_ratio": func(t int64) float64 { return float64((t-t0)/minute%97) / 100 },
		} {
			lines = append(lines, line{labels: labels.FromStrings(labels.MetricName, metric, "node", "n9", "gpu", fmt.Sprint(i),
				"gpu_uuid", fmt.Sprintf("GPU-9-%d", i), "model", "NVIDIA H200", "instance", "n9:9847", "job", "agent"), at: at})
		}
	}
	dir := t.TempDir()
	store(t, dir, t0, end, minute, lines)
	s := start(t, dir, "")
	for _, metric := range []string{"power_watts", "utilization_ratio"} {
		rules := shipped(t, metric)
		for name := range rules {
			if strings.Contains(name, ":avg_") || strings.Contains(name, ":p95_") || strings.Contains(name, "_by_device") {
				delete(rules, name)
			}
		}
		record(t, dir, s, t0, end, rules)
	}
	s.kill(t)
	s = start(t, dir, "")
	h := open(t, history.Endpoint{ID: "p", Cluster: "north", URL: s.url})
	w := query.NewWindow(query.WindowOptions{From: time.Unix(t0, 0), To: time.Unix(end-minute, 0), MaxDataPoints: 500, ScrapeInterval: 15 * time.Second})
	for _, metric := range []string{"gpu_power_watts", "gpu_utilization_ratio"} {
		for _, by := range []string{"node", "cluster", "model"} {
			for _, fn := range []string{"avg", "max", "min"} {
				q, m := asked(t, metric, fmt.Sprintf(`,"aggregateBy":%q,"aggregation":%q`, by, fn))
				got, ok := h.Rollup(context.Background(), q, m, w)
				if !ok {
					t.Errorf("%s of %s by %s: the rules were not used: %s", fn, metric, by, got.Executed)
					continue
				}
				if diff := far(got.Series, raw(t, h, q, w), changed*1000, w.Step.Milliseconds()); diff != "" {
					t.Errorf("%s of %s by %s: %s", fn, metric, by, diff)
				}
			}
		}
	}
}

// raw is the answer from each GPU's own series, as the plugin makes it.
func raw(t testing.TB, h *history.History, q query.Query, w query.Window) []gpu.Series {
	t.Helper()
	_, m := asked(t, q.Metric, "")
	result := h.Metric(context.Background(), q, m, w)
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	by, err := timeline.ParseBy(q.AggregateBy)
	if err != nil {
		t.Fatal(err)
	}
	fn, err := timeline.ParseFn(q.AggregationOf(m))
	if err != nil {
		t.Fatal(err)
	}
	return timeline.Aggregate(result.Series, timeline.Aggregation{By: by, Fn: fn, Relative: m.Unit == gpu.Ratio}, 0)
}

// mostApart is how far two answers may be apart in the step in which an exporter gives way to another: the rules have both, each at
// its time, and of the GPU's own series the better counts for the whole step.
const mostApart = 0.1

// far says where two answers differ by more than the order of additions explains, but for the steps of an upgrade that begins
// at a time in Unix milliseconds; 0 for none.
func far(got, want []gpu.Series, upgrade, step int64) string {
	if len(got) != len(want) || len(got) == 0 {
		return fmt.Sprintf("%d lines, want %d", len(got), len(want))
	}
	known := map[string]gpu.Series{}
	for _, s := range want {
		known[fmt.Sprint(s.Labels)] = s
	}
	for _, g := range got {
		s := known[fmt.Sprint(g.Labels)]
		if len(s.Values) != len(g.Values) {
			return fmt.Sprintf("%v has %d points, want %d", g.Labels, len(g.Values), len(s.Values))
		}
		for i, v := range g.Values {
			slack := 1e-9
			if g.Times[i] >= upgrade && g.Times[i] <= upgrade+minute*1000+step {
				slack = mostApart
			}
			if g.Times[i] != s.Times[i] || !(math.Abs(v-s.Values[i]) <= slack*math.Abs(s.Values[i])) {
				return fmt.Sprintf("%v at %d min is %v, want %v", g.Labels, (g.Times[i]/1000-t0)/minute, v, s.Values[i])
			}
		}
	}
	return ""
}
