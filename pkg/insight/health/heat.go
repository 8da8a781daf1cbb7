package health

import (
	"fmt"
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// heat is how close the board is to what slows it down. Fixed limits of the GPU's temperature are not used: models differ.
func (b *board) heat() {
	lasting := minutes(b.limits.MarginMinutes)
	low := b.model.margin
	if v, found := b.at(margin); found && b.model.hasMargin {
		if h := b.held(b.values[margin], lasting, 1, func(x float64) bool { return x < low }); h.is {
			severity, text := insight.Warning, fmt.Sprintf("The GPU is %.0f °C from slowing down.", v)
			if v < 0.5 {
				text = "The GPU is as hot as it may be, and slows down."
			}
			if beyond := b.held(b.values[margin], lasting, 1, func(x float64) bool { return x < b.model.marginCritical }); beyond.is {
				severity, text, h = insight.Critical, fmt.Sprintf("The GPU is %.0f °C beyond its temperature limit.", -v), beyond
				low = b.model.marginCritical
			}
			b.add(insight.Reason{
				ID: "thermal-margin", Severity: severity, Text: text,
				Evidence: []insight.Evidence{b.evidence(margin, gpu.Celsius, v, low, false, fmt.Sprintf("margin %.1f °C, below %g °C", v, low))},
				Action:   operator("Look at fans, air flow or coolant of the node; move its load.", "thermal-margin"),
			}, h)
		}
	} else if limit, told := b.at(slowdownTemperature); told && limit > 0 {
		v, _ := b.at(temperature)
		if h := b.held(b.values[temperature], lasting, 1, func(x float64) bool { return x > limit-low }); h.is {
			b.add(insight.Reason{
				ID: "thermal-margin", Severity: insight.Warning, Text: fmt.Sprintf("The GPU is at %.0f °C and slows down at %.0f °C.", v, limit),
				Evidence: []insight.Evidence{b.evidence(temperature, gpu.Celsius, v, limit-low, true, fmt.Sprintf("%.0f °C, above %.0f °C", v, limit-low))},
				Action:   operator("Look at fans, air flow or coolant of the node; move its load.", "thermal-margin"),
			}, h)
		}
	}
	if b.model.hasMemory {
		b.memoryHeat()
	}
}

// sane reports whether a temperature is one: sensors that are not there are read as 0, and as huge numbers.
func sane(celsius float64) bool { return celsius > 0 && celsius < 200 }

func (b *board) memoryHeat() {
	values := b.values[memoryTemperature]
	if top := highest(values); !(top > b.model.memoryWarn) {
		return
	}
	n := b.steps(minutes(b.limits.MemoryMinutes))
	recent := func(i int) float64 {
		s, count := 0.0, 0
		for _, v := range values[max(0, i-n+1) : i+1] {
			if sane(v) {
				s += v
				count++
			}
		}
		return s / float64(count) // NaN for none
	}
	at := len(values) - 1
	above := func(limit float64) hold {
		if !(recent(at) > limit) {
			return hold{}
		}
		return b.run(minutes(b.limits.MemoryMinutes), 1, at, func(i int) (bool, bool) {
			v := recent(i)
			return !math.IsNaN(v), v > limit
		})
	}
	severity, limit := insight.Critical, b.model.memoryCritical
	h := above(limit)
	if !h.is {
		severity, limit = insight.Warning, b.model.memoryWarn
		if h = above(limit); !h.is {
			return
		}
	}
	v := recent(at)
	b.add(insight.Reason{
		ID: "memory-temperature", Severity: severity, Text: fmt.Sprintf("The memory is at %.0f °C.", v),
		Evidence: []insight.Evidence{b.evidence(memoryTemperature, gpu.Celsius, v, limit, true,
			fmt.Sprintf("%.1f °C, mean of %g minutes, above %g °C", v, b.limits.MemoryMinutes, limit))},
		Action: operator("Look at fans, air flow or coolant of the node; move its load.", "memory-temperature"),
	}, h)
}

// slowdowns are the reasons why clocks are held down.
func (b *board) slowdowns() {
	l := &b.limits
	seen := b.seenBits()
	heat := b.slowed(seen, gpu.HWThermalSlowdown, l.HardwareThermalMinutes, insight.Critical, "thermal-hardware",
		"The hardware slows the GPU down because it is too hot.", "Look at fans, air flow or coolant of the node now; drain it when it stays hot.")
	brake := b.slowed(seen, gpu.HWPowerBrake, l.PowerBrakeMinutes, insight.Critical, "power-brake",
		"The power supply makes the GPU slow down.", "Look at the node's power supplies and the rack's power.")
	b.slowed(seen, gpu.SWThermalSlowdown, l.SoftwareThermalMinutes, insight.Warning, "thermal-software",
		"The driver slows the GPU down because it, or its memory, is too hot.", "Look at the air flow of the node; move its load.")
	if !heat && !brake {
		b.slowed(seen, gpu.HWSlowdown, l.SlowdownMinutes, insight.Warning, "hardware-slowdown",
			"The hardware holds the clocks at half or less and does not say why.", "Look at cooling and power of the node.")
	}
	b.thermalTime()
	b.powerCap()
}

// bits are a mask that was measured; no bits when none was.
func bits(v float64) gpu.ClockEvents {
	if v >= 0 && v < 1<<53 {
		return gpu.ClockEvents(v)
	}
	return 0
}

// seenBits are all bits that were set in the last hour.
func (b *board) seenBits() gpu.ClockEvents {
	var seen gpu.ClockEvents
	hour := b.steps(time.Hour)
	for _, v := range tail(b.values[reasonBits], hour) {
		seen |= bits(v)
	}
	for _, v := range tail(b.values[reasonAnyBits], hour) {
		seen |= bits(v)
	}
	return seen
}

// slowed adds a reason when a bit stays set. A fault that came and went is worth a look, but bits that are normal in passing
// are not. Two samples are needed at least.
func (b *board) slowed(seen, bit gpu.ClockEvents, lasting float64, severity insight.Severity, id, text, action string) bool {
	if !seen.Has(bit) {
		return false
	}
	set := func(v float64) bool { return bits(v).Has(bit) }
	h := b.held(b.values[reasonBits], minutes(lasting), 2, set)
	values, c := b.values[reasonBits], reasonBits
	if !h.is {
		if severity != insight.Critical {
			return false
		}
		severity, text = insight.Warning, text+" It did so in passing, within the last hour."
		if !slicesAny(tail(values, b.steps(time.Hour)), set) {
			values, c = b.values[reasonAnyBits], reasonAnyBits
		}
	}
	n := b.steps(time.Hour)
	count, measured, first := 0, 0, int64(0)
	for i, v := range tail(values, n) {
		if math.IsNaN(v) {
			continue
		}
		measured++
		if set(v) {
			if count++; first == 0 {
				first = b.times[max(0, len(b.times)-n)+i]
			}
		}
	}
	b.add(insight.Reason{
		ID: id, Severity: severity, Text: text, Since: first,
		Evidence: []insight.Evidence{b.evidence(c, gpu.Ratio, float64(count)/float64(max(1, measured)), 0, true,
			fmt.Sprintf("%s in %d of %d steps", bit, count, measured))},
		Action: operator(action, id),
	}, h)
	return true
}

func slicesAny(values []float64, is func(float64) bool) bool {
	for _, v := range values {
		if is(v) {
			return true
		}
	}
	return false
}

// thermalTime is the share of time that heat cost, as the driver counts it.
func (b *board) thermalTime() {
	ten := b.steps(10 * time.Minute)
	for _, c := range []column{thermalShare, hardwareThermalShare, softwareThermalShare} {
		values := b.values[c]
		if !(mean(tail(values, ten)) > b.limits.ThermalShare) {
			continue
		}
		h := b.run(minutes(b.limits.ThermalShareMinutes), 1, len(values)-1, func(i int) (bool, bool) {
			v := mean(values[max(0, i-ten+1) : i+1])
			return !math.IsNaN(v), v > b.limits.ThermalShare
		})
		if !h.is {
			continue
		}
		share := mean(tail(values, ten))
		b.add(insight.Reason{
			ID: "thermal-share", Severity: insight.Warning, Text: fmt.Sprintf("Heat slows the GPU down for %.0f %% of the time.", min(share, 1)*100),
			Evidence: []insight.Evidence{b.evidence(c, gpu.Ratio, share, b.limits.ThermalShare, true,
				fmt.Sprintf("throttled by heat %.1f %% of ten minutes, above %g %%", min(share, 1)*100, b.limits.ThermalShare*100))},
			Action: operator("Look at the cooling of the node; move its load.", "thermal-share"),
		}, h)
		return
	}
}

// powerCap is information: a GPU that trains is at its power limit.
func (b *board) powerCap() {
	share, c := mean(b.values[powerShare]), powerShare
	if math.IsNaN(share) {
		c = reasonBits
		n, measured := 0, 0
		for _, v := range b.values[c] {
			if math.IsNaN(v) {
				continue
			}
			measured++
			if bits(v).Has(gpu.SWPowerCap) {
				n++
			}
		}
		share = float64(n) / float64(measured) // NaN for none
	}
	if !(share >= b.limits.PowerCapShare) {
		return
	}
	// Most of a fleet that trains has this reason, so its texts are made once for each per cent.
	percent := int(min(share, 1)*100 + 0.5)
	texts := &b.capTexts[percent]
	if texts[0] == "" {
		texts[0] = fmt.Sprintf("The GPU was at its power limit for %d %% of the time, which is normal under full load.", percent)
		texts[1] = fmt.Sprintf("at the power limit %d %% of the time", percent)
	}
	b.add(insight.Reason{
		ID: "power-cap", Severity: insight.Info, Text: texts[0],
		Evidence: []insight.Evidence{b.evidence(c, gpu.Ratio, share, b.limits.PowerCapShare, true, texts[1])},
		Action:   nobody("Nothing, unless the limit was lowered by mistake.", "power-cap"),
	}, hold{})
}
