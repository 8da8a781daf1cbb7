package history

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// throttleBits are the reasons that need a look. Idle GPUs, clocks that somebody set and the power cap, which a GPU at full
// work reaches, are no throttling.
const throttleBits = gpu.HWSlowdown | gpu.SWThermalSlowdown | gpu.HWThermalSlowdown | gpu.HWPowerBrake | gpu.Reliability

// heatShare is the share of the time from which on a GPU that only counts its throttling by heat is said to be throttled.
const heatShare = 0.02

// spell is a time in which something lasted, as places on the grid; both ends are part of it.
type spell struct{ from, to int }

// spells of what holds at points of the grid. Gaps of up to two points between are part of it.
func spells(holds []bool) []spell {
	const bridged = 2
	var all []spell
	for i, yes := range holds {
		switch n := len(all); {
		case !yes:
		case n > 0 && i-all[n-1].to <= bridged+1:
			all[n-1].to = i
		default:
			all = append(all, spell{i, i})
		}
	}
	return all
}

// throttled finds the times in which GPUs were held down by heat, by the power supply, or to protect themselves.
func (s *search) throttled(ctx context.Context) (findings, error) {
	mask, err := s.metric("gpu_clock_event_reasons")
	if err != nil {
		return findings{}, err
	}
	// Whatever is below has only bits that are no throttling.
	masks, g, out, err := s.tracks(ctx, mask, s.scope, " > 7")
	if err != nil {
		return findings{}, err
	}
	heat, err := s.metric("gpu_throttle_thermal_seconds_total")
	if err != nil {
		return findings{}, err
	}
	shares, _, more, err := s.tracks(ctx, heat, s.scope, " > 0")
	if err != nil {
		return findings{}, err
	}
	out.notices, out.asked = append(out.notices, more.notices...), append(out.asked, more.asked...)
	reasons := map[deviceKey][]gpu.ClockEvents{}
	devices := map[deviceKey]gpu.Device{}
	column := func(t track) []gpu.ClockEvents {
		if reasons[t.key] == nil {
			reasons[t.key], devices[t.key] = make([]gpu.ClockEvents, len(g.times)), t.device
		}
		return reasons[t.key]
	}
	for _, t := range masks {
		bits := column(t)
		for i, v := range t.values {
			if !math.IsNaN(v) && v >= 0 && v < math.MaxInt64 {
				bits[i] |= gpu.ClockEvents(v) & throttleBits
			}
		}
	}
	for _, t := range shares {
		bits := column(t)
		for i, v := range t.values {
			if v > heatShare && bits[i]&(gpu.SWThermalSlowdown|gpu.HWThermalSlowdown) == 0 {
				bits[i] |= gpu.SWThermalSlowdown
			}
		}
	}
	for key, bits := range reasons {
		out.events = append(out.events, s.phases(devices[key], bits, g)...)
	}
	slices.SortFunc(out.events, compareEvents)
	return out, nil
}

// phases are the spells in which a GPU was throttled, with all reasons there were in each.
func (s *search) phases(device gpu.Device, bits []gpu.ClockEvents, g grid) []gpu.Event {
	holds := make([]bool, len(bits))
	for i := range bits {
		holds[i] = bits[i] != 0
	}
	var events []gpu.Event
	for _, one := range spells(holds) {
		var all gpu.ClockEvents
		for _, b := range bits[one.from : one.to+1] {
			all |= b
		}
		from, until := at(g, one.from), at(g, one.to).Add(g.stepDuration())
		if until.After(s.w.To) {
			until = s.w.To
		}
		if until.Sub(from) < min(s.shortest, s.w.To.Sub(from)) || !until.After(from) {
			continue
		}
		detail := ThrottleText(all)
		if one.to == len(g.times)-1 {
			detail += ", still going on"
		}
		events = append(events, gpu.Event{Time: from, Until: until, Kind: gpu.KindThrottle, Origin: fromHistory, Device: device, Detail: detail})
	}
	return events
}

// ThrottleText is the reasons of a mask that need a look, for people: "heat (software slowdown)"; "" for none.
func ThrottleText(mask gpu.ClockEvents) string {
	var texts []string
	for _, reason := range []struct {
		bit  gpu.ClockEvents
		text string
	}{
		{gpu.HWThermalSlowdown, "heat, slowed down by hardware"},
		{gpu.SWThermalSlowdown, "heat, slowed down by the driver"},
		{gpu.HWPowerBrake, "power brake of the power supply"},
		{gpu.Reliability, "voltage reliability"},
	} {
		if mask.Has(reason.bit) {
			texts = append(texts, reason.text)
		}
	}
	if mask.Has(gpu.HWSlowdown) && len(texts) == 0 {
		texts = append(texts, "slowed down by hardware")
	}
	return strings.Join(texts, "; ")
}

// close fills gaps that are shorter than a time: a scrape that failed is nothing that happened.
func closeGaps(holds []bool, step, shorter time.Duration) {
	last := -1
	for i, yes := range holds {
		if !yes {
			continue
		}
		if gap := i - last - 1; last >= 0 && gap > 0 && time.Duration(gap)*step < shorter {
			for k := last + 1; k < i; k++ {
				holds[k] = true
			}
		}
		last = i
	}
}

func firstTrue(holds []bool) int { return slices.Index(holds, true) }

func sortedKeys[V any](m map[deviceKey]V) []deviceKey {
	keys := make([]deviceKey, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}
