package health

import (
	"fmt"
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// recoveryAction is the driver's own verdict.
func (b *board) recoveryAction() {
	v, found := b.at(recovery)
	if !found || v < 1 {
		return
	}
	h := b.held(b.values[recovery], 0, 1, func(x float64) bool { return x == v })
	var text, nvidia string
	switch v {
	case 1:
		text, nvidia = "Drain the GPU and reset it.", "RESET_GPU"
	case 2:
		text, nvidia = "Drain the node and reboot it.", "REBOOT"
	case 3:
		text, nvidia = "Drain the work that uses this GPU over NVLink or PCIe from others.", "DRAIN_P2P"
	case 4:
		text, nvidia = "Drain the GPU, then reset it.", "DRAIN_AND_RESET"
	default:
		text = fmt.Sprintf("Look up recovery action %g in the driver's documentation; until then drain the GPU.", v)
	}
	b.add(insight.Reason{
		ID: "recovery-action", Severity: insight.Critical, Text: "The driver asks for a recovery: " + lowerFirst(text),
		Evidence: []insight.Evidence{b.evidence(recovery, gpu.Code, v, 0, true, fmt.Sprintf("recovery action %g", v))},
		Action:   insight.Action{Text: text, Who: gpu.XIDOperator, NVIDIA: nvidia, Runbook: "recovery-action"},
	}, h)
}

func lowerFirst(text string) string {
	if text == "" {
		return text
	}
	return string(text[0]|0x20) + text[1:]
}

// memoryErrors are ECC, rows and pages.
func (b *board) memoryErrors() {
	l := &b.limits
	window := b.steps(minutes(l.UncorrectedMinutes))
	if rose := sum(tail(b.values[uncorrected], window)); rose > 0 {
		b.add(insight.Reason{
			ID: "ecc-uncorrected", Severity: insight.Critical,
			Text:     fmt.Sprintf("Memory errors that ECC could not correct: %.0f in %g minutes. Somebody's result is lost.", rose, l.UncorrectedMinutes),
			Evidence: []insight.Evidence{b.evidence(uncorrected, gpu.Count, rose, 0, true, fmt.Sprintf("%.0f uncorrected errors", rose))},
			Action:   operator("Drain the GPU, reset it, and see whether a row waits to be remapped.", "ecc-uncorrected"),
			Since:    b.firstAbove(b.values[uncorrected], window, 0),
		}, hold{})
	}
	if rate, h := b.heldSum(b.values[corrected], time.Hour, minutes(l.CorrectedMinutes), l.CorrectedPerHour); h.is {
		b.add(insight.Reason{
			ID: "ecc-corrected", Severity: insight.Info, Text: fmt.Sprintf("ECC corrected %.0f memory errors in an hour.", rate),
			Evidence: []insight.Evidence{b.evidence(corrected, gpu.Count, rate, l.CorrectedPerHour, true,
				fmt.Sprintf("%.0f corrected errors an hour, above %g", rate, l.CorrectedPerHour))},
			Action: nobody("Watch the remapped rows of this GPU.", "ecc-corrected"),
		}, h)
	}
	b.flag(remapFailure, insight.Critical, 0, "row-remap-failure", "A memory row could not be replaced: the board has no spare rows left.",
		"Drain the GPU, run NVIDIA's field diagnostic and return the board.", "remap failure")
	b.flag(remapPending, insight.Warning, l.RemapPendingMinutes, "row-remap-pending", "A memory row waits to be replaced, which happens at the next reset.",
		"Reset the GPU at the next gap between jobs.", "remap pending")
	b.flag(retiredPending, insight.Warning, l.RemapPendingMinutes, "page-retirement-pending", "Memory pages wait to be retired, which happens at the next reset.",
		"Reset the GPU at the next gap between jobs.", "retirement pending")
	b.flag(sramThreshold, insight.Critical, 0, "sram-threshold", "Uncorrectable SRAM errors passed NVIDIA's limit for replacing the board.",
		"Drain the GPU, run NVIDIA's field diagnostic and return the board.", "SRAM threshold exceeded")
	b.flag(unrepairable, insight.Critical, 0, "memory-unrepairable", "The device memory can no longer be repaired.",
		"Drain the GPU, run NVIDIA's field diagnostic and return the board.", "memory unrepairable")
	if rows, found := b.at(remappedUncorrectable); found && rows >= l.RemappedRows {
		b.add(insight.Reason{
			ID: "row-remap-limit", Severity: insight.Warning, Text: fmt.Sprintf("%.0f memory rows were replaced after uncorrectable errors.", rows),
			Evidence: []insight.Evidence{b.evidence(remappedUncorrectable, gpu.Count, rows, l.RemappedRows, true,
				fmt.Sprintf("%.0f rows, %g are DCGM's limit", rows, l.RemappedRows))},
			Action: operator("Plan the replacement of the board.", "row-remap-limit"),
		}, hold{})
	}
	b.retiredPages()
}

func (b *board) retiredPages() {
	single, foundSingle := b.at(retiredSingle)
	double, foundDouble := b.at(retiredDouble)
	if !foundSingle && !foundDouble {
		return
	}
	pages := number(single) + number(double)
	first := double
	for _, v := range b.values[retiredDouble] {
		if !math.IsNaN(v) {
			first = v
			break
		}
	}
	var text string
	switch {
	case pages >= b.limits.RetiredPages:
		text = fmt.Sprintf("%.0f memory pages are retired.", pages)
	case double > b.limits.RetiredDoubleBit && double-first > 1:
		text = fmt.Sprintf("%.0f memory pages are retired after double-bit errors, %.0f of them lately.", double, double-first)
	default:
		return
	}
	b.add(insight.Reason{
		ID: "retired-pages", Severity: insight.Critical, Text: text,
		Evidence: []insight.Evidence{b.evidence(retiredDouble, gpu.Count, pages, b.limits.RetiredPages, true, fmt.Sprintf("%.0f retired pages", pages))},
		Action:   operator("Drain the GPU and return the board.", "retired-pages"),
	}, hold{})
}

// flag is a reason for as long as a metric is 1.
func (b *board) flag(c column, severity insight.Severity, lasting float64, id, text, action, what string) {
	v, at := last(b.values[c])
	if at < 0 || v < 1 {
		return
	}
	h := b.run(minutes(lasting), 1, at, func(i int) (bool, bool) {
		v := b.values[c][i]
		return !math.IsNaN(v), v >= 1
	})
	if !h.is {
		return
	}
	b.add(insight.Reason{
		ID: id, Severity: severity, Text: text,
		Evidence: []insight.Evidence{b.evidence(c, gpu.Code, v, 1, true, what)},
		Action:   operator(action, id),
	}, h)
}
