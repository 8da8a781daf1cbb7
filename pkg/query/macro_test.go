package query

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
)

func macros(t testing.TB, scope Scope) Macros {
	t.Helper()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return Macros{
		Window: NewWindow(WindowOptions{From: at(1793400000), To: at(1793400000 + 3600), MaxDataPoints: 100}), Scope: scope, Catalog: c,
	}
}

func TestExpand(t *testing.T) {
	node := Scope{Nodes: []string{"gpu-01", "a.b"}}
	for _, tc := range []struct {
		scope      Scope
		expr, want string
	}{
		{Scope{}, "rate(x[$__rate_interval])", "rate(x[1m15s])"},
		{Scope{}, "x[$__interval] $__interval_ms ${__interval} ${__interval_ms} ${__interval:raw}", "x[1m] 60000 1m 60000 1m"},
		{Scope{}, "x[$__range] $__range_s $__range_ms ${__range}", "x[1h] 3600 3600000 1h"},
		{Scope{}, "$__rate_interval_ms", "75000"},
		{Scope{}, "$interval $ __x $1 100$", "$interval $ __x $1 100$"},
		{Scope{}, `label_replace(x, "a", "$1-${2}", "b", "(.*)")`, `label_replace(x, "a", "$1-${2}", "b", "(.*)")`},
		{Scope{}, "gpu_power_watts{$__gpu_filter}", `gpu_power_watts{node=~".*"}`},
		{node, "gpu_power_watts{$__gpu_filter}", `gpu_power_watts{node=~"(gpu-01|a\\.b)"}`},
		{node, "x{job=\"y\", ${__gpu_filter}}", `x{job="y", node=~"(gpu-01|a\\.b)"}`},
		{node, "DCGM_FI_DEV_GPU_UTIL {$__gpu_filter}", `DCGM_FI_DEV_GPU_UTIL {hostname=~"(gpu-01|a\\.b)|",Hostname=~"(gpu-01|a\\.b)|"}`},
		{node, `{__name__="DCGM_FI_DEV_GPU_UTIL",$__gpu_filter}`, `{__name__="DCGM_FI_DEV_GPU_UTIL",hostname=~"(gpu-01|a\\.b)|",Hostname=~"(gpu-01|a\\.b)|"}`},
		{node, "nvidia_smi_power_draw_watts{$__gpu_filter}", `nvidia_smi_power_draw_watts{instance=~"(gpu-01|a\\.b)(:[0-9]+)?"}`},
		{Scope{Nodes: []string{"/n1|n2/"}}, "nvidia_smi_x{$__gpu_filter}", `nvidia_smi_x{instance=~"(?:n1|n2)(:[0-9]+)?"}`},
		{Scope{GPUs: []string{"GPU-1", "GPU-2"}}, "gpu_power_watts{$__gpu_filter}", `gpu_power_watts{gpu_uuid=~"GPU-1|GPU-2"}`},
		{Scope{GPUs: []string{"GPU-1"}}, "nvidia_smi_x{$__gpu_filter}", `nvidia_smi_x{uuid=~"(?:GPU-)?1"}`},
		{Scope{MIGs: []string{"GPU-1/7"}}, "gpu_sm_active_ratio{$__gpu_filter}", `gpu_sm_active_ratio{gpu_uuid=~"GPU-1",mig_id=~"7"}`},
		{Scope{MIGs: []string{"/GPU-1/.*/"}}, "gpu_sm_active_ratio{$__gpu_filter}", `gpu_sm_active_ratio{node=~".*"}`},
		{Scope{Models: []string{"NVIDIA H100 80GB HBM3"}}, "gpu_power_watts{$__gpu_filter}", `gpu_power_watts{model=~"(?:.*[ -])?H100[ -]80GB[ -]HBM3"}`},
		{Scope{Nodes: []string{`a"b\c`}}, "gpu_x{$__gpu_filter}", `gpu_x{node=~"a\"b\\\\c"}`},
	} {
		got, err := macros(t, tc.scope).Expand(tc.expr)
		if err != nil || got != tc.want {
			t.Errorf("%s:\n got %s %v\nwant %s", tc.expr, got, err, tc.want)
		}
	}
	identity, err := macros(t, Scope{}).Expand("sum by ($__gpu_identity) (x)")
	if err != nil || !strings.HasPrefix(identity, "sum by (node, hostname, ") || !strings.HasSuffix(identity, ") (x)") {
		t.Errorf("$__gpu_identity: %s, %v", identity, err)
	}
}

func TestExpandNamesTheMacrosThereAre(t *testing.T) {
	_, err := macros(t, Scope{}).Expand("x{$__node_filter}")
	const want = "macro $__node_filter does not exist; use $__interval, $__interval_ms, $__range, $__range_s, $__range_ms, " +
		"$__rate_interval, $__rate_interval_ms, $__gpu_filter or $__gpu_identity"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestMacrosOfAnEmptyRange(t *testing.T) {
	m := macros(t, Scope{})
	m.Window = NewWindow(WindowOptions{From: at(1793400000), To: at(1793400000)})
	got, err := m.Expand("$__range $__range_s $__range_ms $__interval")
	if err != nil || got != "1s 1 1 15s" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestEscapingOfReportedValues(t *testing.T) {
	text, err := os.ReadFile("testdata/variable_escaping.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Template string `json:"query_tpl"`
		Cases    []struct {
			Multi    bool
			Template string `json:"query_tpl"`
			Values   []string
			Right    string
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	tested := 0
	for _, tc := range file.Cases {
		if tc.Right == "" {
			continue
		}
		tested++
		value := escape(RegexText(tc.Values))
		if !tc.Multi {
			value = escape(tc.Values[0])
		}
		if got := strings.ReplaceAll(firstOf(tc.Template, file.Template), "$v", value); got != tc.Right {
			t.Errorf("%q:\n got %s\nwant %s", tc.Values, got, tc.Right)
		}
	}
	if tested < 7 {
		t.Errorf("only %d cases", tested)
	}
}

func TestEveryLabelValueComesBack(t *testing.T) {
	text, err := os.ReadFile("testdata/label_values.json")
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Data struct {
			Result []struct{ Metric map[string]string }
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	for _, r := range answer.Data.Result {
		for name, value := range r.Metric {
			checkMatcher(t, name, []string{value})
			checkMatcher(t, name, []string{value, "other"})
		}
	}
}

// checkMatcher reads a matcher back as PromQL does and sees that it selects the values and nothing near them.
func checkMatcher(t *testing.T, name string, values []string) {
	t.Helper()
	text := Matcher(name, values)
	op := "="
	if strings.HasPrefix(text, name+"=~") {
		op = "=~"
	}
	literal, err := strconv.Unquote(strings.TrimPrefix(text, name+op))
	if err != nil {
		t.Errorf("%s: not a string literal: %v", text, err)
		return
	}
	if op == "=" {
		if literal != values[0] {
			t.Errorf("%s selects %q", text, literal)
		}
		return
	}
	re, err := regexp.Compile("^(?s:" + literal + ")$")
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return
	}
	for _, value := range values {
		if !re.MatchString(value) || re.MatchString(value+"x") || re.MatchString("x"+value) {
			t.Errorf("%s does not select exactly %q", text, value)
		}
	}
}

func FuzzMatcher(f *testing.F) {
	f.Add("d.e.f", "eh|tnt_(p)")
	f.Add("Ada's 13\" box", "foo\\bar\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, v := range []string{a, b} {
			if _, isRegex := pattern(v); isRegex || strings.ToValidUTF8(v, "") != v || v == "" {
				t.Skip("expressions, invalid UTF-8 and empty values are no exact values")
			}
		}
		if strings.Contains(a, b) || strings.Contains(b, a) {
			t.Skip("a value that another one holds is near it, which the check takes for a mistake")
		}
		checkMatcher(t, "job", []string{a, b})
		checkMatcher(t, "job", []string{a})
	})
}

func TestSelector(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{Selector("up"), "up"},
		{Selector("up", "", `job="x"`), `up{job="x"}`},
		{Selector("gpu.utilization", Matcher("k8s.node.name", []string{"x"})), `{"gpu.utilization","k8s.node.name"="x"}`},
		{Matcher("étiquette", []string{"oui 🤘"}), `"étiquette"="oui 🤘"`},
		{Matcher("a", []string{"/x|y/", "z"}), `a=~"((?:x|y)|z)"`},
		{Matcher("a", []string{"/x|y/"}), `a=~"x|y"`},
		{Matcher("a", nil), ""},
		{QuoteLabels([]string{"node", "k8s.node.name"}), `node, "k8s.node.name"`},
	} {
		if tc.got != tc.want {
			t.Errorf("got %s, want %s", tc.got, tc.want)
		}
	}
}

func FuzzExpand(f *testing.F) {
	f.Add("rate(x{$__gpu_filter}[${__rate_interval}])", "n1")
	f.Add("}}{{$__gpu_filter$__interval${__range:x}", "/a|b/")
	m := macros(f, Scope{})
	f.Fuzz(func(t *testing.T, expr, node string) {
		m := m
		m.Window.Step = time.Minute
		if node != "" {
			m.Scope.Nodes = []string{node}
		}
		if _, err := m.Expand(expr); err != nil && !strings.Contains(err.Error(), "does not exist") {
			t.Fatal(err)
		}
	})
}
