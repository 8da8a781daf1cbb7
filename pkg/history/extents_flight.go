package history

import (
	"context"
	"sync"
)

// flights lets callers that need the same thing at the same time load it once. A caller that gives up leaves; the load
// ends when nobody waits for it any more, and the last one to leave waits until it has.
type flights[T any] struct {
	mu      sync.Mutex
	running map[string]*flight[T]
}

type flight[T any] struct {
	cancel  context.CancelFunc
	done    chan struct{} // closed when value and err are set
	value   T
	err     error
	waiting int
	callers int
}

// do loads, or waits for who does. shared is whether the value was given to others too.
func (f *flights[T]) do(ctx context.Context, key string, load func(context.Context) (T, error)) (value T, shared bool, err error) {
	c := f.board(ctx, key, load)
	select {
	case <-c.done:
		return c.value, c.callers > 1, c.err
	case <-ctx.Done():
	}
	if f.leave(key, c) {
		<-c.done
	}
	return value, false, ctx.Err()
}

// board joins the load of key, or starts it. It runs with what the first caller's context holds, but not with its end.
func (f *flights[T]) board(ctx context.Context, key string, load func(context.Context) (T, error)) *flight[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.running[key]
	if ok {
		c.waiting++
		c.callers++
		return c
	}
	loading, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c = &flight[T]{cancel: cancel, done: make(chan struct{}), waiting: 1, callers: 1}
	if f.running == nil {
		f.running = map[string]*flight[T]{}
	}
	f.running[key] = c
	go func() {
		c.value, c.err = load(loading)
		f.land(key, c)
		cancel()
		close(c.done)
	}()
	return c
}

// land takes a load off the board; from then on nobody joins it.
func (f *flights[T]) land(key string, c *flight[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[key] == c {
		delete(f.running, key)
	}
}

// leave reports whether nobody waits any more; then the load is cancelled.
func (f *flights[T]) leave(key string, c *flight[T]) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.waiting--; c.waiting > 0 {
		return false
	}
	if f.running[key] == c {
		delete(f.running, key)
	}
	c.cancel()
	return true
}
