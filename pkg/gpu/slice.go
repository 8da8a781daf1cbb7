package gpu

import (
	"regexp"
	"strconv"
	"strings"
)

// defaultSlices is how many compute slices most GPUs that can be split have.
const defaultSlices = 7

// Share is the part of its GPU's compute that a device is: 1 for a whole GPU, 3/7 for a MIG instance "3g.40gb". A MIG
// instance whose profile is not known counts as the smallest.
func (d Device) Share() float64 {
	if !d.IsMIG() {
		return 1
	}
	slices := computeSlices(d.MIGProfile)
	return float64(slices) / float64(max(slices, d.slices()))
}

// slices is how many compute slices the GPU has.
func (d Device) slices() int {
	// Models whose largest profile is not 7g.
	for model, slices := range map[string]int{"A30": 4, "RTX PRO 6000": 4, "RTX PRO 5000": 2} {
		if short := ShortModel(d.Model); short == model || strings.HasPrefix(short, model+" ") {
			return slices
		}
	}
	return defaultSlices
}

// computeSlices reads the 3 out of "3g.40gb", "1c.3g.40gb" or "3g.40gb+me", 1 when there is none.
func computeSlices(profile string) int {
	for part := range strings.SplitSeq(profile, ".") {
		digits, ok := strings.CutSuffix(part, "g")
		if n, err := strconv.Atoi(digits); ok && err == nil && n > 0 {
			return n
		}
	}
	return 1
}

// IsVirtual reports whether the device is, by its model's name, a vGPU: "GRID A100X-20C", "NVIDIA L40S-48Q".
func (d Device) IsVirtual() bool { return virtual.MatchString(d.Model) }

var virtual = regexp.MustCompile(`(?i)^(NVIDIA[ -])?GRID[ -]|-\d+(-\d+)?[ABCQ]$`)
