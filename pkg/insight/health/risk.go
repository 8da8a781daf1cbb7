package health

import (
	"fmt"
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Risk says how many of the signs that often come before a fault a GPU shows. It is no prediction: most GPUs with a high
// risk go on working, and some fail without any.
type Risk struct {
	Score float64 // 0 to 1, of the parts: 1 − Π(1 − Share)
	Parts []RiskPart
}

// RiskPart is one precursor.
type RiskPart struct {
	ID     string
	Metric string
	Value  float64
	Unit   gpu.Unit
	Full   float64 // from here on it weighs in full
	Weight float64 // 0 to 1
	Share  float64 // Weight times how far Value is on the way to Full
	format string
}

// Text is the part for people.
func (p RiskPart) Text() string { return fmt.Sprintf(p.format, p.Value) }

// risk looks at the whole range, not only at its end.
func (b *board) risk() Risk {
	if len(b.times) == 0 {
		return Risk{}
	}
	var r Risk
	part := func(id string, c column, unit gpu.Unit, value, full, weight float64, text string) {
		if !(value > 0) || full <= 0 {
			return
		}
		if math.IsInf(value, 1) {
			value = math.MaxFloat64
		}
		r.Parts = append(r.Parts, RiskPart{
			ID: id, Metric: b.fields[c].Metric, Value: value, Unit: unit, Full: full, Weight: weight,
			Share: weight * min(1, value/full), format: text,
		})
	}
	if rows := b.values[remappedRise]; rows != nil {
		part("remapped-rows", remappedRise, gpu.Count, sum(rows), 4, 0.5, "%.0f rows replaced after uncorrectable errors")
	}
	if rows := b.values[remappedCorrectableRise]; rows != nil {
		part("remapped-rows-correctable", remappedCorrectableRise, gpu.Count, sum(rows), 8, 0.25, "%.0f rows replaced after correctable errors")
	}
	hours := max(1, (time.Duration(len(b.times)) * b.step).Hours())
	if errors := b.values[corrected]; errors != nil {
		part("ecc-corrected", corrected, gpu.Count, sum(errors)/hours, b.limits.CorrectedPerHour, 0.3, "%.1f corrected memory errors an hour")
	}
	if replays := b.values[replay]; replays != nil {
		// A tenth of DCGM's limit, over the whole range, is no chance any more.
		limit := replayPerMinute(highest(b.values[generation]), highest(b.values[width]))
		if limit == 0 {
			limit = replayPerMinute(b.model.generation, b.model.width)
		}
		part("pcie-replay", replay, gpu.Count, sum(replays)/(hours*60), limit/10, 0.2, "%.1f PCIe replays a minute")
	}
	links := 0.0
	for _, e := range nvlinkErrors {
		if values := b.values[e.column]; values != nil {
			links += sum(values)
		}
	}
	part("nvlink-errors", nvlinkReplay, gpu.Count, links, 10, 0.3, "%.0f NVLink errors")
	part("margin-trend", margin, gpu.Celsius, b.cooling(), 10, 0.15, "%.1f °C of thermal margin lost within the range")
	part("throttle-growth", thermalShare, gpu.Ratio, b.throttleGrowth(), 0.1, 0.15, "%.3f more of the time throttled by heat than before")
	repeats := 0
	for _, o := range b.xids {
		if o.known && !o.unknownStart && (o.xid.Serious() || grave(o.xid) || o.alone >= b.limits.XIDRepeats) {
			repeats += o.count
		}
	}
	part("repeated-xids", xidLast, gpu.Count, float64(repeats), float64(b.limits.XIDFatal), 0.5, "%.0f XIDs that are not an application's alone")
	rest := 1.0
	for _, p := range r.Parts {
		rest *= 1 - p.Share
	}
	r.Score = 1 - rest
	return r
}

// trendSteps is how many steps a comparison of the range's halves needs on each side.
const trendSteps = 6

// cooling is how much less the mean margin is in the second half of the range, counting only steps in which the GPU worked:
// an idle GPU has a high margin, which says nothing of its cooling.
func (b *board) cooling() float64 {
	values := b.values[margin]
	if values == nil || len(values) < 2*trendSteps || len(b.busy) != len(values) || !b.model.hasMargin {
		return 0
	}
	var s [2]float64
	var n [2]int
	for i, v := range values {
		if math.IsNaN(v) || !(b.busy[i] > b.limits.Busy) {
			continue
		}
		half := 2 * i / len(values)
		s[half] += v
		n[half]++
	}
	if n[0] < trendSteps || n[1] < trendSteps {
		return 0
	}
	if lost := s[0]/float64(n[0]) - s[1]/float64(n[1]); lost >= 1 {
		return lost
	}
	return 0
}

// throttleGrowth is how much larger the share of time lost to heat is in the second half of the range.
func (b *board) throttleGrowth() float64 {
	values := b.values[thermalShare]
	if len(values) < 2*trendSteps {
		return 0
	}
	grown := mean(values[len(values)/2:]) - mean(values[:len(values)/2])
	if grown > 0.001 {
		return grown
	}
	return 0
}

// severityOf is the worst of some reasons.
func severityOf(reasons []insight.Reason) insight.Severity {
	worst := insight.OK
	for _, r := range reasons {
		worst = worse(worst, r.Severity)
	}
	return worst
}
