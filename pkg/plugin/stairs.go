package plugin

import (
	"fmt"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// stairsNotice marks the seam between history that repeats itself and live samples that do not: where an exporter measures
// less often than it is asked, the line seems to become another signal there.
func stairsNotice(s seam, step, period time.Duration) (gpu.Notice, bool) {
	var seam int64
	for _, l := range s.live {
		if len(l.Times) > 0 && (seam == 0 || l.Times[0] < seam) {
			seam = l.Times[0]
		}
	}
	refresh, ok := timeline.Stairs(s.history)
	if !ok || seam == 0 || period >= refresh {
		return gpu.Notice{}, false
	}
	return gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf(
		"Until %s these are Prometheus' samples, of which each value is repeated for %s: the exporter measures no more often, though there is a sample every %s. "+
			"From then on they are the agents', every %s, so what changes there is not the GPU.",
		time.UnixMilli(seam).UTC().Format("15:04:05 UTC"), refresh.Round(time.Second), step, max(period, time.Second))}, true
}
