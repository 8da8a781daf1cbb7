package history

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// ticking is a counter that grows by perSecond, every 15 seconds for twenty minutes.
func ticking(perSecond float64) []promtest.Point {
	var points []promtest.Point
	for at := int64(-600); at <= 600; at += 15 {
		points = append(points, promtest.Point{Time: (t0 + at) * 1000, Value: perSecond * float64(at+600)})
	}
	return points
}

// serving adds what a server of models writes: requests[i] is how many a second take up to bounds[i] seconds.
func serving(s *promtest.Store, dialect string, labels map[string]string, bounds []string, requests []float64) {
	with := func(name string, more ...string) map[string]string {
		all := map[string]string{"__name__": name}
		for k, v := range labels {
			all[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	total, sum := 0.0, 0.0
	for i, bound := range bounds {
		total += requests[i]
		if upper, err := strconv.ParseFloat(bound, 64); err == nil && !math.IsInf(upper, 1) {
			sum += requests[i] * upper
		}
		s.Add(with(dialect+":time_to_first_token_seconds_bucket", "le", bound), ticking(total)...)
	}
	s.Add(with(dialect+":time_to_first_token_seconds_sum"), ticking(sum)...)
	s.Add(with(dialect+":time_to_first_token_seconds_count"), ticking(total)...)
	s.Add(with(dialect+":prompt_tokens_total"), ticking(1000*total)...)
	switch dialect {
	case "vllm":
		s.Constant(with("vllm:num_requests_running"), 4)
		s.Constant(with("vllm:kv_cache_usage_perc"), 0.5)
		s.Add(with("vllm:request_success_total", "finished_reason", "stop"), ticking(total-1)...)
		s.Add(with("vllm:request_success_total", "finished_reason", "length"), ticking(1)...)
	case "sglang":
		s.Constant(with("sglang:num_running_reqs"), 6)
		s.Constant(with("sglang:token_usage"), 0.25)
		s.Add(with("sglang:num_requests_total"), ticking(total)...)
	}
}

func servers() *promtest.Store {
	s := &promtest.Store{}
	serving(s, "vllm", map[string]string{
		"model_name": "llama", "engine": "0", "namespace": "lab", "pod": "vllm-0", "instance": "10.1.0.1:8000", "job": "pods",
	}, []string{"0.1", "1", "+Inf"}, []float64{8, 2, 0})
	serving(s, "sglang", map[string]string{
		"model_name": "qwen", "namespace": "lab", "pod": "sglang-0", "instance": "10.1.0.2:30000", "job": "pods",
	}, []string{"0.2", "2", "+Inf"}, []float64{9, 1, 0})
	return s
}

// shown are the last values by their labels.
func shown(result Result) map[string]float64 {
	values := map[string]float64{}
	for _, s := range result.Series {
		var parts []string
		for name, value := range s.Labels {
			parts = append(parts, name+"="+value)
		}
		slices.Sort(parts)
		values[strings.Join(parts, " ")] = math.Round(s.Values[len(s.Values)-1]*1e6) / 1e6
	}
	return values
}

const (
	vllm   = "cluster=north model=llama namespace=lab pod=vllm-0 rank=0"
	sglang = "cluster=north model=qwen namespace=lab pod=sglang-0"
)

func TestServersOfTwoKindsOnOnePage(t *testing.T) {
	h := open(t, servers())
	for metric, want := range map[string]map[string]float64{
		"serve_ttft_seconds":        {vllm: 0.775, sglang: 1.1},
		"serve_requests_running":    {vllm: 4, sglang: 6},
		"serve_requests_total":      {vllm: 10, sglang: 10},
		"serve_prompt_tokens_total": {vllm: 10000, sglang: 10000},
		"serve_kv_cache_ratio":      {vllm: 0.5, sglang: 0.25},
	} {
		result := ask(t, h, metric, "")
		if got := shown(result); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v\nwant %v\n%s\n%v", metric, got, want, result.Executed, result.Notices)
		}
		wantQuiet(t, result)
		for _, s := range result.Series {
			if s.Device.UUID != "" || len(s.Times) != 11 {
				t.Errorf("%s: %+v", metric, s)
			}
		}
	}
}

func TestWorkloadsTogether(t *testing.T) {
	h := open(t, servers())
	for scope, want := range map[string]map[string]float64{
		// 17 of 20 requests are within 0.2 s but for those of vLLM that are between 0.1 and 0.2: 8 + 2/9 + 9. The rest to
		// 0.95 × 20 is between 0.2 and 1, where vLLM has 2 × 8/9 and SGLang 0.8/1.8.
		`"aggregateBy":"cluster"`:                                         {"cluster=north": 0.2 + 0.8*(19-17-2.0/9)/(2*8.0/9+0.8/1.8)},
		`"aggregateBy":"namespace","aggregation":"avg"`:                   {"cluster=north namespace=lab": (8*0.1 + 2 + 9*0.2 + 2) / 20},
		`"aggregateBy":"model"`:                                           {"model=llama": 0.775, "model=qwen": 1.1},
		`"aggregateBy":"pod","models":["qwen"]`:                           {"cluster=north namespace=lab pod=sglang-0": 1.1},
		`"aggregation":"avg"`:                                             {vllm: 0.28, sglang: 0.38},
		`"aggregation":"p50"`:                                             {vllm: 0.0625, sglang: 0.2 * 5 / 9},
		`"pods":["vllm-0"]`:                                               {vllm: 0.775},
		`"namespaces":["lab"],"models":["/q.*/"]`:                         {sglang: 1.1},
		`"nodes":["10.1.0.2"]`:                                            {},
		`"adhocFilters":[{"key":"pod","operator":"!=","value":"vllm-0"}]`: {sglang: 1.1},
	} {
		result := ask(t, h, "serve_ttft_seconds", scope)
		for name, v := range want {
			want[name] = math.Round(v*1e6) / 1e6
		}
		if got := shown(result); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v\nwant %v\n%s\n%v", scope, got, want, result.Executed, result.Notices)
		}
	}
	sum := ask(t, h, "serve_requests_running", `"aggregateBy":"cluster"`)
	if got := shown(sum)["cluster=north"]; got != 10 {
		t.Errorf("running: got %v", got)
	}
	highest := ask(t, h, "serve_kv_cache_ratio", `"aggregateBy":"cluster"`)
	if got := shown(highest)["cluster=north"]; got != 0.5 {
		t.Errorf("cache: got %v", got)
	}
}

func TestWorkloadsInATable(t *testing.T) {
	h := open(t, servers())
	result := askOver(t, h, "serve_requests_total", `"instant":true`, window(600, time.Minute))
	if got := shown(result); got[vllm] != 10 || len(result.Series[0].Times) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestWorkloadsSayWhatIsMissing(t *testing.T) {
	h := open(t, servers())
	wantNotice(t, ask(t, h, "serve_prefill_seconds", "").Notices, "Nothing reports serve_prefill_seconds: none of its series (vllm:request_prefill_time_seconds_bucket")
	wantNotice(t, ask(t, h, "serve_ttft_seconds", `"pods":["no-such"]`).Notices, "No server or job of the selection has serve_ttft_seconds in this range.")
	gpus := ask(t, h, "serve_ttft_seconds", `"gpus":["GPU-1"]`)
	wantNotice(t, gpus.Notices, "the selection of GPUs does not narrow it")
	if len(gpus.Series) != 2 {
		t.Errorf("got %v", shown(gpus))
	}
}

// The newer name counts where a server writes both, and one server that was upgraded is one line.
func TestServerIsUpgraded(t *testing.T) {
	s := &promtest.Store{}
	labels := func(name string) map[string]string {
		return map[string]string{"__name__": name, "model_name": "m", "pod": "p", "namespace": "n", "instance": "10.1.0.1:8000"}
	}
	var before, after []promtest.Point
	for at := int64(0); at <= 600; at += 15 {
		p := promtest.Point{Time: (t0 + at) * 1000, Value: 0.25}
		if at < 300 {
			before = append(before, p)
		} else {
			after = append(after, p)
		}
	}
	before = append(before, promtest.Point{Time: (t0 + 300) * 1000, Value: promtest.Stale()})
	s.Add(labels("vllm:gpu_cache_usage_perc"), before...)
	s.Add(labels("vllm:kv_cache_usage_perc"), after...)
	result := ask(t, open(t, s), "serve_kv_cache_ratio", "")
	if len(result.Series) != 1 || len(result.Series[0].Times) != 11 {
		t.Fatalf("got %v\n%s", shown(result), result.Executed)
	}
	for _, v := range result.Series[0].Values {
		if v != 0.25 {
			t.Errorf("got %v", result.Series[0].Values)
		}
	}
}

// Two ranks of a job, on hosts without pods; one address of each is another process.
func TestTrainingJobs(t *testing.T) {
	s := &promtest.Store{}
	for rank, loss := range []float64{2, 4} {
		s.Constant(map[string]string{
			"__name__": "train_loss", "job_id": "77", "rank": strconv.Itoa(rank), "instance": "gpu-01:940" + strconv.Itoa(rank), "job": "train",
		}, loss)
	}
	h := open(t, s)
	each := ask(t, h, "train_loss", "")
	want := map[string]float64{
		"cluster=north instance=gpu-01:9400 job=77 node=gpu-01 rank=0": 2, "cluster=north instance=gpu-01:9401 job=77 node=gpu-01 rank=1": 4,
	}
	if got := shown(each); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\n%v", got, each.Notices)
	}
	if got := shown(ask(t, h, "train_loss", `"aggregateBy":"job","jobs":["77"]`)); got["cluster=north job=77"] != 3 {
		t.Errorf("got %v", got)
	}
	if got := shown(ask(t, h, "train_loss", `"nodes":["gpu-01"]`)); len(got) != 2 {
		t.Errorf("got %v", got)
	}
}

func TestNativeHistogramsAreAsked(t *testing.T) {
	h := openAt(t)
	m, _ := mustCatalog(t).Metric("serve_ttft_seconds")
	words := vocabulary{series: map[string]bool{"vllm:time_to_first_token_seconds": true}, workload: []string{"pod"}}
	for aggregation, want := range map[string]string{
		"p95": `label_replace(histogram_quantile(0.95,sum by (job, pod) (rate({__name__="vllm:time_to_first_token_seconds"}[4m]))),"warpwatch_source","vllm:time_to_first_token_seconds","","")`,
		"avg": `label_replace(histogram_sum(sum by (job, pod) (rate({__name__="vllm:time_to_first_token_seconds"}[4m]))),"warpwatch_source","vllm:time_to_first_token_seconds_sum","","") or ` +
			`label_replace(histogram_count(sum by (job, pod) (rate({__name__="vllm:time_to_first_token_seconds"}[4m]))),"warpwatch_source","vllm:time_to_first_token_seconds_count","","")`,
	} {
		p := h.workloadPlan(words, query.Query{Aggregation: aggregation, AggregateBy: query.ByIdentity}, m, []string{""}, window(600, time.Minute))
		if got := strings.Join(p.exprs, " or "); got != want {
			t.Errorf("%s: got %s\nwant %s", aggregation, got, want)
		}
	}
}

// Every expression that may be sent is one that Prometheus reads.
func TestWorkloadExpressionsAreValid(t *testing.T) {
	h := openAt(t)
	c := mustCatalog(t)
	words := vocabulary{series: map[string]bool{}, labels: c.IdentityLabels(), workload: c.WorkloadLabels()}
	for _, m := range c.Metrics() {
		for _, s := range m.Sources {
			words.series[s.Series], words.series[strings.TrimSuffix(s.Series, bucketEnding)] = true, true
		}
	}
	scope := scopeOf(t, `"pods":["a","/b.*/"],"models":["m"],"nodes":["n1"],"namespaces":["x\"y"]`)
	count := 0
	check := func(expr string) {
		t.Helper()
		count++
		if _, err := parser.NewParser(parser.Options{}).ParseExpr(expr); err != nil {
			t.Errorf("%v\n%s", err, expr)
		}
	}
	for _, m := range c.Metrics() {
		if m.Subject != catalog.SubjectWorkload {
			continue
		}
		for _, aggregation := range m.Aggregations {
			for _, by := range []string{query.ByIdentity, query.ByModel} {
				p := h.workloadPlan(words, query.Query{Aggregation: aggregation, AggregateBy: by}, m, h.workloadMatchers(scope, words), window(600, time.Minute))
				if len(p.exprs) == 0 {
					continue // nobody writes it yet
				}
				check(strings.Join(p.exprs, " or "))
			}
		}
	}
	check(h.resolvable(words).expr(words))
	if count < 100 {
		t.Errorf("only %d expressions", count)
	}
}
