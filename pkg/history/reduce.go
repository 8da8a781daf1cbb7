package history

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// grid is the times of an answer.
type grid struct {
	times   []int64
	step    int64 // milliseconds; 0 for an instant
	instant bool
	places  *placement // of the times that were put on it last
}

func gridOf(instant bool, w query.Window) grid {
	if instant {
		return grid{times: []int64{w.To.UnixMilli()}, instant: true, places: &placement{}}
	}
	g := grid{step: w.Step.Milliseconds(), places: &placement{}}
	start, end := w.Start().UnixMilli(), w.End().UnixMilli()
	g.times = make([]int64, 0, (end-start)/g.step+1)
	for t := start; t <= end; t += g.step {
		g.times = append(g.times, t)
	}
	return g
}

func (g grid) stepDuration() time.Duration { return time.Duration(g.step) * time.Millisecond }

// at is the place of a time on the grid, -1 when it is outside. Servers that choose their own times are put on the point
// before.
func (g grid) at(t int64) int {
	if g.instant {
		return 0
	}
	if t < g.times[0] {
		return -1
	}
	if i := int((t - g.times[0]) / g.step); i < len(g.times) {
		return i
	}
	return -1
}

// cursor finds places of rising times, most of which are the next ones.
type cursor struct {
	grid *grid
	at   int // of the time before, -1 at the start
}

func (c *cursor) move(t int64) int {
	if next := c.at + 1; next < len(c.grid.times) && c.grid.times[next] == t {
		c.at = next
		return next
	}
	at := c.grid.at(t)
	c.at = max(at, c.at)
	return at
}

// placement is where rising times are on a grid.
type placement struct {
	times  []int64 // that it is of
	runs   []placed
	crowds bool // several times are at one place
}

// placed is times that follow each other at places that do.
type placed struct{ from, at, count int }

// place finds the places of times. Most series have their times in common with the one before.
func (g grid) place(times []int64) *placement {
	p := g.places
	if len(times) > 0 && len(times) == len(p.times) && &times[0] == &p.times[0] {
		return p
	}
	p.times, p.runs, p.crowds = times, p.runs[:0], false
	move, last := cursor{grid: &g, at: -1}, -1
	for i, t := range times {
		at := move.move(t)
		if at < 0 {
			continue
		}
		if n := len(p.runs); n > 0 && at == last+1 && p.runs[n-1].from+p.runs[n-1].count == i {
			p.runs[n-1].count++
		} else {
			p.runs = append(p.runs, placed{i, at, 1})
		}
		p.crowds = p.crowds || at == last
		last = at
	}
	return p
}

// whole reports whether the times are those of the grid.
func (p *placement) whole(g grid) bool {
	return len(p.times) == len(g.times) && (g.instant || len(p.runs) == 1 && p.runs[0].count == len(g.times) && slices.Equal(p.times, g.times))
}

// column is the values of one device, or of one part of them, on the grid.
type column struct {
	values []float64
	rank   int   // of the wants that all values are from, where ranks is nil
	ranks  []int // of the want each value is from
	least  bool  // of equals the smaller counts, not the larger
}

// firstRank is the rank of the want that the first value is from.
func (c *column) firstRank() int {
	if c.ranks == nil {
		return c.rank
	}
	return c.ranks[0]
}

// beats reports whether of two values as good the first counts.
func (c *column) beats(a, b float64) bool {
	if c.least {
		return a < b
	}
	return a > b
}

// take puts a candidate's values where it is better than what is there, or as good and larger, or smaller where the least counts.
func (c *column) take(g grid, next candidate) {
	places := g.place(next.times)
	switch {
	case c.values == nil:
		c.values, c.rank = places.laid(g, next.values), next.want.rank
	case c.ranks == nil && c.rank == next.want.rank:
		for _, r := range places.runs {
			known := c.values[r.at : r.at+r.count]
			for i, value := range next.values[r.from : r.from+r.count] {
				if c.beats(value, known[i]) || math.IsNaN(known[i]) {
					known[i] = value
				}
			}
		}
	default:
		c.rankEach(places, next)
	}
}

// laid is a series' values on the grid, its own where it has one for each place.
func (p *placement) laid(g grid, values []float64) []float64 {
	if p.whole(g) {
		return values
	}
	laid, end := make([]float64, len(g.times)), 0
	for _, r := range p.runs {
		blank(laid[min(end, r.at):r.at])
		if !p.crowds {
			end = r.at + copy(laid[r.at:], values[r.from:r.from+r.count])
			continue
		}
		for i, value := range values[r.from : r.from+r.count] {
			if at := r.at + i; at >= end || !math.IsNaN(value) {
				laid[at] = value
			}
		}
		end = max(end, r.at+r.count)
	}
	blank(laid[end:])
	return laid
}

func blank(values []float64) {
	for i := range values {
		values[i] = math.NaN()
	}
}

// rankEach is take where the values are of wants that are not as good as each other.
func (c *column) rankEach(places *placement, next candidate) {
	if c.ranks == nil {
		c.ranks = make([]int, len(c.values))
		for i := range c.ranks {
			c.ranks[i] = c.rank
		}
	}
	for _, r := range places.runs {
		for i, value := range next.values[r.from : r.from+r.count] {
			at := r.at + i
			if math.IsNaN(value) {
				continue
			}
			if math.IsNaN(c.values[at]) || next.want.rank < c.ranks[at] || next.want.rank == c.ranks[at] && c.beats(value, c.values[at]) {
				c.values[at], c.ranks[at] = value, next.want.rank
			}
		}
	}
}

// line is all that was found of one device.
type line struct {
	columns []keyedColumn  // few
	first   [1]keyedColumn // room for the one that most have
	added   bool
	values  []float64 // of the columns together, once they were added up
}

// keyedColumn is a column and what it is of.
type keyedColumn struct {
	columnKey
	column
}

// columnKey tells apart what is added up: the values of the SumOver label, and the parts of a sum.
type columnKey struct {
	extra string
	part  int // -1 for what holds the metric itself
}

// column is the one of a key, which may be new.
func (l *line) column(at columnKey, least bool) *column {
	for i := range l.columns {
		if l.columns[i].columnKey == at {
			return &l.columns[i].column
		}
	}
	if l.columns == nil {
		l.columns = l.first[:0]
	}
	l.columns = append(l.columns, keyedColumn{at, column{least: least}})
	return &l.columns[len(l.columns)-1].column
}

// sorted are the columns in a fixed order, so that sums do not depend on chance.
func (l *line) sorted() []keyedColumn {
	slices.SortFunc(l.columns, func(a, b keyedColumn) int {
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.extra, b.extra))
	})
	return l.columns
}

// reduction makes one series of all candidates for a device.
type reduction struct {
	metric catalog.Metric
	scope  query.Scope
	roster roll
	grid   grid
	over   overTime
	lines  map[deviceKey]*line
	order  []deviceKey
	room   []line // for lines to come

	substituted, summed, ended, blank int
	lastEnd                           time.Time
	latched                           []gpu.Notice
}

// newReduction is a reduction of about so many series.
func newReduction(m catalog.Metric, s query.Scope, known roll, g grid, series int) *reduction {
	return &reduction{
		metric: m, scope: s, roster: known, grid: g, lines: make(map[deviceKey]*line, series), order: make([]deviceKey, 0, series),
	}
}

// device is what is known of a key; its node is the one all exporters are called by.
func (r *reduction) device(key deviceKey) gpu.Device { return r.roster.at(key).device }

// has reports whether something was found of a device in the scope.
func (r *reduction) has(key deviceKey) bool { return r.lines[key] != nil }

// linesAtOnce is for how many lines memory is taken at a time.
const linesAtOnce = 256

// add takes a candidate in if the scope selects its device.
func (r *reduction) add(c candidate) {
	l, ok := r.lines[c.key]
	if !ok {
		if !r.scope.Matches(r.device(c.key)) {
			return
		}
		if len(r.room) == 0 {
			r.room = make([]line, min(max(cap(r.order)-len(r.order), 1), linesAtOnce))
		}
		l, r.room = &r.room[0], r.room[1:]
		r.lines[c.key] = l
		r.order = append(r.order, c.key)
	}
	at := columnKey{extra: c.extra, part: -1}
	if c.want.role == part {
		at.part = c.want.part
	}
	l.column(at, r.over.function == catalog.OverTimeMin).take(r.grid, c)
}

// found are the reduced lines, in the order in which their devices were met. Lines without a single value are left out.
func (r *reduction) found() []Line {
	list := make([]Line, 0, len(r.lines))
	times := r.grid.times
	for _, key := range r.order {
		values := r.valuesOf(key)
		from, to := extent(values)
		if from == to {
			r.blank++
			continue
		}
		if end := times[to-1]; times[len(times)-1]-end > max(endedAfter, 2*r.grid.stepDuration()).Milliseconds() {
			r.ended++
			if at := time.UnixMilli(end); at.After(r.lastEnd) {
				r.lastEnd = at
			}
		}
		list = append(list, Line{Device: &r.roster.at(key).device, Times: times[from:to:to], Values: values[from:to:to]})
	}
	if r.metric.Latched {
		list = byPlace(list)
		r.latched = latchedNotices(r.metric.Name, list, r.grid)
	}
	return list
}

// series are the reduced lines as series, sorted by place.
func (r *reduction) series() []gpu.Series {
	lines := byPlace(r.found())
	list := make([]gpu.Series, len(lines))
	for i, l := range lines {
		list[i] = l.Series()
	}
	return list
}

// byPlace sorts lines in the order of their devices.
func byPlace(list []Line) []Line {
	order := func(a, b Line) int { return comparePlaces(a.Device, b.Device) }
	if !slices.IsSortedFunc(list, order) {
		slices.SortFunc(list, order)
	}
	return list
}

// valuesOf are a line's values on the grid. They may be changed until series are made of them.
func (r *reduction) valuesOf(key deviceKey) []float64 {
	l := r.lines[key]
	if !l.added {
		l.values, l.added = r.values(l), true
	}
	return l.values
}

// endedAfter is how long a series may be behind before it counts as ended. Some servers hold back the newest samples.
const endedAfter = 2 * time.Minute

// extent is where the values are between the gaps at both ends.
func extent(values []float64) (from, to int) {
	to = len(values)
	for from < to && math.IsNaN(values[from]) {
		from++
	}
	for to > from && math.IsNaN(values[to-1]) {
		to--
	}
	return from, to
}

// values adds up a line's columns. A sum of parts stands where the metric itself is missing.
func (r *reduction) values(l *line) []float64 {
	var total, sum []float64
	parts := 0
	for _, c := range l.sorted() {
		if c.part >= 0 {
			parts++
			sum = added(sum, c.values, false)
			continue
		}
		if c.firstRank() >= substituteRank {
			r.substituted++
		}
		total = added(total, c.values, true)
	}
	if parts < 2 {
		return total
	}
	if total == nil {
		r.summed++
		return sum
	}
	for i, v := range sum {
		if math.IsNaN(total[i]) {
			total[i] = v
		}
	}
	return total
}

// added is a + b. Where one is missing the sum is the other, or missing as well when it must have both.
func added(a, b []float64, either bool) []float64 {
	if a == nil {
		return b
	}
	sum := make([]float64, len(a))
	for i := range a {
		switch {
		case either && math.IsNaN(a[i]):
			sum[i] = b[i]
		case either && math.IsNaN(b[i]):
			sum[i] = a[i]
		default:
			sum[i] = a[i] + b[i]
		}
	}
	return sum
}
