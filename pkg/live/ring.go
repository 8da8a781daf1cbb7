package live

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// rings is what the rings of a hub share: a budget of bytes. Taking room is never refused; who took it then has the hub
// make room.
type rings struct {
	limit int64
	used  atomic.Int64
	count atomic.Int64 // rings that hold anything

	rows sync.Pool // of *[]cell
}

// full reports whether room must be made.
func (r *rings) full() bool { return r.used.Load() > r.limit-r.limit/32 }

// crowded reports whether nothing should be fetched that is not needed.
func (r *rings) crowded() bool { return r.used.Load() > r.limit-r.limit/8 }

// block is how many bytes rows may take before they are sealed, so that several blocks of each ring fit.
func (r *rings) block() int {
	const least, most = 1 << 10, 64 << 10
	return int(min(most, max(least, r.limit/max(1, r.count.Load())/4)))
}

func (r *rings) row(width int) *[]cell {
	row, ok := r.rows.Get().(*[]cell)
	if !ok {
		row = new([]cell)
	}
	if cap(*row) < width {
		*row = make([]cell, width)
	}
	*row = (*row)[:width]
	return row
}

// ring holds the newest samples of a node, within a budget of bytes and of time: sealed blocks, of which the oldest
// goes as a whole, and the one that is being filled. It is not safe for concurrent use.
type ring struct {
	shared *rings
	budget int
	keep   time.Duration

	chunks []chunk
	open   *Schema // of the block that is being filled, nil while that is empty
	block  block
	bytes  int
	first  int64 // time of the first row of block
	last   int64 // time of the newest sample, Unix milliseconds
}

// chunk is a sealed block, of samples of one schema.
type chunk struct {
	schema      *Schema
	raw         []byte
	first, last int64 // times
	number      int64 // of the first sample
}

// chunkBytes is what a chunk takes besides its bytes.
const chunkBytes = 64

func newRing(shared *rings, budget int, keep time.Duration) ring {
	return ring{shared: shared, budget: budget, keep: keep}
}

// raw marks a value that is no multiple of its column's resolution: the bits of the floating-point number.
const raw uint8 = 0x80

// scale is a column's resolution.
type scale struct{ multiplier, divisor float64 }

// toCell is a reading as what it takes the fewest bytes to remember, bit by bit. before is what the column held before.
func (s scale) toCell(r gpu.Reading, before int64) cell {
	if !r.OK() {
		return cell{before, uint8(r.State)}
	}
	if math.Float64bits(s.value(before)) == math.Float64bits(r.Value) {
		return cell{before, uint8(gpu.OK)}
	}
	scaled := math.Round(r.Value * s.divisor / s.multiplier)
	if math.Abs(scaled) < 1<<62 {
		whole := int64(scaled)
		if math.Float64bits(s.value(whole)) == math.Float64bits(r.Value) {
			return cell{whole, uint8(gpu.OK)}
		}
	}
	return cell{int64(math.Float64bits(r.Value)), raw}
}

func (s scale) value(whole int64) float64 { return float64(whole) * s.multiplier / s.divisor }

func (s scale) reading(c cell) gpu.Reading {
	switch c.state {
	case uint8(gpu.OK):
		return gpu.Read(s.value(c.value))
	case raw:
		return gpu.Read(math.Float64frombits(uint64(c.value)))
	}
	return gpu.Absent(gpu.State(c.state))
}

// add appends a sample. It is false when the sample's time is not after the newest.
func (r *ring) add(schema *Schema, sample wire.Sample) bool {
	return r.addRow(schema, sample.Seq, sample.Time, len(sample.Readings), func(row []cell) {
		for i, reading := range sample.Readings {
			row[i] = schema.scale(i).toCell(reading, r.block.cells[i].value)
		}
	})
}

// addState is add of what a stream's state holds: the integers, which readings are made of.
func (r *ring) addState(schema *Schema, seq uint64, at time.Time, state *wire.State) bool {
	return r.addRow(schema, seq, at, state.Columns(), func(row []cell) {
		values, states := state.Values()
		for i, v := range values {
			row[i] = cell{v, uint8(states[i])}
		}
	})
}

// addRow appends a sample as the row that fill makes of it.
func (r *ring) addRow(schema *Schema, seq uint64, at time.Time, width int, fill func([]cell)) bool {
	t := at.UnixMilli()
	if !r.empty() && t <= r.last {
		return false
	}
	if r.open != nil && (!r.open.SameColumns(schema) || len(r.block.cells) != width || r.block.rows == blockRows ||
		len(r.block.data) >= min(r.shared.block(), r.budget/8)) {
		r.seal()
	}
	if r.open == nil {
		r.block.begin(width)
		r.open, r.first = schema, t
	}
	row := r.shared.row(width)
	fill(*row)
	r.block.append(t, int64(seq), *row)
	r.shared.rows.Put(row)
	r.last = t
	r.evict(t - r.keep.Milliseconds())
	return true
}

// newest is the newest sample that was added, held or not. schema has the same columns as the one that it was added with.
func (r *ring) newest(schema *Schema) wire.Sample {
	sample := wire.Sample{Seq: uint64(r.block.number), Time: time.UnixMilli(r.block.time), Readings: make([]gpu.Reading, len(r.block.cells))}
	for i, c := range r.block.cells {
		sample.Readings[i] = schema.scale(i).reading(c)
	}
	return sample
}

func (r *ring) empty() bool { return r.open == nil && len(r.chunks) == 0 }

// oldest is the time of the oldest sample; the ring must hold one.
func (r *ring) oldest() int64 {
	if len(r.chunks) > 0 {
		return r.chunks[0].first
	}
	return r.first
}

// seal turns the block that is being filled to a chunk. It must not be empty.
func (r *ring) seal() {
	number := r.block.firstNumber()
	r.chunks = append(r.chunks, chunk{schema: r.open, raw: r.block.seal(), first: r.first, last: r.block.time, number: number})
	// What comes next may need less.
	r.open, r.block.data = nil, nil
}

// evict drops chunks that are too old, or too many, and tells the budget of all that is held. The newest sample stays.
func (r *ring) evict(before int64) {
	size := r.size()
	gone := 0
	for ; gone < len(r.chunks); gone++ {
		c := &r.chunks[gone]
		if size <= r.budget && c.last >= before || gone == len(r.chunks)-1 && r.open == nil {
			break
		}
		size -= len(c.raw) + chunkBytes
	}
	if gone > 0 {
		r.cut(gone)
	}
	r.account(size)
}

// cut drops the oldest chunks.
func (r *ring) cut(n int) {
	kept := copy(r.chunks, r.chunks[n:])
	clear(r.chunks[kept:])
	r.chunks = r.chunks[:kept]
}

// size is how many bytes the ring takes.
func (r *ring) size() int {
	size := r.block.size()
	for i := range r.chunks {
		size += len(r.chunks[i].raw) + chunkBytes
	}
	return size
}

func (r *ring) account(size int) {
	if (r.bytes > 0) != (size > 0) {
		if size > 0 {
			r.shared.count.Add(1)
		} else {
			r.shared.count.Add(-1)
		}
	}
	r.shared.used.Add(int64(size - r.bytes))
	r.bytes = size
}

// clear drops everything.
func (r *ring) clear() {
	r.chunks, r.open, r.block = nil, nil, block{}
	r.account(0)
}

// prepend puts the samples of another ring, all older, before those of r. The other is empty then.
func (r *ring) prepend(older *ring) {
	if older.open != nil {
		older.seal()
	}
	if r.empty() {
		r.last = older.last
	}
	r.chunks = append(older.chunks, r.chunks...)
	older.chunks = nil
	older.clear()
	r.account(r.size())
}

// series are the raw samples of one metric from since on, one series for each device. It begins with the first
// reading that says something: what an agent says before it has asked a device is no gap in what a database remembers.
// A device has none when it never had a value in all that time and its last word is that it does not offer the metric
// to this agent: somebody else may know.
func (r *ring) series(metric string, since int64) []gpu.Series {
	rows := r.block.rows
	for i := range r.chunks {
		if r.chunks[i].last >= since {
			rows += blockRows
		}
	}
	at := make(map[gpu.Identity]int)
	var out []line
	lineOf := func(d gpu.Device) *line {
		i, ok := at[d.Identity]
		if !ok {
			i = len(out)
			at[d.Identity] = i
			out = append(out, line{Series: gpu.Series{Times: make([]int64, 0, rows), Values: make([]float64, 0, rows)}})
		}
		out[i].Device = d
		return &out[i]
	}
	var times [blockRows]int64
	var cells [blockRows]cell
	for i := range r.chunks {
		c := &r.chunks[i]
		columns := c.schema.columns[metric]
		if c.last < since || len(columns) == 0 {
			continue
		}
		s, err := openBlock(c.raw)
		if err != nil || s.stamps(times[:]) != nil {
			continue // not reached: sealed here
		}
		for _, column := range columns {
			if s.column(column.index, cells[:]) != nil {
				continue
			}
			l, scale := lineOf(c.schema.Devices[column.device]), c.schema.scale(column.index)
			from, _ := slices.BinarySearch(times[:s.rows], since)
			l.addAll(times[from:s.rows], cells[from:s.rows], scale)
		}
	}
	if r.open != nil && len(r.open.columns[metric]) > 0 {
		r.block.each(func(t, _ int64, row []cell) bool {
			if t < since {
				return true
			}
			for _, column := range r.open.columns[metric] {
				if column.index < len(row) {
					lineOf(r.open.Devices[column.device]).add(t, r.open.scale(column.index).reading(row[column.index]))
				}
			}
			return true
		})
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

// addAll is add for the rows of a column. One that has values only, as most, is copied at once.
func (l *line) addAll(times []int64, cells []cell, scale scale) {
	for _, c := range cells {
		if c.state != uint8(gpu.OK) {
			for row, t := range times {
				l.add(t, scale.reading(cells[row]))
			}
			return
		}
	}
	if len(cells) == 0 {
		return
	}
	values := l.Values
	for _, c := range cells {
		values = append(values, scale.value(c.value))
	}
	l.Times, l.Values = append(l.Times, times...), values
	l.valued, l.last = true, gpu.OK
}

// samples calls yield with the samples from since on.
func (r *ring) samples(since int64, yield func(*Schema, wire.Sample)) {
	for i := range r.chunks {
		c := &r.chunks[i]
		if c.last < since {
			continue
		}
		if s, err := openBlock(c.raw); err == nil {
			s.samples(c.schema, since, yield)
		}
	}
	if r.open == nil {
		return
	}
	r.block.each(func(t, number int64, row []cell) bool {
		if t >= since {
			sample := wire.Sample{Seq: uint64(number), Time: time.UnixMilli(t), Readings: make([]gpu.Reading, len(row))}
			for i, c := range row {
				sample.Readings[i] = r.open.scale(i).reading(c)
			}
			yield(r.open, sample)
		}
		return true
	})
}

func (s *sealed) samples(schema *Schema, since int64, yield func(*Schema, wire.Sample)) {
	times, numbers, cells := make([]int64, s.rows), make([]int64, s.rows), make([]cell, s.rows)
	if s.stamps(times) != nil || s.counts(numbers) != nil {
		return
	}
	samples := make([]wire.Sample, s.rows)
	for row := range samples {
		samples[row] = wire.Sample{Seq: uint64(numbers[row]), Time: time.UnixMilli(times[row]), Readings: make([]gpu.Reading, s.width)}
	}
	for i := range s.width {
		if s.column(i, cells) != nil {
			return
		}
		scale := schema.scale(i)
		for row := range samples {
			samples[row].Readings[i] = scale.reading(cells[row])
		}
	}
	for row, sample := range samples {
		if times[row] >= since {
			yield(schema, sample)
		}
	}
}

// RingBytes is how much memory the samples take that the hub holds.
func (h *Hub) RingBytes() int { return int(h.rings.used.Load()) }
