package query

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestAdvise(t *testing.T) {
	c, err := catalog.Load()
	require.NoError(t, err)
	for expr, want := range map[string]string{
		"sum(increase(DCGM_FI_DEV_XID_ERRORS[5m])) > 0":           "DCGM_FI_DEV_XID_ERRORS holds the number of the last event, so increase() adds up numbers; use changes() to see when it changes.",
		"rate(DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL{gpu=\"0\"}[1m])": "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL is a rate already: show it without rate().",
		"irate(DCGM_FI_PROF_PCIE_TX_BYTES[1m]) * 8":               "DCGM_FI_PROF_PCIE_TX_BYTES is a rate already: show it without irate().",
		"rate((DCGM_FI_DEV_GPU_TEMP[5m]))":                        "DCGM_FI_DEV_GPU_TEMP goes up and down, and rate() takes each fall for a restart; use deriv() or delta().",
		"avg by (gpu) (DCGM_FI_DEV_GPU_UTIL) > 0.9":               "DCGM_FI_DEV_GPU_UTIL is in per cent, from 0 to 100: 0.9 is less than one per cent.",
		"0.1 > avg_over_time(DCGM_FI_DEV_GPU_UTIL[30m])":          "DCGM_FI_DEV_GPU_UTIL is in per cent, from 0 to 100: 0.1 is less than one per cent.",
		"max_over_time(DCGM_FI_PROF_SM_ACTIVE[5m]) > 80":          "DCGM_FI_PROF_SM_ACTIVE is a ratio, from 0 to 1: it is never above 80.",
		"80 <= nvidia_smi_utilization_gpu_ratio":                  "nvidia_smi_utilization_gpu_ratio is a ratio, from 0 to 1: it is never above 80.",
		"sum(increase(DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION[1d])) / 3.6e12": "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION is in millijoules: divide by 3.6e9 for kilowatt-hours; " +
			"3.6e12 is a thousand times too much.",
		"rate(DCGM_FI_DEV_THERMAL_VIOLATION[5m]) / 1e6": "DCGM_FI_DEV_THERMAL_VIOLATION is in nanoseconds: divided by 1e6 it is in milliseconds; divide by 1e9 for seconds.",
		"absent_over_time(DCGM_FI_DEV_GPU_TEMP{job=\"a\"}[5m]) and on (job, instance) up": "absent_over_time() has no label instance, because its " +
			"selector does not compare it with =: the two sides never match by it.",
		"max by (Hostname) (DCGM_FI_DEV_GPU_TEMP)": "dcgm-exporter 4.8.3 renamed the label Hostname to hostname; use $__gpu_filter and " +
			"$__gpu_identity where exporters of both kinds run.",
		"gpu_power_watts{Hostname=\"a\"}":    "gpu_power_watts has no label Hostname; it is node there.",
		"sum by (UUID) (gpu_power_watts)":    "gpu_power_watts has no label UUID; it is gpu_uuid there.",
		`up{node=~""}`:                       `node=~"" selects what has no label node, which is nothing when a variable was meant: is it empty?`,
		"max by (node) (no_such_series) > 5": "",
		"DCGM_FI_DEV_GPU_UTIL & 0x40":        "", // does not parse
	} {
		var text string
		for _, n := range Advise(expr, c) {
			assert.Equal(t, gpu.Info, n.Severity)
			text += n.Text
		}
		assert.Equal(t, want, text, expr)
	}
}

// A slope of what an exporter repeats is 0 or a cliff.
func TestAdviseOfRangesThatAreTooShort(t *testing.T) {
	c, err := catalog.Load()
	require.NoError(t, err)
	for expr, warned := range map[string]bool{
		"deriv(DCGM_FI_DEV_POWER_USAGE[20s])":                           true,
		"max by (gpu) (idelta((DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"}[15s])))": true,
		"predict_linear(DCGM_FI_DEV_GPU_TEMP[29s], 60)":                 true,
		"rate(DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL[20s])":                true,
		"deriv(DCGM_FI_DEV_POWER_USAGE[30s])":                           false,
		"deriv(DCGM_FI_DEV_POWER_USAGE[2m])":                            false,
		"max_over_time(DCGM_FI_DEV_POWER_USAGE[20s])":                   false,
		"deriv(gpu_power_watts[5s])":                                    false, // of our agent, which measures when it is asked
		"deriv(node_load1[5s])":                                         false,
		"deriv(avg_over_time(DCGM_FI_DEV_POWER_USAGE[1m])[10s:1s])":     false,
	} {
		var texts []string
		for _, n := range Advise(expr, c) {
			if n.Severity == gpu.Warning {
				texts = append(texts, n.Text)
			}
		}
		assert.Len(t, texts, map[bool]int{true: 1}[warned], expr)
	}
	text := Advise("deriv(DCGM_FI_DEV_POWER_USAGE[20s])", c)[0].Text
	assert.Equal(t, "deriv() of DCGM_FI_DEV_POWER_USAGE looks at 20s, and dcgm-exporter measures every 30s unless it is told otherwise (--collect-interval): "+
		"what it repeats in between has no slope. Look at 1m or more.", text)
}

// The rules and dashboards that are right, of ours and of others, get no advice.
func TestAdviseIsSilentAboutWhatIsRight(t *testing.T) {
	c, err := catalog.Load()
	require.NoError(t, err)
	text, err := os.ReadFile("testdata/expressions.json")
	require.NoError(t, err)
	var expressions []string
	require.NoError(t, json.Unmarshal(text, &expressions))
	require.Greater(t, len(expressions), 90)
	for _, expr := range expressions {
		_, err := parsePromQL(expr)
		require.NoError(t, err, expr)
		assert.Empty(t, Advise(expr, c), expr)
	}
}
