package plugin

import (
	"context"
	"fmt"
	"sync"

	"github.com/grafana/grafana-plugin-sdk-go/data"
)

// How many streams run at the same time. A channel that many watch is one stream.
const (
	maxStreams     = 2000
	maxUserStreams = 256 // of those that one user was the first to watch: two full browser tabs
)

// gate bounds the streams of a data source, and knows of those that run what somebody who joins needs: the columns by now
// and what is told. The zero value lets in as many as the constants say.
type gate struct {
	total, perUser int // 0 for the constants

	mu      sync.Mutex
	runs    map[string]*run
	byUser  map[string]int
	changed chan struct{} // closed when a place has become free; nil when nobody waits
}

// run is one stream that runs, or waits until it may.
type run struct {
	user string
	// schema is what viewers who join get, nil for the channel's own. It is never written to.
	schema *data.Frame
}

func (g *gate) limits() (total, perUser int) {
	total, perUser = g.total, g.perUser
	if total <= 0 {
		total = maxStreams
	}
	if perUser <= 0 {
		perUser = maxUserStreams
	}
	return total, perUser
}

// refusal is why one more stream of the user cannot run, "" when it can. The caller holds mu.
func (g *gate) refusal(user string) string {
	total, perUser := g.limits()
	switch {
	case len(g.runs) >= total:
		return fmt.Sprintf("this data source has %d live streams already, which is the most: close dashboards that nobody looks at, or aggregate panels", total)
	case g.byUser[user] >= perUser:
		return fmt.Sprintf("%s has %d live streams already, which is the most for one user: close tabs, or aggregate panels", name(user), perUser)
	}
	return ""
}

func name(user string) string {
	if user == "" {
		return "this user"
	}
	return user
}

// look is what somebody who subscribes to a channel is to know: the schema of now where it runs, and why it cannot run.
func (g *gate) look(path, user string) (schema *data.Frame, refusal string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r, ok := g.runs[path]; ok {
		return r.schema, ""
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
			g.runs[path] = r
			g.byUser[user]++
			g.mu.Unlock()
			return r, nil
		}
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		changed := g.changed
		g.mu.Unlock()
		if !told {
			if err := wait(refusal); err != nil {
				return nil, err
			}
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		}
	}
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
