package plugin

import (
	"fmt"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// How far the end of a range may be from the server's time.
const (
	nearNow    = time.Minute      // still "now": clocks differ, and requests take a while
	clockHint  = 30 * time.Second // further ahead than that, the browser's clock is wrong
	recentPast = 15 * time.Minute // a range that ended so recently may have been meant to end now
)

// reachesNow says whether a query's answer includes what agents measure now, and what the user should know when it is
// not what they may expect.
func reachesNow(q query.Query, to, now time.Time) (bool, []gpu.Notice) {
	if q.Source == query.SourceHistory {
		return false, nil
	}
	clock := now.UTC().Format("15:04:05 UTC")
	switch late := now.Sub(to); {
	case late < -clockHint:
		return true, []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
			"The range ends %s after the server's time (%s): check the clock of the browser's machine.", (-late).Round(time.Second), clock)}}
	case late <= nearNow:
		return true, nil
	case q.Source == query.SourceLive:
		return false, []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
			"Live data was asked for, but the range ended %s before the server's time (%s): let it end now, or set the source to auto.",
			late.Round(time.Second), clock)}}
	case late <= recentPast:
		return false, []gpu.Notice{{Severity: gpu.Info, Text: fmt.Sprintf(
			"The range ended %s before the server's time (%s), so it holds no live data. If it was meant to end now, check the clock of the browser's machine.",
			late.Round(time.Second), clock)}}
	}
	return false, nil
}

// liveStep is the grid for live samples: the panel's width decides, as for history, but not the scrape interval.
func liveStep(o query.WindowOptions, period time.Duration) time.Duration {
	points := o.MaxDataPoints
	if points <= 0 {
		points = query.DefaultMaxDataPoints
	}
	if perPoint := o.To.Sub(o.From) / time.Duration(points); perPoint <= time.Second/2 {
		// Windows are made for servers, which know whole seconds only.
		for _, nice := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, time.Second / 2} {
			if perPoint <= nice {
				return max(nice, period, o.MinStep)
			}
		}
	}
	o.ScrapeInterval = max(period, time.Second)
	return query.NewWindow(o).Step
}
