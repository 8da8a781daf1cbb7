package nvml

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

func bufferSample(at uint64, value uint32) nvml.Sample {
	s := nvml.Sample{TimeStamp: at}
	binary.NativeEndian.PutUint32(s.SampleValue[:4], value)
	return s
}

func TestExtent(t *testing.T) {
	const power, utilization = 0, 1
	var b buffers
	b.seen[power] = 10
	e := b.extent(power, nvml.VALUE_TYPE_UNSIGNED_INT, []nvml.Sample{
		bufferSample(10, 900_000), // seen before
		bufferSample(30, 300_000), bufferSample(20, 100_000), bufferSample(40, math.MaxUint32), bufferSample(50, 4_000_000_000),
	})
	assert.Equal(t, device.Extent{Metric: device.Power, Min: 100, Mean: 200, Max: 300, Count: 2}, e)
	assert.EqualValues(t, 30, b.seen[power])
	e = b.extent(utilization, nvml.VALUE_TYPE_UNSIGNED_INT, []nvml.Sample{bufferSample(1, 101)})
	assert.Zero(t, e.Count)
	assert.Zero(t, b.extent(utilization, nvml.ValueType(77), []nvml.Sample{bufferSample(1, 1)}).Count)
}

func TestBuffersOfTheDriver(t *testing.T) {
	m := machine(t, "h200")
	_, boards := opened(t, m)
	first := takeAfter(t, m, boards[0], time.Second)
	assert.Empty(t, first.Extents, "what was before the first sample belongs to none")
	found := map[device.Metric]device.Extent{}
	for _, e := range takeAfter(t, m, boards[0], time.Second).Extents {
		assert.Zero(t, e.Device)
		assert.LessOrEqual(t, e.Min, e.Mean)
		assert.LessOrEqual(t, e.Mean, e.Max)
		found[e.Metric] = e
	}
	assert.Len(t, found, 5)
	assert.InDelta(t, 50, found[device.Power].Count, 1)
	assert.InDelta(t, 600, found[device.Power].Mean, 100)
	assert.Equal(t, 1.98e9, found[device.SMClock].Max)
	assert.Equal(t, 0.07, found[device.MemoryUtilization].Max)
	quick := takeAfter(t, m, boards[0], 100*time.Millisecond)
	assert.Empty(t, quick.Extents, "about once a second is enough")
	assert.Empty(t, takeAfter(t, m, boards[0], time.Second, device.GroupFan).Extents)
}
