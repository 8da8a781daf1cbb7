package forecast

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Names of metrics that the kinds look at.
const (
	memoryUsed     = "gpu_memory_used_bytes"
	memoryFree     = "gpu_memory_free_bytes"
	memoryTotal    = "gpu_memory_total_bytes"
	memoryReserved = "gpu_memory_reserved_bytes"
	kvCache        = "serve_kv_cache_ratio"
	dieCelsius     = "gpu_temperature_celsius"
	hbmCelsius     = "gpu_memory_temperature_celsius"
	slowdown       = "gpu_temperature_slowdown_celsius"
	margin         = "gpu_temperature_margin_celsius"
	retiredSingle  = "gpu_retired_pages_single_bit"
	retiredDouble  = "gpu_retired_pages_double_bit"
)

// activity is what tells whether a GPU works, the best first.
func activity() []insight.Field {
	return []insight.Field{{Metric: "gpu_sm_active_ratio"}, {Metric: "gpu_graphics_engine_active_ratio"}, {Metric: "gpu_utilization_ratio"}}
}

// precursors are the counters that rise before a board fails.
func precursors() []insight.Field {
	names := []string{
		"gpu_ecc_corrected_errors_total", "gpu_remapped_rows_correctable_total", "gpu_remapped_rows_uncorrectable_total",
		"gpu_pcie_replay_errors_total", "gpu_nvlink_crc_errors_total", "gpu_nvlink_replay_errors_total",
		"gpu_throttle_thermal_seconds_total",
	}
	out := make([]insight.Field, len(names))
	for i, n := range names {
		out[i] = insight.Field{Metric: n, Of: insight.Rise}
	}
	return out
}

// Fields are what a forecast needs of devices, in the order of use.
func Fields(o Options) []insight.Field {
	switch o.kind() {
	case Capacity:
		return activity()
	case Memory:
		return []insight.Field{{Metric: memoryUsed, Of: insight.Max}, {Metric: memoryUsed}, {Metric: memoryFree}, {Metric: memoryTotal}, {Metric: memoryReserved}}
	case Temperature:
		return []insight.Field{
			{Metric: margin, Of: insight.Min}, {Metric: margin}, {Metric: dieCelsius, Of: insight.Max}, {Metric: dieCelsius}, {Metric: slowdown},
			{Metric: hbmCelsius, Of: insight.Max}, {Metric: hbmCelsius},
		}
	case Errors:
		return append(precursors(), insight.Field{Metric: retiredSingle}, insight.Field{Metric: retiredDouble})
	default:
		if onWorkloads(o.Metric) {
			return nil
		}
		return []insight.Field{{Metric: o.Metric, Of: o.Value}}
	}
}

// WorkloadFields are what a forecast needs of servers and ranks.
func WorkloadFields(o Options) []insight.Field {
	switch {
	case o.kind() == Memory:
		return []insight.Field{{Metric: kvCache}}
	case o.kind() == Metric && onWorkloads(o.Metric):
		return []insight.Field{{Metric: o.Metric, Of: o.Value}}
	default:
		return nil
	}
}

func onWorkloads(metric string) bool {
	return strings.HasPrefix(metric, "serve_") || strings.HasPrefix(metric, "train_")
}

// UnitOf is the unit of a field's values, as its metric's name says.
func UnitOf(f insight.Field) gpu.Unit {
	name, counter := strings.CutSuffix(f.Metric, "_total")
	unit := gpu.Count
	for _, u := range []gpu.Unit{gpu.BytesPerSecond, gpu.Bytes, gpu.Seconds, gpu.Watts, gpu.Joules, gpu.Hertz, gpu.Celsius, gpu.Ratio} {
		if strings.HasSuffix(name, "_"+string(u)) {
			unit = u
			break
		}
	}
	if counter && f.Of != insight.Rise && f.Of != insight.Total {
		return unit.PerSecond()
	}
	return unit
}

// bounds of what a unit's values can be. A ratio may be a little more than 1 by how it is measured.
func bounds(unit gpu.Unit) (lowest, highest float64) {
	switch unit {
	case gpu.Ratio:
		return 0, 1.5
	case gpu.Celsius:
		return -60, 200
	default:
		return 0, math.Inf(1)
	}
}

// target is what a query asks for, of values of one unit.
func (o Options) target(unit gpu.Unit) Target {
	t := Target{Horizon: o.horizon(), Coverage: o.Coverage, Limit: math.NaN(), Below: o.Below, Unit: unit}
	t.Lowest, t.Highest = bounds(unit)
	if o.Limit != nil {
		t.Limit = *o.Limit
	}
	return t
}

// seriesOf is a row of a grid.
func seriesOf[S any](g *insight.Grid[S], values []float64) Series {
	s := Series{Step: g.Step, Values: values}
	if len(g.Times) > 0 {
		s.Start = g.Times[0]
	}
	return s
}

// newest cuts all but the newest part of a series.
func (s Series) newest(d time.Duration) Series {
	if s.Step <= 0 {
		return s
	}
	if n := int(d / s.Step); len(s.Values) > n {
		cut := len(s.Values) - n
		s.Start += int64(cut) * s.Step.Milliseconds()
		s.Values = s.Values[cut:]
	}
	return s
}

// newestValue is the last value of a row that there is; NaN when none.
func newestValue(values []float64) float64 {
	for _, v := range slices.Backward(values) {
		if !math.IsNaN(v) {
			return v
		}
	}
	return math.NaN()
}

// boards are the rows that stand for whole GPUs: the GPU's own, or the first instance of one that has no row of its own.
func boards(devices *insight.Devices) []int {
	rows := make(map[gpu.Identity]int)
	var order []gpu.Identity
	for i, s := range devices.Subjects {
		parent := s.Identity.Parent()
		if _, ok := rows[parent]; !ok {
			order = append(order, parent)
			rows[parent] = i
		} else if !s.IsMIG() {
			rows[parent] = i
		}
	}
	out := make([]int, len(order))
	for i, id := range order {
		out[i] = rows[id]
	}
	return out
}

// missing collects what was needed and is nowhere.
type missing []string

func (m *missing) add(names ...string) {
	for _, n := range names {
		if n != "" && !slices.Contains(*m, n) {
			*m = append(*m, n)
		}
	}
}

// lowered is one degree less, but still something.
func lowered(c insight.Confidence) insight.Confidence {
	if c > insight.Low {
		return c - 1
	}
	return c
}

// full is the part of its usable memory that a device uses at each step: used by used and free, or by the total without
// what is reserved. nil when not even used is known; name is what else is missing.
func full(devices *insight.Devices, subject int) (ratio []float64, wanting string) {
	_, used := devices.First(subject, insight.Field{Metric: memoryUsed, Of: insight.Max}, insight.Field{Metric: memoryUsed})
	if used == nil {
		return nil, memoryUsed
	}
	free := devices.Values(insight.Field{Metric: memoryFree}, subject)
	mean := devices.Values(insight.Field{Metric: memoryUsed}, subject)
	if mean == nil {
		mean = used
	}
	total := newestValue(devices.Values(insight.Field{Metric: memoryTotal}, subject))
	reserved := newestValue(devices.Values(insight.Field{Metric: memoryReserved}, subject))
	if math.IsNaN(reserved) {
		reserved = 0
	}
	ratio = make([]float64, len(used))
	known := false
	for i := range used {
		usable := insight.At(mean, i) + insight.At(free, i)
		if math.IsNaN(usable) {
			usable = total - reserved
		}
		ratio[i] = math.NaN()
		if usable > 0 {
			ratio[i] = used[i] / usable
			known = true
		}
	}
	if !known {
		return nil, memoryFree
	}
	return ratio, ""
}
