package plugin

import (
	"fmt"
	"sort"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// How far the end of a range may be from the server's time.
const (
	nearNow    = time.Minute      // still "now": clocks differ, and requests take a while
	clockHint  = 30 * time.Second // further ahead than that, the browser's clock is wrong
	recentPast = 15 * time.Minute // what agents and their connections still hold
)

// reach is what the end of a range means for the live side.
type reach struct {
	live      bool // agents hold samples of the range
	continues bool // and a stream can go on from its end
	notices   []gpu.Notice
}

// reachOf also says what the user should know when the range is not what they may expect.
func reachOf(q query.Query, from, to, now time.Time) reach {
	if q.Source == query.SourceHistory {
		return reach{}
	}
	clock := now.UTC().Format("15:04:05 UTC")
	switch late := now.Sub(to); {
	case late < -clockHint:
		return reach{live: true, continues: true, notices: []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
			"The range ends %s after the server's time (%s): check the clock of the browser's machine.", (-late).Round(time.Second), clock)}}}
	case late <= nearNow:
		return reach{live: true, continues: true}
	case late <= recentPast && !isInstant(q):
		r := reach{live: true}
		if to.Sub(from)%time.Minute == 0 {
			// Ranges like "last 15 minutes" are whole minutes long; those that were zoomed into are not.
			r.notices = []gpu.Notice{{Severity: gpu.Info, Text: fmt.Sprintf(
				"The range ended %s before the server's time (%s), so it does not go on live. If it was meant to end now, check the clock of the browser's machine.",
				late.Round(time.Second), clock)}}
		}
		return r
	case q.Source == query.SourceLive:
		return reach{notices: []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
			"Live data was asked for, but the range ended %s before the server's time (%s): let it end now, or set the source to auto.",
			late.Round(time.Second), clock)}}}
	}
	return reach{}
}

// upTo cuts off what was measured after the end of the range. Lines that have nothing before it are left out.
func upTo(series []gpu.Series, end time.Time) []gpu.Series {
	var kept []gpu.Series
	for _, s := range series {
		n := sort.Search(len(s.Times), func(i int) bool { return s.Times[i] > end.UnixMilli() })
		if n > 0 {
			s.Times, s.Values = s.Times[:n:n], s.Values[:n:n]
			kept = append(kept, s)
		}
	}
	return kept
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
