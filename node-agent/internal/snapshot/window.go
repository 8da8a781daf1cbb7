package snapshot

import (
	"math"
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Folding says what is worth knowing of a metric's readings over a window.
type Folding uint8

// The foldings.
const (
	FoldNothing Folding = iota
	FoldLevels          // the least, mean and greatest
	FoldMax             // the greatest alone: of a code whose mean says nothing
	FoldBits            // every bit that was set
)

// FoldingOf decides it from the metric. Totals only grow, and what hardly ever changes has no spikes.
func FoldingOf(m device.Metric, row catalog.Metric) Folding {
	switch m {
	case device.MemoryTotal, device.MemoryReserved, device.BAR1Total:
		return FoldNothing
	case device.ClockEventReasons:
		return FoldBits
	case device.PerformanceState:
		return FoldMax
	}
	if row.Kind != catalog.Gauge || row.Unit == gpu.Count || row.Unit == gpu.Code {
		return FoldNothing
	}
	return FoldLevels
}

// Fold is what a column went through in a window.
type Fold struct {
	Min, Max float64
	Bits     uint64
	sum      float64
	count    uint32 // frames with a reading; 0 when there was none
}

// OK reports whether there was a reading.
func (f Fold) OK() bool { return f.count > 0 }

func (f *Fold) add(least, mean, greatest float64) {
	if f.count == 0 {
		f.Min, f.Max = least, greatest
	}
	f.Min, f.Max = min(f.Min, least), max(f.Max, greatest)
	f.sum += mean
	f.count++
}

func (f *Fold) merge(o Fold) {
	switch {
	case o.count == 0:
	case f.count == 0:
		*f = o
	default:
		f.Min, f.Max, f.Bits = min(f.Min, o.Min), max(f.Max, o.Max), f.Bits|o.Bits
		f.sum += o.sum
		f.count += o.count
	}
}

// windowBlocks is in how many steps a window slides over its own length.
const windowBlocks = 15

// Window folds the newest frames of a store, those of the last Length. It slides in steps of a fifteenth of that, so it
// covers up to one step more; whoever reads it changes nothing for others. It is not safe for concurrent use.
type Window struct {
	Length time.Duration

	store  *Store
	groups device.Groups
	step   time.Duration

	schema  *Schema
	columns []int  // of the schema, those that are folded
	seq     uint64 // newest frame in the blocks
	newest  int64  // its step, counted from the Unix epoch
	blocks  [windowBlocks + 1]block
	folds   []Fold
	frames  []*Frame
}

// block is what the columns went through in one step.
type block struct {
	step  int64
	folds []Fold
}

// NewWindow prepares a window over some groups.
func NewWindow(store *Store, groups device.Groups, length time.Duration) *Window {
	return &Window{Length: length, store: store, groups: groups, step: max(length/windowBlocks, time.Millisecond)}
}

// Update folds what is new up to a frame of the store.
func (w *Window) Update(to *Frame) {
	if to.Seq <= w.seq {
		return
	}
	w.frames, _ = w.store.After(w.seq, w.frames[:0])
	since := w.stepOf(to) - windowBlocks
	for _, f := range w.frames {
		if f.Seq <= to.Seq && w.stepOf(f) >= since {
			w.fold(f)
		}
	}
	clear(w.frames) // they need not be kept for this
	if w.schema != to.Schema {
		w.adopt(to.Schema)
	}
	w.seq, w.newest = to.Seq, w.stepOf(to)
	clear(w.folds)
	for i := range w.blocks {
		if b := &w.blocks[i]; b.folds != nil && b.step >= w.newest-windowBlocks && b.step <= w.newest {
			for j := range b.folds {
				w.folds[j].merge(b.folds[j])
			}
		}
	}
}

func (w *Window) stepOf(f *Frame) int64 { return f.Time.UnixNano() / int64(w.step) }

// Columns are the folded columns of the newest frame's schema. Folds are in the same order.
func (w *Window) Columns() []int { return w.columns }

// Folds are what the columns went through, as of the last Update. They hold until the next one.
func (w *Window) Folds() []Fold { return w.folds }

// Mean of a fold, a little finer than a single reading.
func (w *Window) Mean(i int) float64 {
	f := w.folds[i]
	mean, row := f.sum/float64(f.count), w.schema.Columns[w.columns[i]].Row
	const finer = 100
	multiplier, divisor := float64(row.Multiplier), float64(row.Divisor)*finer
	if v := math.Round(mean*divisor/multiplier) * multiplier / divisor; !math.IsInf(v, 0) && !math.IsNaN(v) {
		mean = v
	}
	return min(max(mean, f.Min), f.Max)
}

// fold adds a frame to the block of its step.
func (w *Window) fold(f *Frame) {
	if w.schema != f.Schema {
		w.adopt(f.Schema)
	}
	step := w.stepOf(f)
	b := &w.blocks[uint64(step)%uint64(len(w.blocks))]
	if b.folds == nil || b.step != step {
		b.step = step
		b.folds = slices.Grow(b.folds[:0], len(w.columns))[:len(w.columns)]
		clear(b.folds)
	}
	for i, column := range w.columns {
		r := f.Readings[column]
		if !r.OK() {
			continue
		}
		least, mean, greatest := r.Value, r.Value, r.Value
		if len(f.Extents) > 0 {
			c := f.Schema.Columns[column]
			for _, e := range f.Extents {
				if e.Device == c.Device && e.Metric == c.Metric && e.Count > 0 {
					// What the driver measured by itself between two samples says more than the sample.
					least, mean = min(least, c.rounded(gpu.Read(e.Min)).Value), e.Mean
					greatest = max(greatest, c.rounded(gpu.Read(e.Max)).Value)
				}
			}
		}
		b.folds[i].add(least, mean, greatest)
		if f.Schema.Columns[column].Metric == device.ClockEventReasons && r.Value >= 0 {
			b.folds[i].Bits |= uint64(r.Value)
		}
	}
}

// adopt takes over a schema. What devices that are in both went through is kept.
func (w *Window) adopt(s *Schema) {
	old := make(map[string]int, len(w.columns))
	if w.schema != nil {
		for i, column := range w.columns {
			old[key(w.schema, column)] = i
		}
	}
	var columns []int
	var from []int // index into the old columns, -1 for a new one
	for i, c := range s.Columns {
		if !w.groups.Has(c.Metric.Group()) || FoldingOf(c.Metric, c.Row) == FoldNothing {
			continue
		}
		columns = append(columns, i)
		if at, ok := old[key(s, i)]; ok {
			from = append(from, at)
		} else {
			from = append(from, -1)
		}
	}
	for i := range w.blocks {
		if w.blocks[i].folds == nil {
			continue
		}
		folds := make([]Fold, len(columns))
		for j, at := range from {
			if at >= 0 {
				folds[j] = w.blocks[i].folds[at]
			}
		}
		w.blocks[i].folds = folds
	}
	w.schema, w.columns, w.folds = s, columns, make([]Fold, len(columns))
}

// key names a column whatever its place in a schema.
func key(s *Schema, column int) string {
	c := s.Columns[column]
	d := s.Devices[c.Device]
	_, variant := c.Metric.Label()
	return d.UUID + "/" + d.MIGUUID + "/" + d.GPUInstance + "/" + d.ComputeInstance + "/" + c.Metric.String() + "/" + variant
}
