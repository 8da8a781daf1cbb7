package history

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// largestShare is the part of the budget that one block may take.
const largestShare = 8

// memory holds extents up to a budget of bytes. Those that were not used for longest go first.
type memory struct {
	budget  int64
	metrics *CacheMetrics

	mu     sync.Mutex
	lru    *simplelru.LRU[blockKey, *slab]
	bytes  int64
	closed bool // what comes now is not kept
}

func newMemory(budget int64, m *CacheMetrics) (*memory, error) {
	lru, err := simplelru.NewLRU[blockKey, *slab](math.MaxInt, nil)
	if err != nil {
		return nil, err
	}
	return &memory{budget: budget, metrics: m, lru: lru}, nil
}

// get returns what is known of a block and still trusted, or nil.
func (m *memory) get(key blockKey, now int64) *slab {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.lru.Get(key)
	if !ok || e.until <= now {
		return nil
	}
	return e
}

// put adds to what is known of a block and returns what is kept, or nil when nothing is.
func (m *memory) put(key blockKey, next *slab, now int64) *slab {
	for {
		m.mu.Lock()
		before, _ := m.lru.Peek(key)
		m.mu.Unlock()
		// Copying takes a while, and others want to read.
		after := before.renewed(next, now)
		if after == before {
			return before
		}
		size := after.bytes()
		if size > m.budget/largestShare {
			m.metrics.refused.Inc()
			return nil
		}
		switch swapped, closed := m.swap(key, before, after, size); {
		case closed:
			return nil
		case swapped:
			return after
		}
	}
}

// swap stores a slab unless there is another by now, or the memory is closed.
func (m *memory) swap(key blockKey, before, after *slab, size int64) (swapped, closed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now, _ := m.lru.Peek(key); now != before || m.closed {
		return false, m.closed
	}
	if before != nil {
		size -= before.bytes()
	}
	m.lru.Add(key, after)
	m.add(size)
	for m.bytes > m.budget {
		_, oldest, ok := m.lru.RemoveOldest()
		if !ok {
			break
		}
		m.add(-oldest.bytes())
		m.metrics.evicted.Inc()
	}
	return true, false
}

func (m *memory) add(bytes int64) {
	m.bytes += bytes
	m.metrics.bytes.Add(float64(bytes))
}

// close forgets everything, and keeps nothing of what is still under way.
func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.lru.Purge()
	m.add(-m.bytes)
}

// mark notes that the remote cache has all of a slab.
func (m *memory) mark(key blockKey, e *slab) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now, _ := m.lru.Peek(key); now == e {
		marked := *e
		marked.sent = e.ticks()
		m.lru.Add(key, &marked)
	}
}
