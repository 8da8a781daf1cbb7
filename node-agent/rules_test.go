package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func TestRulesArePrinted(t *testing.T) {
	for args, tc := range map[[5]string]struct{ has, lacks string }{
		{"rules"}:                          {"DCGM_FI_DEV_GPU_UTIL", "shadow"},
		{"rules", "--exporter=nvidia_smi"}: {"nvidia_smi_power_draw_watts", "DCGM_"},
		{"rules", "--exporter=dcgm-4.9", "--kind=alerts", "--shadow"}:              {"mode: shadow", "record:"},
		{"rules", "--exporter=dcgm-4.8", "--format=PrometheusRule"}:                {"kind: PrometheusRule", "gpu_power_watts "},
		{"rules", "--exporter=warpwatch", "--kind=efficiency", "--format=grafana"}: {"folder: GPU efficiency", "GpuMissing"},
	} {
		var given []string
		for _, arg := range args {
			if arg != "" {
				given = append(given, arg)
			}
		}
		var stdout, stderr bytes.Buffer
		require.Equal(t, 0, run(given, &stdout, &stderr), stderr.String())
		assert.NoError(t, yaml.Unmarshal(stdout.Bytes(), new(any)))
		assert.Contains(t, stdout.String(), tc.has, args)
		assert.NotContains(t, stdout.String(), tc.lacks, args)
	}
	var stdout, stderr bytes.Buffer
	assert.Equal(t, 1, run([]string{"rules", "--kind=recording", "--format=grafana"}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "Grafana is given alerts")
	assert.Equal(t, 2, run([]string{"rules", "--exporter=dcgm"}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "dcgm-4.9")
}
