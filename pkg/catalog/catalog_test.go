package catalog

import (
	"strings"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func mustLoad(t testing.TB) *Catalog {
	t.Helper()
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// canonical are the names the agent, the rules and the dashboards rely on.
var canonical = strings.Fields(`
gpu_utilization_ratio gpu_memory_utilization_ratio gpu_encoder_utilization_ratio gpu_decoder_utilization_ratio
gpu_graphics_engine_active_ratio gpu_sm_active_ratio gpu_sm_occupancy_ratio gpu_tensor_active_ratio gpu_dram_active_ratio
gpu_memory_total_bytes gpu_memory_used_bytes gpu_memory_free_bytes gpu_memory_reserved_bytes
gpu_power_watts gpu_power_instant_watts gpu_power_limit_watts gpu_energy_joules_total
gpu_temperature_celsius gpu_memory_temperature_celsius gpu_temperature_margin_celsius
gpu_sm_clock_hertz gpu_memory_clock_hertz gpu_sm_clock_max_hertz gpu_clock_event_reasons gpu_performance_state
gpu_throttle_power_seconds_total gpu_throttle_thermal_seconds_total
gpu_pcie_transmit_bytes_per_second gpu_pcie_receive_bytes_per_second
gpu_nvlink_transmit_bytes_per_second gpu_nvlink_receive_bytes_per_second
gpu_pcie_replay_errors_total gpu_pcie_link_generation gpu_pcie_link_width
gpu_ecc_corrected_errors_total gpu_ecc_uncorrected_errors_total
gpu_remapped_rows_correctable_total gpu_remapped_rows_uncorrectable_total gpu_row_remap_pending gpu_row_remap_failure
gpu_recovery_action gpu_xid_last gpu_xid_errors_total
gpu_fan_speed_ratio`)

func TestCatalogHoldsTheCanonicalMetrics(t *testing.T) {
	c := mustLoad(t)
	for _, name := range canonical {
		m, ok := c.Metric(name)
		if !ok {
			t.Errorf("%s is missing", name)
			continue
		}
		if !m.Agent || m.Sources[0].Dialect != Warpwatch || m.Sources[0].Series != name {
			t.Errorf("%s: the agent's own series must come first, got %+v", name, m.Sources[0])
		}
	}
	for _, m := range c.Metrics() {
		if !m.Agent && m.Subject == SubjectDevice {
			for _, s := range m.Sources {
				if s.Dialect == Warpwatch {
					t.Errorf("%s: not the agent's, but has the source %s", m.Name, s.Series)
				}
			}
		}
		for i, s := range m.Sources {
			if s.Rank != i || s.Conversion.Divisor == 0 || s.Conversion.Multiplier == 0 {
				t.Errorf("%s: source %+v", m.Name, s)
			}
		}
		if m.Unit == gpu.Ratio && m.Kind == Gauge && m.Max == 0 {
			t.Errorf("%s: a ratio needs a plausible maximum", m.Name)
		}
	}
	for _, name := range c.Presence() {
		if _, ok := c.Metric(name); !ok {
			t.Errorf("presence: %s is no metric", name)
		}
	}
	if _, ok := c.Metric("gpu_sm_busy"); ok {
		t.Error("an unknown name was found")
	}
}

func TestLookupIgnoresCase(t *testing.T) {
	c := mustLoad(t)
	for series, want := range map[string]string{
		"DCGM_FI_DEV_GPU_UTIL":             "gpu_utilization_ratio",
		"dcgm_fi_dev_gpu_util":             "gpu_utilization_ratio",
		"dcgm_fi_prof_gr_engine_active":    "gpu_graphics_engine_active_ratio",
		"dcgm_fb_used":                     "gpu_memory_used_bytes",
		"nvidia_smi_utilization_gpu_ratio": "gpu_utilization_ratio",
		"gpu_power_watts":                  "gpu_power_watts",
	} {
		sources := c.Lookup(series)
		if len(sources) != 1 || sources[0].Metric != want {
			t.Errorf("%s: got %+v, want %s", series, sources, want)
		}
	}
	if got := c.Lookup("up"); got != nil {
		t.Errorf("up: got %+v", got)
	}
	if d, ok := c.SeriesDialect("nvidia_smi_gpu_info"); !ok || d != NvidiaSMI {
		t.Errorf("dialect of nvidia_smi_gpu_info: %q, %v", d, ok)
	}
}

func TestSuggest(t *testing.T) {
	c := mustLoad(t)
	for name, want := range map[string]string{
		"gpu_utilisation_ratio": "gpu_utilization_ratio",
		"gpu_power":             "gpu_power_watts",
		"gpu_temp_celsius":      "gpu_temperature_celsius",
		"DCGM_FI_DEV_FB_USED":   "gpu_memory_used_bytes",
		"zzz":                   "",
		strings.Repeat("gpu_power_watts", 1_000_000): "",
		"": "",
	} {
		if got := c.Suggest(name); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestLoadNamesWhatIsWrong(t *testing.T) {
	const row = `metrics:
  - {name: gpu_x_watts, unit: watts, kind: gauge, family: power, help: h, caveat: c, nvidia_smi: n, aggregations: [avg],
     scale: {multiplier: 1, divisor: 1}, sources: [{dialect: dcgm, series: X}]}`
	if _, err := load(dialectsYAML, []byte(row)); err != nil {
		t.Fatalf("the row itself: %v", err)
	}
	for change, want := range map[string]string{
		"unit: watts|unit: furlongs":            `gpu_x_watts: unit "furlongs" is not known`,
		"kind: gauge|kind: dial":                `gpu_x_watts: kind "dial" is neither gauge nor counter nor histogram`,
		"family: power|family: misc":            `gpu_x_watts: family "misc" is not one of`,
		"help: h|help: ''":                      "gpu_x_watts: help, caveat and nvidia_smi must be given",
		"[avg]|[median]":                        `gpu_x_watts: aggregation "median" is not one of avg, max, min, sum`,
		"[avg]|[]":                              "gpu_x_watts: aggregations must be given",
		"divisor: 1|divisor: 0":                 "gpu_x_watts: scale must be given",
		"gpu_x_watts|gpu_x":                     "gpu_x: name does not end in _watts",
		"gpu_x_watts|x_watts":                   "x_watts: name is not gpu_, serve_ or train_ and lower-case words",
		"dialect: dcgm|dialect: klingon":        `source X: dialect "klingon" is not known`,
		"series: X|series: X, unit: mebibytes":  `source X: unit "mebibytes" does not convert to watts`,
		"series: X|series: gpu_x_watts":         "listed as a source of both",
		"caveat: c|caveat: c, sum_of: [gpu_y]":  "gpu_y is not a gauge in watts",
		"caveat: c|caveat: c, colour: red":      "field colour not found",
		"kind: gauge|kind: counter":             "name does not end in _watts_total",
		"metrics:|metrics: [{name: gpu_x}]\nm:": "field m not found",
	} {
		from, to, _ := strings.Cut(change, "|")
		_, err := load(dialectsYAML, []byte(strings.ReplaceAll(row, from, to)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", change, err, want)
		}
	}
	if _, err := load(dialectsYAML, []byte(row+strings.TrimPrefix(row, "metrics:"))); err == nil || !strings.Contains(err.Error(), "listed twice") {
		t.Errorf("a row twice: %v", err)
	}
}
