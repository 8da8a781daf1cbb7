package history

import (
	"context"
	"testing"
)

// The same GPU gives the same answers under every exporter's names, also where a pipeline changed these.
func TestEveryDialectAnswersAlike(t *testing.T) {
	const uuid = "GPU-5e1f0003-0a00-4a00-8b00-000000000003"
	stores := map[string]*History{
		"nvitop.prom": open(t, exposition(t, "nvitop.prom")), "all_smi.prom": open(t, exposition(t, "all_smi.prom")),
		"hardware_otel.json": open(t, recorded(t, "hardware_otel.json")), "renamed.json": open(t, recorded(t, "renamed.json")),
	}
	for file, h := range stores {
		devices, _ := h.Devices(context.Background())
		if len(devices) != 1 || devices[0].UUID != uuid || devices[0].Node == "" {
			t.Errorf("%s: %+v", file, devices)
			continue
		}
		for metric, want := range map[string]float64{
			"gpu_utilization_ratio": 0.87, "gpu_memory_used_bytes": 59960 << 20, "gpu_power_watts": 311.402,
		} {
			got := last(ask(t, h, metric, ""))
			if len(got) != 1 || !near(got, map[string]float64{devices[0].Name(): want}, 1e-9) {
				t.Errorf("%s: %s is %v, want %v", file, metric, got, want)
			}
		}
	}
	encoder := last(ask(t, stores["hardware_otel.json"], "gpu_encoder_utilization_ratio", ""))
	for name, value := range encoder {
		if value != 0.02 || len(encoder) != 1 {
			t.Errorf("encoder of %s: %v", name, encoder)
		}
	}
}

// A dialect that has a series for each part of a GPU gives their sum, like one that has a label.
func TestPartsInNamesAreAddedUp(t *testing.T) {
	h := open(t, exposition(t, "dcgm_parts.prom"))
	const gpu0 = "n1 · GPU 0 · H200"
	wantLast(t, ask(t, h, "gpu_row_remap_banks", ""), map[string]float64{gpu0: 3072})
	wantLast(t, ask(t, h, "gpu_nvlink_link_throughput_bytes_per_second", ""), map[string]float64{gpu0: 5 * 1024e3})
}
