package memory

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

func above(metric string, value float64, unit gpu.Unit, limit float64, text string) insight.Evidence {
	return insight.Evidence{Metric: metric, Value: value, Unit: unit, Limit: limit, Above: true, Text: text}
}

// free is evidence that is held against nothing.
func free(metric string, value float64, unit gpu.Unit, text string) insight.Evidence {
	return insight.Evidence{Metric: metric, Value: value, Unit: unit, Limit: math.NaN(), Text: text}
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

func size(bytes float64) string { return fmt.Sprintf("%.1f GiB", bytes/(1<<30)) }

func counted(n float64, what string) string {
	if n < 1.5 {
		return "1 " + what
	}
	return fmt.Sprintf("%.0f %ss", n, what)
}

// short writes a duration in the two largest units that matter.
func short(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	case d >= time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	default:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
}

// order is what comes first among reasons of one severity.
var order = [...]string{OutOfMemory, OOMRisk, CacheFull, Retries, Zombie, Fragmented, Growing, CacheBusy, HeldIdle, NearFull}

func sortReasons(reasons []insight.Reason) {
	slices.SortStableFunc(reasons, func(a, b insight.Reason) int {
		if a.Severity != b.Severity {
			return int(b.Severity) - int(a.Severity)
		}
		return slices.Index(order[:], a.ID) - slices.Index(order[:], b.ID)
	})
}

func sortedUnique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
