package history

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// failureTTL is how long a failed load is remembered, so that the queries of one dashboard do not all wait for a server
// that is down.
const failureTTL = 2 * time.Second

// emptyTTL is how long it is remembered that there is nothing. A server that has just started, or been set up, has
// something as soon as it has scraped.
const emptyTTL = 5 * time.Second

// mostEntries bounds what a cache remembers: of more tenants than that each may be asked for again.
const mostEntries = 64

// cache remembers one value for each key for a while. Of the callers that need a value at the same time one loads it
// and the others wait. It starts no goroutines. Of too many values the one that was loaded first goes.
type cache[T any] struct {
	mu      sync.Mutex
	entries map[string]*entry[T]
	now     func() time.Time
	empty   func(T) bool // whether a value is nothing; nil for never
	most    int          // values that are kept; 0 for mostEntries
}

type entry[T any] struct {
	done  chan struct{} // closed when value and err are set
	value T
	err   error
	until time.Time // set with done
}

func (c *cache[T]) setUp(now func() time.Time) { c.now, c.entries = now, map[string]*entry[T]{} }

// get returns the value of key, loading it when there is none or it is older than ttl. A load that fails because its
// caller gave up is nobody else's failure: the next in line loads again.
func (c *cache[T]) get(ctx context.Context, key string, ttl time.Duration, load func(context.Context) (T, error)) (T, error) {
	for {
		e, mine := c.claim(key)
		if mine {
			return c.load(ctx, key, e, ttl, load)
		}
		select {
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		case <-e.done:
		}
		if !e.until.IsZero() {
			return e.value, e.err
		}
	}
}

// begin is get without the wait: the entry settles when the value is there. A load that has to begin is given to run, and
// settles at once when that refuses.
func (c *cache[T]) begin(key string, ttl time.Duration, run func(func(context.Context)) bool, load func(context.Context) (T, error)) *entry[T] {
	e, mine := c.claim(key)
	if !mine {
		return e
	}
	started := run(func(ctx context.Context) {
		_, _ = c.load(ctx, key, e, ttl, load) // whoever waits reads the entry
	})
	if !started {
		e.err = context.Canceled
		c.settle(key, e, ttl, true)
	}
	return e
}

// peek returns the value of key if there is one that is not too old.
func (c *cache[T]) peek(key string) (value T, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return value, false
	}
	select {
	case <-e.done:
		return e.value, e.err == nil && c.now().Before(e.until)
	default:
		return value, false
	}
}

func (c *cache[T]) load(ctx context.Context, key string, e *entry[T], ttl time.Duration, load func(context.Context) (T, error)) (T, error) {
	gaveUp := true
	// Deferred, so that nobody waits for ever for a load that panicked.
	defer func() { c.settle(key, e, ttl, gaveUp) }()
	e.value, e.err = load(ctx)
	gaveUp = e.err != nil && ctx.Err() != nil
	return e.value, e.err
}

// claim returns the current entry of key, or a new one that the caller must settle.
func (c *cache[T]) claim(key string) (e *entry[T], mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if e, ok := c.entries[key]; ok {
		select {
		case <-e.done:
			if now.Before(e.until) {
				return e, false
			}
		default:
			return e, false
		}
	}
	for old, e := range c.entries {
		select {
		case <-e.done:
			if !now.Before(e.until) {
				delete(c.entries, old)
			}
		default:
		}
	}
	if len(c.entries) >= cmp.Or(c.most, mostEntries) {
		c.forgetOldest()
	}
	e = &entry[T]{done: make(chan struct{})}
	c.entries[key] = e
	return e, true
}

// forgetOldest drops the value that was loaded first. What is being loaded stays: somebody waits for it. The caller holds mu.
func (c *cache[T]) forgetOldest() {
	oldest, found := "", false
	for key, e := range c.entries {
		select {
		case <-e.done:
			if !found || e.until.Before(c.entries[oldest].until) {
				oldest, found = key, true
			}
		default:
		}
	}
	if found {
		delete(c.entries, oldest)
	}
}

func (c *cache[T]) settle(key string, e *entry[T], ttl time.Duration, gaveUp bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case gaveUp:
		delete(c.entries, key)
	case e.err != nil:
		e.until = c.now().Add(min(ttl, failureTTL))
	case c.empty != nil && c.empty(e.value):
		e.until = c.now().Add(min(ttl, emptyTTL))
	default:
		e.until = c.now().Add(ttl)
	}
	close(e.done)
}
