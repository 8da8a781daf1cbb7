package snapshot

import (
	"math"
	"slices"
	"sync"
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
	weight   float64 // seconds that the readings stand for; 0 when there was none
}

// OK reports whether there was a reading.
func (f Fold) OK() bool { return f.weight > 0 }

// add takes a reading that stands for a time: one of many in quick succession says less of the mean than another.
func (f *Fold) add(least, mean, greatest, weight float64) {
	if f.weight == 0 {
		f.Min, f.Max = least, greatest
	}
	f.Min, f.Max = min(f.Min, least), max(f.Max, greatest)
	f.sum += mean * weight
	f.weight += weight
}

func (f *Fold) merge(o Fold) {
	switch {
	case o.weight == 0:
	case f.weight == 0:
		*f = o
	default:
		f.Min, f.Max, f.Bits = min(f.Min, o.Min), max(f.Max, o.Max), f.Bits|o.Bits
		f.sum += o.sum
		f.weight += o.weight
	}
}

// windowBlocks is in how many steps a window slides over its own length.
const windowBlocks = 15

// Window folds the newest frames of a store, those of the last Length, as they are published. It slides in steps of a
// fifteenth of that, so it covers up to one step more. What Update gave is for one goroutine at a time.
type Window struct {
	Length time.Duration

	store  *Store
	groups device.Groups
	step   time.Duration

	mu     sync.Mutex // of what follows
	last   *Frame
	newest folded
	blocks [windowBlocks + 1]block

	shown folded // as of the last Update
	folds []Fold
}

// folded are the columns of a schema that are folded.
type folded struct {
	schema  *Schema
	columns []int
}

// block is what the columns went through in one step.
type block struct {
	step  int64 // counted from the Unix epoch
	folds []Fold
}

// NewWindow folds what a store has and gets of some groups, until Close. What the store has already is folded without
// extents.
func NewWindow(store *Store, groups device.Groups, length time.Duration) *Window {
	w := &Window{Length: length, store: store, groups: groups, step: max(length/windowBlocks, time.Millisecond)}
	store.mu.Lock()
	defer store.mu.Unlock()
	if newest := store.newest.Load(); newest != nil {
		since := newest.Time.Add(-length - w.step)
		// What cannot be read is not folded: the window is as one that began later.
		_ = each(slices.Clone(store.chunks), store.oldest, func(f *Frame) bool {
			if f.Time.After(since) && f.Seq < newest.Seq {
				w.take(f)
			}
			return true
		})
		w.take(newest)
	}
	store.windows = append(slices.Clone(store.windows), w)
	return w
}

// Close ends the folding.
func (w *Window) Close() {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	w.store.windows = slices.DeleteFunc(slices.Clone(w.store.windows), func(o *Window) bool { return o == w })
}

// Update brings Columns, Folds and Mean up to the newest frame, and returns that; nil before the first.
func (w *Window) Update() *Frame {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		return nil
	}
	if w.shown.schema != w.newest.schema {
		w.shown, w.folds = w.newest, make([]Fold, len(w.newest.columns))
	}
	newest := w.stepOf(w.last)
	clear(w.folds)
	for i := range w.blocks {
		if b := &w.blocks[i]; b.folds != nil && b.step >= newest-windowBlocks && b.step <= newest {
			for j := range b.folds {
				w.folds[j].merge(b.folds[j])
			}
		}
	}
	return w.last
}

func (w *Window) stepOf(f *Frame) int64 { return f.Time.UnixNano() / int64(w.step) }

// Columns are the folded columns of the schema of Update's frame. Folds are in the same order.
func (w *Window) Columns() []int { return w.shown.columns }

// Folds are what the columns went through, as of the last Update. They hold until the next one.
func (w *Window) Folds() []Fold { return w.folds }

// Mean of a fold, a little finer than a single reading.
func (w *Window) Mean(i int) float64 {
	f := w.folds[i]
	mean, row := f.sum/f.weight, w.shown.schema.Columns[w.shown.columns[i]].Row
	const finer = 100
	multiplier, divisor := float64(row.Multiplier), float64(row.Divisor)*finer
	if v := math.Round(mean*divisor/multiplier) * multiplier / divisor; !math.IsInf(v, 0) && !math.IsNaN(v) {
		mean = v
	}
	return min(max(mean, f.Min), f.Max)
}

// take adds a frame to the block of its step.
func (w *Window) take(f *Frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.newest.schema != f.Schema {
		w.adopt(f.Schema)
	}
	w.last = f
	step := w.stepOf(f)
	b := &w.blocks[uint64(step)%uint64(len(w.blocks))]
	if b.folds == nil || b.step != step {
		b.step = step
		b.folds = slices.Grow(b.folds[:0], len(w.newest.columns))[:len(w.newest.columns)]
		clear(b.folds)
	}
	weight := max(f.Schema.Node.Period, time.Millisecond).Seconds()
	for i, column := range w.newest.columns {
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
		b.folds[i].add(least, mean, greatest, weight)
		if f.Schema.Columns[column].Metric == device.ClockEventReasons && r.Value >= 0 {
			b.folds[i].Bits |= uint64(r.Value)
		}
	}
}

// adopt takes over a schema. What devices that are in both went through is kept.
func (w *Window) adopt(s *Schema) {
	if w.newest.schema != nil && w.newest.schema.shares(s) {
		w.newest.schema = s
		return
	}
	old := make(map[string]int, len(w.newest.columns))
	for i, column := range w.newest.columns {
		old[key(w.newest.schema, column)] = i
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
	w.newest = folded{schema: s, columns: columns}
}

// key names a column whatever its place in a schema.
func key(s *Schema, column int) string {
	c := s.Columns[column]
	d := s.Devices[c.Device]
	_, variant := c.Metric.Label()
	return d.UUID + "/" + d.MIGUUID + "/" + d.GPUInstance + "/" + d.ComputeInstance + "/" + c.Metric.String() + "/" + variant
}
