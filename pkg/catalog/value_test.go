package catalog

import (
	"math"
	"testing"
)

func TestConvert(t *testing.T) {
	c := mustLoad(t)
	for _, tc := range []struct {
		series  string
		raw     float64
		want    float64
		verdict Verdict
	}{
		{"DCGM_FI_DEV_GPU_UTIL", 87, 0.87, Kept},
		{"DCGM_FI_DEV_GPU_UTIL", 4294967295, 0, Sentinel},
		{"DCGM_FI_DEV_GPU_UTIL", 875770417, 0, Garbage},
		{"DCGM_FI_DEV_GPU_UTIL", 1544, 0, Garbage},
		{"DCGM_FI_DEV_GPU_UTIL", 101, 0, Garbage},
		{"DCGM_FI_DEV_GPU_UTIL", -1, 0, Garbage},
		{"DCGM_FI_DEV_GPU_UTIL", math.NaN(), 0, Gap},
		{"DCGM_FI_DEV_GPU_UTIL", math.Inf(1), 0, Gap},
		{"DCGM_FI_DEV_FB_USED", 59960, 59960 * 1048576, Kept},
		{"DCGM_FI_DEV_FB_USED", 2147483634, 0, Sentinel},
		{"DCGM_FI_DEV_FB_USED_BYTES", 62872616960, 62872616960, Kept},
		{"DCGM_FI_DEV_SM_CLOCK", 1755, 1755e6, Kept},
		{"DCGM_FI_DEV_SM_CLOCK_HERTZ", 1755000000, 1755e6, Kept},
		{"DCGM_FI_DEV_MEMORY_TEMP", 9223372036854775794, 0, Sentinel},
		{"DCGM_FI_DEV_GPU_TEMP", 4000, 0, Garbage},
		{"DCGM_FI_DEV_POWER_USAGE", 140737488355330, 0, Sentinel},
		{"DCGM_FI_DEV_POWER_USAGE", 311.402, 311.402, Kept},
		{"DCGM_FI_DEV_GPU_TEMP_LIMIT", -3, -3, Kept},
		{"DCGM_FI_PROF_SM_ACTIVE", 1.17, 1.17, Kept},
		{"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", 2, 2048000, Kept},
		{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 311402, 311.402, Kept},
		{"DCGM_FI_DEV_POWER_VIOLATION", 5e8, 0.5, Kept},
		{"gpu_memory_used_bytes", 2147483648, 2147483648, Kept},
	} {
		source := c.Lookup(tc.series)[0]
		m, _ := c.Metric(source.Metric)
		got, verdict := c.Convert(m, source.Conversion, tc.raw)
		if got != tc.want || verdict != tc.verdict {
			t.Errorf("%s %v: got %v (%d), want %v (%d)", tc.series, tc.raw, got, verdict, tc.want, tc.verdict)
		}
	}
}

func TestDecideAuto(t *testing.T) {
	c := mustLoad(t)
	for _, tc := range []struct {
		values []float64
		unit   string
		sure   bool
	}{
		{[]float64{0, 87, 3}, "percent", true},
		{[]float64{0, 0.87}, "ratio", true},
		{[]float64{0, 2}, "percent", true},
		{[]float64{0, 0, 0}, "ratio", false},
		{[]float64{0, 1}, "ratio", false},
		{[]float64{0.5, 4294967295, 875770417}, "ratio", true},
		{[]float64{0.87, 57, 0.9, 3}, "ratio", true}, // whole numbers among fractions of 1 are garbage
		{[]float64{0.5, 87.25}, "percent", true},     // averages of per cent
		{[]float64{math.NaN(), math.Inf(1)}, "ratio", false},
		{nil, "ratio", false},
	} {
		var e Evidence
		for _, v := range tc.values {
			c.Observe(&e, v)
		}
		got, sure := c.DecideAuto(e)
		if got.Unit != tc.unit || sure != tc.sure {
			t.Errorf("%v: got %s, %v, want %s, %v", tc.values, got.Unit, sure, tc.unit, tc.sure)
		}
	}
}
