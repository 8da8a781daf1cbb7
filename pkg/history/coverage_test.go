package history

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

func scopeOf(t testing.TB, text string) query.Scope {
	t.Helper()
	q, err := query.Parse([]byte(`{`+text+`}`), query.TypeCoverage)
	if err != nil {
		t.Fatal(err)
	}
	return q.Scope
}

// covers are the rows of some metrics, each in one line.
func covers(c Coverage, metrics ...string) []string {
	var lines []string
	for _, r := range c.Rows {
		if slices.Contains(metrics, r.Metric.Name) {
			line := fmt.Sprintf("%s %s %s %s %d/%d of %d %s [%s]: %s", r.Endpoint, r.Metric.Name, r.Dialect, r.Status, r.Covered, r.Total, r.Targets, r.Series, r.Unit, r.Why)
			if r.Passed != "" {
				line += " – passed " + r.Passed
			}
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func wantRows(t *testing.T, c Coverage, metrics []string, want ...string) {
	t.Helper()
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	if got := covers(c, metrics...); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s\nnotices %v", strings.Join(got, "\n"), strings.Join(want, "\n"), c.Notices)
	}
}

// Two generations of dcgm-exporter in the middle of an upgrade.
func TestCoverageOfAnUpgrade(t *testing.T) {
	c := open(t, exposition(t, "exporter_4_8.prom", "exporter_4_9.prom")).Coverage(context.Background(), scopeOf(t, ""))
	wantRows(t, c, []string{"gpu_utilization_ratio", "gpu_memory_total_bytes", "gpu_fan_speed_ratio"},
		`p0 gpu_utilization_ratio dcgm ok 2/4 of 1 DCGM_FI_DEV_GPU_UTIL [percent]: recognised by its name; written so from version 3.x on; always in percent`,
		`p0 gpu_utilization_ratio dcgm ok 2/4 of 1 DCGM_FI_DEV_GPU_UTIL_RATIO [ratio]: recognised by its name; written so from version 4.9 on; values like 0.87 are fractions, so they are a ratio`,
		`p0 gpu_memory_total_bytes dcgm ok 2/4 of 1 DCGM_FI_DEV_FB_CAPACITY_BYTES [bytes]: recognised by its name; written so from version 4.9 on`,
		`p0 gpu_memory_total_bytes dcgm ok 2/4 of 1 DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE + DCGM_FI_DEV_FB_RESERVED [mebibytes]: not reported, and computed as gpu_memory_used_bytes + gpu_memory_free_bytes + gpu_memory_reserved_bytes; written so from version 3.x on; always in mebibytes`,
		`gpu_fan_speed_ratio dcgm missing 0/4 of 0  [ratio]: dcgm is here and can give it, but does not`,
	)
	wantNotice(t, c.Notices, "No server of models and no training job is known in the cluster north")
}

func utilRatio(s *promtest.Store, node string, value float64, more map[string]string) {
	labels := map[string]string{
		"__name__": "DCGM_FI_DEV_GPU_UTIL_RATIO", "hostname": node, "instance": node + ":9400", "job": "dcgm", "gpu": "0",
		"gpu_uuid": "GPU-5e1f0000-0a00-4a00-8b00-" + strings.Repeat("0", 10) + node[len(node)-2:], "model_name": "NVIDIA H100 80GB HBM3",
	}
	for k, v := range more {
		labels[k] = v
	}
	s.Constant(labels, value)
}

// One name, which is per cent in one version of the exporter and a ratio in the next: values, labels, and HELP texts decide.
func TestUnitsThatTheNameDoesNotTell(t *testing.T) {
	s := &promtest.Store{}
	utilRatio(s, "node-01", 87, nil)
	utilRatio(s, "node-02", 0.87, nil)
	utilRatio(s, "node-03", 1, map[string]string{"DCGM_FI_DRIVER_VERSION": "535.1"})
	utilRatio(s, "node-04", 1, nil)
	utilRatio(s, "node-05", 1, nil)
	utilRatio(s, "node-06", 1, nil)
	for node, help := range map[string]string{"node-04": "GPU utilization (in %).", "node-05": "GPU utilization as a ratio of 0-1.", "node-06": "GPU utilization."} {
		s.Declare(map[string]string{"instance": node + ":9400", "job": "dcgm"}, "DCGM_FI_DEV_GPU_UTIL_RATIO", "gauge", help)
	}
	h := open(t, s)
	result := ask(t, h, "gpu_utilization_ratio", "")
	wantLast(t, result, map[string]float64{
		"node-01 · GPU 0 · H100 80GB HBM3": 0.87, "node-02 · GPU 0 · H100 80GB HBM3": 0.87, "node-03 · GPU 0 · H100 80GB HBM3": 0.01,
		"node-04 · GPU 0 · H100 80GB HBM3": 0.01, "node-05 · GPU 0 · H100 80GB HBM3": 1, "node-06 · GPU 0 · H100 80GB HBM3": 1,
	})
	wantNotice(t, result.Notices, "The unit of DCGM_FI_DEV_GPU_UTIL_RATIO at node-06:9400 is not certain: the largest value, 1, fits several units, and the HELP text names none; taken to be in ratio.")
	if len(result.Notices) != 1 {
		t.Errorf("notices %v", result.Notices)
	}
	wantRows(t, h.Coverage(context.Background(), scopeOf(t, "")), []string{"gpu_utilization_ratio"},
		`p0 gpu_utilization_ratio dcgm ok 3/6 of 3 DCGM_FI_DEV_GPU_UTIL_RATIO [percent]: recognised by its name; written so from version 4.9 on; the largest value, 87, can only be in per cent (at node-01:9400)`,
		`p0 gpu_utilization_ratio dcgm doubtful 1/6 of 1 DCGM_FI_DEV_GPU_UTIL_RATIO [ratio]: recognised by its name; written so from version 4.9 on; the largest value, 1, fits several units, and the HELP text names none; taken to be in ratio`,
		`p0 gpu_utilization_ratio dcgm ok 2/6 of 2 DCGM_FI_DEV_GPU_UTIL_RATIO [ratio]: recognised by its name; written so from version 4.9 on; values like 0.87 are fractions, so they are a ratio (at node-02:9400)`,
	)
	wantRows(t, h.Coverage(context.Background(), scopeOf(t, `"nodes":["node-06"]`)), []string{"gpu_utilization_ratio"},
		`p0 gpu_utilization_ratio dcgm doubtful 1/1 of 1 DCGM_FI_DEV_GPU_UTIL_RATIO [ratio]: recognised by its name; written so from version 4.9 on; the largest value, 1, fits several units, and the HELP text names none; taken to be in ratio`,
	)
}

// Several exporters on one node, one of which has no value.
func TestCoveragePassesOver(t *testing.T) {
	s := &promtest.Store{}
	device := func(name string, more map[string]string) map[string]string {
		labels := map[string]string{"__name__": name, "UUID": "GPU-5e1f0000-0a00-4a00-8b00-000000000001", "Hostname": "n1", "gpu": "0", "instance": "n1:9400", "job": "dcgm"}
		for k, v := range more {
			labels[k] = v
		}
		return labels
	}
	ours := map[string]string{"gpu_uuid": "GPU-5e1f0000-0a00-4a00-8b00-000000000001", "UUID": "", "Hostname": "", "node": "n1", "instance": "n1:9410", "job": "agent"}
	s.Constant(device("DCGM_FI_DEV_POWER_USAGE", nil), 300)
	s.Constant(device("gpu_power_watts", ours), 301)
	s.Constant(device("DCGM_FI_DEV_GPU_TEMP", nil), 50)
	s.Constant(device("DCGM_FI_DEV_MEMORY_TEMP", nil), 2147483632)
	s.Constant(device("MyOrg_DCGM_FI_DEV_SM_CLOCK", nil), 1500)
	c := open(t, s).Coverage(context.Background(), scopeOf(t, ""))
	wantRows(t, c, []string{"gpu_power_watts", "gpu_temperature_celsius", "gpu_memory_temperature_celsius", "gpu_sm_clock_hertz", "gpu_utilization_ratio"},
		`gpu_utilization_ratio warpwatch missing 0/1 of 0  [ratio]: warpwatch is here and can give it, but does not`,
		`p0 gpu_power_watts warpwatch ok 1/1 of 1 gpu_power_watts [watts]: recognised by its name; preferred to what was passed over – passed DCGM_FI_DEV_POWER_USAGE (dcgm)`,
		`p0 gpu_temperature_celsius dcgm ok 1/1 of 1 DCGM_FI_DEV_GPU_TEMP [celsius]: recognised by its name; written so from version 3.x on`,
		`gpu_memory_temperature_celsius warpwatch missing 0/1 of 0  [celsius]: its series say that there is no value`,
		`p0 gpu_sm_clock_hertz dcgm ok 1/1 of 1 MyOrg_DCGM_FI_DEV_SM_CLOCK [megahertz]: recognised by its name after the prefix "MyOrg_"; written so from version 3.x on; always in megahertz`,
	)
	for _, r := range c.Rows {
		if r.Status == Missing && r.Enable == "" {
			t.Errorf("%s does not say what to do", r.Metric.Name)
		}
	}
}

func TestCoverageOfWorkloads(t *testing.T) {
	c := open(t, servers()).Coverage(context.Background(), scopeOf(t, ""))
	wantRows(t, c, []string{"serve_ttft_seconds", "serve_requests_total", "serve_compute_time_seconds_total", "train_loss"},
		`p0 serve_ttft_seconds vllm ok 1/2 of 1 vllm:time_to_first_token_seconds [seconds]: recognised by its name`,
		`p0 serve_ttft_seconds sglang ok 1/2 of 1 sglang:time_to_first_token_seconds [seconds]: recognised by its name`,
		`p0 serve_requests_total vllm ok 1/2 of 1 vllm:request_success_total [count]: recognised by its name`,
		`p0 serve_requests_total sglang ok 1/2 of 1 sglang:num_requests_total [count]: recognised by its name`,
		`serve_compute_time_seconds_total triton missing 0/2 of 0  [seconds]: no exporter that is here knows it`,
	)
	one := open(t, servers()).Coverage(context.Background(), scopeOf(t, `"pods":["vllm-0"]`))
	wantRows(t, one, []string{"serve_ttft_seconds"},
		`p0 serve_ttft_seconds vllm ok 1/1 of 1 vllm:time_to_first_token_seconds [seconds]: recognised by its name`,
	)
}

// Shards hold different exporters of one cluster: what one lacks the other may have. One that fails is a notice, and what
// was found out is remembered for a minute.
func TestCoverageOfSeveralServers(t *testing.T) {
	a, b := &promtest.Store{}, &promtest.Store{}
	utilRatio(a, "node-01", 87, nil)
	utilRatio(b, "node-02", 0.5, nil)
	h := open(t, a, b)
	first := h.Coverage(context.Background(), scopeOf(t, ""))
	wantRows(t, first, []string{"gpu_utilization_ratio"},
		`p0 gpu_utilization_ratio dcgm ok 1/2 of 1 DCGM_FI_DEV_GPU_UTIL_RATIO [percent]: recognised by its name; written so from version 4.9 on; the largest value, 87, can only be in per cent`,
		`p1 gpu_utilization_ratio dcgm ok 1/2 of 1 DCGM_FI_DEV_GPU_UTIL_RATIO [ratio]: recognised by its name; written so from version 4.9 on; values like 0.5 are fractions, so they are a ratio`,
	)
	before := len(a.Requests())
	again := h.Coverage(context.Background(), scopeOf(t, `"nodes":["node-02"]`))
	if n := len(a.Requests()); n != before {
		t.Errorf("asked again: %v", a.Requests()[before:])
	}
	if len(again.Rows) == 0 || again.Rows[0].Total != 1 {
		t.Errorf("got %v", covers(again, "gpu_utilization_ratio"))
	}
	broken := openAt(t, Endpoint{ID: "p0", Cluster: "north", URL: promtest.Serve(t, b)}, Endpoint{ID: "gone", Cluster: "north", URL: "http://127.0.0.1:1"})
	c := broken.Coverage(context.Background(), scopeOf(t, ""))
	if c.Err != nil || len(c.Rows) == 0 {
		t.Errorf("got %v", c.Err)
	}
	wantNotice(t, c.Notices, "Part of the history is missing: gone:")
	if c := openAt(t, Endpoint{ID: "gone", Cluster: "north", URL: "http://127.0.0.1:1"}).Coverage(context.Background(), scopeOf(t, "")); c.Err == nil {
		t.Error("no error without any answer")
	}
}

// An empty table must not look as if nothing were missing.
func TestCoverageOfNothing(t *testing.T) {
	c := open(t, &promtest.Store{}).Coverage(context.Background(), scopeOf(t, ""))
	wantNotice(t, c.Notices, "No GPU is known in the cluster north: none of its servers has a series of a GPU exporter that the catalogue knows.")
	h := open(t, watts(0, 10))
	wantNotice(t, h.Coverage(context.Background(), scopeOf(t, `"nodes":["no-such"]`)).Notices, "No GPU of the cluster north is in the selection.")
	for _, n := range h.Coverage(context.Background(), scopeOf(t, "")).Notices {
		if strings.Contains(n.Text, "No GPU") {
			t.Error(n.Text)
		}
	}
}
