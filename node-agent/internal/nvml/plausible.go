package nvml

import (
	"strings"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// span is what a metric's readings can be.
type span struct{ least, most float64 }

// exact is the largest whole number up to which every one can be told from the next. No count gets there.
const exact = 1 << 53

// spanOf is wide: it is there for answers that are no measurements, like a negative number in a type without a sign.
func spanOf(m device.Metric) span {
	for _, of := range [...]struct {
		suffix string
		span   span
	}{
		{"_ratio", span{0, 2}}, // the intended speed of a fan may exceed the maximum
		{"_celsius", span{-273, 1000}},
		{"_watts", span{0, 1e6}},
		{"_hertz", span{0, 1e11}},
		{"_bytes_per_second", span{0, 1e14}},
		{"_seconds_total", span{0, 1e9}},
		{"_total", span{0, exact}},
		{"_bytes", span{0, exact}},
	} {
		if strings.HasSuffix(m.String(), of.suffix) {
			return of.span
		}
	}
	switch m {
	case device.ClockEventReasons, device.ClockEventReasonsSupported, device.FabricHealth: // bits
		return span{0, exact}
	}
	return span{0, 1<<31 - 1}
}

// plausible leaves out what no board can measure: NVML was seen to answer garbage, and one such value spoils every mean and
// every graph that it is in.
func (l *library) plausible(v *device.Values, groups device.Groups) {
	for g, metrics := range l.metrics {
		if !groups.Has(device.Group(g)) {
			continue
		}
		for _, m := range metrics {
			if r := v[m]; r.OK() && !(r.Value >= l.spans[m].least && r.Value <= l.spans[m].most) {
				v[m] = gpu.Absent(gpu.NoData)
			}
		}
	}
	if groups.Has(device.GroupMemory) {
		leaveOutAbove(v, device.MemoryTotal, device.MemoryUsed, device.MemoryFree, device.MemoryReserved)
	}
	if groups.Has(device.GroupBAR1) {
		leaveOutAbove(v, device.BAR1Total, device.BAR1Used, device.BAR1Free)
	}
}

// leaveOutAbove leaves out all parts of a whole when they are more than it.
func leaveOutAbove(v *device.Values, whole device.Metric, parts ...device.Metric) {
	sum := 0.0
	for _, m := range parts {
		if v[m].OK() {
			sum += v[m].Value
		}
	}
	if !v[whole].OK() || sum <= v[whole].Value {
		return
	}
	for _, m := range parts {
		if v[m].OK() {
			v[m] = gpu.Absent(gpu.NoData)
		}
	}
}
