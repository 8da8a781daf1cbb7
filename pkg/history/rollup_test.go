package history

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// days is a window long enough for rules, every hour.
func days(n int) query.Window { return window(int64(n)*24*3600, time.Hour) }

// hourly is one value on every point of such a window.
func hourly(n int, value float64) []promtest.Point {
	points := make([]promtest.Point, 24*n+1)
	for i := range points {
		points[i] = promtest.Point{Time: (t0/3600 + int64(i)) * 3600_000, Value: value}
	}
	return points
}

// record adds what the rules would have recorded of a node's power.
func record(s *promtest.Store, node, model string, points func(float64) []promtest.Point, values ...float64) {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	for what, v := range map[string]float64{"sum": sum, "count": float64(len(values)), "max": slices.Max(values), "min": slices.Min(values)} {
		s.Add(map[string]string{"__name__": "gpu:power_watts:" + what + "_by_node", "node": node, "model": model}, points(v)...)
		s.Add(map[string]string{"__name__": "gpu:power_watts:" + what + "_by_cluster", "model": model}, points(v)...)
	}
}

// fleetOf adds the GPUs themselves, three days of them.
func fleetOf(s *promtest.Store, node, model string, points func(float64) []promtest.Point, values ...float64) {
	for i, v := range values {
		s.Add(map[string]string{"__name__": "gpu_power_watts", "node": node, "gpu": fmt.Sprint(i), "gpu_uuid": fmt.Sprintf("GPU-%s-%d", node, i), "model": model,
			"instance": node + ":9847"}, points(v)...)
	}
}

func threeDays(v float64) []promtest.Point { return hourly(3, v) }

func rolled(t testing.TB, h *History, w query.Window, extra string) (Result, bool) {
	t.Helper()
	q, err := query.Parse([]byte(`{"metric":"gpu_power_watts"`+extra+`}`), query.TypeMetric)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := h.catalog.Metric(q.Metric)
	return h.Rollup(context.Background(), q, m, w)
}

func TestRollupIsTheAverageOfAllDevices(t *testing.T) {
	s := &promtest.Store{}
	fleetOf(s, "n1", "NVIDIA H100", threeDays, 100, 200, 300)
	fleetOf(s, "n2", "NVIDIA H200", threeDays, 400)
	record(s, "n1", "NVIDIA H100", threeDays, 100, 200, 300)
	record(s, "n2", "NVIDIA H200", threeDays, 400)
	h := open(t, s)
	for _, tc := range []struct {
		extra string
		want  map[string]float64
	}{
		{`,"aggregateBy":"node","aggregation":"avg"`, map[string]float64{"n1": 200, "n2": 400}},
		{`,"aggregateBy":"node","aggregation":"max"`, map[string]float64{"n1": 300, "n2": 400}},
		{`,"aggregateBy":"cluster","aggregation":"avg"`, map[string]float64{"": 250}},
		{`,"aggregateBy":"cluster","aggregation":"min"`, map[string]float64{"": 100}},
		{`,"aggregateBy":"cluster","aggregation":"sum","nodes":["n1"]`, map[string]float64{"": 600}},
		{`,"aggregateBy":"model","aggregation":"sum"`, map[string]float64{"H100": 600, "H200": 400}},
		{`,"aggregateBy":"cluster","aggregation":"sum","models":["H200"]`, map[string]float64{"": 400}},
	} {
		result, ok := rolled(t, h, days(3), tc.extra)
		if !ok || len(result.Series) != len(tc.want) {
			t.Errorf("%s: used %v, %+v", tc.extra, ok, result)
			continue
		}
		for _, one := range result.Series {
			want := tc.want[one.Labels["node"]+one.Labels["model"]]
			if len(one.Values) != 73 || slices.ContainsFunc(one.Values, func(v float64) bool { return v != want }) {
				t.Errorf("%s: %v is %v, want %v", tc.extra, one.Labels, one.Values, want)
			}
		}
		if len(result.Notices) != 1 || !strings.HasPrefix(result.Notices[0].Text, "From recording rules (gpu:power_watts:") {
			t.Errorf("%s: notices %v", tc.extra, result.Notices)
		}
	}
}

func TestRollupIsLeftWhereItMayKnowLess(t *testing.T) {
	good := func() *promtest.Store {
		s := &promtest.Store{}
		fleetOf(s, "n1", "NVIDIA H100", threeDays, 100, 200)
		record(s, "n1", "NVIDIA H100", threeDays, 100, 200)
		return s
	}
	holey := func(v float64) (some []promtest.Point) {
		for i, p := range hourly(3, v) {
			if i%12 < 6 {
				some = append(some, p)
			}
		}
		return some
	}
	for name, tc := range map[string]struct {
		store func() *promtest.Store
		extra string
		w     query.Window
		why   string
	}{
		"a line for each device": {good, ``, days(3), ""},
		"a short range":          {good, `,"aggregateBy":"node"`, window(3600, time.Minute), ""},
		"some GPUs":              {good, `,"aggregateBy":"node","gpus":["GPU-n1-0"]`, days(3), ""},
		"a pod's GPUs":           {good, `,"aggregateBy":"node","pods":["a"]`, days(3), ""},
		"no rules": {func() *promtest.Store {
			s := &promtest.Store{}
			fleetOf(s, "n1", "NVIDIA H100", threeDays, 100)
			return s
		}, `,"aggregateBy":"node"`, days(3), ""},
		"an exporter that the rules do not read": {func() *promtest.Store {
			s := good()
			s.Constant(map[string]string{"__name__": "gpu_power_usage_W", "hostname": "n2", "index": "0", "uuid": "GPU-x"}, 90)
			return s
		}, `,"aggregateBy":"node"`, days(3), ""},
		"rules with more holes than are looked into": {func() *promtest.Store {
			s := &promtest.Store{}
			fleetOf(s, "n1", "NVIDIA H100", threeDays, 100)
			record(s, "n1", "NVIDIA H100", holey, 100)
			return s
		}, `,"aggregateBy":"node"`, days(3), "# The recording rules of gpu_power_watts have nothing from "},
	} {
		result, ok := rolled(t, open(t, tc.store()), tc.w, tc.extra)
		if ok || tc.why == "" && result.Executed != "" || !strings.HasPrefix(result.Executed, tc.why) {
			t.Errorf("%s: used %v, said %q", name, ok, result.Executed)
		}
	}
}

// Where only the rules are younger than the range it is said which part is to be read from the exporters' series, with the point
// beside it, which is of a part of its step.
func TestRollupOfYoungRules(t *testing.T) {
	short := func(v float64) []promtest.Point { return hourly(3, v)[30:] }
	s := &promtest.Store{}
	fleetOf(s, "n1", "NVIDIA H100", threeDays, 100, 200)
	record(s, "n1", "NVIDIA H100", short, 100, 200)
	w := days(3)
	result, ok := rolled(t, open(t, s), w, `,"aggregateBy":"node","aggregation":"sum"`)
	if !ok || len(result.Series) != 1 || len(result.Series[0].Values) != 43 || len(result.Devices) != 1 || result.Devices[0] != 2 {
		t.Fatalf("used %v, %+v", ok, result)
	}
	if want := (Stretch{w.Start(), w.Start().Add(30 * time.Hour)}); len(result.Holes) != 1 || !result.Holes[0].From.Equal(want.From) || !result.Holes[0].To.Equal(want.To) {
		t.Errorf("holes %v, want %v", result.Holes, want)
	}
}

// The greatest that was recorded in a step counts, not the last.
func TestRollupKeepsPeaks(t *testing.T) {
	spiky := func(v float64) []promtest.Point {
		points := hourly(3, v)
		extra := points[20]
		extra.Time -= 60_000
		extra.Value = 9 * v
		return slices.Insert(slices.Clone(points), 20, extra)
	}
	s := &promtest.Store{}
	fleetOf(s, "n1", "NVIDIA H100", threeDays, 100)
	record(s, "n1", "NVIDIA H100", spiky, 100)
	result, ok := rolled(t, open(t, s), days(3), `,"aggregateBy":"node","aggregation":"max"`)
	if !ok || len(result.Series) != 1 || slices.Max(result.Series[0].Values) != 900 {
		t.Errorf("used %v, %+v", ok, result)
	}
}

// A cluster that is younger than the range has no hole in its rules.
func TestRollupOfAYoungCluster(t *testing.T) {
	late := func(v float64) []promtest.Point { return hourly(3, v)[30:] }
	s := &promtest.Store{}
	fleetOf(s, "n1", "NVIDIA H100", late, 100)
	record(s, "n1", "NVIDIA H100", late, 100)
	result, ok := rolled(t, open(t, s), days(3), `,"aggregateBy":"node"`)
	if !ok || len(result.Series) != 1 || len(result.Series[0].Values) != 43 {
		t.Errorf("used %v, %+v", ok, result)
	}
}

// Of two replicas the one that was up counts.
func TestRollupOfReplicasWithGaps(t *testing.T) {
	first, second := &promtest.Store{}, &promtest.Store{}
	for i, s := range []*promtest.Store{first, second} {
		part := func(v float64) []promtest.Point {
			if i == 0 {
				return hourly(3, v)[:40]
			}
			return hourly(3, v)[35:]
		}
		fleetOf(s, "n1", "NVIDIA H100", part, 100, 300)
		record(s, "n1", "NVIDIA H100", part, 100, 300)
	}
	h := openAt(t, Endpoint{ID: "a", URL: promtest.Serve(t, first), Replica: true}, Endpoint{ID: "b", URL: promtest.Serve(t, second), Replica: true})
	result, ok := rolled(t, h, days(3), `,"aggregateBy":"node","aggregation":"sum"`)
	if !ok || len(result.Series) != 1 || len(result.Series[0].Values) != 73 {
		t.Fatalf("used %v, %+v", ok, result)
	}
	for i, v := range result.Series[0].Values {
		if v != 400 {
			t.Errorf("point %d is %v", i, v)
		}
	}
}

// Servers that share a cluster and are no replicas may both know a device.
func TestRollupIsNotAddedUpOverServersOfACluster(t *testing.T) {
	var endpoints []Endpoint
	for _, id := range []string{"a", "b"} {
		s := &promtest.Store{}
		fleetOf(s, "n1", "NVIDIA H100", threeDays, 100)
		record(s, "n1", "NVIDIA H100", threeDays, 100)
		endpoints = append(endpoints, Endpoint{ID: id, URL: promtest.Serve(t, s)})
	}
	if result, ok := rolled(t, openAt(t, endpoints...), days(3), `,"aggregateBy":"node"`); ok {
		t.Errorf("used: %+v", result)
	}
	endpoints[1].Cluster = "other"
	result, ok := rolled(t, openAt(t, endpoints...), days(3), `,"aggregateBy":"model","aggregation":"sum"`)
	if !ok || len(result.Series) != 1 || result.Series[0].Values[0] != 200 {
		t.Errorf("two clusters: used %v, %+v", ok, result)
	}
}

// Every rule that is asked for is shipped, and reads what it is thought to.
func TestRollupRulesAreShipped(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "dashboards", "rules", "rollup.rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]string{}
	for _, group := range strings.Split(string(text), "  - name: gpu_rollup_")[1:] {
		name, rest, _ := strings.Cut(group, "\n")
		groups["gpu_"+name] = rest
	}
	known := 0
	for _, m := range mustCatalog(t).Metrics() {
		series := recordedFrom(m.Name)
		if m.Recorded() != (series != nil) {
			t.Errorf("%s is recorded: %v", m.Name, m.Recorded())
		}
		if series == nil {
			continue
		}
		known++
		for _, name := range series {
			if !regexp.MustCompile(`[( ]` + name + `\b`).MatchString(groups[m.Name]) {
				t.Errorf("the rules of %s do not read %s", m.Name, name)
			}
		}
		for _, aggregation := range append(slices.Clone(m.Aggregations), quantileRule) {
			for _, part := range rollupParts(aggregation) {
				for _, level := range []string{levelNode, levelCluster} {
					name := rollupName(m.Name, part, level)
					if !strings.Contains(groups[m.Name], "'"+name+"'") || !regexp.MustCompile("^"+rollupPattern+"$").MatchString(name) {
						t.Errorf("there is no rule %s", name)
					}
				}
			}
		}
	}
	if known != len(groups) {
		t.Errorf("%d metrics have rules, %d groups", known, len(groups))
	}
}

func TestRollupOfMIGNeedsTheDevices(t *testing.T) {
	r := roster{}
	r[keyFor("", "a", "")] = &resident{device: gpu.Device{Identity: gpu.Identity{UUID: "a"}}}
	if r.split() {
		t.Error("a plain GPU is split")
	}
	r[keyFor("", "b", "")] = &resident{device: gpu.Device{Identity: gpu.Identity{UUID: "b"}, MIGEnabled: true}}
	if !r.split() {
		t.Error("a GPU in MIG mode is not split")
	}
}

// What only rules know: lines of namespaces and jobs, and quantiles over devices, of which none is made of others.
func TestRollupOfJobsAndQuantiles(t *testing.T) {
	s := &promtest.Store{}
	fleetOf(s, "n1", "NVIDIA H100", threeDays, 100, 200)
	record(s, "n1", "NVIDIA H100", threeDays, 100, 200)
	s.Add(map[string]string{"__name__": "gpu:power_watts:p95_by_node", "node": "n1", "model": "NVIDIA H100"}, threeDays(195)...)
	for _, job := range []struct {
		namespace, pod, id string
		sum, count, p95    float64
	}{{"ml", "a", "", 100, 1, 100}, {"ml", "b", "", 200, 1, 200}, {"web", "c", "", 50, 2, 25}, {"", "", "42", 70, 1, 70}} {
		for what, v := range map[string]float64{"sum": job.sum, "count": job.count, "max": job.sum, "p95": job.p95} {
			labels := map[string]string{"__name__": "gpu:power_watts:" + what + "_by_job"}
			for name, value := range map[string]string{"namespace": job.namespace, "pod": job.pod, "job_id": job.id} {
				if value != "" {
					labels[name] = value
				}
			}
			s.Add(labels, threeDays(v)...)
		}
	}
	h := open(t, s)
	for _, tc := range []struct {
		extra  string
		want   map[string]float64
		notice string
	}{
		{`,"aggregateBy":"node","aggregation":"p95"`, map[string]float64{"n1": 195}, ""},
		{`,"aggregateBy":"namespace","aggregation":"sum"`, map[string]float64{"ml": 300, "web": 50}, ""},
		{`,"aggregateBy":"namespace","aggregation":"avg"`, map[string]float64{"ml": 150, "web": 25}, ""},
		{`,"aggregateBy":"namespace","aggregation":"sum","namespaces":["web"]`, map[string]float64{"web": 50}, ""},
		{`,"aggregateBy":"job","aggregation":"max"`, map[string]float64{"42": 70}, ""},
		{`,"aggregateBy":"namespace","aggregation":"p95"`, map[string]float64{"web": 25}, "73 points are not shown"},
	} {
		result, ok := rolled(t, h, days(3), tc.extra)
		if !ok || len(result.Series) != len(tc.want) {
			t.Errorf("%s: used %v, %+v", tc.extra, ok, result)
			continue
		}
		for _, one := range result.Series {
			want := tc.want[one.Labels["node"]+one.Labels["namespace"]+one.Labels["job"]]
			if len(one.Values) != 73 || slices.ContainsFunc(one.Values, func(v float64) bool { return v != want }) {
				t.Errorf("%s: %v is %v, want %v", tc.extra, one.Labels, one.Values, want)
			}
		}
		if last := result.Notices[len(result.Notices)-1].Text; tc.notice != "" && !strings.HasPrefix(last, tc.notice) {
			t.Errorf("%s: notice %q", tc.extra, last)
		}
	}
}

func TestEither(t *testing.T) {
	if v := either(math.NaN(), 2, math.Min); v != 2 {
		t.Error(v)
	}
	if v := either(3, math.NaN(), math.Max); v != 3 {
		t.Error(v)
	}
	if v := either(3, 2, math.Min); v != 2 {
		t.Error(v)
	}
}
