package history

import (
	"context"
	"sync"
)

// background is work that goes on after the call that began it, because the next call needs its result. It ends when the
// work is done, at the latest by the time limits of the endpoints it asks, or when it is closed.
type background struct {
	ctx    context.Context // of all the work; kept because the work has no other owner
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

func newBackground() *background {
	b := &background{}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// run starts work with the values of ctx, which it may outlive. It reports whether it did.
func (b *background) run(ctx context.Context, work func(context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(b.ctx, cancel)
	b.work.Go(func() {
		defer cancel()
		defer stop()
		work(ctx)
	})
	return true
}

func (b *background) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel()
	b.work.Wait()
}
