package plugin

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// cellsAtOnce is how many values all judgements together may gather at a time: those of two grids as large as may be. Others wait.
const cellsAtOnce = 2 * gatherCells

// gatherRoom is the room that the judgements of a data source share. A dashboard asks for many at once, and each of a large fleet takes
// much memory while it is gathered.
type gatherRoom struct {
	once sync.Once
	free *semaphore.Weighted
}

// enter waits until there is room for so many values, and takes it until leave is called. The error is the context's.
func (r *gatherRoom) enter(ctx context.Context, cells int) (leave func(), err error) {
	r.once.Do(func() { r.free = semaphore.NewWeighted(cellsAtOnce) })
	taken := int64(min(max(cells, 1), cellsAtOnce))
	if err := r.free.Acquire(ctx, taken); err != nil {
		return nil, err
	}
	return func() { r.free.Release(taken) }, nil
}
