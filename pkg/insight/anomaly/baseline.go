package anomaly

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

const (
	hourMS   = 3_600_000
	weekly   = 7 * 24      // hours
	ring     = 16*24 + 2   // hours that a baseline remembers
	typicals = 2           // weeks whose hours say what is typical
	pending  = 256         // values of the newest hour that wait to be folded: more at once lose less
	biggest  = 1e30        // no instrument reports more, and squares of it are numbers
	version  = 1           // of the stored form
	fewest   = 12          // values that a band is best made of
	least    = 6           // and must be made of
	widest   = 3           // hours around the hour of the week that may lend their values
	lateHour = math.MinInt // no hour yet

	unknown = math.MaxFloat32 // MAD of an hour without values
)

// Baseline is the past of one metric of one device in one class of work. Its zero value is not usable, see [NewBaseline]. It
// takes about 20 kB. It is not safe for concurrent use.
type Baseline struct {
	newest int // hour since 1970, lateHour before the first value
	last   int64
	first  int // hour of the first value ever
	cells  [ring]cell
	open   []float32 // values of the newest hour that are not in its cell yet

	mads   [weekly]float32 // of each hour of the week; unknown without values
	sorted []float32       // those that are known, in rising order
	stale  []int           // hours of the week that are to be computed again, each once
	marked [weekly]bool    // that are among them

	pool pool // scratch
}

// NewBaseline is a baseline that knows nothing.
func NewBaseline() *Baseline {
	b := &Baseline{newest: lateHour, last: math.MinInt64, first: lateHour}
	for i := range b.mads {
		b.mads[i] = unknown
	}
	return b
}

// Newest is the time of the newest value, Unix milliseconds; math.MinInt64 without any.
func (b *Baseline) Newest() int64 { return b.last }

// Add takes the value of a time, Unix milliseconds. Values come in order of time, or nearly: it is false for one that is too
// old to matter, or no value.
func (b *Baseline) Add(at int64, v float64) bool {
	if math.IsNaN(v) || math.Abs(v) > biggest {
		return false
	}
	hour := int(hourOf(at))
	switch {
	case b.newest == lateHour:
		b.newest, b.first = hour, hour
	case hour > b.newest:
		b.advance(hour)
	case hour <= b.newest-ring:
		return false
	}
	b.last = max(b.last, at)
	if hour != b.newest {
		b.cell(hour).fold([]float32{float32(v)})
		b.touch(hour)
		b.first = min(b.first, hour)
		return true
	}
	b.open = append(b.open, float32(v))
	if len(b.open) >= pending {
		b.settle()
	}
	return true
}

// advance begins a new hour. Hours in between are empty.
func (b *Baseline) advance(hour int) {
	b.settle()
	from := b.newest + 1
	if hour-b.newest > ring {
		from = hour - ring + 1
	}
	for h := from; h <= hour; h++ {
		b.cell(h).count = 0
		if last := h - typicals*weekly; last > b.newest-ring && b.cell(last).count > 0 {
			b.touch(last) // is not of the last weeks any more
		}
	}
	b.newest = hour
}

// settle puts what waits into the newest hour's cell.
func (b *Baseline) settle() {
	if len(b.open) == 0 {
		return
	}
	b.cell(b.newest).fold(b.open)
	b.open = b.open[:0]
	b.touch(b.newest)
}

func (b *Baseline) cell(hour int) *cell { return &b.cells[wrap(hour, ring)] }

func (b *Baseline) touch(hour int) {
	if slot := wrap(hour, weekly); !b.marked[slot] {
		b.marked[slot] = true
		b.stale = append(b.stale, slot)
	}
}

// known reports whether an hour is one that the ring holds.
func (b *Baseline) known(hour int) bool {
	return b.newest != lateHour && hour <= b.newest && hour > b.newest-ring
}

// typical is the median over hours of the week of the MAD within each: how far values are from their middle by chance. It is of
// the last whole weeks, so that an hour that comes and the one that goes are of the same hour of the week.
func (b *Baseline) typical() float64 {
	for _, slot := range b.stale {
		b.pool.reset()
		oldest := b.newest - typicals*weekly + 1
		for h := oldest + wrap(slot-oldest, weekly); h <= b.newest; h += weekly {
			b.pool.take(b.cell(h))
		}
		mad := float32(unknown)
		if len(b.pool.values) >= 3 {
			mad = float32(b.pool.summary().mad)
		}
		b.replace(b.mads[slot], mad)
		b.mads[slot], b.marked[slot] = mad, false
	}
	b.stale = b.stale[:0]
	if len(b.sorted) == 0 {
		return 0
	}
	return float64(b.sorted[len(b.sorted)/2])
}

// replace puts one MAD in the place of another among those that are known.
func (b *Baseline) replace(old, by float32) {
	from, _ := slices.BinarySearch(b.sorted, old)
	to, _ := slices.BinarySearch(b.sorted, by)
	switch {
	case old == unknown && by == unknown:
	case old == unknown:
		b.sorted = slices.Insert(b.sorted, to, by)
	case by == unknown:
		b.sorted = slices.Delete(b.sorted, from, from+1)
	case to <= from: // what is between moves by one
		copy(b.sorted[to+1:from+1], b.sorted[to:from])
		b.sorted[to] = by
	default:
		copy(b.sorted[from:to-1], b.sorted[from+1:to])
		b.sorted[to-1] = by
	}
}

// Basis says what a band was made of.
type Basis uint8

// What a band may be made of.
const (
	Nothing    Basis = iota // there is none
	HourOfDay               // the same hour of days before: less than a week is known
	HourOfWeek              // the same hour of one week before
	TwoWeeks                // of two
)

// Expected is what a baseline expects of a time.
type Expected struct {
	Basis        Basis
	P1, P50, P99 float64
	MAD          float64 // at least the typical one of the baseline's hours
	Values       int     // that it was made of
}

// At is what is expected at a time, Unix milliseconds, by what happened at least 23 hours before.
func (b *Baseline) At(at int64) Expected {
	hour := int(hourOf(at))
	if b.newest == lateHour {
		return Expected{}
	}
	if hour-23 >= b.newest {
		b.settle() // else nobody looks at the newest hour yet
	}
	gather := func(apart, times int) (weeks int, weight float64) {
		for reach := 1; reach <= widest && weight < fewest; reach++ {
			b.pool.reset()
			weeks = 0
			for k := 1; k <= times; k++ {
				before := len(b.pool.values)
				for h := hour - k*apart - reach; h <= hour-k*apart+reach && h <= hour-23; h++ {
					if b.known(h) {
						b.pool.take(b.cell(h))
					}
				}
				if len(b.pool.values) > before {
					weeks++
				}
			}
			weight = b.pool.weight
		}
		return weeks, weight
	}
	weeks, weight := gather(weekly, 2)
	basis := HourOfWeek
	if weeks == 2 {
		basis = TwoWeeks
	}
	if weight < least {
		basis = HourOfDay
		if _, weight = gather(24, 6); weight < least {
			return Expected{}
		}
	}
	s, values := b.pool.summary(), int(min(b.pool.weight, math.MaxInt32))
	return Expected{Basis: basis, P1: s.P1, P50: s.P50, P99: s.P99, MAD: max(s.mad, b.typical()), Values: values}
}

// Merge adds another baseline's values: of GPUs of the same class, for example.
func (b *Baseline) Merge(other *Baseline) {
	if other.newest == lateHour {
		return
	}
	other.settle()
	b.settle()
	if b.newest == lateHour {
		b.newest, b.first = other.newest, other.first
	}
	if other.newest > b.newest {
		b.advance(other.newest)
	}
	for h := max(other.newest-ring, b.newest-ring) + 1; h <= other.newest; h++ {
		if c := other.cell(h); c.count > 0 {
			b.cell(h).merge(c)
			b.touch(h)
		}
	}
	b.first, b.last = min(b.first, other.first), max(b.last, other.last)
}

// MarshalBinary is the baseline's stored form: a version, the newest hour and time, and the cells that hold anything.
func (b *Baseline) MarshalBinary() ([]byte, error) {
	b.settle()
	out := binary.AppendUvarint(nil, version)
	if b.newest == lateHour {
		return binary.AppendUvarint(out, 0), nil
	}
	out = binary.AppendUvarint(out, 1)
	out = binary.AppendVarint(out, int64(b.newest))
	out = binary.AppendVarint(out, int64(b.first))
	out = binary.AppendVarint(out, b.last)
	for h := b.newest - ring + 1; h <= b.newest; h++ {
		c := b.cell(h)
		out = binary.AppendUvarint(out, uint64(c.count))
		for _, v := range c.values[:min(int(c.count), kept)] {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
		}
	}
	return out, nil
}

var errStored = errors.New("read stored baseline: it is cut off or damaged; delete it, and it is learned again")

// UnmarshalBinary reads what MarshalBinary wrote.
func (b *Baseline) UnmarshalBinary(raw []byte) error {
	next := NewBaseline()
	v, raw, ok := uvarint(raw)
	if ok && v != version {
		return fmt.Errorf("read stored baseline: version %d is not %d; delete it, and it is learned again", v, version)
	}
	filled, raw, filledOK := uvarint(raw)
	if !ok || !filledOK || filled > 1 {
		return errStored
	}
	if filled == 0 {
		*b = *next
		return nil
	}
	var heads [3]int64
	for i := range heads {
		var n int
		if heads[i], n = binary.Varint(raw); n <= 0 {
			return errStored
		}
		raw = raw[n:]
	}
	const farthest = math.MaxInt64 / hourMS
	if heads[0] > farthest || heads[0] < -farthest || heads[1] > heads[0] || heads[1] < -farthest || hourOf(heads[2]) != heads[0] {
		return errStored
	}
	next.newest, next.first, next.last = int(heads[0]), int(heads[1]), heads[2]
	for h := next.newest - ring + 1; h <= next.newest; h++ {
		count, rest, ok := uvarint(raw)
		n := int(min(count, kept))
		if !ok || count > math.MaxUint32 || len(rest) < 4*n {
			return errStored
		}
		raw = rest[4*n:]
		c := next.cell(h)
		c.count = uint32(count)
		for i := range n {
			f := math.Float32frombits(binary.LittleEndian.Uint32(rest[4*i:]))
			if !(math.Abs(float64(f)) <= 2*biggest) || i > 0 && f < c.values[i-1] {
				return errStored
			}
			c.values[i] = f
		}
		if n > 0 {
			next.touch(h)
		}
	}
	if len(raw) > 0 {
		return errStored
	}
	*b = *next
	return nil
}

func uvarint(raw []byte) (v uint64, rest []byte, ok bool) {
	v, n := binary.Uvarint(raw)
	if n <= 0 {
		return 0, nil, false
	}
	return v, raw[n:], true
}

// hourOf is the number of the hour that a time in Unix milliseconds is in.
func hourOf(ms int64) int64 {
	hour := ms / hourMS
	if ms%hourMS < 0 {
		hour--
	}
	return hour
}

// wrap is the place of an hour in a ring of n.
func wrap(hour, n int) int {
	m := hour % n
	if m < 0 {
		m += n
	}
	return m
}
