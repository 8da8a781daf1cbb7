package history

import (
	"context"
	"sync/atomic"
)

// Tally is how many steps the range queries of a context asked for, of each endpoint, and how many of them the cache had. It is
// safe for concurrent use.
type Tally struct{ asked, cached atomic.Int64 }

type tallyKey struct{}

// WithTally counts what is asked with the context.
func WithTally(ctx context.Context) (context.Context, *Tally) {
	t := &Tally{}
	return context.WithValue(ctx, tallyKey{}, t), t
}

// Steps is how many steps the cache had, of how many that were asked for until now.
func (t *Tally) Steps() (cached, asked int64) { return t.cached.Load(), t.asked.Load() }

// countSteps adds to the context's count, if it has one.
func countSteps(ctx context.Context, cached, asked int64) {
	if t, ok := ctx.Value(tallyKey{}).(*Tally); ok {
		t.cached.Add(cached)
		t.asked.Add(asked)
	}
}
