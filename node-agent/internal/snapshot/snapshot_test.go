package snapshot

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

var start = time.Unix(1_800_000_000, 0)

func frame(i, readings int) *Frame {
	return &Frame{Time: start.Add(time.Duration(i) * time.Second), Readings: make([]gpu.Reading, readings)}
}

func seqs(frames []*Frame) []uint64 {
	var all []uint64
	for _, f := range frames {
		all = append(all, f.Seq)
	}
	return all
}

func TestRingKeepsTheNewest(t *testing.T) {
	s := NewStore(4, 1000)
	assert.Nil(t, s.Newest())
	frames, changed := s.After(0, nil)
	assert.Empty(t, frames)
	for i := range 10 {
		s.Append(frame(i, 3))
	}
	<-changed
	assert.EqualValues(t, 10, s.Newest().Seq)
	frames, _ = s.After(0, nil)
	assert.Equal(t, []uint64{7, 8, 9, 10}, seqs(frames))
	frames, _ = s.After(9, nil)
	assert.Equal(t, []uint64{10}, seqs(frames))
	frames, changed = s.After(10, nil)
	assert.Empty(t, frames)
	select {
	case <-changed:
		t.Fatal("nothing changed")
	default:
	}
	kept, readings := s.Kept()
	assert.Equal(t, 4, kept)
	assert.Equal(t, 12, readings)
}

func TestRingIsBoundedByReadings(t *testing.T) {
	s := NewStore(100, 10)
	for i := range 20 {
		s.Append(frame(i, 4))
	}
	kept, readings := s.Kept()
	assert.Equal(t, 2, kept)
	assert.Equal(t, 8, readings)
	s.Append(frame(20, 50))
	frames, _ := s.After(0, nil)
	assert.Equal(t, []uint64{21}, seqs(frames), "the newest is kept whatever its size")
	for i := range 300 {
		s.Append(frame(21+i, i%7))
	}
	_, readings = s.Kept()
	assert.LessOrEqual(t, readings, 10)
}

func TestSince(t *testing.T) {
	s := NewStore(100, 1000)
	assert.Zero(t, s.Since(5000))
	for i := range 20 {
		s.Append(frame(i, 1))
	}
	assert.EqualValues(t, 19, s.Since(0), "the newest itself")
	assert.EqualValues(t, 14, s.Since(5000))
	assert.EqualValues(t, 0, s.Since(1<<63))
}

func TestReadersNeverSeeAnythingChange(t *testing.T) {
	s := NewStore(16, 10_000)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var last uint64
			for last < 500 {
				frames, changed := s.After(last, nil)
				for _, f := range frames {
					assert.Greater(t, f.Seq, last)
					last = f.Seq
				}
				if len(frames) == 0 {
					<-changed
				}
			}
		})
	}
	for i := range 500 {
		s.Append(frame(i, 3))
	}
	wg.Wait()
}

func TestSchema(t *testing.T) {
	c, err := catalog.Load()
	require.NoError(t, err)
	rows, err := LoadRows(c)
	require.NoError(t, err)
	node := Node{Cluster: "north", Name: "n1", Version: "1.2.3", Source: "simulate", Epoch: "e", Period: time.Second}
	board := gpu.Device{Identity: gpu.Identity{UUID: "GPU-1"}, Model: "NVIDIA H200", MIGEnabled: true}
	slice := board
	slice.GPUInstance, slice.MIGProfile = "0", "1g.18gb"
	s := NewSchema(node, "590", []gpu.Device{board, slice}, device.AllGroups, rows)
	perInstance := 0
	for m := range device.NumMetrics {
		if m.PerInstance() {
			perInstance++
		}
	}
	assert.Equal(t, int(device.NumMetrics)+perInstance, len(s.Columns))

	var every [device.NumGroups]time.Duration
	every[device.GroupThrottling], every[device.GroupPower] = 5*time.Second, time.Second
	s.SetIntervals(every)
	for i, c := range s.Columns {
		want := uint32(0)
		if c.Metric.Group() == device.GroupThrottling {
			want = 5000
		}
		assert.Equal(t, want, s.Wire.Columns[i].GetIntervalMs(), "%s", c.Metric)
	}

	_, err = wire.NewDecoder(s.Wire)
	require.NoError(t, err)
	devices := wire.ToDevices(s.Wire)
	assert.Equal(t, s.Devices, devices)
	assert.Equal(t, "n1", devices[0].Node)

	values := make([]device.Values, 2)
	values[0].Set(device.Power, 42)
	values[1].Set(device.MemoryUsed, 7)
	readings := s.Flatten(values)
	for i, c := range s.Columns {
		assert.Equal(t, c.Metric.String(), s.Wire.Columns[i].Metric)
		switch {
		case c.Device == 0 && c.Metric == device.Power:
			assert.Equal(t, gpu.Read(42), readings[i])
		case c.Device == 1 && c.Metric == device.MemoryUsed:
			assert.Equal(t, gpu.Read(7), readings[i])
		default:
			assert.Equal(t, gpu.Absent(gpu.NoData), readings[i])
		}
	}
}

// A counter whose past was written through the stream's codec goes on in /metrics without a step back.
func TestReadingsAreWhatTheStreamCarries(t *testing.T) {
	c, err := catalog.Load()
	require.NoError(t, err)
	rows, err := LoadRows(c)
	require.NoError(t, err)
	s := NewSchema(Node{Name: "n1", Period: time.Second}, "590", []gpu.Device{{Identity: gpu.Identity{UUID: "GPU-1"}}}, device.AllGroups, rows)
	values := make([]device.Values, 1)
	for m := range device.NumMetrics {
		values[0].Set(m, 75260.37326552244/float64(m+1))
	}
	readings := s.Flatten(values)
	tick, err := wire.NewEncoder(s.Wire).Encode(wire.Sample{Seq: 1, Time: time.UnixMilli(1), Readings: readings})
	require.NoError(t, err)
	decoder, err := wire.NewDecoder(s.Wire)
	require.NoError(t, err)
	sample, err := decoder.Decode(tick)
	require.NoError(t, err)
	assert.Equal(t, readings, sample.Readings)
}
