package snapshot

import (
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
