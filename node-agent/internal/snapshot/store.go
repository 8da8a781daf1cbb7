package snapshot

import (
	"sync"
	"sync/atomic"
)

// Store keeps the newest frames. Append is for one goroutine; everything else is safe for concurrent use.
type Store struct {
	newest atomic.Pointer[Frame]

	mu      sync.Mutex
	ring    []*Frame // ring[seq % len]
	maxSize int      // readings
	size    int      // readings in the ring
	oldest  uint64   // lowest sequence number in the ring, 0 while it is empty
	changed chan struct{}
}

// NewStore keeps up to frames frames, and fewer when they hold more than readings readings together.
func NewStore(frames, readings int) *Store {
	return &Store{ring: make([]*Frame, max(frames, 1)), maxSize: readings, changed: make(chan struct{})}
}

// Append publishes a frame, under the next sequence number. The first is 1.
func (s *Store) Append(f *Frame) {
	f.Seq = 1
	if last := s.newest.Load(); last != nil {
		f.Seq = last.Seq + 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.oldest == 0 {
		s.oldest = f.Seq
	}
	slot := f.Seq % uint64(len(s.ring))
	if s.ring[slot] != nil {
		s.dropOldest()
	}
	s.ring[slot] = f
	s.size += len(f.Readings)
	for s.size > s.maxSize && s.oldest < f.Seq {
		s.dropOldest()
	}
	s.newest.Store(f)
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Store) dropOldest() {
	slot := s.oldest % uint64(len(s.ring))
	s.size -= len(s.ring[slot].Readings)
	s.ring[slot] = nil
	s.oldest++
}

// Newest is the newest frame, nil before the first.
func (s *Store) Newest() *Frame { return s.newest.Load() }

// After appends to into the frames with a higher sequence number than seq, oldest first, as far as they are kept. The
// channel is closed when there are newer ones.
func (s *Store) After(seq uint64, into []*Frame) ([]*Frame, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.newest.Load()
	if newest == nil {
		return into, s.changed
	}
	for at := max(seq+1, s.oldest); at <= newest.Seq; at++ {
		into = append(into, s.ring[at%uint64(len(s.ring))])
	}
	return into, s.changed
}

// Since is the sequence number after which the frames of the last milliseconds before the newest begin.
func (s *Store) Since(milliseconds uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.newest.Load()
	if newest == nil {
		return 0
	}
	limit := newest.Time.UnixMilli() - int64(min(milliseconds, 1<<50))
	at := newest.Seq
	for at > s.oldest && s.ring[(at-1)%uint64(len(s.ring))].Time.UnixMilli() >= limit {
		at--
	}
	return at - 1
}

// Kept is how many frames and readings the ring holds now.
func (s *Store) Kept() (frames, readings int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if newest := s.newest.Load(); newest != nil {
		frames = int(newest.Seq - s.oldest + 1)
	}
	return frames, s.size
}
