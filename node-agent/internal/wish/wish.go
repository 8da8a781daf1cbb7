// Package wish knows how often those who read the live stream want samples. A wish outlives its reader for a while, so that
// one that drops and comes back changes nothing in between.
package wish

import (
	"sync"
	"time"
)

const (
	// Lease is how long a wish counts after it was withdrawn.
	Lease = 15 * time.Second
	// maxLeft bounds the withdrawn wishes that still count.
	maxLeft = 32
)

// Book holds the wishes of all readers. It is safe for concurrent use.
type Book struct {
	mu      sync.Mutex
	wishes  map[*Wish]time.Duration     // those there are
	left    map[time.Duration]time.Time // when the last with a period was withdrawn
	changed chan struct{}
}

// NewBook has no wishes.
func NewBook() *Book {
	return &Book{wishes: map[*Wish]time.Duration{}, left: map[time.Duration]time.Time{}, changed: make(chan struct{}, 1)}
}

// Wish is what one reader wants.
type Wish struct{ book *Book }

// Join is a reader without a wish. Leave must be called.
func (b *Book) Join() *Wish { return &Wish{book: b} }

// Set says how far apart the reader wants samples; 0 withdraws the wish.
func (w *Wish) Set(period time.Duration) {
	b := w.book
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.wishes[w]
	if period == before {
		return
	}
	if before > 0 {
		b.leave(before)
	}
	delete(b.wishes, w)
	if period > 0 {
		b.wishes[w] = period
	}
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// Leave withdraws the wish.
func (w *Wish) Leave() { w.Set(0) }

// leave notes that a wish was withdrawn. Those that were withdrawn before it and are no more eager tell nothing any more.
func (b *Book) leave(period time.Duration) {
	for p := range b.left {
		if p >= period {
			delete(b.left, p)
		}
	}
	if len(b.left) >= maxLeft {
		for p := range b.left {
			period = min(period, p)
		}
		clear(b.left)
	}
	b.left[period] = time.Now()
}

// Period is the shortest that counts now; 0 when there is none.
func (b *Book) Period() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	least := time.Duration(0)
	take := func(p time.Duration) {
		if least == 0 || p < least {
			least = p
		}
	}
	for _, p := range b.wishes {
		take(p)
	}
	for p, at := range b.left {
		if time.Since(at) < Lease {
			take(p)
		} else {
			delete(b.left, p)
		}
	}
	return least
}

// Count is how many readers have a wish.
func (b *Book) Count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.wishes)
}

// Changed has something when a wish was made or withdrawn since the last time. It is for one goroutine.
func (b *Book) Changed() <-chan struct{} { return b.changed }
