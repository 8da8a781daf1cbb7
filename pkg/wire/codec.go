// Package wire is the contract between the node agent and the plugin: the protobuf messages of the live stream, the
// columnar delta codec for its ticks, and the framing of both over a WebSocket.
package wire

import (
	"fmt"
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// SchemaVersion is the version of the stream that this build speaks.
const SchemaVersion = 1

// Limits on what a stream may announce. An agent stays far below them; they bound what a reader allocates for one that lies.
const (
	MaxDevices = 4096
	MaxColumns = 1 << 18
)

// Sample is one sampling of a node: a reading for every column of its schema.
type Sample struct {
	Seq      uint64
	Time     time.Time
	Readings []gpu.Reading
	Dropped  uint64 // samples left out just before this one because the reader was too slow
}

// Encoder turns samples into ticks that hold what changed since the sample before. It belongs to one reader of one
// schema and is not safe for concurrent use.
type Encoder struct {
	columns []*Column
	last    []int64
	states  []gpu.State
}

// NewEncoder starts from a reader that knows nothing but the schema.
func NewEncoder(schema *Schema) *Encoder {
	n := len(schema.GetColumns())
	return &Encoder{columns: schema.GetColumns(), last: make([]int64, n), states: make([]gpu.State, n)}
}

// Encode returns the tick for a sample. Values are rounded to the column's resolution. It returns an error when the
// sample does not fit the schema.
func (e *Encoder) Encode(s Sample) (*Tick, error) {
	if len(s.Readings) != len(e.columns) {
		return nil, fmt.Errorf("encode tick %d: %d readings for %d columns", s.Seq, len(s.Readings), len(e.columns))
	}
	tick := &Tick{Seq: s.Seq, TimeUnixMs: s.Time.UnixMilli(), Dropped: s.Dropped}
	lastValue, lastState := 0, 0
	for i, r := range s.Readings {
		state := r.State
		if state == gpu.OK {
			v, ok := toInteger(r.Value, e.columns[i])
			if !ok {
				state = gpu.NoData
			} else if v != e.last[i] {
				tick.Changed = append(tick.Changed, uint32(i-lastValue))
				tick.Deltas = append(tick.Deltas, v-e.last[i])
				e.last[i], lastValue = v, i
			}
		}
		if state != e.states[i] {
			tick.StateChanged = append(tick.StateChanged, uint32(i-lastState))
			tick.States = append(tick.States, ReadingState(state))
			e.states[i], lastState = state, i
		}
	}
	return tick, nil
}

func toInteger(v float64, c *Column) (int64, bool) {
	scaled := math.Round(v * float64(c.GetDivisor()) / float64(c.GetMultiplier()))
	// Half the range, so that the difference of two values fits as well.
	if math.IsNaN(scaled) || math.Abs(scaled) > math.MaxInt64/2 {
		return 0, false
	}
	return int64(scaled), true
}

// Decoder turns the ticks of one schema back into samples. It is not safe for concurrent use.
type Decoder struct {
	columns []*Column
	last    []int64
	states  []gpu.State
	seq     uint64
}

// NewDecoder checks the schema. The error says what is wrong with it.
func NewDecoder(schema *Schema) (*Decoder, error) {
	if v := schema.GetSchemaVersion(); v != SchemaVersion {
		return nil, &VersionError{Got: v, Agent: schema.GetAgentVersion()}
	}
	devices, columns := schema.GetDevices(), schema.GetColumns()
	if len(devices) > MaxDevices || len(columns) > MaxColumns {
		return nil, fmt.Errorf("read schema: %d devices and %d columns, at most %d and %d are accepted",
			len(devices), len(columns), MaxDevices, MaxColumns)
	}
	for i, c := range columns {
		switch {
		case int(c.GetDevice()) >= len(devices):
			return nil, fmt.Errorf("read schema: column %d names device %d of %d", i, c.GetDevice(), len(devices))
		case c.GetMetric() == "":
			return nil, fmt.Errorf("read schema: column %d has no metric", i)
		case c.GetMultiplier() == 0 || c.GetDivisor() == 0:
			return nil, fmt.Errorf("read schema: column %d (%s) has scale %d/%d", i, c.GetMetric(), c.GetMultiplier(), c.GetDivisor())
		}
	}
	return &Decoder{columns: columns, last: make([]int64, len(columns)), states: make([]gpu.State, len(columns))}, nil
}

// Decode returns the sample for a tick. The sample's readings are the caller's to keep. After an error the decoder
// must not be used again: what later ticks are relative to is lost.
func (d *Decoder) Decode(tick *Tick) (Sample, error) {
	if tick.GetSeq() <= d.seq {
		return Sample{}, fmt.Errorf("decode tick %d: came after tick %d", tick.GetSeq(), d.seq)
	}
	if len(tick.GetChanged()) != len(tick.GetDeltas()) || len(tick.GetStateChanged()) != len(tick.GetStates()) {
		return Sample{}, fmt.Errorf("decode tick %d: %d values for %d columns, %d states for %d", tick.GetSeq(),
			len(tick.GetDeltas()), len(tick.GetChanged()), len(tick.GetStates()), len(tick.GetStateChanged()))
	}
	at := 0
	for i, gap := range tick.GetChanged() {
		if at += int(gap); at >= len(d.columns) {
			return Sample{}, fmt.Errorf("decode tick %d: column %d of %d", tick.GetSeq(), at, len(d.columns))
		}
		d.last[at] += tick.GetDeltas()[i]
	}
	at = 0
	for i, gap := range tick.GetStateChanged() {
		if at += int(gap); at >= len(d.columns) {
			return Sample{}, fmt.Errorf("decode tick %d: column %d of %d", tick.GetSeq(), at, len(d.columns))
		}
		d.states[at] = toState(tick.GetStates()[i])
	}
	d.seq = tick.GetSeq()

	readings := make([]gpu.Reading, len(d.columns))
	for i, state := range d.states {
		readings[i].State = state
		if state == gpu.OK {
			c := d.columns[i]
			readings[i].Value = float64(d.last[i]) * float64(c.GetMultiplier()) / float64(c.GetDivisor())
		}
	}
	return Sample{
		Seq: tick.GetSeq(), Time: time.UnixMilli(tick.GetTimeUnixMs()), Readings: readings, Dropped: tick.GetDropped(),
	}, nil
}

// toState takes a state that a newer agent may have added for "no data".
func toState(s ReadingState) gpu.State {
	if s < ReadingState_NO_DATA || s > ReadingState_LOST {
		return gpu.NoData
	}
	return gpu.State(s)
}

// VersionError is a stream whose schema version this build cannot read.
type VersionError struct {
	Got   uint32
	Agent string // the agent's version
}

func (e *VersionError) Error() string {
	who := "the plugin"
	if e.Got < SchemaVersion {
		who = "the agent"
	}
	return fmt.Sprintf("agent %s speaks stream version %d, this plugin speaks %d: upgrade %s", e.Agent, e.Got, SchemaVersion, who)
}
