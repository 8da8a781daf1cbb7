package health

import (
	"fmt"
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

const (
	missingID = "gpu-missing"
	unseenID  = "not-seen"
	staleID   = "stale"
)

// ofData reports whether a reason rests on values that the exporter gives now: it means nothing when the exporter is gone.
// What the driver said, XIDs, and what is broken for good stay.
func ofData(id string) bool {
	switch id {
	case staleID, "profiling-lost", unseenID, missingID, "thermal-margin", "memory-temperature", "thermal-hardware", "thermal-software",
		"thermal-share", "power-brake", "hardware-slowdown", "power-cap", "pcie-link-width", "pcie-link-generation", "nvlink-inactive",
		"fabric-state", "fabric-status", "fabric-health", "dcgm-health", "gpu-gone":
		return true
	default:
		return false
	}
}

// data are faults of the measurement itself, and what only DCGM has an opinion of.
func (b *board) data() {
	b.stale()
	b.profilingLost()
	b.vgpuLicence()
	if v, found := b.at(dcgmHealth); found && v >= 20 && len(b.reasons) == 0 {
		if h := b.held(b.values[dcgmHealth], 5*time.Minute, 1, func(v float64) bool { return v >= 20 }); h.is {
			b.add(insight.Reason{
				ID: "dcgm-health", Severity: insight.Warning, Text: "DCGM says that the GPU failed, and nothing that was measured says why.",
				Evidence: []insight.Evidence{b.evidence(dcgmHealth, gpu.Code, v, 20, true, "DCGM health 20, failed")},
				Action:   operator("Run dcgmi health -c on the node, then dcgmi diag -r 2.", "dcgm-health"),
			}, h)
		}
	}
}

// stale: a GPU that works cannot draw the same power to the last digit, and have the same temperature.
func (b *board) stale() {
	watts, celsius := b.values[power], b.values[temperature]
	n := b.wholeSteps(minutes(b.limits.StaleMinutes))
	if watts == nil || len(b.times) < max(3, n) || len(b.busy) == 0 {
		return
	}
	now, at := last(watts)
	if at < len(watts)-1 || !(now > 0) {
		return
	}
	start := at
	warmth, _ := last(celsius)
	for i := at; i >= 0; i-- {
		if math.IsNaN(watts[i]) {
			continue
		}
		if watts[i] != now || !(insight.At(b.busy, i) > b.limits.Busy) {
			break
		}
		if celsius != nil && !math.IsNaN(celsius[i]) && celsius[i] != warmth {
			break
		}
		start = i
	}
	if at-start+1 < max(3, n) {
		return
	}
	b.add(insight.Reason{
		ID: staleID, Severity: insight.Warning, Text: fmt.Sprintf("The values have not moved for %s although the GPU works.", insight.Span(time.Duration(at-start+1)*b.step)),
		Evidence: []insight.Evidence{b.evidence(power, gpu.Watts, now, math.NaN(), false, fmt.Sprintf("%g W all the time", now))},
		Action:   operator("Restart the exporter; when that does not help look whether the driver answers.", "stale"),
		Since:    b.times[start],
	}, hold{})
}

// profilingLost: the activity that DCGM profiles cannot be 0 while kernels run.
func (b *board) profilingLost() {
	used, gr := b.values[utilization], b.values[graphicsActive]
	if used == nil || gr == nil || b.device().MIGEnabled {
		return
	}
	v, at := last(gr)
	if at < 0 || v != 0 || len(gr)-1-at > b.fresh() {
		return
	}
	h := b.run(minutes(b.limits.ProfilingLostMinutes), 1, at, func(i int) (bool, bool) {
		return !math.IsNaN(gr[i]) && !math.IsNaN(used[i]), gr[i] == 0 && used[i] > b.limits.ProfilingLostBusyRatio
	})
	if !h.is || !(insight.At(used, at) > b.limits.ProfilingLostBusyRatio) {
		return
	}
	b.add(insight.Reason{
		ID: "profiling-lost", Severity: insight.Warning, Text: "Profiling metrics stand at 0 while the GPU works.",
		Evidence: []insight.Evidence{
			b.evidence(graphicsActive, gpu.Ratio, 0, 0, false, "graphics engine active 0 %"),
			b.evidence(utilization, gpu.Ratio, used[at], b.limits.ProfilingLostBusyRatio, true, fmt.Sprintf("GPU utilization %.0f %%", used[at]*100)),
		},
		Action: operator("Restart DCGM's host engine; look whether a profiler (Nsight) holds the counters.", "profiling-lost"),
	}, h)
}

// vgpuLicence: exporters give 0 for boards that need none, so only vGPUs and those that had one are judged.
func (b *board) vgpuLicence() {
	v, found := b.at(licence)
	if !found || v != 0 || (!virtual(b.device().Model) && !(highest(b.values[licence]) > 0)) {
		return
	}
	h := b.held(b.values[licence], 0, 1, func(v float64) bool { return v == 0 })
	if !h.is {
		return
	}
	b.add(insight.Reason{
		ID: "vgpu-licence", Severity: insight.Warning, Text: "The vGPU has no licence: it is slowed down after a while.",
		Evidence: []insight.Evidence{b.evidence(licence, gpu.Code, v, 1, false, "licence status 0")},
		Action:   operator("Look at the guest's licence configuration and the licence server.", "vgpu-licence"),
	}, h)
}

// presence is whether the GPU answers at all.
func (b *board) presence(node *nodeState) {
	last := len(b.times) - 1
	lost, who := b.lostSince()
	switch {
	case lost > 0 && who == fromHistory:
		b.missing(lost, "The GPU is gone: no exporter shows it any more.")
	case lost > 0:
		b.missing(lost, "The agent says that the GPU is lost.")
	case b.known == 0 && len(b.reasons) == 0:
		b.add(insight.Reason{
			ID: unseenID, Severity: insight.Unknown, Text: "Nothing was measured that tells of the GPU's health.",
			Action: operator("Look whether the exporter of the node runs, and whether it sees this GPU.", "not-seen"),
		}, hold{})
	case b.seen < 0 || b.current(b.seen):
	case node.down != nil: // said there, once
	case b.device().IsMIG():
		b.add(insight.Reason{
			ID: "gpu-gone", Severity: insight.Info, Text: "The MIG instance is not there any more.", Since: b.times[b.seen] + b.step.Milliseconds(),
			Action: nobody("Nothing, when the MIG layout was changed.", "mig-layout"),
		}, hold{})
	case node.complete:
		b.add(insight.Reason{
			ID: "gpu-gone", Severity: insight.Info, Text: "The GPU is not there any more, and the node has as many as before: it was replaced.",
			Since: b.times[b.seen] + b.step.Milliseconds(), Action: nobody("Nothing, when the board was replaced.", "gpu-missing"),
		}, hold{})
	case time.Duration(last-b.seen)*b.step < minutes(b.limits.MissingMinutes):
		b.add(insight.Reason{
			ID: unseenID, Severity: insight.Unknown, Text: "The GPU has not been seen lately.", Since: b.times[b.seen] + b.step.Milliseconds(),
			Action: operator("Wait a few minutes; look whether the exporter still sees this GPU.", "not-seen"),
		}, hold{})
	default:
		b.missing(b.times[b.seen]+b.step.Milliseconds(), "The GPU is gone; others of the node are still seen.")
	}
}

func (b *board) missing(since int64, text string) {
	b.add(insight.Reason{
		ID: missingID, Severity: insight.Critical, Text: text, Since: since,
		Evidence: []insight.Evidence{{Metric: "gpu_temperature_celsius", Value: 0, Unit: gpu.Count, Limit: 1, Text: "no values"}},
		Action:   operator("Look for XID 79 in the kernel's log (dmesg); drain the node and power-cycle it.", "gpu-missing"),
	}, hold{})
}

// fromHistory is the origin of events that nobody reported and that the series in Prometheus show.
const fromHistory = "history"

// lostSince is since when the GPU is lost and not back, 0 for not, and the origin of that.
func (b *board) lostSince() (since int64, origin string) {
	for _, e := range b.eventsOf() {
		switch e.Kind {
		case gpu.KindLost, gpu.KindUnavailable:
			switch {
			case since == 0:
				since, origin = e.Time.UnixMilli(), e.Origin
			case origin == fromHistory:
				origin = e.Origin
			}
		case gpu.KindReturned:
			since, origin = 0, ""
		}
	}
	if since > 0 && b.current(b.seen) && b.index(since) < b.seen-1 {
		return 0, "" // it is measured again
	}
	return since, origin
}

// instance adds what is known of one MIG instance to its verdict: that it is not there any more.
func (p *pass) instance(b *board, row int, v *Verdict) {
	seen := -1
	for _, c := range p.alive {
		if column := p.columns[c]; column != nil {
			if _, at := last(column[row]); at > seen {
				seen = at
			}
		}
	}
	if seen < 0 || p.current(seen) || !b.clock.current(b.seen) {
		return
	}
	gone := insight.Reason{
		ID: "gpu-gone", Severity: insight.Info, Text: "The MIG instance is not there any more.", Since: p.times[seen] + p.step.Milliseconds(),
		Action: nobody("Nothing, when the MIG layout was changed.", "mig-layout"),
	}
	v.Reasons = append(v.Reasons[:len(v.Reasons):len(v.Reasons)], gone)
	v.Severity = worse(v.Severity, insight.Info)
}
