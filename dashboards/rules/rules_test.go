package rules

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/catalog"
)

func known(t *testing.T) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Load()
	require.NoError(t, err)
	return c
}

func of(t *testing.T, exporter string) []Group {
	t.Helper()
	groups, err := For(known(t), exporter)
	require.NoError(t, err)
	return groups
}

// one is the only rule of a name.
func one(t *testing.T, groups []Group, name string) Rule {
	t.Helper()
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Record == name || r.Alert == name {
				return r
			}
		}
	}
	t.Fatalf("there is no rule %s", name)
	return Rule{}
}

func named(groups []Group) (all []string) {
	for _, g := range groups {
		for _, r := range g.Rules {
			all = append(all, r.Record+r.Alert)
		}
	}
	return all
}

// series are the names of all series that rules read.
func series(t *testing.T, groups []Group) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, g := range groups {
		for _, r := range g.Rules {
			expr, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
			require.NoError(t, err, r.Record+r.Alert)
			parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
				if s, ok := n.(*parser.VectorSelector); ok {
					for _, m := range s.LabelMatchers {
						if m.Name == "__name__" {
							for _, name := range append(m.SetMatches(), m.Value) {
								found[name] = true
							}
						}
					}
				}
				return nil
			})
		}
	}
	return found
}

func TestRulesOfAnExporterReadWhatItWrites(t *testing.T) {
	for exporter, tc := range map[string]struct{ reads, not []string }{
		"warpwatch":  {[]string{"gpu_power_watts", "gpu_xid_errors_total", "coolant_leak_detected", "warpwatch_agent_info"}, []string{"DCGM_", "nvidia_smi_"}},
		"dcgm-4.8":   {[]string{"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_THERMAL_VIOLATION", "DCGM_FI_DEV_PCIE_LINK_GEN"}, []string{"gpu_", "nvidia_smi_", "coolant_", "DCGM_FI_DEV_GPU_UTIL_RATIO", "DCGM_FI_DEV_FB_USED_BYTES"}},
		"dcgm-4.9":   {[]string{"DCGM_FI_DEV_GPU_UTIL_RATIO", "DCGM_FI_DEV_FB_USED_BYTES", "DCGM_FI_DEV_GPU_THERMAL_THROTTLE_SECONDS_TOTAL"}, []string{"gpu_", "nvidia_smi_", "coolant_", "DCGM_FI_DEV_THERMAL_VIOLATION", "DCGM_FI_DEV_POWER_USAGE"}},
		"nvidia_smi": {[]string{"nvidia_smi_power_draw_watts", "nvidia_smi_temperature_gpu"}, []string{"gpu_", "DCGM_", "coolant_", "warpwatch_"}},
	} {
		read := series(t, of(t, exporter))
		for _, name := range append(tc.reads, "kube_pod_status_phase", "vllm:num_requests_waiting") {
			assert.True(t, read[name], "%s does not read %s", exporter, name)
		}
		for name := range read {
			for _, prefix := range tc.not {
				assert.False(t, strings.HasPrefix(name, prefix), "%s reads %s", exporter, name)
			}
		}
	}
}

func TestRulesOfAnExporterReadOnlyWhatIsRecorded(t *testing.T) {
	shipped := named(of(t, Any))
	for _, exporter := range Exporters() {
		groups := of(t, exporter)
		there := named(groups)
		for name := range series(t, groups) {
			if slices.Contains(shipped, name) {
				assert.Contains(t, there, name, exporter)
			}
		}
	}
}

func TestWhatAnExporterCannotTellHasNoRule(t *testing.T) {
	for exporter, tc := range map[string]struct{ has, lacks []string }{
		"warpwatch":  {[]string{"GpuXidRepeat", "GpuNvlinkInactive", "CoolantLeak"}, []string{"GpuXidCriticalFallback", "gpu:xid_last:max_by_device"}},
		"dcgm-4.8":   {[]string{"GpuXidCriticalFallback", "GpuThermalThrottleShare", "GpuPcieReplayRate"}, []string{"GpuXidRepeat", "CoolantLeak"}},
		"dcgm-4.9":   {[]string{"GpuXidCriticalFallback", "GpuThermalThrottleShare", "GpuBusyButUnderfilled"}, []string{"GpuNvlinkInactive"}},
		"nvidia_smi": {[]string{"GpuXidCritical", "GpuMemTempHigh", "GpuOomRisk", "LlmQueueLong"}, []string{"GpuBusyButUnderfilled", "GpuPcieReplayRate", "gpu:sm_active_ratio:sum_by_cluster", "GpuNvlinkErrors"}},
	} {
		there := named(of(t, exporter))
		for _, name := range append(tc.has, "GpuMissing", "GpuExporterDown") {
			assert.Contains(t, there, name, exporter)
		}
		for _, name := range tc.lacks {
			assert.NotContains(t, there, name, exporter)
		}
	}
}

func TestAnExpressionLosesWhatOthersWrite(t *testing.T) {
	r := reducer{names: newNames(known(t), exporters()[1]), gone: map[string]bool{"gpu:gone": true}}
	for expr, want := range map[string]string{
		"up == 0": "up == 0",
		"gpu_power_watts or DCGM_FI_DEV_POWER_USAGE":                                   "DCGM_FI_DEV_POWER_USAGE",
		"max by (gpu) (gpu_power_watts or DCGM_FI_DEV_POWER_USAGE{a=\"b\"}) > 5":       "max by (gpu) (DCGM_FI_DEV_POWER_USAGE{a=\"b\"}) > 5",
		"up unless gpu_power_watts":                                                    "up",
		"up and gpu_power_watts":                                                       "",
		"gpu_power_watts unless up":                                                    "",
		"2 * (gpu_power_watts or DCGM_FI_DEV_POWER_USAGE + up)":                        "2 * (DCGM_FI_DEV_POWER_USAGE + up)",
		"up / rate(gpu_power_watts[5m])":                                               "",
		"-gpu:gone":                                                                    "",
		"max_over_time((up or gpu:gone)[1h:1m])":                                       "max_over_time(up[1h:1m])",
		`{__name__=~"DCGM_FI_DEV_GPU_TEMP|DCGM_FI_DEV_GPU_TEMP_CELSIUS", gpu="0"} > 5`: `DCGM_FI_DEV_GPU_TEMP{gpu="0"} > 5`,
		`rate({__name__=~"vllm:num_requests_waiting|tgi_queue_size"}[5m])`:             `rate({__name__=~"vllm:num_requests_waiting|tgi_queue_size"}[5m])`,
	} {
		got, err := r.expression(expr)
		require.NoError(t, err)
		assert.Equal(t, want, got, expr)
	}
	for _, expr := range []string{"absent(gpu_power_watts)", "scalar(up)", `{gpu="0"}`} {
		_, err := r.expression(expr)
		assert.Error(t, err, expr)
	}
}

func TestAnExporterThatIsNotKnown(t *testing.T) {
	_, err := For(known(t), "dcgm")
	assert.EqualError(t, err, `there are no rules for the exporter "dcgm", but for any, warpwatch, dcgm-4.8, dcgm-4.9, nvidia_smi`)
}

func TestKindsArePartsOfTheWhole(t *testing.T) {
	all := of(t, Any)
	parts := 0
	for _, kind := range []Kind{Recording, Alerts, Efficiency} {
		for _, g := range Of(all, kind) {
			require.NotEmpty(t, g.Rules)
			for _, r := range g.Rules {
				parts++
				assert.Equal(t, kind == Recording, r.Record != "", r)
				assert.Equal(t, kind == Efficiency, r.Labels["axis"] == "efficiency", r)
			}
		}
	}
	assert.Equal(t, len(named(all)), parts)
}

func TestShadowMarksAlerts(t *testing.T) {
	all := of(t, Any)
	shadow := Shadow(all)
	assert.Equal(t, map[string]string{"mode": "shadow", "severity": "critical", "axis": "health"}, one(t, shadow, "GpuMissing").Labels)
	assert.NotContains(t, one(t, all, "GpuMissing").Labels, "mode")
	assert.Empty(t, one(t, shadow, "node:gpu_reporting:count").Labels)
}

func TestWriteForGrafanaNeedsAlerts(t *testing.T) {
	err := Write(&bytes.Buffer{}, Of(of(t, Any), Recording), GrafanaAlerts, "")
	assert.ErrorContains(t, err, "Grafana is given alerts")
}

func TestEveryFileIsRead(t *testing.T) {
	there, err := files.ReadDir(".")
	require.NoError(t, err)
	assert.Len(t, there, len(order()))
}
