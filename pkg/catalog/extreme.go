package catalog

import (
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// The ways in which the samples of a stretch of time become one value.
const (
	OverTimeMax  = "max"
	OverTimeMin  = "min"
	OverTimeMean = "avg"
	OverTimeLast = "last" // the newest of them; never chosen by OverTime
)

// OverTime is how the samples of a gauge between two points of an answer become one value, when devices are aggregated with
// a function: what must not be missed is kept by its extreme, other levels by their mean. It is "" for what has none of
// these: counters, histograms, and codes of which neither end matters more.
func (m Metric) OverTime(aggregation string) string {
	switch {
	case m.Kind != Gauge:
		return ""
	case aggregation == OverTimeMax || aggregation == OverTimeMin:
		return aggregation
	case m.Unit == gpu.Code || m.Family == "temperature" || m.Family == "errors":
		for _, fn := range m.Aggregations {
			if fn == OverTimeMax || fn == OverTimeMin {
				return fn
			}
		}
		if m.Unit == gpu.Code {
			return ""
		}
		return OverTimeMax
	}
	return OverTimeMean
}

// WindowSeries are the names under which the agent writes the greatest ("max") or least ("min") of all that it saw of a
// metric between two scrapes, the mask of all bits among them. Not every metric has one; nil for other functions.
func (m Metric) WindowSeries(function string) []string {
	if !m.Agent || m.Kind != Gauge || function != OverTimeMax && function != OverTimeMin {
		return nil
	}
	stem, unit := m.Name, ""
	if suffix := "_" + string(m.Unit); strings.HasSuffix(m.Name, suffix) {
		stem, unit = strings.TrimSuffix(m.Name, suffix), suffix
	}
	names := []string{stem + "_window_" + function + unit}
	if m.Unit == gpu.Code && function == OverTimeMax {
		names = append(names, stem+"_window"+unit)
	}
	return names
}

// Bounds are the least and the greatest raw value of a source that can be true. What an exporter writes for "no value" is
// outside, but for the codes in Blanks.
func (c *Catalog) Bounds(m Metric, conversion Conversion) (low, high float64) {
	high = -mostNegativeSentinel
	if m.Max != 0 {
		// A unit that is not known yet may be the one with the larger numbers.
		limit := m.Max * conversion.Divisor / conversion.Multiplier
		if conversion.Auto {
			limit = max(limit, m.Max*c.percent.Divisor/c.percent.Multiplier)
		}
		high = min(high, limit)
	}
	if m.Signed {
		low = -high
	}
	return low, high
}

// Blanks are the whole numbers between two raw values that exporters write for "no value".
func (c *Catalog) Blanks(low, high float64) []float64 {
	var codes []float64
	for _, s := range c.sentinels {
		if !(s.To-s.From <= 16) {
			continue // what is beyond all bounds is a range without end
		}
		for v := s.From; v <= s.To; v++ {
			if v >= low && v <= high {
				codes = append(codes, v)
			}
		}
	}
	slices.Sort(codes)
	return codes
}

// Recorded reports whether the recording rules of dashboards/rules have the metric.
func (m Metric) Recorded() bool {
	switch m.Name {
	case "gpu_utilization_ratio", "gpu_sm_active_ratio", "gpu_tensor_active_ratio", "gpu_memory_used_bytes", "gpu_power_watts",
		"gpu_temperature_celsius", "gpu_sm_clock_hertz":
		return true
	}
	return false
}
