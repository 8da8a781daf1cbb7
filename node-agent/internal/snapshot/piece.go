package snapshot

import "github.com/warpwatch/warpwatch/pkg/wire"

// Piece is what a reader of the stream gets next.
type Piece struct {
	Schema      *Schema
	First, Last uint64 // sequence numbers; 0 when there is nothing
	// Ticks are fields of a wire.Batch, the first relative to what the reader holds. Nobody may change them.
	Ticks []byte
	// Whole says that the first tick is relative to nothing: the reader is to be told the schema first.
	Whole bool
	// Missed is how many ticks before the first the reader does not get. The first tick says so too.
	Missed uint64
}

// After is the next piece for a reader that has the ticks up to a sequence number, and holds what the last of them left of
// a schema; nil when it holds nothing. The channel is closed when there is more than now.
func (s *Store) After(seq uint64, held *Schema) (Piece, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := max(seq+1, s.oldest)
	c := s.find(next)
	if c == nil {
		return Piece{}, s.changed, nil
	}
	p := Piece{Schema: c.schema, First: next, Last: c.last(), Missed: next - seq - 1}
	var err error
	if p.Missed == 0 && (held == c.schema || next == c.first && c.key == nil) {
		p.Whole = held != c.schema
		p.Ticks, err = c.from(next)
		return p, s.changed, err
	}
	state, rest, err := c.stateBefore(next)
	if err != nil {
		return Piece{}, nil, err
	}
	head, rest, err := state.Apply(rest)
	if err != nil {
		return Piece{}, nil, err
	}
	p.Whole, head.Dropped = true, p.Missed
	p.Ticks = append(wire.NewState(state.Columns()).AppendChange(nil, state, head), rest...)
	return p, s.changed, nil
}

// Jump is a piece of the newest tick alone, for a reader that is to leave out what is before it.
func (s *Store) Jump(seq uint64, held *Schema) (Piece, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.newest.Load()
	if newest == nil || seq >= newest.Seq || len(s.chunks) == 0 {
		return Piece{}, s.changed, nil
	}
	c := &s.chunks[len(s.chunks)-1]
	p := Piece{Schema: c.schema, First: newest.Seq, Last: newest.Seq, Missed: newest.Seq - seq - 1}
	from := wire.NewState(s.state.Columns())
	p.Whole = true
	if has := s.find(seq); has != nil && has.schema == held && held == c.schema {
		state, rest, err := has.stateBefore(seq)
		if err != nil {
			return Piece{}, nil, err
		}
		if _, _, err := state.Apply(rest); err != nil {
			return Piece{}, nil, err
		}
		from, p.Whole = state, false
	}
	p.Ticks = from.AppendChange(nil, s.state, wire.Head{Seq: newest.Seq, Time: newest.Time, Dropped: p.Missed})
	return p, s.changed, nil
}

// find is the chunk with a tick that is given out, nil when there is none.
func (s *Store) find(seq uint64) *chunk {
	if seq < s.oldest {
		return nil
	}
	for i := len(s.chunks) - 1; i >= 0; i-- {
		if c := &s.chunks[i]; seq >= c.first {
			if seq > c.last() || c.count == 0 {
				return nil
			}
			return c
		}
	}
	return nil
}
