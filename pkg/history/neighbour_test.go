package history

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

// Every name of a metric gives the same value, in its unit, on its own and beside all others.
func TestEveryNameOfAMetricIsTheSame(t *testing.T) {
	for _, group := range []struct {
		metric string
		want   float64
		series map[string]float64
	}{
		{"gpu_utilization_ratio", 0.87, map[string]float64{"DCGM_FI_DEV_GPU_UTIL": 87, "DCGM_FI_DEV_GPU_UTIL_RATIO": 0.87, "dcgm_gpu_utilization": 87,
			"dcgm_fi_dev_gpu_util": 87, "nvidia_smi_utilization_gpu_ratio": 0.87, "gpu_utilization_ratio": 0.87}},
		{"gpu_memory_utilization_ratio", 0.31, map[string]float64{"DCGM_FI_DEV_MEM_COPY_UTIL": 31, "DCGM_FI_DEV_MEMORY_UTIL_RATIO": 0.31}},
		{"gpu_encoder_utilization_ratio", 0.05, map[string]float64{"DCGM_FI_DEV_ENC_UTIL": 5, "DCGM_FI_DEV_ENC_UTIL_RATIO": 0.05, "dcgm_enc_utilization": 5}},
		{"gpu_memory_used_bytes", 1 << 30, map[string]float64{"DCGM_FI_DEV_FB_USED": 1024, "DCGM_FI_DEV_FB_USED_BYTES": 1 << 30, "dcgm_fb_used": 1024,
			"nvidia_smi_memory_used_bytes": 1 << 30}},
		{"gpu_sm_clock_hertz", 1.98e9, map[string]float64{"DCGM_FI_DEV_SM_CLOCK": 1980, "DCGM_FI_DEV_SM_CLOCK_HERTZ": 1.98e9, "dcgm_sm_clock": 1980}},
		{"gpu_sm_clock_max_hertz", 1.98e9, map[string]float64{"DCGM_FI_DEV_MAX_SM_CLOCK": 1980, "DCGM_FI_DEV_SM_MAX_CLOCK_HERTZ": 1.98e9}},
		{"gpu_tensor_active_ratio", 0.4, map[string]float64{"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.4, "DCGM_FI_PROF_TENSOR_UTIL_RATIO": 0.4}},
		{"gpu_fan_speed_ratio", 0.3, map[string]float64{"DCGM_FI_DEV_FAN_SPEED": 30, "DCGM_FI_DEV_FAN_SPEED_RATIO": 0.3, "nvidia_smi_fan_speed_ratio": 0.3}},
		{"gpu_power_limit_watts", 700, map[string]float64{"DCGM_FI_DEV_ENFORCED_POWER_LIMIT": 700, "DCGM_FI_DEV_POWER_MGMT_LIMIT": 700,
			"DCGM_FI_DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS": 700}},
		{"gpu_nvlink_throughput_bytes_per_second", 1500 * 1024000, map[string]float64{"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL": 1500,
			"DCGM_FI_DEV_NVLINK_THROUGHPUT_TOTAL": 1500, "DCGM_FI_DEV_NVLINK_THROUGHPUT_BYTES_PER_SECOND": 1500 * 1024000}},
	} {
		all := &promtest.Store{}
		want := map[string]float64{}
		i := 0
		for name, value := range group.series {
			labels := dcgm(name, i, "gpu_uuid", fmt.Sprintf("GPU-%d", i), "uuid", fmt.Sprintf("GPU-%d", i))
			one := &promtest.Store{}
			one.Constant(labels, value)
			if got := last(ask(t, open(t, one), group.metric, "")); len(got) != 1 || math.Abs(got[fmt.Sprintf("n1 · GPU %d · H100 80GB HBM3", i)]-group.want) > group.want*1e-9 {
				t.Errorf("%s: %v, want %v", name, got, group.want)
			}
			all.Constant(labels, value)
			want[fmt.Sprintf("n1 · GPU %d · H100 80GB HBM3", i)] = group.want
			i++
		}
		wantLast(t, ask(t, open(t, all), group.metric, ""), want)
	}
}

// Garbage is dropped under every name and unit, is never the largest, and is counted.
func TestGarbageOfEveryMetric(t *testing.T) {
	for _, tc := range []struct {
		metric, series string
		good, bad      float64
		want           float64
	}{
		{"gpu_utilization_ratio", "DCGM_FI_DEV_GPU_UTIL", 3, 875770417, 0.03},
		{"gpu_utilization_ratio", "DCGM_FI_DEV_GPU_UTIL", 3, 101, 0.03},
		{"gpu_utilization_ratio", "DCGM_FI_DEV_GPU_UTIL_RATIO", 0.03, 8757704.17, 0.03},
		{"gpu_utilization_ratio", "DCGM_FI_DEV_GPU_UTIL_RATIO", 0.03, 57, 0.03},
		{"gpu_memory_utilization_ratio", "DCGM_FI_DEV_MEM_COPY_UTIL", 7, 4294967295, 0.07},
		{"gpu_decoder_utilization_ratio", "dcgm_dec_utilization", 7, 1634, 0.07},
		{"gpu_power_watts", "DCGM_FI_DEV_POWER_USAGE", 61.5, 4294967.295, 61.5},
		{"gpu_power_watts", "DCGM_FI_DEV_POWER_USAGE", 61.5, 140737488355328, 61.5},
		{"gpu_power_watts", "DCGM_FI_DEV_POWER_USAGE", 61.5, -1, 61.5},
		{"gpu_temperature_celsius", "DCGM_FI_DEV_GPU_TEMP", 41, 2147483632, 41},
		{"gpu_temperature_celsius", "DCGM_FI_DEV_GPU_TEMP", 41, 511, 41},
		{"gpu_memory_used_bytes", "DCGM_FI_DEV_FB_USED", 100, 17592186044415, 100 << 20},
		{"gpu_memory_used_bytes", "DCGM_FI_DEV_FB_USED", 100, 2147483634, 100 << 20},
		{"gpu_memory_used_bytes", "DCGM_FI_DEV_FB_USED_BYTES", 100 << 20, 18446744073709551615, 100 << 20},
		{"gpu_sm_clock_hertz", "DCGM_FI_DEV_SM_CLOCK", 1980, 4294967295, 1.98e9},
		{"gpu_sm_active_ratio", "DCGM_FI_PROF_SM_ACTIVE", 0.5, 140737488355330, 0.5},
		{"gpu_performance_state", "DCGM_FI_DEV_PSTATE", 2, 32, 2},
		{"gpu_fan_speed_ratio", "DCGM_FI_DEV_FAN_SPEED", 30, 4294967295, 0.3},
	} {
		s := &promtest.Store{}
		s.Add(dcgm(tc.series, 0), every(time.Minute, tc.good, tc.good, tc.bad, tc.good, tc.good, tc.good, tc.good, tc.good, tc.good, tc.good, tc.good)...)
		result := ask(t, open(t, s), tc.metric, "")
		if len(result.Series) != 1 {
			t.Errorf("%s %v: %v", tc.series, tc.bad, last(result))
			continue
		}
		for i, v := range result.Series[0].Values {
			if i == 2 && !math.IsNaN(v) || i != 2 && math.Abs(v-tc.want) > 1e-9*tc.want {
				t.Errorf("%s with %v: value %d is %v", tc.series, tc.bad, i, v)
			}
		}
		if len(result.Notices) != 1 {
			t.Errorf("%s with %v: notices %v", tc.series, tc.bad, result.Notices)
		}
	}
}

// Agent, dcgm-exporter and nvidia_gpu_exporter on a node with a split GPU and a whole one: no device twice.
func TestThreeExportersOnASplitNode(t *testing.T) {
	s := &promtest.Store{}
	const split, whole = "5e1f0000-0a00-4a00-8b00-000000000000", "5e1f0001-0a00-4a00-8b00-000000000001"
	instance := func(name string, more ...string) map[string]string {
		labels := map[string]string{"__name__": name}
		for i := 0; i < len(more); i += 2 {
			labels[more[i]] = more[i+1]
		}
		return labels
	}
	agent := []string{"node", "n1", "model", "NVIDIA H100 NVL", "instance", "n1:9847"}
	s.Constant(instance("gpu_info", append(agent, "gpu", "0", "gpu_uuid", "GPU-"+split, "mig_enabled", "true")...), 1)
	s.Constant(instance("gpu_info", append(agent, "gpu", "1", "gpu_uuid", "GPU-"+whole, "mig_enabled", "false")...), 1)
	s.Constant(instance("gpu_mig_info", append(agent, "gpu", "0", "gpu_uuid", "GPU-"+split, "mig_id", "7", "mig_profile", "1g.12gb", "compute_instance_id", "0")...), 1)
	s.Constant(instance("gpu_utilization_ratio", append(agent, "gpu", "1", "gpu_uuid", "GPU-"+whole)...), 0.5)
	s.Constant(instance("gpu_graphics_engine_active_ratio", append(agent, "gpu", "0", "gpu_uuid", "GPU-"+split, "mig_id", "7", "mig_profile", "1g.12gb")...), 0.9)
	dcgmLabels := []string{"hostname", "ip-10-0-0-1", "modelName", "NVIDIA H100 NVL", "instance", "10.0.0.1:9400"}
	s.Constant(instance("DCGM_FI_PROF_GR_ENGINE_ACTIVE", append(dcgmLabels, "gpu", "0", "UUID", "GPU-"+split, "GPU_I_ID", "7", "GPU_I_PROFILE", "1g.11gb")...), 0.8)
	s.Constant(instance("DCGM_FI_PROF_GR_ENGINE_ACTIVE", append(dcgmLabels, "gpu", "0", "UUID", "GPU-"+split, "GPU_I_ID", "8", "GPU_I_PROFILE", "1g.11gb")...), 0.2)
	s.Constant(instance("DCGM_FI_DEV_GPU_UTIL", append(dcgmLabels, "gpu", "1", "UUID", "GPU-"+whole)...), 49)
	s.Constant(instance("DCGM_FI_DEV_GPU_TEMP", append(dcgmLabels, "gpu", "0", "UUID", "GPU-"+split, "GPU_I_ID", "7")...), 40)
	s.Constant(instance("DCGM_FI_DEV_GPU_TEMP", append(dcgmLabels, "gpu", "0", "UUID", "GPU-"+split, "GPU_I_ID", "8")...), 40)
	s.Constant(instance("nvidia_smi_gpu_info", "uuid", split, "index", "0", "name", "NVIDIA H100 NVL", "instance", "10.0.0.1:9835"), 1)
	s.Constant(instance("nvidia_smi_mig_memory_used_bytes", "uuid", split, "gpu_instance_id", "7", "instance", "10.0.0.1:9835"), 1<<30)
	s.Constant(instance("nvidia_smi_memory_used_bytes", "uuid", whole, "instance", "10.0.0.1:9835"), 2<<30)
	s.Constant(instance("nvidia_smi_memory_used_bytes", "uuid", split, "instance", "10.0.0.1:9835"), 3<<30)
	h := open(t, s)
	first, second, other, board := "n1 · GPU 0 · MIG 1g.12gb #7", "n1 · GPU 0 · MIG 1g.11gb #8", "n1 · GPU 1 · H100 NVL", "n1 · GPU 0 · H100 NVL"
	wantLast(t, ask(t, h, "gpu_utilization_ratio", `"nodes":["n1"]`), map[string]float64{first: 0.9, second: 0.2, other: 0.5})
	wantLast(t, ask(t, h, "gpu_temperature_celsius", ""), map[string]float64{board: 40})
	memory := ask(t, h, "gpu_memory_used_bytes", `"nodes":["n1"]`)
	wantLast(t, memory, map[string]float64{first: 1 << 30, other: 2 << 30, board: 3 << 30})
	if got := names(memory.Absent); got != second {
		t.Errorf("absent are %s", got)
	}
}
