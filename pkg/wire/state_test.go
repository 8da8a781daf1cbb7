package wire

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// stateSchema has columns of several scales.
func stateSchema(columns int) *Schema {
	s := &Schema{SchemaVersion: SchemaVersion, Devices: []*Device{{Uuid: "GPU-0"}}}
	scales := [][2]uint64{{1, 1}, {1, 1000}, {1 << 20, 1}, {1, 100}}
	for i := range columns {
		scale := scales[i%len(scales)]
		s.Columns = append(s.Columns, &Column{Metric: "m", Multiplier: scale[0], Divisor: scale[1]})
	}
	return s
}

// wander changes some of the readings.
func wander(r *rand.Rand, readings []gpu.Reading) {
	for i := range readings {
		switch r.IntN(8) {
		case 0:
			readings[i] = gpu.Absent(gpu.State(r.IntN(5)))
			if readings[i].State == gpu.OK {
				readings[i] = gpu.Read(0)
			}
		case 1, 2:
			readings[i] = gpu.Read(math.Round(r.NormFloat64() * 1e6))
		case 3:
			readings[i] = gpu.Read(math.NaN())
		}
	}
}

// Ticks that are written as bytes are those that the messages say, one by one and as a batch.
func TestStateWritesWhatTheEncoderDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	schema := stateSchema(130)
	encoder, state, readings := NewEncoder(schema), NewState(130), make([]gpu.Reading, 130)
	decoder, err := NewDecoder(schema)
	require.NoError(t, err)
	var ticks []byte
	var want Batch
	var samples []Sample
	for seq := uint64(1); seq <= 200; seq++ {
		wander(r, readings)
		s := Sample{Seq: seq, Time: time.UnixMilli(int64(seq) * 100), Readings: readings, Dropped: seq % 3}
		tick, err := encoder.Encode(s)
		require.NoError(t, err)
		want.Ticks = append(want.Ticks, tick)
		ticks, err = state.AppendSample(ticks, schema.GetColumns(), s)
		require.NoError(t, err)
		decoded, err := decoder.Decode(tick)
		require.NoError(t, err)
		samples = append(samples, decoded)
	}
	wanted, err := proto.Marshal(&Message{Body: &Message_Batch{Batch: &want}})
	require.NoError(t, err)
	assert.Equal(t, wanted, AppendBatch(nil, ticks))

	read, into := NewState(130), make([]gpu.Reading, 130)
	rest := ticks
	for _, s := range samples {
		head, _, err := NextTick(rest)
		require.NoError(t, err)
		assert.Equal(t, Head{Seq: s.Seq, Time: s.Time, Dropped: s.Dropped}, head)
		_, rest, err = read.Apply(rest)
		require.NoError(t, err)
		read.Read(schema.GetColumns(), into)
		assert.Equal(t, s.Readings, into)
	}
	assert.Empty(t, rest)
}

// Whoever holds any state is brought to any other, and goes on from there with the ticks of everybody else.
func TestStateChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	schema := stateSchema(50)
	writer, readings := NewState(50), make([]gpu.Reading, 50)
	states := []*State{NewState(50)}
	var ticks []byte
	var ends []int
	for seq := uint64(1); seq <= 40; seq++ {
		wander(r, readings)
		var err error
		ticks, err = writer.AppendSample(ticks, schema.GetColumns(), Sample{Seq: seq, Readings: readings})
		require.NoError(t, err)
		ends = append(ends, len(ticks))
		s := NewState(50)
		s.Set(writer)
		states = append(states, s)
	}
	for range 200 {
		from, to := r.IntN(41), 1+r.IntN(40)
		held := NewState(50)
		held.Set(states[from])
		jump := held.AppendChange(nil, states[to], Head{Seq: uint64(to), Dropped: 7})
		assert.Equal(t, states[to].values, held.values)
		assert.Equal(t, states[to].states, held.states)
		held.Set(states[from])
		rest := append(jump, ticks[ends[to-1]:]...)
		for len(rest) > 0 {
			var err error
			_, rest, err = held.Apply(rest)
			require.NoError(t, err)
		}
		assert.Equal(t, writer.values, held.values)
		assert.Equal(t, writer.states, held.states)
	}
}

func TestStateRefusesWhatDoesNotFit(t *testing.T) {
	schema := stateSchema(3)
	s := NewState(3)
	_, err := s.AppendSample(nil, schema.GetColumns(), Sample{Seq: 4, Readings: make([]gpu.Reading, 2)})
	require.ErrorContains(t, err, "encode tick 4: 2 readings and 3 columns for a state of 3")
	tick := func(m *Tick) []byte {
		b, err := proto.Marshal(&Batch{Ticks: []*Tick{m}})
		require.NoError(t, err)
		return b
	}
	for name, c := range map[string]struct {
		ticks []byte
		want  string
	}{
		"nothing":       {nil, "cut off"},
		"cut":           {tick(&Tick{Seq: 9, Changed: []uint32{1}, Deltas: []int64{1}})[:6], "cut off"},
		"column":        {tick(&Tick{Seq: 9, Changed: []uint32{2, 1}, Deltas: []int64{1, 1}}), "read tick 9: it names a column"},
		"far column":    {tick(&Tick{Changed: []uint32{math.MaxUint32}, Deltas: []int64{1}}), "it names a column"},
		"states column": {tick(&Tick{StateChanged: []uint32{3}, States: []ReadingState{1}}), "it names a column"},
		"few values":    {tick(&Tick{Changed: []uint32{1, 1}, Deltas: []int64{1}}), "not as many values"},
		"many values":   {tick(&Tick{Changed: []uint32{1}, Deltas: []int64{1, 1}}), "not as many values"},
		"few states":    {tick(&Tick{StateChanged: []uint32{1, 1}, States: []ReadingState{1}}), "not as many values"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := NewState(3).Apply(c.ticks)
			require.ErrorContains(t, err, c.want)
		})
	}
	_, _, err = s.Apply(tick(&Tick{Seq: 1, StateChanged: []uint32{0}, States: []ReadingState{99}}))
	require.NoError(t, err)
	assert.Equal(t, gpu.Absent(gpu.NoData), s.Reading(0, schema.GetColumns()[0]), "of a newer agent")
}

func FuzzStateApply(f *testing.F) {
	schema := stateSchema(20)
	writer, readings := NewState(20), make([]gpu.Reading, 20)
	r := rand.New(rand.NewPCG(5, 6))
	var ticks []byte
	for seq := uint64(1); seq < 5; seq++ {
		wander(r, readings)
		var err error
		ticks, err = writer.AppendSample(ticks, schema.GetColumns(), Sample{Seq: seq, Time: time.UnixMilli(-5), Readings: readings})
		require.NoError(f, err)
		f.Add(ticks)
	}
	f.Add([]byte{0x0a, 0x02, 0x1a, 0x7f})
	f.Fuzz(func(t *testing.T, ticks []byte) {
		s := NewState(20)
		decoder, err := NewDecoder(schema)
		require.NoError(t, err)
		var batch Batch
		valid := proto.Unmarshal(ticks, &batch) == nil
		for i := 0; len(ticks) > 0; i++ {
			head, rest, err := s.Apply(ticks)
			if err != nil || !valid {
				return
			}
			ticks = rest
			require.Less(t, i, len(batch.GetTicks()))
			sample, err := decoder.Decode(batch.GetTicks()[i])
			if err != nil {
				require.ErrorContains(t, err, "came after", "the order is all that may be wrong")
				return
			}
			require.Equal(t, Head{Seq: sample.Seq, Time: sample.Time, Dropped: sample.Dropped}, head)
			into := make([]gpu.Reading, 20)
			s.Read(schema.GetColumns(), into)
			require.Equal(t, sample.Readings, into)
		}
	})
}

func BenchmarkStateAppend(b *testing.B) {
	const columns = 8 * 70
	schema := stateSchema(columns)
	r := rand.New(rand.NewPCG(7, 8))
	a, c := make([]gpu.Reading, columns), make([]gpu.Reading, columns)
	for i := range a {
		a[i], c[i] = gpu.Read(100), gpu.Read(100)
		if r.IntN(3) == 0 {
			c[i] = gpu.Read(101)
		}
	}
	s := NewState(columns)
	var ticks []byte
	b.ReportAllocs()
	for i := range b.N {
		readings := a
		if i%2 == 1 {
			readings = c
		}
		ticks, _ = s.AppendSample(ticks[:0], schema.GetColumns(), Sample{Seq: uint64(i), Readings: readings})
	}
}
