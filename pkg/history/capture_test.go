package history

import (
	"context"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

// captures are real answers of nvidia_gpu_exporter, each as the node it is scraped from here, with some of what they say.
func captures() map[string]struct {
	node, name string
	values     map[string]float64
} {
	type capture = struct {
		node, name string
		values     map[string]float64
	}
	return map[string]capture{
		"nvidia_gpu_exporter_h200.prom": {"h200-load", "H200", map[string]float64{
			"gpu_memory_total_bytes": 150754820096, "gpu_memory_used_bytes": 33934016512, "gpu_memory_free_bytes": 116178026496,
			"gpu_memory_reserved_bytes": 643825664, "gpu_sm_clock_hertz": 1.98e9, "gpu_memory_clock_hertz": 3.201e9, "gpu_sm_clock_max_hertz": 1.98e9,
			"gpu_power_watts": 627.4, "gpu_power_instant_watts": 626.26, "gpu_power_limit_watts": 700, "gpu_temperature_celsius": 52,
			"gpu_temperature_margin_celsius": 35, "gpu_memory_temperature_celsius": 40, "gpu_utilization_ratio": 1, "gpu_memory_utilization_ratio": 0.07,
			"gpu_pcie_link_generation": 5, "gpu_pcie_link_width": 16, "gpu_recovery_action": 0, "gpu_performance_state": 0, "gpu_row_remap_failure": 0,
		}},
		"nvidia_gpu_exporter_h200_idle.prom": {"h200-idle", "H200", map[string]float64{
			"gpu_memory_total_bytes": 150754820096, "gpu_utilization_ratio": 0, "gpu_power_limit_watts": 700, "gpu_pcie_link_width": 16,
		}},
		"nvidia_gpu_exporter_h200_mig.prom": {"mig-load", "H200", map[string]float64{
			"gpu_memory_total_bytes": 150754820096, "gpu_memory_used_bytes": 17782800384, "gpu_power_watts": 295.01, "gpu_power_instant_watts": 294.14,
			"gpu_temperature_celsius": 36, "gpu_temperature_margin_celsius": 46, "gpu_memory_temperature_celsius": 39, "gpu_sm_clock_hertz": 1.98e9,
		}},
		"nvidia_gpu_exporter_h200_mig_idle.prom": {"mig-idle", "H200", map[string]float64{
			"gpu_memory_total_bytes": 150754820096, "gpu_power_limit_watts": 700,
		}},
		"nvidia_gpu_exporter_rtx_4080.prom": {"desk", "RTX 4080 SUPER", map[string]float64{
			"gpu_memory_total_bytes": 17171480576, "gpu_power_watts": 84.24, "gpu_power_instant_watts": 86.41, "gpu_power_limit_watts": 320,
			"gpu_encoder_utilization_ratio": 0.72, "gpu_utilization_ratio": 0.07, "gpu_fan_speed_ratio": 0, "gpu_sm_clock_hertz": 2.805e9,
			"gpu_memory_clock_hertz": 11.251e9, "gpu_performance_state": 2, "gpu_temperature_celsius": 46, "gpu_pcie_link_generation": 4,
		}},
		"nvidia_gpu_exporter_rtx_2080_windows.prom": {"win", "RTX 2080 SUPER", map[string]float64{
			"gpu_memory_total_bytes": 8589934592, "gpu_memory_used_bytes": 1432354816, "gpu_power_watts": 97.99, "gpu_power_limit_watts": 250,
			"gpu_encoder_utilization_ratio": 0.99, "gpu_utilization_ratio": 0.07, "gpu_memory_utilization_ratio": 0.03, "gpu_fan_speed_ratio": 0.38,
			"gpu_sm_clock_hertz": 2.04e9, "gpu_memory_clock_hertz": 7.5e9, "gpu_temperature_celsius": 44, "gpu_pcie_link_generation": 3,
		}},
	}
}

// sane are bounds for any board there is, by unit.
var sane = map[gpu.Unit][2]float64{
	gpu.Ratio: {0, 1}, gpu.Bytes: {0, 1 << 39}, gpu.Watts: {0, 1500}, gpu.Hertz: {1e8, 2e10}, gpu.Celsius: {0, 110}, gpu.Code: {0, 1 << 32}, gpu.Count: {0, 64},
}

// seriesIn are the names in an exposition.
func seriesIn(t *testing.T, file string) map[string]bool {
	t.Helper()
	text, err := os.Open("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for name := range families {
		names[name] = true
	}
	return names
}

// All captures in one Prometheus. Their UUIDs were blanked by who made them, so that all are the same.
func TestCapturesAreUnderstoodWhole(t *testing.T) {
	s := &promtest.Store{}
	for file, c := range captures() {
		scrape(t, s, file, map[string]string{"instance": c.node + ":9835", "job": "nvidia"})
	}
	h := open(t, s)
	devices, _ := h.Devices(context.Background())
	if len(devices) != len(captures()) {
		t.Errorf("%d devices: %v", len(devices), devices)
	}
	for _, d := range devices {
		if d.Driver == "" || d.Index != 0 || d.MIGEnabled != strings.HasPrefix(d.Node, "mig-") {
			t.Errorf("%+v", d)
		}
	}
	results := map[string]Result{}
	for _, m := range mustCatalog(t).Metrics() {
		results[m.Name] = ask(t, h, m.Name, "")
	}
	for file, c := range captures() {
		present := seriesIn(t, file)
		name := c.node + " · GPU 0 · " + c.name
		answered := 0
		for _, m := range mustCatalog(t).Metrics() {
			fed := 0
			for _, source := range m.Sources {
				if present[source.Series] {
					fed++
				}
			}
			result := results[m.Name]
			values := last(result)
			maps.DeleteFunc(values, func(name string, _ float64) bool { return !strings.HasPrefix(name, c.node+" ") })
			if fed == 0 {
				if len(values) > 0 {
					t.Errorf("%s: %s out of nothing: %v", file, m.Name, values)
				}
				continue
			}
			answered++
			value, ok := values[name]
			if !ok || len(values) != 1 {
				t.Errorf("%s: %s is %v\nasked %s\n%v", file, m.Name, values, result.Executed, result.Notices)
				continue
			}
			if bounds, known := sane[m.ShownUnit()]; known && m.Kind == catalog.Gauge && m.SumOver == "" && (value < bounds[0] || value > bounds[1]) {
				t.Errorf("%s: %s is %v %s", file, m.Name, value, m.Unit)
			}
			if want, ok := c.values[m.Name]; ok && !near(map[string]float64{"": value}, map[string]float64{"": want}, 1e-9) {
				t.Errorf("%s: %s is %v, want %v", file, m.Name, value, want)
			}
		}
		for metric := range c.values {
			if _, ok := last(results[metric])[name]; !ok {
				t.Errorf("%s: no %s", file, metric)
			}
		}
		if got := last(ask(t, h, "gpu_power_watts", `"nodes":["`+c.node+`"]`)); len(got) != 1 {
			t.Errorf("node %s: %v", c.node, got)
		}
		if answered < 18 {
			t.Errorf("%s: %d metrics only", file, answered)
		}
	}
	// One GPU by its UUID, which is only unique with its node.
	for _, d := range devices {
		if got := last(ask(t, h, "gpu_memory_total_bytes", `"gpus":["`+d.UUID+`"]`)); len(got) != 1 {
			t.Errorf("%s selects %v", d.UUID, got)
		}
	}
	split := ask(t, h, "gpu_utilization_ratio", `"nodes":["mig-load"]`)
	wantNotice(t, split.Notices, "NVIDIA reports no gpu_utilization_ratio for GPUs that are split into MIG instances; 1 is one in the selection.")
}
