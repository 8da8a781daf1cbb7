package live_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// BenchmarkLiveDelay measures how long a sample is on its way from the agent to a subscriber: encoded, sent over a
// WebSocket on loopback, decoded, put into the ring and handed out, at 10 Hz with 8 GPUs of 30 metrics. Half a period
// after each sample the same bytes go over a bare TCP connection, which is the rival.
//
// An operation is one sampling period, so run it with -benchtime=200x or the like. p99-share is the 99th percentile of
// the delay as a share of the period.
func BenchmarkLiveDelay(b *testing.B) {
	const (
		period  = 100 * time.Millisecond
		gpus    = 8
		metrics = 30
	)
	names := make([]string, metrics)
	for i := range names {
		names[i] = fmt.Sprintf("gpu_metric_%02d_watts", i)
	}
	agent := agenttest.New(b, agenttest.Options{Devices: agenttest.Devices("n1", gpus), Metrics: names, Period: period})
	f := newFleet(b, func(cfg *live.Config) { cfg.Allow = allow(b, "127.0.0.1") }, agent)
	sub := f.hub.Subscribe(live.Select{})
	defer sub.Close()
	for u := range sub.C() {
		if u.Status != nil && u.Status.State == live.Connected {
			break
		}
	}
	rival := newWire(b)
	readings := newLoad(agent.Schema())

	var ours, theirs []time.Duration
	ticker := time.NewTicker(period / 2)
	defer ticker.Stop()
	for b.Loop() {
		<-ticker.C
		sample, size := readings.next(b)
		taken := time.Now()
		agent.TickAt(taken, sample...)
		for u := range sub.C() {
			if u.Status == nil {
				break
			}
		}
		ours = append(ours, time.Since(taken))

		<-ticker.C
		theirs = append(theirs, rival.send(b, size))
	}
	p99 := percentile(ours, 99)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(p99)/float64(period), "p99-share")
	b.ReportMetric(milliseconds(p99), "p99-ms")
	b.ReportMetric(milliseconds(percentile(ours, 50)), "p50-ms")
	b.ReportMetric(milliseconds(percentile(theirs, 99)), "tcp-p99-ms")
	b.ReportMetric(milliseconds(percentile(theirs, 50)), "tcp-p50-ms")
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func percentile(durations []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(durations))
	return sorted[(len(sorted)*p+99)/100-1]
}

// load makes readings of which about half change, as on a node that trains.
type load struct {
	rng     *rand.Rand
	values  []float64
	encoder *wire.Encoder
	seq     uint64
}

func newLoad(schema *wire.Schema) *load {
	l := &load{rng: rand.New(rand.NewPCG(1, 2)), values: make([]float64, len(schema.GetColumns())), encoder: wire.NewEncoder(schema)}
	for i := range l.values {
		l.values[i] = 700 * l.rng.Float64()
	}
	return l
}

// next is the next readings, and how many bytes they are on the wire.
func (l *load) next(b *testing.B) ([]gpu.Reading, int) {
	readings := make([]gpu.Reading, len(l.values))
	for i := range l.values {
		if l.rng.IntN(2) == 0 {
			l.values[i] += l.rng.NormFloat64() * 20
		}
		readings[i] = gpu.Read(l.values[i])
	}
	l.seq++
	tick, err := l.encoder.Encode(wire.Sample{Seq: l.seq, Time: time.Now(), Readings: readings})
	require.NoError(b, err)
	return readings, proto.Size(&wire.Message{Body: &wire.Message_Batch{Batch: &wire.Batch{Ticks: []*wire.Tick{tick}}}})
}

// bareWire is a TCP connection on loopback whose other end says when it has read a message.
type bareWire struct {
	conn     net.Conn
	sizes    chan int
	received chan time.Time
}

func newWire(b *testing.B) *bareWire {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	w := &bareWire{sizes: make(chan int, 1), received: make(chan time.Time, 1)}
	w.conn, err = net.Dial("tcp", listener.Addr().String())
	require.NoError(b, err)
	other, err := listener.Accept()
	require.NoError(b, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 64<<10)
		for size := range w.sizes {
			if _, err := io.ReadFull(other, buffer[:size]); err != nil {
				return
			}
			w.received <- time.Now()
		}
	}()
	b.Cleanup(func() {
		close(w.sizes)
		<-ended
		require.NoError(b, w.conn.Close())
		require.NoError(b, other.Close())
		require.NoError(b, listener.Close())
	})
	return w
}

func (w *bareWire) send(b *testing.B, size int) time.Duration {
	w.sizes <- size
	message := make([]byte, size)
	start := time.Now()
	_, err := w.conn.Write(message)
	require.NoError(b, err)
	<-w.received
	return time.Since(start)
}
