package gpu

import "testing"

func TestShareOfTheGPU(t *testing.T) {
	for _, tc := range []struct {
		model, instance, profile string
		slices, of               float64
	}{
		{"NVIDIA H100 80GB HBM3", "", "", 1, 1},
		{"NVIDIA H100 80GB HBM3", "7", "1g.10gb", 1, 7},
		{"NVIDIA H100 80GB HBM3", "7", "1g.10gb+me", 1, 7},
		{"NVIDIA H200", "1", "1c.3g.71gb", 3, 7},
		{"NVIDIA A100-SXM4-80GB", "0", "7g.80gb", 7, 7},
		{"NVIDIA A100-SXM4-80GB", "3", "", 1, 7},
		{"NVIDIA A30", "5", "1g.6gb", 1, 4},
		{"NVIDIA-A30", "0", "4g.24gb", 4, 4},
		{"NVIDIA RTX PRO 6000 Blackwell Server Edition", "1", "2g.48gb", 2, 4},
		{"NVIDIA A30X", "1", "8g.1gb", 8, 8},
	} {
		d := Device{Identity: Identity{UUID: "GPU-1", GPUInstance: tc.instance}, Model: tc.model, MIGProfile: tc.profile}
		if got := d.Share(); got != tc.slices/tc.of {
			t.Errorf("%s %q: got %v, want %v/%v", tc.model, tc.profile, got, tc.slices, tc.of)
		}
	}
}

func TestIsVirtual(t *testing.T) {
	for model, want := range map[string]bool{
		"GRID A100X-20C": true, "GRID-T4-16Q": true, "NVIDIA A40-8Q": true, "NVIDIA L40S-48Q": true, "NVIDIA A100-1-5C": true, "NVIDIA GRID V100D-8Q": true,
		"NVIDIA A100-SXM4-80GB": false, "Tesla T4": false, "NVIDIA H100 80GB HBM3": false, "NVIDIA GeForce GTX 1650 with Max-Q Design": false,
		"NVIDIA-H100-NVL": false, "NVIDIA A100-PCIE-40GB": false, "": false,
	} {
		if got := (Device{Model: model}).IsVirtual(); got != want {
			t.Errorf("%q: got %v", model, got)
		}
	}
}
