package anomaly

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/forecast"
)

// Threshold is a fixed limit for an alert rule.
type Threshold struct {
	Value float64 // in the metric's unit, rounded outwards to three digits
	// PerWeek is how often it would have been crossed for as long as the rule waits, on all devices together.
	PerWeek float64
}

// Learned is what a history suggests for an alert rule.
type Learned struct {
	Field          insight.Field
	Unit           gpu.Unit
	Below          bool // alert when values are below
	Known          bool // false: too little history, see Text
	Warn, Critical Threshold
	P1, P50, P99   float64 // of the history
	Weeks          float64 // that it is long
	Devices        int
	Text           string
}

const (
	leastLearned = 200            // values in all that thresholds are learned from
	leastSpan    = 24 * time.Hour // and how long a history
	candidates   = 60             // thresholds that are tried
)

// Learn suggests thresholds for a field from all devices of a grid, or from those of one class.
func Learn(devices *insight.Devices, field insight.Field, class insight.Class, below bool, l Limits) Learned {
	out := Learned{Field: field, Unit: forecast.UnitOf(field), Below: below}
	var rows [][]float64
	var all []float64
	for i, s := range devices.Subjects {
		if values := devices.Values(field, i); values != nil && (class == insight.Unclassified || s.Class == class) {
			rows = append(rows, values)
			for _, v := range values {
				if math.Abs(v) <= biggest {
					all = append(all, v)
				}
			}
		}
	}
	out.Devices = len(rows)
	length := time.Duration(len(devices.Times)) * devices.Step
	out.Weeks = length.Hours() / weekly
	if len(all) < leastLearned || length < leastSpan {
		out.Text = fmt.Sprintf("Too little history for thresholds: %d values over %s; it takes %d over a day, better over two weeks.", len(all), insight.Span(length), leastLearned)
		return out
	}
	slices.Sort(all)
	at := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, all, nil) }
	out.P1, out.P50, out.P99 = at(0.01), at(0.5), at(0.99)
	out.Known = true
	steps := max(1, int(math.Ceil(l.DurationMinutes*float64(time.Minute)/float64(max(devices.Step, 1)))))
	out.Warn = lowest(all, rows, below, steps, out.Weeks, l.WarnPerWeek)
	out.Critical = lowest(all, rows, below, steps, out.Weeks, l.CriticalPerWeek)
	// A critical value that is hardly beyond the warning says nothing more: it is at least half as far again from the median.
	further := rounded(out.P50+1.5*(out.Warn.Value-out.P50), below)
	if (further > out.Critical.Value) != below {
		out.Critical = Threshold{Value: further, PerWeek: perWeek(rows, further, below, steps, out.Weeks)}
	}
	word := "above"
	if below {
		word = "below"
	}
	out.Text = fmt.Sprintf("Warn %s %s, critical %s %s, for %.0f minutes: on the %.1f weeks of %d GPUs that this was learned from, that is %.2g warnings and %.2g critical alerts a week.",
		word, amount(out.Warn.Value, out.Unit), word, amount(out.Critical.Value, out.Unit), l.DurationMinutes, out.Weeks, out.Devices, out.Warn.PerWeek, out.Critical.PerWeek)
	if out.Weeks < 2 {
		out.Text += " Less than two weeks do not know all hours of a week twice: learn again later."
	}
	return out
}

// lowest is the threshold nearest to the median that is crossed no more often than allowed. The tail beyond the 95th
// percentile is tried, and at last what was never reached.
func lowest(sorted []float64, rows [][]float64, below bool, steps int, weeks, allowed float64) Threshold {
	n := len(sorted)
	for k := range candidates {
		// Evenly in the logarithm of how rare it is: 5 % down to one value.
		tail := 0.05 * math.Pow(1/(0.05*float64(n)), float64(k)/(candidates-1))
		i := min(n-1, int((1-tail)*float64(n)))
		if below {
			i = n - 1 - i
		}
		value := rounded(sorted[i], below)
		if often := perWeek(rows, value, below, steps, weeks); often <= allowed {
			return Threshold{value, often}
		}
	}
	value := sorted[n-1] + 0.05*math.Abs(sorted[n-1])
	if below {
		value = sorted[0] - 0.05*math.Abs(sorted[0])
	}
	value = rounded(value, below)
	return Threshold{value, perWeek(rows, value, below, steps, weeks)}
}

// rounded is a value in three digits, away from the median.
func rounded(v float64, below bool) float64 {
	if v == 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-2)
	if unit == 0 || math.IsInf(unit, 0) {
		return v
	}
	r := math.Ceil(v/unit) * unit
	if below {
		r = math.Floor(v/unit) * unit
	}
	if math.IsNaN(r) || math.IsInf(r, 0) {
		return v
	}
	return r
}

// perWeek is how often values were beyond a threshold for so many steps on end. A step without a value ends it.
func perWeek(rows [][]float64, threshold float64, below bool, steps int, weeks float64) float64 {
	count := 0
	for _, values := range rows {
		run := 0
		for _, v := range values {
			if v > threshold && !below || v < threshold && below {
				if run++; run == steps {
					count++
				}
				continue
			}
			run = 0
		}
	}
	return float64(count) / max(weeks, 1.0/weekly)
}
