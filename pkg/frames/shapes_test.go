package frames_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestBands(t *testing.T) {
	times, _ := every(30*time.Second, 0, 0, 0)
	bands := []frames.Band{
		{Name: "min", Values: []float64{20, 21, 22}}, {Name: "p5", Values: []float64{25, 26, 27}}, {Name: "p25", Values: []float64{40, 41, 42}},
		{Name: "p50", Values: []float64{50, 51, 52}}, {Name: "p75", Values: []float64{60, 61, 62}}, {Name: "p95", Values: []float64{80, 81, 82}},
		{Name: "max", Values: []float64{99, math.Inf(1), math.NaN()}},
	}
	o := frames.Options{
		Metric: "gpu_temperature_celsius", Description: "Temperature of the GPU.", Unit: gpu.Celsius, Step: 30 * time.Second, Executed: "x",
		Notices: []gpu.Notice{{Severity: gpu.Info, Text: "bands"}},
	}
	golden(t, "bands", frames.Bands(times, bands, []float64{5000, 5000, 4999}, o))
	for legend, want := range map[string]string{"__auto": "p95", "Training {{node}}": "Training p95", "{{node}}": "p95"} {
		o.Naming.Legend = legend
		field := frames.Bands(times, bands, nil, o).Fields[6]
		if field.Name != want || field.Config.DisplayNameFromDS != want || field.Config.Custom["fillBelowTo"] != strings.Replace(want, "95", "5", 1) {
			t.Errorf("legend %q: %q, filled to %v", legend, field.Name, field.Config.Custom["fillBelowTo"])
		}
	}
	o.Naming.Legend = ""
	for i := range bands {
		bands[i].Values = bands[i].Values[:1]
	}
	golden(t, "bands_now", frames.BandsNow(bands, []float64{5000}, o))
	golden(t, "shapes_empty", frames.Bands(nil, bands, nil, o), frames.BandsNow(bands, nil, o), frames.Heatmap(nil, nil, o))
}

func TestHeatmap(t *testing.T) {
	times, _ := every(time.Minute, 0, 0)
	golden(t, "heatmap", frames.Heatmap(times, []frames.Bin{
		{Upper: 0.05, Count: []float64{3000, 2900}}, {Upper: 0.1, Count: []float64{0, 100}}, {Upper: 100_000_000, Count: []float64{1, 1}},
	}, frames.Options{Metric: "gpu_utilization_ratio", Description: "Busy.", Unit: gpu.Ratio, Step: time.Minute}))
}
