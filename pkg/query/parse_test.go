package query

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/warpwatch/warpwatch/pkg/catalog"
)

func mustParse(t testing.TB, raw, queryType string) Query {
	t.Helper()
	q, err := Parse(json.RawMessage(raw), queryType)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return q
}

func TestParseFillsDefaults(t *testing.T) {
	got := mustParse(t, `{"metric":" gpu_power_watts "}`, "")
	want := Query{
		Type: TypeMetric, Metric: "gpu_power_watts", AggregateBy: ByIdentity, Source: SourceAuto, Live: true, Format: FormatTimeSeries,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Scope{})); diff != "" {
		t.Error(diff)
	}
}

func TestParseReadsEveryField(t *testing.T) {
	got := mustParse(t, `{
		"refId":"B","queryType":"metric","schemaVersion":1,"clusters":["north"],"nodes":["n1","/n[23]/"],"gpus":["GPU-1"],"migs":["GPU-1/7"],
		"models":["H200"],"namespaces":["lab"],"pods":["p",""],"jobs":["$__all","1"],"metric":"gpu_power_watts","aggregation":"max",
		"aggregateBy":"node","source":"history","live":false,"format":"table","instant":true,"legend":"{{node}}","minStep":"1m30s",
		"datasource":{"type":"x","uid":"y"},"hide":false,"intervalMs":1000,"maxDataPoints":43,"someNewGrafanaField":[]}`, TypeMetric)
	want := Query{
		RefID: "B", Type: TypeMetric,
		Scope: Scope{
			Clusters: []string{"north"}, Nodes: []string{"n1", "/n[23]/"}, GPUs: []string{"GPU-1"}, MIGs: []string{"GPU-1/7"},
			Models: []string{"H200"}, Namespaces: []string{"lab"}, Pods: []string{"p"},
		},
		Metric: "gpu_power_watts", Aggregation: "max", AggregateBy: ByNode, Source: SourceHistory, Format: FormatTable, Instant: true,
		Legend: "{{node}}", MinStep: 90 * time.Second,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Scope{})); diff != "" {
		t.Error(diff)
	}
}

func TestParseOfPromQLForgetsWhatItDoesNotUse(t *testing.T) {
	got := mustParse(t, `{"expr":"up","metric":"gpu_power_watts","source":"live","aggregation":"max","aggregateBy":"node"}`, TypePromQL)
	if got.Metric != "" || got.Source != SourceHistory || got.Live || got.Aggregation != "" || got.AggregateBy != ByIdentity {
		t.Errorf("got %+v", got)
	}
}

// A panel that comes from Prometheus' own data source brings a field of its own.
func TestParseIgnoresWhatPrometheusDataSourceWrites(t *testing.T) {
	q := mustParse(t, `{"expr":"up","exemplar":true,"range":true,"editorMode":"code"}`, TypePromQL)
	if q.Exemplars {
		t.Error("exemplars were not asked for")
	}
	if got := mustParse(t, `{"expr":"up","exemplars":true,"instant":true}`, TypePromQL); got.Exemplars {
		t.Error("there are none at a time")
	}
	if got := mustParse(t, `{"expr":"up","exemplars":true,"injectScope":true,"nodes":["a"]}`, TypePromQL); !got.Exemplars || !got.InjectScope {
		t.Errorf("%+v", got)
	}
}

func TestParseSaysWhatToChange(t *testing.T) {
	for _, tc := range []struct{ raw, queryType, want string }{
		{`{"metric":"gpu_power_watts"}`, "inventry", `field "queryType": "inventry" is not known; use metric, promql, coverage, inventory, processes, events, bottleneck, health, efficiency, forecast, anomaly, memory, stragglers or topology`},
		{`{"metric":"x","queryType":"Metric"}`, "", `field "queryType": "Metric" is not known; use metric, promql, coverage, inventory, processes, events, bottleneck, health, efficiency, forecast, anomaly, memory, stragglers or topology`},
		{`{}`, "metric", `field "metric": name the metric to show, like "gpu_utilization_ratio"`},
		{`{"expr":"  "}`, "promql", `field "expr": write a PromQL expression`},
		{`{"metric":"x","aggregation":"median"}`, "", `field "aggregation": "median" is not known; use avg, max, min, sum, p50, p95 or p99`},
		{`{"metric":"x","aggregateBy":"rack"}`, "", `field "aggregateBy": "rack" is not known; use identity, node, cluster, model, namespace, pod or job`},
		{`{"metric":"x","source":"prom"}`, "", `field "source": "prom" is not known; use auto, history or live`},
		{`{"metric":"x","format":"heatmap"}`, "", `field "format": "heatmap" is not known; use time_series, table or matrix`},
		{`{"metric":"x","minStep":"soon"}`, "", `field "minStep": "soon" is not a duration; write it like "15s" or "1m"`},
		{`{"metric":"x","minStep":15}`, "", `field "minStep": must be text`},
		{`{"metric":"x","minStep":"100y"}`, "", `field "minStep": "100y" leaves no range more than one point; use at most "1y"`},
		{`{"metric":"x","adhocfilters":[]}`, "", `field "adhocfilters" is not known; did you mean "adhocFilters"?`},
		{`{"expr":"x","injectScope":"yes"}`, "promql", `field "injectScope": must be true or false`},
		{`{"metric":"x","live":"yes"}`, "", `field "live": must be true or false`},
		{`{"metric":"x","nodes":"n1"}`, "", `field "nodes": must be a list of texts, like ["a", "b"]`},
		{`{"metric":"x","nodes":[1]}`, "", `field "nodes": must be a list of texts, like ["a", "b"]`},
		{`{"metric":"x","nodes":["/n[/"]}`, "", "field \"nodes\": \"/n[/\" is not a regular expression: error parsing regexp: missing closing ]: `[`"},
		{`{"metric":"x","nodes":["/a)|(b/"]}`, "", "field \"nodes\": \"/a)|(b/\" is not a regular expression: error parsing regexp: unexpected ): `a)|(b`"},
		{`{"metric":"x","migs":["GPU-1"]}`, "", `field "migs": "GPU-1" names no MIG instance; write "<GPU UUID>/<GPU instance id>", like "GPU-5e1f…/7"`},
		{`{"metric":"x","schemaVersion":2}`, "", `field "schemaVersion": 2 was written by a newer Warpwatch; this one reads up to 1, so update the plugin`},
		{`{"metric":"x","schemaVersion":0}`, "", `field "schemaVersion": 0 does not exist; leave it out or use 1`},
		{`{"metric":"x","schemaVersion":"1"}`, "", `field "schemaVersion": must be a whole number`},
		{`{"metric":"x","node":["n1"]}`, "", `field "node" is not known; did you mean "nodes"?`},
		{`{"metric":"x","aggregateby":"node"}`, "", `field "aggregateby" is not known; did you mean "aggregateBy"?`},
		{`[1]`, "", `the query is a array; it must be a JSON object`},
		{`{"metric":`, "", `the query's JSON ends too early`},
		{``, "", `the query's JSON ends too early`},
		{`{"metric":x}`, "", `the query is not valid JSON: invalid character 'x' looking for beginning of value`},
		{`{"metric":"x"} {}`, "", `the query's JSON has something after its end`},
	} {
		_, err := Parse(json.RawMessage(tc.raw), tc.queryType)
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s (%s):\n got %v\nwant %s", tc.raw, tc.queryType, err, tc.want)
		}
	}
	many, err := json.Marshal(map[string]any{"metric": "x", "nodes": make([]string, MaxValues+1)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(many, ""); err == nil || !strings.Contains(err.Error(), "has 10001 values; at most 10000") {
		t.Errorf("too many values: %v", err)
	}
}

// Ten megabytes in a field cost nothing, and no message repeats them.
func TestParseRefusesWhatNobodyWrites(t *testing.T) {
	long := strings.Repeat("a", 10_000_000)
	for raw, want := range map[string]string{
		`{"metric":"` + long + `"}`:                                `field "metric": "aaa`,
		`{"metric":"x","legend":"` + long + `"}`:                   `field "legend": "aaa`,
		`{"metric":"x","minStep":"` + long + `"}`:                  `field "minStep": "aaa`,
		`{"metric":"x","source":"` + long + `"}`:                   `field "source": "aaa`,
		`{"metric":"x","nodes":["` + long + `"]}`:                  `field "nodes": "aaa`,
		`{"queryType":"promql","expr":"` + long + `"}`:             `field "expr": "aaa`,
		`{"metric":"x","queryType":"` + long[:1000] + `"}`:         `field "queryType": "aaa`,
		`{"metric":"x","nodes":["/(` + long[:50_000] + `/"]}`:      `field "nodes": "/(aaa`,
		`{"metric":"x","nodes":["\ud800"]}`:                        `field "nodes": "` + "\ufffd" + `" holds characters that are not Unicode; remove them`,
		`{"queryType":"promql","expr":"up{a=\"` + "\xff" + `\"}"}`: `holds characters that are not Unicode`,
	} {
		_, err := Parse(json.RawMessage(raw), "")
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 600 {
			t.Errorf("%.60s: got %.200v, want %s", raw, err, want)
		}
	}
}

func TestMetricIn(t *testing.T) {
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ raw, want string }{
		{`{"metric":"gpu_utilisation_ratio"}`, `field "metric": "gpu_utilisation_ratio" is not known; did you mean "gpu_utilization_ratio"?`},
		{`{"metric":"DCGM_FI_DEV_FB_USED"}`, `field "metric": "DCGM_FI_DEV_FB_USED" is not known; did you mean "gpu_memory_used_bytes"?`},
		{`{"metric":"zz"}`, `field "metric": "zz" is not known; choose one from the query editor's list`},
		{`{"metric":"gpu_utilization_ratio","aggregation":"sum","aggregateBy":"node"}`, `field "aggregation": sum of gpu_utilization_ratio says nothing; use avg, max or min`},
	} {
		_, err := mustParse(t, tc.raw, "").MetricIn(c)
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s:\n got %v\nwant %s", tc.raw, err, tc.want)
		}
	}
	q := mustParse(t, `{"metric":"gpu_power_watts","aggregateBy":"node"}`, "")
	m, err := q.MetricIn(c)
	if err != nil || m.Name != "gpu_power_watts" || q.AggregationOf(m) != "sum" {
		t.Errorf("got %s, %s, %v", m.Name, q.AggregationOf(m), err)
	}
}

func TestCanonicalIsOneForm(t *testing.T) {
	a := mustParse(t, `{"refId":"A","metric":"gpu_power_watts","nodes":["b","a","b"],"live":true,"aggregateBy":"identity","minStep":"60s"}`, "metric")
	b := mustParse(t, `{"minStep":"1m","nodes":["a","b"],"refId":"Z","queryType":"metric","schemaVersion":1,"metric":"gpu_power_watts","expr":"up"}`, "")
	want := `{"queryType":"metric","schemaVersion":1,"nodes":["a","b"],"metric":"gpu_power_watts","minStep":"1m"}`
	if string(a.Canonical()) != want || string(b.Canonical()) != want {
		t.Errorf("got  %s\nand  %s\nwant %s", a.Canonical(), b.Canonical(), want)
	}
	if a.Hash() != b.Hash() || len(a.Hash()) != 32 {
		t.Errorf("hashes %s, %s", a.Hash(), b.Hash())
	}
	c := mustParse(t, `{"metric":"gpu_power_watts","nodes":["a"]}`, "")
	if c.Hash() == a.Hash() {
		t.Error("another scope, the same hash")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"metric":"gpu_power_watts","nodes":["/a|b/","c"],"migs":["GPU-1/0"],"minStep":"15s"}`), "metric")
	f.Add([]byte(`{"expr":"sum(rate(x{$__gpu_filter}[$__rate_interval]))"}`), "promql")
	f.Add([]byte(`{"metric":"x","live":null,"schemaVersion":1e0}`), "")
	f.Fuzz(func(t *testing.T, raw []byte, queryType string) {
		q, err := Parse(raw, queryType)
		if err != nil {
			return
		}
		text := q.Canonical()
		again, err := Parse(text, "")
		if err != nil {
			t.Fatalf("the canonical form %s does not parse: %v", text, err)
		}
		if string(again.Canonical()) != string(text) {
			t.Fatalf("the canonical form changes:\n%s\n%s", text, again.Canonical())
		}
	})
}
