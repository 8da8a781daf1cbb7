package plugin

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/settings"
)

// gate bounds the streams of a data source, and knows of those that run what somebody who joins needs: the columns by now
// and what is told. The zero value lets in as many as the settings do by default.
type gate struct {
	limits settings.Live // what is 0 in it is the default

	mu      sync.Mutex
	runs    map[string]*run
	waiting map[string]string // why a stream waits, by its path
	byUser  map[string]int
	changed chan struct{} // closed when a place has become free; nil when nobody waits
}

// run is one stream that runs.
type run struct {
	user string
	// schema is what viewers who join get, nil for the channel's own. It is never written to.
	schema *data.Frame
}

// refusal is why one more stream of the user cannot run, "" when it can. The caller holds mu.
func (g *gate) refusal(user string) string {
	total, perUser := cmp.Or(g.limits.MaxStreams, settings.DefaultMaxStreams), cmp.Or(g.limits.MaxUserStreams, settings.DefaultMaxUserStreams)
	switch {
	case len(g.runs) >= total:
		return fmt.Sprintf("this data source has %d live streams already, which is the most (live.maxStreams of its settings): "+
			"close dashboards that nobody looks at, or aggregate panels", total)
	case g.byUser[user] >= perUser:
		// Whoever joins is told the same, so nobody is named.
		return fmt.Sprintf("the user who opened this stream has %d live streams already, which is the most for one user "+
			"(live.maxStreamsPerUser of the data source's settings): close tabs, or aggregate panels", perUser)
	}
	return ""
}

// look is what somebody who subscribes to a channel is to know: the schema of now where it runs, and why it cannot run. A
// stream that waits does so for the one who was the first to watch it, whoever joins.
func (g *gate) look(path, user string) (schema *data.Frame, refusal string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r, ok := g.runs[path]; ok {
		return r.schema, ""
	}
	if why, ok := g.waiting[path]; ok {
		return nil, why
	}
	return nil, g.refusal(user)
}

// enter takes a place for a stream. It waits for one as long as ctx lasts; wait is told why at the beginning. The caller
// must leave, unless the error is that of ctx.
func (g *gate) enter(ctx context.Context, path, user string, wait func(refusal string) error) (*run, error) {
	told := false
	for {
		g.mu.Lock()
		refusal := g.refusal(user)
		if refusal == "" {
			if g.runs == nil {
				g.runs, g.byUser = map[string]*run{}, map[string]int{}
			}
			r := &run{user: user}
			delete(g.waiting, path)
			g.runs[path] = r
			g.byUser[user]++
			g.mu.Unlock()
			return r, nil
		}
		if g.waiting == nil {
			g.waiting = map[string]string{}
		}
		g.waiting[path] = refusal
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		changed := g.changed
		g.mu.Unlock()
		if !told {
			if err := wait(refusal); err != nil {
				g.giveUp(path)
				return nil, err
			}
			told = true
		}
		select {
		case <-ctx.Done():
			g.giveUp(path)
			return nil, ctx.Err()
		case <-changed:
		}
	}
}

// giveUp forgets a stream that waited.
func (g *gate) giveUp(path string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.waiting, path)
}

// tell lets those who join know the schema of a stream by now.
func (g *gate) tell(r *run, schema *data.Frame) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r.schema = schema
}

// leave gives the place back.
func (g *gate) leave(path string, r *run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.runs[path] == r {
		delete(g.runs, path)
	}
	if g.byUser[r.user]--; g.byUser[r.user] <= 0 {
		delete(g.byUser, r.user)
	}
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}
