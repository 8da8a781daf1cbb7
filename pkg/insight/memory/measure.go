package memory

import (
	"fmt"
	"math"

	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/mig"
	"github.com/warpwatch/warpwatch/pkg/insight/sku"
)

// measure finds out what is usable, and the used share of it over time.
func (s *subject) measure() {
	s.used = s.devices.values(s.row, usedBytes, insight.Mean)
	highest := s.devices.values(s.row, usedBytes, insight.Max)
	if s.used == nil {
		s.used = highest
	}
	usable := s.usable()
	if usable > 0 && s.used != nil {
		s.usage.UsableBytes = pointer(usable)
		s.ratio = scaled(s.used, usable)
		s.peak(s.ratio, usable)
		s.peak(scaled(highest, usable), usable)
	} else if s.ratio = s.devices.first(s.row, usedRatio, insight.Mean, insight.Max); s.ratio != nil {
		s.peak(s.ratio, math.NaN())
		s.peak(s.devices.values(s.row, usedRatio, insight.Max), math.NaN())
		s.need(usedBytes)
	} else if s.used == nil {
		s.need(usedBytes)
	}
	if now := summarize(s.ratio, s.steps-s.recent()); now.count > 0 && s.fresh(now.at) {
		s.now = now
		s.usage.UsedRatio = pointer(now.latest)
	}
	if now := summarize(s.used, s.steps-s.recent()); now.count > 0 && s.fresh(now.at) {
		s.usage.UsedBytes = pointer(now.latest)
	}
	if usable > 0 && s.used != nil && s.now.count == 0 {
		s.need(usedBytes)
	}
	if s.now.count > 0 {
		all := summarize(s.ratio, 0)
		s.flat = all.count >= leastPoints && all.highest-all.least <= s.limits.Flat && s.now.latest >= s.limits.Preallocated
	}
}

// recent is how many of the last steps can speak of now.
func (s *subject) recent() int { return s.steps - s.back(5) + 3 }

func (s *subject) need(metric string) { s.missing = append(s.missing, metric) }

// usable is used + free where both are measured at the same time, otherwise what comes nearest. NaN when nothing does.
func (s *subject) usable() float64 {
	free := s.devices.values(s.row, freeBytes, insight.Mean)
	for i := min(len(s.used), len(free)) - 1; i >= 0; i-- {
		if plausible(s.used[i]) && plausible(free[i]) {
			return s.used[i] + free[i]
		}
	}
	s.need(freeBytes)
	total := summarize(s.devices.values(s.row, totalBytes, insight.Mean), 0)
	reserved := summarize(s.devices.values(s.row, reservedBytes, insight.Mean), 0)
	switch {
	case total.count > 0 && reserved.count > 0 && reserved.latest < total.latest:
		return total.latest - reserved.latest
	case total.count > 0:
		s.need(reservedBytes)
		s.usage.Assumed = "nothing is reserved for the driver"
		return total.latest
	}
	// DCGM's ratio is of used + free.
	if ratio := s.devices.values(s.row, usedRatio, insight.Mean); ratio != nil {
		for i := min(len(s.used), len(ratio)) - 1; i >= 0; i-- {
			if plausible(s.used[i]) && ratio[i] > 0.01 && ratio[i] <= 1 {
				s.usage.Assumed = "the used share is of used + free"
				return s.used[i] / ratio[i]
			}
		}
	}
	if s.IsMIG() {
		return s.profileSize()
	}
	if model, known := sku.Lookup(s.Model); known && model.MemoryBytes > 0 {
		s.usage.Assumed = "the model's memory by its data sheet, nothing of it reserved"
		return model.MemoryBytes
	}
	return math.NaN()
}

// profileSize is the memory of a MIG instance as the name of its profile has it, which the driver's own figure differs from by up to
// 6 % either way; at least what was ever used. NaN where the profile is not known.
func (s *subject) profileSize() float64 {
	shape, err := mig.Parse(s.MIGProfile)
	if err != nil {
		return math.NaN()
	}
	s.usage.Assumed = fmt.Sprintf("the memory in the name of the profile, %s: right to a few percent", s.MIGProfile)
	size := float64(shape.Gigabytes) * 1e9
	if used := summarize(s.used, 0); used.count > 0 {
		size = max(size, used.highest)
	}
	return size
}

// peak takes the highest share, if it is higher than what was taken before.
func (s *subject) peak(ratio []float64, usable float64) {
	all := summarize(ratio, 0)
	if all.count == 0 || s.usage.PeakRatio != nil && all.highest <= *s.usage.PeakRatio {
		return
	}
	s.usage.PeakRatio = pointer(all.highest)
	s.usage.PeakBytes = pointer(all.highest * usable)
	s.usage.HeadroomBytes = pointer(max(1-all.highest, 0) * usable)
	for i, v := range ratio {
		if v == all.highest {
			s.usage.PeakAt = s.in.Devices.Times[i]
			break
		}
	}
}

// scaled are shares of a whole, NaN for what was not measured.
func scaled(values []float64, whole float64) []float64 {
	shares := make([]float64, len(values))
	for i, v := range values {
		if shares[i] = v / whole; !plausible(v) || !plausible(shares[i]) {
			shares[i] = math.NaN()
		}
	}
	return shares
}

// activity picks what says whether the GPU works.
func (s *subject) activity() {
	for _, metric := range []string{smActive, graphicsActive, utilization} {
		if values := s.devices.values(s.row, metric, insight.Mean); values != nil {
			s.busy, s.busyOf = values, metric
			break
		}
	}
	if s.busyOf != smActive {
		s.need(smActive)
	}
}
