package catalog

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestRenamedSeriesAreFound(t *testing.T) {
	c := mustLoad(t)
	for series, want := range map[string]string{
		"myorg_DCGM_FI_DEV_GPU_UTIL":                  "gpu_utilization_ratio",
		"dcgm_fi_dev_gpu_util":                        "gpu_utilization_ratio",
		"Dcgm_Fi_Dev_Gpu_Util":                        "gpu_utilization_ratio",
		"acme:dcgm_fi_dev_fb_used":                    "gpu_memory_used_bytes",
		"a_b_c_dcgm_gpu_temp":                         "gpu_temperature_celsius",
		"prometheus_nvidia_smi_power_draw_watts":      "gpu_power_watts",
		"prod_vllm:num_requests_waiting":              "serve_requests_waiting",
		"kserve_vllm_num_requests_waiting":            "serve_requests_waiting",
		"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION_total":  "gpu_energy_joules_total",
		"myorg_dcgm_fi_dev_pcie_replay_counter_total": "gpu_pcie_replay_errors_total",
		"dcgm_xid_errors_TOTAL":                       "gpu_xid_last",
		// Recording rules.
		"node:DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION_total": "",
		"gpu_power_usage_W_total":                         "",
		"_total":                                          "",
		"node:DCGM_FI_DEV_GPU_UTIL":                       "",
		"cluster_gpu:DCGM_FI_DEV_GPU_UTIL":                "",
		"node:DCGM_FI_DEV_GPU_UTIL:avg":                   "",
		"acme:prod:DCGM_FI_DEV_GPU_UTIL":                  "",
		"gpu:sm_active:ratio":                             "",
		// Others.
		"_DCGM_FI_DEV_GPU_UTIL":                                      "",
		"xDCGM_FI_DEV_GPU_UTIL":                                      "",
		"myorg-DCGM_FI_DEV_GPU_UTIL":                                 "",
		"myorg_DCGM_FI_DEV_GPU_UTIL_avg":                             "",
		"myorg_gpu_power_watts":                                      "",
		"myorg_gpu_temperature_C":                                    "",
		"node_hw_power_watts":                                        "",
		"myorg_tgi_queue_size":                                       "",
		strings.Repeat("a", longestPrefix) + "_DCGM_FI_DEV_GPU_UTIL": "",
		"": "",
	} {
		sources := c.Lookup(series)
		if want == "" {
			if len(sources) > 0 {
				t.Errorf("%s: got %+v", series, sources)
			}
			continue
		}
		if len(sources) != 1 || sources[0].Metric != want {
			t.Errorf("%s: got %+v, want %s", series, sources, want)
		}
	}
}

func TestRenamedSeriesComeLast(t *testing.T) {
	c := mustLoad(t)
	const name = "myorg_DCGM_FI_DEV_GPU_UTIL"
	renamed, _ := c.SourceOf("gpu_utilization_ratio", name)
	m, _ := c.Metric("gpu_utilization_ratio")
	if renamed.Prefix != "myorg_" || renamed.Series != name || renamed.Conversion.Unit != "percent" {
		t.Errorf("got %+v", renamed)
	}
	if last := m.Sources[len(m.Sources)-1]; renamed.Rank <= last.Rank {
		t.Errorf("rank %d is not behind %d", renamed.Rank, last.Rank)
	}
	exact, _ := c.SourceOf("gpu_utilization_ratio", "DCGM_FI_DEV_GPU_UTIL")
	if exact.Prefix != "" || exact.Rank >= RenamedRank {
		t.Errorf("the series itself changed: %+v", exact)
	}
	if d, ok := c.SeriesDialect(name); !ok || d != DCGM {
		t.Errorf("dialect %q, %v", d, ok)
	}
	if s, ok := c.SourceOf("gpu_power_watts", name); ok {
		t.Errorf("a source of another metric: %+v", s)
	}
}

func TestLabelsTellMetricsOfOneNameApart(t *testing.T) {
	c := mustLoad(t)
	for _, tc := range []struct {
		labels LabelMap
		want   string
	}{
		{LabelMap{"hw_gpu_task": "general"}, "gpu_utilization_ratio"},
		{LabelMap{}, "gpu_utilization_ratio"},
		{LabelMap{"hw.gpu.task": "encoder"}, "gpu_encoder_utilization_ratio"},
		{LabelMap{"hw_gpu_task": "decoder"}, "gpu_decoder_utilization_ratio"},
		{LabelMap{"hw_gpu_task": "raytracing"}, ""},
	} {
		got := ""
		for _, s := range c.Lookup("hw_gpu_utilization_ratio") {
			if s.Accepts(tc.labels) {
				got += s.Metric
			}
		}
		if got != tc.want {
			t.Errorf("%v: got %q, want %q", tc.labels, got, tc.want)
		}
	}
}

func TestRequiredLabels(t *testing.T) {
	c := mustLoad(t)
	for series, want := range map[string]string{
		"hw_power_watts":           "map[hw_type:[gpu]]",
		"hw.power_watts":           "map[hw.type:[gpu]]",
		"hw_temperature_celsius":   "map[hw_sensor_location:[gpu memory] hw_type:[gpu gpu]]",
		"hw_gpu_utilization_ratio": "map[hw_gpu_task:[general  encoder decoder]]",
		"DCGM_FI_DEV_GPU_UTIL":     "map[]",
		"up":                       "map[]",
	} {
		if got := fmt.Sprint(c.Required(series)); got != want {
			t.Errorf("%s: got %s, want %s", series, got, want)
		}
	}
}

// A server is asked for the names that the pattern matches, so it must match all of them.
func TestNamePatternMatchesEverySeries(t *testing.T) {
	c := mustLoad(t)
	pattern := regexp.MustCompile("^(?:" + c.NamePattern() + ")$")
	for _, m := range c.Metrics() {
		for _, s := range m.Sources {
			for _, name := range []string{s.Series, strings.ToLower(s.Series)} {
				if !pattern.MatchString(name) {
					t.Errorf("%s", name)
				}
			}
		}
	}
	for _, info := range c.Info() {
		if !pattern.MatchString(info.Series) {
			t.Errorf("%s", info.Series)
		}
	}
	for _, name := range append(c.MIGModes(), "warpwatch_agent_info", "myorg_DCGM_FI_DEV_GPU_UTIL", "a:dcgm_fb_used") {
		if !pattern.MatchString(name) {
			t.Errorf("%s", name)
		}
	}
	for _, name := range []string{"up", "node_cpu_seconds_total", "go_gc_duration_seconds", "container_memory_usage_bytes"} {
		if pattern.MatchString(name) {
			t.Errorf("%s is asked for", name)
		}
	}
}

func FuzzLookup(f *testing.F) {
	c := mustLoad(f)
	for _, name := range []string{"DCGM_FI_DEV_GPU_UTIL", "myorg_dcgm_fb_used", "a:b:c", "vllm:x", "hw.gpu.utilization", "\xff_dcgm_", ":dcgm_fb_used", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, s := range c.Lookup(name) {
			if _, ok := c.Metric(s.Metric); !ok {
				t.Errorf("%q is a source of %q, which is no metric", name, s.Metric)
			}
			if s.Prefix != "" && !strings.HasPrefix(name, s.Prefix) {
				t.Errorf("%q does not begin with %q", name, s.Prefix)
			}
			if strings.Count(s.Prefix, ":") > 1 || strings.Contains(strings.TrimSuffix(s.Prefix, ":"), ":") {
				t.Errorf("%q is a recording rule", name)
			}
		}
		c.Suggest(name)
	})
}

func FuzzResolve(f *testing.F) {
	c := mustLoad(f)
	f.Add("UUID", "GPU-5e1f0000-0a00-4a00-8b00-000000000000", "gpu", "3", "hostname", "n1")
	f.Add("gpu_uuid", "MIG-x", "gpu", "NVIDIA H100", "instance", "[::1]:9400")
	f.Add("hw_id", "0", "index", "3:1", "model_name", "[N/A]")
	f.Fuzz(func(t *testing.T, n1, v1, n2, v2, n3, v3 string) {
		labels := LabelMap{n1: v1, n2: v2, n3: v3}
		if id, ok := c.Resolve(labels); ok != (id.Device.UUID != "") || id.Device.Index < -1 {
			t.Errorf("%v: %+v, %v", labels, id, ok)
		}
		if w, ok := c.ResolveWorkload(labels); ok != (w.Pod != "" || w.Job != "" || w.Model != "" || w.Instance != "") {
			t.Errorf("%v: %+v, %v", labels, w, ok)
		}
	})
}

func BenchmarkLookup(b *testing.B) {
	c := mustLoad(b)
	for _, name := range []string{
		"DCGM_FI_DEV_GPU_UTIL", "dcgm_fi_dev_gpu_util", "gpu_power_watts", "myorg_DCGM_FI_DEV_GPU_UTIL",
		"container_network_receive_packets_dropped_total", "DCGM_FI_DEV_NO_SUCH_FIELD",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Lookup(name)
			}
		})
	}
}
