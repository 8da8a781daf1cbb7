package plugin

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"
)

const (
	// mostQueries is how many queries a data source works on at the same time. Each holds what its servers answered; more at once
	// would cost memory and be no faster.
	mostQueries = 64
	// cellsAtOnce is how many values all judgements together may gather at a time: those of two grids as large as may be. A dashboard
	// asks for many at once, and each of a large fleet takes much memory while it is gathered.
	cellsAtOnce = 2 * gatherCells
)

// room is what all queries of a data source share. Who does not fit in waits, in the order of coming. The zero value is ready.
type room struct {
	once sync.Once
	free *semaphore.Weighted
}

// enter waits for so much of the room, which is always of the same size, at least for 1 and at most for all of it, and takes it until
// leave is called. The error is that ctx ended before.
func (r *room) enter(ctx context.Context, much, size int) (leave func(), err error) {
	r.once.Do(func() { r.free = semaphore.NewWeighted(int64(size)) })
	taken := int64(min(max(much, 1), size))
	if err := r.free.Acquire(ctx, taken); err != nil {
		return nil, fmt.Errorf("wait while other queries are worked on: %w", err)
	}
	return func() { r.free.Release(taken) }, nil
}
