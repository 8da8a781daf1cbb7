package live

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/pkg/wire"
)

// BenchmarkLiveRing is how much memory 15 minutes of one node take, and a tenth and ten times as much, 8 GPUs by 40 fields at
// 1 Hz while it trains, and how long it takes to read one metric of them out of the ring. An operation is such a reading.
func BenchmarkLiveRing(b *testing.B) {
	for _, span := range []time.Duration{90 * time.Second, 15 * time.Minute, 150 * time.Minute} {
		b.Run(fmt.Sprintf("seconds-%.0f", span.Seconds()), func(b *testing.B) { benchRing(b, span) })
	}
}

func benchRing(b *testing.B, span time.Duration) {
	load := newTraining("n1", 8, 40)
	schema := newSchema(Target{Node: "n1"}, load.schema)
	shared := rings{limit: 256 << 20}
	r := newRing(&shared, 64<<20, span)
	at := time.UnixMilli(1_800_000_000_000)
	samples := int(span / time.Second)
	var adding time.Duration
	for range samples {
		at = at.Add(time.Second)
		sample := load.next(at)
		began := time.Now()
		require.True(b, r.add(schema, sample))
		adding += time.Since(began)
	}
	for b.Loop() {
		series := r.series("gpu_power_watts", 0)
		if len(series) != 8 || len(series[0].Times) != samples {
			b.Fatalf("%d series", len(series))
		}
	}
	b.ReportMetric(float64(shared.used.Load())/(1<<20), "MiB")
	b.ReportMetric(float64(adding.Microseconds())/float64(samples), "µs/add")
}

// BenchmarkLiveWire is how many bytes a second of one GPU takes in the stream: 40 fields, at 1 Hz, while it trains. An
// operation is a second of a node with 8 GPUs.
func BenchmarkLiveWire(b *testing.B) {
	const gpus = 8
	load := newTraining("n1", gpus, 40)
	encoder := wire.NewEncoder(load.schema)
	at := time.UnixMilli(1_800_000_000_000)
	size := func() int {
		at = at.Add(time.Second)
		tick, err := encoder.Encode(load.next(at))
		require.NoError(b, err)
		return proto.Size(&wire.Message{Body: &wire.Message_Batch{Batch: &wire.Batch{Ticks: []*wire.Tick{tick}}}})
	}
	size() // all values, once
	bytes, n := 0, 0
	for b.Loop() {
		bytes += size()
		n++
	}
	b.ReportMetric(float64(bytes)/float64(n*gpus), "B/GPU-s")
}

// BenchmarkRingAdd is what it takes to remember one sample of a node, sealing included.
func BenchmarkRingAdd(b *testing.B) {
	load := newTraining("n1", 8, 16)
	schema := newSchema(Target{Node: "n1"}, load.schema)
	r := newRing(&rings{limit: 256 << 20}, 8<<20, 15*time.Minute)
	samples := make([]wire.Sample, 256)
	for i := range samples {
		samples[i] = load.next(time.Time{})
	}
	at := time.UnixMilli(1_800_000_000_000)
	for i := 0; b.Loop(); i++ {
		at = at.Add(time.Second)
		sample := samples[i%len(samples)]
		sample.Time = at
		r.add(schema, sample)
	}
}
