package wire

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// schema has a column of each kind of scale.
func schema() *Schema {
	return &Schema{
		SchemaVersion: SchemaVersion, AgentVersion: "1.2.3", Epoch: "e", Node: "n1",
		Devices: []*Device{{Uuid: "GPU-1"}, {Uuid: "GPU-2"}},
		Columns: []*Column{
			{Device: 0, Metric: "gpu_power_watts", Multiplier: 1, Divisor: 1000},
			{Device: 0, Metric: "gpu_sm_clock_hertz", Multiplier: 1_000_000, Divisor: 1},
			{Device: 1, Metric: "gpu_memory_used_bytes", Multiplier: 1, Divisor: 1},
			{Device: 1, Metric: "gpu_temperature_margin_celsius", Multiplier: 1, Divisor: 1},
		},
	}
}

func codec(t testing.TB, s *Schema) (*Encoder, *Decoder) {
	t.Helper()
	d, err := NewDecoder(s)
	require.NoError(t, err)
	return NewEncoder(s), d
}

// over sends a tick over the wire.
func over(t testing.TB, tick *Tick) *Tick {
	t.Helper()
	body, err := proto.Marshal(&Message{Body: &Message_Batch{Batch: &Batch{Ticks: []*Tick{tick}}}})
	require.NoError(t, err)
	var m Message
	require.NoError(t, proto.Unmarshal(body, &m))
	return m.GetBatch().GetTicks()[0]
}

func TestRoundTrip(t *testing.T) {
	states := []gpu.State{gpu.NoData, gpu.OK, gpu.OK, gpu.OK, gpu.NotSupported, gpu.NoPermission, gpu.Lost}
	random := rand.New(rand.NewPCG(1, 2))
	s := schema()
	encoder, decoder := codec(t, s)
	at := time.UnixMilli(1_800_000_000_123)
	for seq := uint64(1); seq <= 2000; seq++ {
		want := Sample{Seq: seq, Time: at, Readings: make([]gpu.Reading, len(s.Columns)), Dropped: uint64(random.IntN(3))}
		for i, c := range s.Columns {
			state := states[random.IntN(len(states))]
			want.Readings[i] = gpu.Absent(state)
			if state == gpu.OK {
				want.Readings[i] = gpu.Read(float64(random.Int64N(1<<50)-1<<49) * float64(c.Multiplier) / float64(c.Divisor))
			}
		}
		tick, err := encoder.Encode(want)
		require.NoError(t, err)
		got, err := decoder.Decode(over(t, tick))
		require.NoError(t, err)
		require.Equal(t, want.Seq, got.Seq)
		require.Equal(t, want.Dropped, got.Dropped)
		require.True(t, want.Time.Equal(got.Time))
		for i, r := range want.Readings {
			require.Equal(t, r.State, got.Readings[i].State)
			require.InDelta(t, r.Value, got.Readings[i].Value, float64(s.Columns[i].Multiplier)/float64(s.Columns[i].Divisor)/2)
		}
		at = at.Add(time.Second)
	}
}

func TestOnlyWhatChangedIsSent(t *testing.T) {
	s := schema()
	encoder, _ := codec(t, s)
	readings := []gpu.Reading{gpu.Read(100.0004), gpu.Read(1.98e9), gpu.Read(5), gpu.Read(-3)}
	tick, err := encoder.Encode(Sample{Seq: 1, Readings: readings})
	require.NoError(t, err)
	assert.Len(t, tick.Changed, 4)
	assert.Len(t, tick.StateChanged, 4)

	readings[0].Value = 100.0001 // below the resolution
	readings[3] = gpu.Absent(gpu.Lost)
	tick, err = encoder.Encode(Sample{Seq: 2, Readings: readings})
	require.NoError(t, err)
	assert.Empty(t, tick.Changed)
	assert.Equal(t, []uint32{3}, tick.StateChanged)
	assert.Equal(t, []ReadingState{ReadingState_LOST}, tick.States)
}

func TestValuesThatDoNotFit(t *testing.T) {
	s := schema()
	encoder, decoder := codec(t, s)
	tick, err := encoder.Encode(Sample{Seq: 1, Readings: []gpu.Reading{
		gpu.Read(math.NaN()), gpu.Read(math.Inf(1)), gpu.Read(1e30), gpu.Read(7),
	}})
	require.NoError(t, err)
	got, err := decoder.Decode(tick)
	require.NoError(t, err)
	for i := range 3 {
		assert.Equal(t, gpu.Absent(gpu.NoData), got.Readings[i])
	}
	assert.Equal(t, gpu.Read(7), got.Readings[3])

	_, err = encoder.Encode(Sample{Seq: 2, Readings: make([]gpu.Reading, 3)})
	assert.EqualError(t, err, "encode tick 2: 3 readings for 4 columns")
}

func TestSchemasThatAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Schema){
		"agent 1.2.3 speaks stream version 2, this plugin speaks 1: upgrade the plugin": func(s *Schema) { s.SchemaVersion = 2 },
		"agent 1.2.3 speaks stream version 0, this plugin speaks 1: upgrade the agent":  func(s *Schema) { s.SchemaVersion = 0 },
		"read schema: column 1 names device 9 of 2":                                     func(s *Schema) { s.Columns[1].Device = 9 },
		"read schema: column 2 has no metric":                                           func(s *Schema) { s.Columns[2].Metric = "" },
		"read schema: column 0 (gpu_power_watts) has scale 1/0":                         func(s *Schema) { s.Columns[0].Divisor = 0 },
		"read schema: column 0 (gpu_power_watts) has scale 0/1000":                      func(s *Schema) { s.Columns[0].Multiplier = 0 },
		"read schema: 4097 devices and 4 columns, at most 4096 and 262144 are accepted": func(s *Schema) {
			s.Devices = append(s.Devices, make([]*Device, MaxDevices-1)...)
		},
	} {
		s := schema()
		change(s)
		_, err := NewDecoder(s)
		assert.EqualError(t, err, want)
	}
	var version *VersionError
	_, err := NewDecoder(&Schema{SchemaVersion: 9})
	require.ErrorAs(t, err, &version)
	assert.EqualValues(t, 9, version.Got)
}

func TestTicksThatAreRefused(t *testing.T) {
	for want, tick := range map[string]*Tick{
		"decode tick 1: came after tick 1":                      {Seq: 1},
		"decode tick 2: column 4 of 4":                          {Seq: 2, Changed: []uint32{1, 3}, Deltas: []int64{1, 1}},
		"decode tick 3: column 4294967295 of 4":                 {Seq: 3, Changed: []uint32{math.MaxUint32}, Deltas: []int64{1}},
		"decode tick 4: column 5 of 4":                          {Seq: 4, StateChanged: []uint32{5}, States: []ReadingState{1}},
		"decode tick 5: 1 values for 2 columns, 0 states for 0": {Seq: 5, Changed: []uint32{0, 1}, Deltas: []int64{1}},
		"decode tick 6: 0 values for 0 columns, 1 states for 0": {Seq: 6, States: []ReadingState{1}},
	} {
		_, decoder := codec(t, schema())
		_, err := decoder.Decode(&Tick{Seq: 1})
		require.NoError(t, err)
		_, err = decoder.Decode(tick)
		assert.EqualError(t, err, want)
	}
}

// A newer agent may send fields and states that this build does not know. It reads what it does know.
func TestNewerAgents(t *testing.T) {
	encoder, decoder := codec(t, schema())
	tick, err := encoder.Encode(Sample{Seq: 1, Readings: []gpu.Reading{gpu.Read(1), gpu.Read(1e6), gpu.Read(3), gpu.Read(4)}})
	require.NoError(t, err)
	tick.States[0] = 77
	body, err := proto.Marshal(tick)
	require.NoError(t, err)
	body = protowire.AppendTag(body, 500, protowire.BytesType)
	body = protowire.AppendString(body, "from the future")
	var received Tick
	require.NoError(t, proto.Unmarshal(body, &received))
	got, err := decoder.Decode(&received)
	require.NoError(t, err)
	assert.Equal(t, gpu.Absent(gpu.NoData), got.Readings[0])
	assert.Equal(t, gpu.Read(1e6), got.Readings[1])
}

func TestDevices(t *testing.T) {
	zero := gpu.Device{
		Identity: gpu.Identity{Cluster: "north", Node: "n1", UUID: "GPU-1", GPUInstance: "0", ComputeInstance: "0"},
		Index:    3, Model: "NVIDIA H200", PCIBusID: "00000000:1A:00.0", MIGProfile: "1g.18gb", MIGUUID: "MIG-1", MIGEnabled: true,
		Driver: "590",
	}
	whole := zero
	whole.GPUInstance, whole.ComputeInstance, whole.MIGProfile, whole.MIGUUID = "", "", "", ""
	s := &Schema{Cluster: "north", Node: "n1", DriverVersion: "590", Devices: []*Device{FromDevice(zero), FromDevice(whole)}}
	assert.Equal(t, []gpu.Device{zero, whole}, ToDevices(s), "instance 0 is an instance")
}

// Whatever arrives, the decoder answers with an error or a sample, and never with more readings than columns.
func FuzzDecode(f *testing.F) {
	encoder := NewEncoder(schema())
	for seq := uint64(1); seq < 4; seq++ {
		tick, err := encoder.Encode(Sample{Seq: seq, Readings: []gpu.Reading{
			gpu.Read(float64(seq)), gpu.Absent(gpu.Lost), gpu.Read(3), gpu.Read(-4),
		}})
		require.NoError(f, err)
		body, err := proto.Marshal(&Message{Body: &Message_Batch{Batch: &Batch{Ticks: []*Tick{tick}}}})
		require.NoError(f, err)
		f.Add(body)
	}
	announcement, err := proto.Marshal(&Message{Body: &Message_Schema{Schema: schema()}})
	require.NoError(f, err)
	f.Add(announcement)
	f.Fuzz(func(t *testing.T, body []byte) {
		var m Message
		if proto.Unmarshal(body, &m) != nil {
			return
		}
		s := schema()
		if m.GetSchema() != nil {
			s = m.GetSchema()
		}
		decoder, err := NewDecoder(s)
		if err != nil {
			return
		}
		ToDevices(s)
		for _, tick := range m.GetBatch().GetTicks() {
			sample, err := decoder.Decode(tick)
			if err != nil {
				return
			}
			if len(sample.Readings) != len(s.GetColumns()) {
				t.Fatalf("%d readings for %d columns", len(sample.Readings), len(s.GetColumns()))
			}
		}
	})
}

func BenchmarkTick(b *testing.B) {
	s := &Schema{SchemaVersion: SchemaVersion, Devices: []*Device{{}}}
	const columns = 344
	for range columns {
		s.Columns = append(s.Columns, &Column{Metric: "m", Multiplier: 1, Divisor: 1000})
	}
	encoder, decoder := codec(b, s)
	readings := make([]gpu.Reading, columns)
	seq := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		seq++
		for i := range readings {
			readings[i] = gpu.Read(float64(i) + float64(seq%uint64(1+i%5))/10)
		}
		tick, err := encoder.Encode(Sample{Seq: seq, Readings: readings})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := decoder.Decode(tick); err != nil {
			b.Fatal(err)
		}
	}
}
