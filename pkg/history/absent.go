package history

import (
	"fmt"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// absent are the devices in the scope that should have the metric and have nothing of it, sorted by place.
func (r *reduction) absent() []gpu.Device {
	missing := roster{}
	for key, known := range r.roster.all() {
		if !r.has(key) && r.expects(known.device) {
			missing[key] = known
		}
	}
	return missing.devices()
}

// expects reports whether a device in the scope should have the metric: a board what is measured on boards, an instance
// what is measured on instances, and neither of them what NVIDIA does not report with MIG.
func (r *reduction) expects(d gpu.Device) bool {
	switch {
	case !r.scope.Matches(d):
		return false
	case r.metric.NoMIG && d.MIGEnabled:
		return d.IsMIG() && r.metric.MIGSubstitute != ""
	case r.metric.PerInstance:
		return d.IsMIG() || !d.MIGEnabled
	}
	return !d.IsMIG()
}

// split counts the boards in the scope that have nothing of the metric because they are split into instances.
func (r *reduction) split() int {
	n := 0
	for key, known := range r.roster.all() {
		if r.metric.NoMIG && known.device.MIGEnabled && !known.device.IsMIG() && !r.has(key) && r.scope.Matches(known.device) {
			n++
		}
	}
	return n
}

// reason is why no device in the scope has the metric, as a sentence, "" when nothing is known to be against it.
func (r *reduction) reason() string {
	boards, split, virtual := 0, 0, 0
	isVirtual := map[string]bool{} // by model
	for _, known := range r.roster.all() {
		d := known.device
		if d.IsMIG() || !r.scope.Matches(d) {
			continue
		}
		boards++
		if d.MIGEnabled {
			split++
		}
		is, judged := isVirtual[d.Model]
		if !judged {
			is = d.IsVirtual()
			isVirtual[d.Model] = is
		}
		if is {
			virtual++
		}
	}
	switch {
	case boards == 0:
	case r.metric.NoMIG && split == boards:
		return " NVIDIA does not report it for GPUs that are split into MIG instances."
	case virtual == boards:
		return " It is not available on vGPUs unless their exporter shows it."
	}
	return ""
}

// AbsentNotice tells which of the devices in an answer's scope have nothing of a metric. present is how many have.
func AbsentNotice(metric string, absent []gpu.Device, present int) (gpu.Notice, bool) {
	if len(absent) == 0 {
		return gpu.Notice{}, false
	}
	names := make([]string, len(absent))
	virtual := true
	for i, d := range absent {
		names[i] = d.Name()
		virtual = virtual && d.IsVirtual()
	}
	why := ""
	if virtual {
		why = " (not available on vGPUs)"
	}
	return gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf("%s is not reported for %d of %d devices%s: %s.",
		metric, len(absent), len(absent)+present, why, listed(names))}, true
}
