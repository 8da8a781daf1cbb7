package plugin

import (
	"context"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/live"
)

// window reads the selected devices' live samples.
func window(ctx context.Context, from present, s selection, since time.Time) live.WindowResult {
	return windowEvery(ctx, from, s, since, 0)
}

// windowEvery is window for a panel that wishes samples every period from now on, 0 for as the agents take them.
func windowEvery(ctx context.Context, from present, s selection, since time.Time, period time.Duration) live.WindowResult {
	var result live.WindowResult
	wait := liveWait
	for n, name := range s.metrics() {
		got := from.Window(ctx, live.Select{Match: s.matchesTarget, Metric: name, Since: since, Wait: wait, Period: period})
		if n == 0 {
			result = got
			result.Series = nil
			wait = time.Millisecond // everybody was waited for
		}
		result.Series = s.filter(result.Series, got.Series, n)
	}
	return result
}

// wish is how far apart the samples of a panel that goes on live should be, 0 for as the agents take them: a short range
// has room for more than one a second, and of few nodes they are not too many. Counters are left as they are, because
// their rates would be of other spans all at once.
func (d *Datasource) wish(ctx context.Context, r request, of selection) time.Duration {
	if isInstant(r.query) || r.static || !r.query.Live || of.metric.Kind == catalog.Counter {
		return 0
	}
	step := liveStep(r.window, 0)
	if step >= time.Second || !reachOf(r.query, r.window.From, r.window.To, r.now).continues {
		return 0
	}
	nodes, _ := d.live.Nodes(ctx) // of an error the window tells
	few := 0
	for _, n := range nodes {
		if of.matchesTarget(n.Target) {
			few++
		}
	}
	if few == 0 || few > fewNodes {
		return 0
	}
	return step
}

// eagerPeriod is how far apart samples are by now, or will be where all agents can do what is wished.
func eagerPeriod(got live.WindowResult, wish time.Duration) time.Duration {
	if wish == 0 || len(got.Nodes) == 0 {
		return got.Period
	}
	longest := wish
	for _, n := range got.Nodes {
		if n.Period == 0 {
			continue // not known yet
		}
		can := n.Period
		if n.MinPeriod > 0 {
			can = min(can, max(n.MinPeriod, wish))
		}
		longest = max(longest, can)
	}
	return longest
}
