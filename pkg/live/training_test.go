package live

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// training is readings of a node that trains: 40 fields of each GPU, of which some are noise, some count, some step now
// and then, and most stay as they are, each at the resolution that the driver has.
type training struct {
	schema *wire.Schema
	rng    *rand.Rand
	values []float64
	kinds  []trainingField
	seq    uint64
}

type trainingField struct {
	metric              string
	multiplier, divisor uint64
	start, noise        float64 // of a level; noise 0 stays
	rate                float64 // of a counter
	every               int     // how many seconds apart it is measured
}

func trainingFields(fields int) []trainingField {
	list := []trainingField{
		{"gpu_power_watts", 1, 1000, 680, 12, 0, 1},
		{"gpu_energy_joules_total", 1, 1000, 1e7, 12, 680, 1},
		{"gpu_temperature_celsius", 1, 1, 61, 0.5, 0, 1},
		{"gpu_memory_temperature_celsius", 1, 1, 72, 0.5, 0, 1},
		{"gpu_utilization_ratio", 1, 100, 0.98, 0.01, 0, 1},
		{"gpu_memory_utilization_ratio", 1, 100, 0.61, 0.02, 0, 1},
		{"gpu_sm_active_ratio", 1, 1000, 0.91, 0.02, 0, 1},
		{"gpu_sm_occupancy_ratio", 1, 1000, 0.34, 0.01, 0, 1},
		{"gpu_tensor_active_ratio", 1, 1000, 0.58, 0.03, 0, 1},
		{"gpu_dram_active_ratio", 1, 1000, 0.47, 0.03, 0, 1},
		{"gpu_sm_clock_hertz", 15_000_000, 1, 1.755e9, 2e7, 0, 1},
		{"gpu_pcie_transmit_bytes_per_second", 1 << 20, 1, 2.1e9, 4e8, 0, 1},
		{"gpu_pcie_receive_bytes_per_second", 1 << 20, 1, 1.2e9, 3e8, 0, 1},
		{"gpu_nvlink_transmit_bytes_per_second", 1 << 20, 1, 1.4e11, 2e10, 0, 1},
		{"gpu_nvlink_receive_bytes_per_second", 1 << 20, 1, 1.4e11, 2e10, 0, 1},
		{"gpu_memory_used_bytes", 1 << 20, 1, 1.2e11, 2e7, 0, 10},
		{"gpu_throttle_seconds_total", 1, 1000, 40, 0, 0.013, 10},
		{"gpu_pcie_replays_total", 1, 1, 3, 0, 0, 30},
	}
	for i := len(list); i < fields; i++ {
		list = append(list, trainingField{fmt.Sprintf("gpu_constant_%02d", i), 1, 1, float64(i * 1000), 0, 0, 1})
	}
	return list[:fields]
}

func newTraining(node string, gpus, fields int) *training {
	t := &training{
		rng:    rand.New(rand.NewPCG(1, 2)),
		schema: &wire.Schema{SchemaVersion: 1, AgentVersion: "1.0.0", Epoch: "e", Node: node, PeriodMs: 1000, Source: "simulate"},
	}
	for i := range gpus {
		t.schema.Devices = append(t.schema.Devices, &wire.Device{
			Uuid: fmt.Sprintf("GPU-%s-%04d-4a4a-9b9b-0123456789ab", node, i), Index: int32(i), Model: "NVIDIA H200", PciBusId: fmt.Sprintf("00000000:%02X:00.0", i),
		})
		for _, f := range trainingFields(fields) {
			t.schema.Columns = append(t.schema.Columns, &wire.Column{Device: uint32(i), Metric: f.metric, Multiplier: f.multiplier, Divisor: f.divisor})
			t.kinds, t.values = append(t.kinds, f), append(t.values, f.start)
		}
	}
	return t
}

// next is what is measured a second later, at a time.
func (t *training) next(at time.Time) wire.Sample {
	t.seq++
	s := wire.Sample{Seq: t.seq, Time: at, Readings: make([]gpu.Reading, len(t.values))}
	for i, f := range t.kinds {
		if t.seq%uint64(f.every) == 0 || t.seq == 1 {
			if f.rate > 0 {
				t.values[i] += max(0, f.rate*float64(f.every)+t.rng.NormFloat64()*f.noise)
			} else if f.noise > 0 {
				t.values[i] = f.start + t.rng.NormFloat64()*f.noise
			}
		}
		m, d := float64(f.multiplier), float64(f.divisor)
		s.Readings[i] = gpu.Read(math.Round(t.values[i]*d/m) * m / d)
	}
	return s
}
