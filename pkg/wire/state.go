package wire

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// State is what the columns of a schema hold after a tick, and what the next tick is relative to. With it ticks are made,
// kept and read as the bytes that go over the wire, so that they are encoded once whoever gets them. It is not safe for
// concurrent use.
type State struct {
	values []int64
	states []gpu.State

	tick tickWriter
}

// NewState is that of a reader that knows nothing but a schema of so many columns.
func NewState(columns int) *State {
	return &State{values: make([]int64, columns), states: make([]gpu.State, columns)}
}

// Columns is how many there are.
func (s *State) Columns() int { return len(s.values) }

// Clear makes it know nothing.
func (s *State) Clear() {
	clear(s.values)
	clear(s.states)
}

// Set makes it what another of as many columns is.
func (s *State) Set(to *State) {
	copy(s.values, to.values)
	copy(s.states, to.states)
}

// Head is what a tick says besides its columns.
type Head struct {
	Seq     uint64
	Time    time.Time // to the millisecond
	Dropped uint64
}

// AppendSample appends the tick that brings a reader from s to a sample, as a field of a Batch; s is then what that reader
// holds. Several of them, one after the other, are a Batch. It writes what Encoder does. The error says that the sample
// does not fit; s is unchanged then.
func (s *State) AppendSample(dst []byte, columns []*Column, sample Sample) ([]byte, error) {
	if len(sample.Readings) != len(s.values) || len(columns) != len(s.values) {
		return dst, fmt.Errorf("encode tick %d: %d readings and %d columns for a state of %d", sample.Seq, len(sample.Readings),
			len(columns), len(s.values))
	}
	s.tick.begin()
	for i, r := range sample.Readings {
		state := r.State
		if state == gpu.OK {
			if v, ok := toInteger(r.Value, columns[i]); ok {
				s.value(i, v)
			} else {
				state = gpu.NoData
			}
		}
		s.state(i, state)
	}
	return s.tick.append(dst, Head{Seq: sample.Seq, Time: sample.Time, Dropped: sample.Dropped}), nil
}

// AppendChange appends the tick that brings a reader from s to another state of as many columns, whatever lies between,
// as a field of a Batch; s is then what that reader holds.
func (s *State) AppendChange(dst []byte, to *State, head Head) []byte {
	s.tick.begin()
	for i := range s.values {
		s.value(i, to.values[i])
		s.state(i, to.states[i])
	}
	return s.tick.append(dst, head)
}

func (s *State) value(i int, v int64) {
	if v != s.values[i] {
		s.tick.gaps = protowire.AppendVarint(s.tick.gaps, uint64(i-s.tick.lastValue))
		s.tick.deltas = protowire.AppendVarint(s.tick.deltas, protowire.EncodeZigZag(v-s.values[i]))
		s.values[i], s.tick.lastValue = v, i
	}
}

func (s *State) state(i int, state gpu.State) {
	if state != s.states[i] {
		s.tick.stateGaps = protowire.AppendVarint(s.tick.stateGaps, uint64(i-s.tick.lastState))
		s.tick.states = protowire.AppendVarint(s.tick.states, uint64(state))
		s.states[i], s.tick.lastState = state, i
	}
}

// Apply brings s to what it is after the first of ticks, which are fields of a Batch as the Append methods write them. rest
// are the others. After an error s must not be used again.
func (s *State) Apply(ticks []byte) (head Head, rest []byte, err error) {
	t, rest, err := cutTick(ticks)
	if err != nil {
		return Head{}, nil, err
	}
	if err := s.apply(&t); err != nil {
		return Head{}, nil, fmt.Errorf("read tick %d: %w", t.head.Seq, err)
	}
	return t.head, rest, nil
}

func (s *State) apply(t *rawTick) error {
	at := 0
	for len(t.gaps) > 0 {
		gap, ok := take(&t.gaps)
		delta, paired := take(&t.deltas)
		if !ok || !paired {
			return errUneven
		}
		if at += int(min(uint32(gap), MaxColumns)); at >= len(s.values) {
			return errNoColumn
		}
		s.values[at] += protowire.DecodeZigZag(delta)
	}
	at = 0
	for len(t.stateGaps) > 0 {
		gap, ok := take(&t.stateGaps)
		state, paired := take(&t.states)
		if !ok || !paired {
			return errUneven
		}
		if at += int(min(uint32(gap), MaxColumns)); at >= len(s.values) {
			return errNoColumn
		}
		s.states[at] = toState(ReadingState(int32(uint32(state)))) // as protobuf takes it
	}
	if len(t.deltas)+len(t.states) > 0 {
		return errUneven
	}
	return nil
}

// Reading is what a column holds.
func (s *State) Reading(i int, c *Column) gpu.Reading {
	if state := s.states[i]; state != gpu.OK {
		return gpu.Absent(state)
	}
	return gpu.Read(float64(s.values[i]) * float64(c.GetMultiplier()) / float64(c.GetDivisor()))
}

// Read lays out what all columns hold. into has their number.
func (s *State) Read(columns []*Column, into []gpu.Reading) {
	for i, c := range columns {
		into[i] = s.Reading(i, c)
	}
}

// NextTick is what the first of ticks says besides its columns, and the others.
func NextTick(ticks []byte) (head Head, rest []byte, err error) {
	t, rest, err := cutTick(ticks)
	return t.head, rest, err
}

// Values are what each column holds: the integer, which is the last one where the state says that there is none, and the
// state. They are the state's own: they change with it, and must not be written to.
func (s *State) Values() (values []int64, states []gpu.State) { return s.values, s.states }

// CutBatch is the ticks of a Message that is a Batch and nothing else. It is false for any other.
func CutBatch(message []byte) (ticks []byte, ok bool) {
	n, kind, size := protowire.ConsumeTag(message)
	if size < 0 || n != messageBatch || kind != protowire.BytesType {
		return nil, false
	}
	ticks, more := protowire.ConsumeBytes(message[size:])
	return ticks, more >= 0 && size+more == len(message)
}

// AppendBatch appends the Message that carries ticks, which are fields of a Batch.
func AppendBatch(dst, ticks []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, messageBatch, protowire.BytesType), ticks)
}

// Numbers of agent.proto's fields.
const (
	messageBatch     protowire.Number = 2
	batchTicks       protowire.Number = 1
	tickSeq          protowire.Number = 1
	tickTime         protowire.Number = 2
	tickChanged      protowire.Number = 3
	tickDeltas       protowire.Number = 4
	tickStateChanged protowire.Number = 5
	tickStates       protowire.Number = 6
	tickDropped      protowire.Number = 7
)

// tickWriter collects a tick.
type tickWriter struct {
	gaps, deltas, stateGaps, states []byte
	lastValue, lastState            int
	body                            []byte
}

func (w *tickWriter) begin() {
	w.gaps, w.deltas, w.stateGaps, w.states = w.gaps[:0], w.deltas[:0], w.stateGaps[:0], w.states[:0]
	w.lastValue, w.lastState = 0, 0
}

func (w *tickWriter) append(dst []byte, head Head) []byte {
	b := w.body[:0]
	whole := func(n protowire.Number, v uint64) {
		if v != 0 {
			b = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
		}
	}
	packed := func(n protowire.Number, v []byte) {
		if len(v) > 0 {
			b = protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
		}
	}
	whole(tickSeq, head.Seq)
	whole(tickTime, uint64(head.Time.UnixMilli()))
	packed(tickChanged, w.gaps)
	packed(tickDeltas, w.deltas)
	packed(tickStateChanged, w.stateGaps)
	packed(tickStates, w.states)
	whole(tickDropped, head.Dropped)
	w.body = b
	return protowire.AppendBytes(protowire.AppendTag(dst, batchTicks, protowire.BytesType), b)
}

// rawTick is a tick whose numbers are still packed.
type rawTick struct {
	head                            Head
	gaps, deltas, stateGaps, states []byte
}

var (
	errCut      = errors.New("read ticks: they are cut off, or no ticks")
	errUneven   = errors.New("it has not as many values as columns")
	errNoColumn = errors.New("it names a column that there is not")
)

// cutTick takes the first of ticks apart.
func cutTick(ticks []byte) (t rawTick, rest []byte, err error) {
	n, kind, size := protowire.ConsumeTag(ticks)
	if size < 0 || n != batchTicks || kind != protowire.BytesType {
		return rawTick{}, nil, errCut
	}
	body, more := protowire.ConsumeBytes(ticks[size:])
	if more < 0 {
		return rawTick{}, nil, errCut
	}
	rest = ticks[size+more:]
	for len(body) > 0 {
		n, kind, size := protowire.ConsumeTag(body)
		if size < 0 {
			return rawTick{}, nil, errCut
		}
		body = body[size:]
		switch kind {
		case protowire.VarintType:
			v, size := protowire.ConsumeVarint(body)
			if size < 0 {
				return rawTick{}, nil, errCut
			}
			if body = body[size:]; !t.whole(n, v) {
				return rawTick{}, nil, errCut
			}
		case protowire.BytesType:
			v, size := protowire.ConsumeBytes(body)
			if size < 0 {
				return rawTick{}, nil, errCut
			}
			if body = body[size:]; !t.packed(n, v) {
				return rawTick{}, nil, errCut
			}
		case protowire.Fixed32Type, protowire.Fixed64Type:
			size := protowire.ConsumeFieldValue(n, kind, body)
			if size < 0 || n <= tickDropped {
				return rawTick{}, nil, errCut
			}
			body = body[size:] // of an agent that knows more
		case protowire.StartGroupType, protowire.EndGroupType:
			return rawTick{}, nil, errCut
		}
	}
	return t, rest, nil
}

// whole and packed take a field. They are false for one that protobuf would read, but nobody writes.
func (t *rawTick) whole(n protowire.Number, v uint64) bool {
	switch n {
	case tickSeq:
		t.head.Seq = v
	case tickTime:
		t.head.Time = time.UnixMilli(int64(v))
	case tickDropped:
		t.head.Dropped = v
	case tickChanged, tickDeltas, tickStateChanged, tickStates:
		return false
	}
	return true
}

func (t *rawTick) packed(n protowire.Number, v []byte) bool {
	var into *[]byte
	switch n {
	case tickChanged:
		into = &t.gaps
	case tickDeltas:
		into = &t.deltas
	case tickStateChanged:
		into = &t.stateGaps
	case tickStates:
		into = &t.states
	default:
		return true
	}
	first := *into == nil
	*into = v
	return first
}

// take takes the first of packed numbers; false when there is none.
func take(packed *[]byte) (uint64, bool) {
	v, size := protowire.ConsumeVarint(*packed)
	if size < 0 {
		return 0, false
	}
	*packed = (*packed)[size:]
	return v, true
}
