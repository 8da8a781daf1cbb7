package catalog

import "math"

// Verdict says what became of a sample.
type Verdict uint8

// The verdicts on a sample. NaN is a gap, not a fault.
const (
	Kept     Verdict = iota
	Gap              // the server sent NaN or an infinity
	Sentinel         // the exporter's way of writing "no value"
	Garbage          // impossible for the metric
)

// MaxPlausibleRatio is the largest ratio that is read as a ratio where per cent is possible too.
const MaxPlausibleRatio = 1.5

// Convert turns a source's sample into the canonical unit of its metric and judges it. Samples that are not Kept must
// not be shown, and must not be clamped: a wrong utilization of 4294967295 says nothing about how busy the GPU was.
// A counter's sample is a rate, to which sentinels do not apply.
func (c *Catalog) Convert(m Metric, conversion Conversion, value float64) (float64, Verdict) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return 0, Gap
	}
	if m.Kind == Gauge && c.IsSentinel(value) {
		return 0, Sentinel
	}
	value = conversion.Apply(value)
	if value < 0 && !m.Signed || m.Max != 0 && math.Abs(value) > m.Max {
		return 0, Garbage
	}
	return value, Kept
}

// All sentinels lie outside of these.
const (
	leastSentinel        = 2147483632
	mostNegativeSentinel = -9.2e18
)

// IsSentinel reports whether an exporter's raw value means "no value".
func (c *Catalog) IsSentinel(value float64) bool {
	if value < leastSentinel && value > mostNegativeSentinel {
		return false
	}
	for _, s := range c.sentinels {
		if value >= s.From && value <= s.To {
			return true
		}
	}
	return false
}

// Evidence is what was seen of a source whose unit is not in its name.
type Evidence struct {
	Max      float64 // of the values that are no sentinels
	Fraction float64 // the largest of the values that are not whole numbers, 0 when all are
	Largest  float64 // of all values, for units other than per cent and ratio
	Legacy   bool    // its series carry what only exporters of the time of per cent write, see IsLegacy
}

// Observe adds a raw value to the evidence.
func (c *Catalog) Observe(e *Evidence, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) || c.IsSentinel(value) {
		return
	}
	e.Largest = math.Max(e.Largest, value)
	// DCGM's garbage would pass for per cent.
	if value > 100 {
		return
	}
	e.Max = math.Max(e.Max, value)
	if value != math.Trunc(value) {
		e.Fraction = math.Max(e.Fraction, value)
	}
}

// IsLegacy reports whether labels are those of exporters from the time when all utilizations were per cent.
func (c *Catalog) IsLegacy(labels Labels) bool { return first(labels, c.legacy) != "" }

// DecideAuto settles a conversion that is either per cent or a ratio from the evidence of one target. It reports false when the values fit both
// readings, and then goes by the labels: a GPU at 0 is 0 either way.
func (c *Catalog) DecideAuto(e Evidence) (Conversion, bool) {
	ratio := Conversion{Unit: "ratio", Multiplier: 1, Divisor: 1}
	switch {
	case e.Fraction > 0 && e.Fraction <= MaxPlausibleRatio:
		// Per cent is written in whole numbers; one that is larger among fractions of 1 is garbage.
		return ratio, true
	case e.Max > MaxPlausibleRatio:
		return c.percent, true
	case e.Legacy:
		return c.percent, false
	}
	return ratio, false
}
