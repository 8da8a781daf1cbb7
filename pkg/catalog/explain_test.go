package catalog

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEnableSaysWhatToDo(t *testing.T) {
	c := mustLoad(t)
	for _, tc := range []struct {
		metric  string
		dialect Dialect
		want    string
	}{
		{"gpu_sm_active_ratio", DCGM, "Add a line to the file of counters that dcgm-exporter is started with (-f; customMetrics in its Helm chart) and restart it. " +
			"From dcgm-exporter 4.9 on the field is called DCGM_FI_PROF_SM_UTIL_RATIO. " +
			"Profiling fields need a data centre GPU, before Hopper the capability SYS_ADMIN, and no other profiler at work.\n" +
			"DCGM_FI_PROF_SM_ACTIVE, gauge, Share of cycles averaged over all SMs with at least one warp resident."},
		{"gpu_utilization_ratio", DCGM, "dcgm-exporter writes DCGM_FI_DEV_GPU_UTIL unless its file of counters was changed; then put the line back. " +
			"From dcgm-exporter 4.9 on the field is called DCGM_FI_DEV_GPU_UTIL_RATIO.\n" +
			"DCGM_FI_DEV_GPU_UTIL, gauge, Share of the sample period during which at least one kernel was running on the GPU."},
		{"gpu_nvlink_throughput_bytes_per_second", DCGM, "dcgm-exporter writes DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL unless its file of counters was changed; then put the line back. " +
			"From dcgm-exporter 4.9 on the field is called DCGM_FI_DEV_NVLINK_THROUGHPUT_BYTES_PER_SECOND.\n" +
			"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL, gauge, Data sent and received over all NVLinks of the GPU both directions added."},
		{"gpu_xid_errors_total", DCGM, "Add a line to the file of counters that dcgm-exporter is started with (-f; customMetrics in its Helm chart) and restart it. " +
			"It needs dcgm-exporter 4.8.3 or newer.\nDCGM_EXP_XID_ERRORS_TOTAL, counter, XID errors the driver reported for the GPU."},
		{"gpu_utilization_ratio", NvidiaSMI, "nvidia_gpu_exporter writes nvidia_smi_utilization_gpu_ratio where the driver reports utilization.gpu, unless --query-field-names leaves that out."},
		{"gpu_pcie_transmit_bytes_per_second", NvidiaSMI, "nvidia_gpu_exporter writes nvidia_smi_pcie_throughput_tx_bytes_per_second when it is asked to. " +
			"It needs the exporter's NVML backend and --collect.pcie-throughput."},
		{"gpu_sm_active_ratio", Warpwatch, "The agent reads it in the group profiling, which the profile lean has; groups.profiling.enabled in its configuration switches it."},
		{"gpu_row_remap_banks", Warpwatch, "The agent reads it in the group remap_histogram, from the profile deep on: " +
			"start it with --collect.profile=deep, or set groups.remap_histogram.enabled in its configuration."},
		{"train_loss", Warpwatch, "The process reports it as train_loss, through the Python module that comes with the agent, or by pushing it to the agent."},
		{"serve_ttft_seconds", SGLang, "SGLang writes sglang:time_to_first_token_seconds_bucket on /metrics when it is started with --enable-metrics."},
		{"serve_gpu_flops_total", VLLM, "vLLM's API server writes vllm:estimated_flops_per_gpu_total on /metrics when it is asked to. It needs --enable-mfu-metrics."},
		{"gpu_sm_active_ratio", Nvitop, ""},
		{"gpu_no_such", DCGM, ""},
	} {
		if got := c.Enable(tc.metric, tc.dialect); got != tc.want {
			t.Errorf("%s, %s:\n got %s\nwant %s", tc.metric, tc.dialect, got, tc.want)
		}
	}
}

func TestEveryOptionIsExplained(t *testing.T) {
	c := mustLoad(t)
	braces := regexp.MustCompile(`[{}]`)
	for _, m := range c.Metrics() {
		var before Dialect
		n := 0
		for _, o := range c.Explain(m.Name) {
			n += len(o.Sources)
			if o.Enable == "" || braces.MatchString(o.Enable) || strings.Contains(o.Enable, "  ") {
				t.Errorf("%s, %s: %q", m.Name, o.Dialect, o.Enable)
			}
			if before != "" && c.Rank(o.Dialect) <= c.Rank(before) {
				t.Errorf("%s: %s comes behind %s", m.Name, o.Dialect, before)
			}
			before = o.Dialect
			if (len(o.Lines) > 0) != (o.Dialect == DCGM) {
				t.Errorf("%s, %s: lines %q", m.Name, o.Dialect, o.Lines)
			}
			for _, line := range o.Lines {
				if fields := strings.Split(line, ","); len(fields) != 3 || strings.Contains(line, `"`) {
					t.Errorf("%s: dcgm-exporter cannot read the line %q", m.Name, line)
				}
			}
		}
		if n != len(m.Sources) {
			t.Errorf("%s: %d of %d sources", m.Name, n, len(m.Sources))
		}
	}
	if lines := strings.Split(c.Enable("gpu_row_remap_banks", DCGM), "\n"); len(lines) != 6 || !strings.HasPrefix(lines[3], "DCGM_FI_DEV_BANKS_REMAP_ROWS_AVAIL_PARTIAL, gauge, ") {
		t.Errorf("a line for each part: %q", lines)
	}
	if c.Explain("gpu_no_such") != nil {
		t.Error("an unknown metric is explained")
	}
}

func TestWhatExportersGiveByThemselves(t *testing.T) {
	c := mustLoad(t)
	given := func(metric string, d Dialect) bool {
		for _, o := range c.Explain(metric) {
			if o.Dialect == d {
				return o.Given
			}
		}
		return false
	}
	for _, metric := range []string{"gpu_utilization_ratio", "gpu_memory_used_bytes", "gpu_xid_last", "gpu_energy_joules_total", "gpu_nvlink_throughput_bytes_per_second"} {
		if !given(metric, DCGM) {
			t.Errorf("%s is a default of dcgm-exporter", metric)
		}
	}
	for _, metric := range []string{
		"gpu_sm_active_ratio", "gpu_ecc_uncorrected_errors_total", "gpu_throttle_power_seconds_total", "gpu_power_limit_watts",
		"gpu_clock_event_reasons", "gpu_memory_total_bytes", "gpu_nvlink_replay_errors_total", "gpu_xid_errors_total",
	} {
		if given(metric, DCGM) && metric != "gpu_memory_total_bytes" {
			t.Errorf("%s is no default of dcgm-exporter", metric)
		}
	}
	if !given("gpu_utilization_ratio", NvidiaSMI) || given("gpu_energy_joules_total", NvidiaSMI) || given("gpu_processes", NvidiaSMI) {
		t.Error("nvidia_gpu_exporter")
	}
	if !given("gpu_sm_active_ratio", Warpwatch) || given("gpu_row_remap_banks", Warpwatch) || given("train_loss", Warpwatch) {
		t.Error("the agent")
	}
}

// The agent's page of metrics, which is made of its own tables, puts them into the same groups and profiles.
func TestGroupsAreTheAgents(t *testing.T) {
	c := mustLoad(t)
	text, err := os.ReadFile("../../docs/user/agent-metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	heading, profile := regexp.MustCompile(`(?m)^### (\w+)$`), regexp.MustCompile(`profile (\w+)`)
	row := regexp.MustCompile("(?m)^\\| `(gpu_\\w+)`")
	_, page, _ := strings.Cut(string(text), "## Metrics by group")
	page, _, _ = strings.Cut(page, "\n## ")
	found := map[string]bool{}
	for _, section := range strings.Split(page, "\n### ")[1:] {
		section = "### " + section
		group := heading.FindStringSubmatch(section)[1]
		smallest := profile.FindStringSubmatch(section)[1]
		for _, match := range row.FindAllStringSubmatch(section, -1) {
			m, _ := c.Metric(match[1])
			found[m.Name] = true
			if m.Group != group || m.Profile != smallest {
				t.Errorf("%s is in the group %s, profile %s; the page has %s, %s", match[1], m.Group, m.Profile, group, smallest)
			}
		}
	}
	for _, m := range c.Metrics() {
		if m.Agent && m.Group == "" || !m.Agent && m.Group != "" {
			t.Errorf("%s: group %q", m.Name, m.Group)
		}
		if m.Agent && !found[m.Name] && m.Name != "gpu_xid_errors_total" {
			t.Errorf("%s is not on the page", m.Name)
		}
	}
	if len(found) < 100 {
		t.Errorf("%d metrics found", len(found))
	}
}

func TestEveryRowIsWhole(t *testing.T) {
	c := mustLoad(t)
	device, workload := 0, 0
	for _, m := range c.Metrics() {
		if m.Subject == SubjectWorkload {
			workload++
			if len(m.Sources) == 0 || m.Agent {
				t.Errorf("%s: %+v", m.Name, m)
			}
		} else {
			device++
		}
		if !strings.HasSuffix(m.Help, ".") || !strings.HasSuffix(m.Caveat, ".") && !strings.HasSuffix(m.Caveat, "…") {
			t.Errorf("%s: help and caveat are sentences: %q, %q", m.Name, m.Help, m.Caveat)
		}
		if m.Kind == Histogram {
			for _, s := range m.Sources {
				if !strings.HasSuffix(s.Series, "_bucket") {
					t.Errorf("%s: %s", m.Name, s.Series)
				}
			}
			if !slices.Contains(m.Aggregations, "p95") {
				t.Errorf("%s: %v", m.Name, m.Aggregations)
			}
		}
	}
	if device < 160 || workload < 50 {
		t.Errorf("%d metrics of devices and %d of workloads", device, workload)
	}
}
