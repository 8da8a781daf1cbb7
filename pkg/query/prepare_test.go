package query

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

// prepare expands and injects as history does.
func prepare(t testing.TB, q Query) (Prepared, error) {
	t.Helper()
	return macros(t, q.Scope).Prepare(q)
}

func prepared(t testing.TB, raw string) Prepared {
	t.Helper()
	p, err := prepare(t, mustParse(t, raw, TypePromQL))
	require.NoError(t, err, raw)
	require.NoError(t, p.Err, raw)
	return p
}

func TestPrepareLeavesTheTextAlone(t *testing.T) {
	const expr = "sum(rate( DCGM_FI_DEV_PCIE_REPLAY_COUNTER[5m] )) # mine"
	for _, more := range []string{
		``, `,"nodes":["a"]`, `,"injectScope":true`, `,"injectScope":true,"clusters":["north"]`, `,"injectScope":false,"nodes":["a"]`,
	} {
		require.Equal(t, expr, prepared(t, `{"expr":"`+expr+`"`+more+`}`).Text, more)
	}
}

func TestTheScopeIsInjected(t *testing.T) {
	for expr, want := range map[string]string{
		`DCGM_FI_DEV_GPU_UTIL`: `DCGM_FI_DEV_GPU_UTIL{Hostname=~"n1|",hostname=~"n1|"}`,
		`max by (gpu) (DCGM_FI_DEV_GPU_UTIL{job="x"}) / on () group_left () up`: `max by (gpu) (DCGM_FI_DEV_GPU_UTIL` +
			`{Hostname=~"n1|",hostname=~"n1|",job="x"}) / on () group_left () up`,
		`rate(gpu_energy_joules_total[5m] @ end() offset 1h)`:                `rate(gpu_energy_joules_total{node=~"n1"}[5m] @ end() offset 1h)`,
		`max_over_time(rate(gpu_energy_joules_total[5m])[1h:1m] offset -5m)`: `max_over_time(rate(gpu_energy_joules_total{node=~"n1"}[5m])[1h:1m] offset -5m)`,
		`nvidia_smi_power_draw_watts # watts`:                                `nvidia_smi_power_draw_watts{instance=~"(?:n1)(:[0-9]+)?"}`,
		`{__name__=~"DCGM_FI_DEV_.*_UTIL"}`:                                  `{Hostname=~"n1|",__name__=~"DCGM_FI_DEV_.*_UTIL",hostname=~"n1|"}`,
		`kube_pod_info * on (node) group_left () gpu_power_watts`:            `kube_pod_info * on (node) group_left () gpu_power_watts{node=~"n1"}`,
		`gpu_power_watts{node="n1"} == 0`:                                    `gpu_power_watts{node="n1",node=~"n1"} == 0`,
		`gpu_power_watts{$__gpu_filter} / gpu_power_limit_watts`:             `gpu_power_watts{node=~"n1"} / gpu_power_limit_watts`,
		`gpu:power:watts`:                                                  `gpu:power:watts{node=~"n1"}`,
		`-timestamp(gpu_power_watts) + 5m`:                                 `-timestamp(gpu_power_watts{node=~"n1"}) + 5m`,
		`info(gpu_power_watts, {__name__="gpu_info"})`:                     `info(gpu_power_watts{node=~"n1"}, {__name__="gpu_info"})`,
		`quantile_over_time(0.5, gpu_power_watts[$__range])`:               `quantile_over_time(0.5, gpu_power_watts{node=~"n1"}[1h])`,
		`label_replace(gpu_power_watts, "x", "a\"b\\n", "node", "(.*)")`:   `label_replace(gpu_power_watts{node=~"n1"}, "x", "a\"b\\n", "node", "(.*)")`,
		`count(gpu_power_watts) by () > bool 2 or absent(gpu_power_watts)`: `count(gpu_power_watts{node=~"n1"}) > bool 2 or absent(gpu_power_watts{node=~"n1"})`,
		`topk(scalar(count(gpu_power_watts)), up)`:                         `topk(scalar(count(gpu_power_watts{node=~"n1"})), up)`,
	} {
		raw, err := json.Marshal(map[string]any{"expr": expr, "nodes": []string{"n1"}, "injectScope": true})
		require.NoError(t, err)
		require.Equal(t, want, prepared(t, string(raw)).Text)
	}
	// Every series has an address; it names the node of those that nothing else does.
	p := prepared(t, `{"expr":"all_smi_gpu_utilization","nodes":["n1"],"injectScope":true}`)
	require.Equal(t, `(all_smi_gpu_utilization{host=~"n1"} or all_smi_gpu_utilization{host="",instance=~"(?:n1)(:[0-9]+)?"})`, p.Text)
	p = prepared(t, `{"expr":"all_smi_gpu_utilization{$__gpu_filter}","nodes":["n1"]}`)
	require.Equal(t, `all_smi_gpu_utilization{host=~"n1|"}`, p.Text)
	p = prepared(t, `{"expr":"gpu_power_watts + up + up + {job=\"a\"}","nodes":["n1"],"injectScope":true}`)
	require.Equal(t, `Not restricted to the scope, because these are not known to be series of GPUs: up, {job="a"}.`, p.Notices[0].Text)
}

func TestTheScopeOfOwnersIsInjected(t *testing.T) {
	q := mustParse(t, `{"expr":"rate(DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION[5m])","pods":["p1","/q.*/"],"namespaces":["lab"],"injectScope":true}`, TypePromQL)
	p, err := prepare(t, q)
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(p.Text, "rate("))
	for _, want := range []string{
		`exported_namespace=~"lab",exported_pod!="",exported_pod!~`, `exported_pod=~"(p1|(?:q.*))"`,
		`exported_pod="",namespace=~"lab",pod!=""`, `exported_pod="",pod="",pod_name!=""`,
	} {
		require.Contains(t, p.Text, want)
	}
	q.Expr = "DCGM_FI_DEV_GPU_TEMP"
	q.Scope, err = Scope{Jobs: []string{"7"}}.Compile()
	require.NoError(t, err)
	p, err = prepare(t, q)
	require.NoError(t, err)
	require.Equal(t, `(DCGM_FI_DEV_GPU_TEMP{hpc_job=~"7"} or (DCGM_FI_DEV_GPU_TEMP{hpc_job="",slurm_job_id=~"7"} or `+
		`DCGM_FI_DEV_GPU_TEMP{hpc_job="",slurm_job=~"7",slurm_job_id=""}))`, p.Text)
	for raw, want := range map[string]string{
		`{"expr":"gpu_power_watts","pods":["p"],"injectScope":true}`: `field "injectScope": gpu_power_watts does not tell namespaces, pods and ` +
			`jobs; take a metric query, which knows them from elsewhere`,
		`{"expr":"DCGM_FI_DEV_GPU_TEMP","pods":["unassigned"],"injectScope":true}`: `field "injectScope": "unassigned" cannot be told by the ` +
			`labels of a series; take a metric query`,
		`{"expr":"absent(DCGM_FI_DEV_GPU_TEMP)","pods":["p"],"injectScope":true}`: `field "expr": absent() cannot be restricted to this many ` +
			`values or to owners; use fewer`,
		`{"expr":"DCGM_FI_DEV_GPU_TEMP[5m]","pods":["p"],"injectScope":true}`: `field "expr": a range that is not in a function cannot be ` +
			`restricted to this many values or to owners; use fewer`,
	} {
		_, err := prepare(t, mustParse(t, raw, TypePromQL))
		require.EqualError(t, err, want)
	}
	p = prepared(t, `{"expr":"DCGM_FI_DEV_GPU_TEMP{$__gpu_filter}","pods":["p"]}`)
	require.Contains(t, p.Notices[0].Text, "$__gpu_filter does not select by namespace, pod or job")
}

func TestFiltersAreInjected(t *testing.T) {
	for filter, want := range map[string]string{
		`"key":"node","operator":"=","value":"a\"b\\c"`:                   `up{node="a\"b\\c"}`,
		`"key":"node","operator":"!=","value":""`:                         `up{node!=""}`,
		`"key":"node","operator":"=","value":""`:                          `up{node=""}`,
		`"key":"node","operator":"=~","value":"a.*|b"`:                    `up{node=~"a.*|b"}`,
		`"key":"node","operator":"!~","value":"a\\.b"`:                    `up{node!~"a\\.b"}`,
		`"key":"node","operator":"=|","values":["d.e.f","eh|tnt_de_(p)"]`: `up{node=~"d\\.e\\.f|eh\\|tnt_de_\\(p\\)"}`,
		`"key":"node","operator":"!=|","values":["x","/re.*/"]`:           `up{node!~"/re\\.\\*/|x"}`,
		`"key":"k8s.node.name","operator":"=","value":"x"`:                `up{"k8s.node.name"="x"}`,
		`"key":"étiquette","operator":"=","value":"oui 🤘"`:                `up{"étiquette"="oui 🤘"}`,
		`"key":"__name__","operator":"=~","value":"u.*"`:                  `{__name__="up",__name__=~"u.*"}`,
	} {
		require.Equal(t, want, prepared(t, `{"expr":"up","adhocFilters":[{`+filter+`}]}`).Text)
	}
	require.Equal(t, `sum(rate({__name__="gpu.x",a="1",b!="2"}[5m])) / sum(up{a="1",b!="2"})`, prepared(t,
		`{"expr":"sum(rate({\"gpu.x\"}[5m]))/sum(up)","adhocFilters":[{"key":"b","operator":"!=","value":"2"},{"key":"a","value":"1"}]}`).Text)
	require.Equal(t, `DCGM_FI_DEV_GPU_UTIL{Hostname=~"n1|",a="1",hostname=~"n1|"} / up{a="1"}`, prepared(t,
		`{"expr":"DCGM_FI_DEV_GPU_UTIL/up","nodes":["n1"],"injectScope":true,"adhocFilters":[{"key":"a","value":"1"}]}`).Text)
	_, err := prepare(t, mustParse(t, `{"expr":"WITH (x = up) x","adhocFilters":[{"key":"a","value":"1"}]}`, TypePromQL))
	require.ErrorContains(t, err, `field "expr": column 9, at "=": unexpected "="`)
	require.ErrorContains(t, err, "(filters can only be added to what Prometheus' parser accepts)")
	_, err = prepare(t, mustParse(t, `{"expr":"`+strings.Repeat("(", 1500)+"up"+strings.Repeat(")", 1500)+
		`","adhocFilters":[{"key":"a","value":"1"}]}`, TypePromQL))
	require.EqualError(t, err, `field "expr": it is nested too deeply to add filters to it; make it shorter`)
}

// Each label value of the captured answers selects the series that has it and no other.
func TestFiltersOfAnyValueSelectIt(t *testing.T) {
	text, err := os.ReadFile("testdata/label_values.json")
	require.NoError(t, err)
	var answer struct {
		Data struct {
			Result []struct{ Metric map[string]string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &answer))
	for _, r := range answer.Data.Result {
		for name, value := range r.Metric {
			for _, f := range []Filter{{name, opEqual, []string{value}}, {name, opOneOf, []string{"other", value}}} {
				p, err := prepare(t, Query{Expr: `{job=~".+"}`, Filters: []Filter{f}})
				require.NoError(t, err)
				expr, err := parsePromQL(p.Text)
				require.NoError(t, err, p.Text)
				matchers := expr.(*parser.VectorSelector).LabelMatchers
				m := matchers[len(matchers)-1]
				if m.Name != name || m.Value == ".+" {
					m = matchers[0]
				}
				require.True(t, m.Matches(value), p.Text)
				require.False(t, m.Matches(value+"x"), p.Text)
			}
		}
	}
}

func TestAllOfAVariableSelectsAll(t *testing.T) {
	require.Equal(t, `up{node=~".*"}`, prepared(t, `{"expr":"up{node=~\"$__all\"}","nodes":["$__all"],"injectScope":true}`).Text)
}

func TestThousandsOfValuesStayComparisonsOfText(t *testing.T) {
	values, nodes := make([]string, 5000), make([]string, 5000)
	for i := range values {
		values[i] = fmt.Sprintf("gpu-%04d", i)
		nodes[i] = fmt.Sprintf("gpu-%04d.rack-7.cluster.example.com", i)
	}
	// Without special characters no regular expression is read at all: the values are looked up.
	literal := RegexText(values)
	m, err := labels.NewFastRegexMatcher(literal)
	require.NoError(t, err)
	require.True(t, m.IsOptimized())
	require.True(t, m.MatchString("gpu-4999"))
	require.False(t, m.MatchString("gpu-49999"))
	allocs := testing.AllocsPerRun(1, func() { _, _ = labels.NewFastRegexMatcher(literal) })
	require.Less(t, allocs, 1000.0, "a regular expression was compiled")
	// Prometheus keeps a list of values to look up in its index up to 255 of them.
	few, err := labels.NewFastRegexMatcher(RegexText(values[:255]))
	require.NoError(t, err)
	require.Len(t, few.SetMatches(), 255)

	p, err := prepare(t, Query{Expr: "rate(gpu_energy_joules_total[5m])", Filters: []Filter{{"node", opOneOf, nodes}}})
	require.NoError(t, err)
	expr, err := parsePromQL(p.Text)
	require.NoError(t, err)
	selectors := parser.ExtractSelectors(expr)
	require.Len(t, selectors, 1)
	for _, m := range selectors[0] {
		if m.Name == "node" {
			require.True(t, m.IsRegexOptimized())
			require.True(t, m.Matches(nodes[4999]))
			require.False(t, m.Matches(strings.ReplaceAll(nodes[4999], ".", "x")))
		}
	}
}

func TestManyLongValuesAreSeveralSelectors(t *testing.T) {
	values := make([]string, MaxValues)
	for i := range values {
		values[i] = fmt.Sprintf("%s-%05d.example.com", strings.Repeat("n", 60), i)
	}
	for expr, want := range map[string]int{"rate(x[5m])": 4, "timestamp(x) > 5 + sum(y)": 8} {
		p, err := prepare(t, Query{Expr: expr, Filters: []Filter{{"node", opOneOf, values}}})
		require.NoError(t, err)
		parsed, err := parsePromQL(p.Text)
		require.NoError(t, err)
		selectors, found := parser.ExtractSelectors(parsed), 0
		require.Len(t, selectors, want, expr)
		for _, selector := range selectors {
			for _, m := range selector {
				if m.Name == "node" && m.Matches(values[7777]) {
					found++
				}
				require.LessOrEqual(t, len(m.Value), maxRegex)
			}
		}
		require.Equal(t, want/4, found, expr)
	}
	p, err := prepare(t, Query{Expr: "x", Filters: []Filter{{"node", opNoneOf, values}}})
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(p.Text, "node!~"))
}

func FuzzPrepare(f *testing.F) {
	f.Add("rate(x{$__gpu_filter}[${__rate_interval}])", "n1", "k", "=", "v", true)
	f.Add("sum by (a) (DCGM_FI_DEV_GPU_UTIL @ start() offset 5m) or {\"gpu.x\",a!~\"b\"}[5m:]", "/a|b/", "k8s.node", "!~", "a|b", true)
	f.Add("-timestamp((gpu_x)) ^ 2 + 1e300 * (up == bool 1)", "a\"b", "__name__", "=|", "\x00\n", true)
	f.Add("absent_over_time(up[5m] anchored) unless on () vector(NaN)", "", "a", "!=|", "", false)
	f.Add("info(gpu_a, {b=~\".+\"}) + fill(0) gpu_c smoothed", "n", "a", "=~", "(", true)
	f.Add("limitk(5, gpu_a) - step() % (5m + 3)", "n", "a", "=~", "x", true)
	f.Add("gpu_a offset (step() * 2)", "n", "a", "=", "x", true)
	base := macros(f, Scope{})
	f.Fuzz(func(t *testing.T, expr, node, key, op, value string, inject bool) {
		m, raw := base, map[string]any{"expr": expr, "injectScope": inject, "adhocFilters": []map[string]any{
			{"key": key, "operator": op, "value": value, "values": []string{value, "b"}},
		}}
		if node != "" {
			raw["nodes"] = []string{node}
		}
		text, err := json.Marshal(raw)
		if err != nil {
			t.Skip("not every value has a form in JSON")
		}
		q, err := Parse(text, TypePromQL)
		if err != nil {
			return
		}
		m.Scope = q.Scope
		p, err := m.Prepare(q)
		if err != nil || p.Err != nil {
			return
		}
		again, err := parsePromQL(p.Text)
		if err != nil {
			t.Fatalf("%q became %q: %v", q.Expr, p.Text, err)
		}
		want, err := matchersOfFilters(q.Filters)
		if err != nil || len(want) != 1 {
			return
		}
		parser.Inspect(again, func(n parser.Node, _ []parser.Node) error {
			selector, ok := n.(*parser.VectorSelector)
			if !ok || selector.BypassEmptyMatcherCheck {
				return nil
			}
			for _, w := range want[0] {
				found := false
				for _, has := range selector.LabelMatchers {
					found = found || same(has, w)
				}
				if !found {
					t.Fatalf("%q became %q: %s lacks %s", q.Expr, p.Text, selector, w)
				}
			}
			return nil
		})
	})
}
