package plugin

import (
	"context"
	"fmt"
	"sync"
)

// mostQueries is how many queries a data source works on at the same time. Each holds what its servers answered; more at once would
// cost memory and be no faster.
const mostQueries = 64

// turns lets so many queries run, and the others wait. The zero value is ready.
type turns struct {
	once  sync.Once
	slots chan struct{}
}

// enter waits for a turn, which ends with leave. The error is that ctx ended before.
func (t *turns) enter(ctx context.Context) (leave func(), err error) {
	t.once.Do(func() { t.slots = make(chan struct{}, mostQueries) })
	select {
	case t.slots <- struct{}{}:
		return func() { <-t.slots }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait while %d other queries are worked on: %w", mostQueries, ctx.Err())
	}
}
