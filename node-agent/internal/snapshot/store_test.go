package snapshot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// ringBench publishes frames and remembers them.
type ringBench struct {
	t      testing.TB
	store  *Store
	rows   *Rows
	node   Node
	schema *Schema
	at     time.Time
	random *rand.Rand
	frames []*Frame // all that were published
}

func newRingBench(t testing.TB, span time.Duration, bytes int) *ringBench {
	t.Helper()
	c, err := catalog.Load()
	require.NoError(t, err)
	rows, err := LoadRows(c)
	require.NoError(t, err)
	b := &ringBench{
		t: t, store: NewStore(span, bytes), rows: rows, at: start, random: rand.New(rand.NewPCG(1, 2)),
		node: Node{Name: "n", Period: time.Second},
	}
	b.devices(1)
	return b
}

func (b *ringBench) devices(n int) {
	var devices []gpu.Device
	for i := range n {
		devices = append(devices, gpu.Device{Identity: gpu.Identity{UUID: fmt.Sprintf("GPU-%d", i)}, Index: i})
	}
	b.schema = NewSchema(b.node, "", devices, device.GroupsOf(device.GroupPower, device.GroupMemory, device.GroupClocks), b.rows)
}

// pace changes the period, of the same devices.
func (b *ringBench) pace(period time.Duration) {
	b.node.Period = period
	b.schema = b.schema.At(b.node)
}

func (b *ringBench) tick() {
	values := make([]device.Values, len(b.schema.Devices))
	for i := range values {
		for m := range device.NumMetrics {
			switch b.random.IntN(4) {
			case 0:
				values[i][m] = gpu.Absent(gpu.State(2 + b.random.IntN(3)))
			case 1:
				values[i].Set(m, float64(b.random.IntN(3)))
			default:
				values[i].Set(m, math.Abs(b.random.NormFloat64()*1e5))
			}
		}
	}
	b.at = b.at.Add(b.node.Period)
	f := &Frame{Time: b.at, Schema: b.schema, Readings: b.schema.Flatten(values), Status: &Status{}}
	require.NoError(b.t, b.store.Append(f))
	b.frames = append(b.frames, f)
}

func (b *ringBench) seqs(after uint64) []uint64 {
	var all []uint64
	require.NoError(b.t, b.store.Each(after, func(f *Frame) bool {
		all = append(all, f.Seq)
		return true
	}))
	return all
}

// follower reads the ring as a reader of the stream does.
type follower struct {
	b       *ringBench
	after   uint64
	held    *Schema
	decoder *wire.Decoder
	dropped uint64
	got     []uint64
}

// read takes a piece, and compares what it says with what was published.
func (r *follower) read(p Piece) {
	t := r.b.t
	require.Equal(t, r.after+1+p.Missed, p.First)
	if p.Whole {
		var err error
		r.decoder, err = wire.NewDecoder(p.Schema.Wire)
		require.NoError(t, err)
	}
	var m wire.Message
	require.NoError(t, proto.Unmarshal(wire.AppendBatch(nil, p.Ticks), &m))
	require.Len(t, m.GetBatch().GetTicks(), int(p.Last-p.First+1))
	for i, tick := range m.GetBatch().GetTicks() {
		s, err := r.decoder.Decode(tick)
		require.NoError(t, err)
		f := r.b.frames[s.Seq-1]
		require.Equal(t, p.First+uint64(i), s.Seq)
		require.Equal(t, f.Time.UnixMilli(), s.Time.UnixMilli())
		require.Same(t, f.Schema, p.Schema)
		require.Equal(t, f.Readings, s.Readings)
		if i > 0 {
			require.Zero(t, s.Dropped)
		} else {
			require.Equal(t, p.Missed, s.Dropped)
		}
		r.dropped += s.Dropped
		r.got = append(r.got, s.Seq)
	}
	r.after, r.held = p.Last, p.Schema
}

func (r *follower) catchUp() {
	for {
		p, _, err := r.b.store.After(r.after, r.held)
		require.NoError(r.b.t, err)
		if p.Last == 0 {
			return
		}
		r.read(p)
	}
}

func TestRingKeepsItsSpan(t *testing.T) {
	b := newRingBench(t, 3*time.Second, 1<<20)
	assert.Nil(t, b.store.Newest())
	p, changed, err := b.store.After(0, nil)
	require.NoError(t, err)
	assert.Zero(t, p)
	for range 10 {
		b.tick()
	}
	<-changed
	assert.EqualValues(t, 10, b.store.Newest().Seq)
	assert.Equal(t, []uint64{7, 8, 9, 10}, b.seqs(0))
	assert.Equal(t, []uint64{10}, b.seqs(9))
	assert.Empty(t, b.seqs(10))
	frames, _, span := b.store.Kept()
	assert.Equal(t, 4, frames)
	assert.Equal(t, 4*time.Second, span)

	// Ten times as many samples are for the same time, and none goes early.
	b.pace(100 * time.Millisecond)
	for range 30 {
		b.tick()
	}
	frames, _, span = b.store.Kept()
	assert.Equal(t, 31, frames)
	assert.Equal(t, 4*time.Second, span)
	b.tick()
	b.pace(time.Second)
	b.tick()
	_, _, span = b.store.Kept()
	assert.InDelta(t, 3.1, span.Seconds(), 0.001)

	for range 300 {
		b.tick()
	}
	assert.Len(t, b.seqs(0), 4)
	assert.LessOrEqual(t, len(b.store.chunks), 2)
}

func TestRingIsBoundedByBytes(t *testing.T) {
	const limit = 20_000
	b := newRingBench(t, time.Hour, limit)
	for i := range 500 {
		if i%120 == 0 {
			b.devices(1 + i/120)
		}
		b.tick()
		_, bytes, span := b.store.Kept()
		assert.True(t, bytes <= limit || len(b.store.chunks) == 1)
		sum := 0
		for j := range b.store.chunks {
			sum += b.store.chunks[j].size()
		}
		require.Equal(t, sum, bytes)
		seqs := b.seqs(0)
		require.Equal(t, time.Duration(len(seqs))*time.Second, span)
		require.EqualValues(t, i+1, seqs[len(seqs)-1])
	}
	small := newRingBench(t, time.Hour, 1)
	for range 3 {
		small.tick()
	}
	assert.Equal(t, []uint64{1, 2, 3}, small.seqs(0), "the newest run is kept whatever its size")
}

func TestSince(t *testing.T) {
	b := newRingBench(t, 200*time.Second, 1<<20)
	assert.Zero(t, b.store.Since(5000))
	for range 100 {
		b.tick()
	}
	assert.EqualValues(t, 99, b.store.Since(0), "the newest itself")
	assert.EqualValues(t, 94, b.store.Since(5000))
	assert.EqualValues(t, 20, b.store.Since(79_500))
	assert.EqualValues(t, 0, b.store.Since(1<<63))
	b.at = b.at.Add(-time.Hour)
	b.tick()
	assert.EqualValues(t, 0, b.store.Since(1000), "what was before a clock was set back is not before it")
	b.at = b.at.Add(2 * time.Hour)
	b.tick()
	assert.EqualValues(t, 101, b.store.Since(1000))
}

// Whoever reads when, and however far behind, holds exactly what was published, and knows what it missed.
func TestEveryReaderHoldsWhatWasPublished(t *testing.T) {
	for seed := range uint64(20) {
		b := newRingBench(t, 150*time.Second, 1<<20)
		b.random = rand.New(rand.NewPCG(seed, 7))
		readers := []*follower{{b: b}, {b: b}, {b: b}, {b: b}}
		base := b.schema
		for range 400 {
			switch b.random.IntN(40) {
			case 0:
				b.devices(1 + b.random.IntN(3))
				base = b.schema
			case 1:
				b.pace(100 * time.Millisecond)
			case 2:
				b.node.Period = time.Second
				b.schema = base // the same that was there before
			}
			b.tick()
			for i, r := range readers {
				switch b.random.IntN(1 + i*40) {
				case 0:
					r.catchUp()
				case 1:
					p, _, err := b.store.Jump(r.after, r.held)
					require.NoError(t, err)
					r.read(p)
				case 2:
					r.held = nil // it lost the connection, and resumes
				}
			}
		}
		for _, r := range readers {
			r.catchUp()
			assert.EqualValues(t, 400, r.after)
			assert.EqualValues(t, 400, uint64(len(r.got))+r.dropped)
			assert.True(t, slices.IsSorted(r.got))
		}
		assert.Zero(t, readers[0].dropped)
	}
}

// Readers of what everybody has get the same bytes.
func TestTicksAreEncodedOnce(t *testing.T) {
	b := newRingBench(t, time.Hour, 1<<20)
	for range 10 {
		b.tick()
	}
	x, y := &follower{b: b}, &follower{b: b}
	x.catchUp()
	y.held, y.after = x.held, x.after
	b.tick()
	p, _, err := b.store.After(x.after, x.held)
	require.NoError(t, err)
	q, _, err := b.store.After(y.after, y.held)
	require.NoError(t, err)
	require.NotEmpty(t, p.Ticks)
	assert.Same(t, &p.Ticks[0], &q.Ticks[0])
}

func TestAFrameThatDoesNotFit(t *testing.T) {
	b := newRingBench(t, time.Hour, 1<<20)
	b.tick()
	require.ErrorContains(t, b.store.Append(&Frame{Time: b.at, Schema: b.schema, Readings: make([]gpu.Reading, 1)}), "keep sample 2: ")
	assert.EqualValues(t, 2, b.store.Newest().Seq)
	assert.Empty(t, b.seqs(0))
	p, _, err := b.store.After(1, b.schema)
	require.NoError(t, err)
	assert.Zero(t, p)
	b.frames = append(b.frames, nil)
	b.tick()
	r := &follower{b: b, after: 1, held: b.schema}
	r.catchUp()
	assert.EqualValues(t, 1, r.dropped)
}

func TestReadersAndTheWriterAtOnce(t *testing.T) {
	b := newRingBench(t, 50*time.Second, 1<<20)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var after uint64
			var held *Schema
			for after < 500 {
				p, changed, err := b.store.After(after, held)
				if !assert.NoError(t, err) {
					return
				}
				if p.Last == 0 {
					<-changed
					continue
				}
				assert.Equal(t, after+1+p.Missed, p.First)
				after, held = p.Last, p.Schema
				_ = b.store.Since(3000)
				_ = b.store.Each(after-1, func(f *Frame) bool { return f.Seq < after })
			}
		})
	}
	for range 500 {
		b.tick()
	}
	wg.Wait()
}

// BenchmarkRing is what 15 minutes of eight GPUs' 40 fields take, when readings move like real ones: a third of them each
// second. An operation is the whole ring.
func BenchmarkRing(b *testing.B) {
	const gpus, fields, ticks = 8, 40, 900
	bench := newRingBench(b, ticks*time.Second, 8<<20)
	bench.devices(gpus)
	for range b.N {
		store := NewStore(ticks*time.Second, 8<<20)
		columns := gpus * fields
		schema := &Schema{Node: bench.node, Columns: make([]Column, columns), Wire: &wire.Schema{}}
		for i := range columns {
			row := bench.schema.Columns[i%(len(bench.schema.Columns)/gpus)].Row
			schema.Columns[i].Row = row
			schema.Wire.Columns = append(schema.Wire.Columns, &wire.Column{Multiplier: row.Multiplier, Divisor: row.Divisor})
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		readings := make([]gpu.Reading, columns)
		for i := range ticks {
			for j := range readings {
				scale := float64(schema.Wire.Columns[j].GetMultiplier()) / float64(schema.Wire.Columns[j].GetDivisor())
				if i == 0 || bench.random.IntN(3) == 0 {
					readings[j] = gpu.Read(scale * math.Round(20_000+500*bench.random.NormFloat64()))
				}
			}
			require.NoError(b, store.Append(&Frame{Time: start.Add(time.Duration(i) * time.Second), Schema: schema, Readings: slices.Clone(readings)}))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		frames, bytes, _ := store.Kept()
		require.Equal(b, ticks, frames)
		b.ReportMetric(float64(bytes-schema.weight())/(1<<20), "MiB")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "heap-MiB")
		runtime.KeepAlive(store)
	}
}
