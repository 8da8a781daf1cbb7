package catalog

import "testing"

func TestSeriesOfOthersAreNotDevices(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"gpu_power_watts": true, "GPU_POWER_WATTS": true, "gpu_info": true, "gpu_xid_last_timestamp_seconds": true,
		"gpu_sm_active_window_mean_ratio": true, "gpu_clock_event_reasons_window": true, "gpu:power_watts:max_by_device": true,
		"DCGM_FI_DEV_WHATEVER": true, "DCGM_FI_DEV_.*_UTIL": true, "nvidia_smi_x": true, "hw.power": true, "gpu_memory_used_MiB": true,
		"gpu_power_usage": false, "gpu_memory_temperature": false, "gpu_window": false, "nvidia_gpu_duty_cycle": false,
		"container_gpu_utilization": false, "kube_pod_info": false, "vllm:num_requests_running": false, "train_loss": false,
		"mysql_used_percentage": false, "cpu_mhz": false, "disk_mib": false, "irq_hw_errors_total": false, "": false,
	} {
		if c.OfDevices(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
