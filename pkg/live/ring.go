package live

import (
	"math"
	"sort"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// ring holds the newest samples of a node, within a budget of bytes and of time. Samples are held in chunks of rows;
// the oldest chunk goes as a whole. It is not safe for concurrent use.
type ring struct {
	budget int
	keep   time.Duration

	chunks []*chunk
	bytes  int
	last   int64 // time of the newest sample, Unix milliseconds
}

// chunk holds samples of one schema, row after row.
type chunk struct {
	schema *Schema
	times  []int64
	values []float64 // a reading's value, or a NaN that says why there is none
	width  int
	bytes  int
}

// maxChunkRows bounds how much goes at once when the ring is full.
const maxChunkRows = 64

// absentBits marks a NaN of ours; its last byte is the gpu.State.
const absentBits = 0x7FF8_5741_5250_0000

func pack(r gpu.Reading) float64 {
	if r.OK() {
		return r.Value
	}
	return math.Float64frombits(absentBits | uint64(r.State))
}

func unpack(v float64) gpu.Reading {
	if bits := math.Float64bits(v); bits&^0xff == absentBits {
		return gpu.Absent(gpu.State(bits & 0xff))
	}
	return gpu.Read(v)
}

// add appends a sample. It is false when the sample's time is not after the newest.
func (r *ring) add(schema *Schema, sample wire.Sample) bool {
	t := sample.Time.UnixMilli()
	if len(r.chunks) > 0 && t <= r.last {
		return false
	}
	c := r.open(schema, len(sample.Readings))
	c.times = append(c.times, t)
	for _, reading := range sample.Readings {
		c.values = append(c.values, pack(reading))
	}
	r.last = t
	r.evict(t)
	return true
}

// open is the chunk that the next row goes into.
func (r *ring) open(schema *Schema, width int) *chunk {
	if n := len(r.chunks); n > 0 {
		if c := r.chunks[n-1]; c.schema == schema && c.width == width && len(c.times) < cap(c.times) {
			return c
		}
	}
	row := 8 * (width + 1)
	// Several chunks to the budget, so that not everything goes at once.
	rows := min(maxChunkRows, max(1, r.budget/8/row))
	c := &chunk{
		schema: schema, width: width, bytes: rows * row,
		times: make([]int64, 0, rows), values: make([]float64, 0, rows*width),
	}
	r.chunks = append(r.chunks, c)
	r.bytes += c.bytes
	return c
}

func (r *ring) evict(newest int64) {
	oldest := newest - r.keep.Milliseconds()
	for len(r.chunks) > 1 {
		first := r.chunks[0]
		if r.bytes <= r.budget && first.times[len(first.times)-1] >= oldest {
			return
		}
		r.bytes -= first.bytes
		r.chunks[0] = nil
		r.chunks = r.chunks[1:]
	}
}

// series are the raw samples of one metric from since on, one series for each device. It begins with the first
// reading that says something: what an agent says before it has asked a device is no gap in what a database remembers.
// A device has none when it never had a value in all that time and its last word is that it does not offer the metric
// to this agent: somebody else may know.
func (r *ring) series(metric string, since int64) []gpu.Series {
	at := make(map[gpu.Identity]int)
	var out []line
	for _, c := range r.chunks {
		from := c.search(since)
		if from == len(c.times) {
			continue
		}
		for _, column := range c.schema.columns[metric] {
			device := c.schema.Devices[column.device]
			i, ok := at[device.Identity]
			if !ok {
				i = len(out)
				at[device.Identity] = i
				out = append(out, line{})
			}
			out[i].Device = device
			for row := from; row < len(c.times); row++ {
				out[i].add(c.times[row], unpack(c.values[row*c.width+column.index]))
			}
		}
	}
	kept := make([]gpu.Series, 0, len(out))
	for _, l := range out {
		if l.valued || l.last != gpu.NotSupported && l.last != gpu.NoPermission {
			kept = append(kept, l.Series)
		}
	}
	return kept
}

// line is a series that is being read out of the ring.
type line struct {
	gpu.Series
	valued bool      // whether any reading had a value
	last   gpu.State // of the newest reading
}

func (l *line) add(t int64, reading gpu.Reading) {
	l.last = reading.State
	switch {
	case reading.OK():
		l.valued = true
	case len(l.Times) == 0 && reading.State != gpu.Lost:
		return
	default:
		reading.Value = math.NaN()
	}
	l.Times, l.Values = append(l.Times, t), append(l.Values, reading.Value)
}

// samples calls yield with the samples from since on.
func (r *ring) samples(since int64, yield func(*Schema, wire.Sample)) {
	for _, c := range r.chunks {
		for row := c.search(since); row < len(c.times); row++ {
			sample := wire.Sample{Time: time.UnixMilli(c.times[row]), Readings: make([]gpu.Reading, c.width)}
			for i := range sample.Readings {
				sample.Readings[i] = unpack(c.values[row*c.width+i])
			}
			yield(c.schema, sample)
		}
	}
}

func (c *chunk) search(since int64) int {
	return sort.Search(len(c.times), func(i int) bool { return c.times[i] >= since })
}
