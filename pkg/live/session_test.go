package live

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/pkg/wire"
)

func encoded(t testing.TB, m *wire.Message) []byte {
	t.Helper()
	raw, err := proto.Marshal(m)
	require.NoError(t, err)
	return raw
}

func schemaMessage(clock int64) *wire.Message {
	return &wire.Message{Body: &wire.Message_Schema{Schema: &wire.Schema{
		SchemaVersion: 1, Epoch: "e", Node: "n1", ClockUnixMs: clock, PeriodMs: 1000,
		Devices: []*wire.Device{{Uuid: "GPU-a"}},
		Columns: []*wire.Column{{Metric: "gpu_power_watts", Multiplier: 1, Divisor: 1000}},
	}}}
}

func tickMessage(seq uint64, at int64) *wire.Message {
	return &wire.Message{Body: &wire.Message_Batch{Batch: &wire.Batch{Ticks: []*wire.Tick{{
		Seq: seq, TimeUnixMs: at, Changed: []uint32{0}, Deltas: []int64{5000}, StateChanged: []uint32{0}, States: []wire.ReadingState{1},
	}}}}}
}

func newSession(t testing.TB) *session {
	t.Helper()
	hub := NewHub(Config{})
	t.Cleanup(hub.Close)
	return &session{node: newNode(hub, Target{Node: "n1", Address: "n1:9847"}), sent: time.Now()}
}

func TestTimesThatCannotBe(t *testing.T) {
	now := time.Now()
	for _, ms := range []int64{-1, math.MinInt64, math.MaxInt64, 1 << 50} {
		s := newSession(t)
		require.ErrorContains(t, s.message(encoded(t, schemaMessage(ms)), now), "its clock shows a time that cannot be")
		require.NoError(t, s.message(encoded(t, schemaMessage(now.UnixMilli())), now))
		require.ErrorContains(t, s.message(encoded(t, tickMessage(1, ms)), now), "its clock shows a time that cannot be")
		beat := &wire.Message{Body: &wire.Message_Heartbeat{Heartbeat: &wire.Heartbeat{ClockUnixMs: ms}}}
		require.ErrorContains(t, s.message(encoded(t, beat), now), "its clock shows a time that cannot be")
	}
}

// A clock that lost its battery starts in 1970; its samples are of now all the same.
func TestAClockOf1970(t *testing.T) {
	now := time.Now()
	s := newSession(t)
	require.NoError(t, s.message(encoded(t, schemaMessage(1000)), now))
	require.NoError(t, s.message(encoded(t, tickMessage(1, 1000)), now))
	series := s.node.ring.series("gpu_power_watts", 0)
	require.Len(t, series, 1)
	require.InDelta(t, now.UnixMilli(), series[0].Times[0], 1000)
	require.Equal(t, []float64{5}, series[0].Values)
}

// What comes over the wire, in whatever order: no panic, times that rise, and a ring within its budget.
func FuzzSession(f *testing.F) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	ms := now.UnixMilli()
	f.Add(encoded(f, schemaMessage(ms)), encoded(f, tickMessage(1, ms)), encoded(f, tickMessage(2, ms+1000)))
	f.Add(encoded(f, schemaMessage(ms)), encoded(f, tickMessage(2, ms)), encoded(f, tickMessage(1, ms-1000)))
	f.Add(encoded(f, tickMessage(1, ms)), []byte{0xff}, []byte{})
	f.Fuzz(func(t *testing.T, first, second, third []byte) {
		s := newSession(t)
		for i, raw := range [][]byte{first, second, third} {
			if s.message(raw, now.Add(time.Duration(i)*time.Second)) != nil {
				return
			}
		}
		for _, series := range s.node.ring.series("gpu_power_watts", math.MinInt64) {
			for i := 1; i < len(series.Times); i++ {
				require.Greater(t, series.Times[i], series.Times[i-1])
			}
		}
	})
}

// An agent may send what nobody here asked for, or what this build does not know: samples go on.
func TestOtherMessagesArePassedOver(t *testing.T) {
	s := newSession(t)
	now := time.Now()
	others := []*wire.Message{
		{Body: &wire.Message_Events{Events: &wire.Events{Events: []*wire.Event{{Seq: 1, Kind: "xid"}}}}},
		{Body: &wire.Message_Processes{Processes: &wire.Processes{}}}, {Body: &wire.Message_Owners{Owners: &wire.Owners{}}}, {},
	}
	pass := func() {
		t.Helper()
		for _, m := range others {
			require.NoError(t, s.message(encoded(t, m), now))
		}
		unknown := protowire.AppendBytes(protowire.AppendTag(nil, 900, protowire.BytesType), []byte("new"))
		require.NoError(t, s.message(unknown, now))
	}
	pass()
	require.NoError(t, s.message(encoded(t, schemaMessage(now.UnixMilli())), now))
	pass()
	require.NoError(t, s.message(encoded(t, tickMessage(1, now.UnixMilli())), now))
	require.EqualValues(t, 1, s.seq)
}

// An agent that says more, in a batch and in its ticks, is read as far as this build knows.
func TestBatchesThatSayMore(t *testing.T) {
	s := newSession(t)
	now := time.Now()
	require.NoError(t, s.message(encoded(t, schemaMessage(now.UnixMilli())), now))
	unknown := protowire.AppendBytes(protowire.AppendTag(nil, 900, protowire.BytesType), []byte("new"))
	require.NoError(t, s.message(append(encoded(t, tickMessage(1, now.UnixMilli())), unknown...), now))
	more := tickMessage(2, now.UnixMilli()+1000)
	more.GetBatch().GetTicks()[0].ProtoReflect().SetUnknown(protowire.AppendFixed64(protowire.AppendTag(nil, 90, protowire.Fixed64Type), 7))
	require.NoError(t, s.message(encoded(t, more), now.Add(time.Second)))
	require.EqualValues(t, 2, s.seq)
	series := s.node.ring.series("gpu_power_watts", 0)
	require.Equal(t, []float64{5, 10}, series[0].Values)
	require.ErrorContains(t, s.message([]byte{0x12, 0x02, 0x0a, 0x05}, now), "not a warpwatch stream's")
}
