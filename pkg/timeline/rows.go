package timeline

import (
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Rows turns the ticks of many nodes into the rows of one wide table, one row a bin of the grid, in rising order. A
// row is handed out as soon as every expected node has said all it will say about its bin, with a single node
// therefore at once, and at the latest when its deadline has passed. A device that has no value in a bin is NaN there.
//
// What it holds is bounded: the newest bins, a few values for each device. Time is what the caller says it is.
// It is not safe for concurrent use.
type Rows struct {
	plan RowPlan

	fields  []Field
	fieldAt map[key]int

	members  []member
	memberAt map[key]int
	nodes    map[string]*rowNode

	order []*rowNode // by their ids
	lines []Field    // in place of fields, where a row is a spread of them
	room  []float64  // of the values of a row, from one to the next

	bins    []*rowBin // rising
	emitted int64     // start of the newest bin that was handed out
	any     bool      // whether emitted is set

	dropped Dropped
}

// RowPlan is a [Plan] and how its rows are handed out.
type RowPlan struct {
	Plan
	// Wait is how long after the end of a bin late ticks are waited for. 0 is two periods, but at least 1.5 seconds,
	// which is what a clock may be off before it is corrected, and some for the way.
	Wait time.Duration
	// MaxBins is how many unfinished bins are held before the oldest is handed out as it is. 0 is 64.
	MaxBins int
	// Fields are columns that the table starts with, in this order. Others are appended as their devices appear; none
	// is ever removed or moved.
	Fields []Field
	// After is the start of the newest bin that is already shown, in Unix milliseconds: no row up to it is handed
	// out. 0 when there is none.
	After int64
	// Spread makes the values of a row out of those of all lines, however many: one for each of Fields, which then stay
	// as they are. nil: a row has a value for each line.
	Spread Spread
}

// Spread says how the values of many lines are distributed, in a row of fixed width.
type Spread interface {
	// Row is called with the finite values of one bin, in no order. They are Row's to reorder until it returns, and may
	// be none. What it returns is the caller's.
	Row(values []float64) []float64
}

// Field is one column: a device, or the labels of a group.
type Field struct {
	Device gpu.Device
	Labels map[string]string
}

// Row is one bin of the grid.
type Row struct {
	Time   int64     // start of the bin, Unix milliseconds
	Values []float64 // one for each of the fields there were then; NaN where there is none
}

// Tick is one sampling of one metric on one node.
type Tick struct {
	Node    string
	Time    int64        // Unix milliseconds, on the reader's clock
	Devices []gpu.Device // must not be written to afterwards; the same slice is taken to be the same devices
	Values  []float64    // one for each device; NaN where there is none
}

// Dropped counts ticks that are in no row.
type Dropped struct {
	Late     uint64 // their bin had been handed out
	Ahead    uint64 // their time was further in the future than clocks may differ
	Repeated uint64 // a tick of their time or a later one was there before
}

// maxAhead is how far past the end of its bin a tick may be, on top of a step.
const maxAhead = 5 * time.Second

// member is one device of the table.
type member struct {
	node   *rowNode
	field  int
	parent int     // the member that counts instead of this MIG instance, -1 when there is none
	weight float64 // in averages

	counter *counter // of a counter's reading

	carried    float64 // its value in the newest bin that was handed out and that it had a tick in
	carriedBin int64
	hasCarried bool
}

type rowNode struct {
	id       int
	expected bool
	period   int64
	heard    int64 // time of its newest tick, also of one that is in no row

	devices []gpu.Device
	members []int // of each of the devices

	ticked bool
	last   int64     // time of the newest tick
	bin    int64     // and the bin it is in
	cell   []float64 // what was last measured in that bin, for each device
}

type rowBin struct {
	start  int64
	values []float64 // for each member, NaN when there is none; shorter than the members when some came later
	ticked []bool    // for each node
	done   int       // nodes before it, by their ids, have said all about the bin
}

// NewRows starts an empty table. The plan's step must be at least a millisecond.
func NewRows(plan RowPlan) *Rows {
	plan.Step = max(plan.Step, time.Millisecond)
	if plan.Wait <= 0 {
		plan.Wait = max(2*plan.Period, 1500*time.Millisecond)
	}
	if plan.MaxBins <= 0 {
		plan.MaxBins = 64
	}
	r := &Rows{
		plan: plan, fields: slices.Clone(plan.Fields), fieldAt: make(map[key]int), memberAt: make(map[key]int),
		nodes: make(map[string]*rowNode), emitted: plan.After, any: plan.After != 0,
	}
	if plan.Spread != nil {
		return r
	}
	for i, f := range r.fields {
		r.fieldAt[keyOf(f.Device, f.Labels)] = i
	}
	return r
}

// Fields are the columns so far. Rows handed out before some of them appeared are shorter.
func (r *Rows) Fields() []Field { return slices.Clip(r.fields) }

// Dropped counts what was left out so far.
func (r *Rows) Dropped() Dropped { return r.dropped }

// Expect makes rows wait for a node, which ticks every period. Rows that are complete without it are handed out by the
// next Add or Advance.
func (r *Rows) Expect(node string, period time.Duration) {
	n := r.node(node)
	n.expected, n.period = true, period.Milliseconds()
	for _, bin := range r.bins {
		bin.done = min(bin.done, n.id)
	}
}

// Forget makes rows no longer wait for a node, for example because its connection broke. Its columns stay.
func (r *Rows) Forget(node string) {
	if n, ok := r.nodes[node]; ok {
		n.expected = false
	}
}

// Add takes the next tick of a node and returns the rows that are complete by now. Ticks of one node must rise in
// time; one that does not, or whose bin was handed out, is dropped and counted.
func (r *Rows) Add(now time.Time, tick Tick) []Row {
	n := r.node(tick.Node)
	step := r.plan.Step.Milliseconds()
	bin := floor(tick.Time, step)
	r.enroll(n, tick.Devices)
	values := r.values(n, tick)
	heard := n.heard
	n.heard = max(heard, tick.Time)
	switch {
	case tick.Time > now.Add(r.plan.Step+maxAhead).UnixMilli():
		n.heard = heard
		r.dropped.Ahead++
		return r.Advance(now)
	case tick.Time <= heard && (n.ticked && tick.Time <= n.last || r.any && bin <= r.emitted):
		r.dropped.Repeated++
		return r.Advance(now)
	case r.any && bin <= r.emitted:
		r.dropped.Late++
		return r.Advance(now)
	}

	switch {
	case !n.ticked || bin != n.bin:
		if n.ticked && skipped(n.bin, bin, n.last, step, early(r.plan.Step, time.Duration(n.period)*time.Millisecond)) &&
			!(r.any && n.bin+step <= r.emitted) {
			r.fill(n, n.bin+step, n.cell)
		}
		n.cell = append(n.cell[:0], values...)
	default:
		for i, v := range values {
			n.cell[i] = r.plan.Keep.merge(n.cell[i], v)
		}
	}
	n.ticked, n.last, n.bin = true, tick.Time, bin
	r.fill(n, bin, n.cell)
	return r.Advance(now)
}

// Advance returns the rows that are complete or whose deadline has passed.
func (r *Rows) Advance(now time.Time) []Row {
	var rows []Row
	for len(r.bins) > 0 {
		bin := r.bins[0]
		if !r.complete(bin) && now.UnixMilli() < r.deadline(bin) && len(r.bins) <= r.plan.MaxBins {
			break
		}
		r.bins = slices.Delete(r.bins, 0, 1)
		r.emitted, r.any = bin.start, true
		rows = append(rows, r.row(bin))
	}
	return rows
}

// Deadline is when Advance is to be called if no tick comes before. It is false when nothing is waited for.
func (r *Rows) Deadline() (time.Time, bool) {
	if len(r.bins) == 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(r.deadline(r.bins[0])), true
}

func (r *Rows) deadline(bin *rowBin) int64 {
	return bin.start + (r.plan.Step + r.plan.Wait).Milliseconds()
}

// complete reports whether no expected node's next tick is due before the end of the bin.
func (r *Rows) complete(bin *rowBin) bool {
	end := bin.start + r.plan.Step.Milliseconds()
	for ; bin.done < len(r.order); bin.done++ {
		if n := r.order[bin.done]; n.expected && (!n.ticked || n.last+n.period < end) {
			return false
		}
	}
	return true
}
