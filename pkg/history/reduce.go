package history

import (
	"cmp"
	"maps"
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
}

func gridOf(instant bool, w query.Window) grid {
	if instant {
		return grid{times: []int64{w.To.UnixMilli()}, instant: true}
	}
	g := grid{step: w.Step.Milliseconds()}
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

// whole reports whether times are those of the grid.
func (g grid) whole(times []int64) bool {
	return len(times) == len(g.times) && (g.instant || slices.Equal(times, g.times))
}

// column is the values of one device, or of one part of them, on the grid.
type column struct {
	values []float64
	ranks  []int // of the want each value is from
	least  bool  // of equals the smaller counts, not the larger
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
	if c.values == nil {
		if g.whole(next.times) {
			c.values = next.values
		} else {
			c.values = make([]float64, len(g.times))
			for i := range c.values {
				c.values[i] = math.NaN()
			}
			place := cursor{grid: &g, at: -1}
			for i, t := range next.times {
				if at := place.move(t); at >= 0 && !math.IsNaN(next.values[i]) {
					c.values[at] = next.values[i]
				}
			}
		}
		c.ranks = []int{next.want.rank}
		return
	}
	place := cursor{grid: &g, at: -1}
	if len(c.ranks) == 1 && c.ranks[0] == next.want.rank {
		for i, t := range next.times {
			if at := place.move(t); at >= 0 {
				if value, known := next.values[i], c.values[at]; c.beats(value, known) || math.IsNaN(known) {
					c.values[at] = value
				}
			}
		}
		return
	}
	if len(c.ranks) != len(c.values) {
		rank := c.ranks[0]
		c.ranks = make([]int, len(c.values))
		for i := range c.ranks {
			c.ranks[i] = rank
		}
	}
	for i, t := range next.times {
		at, value := place.move(t), next.values[i]
		if at < 0 || math.IsNaN(value) {
			continue
		}
		if math.IsNaN(c.values[at]) || next.want.rank < c.ranks[at] || next.want.rank == c.ranks[at] && c.beats(value, c.values[at]) {
			c.values[at], c.ranks[at] = value, next.want.rank
		}
	}
}

// line is all that was found of one device.
type line struct {
	columns map[columnKey]*column
}

// columnKey tells apart what is added up: the values of the SumOver label, and the parts of a sum.
type columnKey struct {
	extra string
	part  int // -1 for what holds the metric itself
}

// keys are the columns' keys in a fixed order, so that sums do not depend on chance.
func (l *line) keys() []columnKey {
	keys := slices.Collect(maps.Keys(l.columns))
	slices.SortFunc(keys, func(a, b columnKey) int {
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.extra, b.extra))
	})
	return keys
}

// reduction makes one series of all candidates for a device.
type reduction struct {
	metric catalog.Metric
	scope  query.Scope
	roster roster
	grid   grid
	over   overTime
	lines  map[deviceKey]*line
	order  []deviceKey

	substituted, summed, ended, blank int
	lastEnd                           time.Time
	latched                           []gpu.Notice
	computed                          map[deviceKey][]float64 // values of lines, once they were asked for
}

func newReduction(m catalog.Metric, s query.Scope, known roster, g grid) *reduction {
	return &reduction{metric: m, scope: s, roster: known, grid: g, lines: map[deviceKey]*line{}, computed: map[deviceKey][]float64{}}
}

// device is what is known of a key; its node is the one all exporters are called by.
func (r *reduction) device(key deviceKey) gpu.Device { return r.roster[key].device }

// has reports whether something was found of a device in the scope.
func (r *reduction) has(key deviceKey) bool { return r.lines[key] != nil }

// add takes a candidate in if the scope selects its device.
func (r *reduction) add(c candidate) {
	l, ok := r.lines[c.key]
	if !ok {
		if !r.scope.Matches(r.device(c.key)) {
			return
		}
		l = &line{columns: map[columnKey]*column{}}
		r.lines[c.key] = l
		r.order = append(r.order, c.key)
	}
	at := columnKey{extra: c.extra, part: -1}
	if c.want.role == part {
		at.part = c.want.part
	}
	known, ok := l.columns[at]
	if !ok {
		known = &column{least: r.over.function == catalog.OverTimeMin}
		l.columns[at] = known
	}
	known.take(r.grid, c)
}

// series are the reduced lines, sorted by place. Lines without a single value are left out.
func (r *reduction) series() []gpu.Series {
	list := make([]gpu.Series, 0, len(r.lines))
	for _, key := range r.order {
		values := r.valuesOf(key)
		times := r.grid.times
		from, to := extent(values)
		if from == to {
			r.blank++
			continue
		}
		if end := time.UnixMilli(times[to-1]); time.UnixMilli(times[len(times)-1]).Sub(end) > max(endedAfter, 2*r.grid.stepDuration()) {
			r.ended++
			if end.After(r.lastEnd) {
				r.lastEnd = end
			}
		}
		list = append(list, gpu.Series{Device: r.device(key), Times: times[from:to:to], Values: values[from:to:to]})
	}
	slices.SortFunc(list, func(a, b gpu.Series) int { return compareDevices(a.Device, b.Device) })
	if r.metric.Latched {
		r.latched = latchedNotices(r.metric.Name, list, r.grid)
	}
	return list
}

// valuesOf are a line's values on the grid. They may be changed until series are made of them.
func (r *reduction) valuesOf(key deviceKey) []float64 {
	values, ok := r.computed[key]
	if !ok {
		values = r.values(r.lines[key])
		r.computed[key] = values
	}
	return values
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
	for _, at := range l.keys() {
		c := l.columns[at]
		if at.part >= 0 {
			parts++
			sum = added(sum, c.values, false)
			continue
		}
		if c.ranks[0] >= substituteRank {
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
