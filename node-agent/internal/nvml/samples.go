package nvml

import (
	"context"
	"math"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// buffersEvery is how often the driver's own measurements are fetched. They are taken some ten times a second at most, so
// fetching them at each of ten samples a second would cost more and say no more.
const buffersEvery = 900 * time.Millisecond

// samplings are the buffers that are read, with the largest number that can be a measurement.
var samplings = [...]struct {
	kind   nvml.SamplingType
	metric device.Metric
	unit   float64
	most   float64
	split  bool // offered by boards in MIG mode too
}{
	{nvml.TOTAL_POWER_SAMPLES, device.Power, milli, 1e7, true},
	{nvml.GPU_UTILIZATION_SAMPLES, device.Utilization, 0.01, 100, false},
	{nvml.MEMORY_UTILIZATION_SAMPLES, device.MemoryUtilization, 0.01, 100, false},
	{nvml.PROCESSOR_CLK_SAMPLES, device.SMClock, mega, 1e5, true},
	{nvml.MEMORY_CLK_SAMPLES, device.MemoryClock, mega, 1e5, true},
}

const bufferGroups device.Groups = 1<<device.GroupPower | 1<<device.GroupUtilization | 1<<device.GroupClocks

// buffers is what was last seen in the driver's buffers of one board.
type buffers struct {
	seen [len(samplings)]uint64 // time stamp of the newest measurement, in µs
	at   [len(samplings)]time.Time
}

// readBuffers adds what the driver measured between samples.
func (b *board) readBuffers(_ context.Context, groups device.Groups, into *device.Sample) {
	now := b.lib.now()
	for i, s := range samplings {
		at := &b.buffers.at[i]
		if !groups.Has(s.metric.Group()) || b.split() && !s.split || !at.IsZero() && now.Sub(*at) < buffersEvery {
			continue
		}
		*at = now
		var kind nvml.ValueType
		var samples []nvml.Sample
		state := b.try(callSamples, slotSamples+slot(i), &b.unsupported, func() (ret nvml.Return) {
			kind, samples, ret = b.handle.GetSamples(s.kind, b.buffers.seen[i])
			return ret
		})
		if state != gpu.OK {
			continue // also when there are none since the last time
		}
		first := b.buffers.seen[i] == 0
		extent := b.buffers.extent(i, kind, samples)
		// What was measured before the first sample belongs to no sample.
		if !first && extent.Count > 0 {
			into.Extents = append(into.Extents, extent)
		}
	}
}

// extent is what the measurements that were not seen before span.
func (f *buffers) extent(i int, kind nvml.ValueType, samples []nvml.Sample) device.Extent {
	s := samplings[i]
	e := device.Extent{Metric: s.metric, Min: math.Inf(1), Max: math.Inf(-1)}
	since, sum := f.seen[i], 0.0
	for _, m := range samples {
		value, ok := decode(nvml.FieldValue{ValueType: uint32(kind), Value: m.SampleValue}, 0)
		if !ok || value < 0 || value > s.most || m.TimeStamp <= since {
			continue
		}
		f.seen[i] = max(f.seen[i], m.TimeStamp)
		value = scaled(value, s.unit)
		e.Min, e.Max = min(e.Min, value), max(e.Max, value)
		e.Count++
		sum += value
	}
	if e.Count > 0 {
		e.Mean = min(max(sum/float64(e.Count), e.Min), e.Max)
	}
	return e
}
