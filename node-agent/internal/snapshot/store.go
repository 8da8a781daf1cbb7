package snapshot

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// Store keeps the newest frame, and the past as the ticks that the stream carries: each is encoded once, and every reader
// gets the same bytes. Append is for one goroutine; everything else is safe for concurrent use.
type Store struct {
	newest atomic.Pointer[Frame]

	mu       sync.Mutex
	span     time.Duration
	maxBytes int
	chunks   []chunk // oldest first, without gaps
	oldest   uint64  // lowest sequence number that is given out, 0 while there is none
	kept     time.Duration
	bytes    int
	state    *wire.State // after the newest tick
	windows  []*Window
	changed  chan struct{}
}

// NewStore keeps the past of a span, and less when that takes more than maxBytes bytes. The newest frame is kept in any
// case.
func NewStore(span time.Duration, maxBytes int) *Store {
	return &Store{span: span, maxBytes: maxBytes, changed: make(chan struct{})}
}

// Append publishes a frame, under the next sequence number. The first is 1. It returns an error when the readings do not
// fit the schema: the frame is published, but belongs to no past.
func (s *Store) Append(f *Frame) error {
	f.Seq = 1
	if last := s.newest.Load(); last != nil {
		f.Seq = last.Seq + 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.keep(f)
	for _, w := range s.windows {
		w.take(f)
	}
	s.newest.Store(f)
	close(s.changed)
	s.changed = make(chan struct{})
	return err
}

// keep adds a frame to the past.
func (s *Store) keep(f *Frame) error {
	c := s.open(f)
	before := c.size()
	var err error
	c.ticks, err = s.state.AppendSample(c.ticks, f.Schema.Wire.GetColumns(), wire.Sample{Seq: f.Seq, Time: f.Time, Readings: f.Readings})
	if err != nil {
		s.chunks, s.oldest, s.kept, s.bytes = nil, f.Seq+1, 0, 0
		return fmt.Errorf("keep sample %d: %w", f.Seq, err)
	}
	c.count++
	s.bytes += c.size() - before
	s.kept += c.period()
	if s.oldest == 0 {
		s.oldest = f.Seq
	}
	// The second oldest must be a span ago before the oldest may go.
	for s.oldest < f.Seq && s.kept-s.periodOf(s.oldest)-s.periodOf(s.oldest+1) >= s.span {
		s.kept -= s.periodOf(s.oldest)
		s.oldest++
		s.dropUnused()
	}
	for s.bytes > s.maxBytes && len(s.chunks) > 1 {
		s.kept -= time.Duration(s.chunks[1].first-s.oldest) * s.chunks[0].period()
		s.oldest = s.chunks[1].first
		s.dropUnused()
	}
	return nil
}

// open is the chunk that a frame belongs to.
func (s *Store) open(f *Frame) *chunk {
	previous := 0
	if n := len(s.chunks); n > 0 {
		last := &s.chunks[n-1]
		if last.schema == f.Schema && !last.full() {
			return last
		}
		s.bytes -= last.size()
		last.ticks = slices.Clone(last.ticks) // what was room to grow is not kept
		s.bytes += last.size()
		previous = len(last.ticks)
		if last.schema != f.Schema {
			s.state = wire.NewState(len(f.Schema.Columns))
		}
	} else {
		s.state = wire.NewState(len(f.Schema.Columns))
	}
	c := chunk{schema: f.Schema, first: f.Seq, ticks: make([]byte, 0, previous+previous/8)}
	if n := len(s.chunks); n > 0 && s.chunks[n-1].schema == f.Schema {
		c.key = wire.NewState(s.state.Columns()).AppendChange(nil, s.state, wire.Head{})
	}
	if n := len(s.chunks); n == 0 || !s.chunks[n-1].schema.shares(f.Schema) {
		c.extra = f.Schema.weight()
	}
	s.chunks = append(s.chunks, c)
	s.bytes += c.size()
	return &s.chunks[len(s.chunks)-1]
}

// periodOf is what one of the two oldest ticks is for.
func (s *Store) periodOf(seq uint64) time.Duration {
	if c := &s.chunks[0]; seq <= c.last() {
		return c.period()
	}
	return s.chunks[1].period()
}

// dropUnused lets the oldest chunk go once nothing of it is given out.
func (s *Store) dropUnused() {
	if c := &s.chunks[0]; s.oldest >= c.first+uint64(c.count) {
		s.bytes -= c.size()
		if len(s.chunks) > 1 && c.extra > 0 && c.schema.shares(s.chunks[1].schema) {
			s.bytes += c.extra - s.chunks[1].extra
			s.chunks[1].extra = c.extra
		}
		s.chunks[0] = chunk{}
		s.chunks = s.chunks[1:]
	}
}

// Newest is the newest frame, nil before the first.
func (s *Store) Newest() *Frame { return s.newest.Load() }

// Changed is closed when there is a newer frame than the newest now.
func (s *Store) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Each calls f with the frames after a sequence number, oldest first, as far as they are kept, until it returns false. They
// have no extents, status or times of groups, and their readings are f's only until it returns.
func (s *Store) Each(after uint64, f func(*Frame) bool) error {
	s.mu.Lock()
	chunks, oldest := slices.Clone(s.chunks), s.oldest
	s.mu.Unlock()
	return each(chunks, max(after+1, oldest), f)
}

func each(chunks []chunk, from uint64, f func(*Frame) bool) error {
	var frame Frame
	for i := range chunks {
		c := &chunks[i]
		if c.first+uint64(c.count) <= from {
			continue
		}
		if len(frame.Readings) != len(c.schema.Columns) {
			frame.Readings = make([]gpu.Reading, len(c.schema.Columns))
		}
		state, rest, err := c.stateBefore(max(c.first, from))
		for err == nil && len(rest) > 0 {
			var head wire.Head
			if head, rest, err = state.Apply(rest); err != nil {
				break
			}
			state.Read(c.schema.Wire.GetColumns(), frame.Readings)
			frame.Seq, frame.Time, frame.Schema = head.Seq, head.Time, c.schema
			if !f(&frame) {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
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
	for i := len(s.chunks) - 1; i >= 0; i-- {
		times := s.chunks[i].times()
		for j := len(times) - 1; j >= 0; j-- {
			seq := s.chunks[i].first + uint64(j)
			if seq < s.oldest || seq < newest.Seq && times[j] < limit {
				return at - 1
			}
			at = seq
		}
	}
	return at - 1
}

// Kept is what the past holds now: how many frames, the bytes that they take, and how long a time they are for.
func (s *Store) Kept() (frames, bytes int, span time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if newest := s.newest.Load(); newest != nil {
		frames = int(newest.Seq + 1 - s.oldest)
	}
	return frames, s.bytes, s.kept
}
