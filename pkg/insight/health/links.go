package health

import (
	"fmt"
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// replayPerMinute is DCGM's limit: what a bit error rate of 1e-12 gives, by generation and width. 0 where it has none.
func replayPerMinute(generation, width float64) float64 {
	perLane := [...]float64{0, 0.15, 0.30, 0.48, 0.96, 1.92, 3.84}
	if !(width >= 1 && width <= 32) || !(generation >= 1 && generation < float64(len(perLane))) {
		return 0
	}
	return math.Ceil(perLane[int(generation)] * width)
}

func (b *board) pcie() {
	hour := b.steps(time.Hour)
	if rose := b.values[replay]; sum(rose) > 0 {
		// The link slows down at idle; what it can do is what it did best.
		g, w := highest(tail(b.values[generation], hour)), highest(tail(b.values[width], hour))
		assumed := ""
		for _, v := range []struct {
			to  *float64
			or  column
			sku float64
		}{{&g, generationMax, b.model.generation}, {&w, widthMax, b.model.width}} {
			if math.IsNaN(*v.to) {
				*v.to = highest(b.values[v.or])
			}
			if math.IsNaN(*v.to) && v.sku > 0 {
				*v.to, assumed = v.sku, " The link is taken to be as in the data sheet."
			}
		}
		if limit := replayPerMinute(g, w); limit > 0 {
			b.replays(g, w, limit, assumed)
		}
	}
	b.linkWidth()
	b.linkGeneration(hour)
}

func (b *board) replays(g, w, limit float64, assumed string) {
	// The limit is for five minutes of counting, and for as long without a break.
	const window = 5
	rose, h := b.heldSum(b.values[replay], minutes(window), minutes(b.limits.PCIeReplayMinutes), limit*(time.Duration(b.steps(minutes(window)))*b.step).Minutes())
	if !h.is {
		return
	}
	rate := rose / (time.Duration(b.steps(minutes(window))) * b.step).Minutes()
	b.add(insight.Reason{
		ID: "pcie-replay", Severity: insight.Warning, Text: fmt.Sprintf("PCIe packets are sent again %.0f times a minute.%s", rate, assumed),
		Evidence: []insight.Evidence{b.evidence(replay, gpu.Count, rate, limit, true,
			fmt.Sprintf("%.0f replays a minute, DCGM allows %g on Gen%g x%g", rate, limit, g, w))},
		Action: operator("Reseat the board, and look at riser and retimer.", "pcie-replay"),
	}, h)
}

func (b *board) linkWidth() {
	full, reported := b.at(widthMax)
	if !reported {
		if full = b.model.width; full == 0 {
			return
		}
	}
	w, found := b.at(width)
	h := b.held(b.values[width], minutes(b.limits.PCIeLinkMinutes), 1, func(v float64) bool { return v > 0 && v < full })
	if !found || !h.is {
		return
	}
	severity, text := insight.Warning, fmt.Sprintf("The PCIe link has %g lanes of %g.", w, full)
	if !reported {
		severity, text = insight.Info, text+" What slot and board agree on is not known; the model has that many."
	}
	b.add(insight.Reason{
		ID: "pcie-link-width", Severity: severity, Text: text,
		Evidence: []insight.Evidence{b.evidence(width, gpu.Count, w, full, false, fmt.Sprintf("x%g, below x%g", w, full))},
		Action:   operator("Reseat the board; leave the node out of jobs over several nodes until then.", "pcie-link-degraded"),
	}, h)
}

// linkGeneration compares only while work runs: an idle link is slowed down on purpose.
func (b *board) linkGeneration(hour int) {
	full, reported := b.at(generationMax)
	if !reported {
		if full = b.model.generation; full == 0 {
			return
		}
	}
	generations, busy := tail(b.values[generation], hour), tail(b.busy, hour)
	if len(generations) == 0 || len(busy) != len(generations) {
		return
	}
	best, working, since := 0.0, 0, int64(0)
	for i, g := range generations {
		if math.IsNaN(g) || g <= 0 || !(busy[i] > b.limits.Busy) {
			continue
		}
		if working++; since == 0 {
			since = b.times[len(b.times)-len(generations)+i]
		}
		best = max(best, g)
	}
	if working == 0 || best >= full {
		return
	}
	h := hold{is: true, since: since, short: time.Duration(working)*b.step < minutes(b.limits.PCIeLinkMinutes)}
	if h.short && len(b.times) > b.steps(minutes(b.limits.PCIeLinkMinutes)) {
		return // it has not worked long enough to tell
	}
	severity, text := insight.Warning, fmt.Sprintf("The PCIe link runs at Gen%g of Gen%g while the GPU works.", best, full)
	if !reported {
		severity, text = insight.Info, text+" What slot and board agree on is not known; the model can do that."
	}
	b.add(insight.Reason{
		ID: "pcie-link-generation", Severity: severity, Text: text,
		Evidence: []insight.Evidence{b.evidence(generation, gpu.Count, best, full, false, fmt.Sprintf("Gen%g at best, below Gen%g", best, full))},
		Action:   operator("Reseat the board; leave the node out of jobs over several nodes until then.", "pcie-link-degraded"),
	}, h)
}

// nvlinkErrors are the counters that must not rise, by NVLink 4 and older, and 5. Symbol errors are not among them: the
// forward error correction of NVLink 5 is made for them.
var nvlinkErrors = [...]struct {
	column column
	what   string
}{
	{nvlinkReplay, "replays"}, {nvlinkRecovery, "recoveries"}, {nvlinkRecovered, "recoveries"}, {nvlinkUnrecovered, "failed recoveries"},
	{nvlinkMalformed, "malformed packets"}, {nvlinkReceive, "receive errors"}, {nvlinkOverruns, "dropped packets"},
	{nvlinkIntegrity, "integrity errors"}, {nvlinkEffective, "errors behind the error correction"}, {nvlinkECC, "data errors"},
}

func (b *board) nvlink() {
	n := b.steps(minutes(b.limits.NVLinkErrorMinutes))
	var found []insight.Evidence
	since := int64(0)
	for _, e := range nvlinkErrors {
		values := b.values[e.column]
		if values == nil {
			continue
		}
		rose := sum(tail(values, n))
		if rose < b.limits.NVLinkErrors {
			continue
		}
		found = append(found, b.evidence(e.column, gpu.Count, rose, b.limits.NVLinkErrors, true,
			fmt.Sprintf("%.0f %s in %g minutes", rose, e.what, b.limits.NVLinkErrorMinutes)))
		if first := b.firstAbove(values, n, 0); since == 0 || first < since {
			since = first
		}
	}
	crc := mean(tail(b.values[nvlinkCRC], b.steps(5*time.Minute)))
	if crc >= b.limits.NVLinkCRCPerSecond {
		found = append(found, b.evidence(nvlinkCRC, gpu.Count, crc, b.limits.NVLinkCRCPerSecond, true, fmt.Sprintf("%.0f checksum errors a second", crc)))
	}
	if len(found) > 0 {
		b.add(insight.Reason{
			ID: "nvlink-errors", Severity: insight.Warning, Text: "NVLink has errors: " + found[0].Text + ".", Evidence: found, Since: since,
			Action: operator("Reset the GPU when its work is done; look at the fabric manager's log.", "nvlink-errors"),
		}, hold{})
	}
	b.inactiveLinks()
}

// inactiveLinks are judged against what the board reports to have, or the model has. Bridges between PCIe boards may be absent:
// there only what has been up counts. With MIG, links are not used.
func (b *board) inactiveLinks() {
	active, found := b.at(nvlinksActive)
	if !found || b.device().MIGEnabled || b.device().IsMIG() {
		return
	}
	expected, whose := b.model.nvlinks, "the model has"
	if reported, ok := b.at(nvlinks); ok && reported > 0 {
		expected, whose = reported, "the board has"
	}
	if b.model.bridged || !b.model.known {
		if up := highest(b.values[nvlinksActive]); up < expected || !b.model.known {
			expected, whose = up, "were up"
		}
	}
	if active >= expected {
		return
	}
	h := b.held(b.values[nvlinksActive], minutes(b.limits.NVLinkInactiveMinutes), 1, func(v float64) bool { return v < expected })
	if !h.is {
		return
	}
	b.add(insight.Reason{
		ID: "nvlink-inactive", Severity: insight.Critical, Text: fmt.Sprintf("%g of %g NVLinks are up.", active, expected),
		Evidence: []insight.Evidence{b.evidence(nvlinksActive, gpu.Count, active, expected, false, fmt.Sprintf("%g links up, %s %g", active, whose, expected))},
		Action:   operator("Drain the node and reset the GPU; reboot the node when that does not help, then call for service.", "nvlink-inactive"),
	}, h)
}

// States of joining the fabric, as NVML and DCGM number them.
const (
	fabricNotStarted = 1
	fabricInProgress = 2
	fabricCompleted  = 3
	fabricFailed     = 4
)

// fabricFaults are the two-bit fields of the fabric's health mask, as nvml.h numbers them. 1 is true.
var fabricFaults = [...]struct {
	shift uint
	what  string
}{{0, "degraded bandwidth"}, {2, "a route is being recovered"}, {4, "an unhealthy route"}, {6, "an access timeout is being recovered"}}

func (b *board) fabric() {
	state, found := b.at(fabricState)
	if found && (state == fabricNotStarted || state == fabricInProgress || state == fabricFailed) {
		h := b.held(b.values[fabricState], minutes(b.limits.FabricMinutes), 1, func(v float64) bool {
			return v == fabricNotStarted || v == fabricInProgress || v == fabricFailed
		})
		severity, text := insight.Critical, "The GPU has not joined the NVLink fabric: CUDA does not start on it."
		if highest(tail(b.busy, b.steps(5*time.Minute))) > b.limits.Busy {
			severity, text = insight.Warning, "The GPU works but has not joined the NVLink fabric."
		}
		if h.is {
			b.add(insight.Reason{
				ID: "fabric-state", Severity: severity, Text: text,
				Evidence: []insight.Evidence{b.evidence(fabricState, gpu.Code, state, fabricCompleted, false, fmt.Sprintf("fabric state %g, 3 is completed", state))},
				Action:   operator("Look at the fabric manager (nvidia-fabricmanager, on GB200 the IMEX and switch tray) and restart it.", "fabric"),
			}, h)
		}
	}
	if status, ok := b.at(fabricStatus); ok && found && state == fabricCompleted && status > 0 {
		b.add(insight.Reason{
			ID: "fabric-status", Severity: insight.Critical, Text: fmt.Sprintf("Joining the NVLink fabric ended with error %g.", status),
			Evidence: []insight.Evidence{b.evidence(fabricStatus, gpu.Code, status, 0, true, fmt.Sprintf("fabric status %g, 0 is success", status))},
			Action:   operator("Look at the fabric manager's log, restart it, then reset the GPU.", "fabric"),
		}, b.held(b.values[fabricStatus], 0, 1, func(v float64) bool { return v > 0 }))
	}
	mask, ok := b.at(fabricHealth)
	if !ok || !(mask >= 1 && mask < 1<<32) {
		return
	}
	text := ""
	for _, f := range fabricFaults {
		if uint64(mask)>>f.shift&3 == 1 {
			text += ", " + f.what
		}
	}
	if text != "" {
		b.add(insight.Reason{
			ID: "fabric-health", Severity: insight.Warning, Text: "The NVLink fabric is not healthy: " + text[2:] + ".",
			Evidence: []insight.Evidence{b.evidence(fabricHealth, gpu.Code, mask, math.NaN(), true, fmt.Sprintf("fabric health mask %#x", uint64(mask)))},
			Action:   operator("Look at the NVLink switches and the fabric manager; move jobs that need the whole domain.", "fabric"),
		}, b.held(b.values[fabricHealth], 0, 1, func(v float64) bool { return v == mask }))
	}
}
