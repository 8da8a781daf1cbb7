package history

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// workloadLine is all that was found of one workload.
type workloadLine struct {
	workload catalog.Workload
	value    column
	observed map[int]*observed // of each rank of sources
	ranks    []int             // of observed, the best first
}

// observed is what one source tells of a distribution.
type observed struct {
	sum, count column
	buckets    map[float64]*column
	bounds     []float64 // of buckets, rising
}

// workloadLines make one series of all candidates for a workload or a group.
type workloadLines struct {
	grid grid
	at   map[workloadKey]*workloadLine
}

func (l *workloadLines) add(c workloadCandidate) {
	key := keyOfWorkload(c.workload)
	line, ok := l.at[key]
	if !ok {
		line = &workloadLine{workload: c.workload, observed: map[int]*observed{}}
		l.at[key] = line
	}
	if line.workload.Node == "" {
		line.workload.Node = c.workload.Node
	}
	if c.facet == whole {
		line.value.take(l.grid, c.column)
		return
	}
	rank := c.column.want.rank
	o, ok := line.observed[rank]
	if !ok {
		o = &observed{buckets: map[float64]*column{}}
		line.observed[rank] = o
		line.ranks = append(line.ranks, rank)
		slices.Sort(line.ranks)
	}
	switch c.facet {
	case sumOfAll:
		o.sum.take(l.grid, c.column)
	case countOfAll:
		o.count.take(l.grid, c.column)
	default:
		if o.buckets[c.bound] == nil {
			o.buckets[c.bound] = &column{}
			at, _ := slices.BinarySearch(o.bounds, c.bound)
			o.bounds = slices.Insert(o.bounds, at, c.bound)
		}
		o.buckets[c.bound].take(l.grid, c.column)
	}
}

// series are the lines, sorted by place. Those without a single value are left out.
func (l *workloadLines) series(q query.Query, m catalog.Metric) []gpu.Series {
	type group struct {
		labels  map[string]string
		members []*workloadLine
	}
	var groups []*group
	known := map[string]*group{}
	lines := sortedWorkloads(l.at)
	alike := map[string]int{}
	for _, line := range lines {
		alike[labelKey(labelsOf(line.workload, line.workload.Pod == ""))]++
	}
	for _, line := range lines {
		w := line.workload
		labels := labelsOf(w, w.Pod == "")
		if alike[labelKey(labels)] > 1 {
			labels = labelsOf(w, true)
		}
		if q.AggregateBy != query.ByIdentity {
			labels = groupOfWorkload(w, q.AggregateBy)
		}
		key := labelKey(labels)
		if known[key] == nil {
			known[key] = &group{labels: labels}
			groups = append(groups, known[key])
		}
		known[key].members = append(known[key].members, line)
	}
	list := make([]gpu.Series, 0, len(groups))
	for _, g := range groups {
		values := l.values(g.members, m, q.AggregationOf(m))
		from, to := extent(values)
		if from < to {
			list = append(list, gpu.Series{Labels: g.labels, Times: l.grid.times[from:to:to], Values: values[from:to:to]})
		}
	}
	return list
}

// values of workloads together.
func (l *workloadLines) values(members []*workloadLine, m catalog.Metric, aggregation string) []float64 {
	values := make([]float64, len(l.grid.times))
	for i := range values {
		switch {
		case m.Kind != catalog.Histogram:
			values[i] = foldOf(members, i, aggregation)
		case aggregation == "avg":
			values[i] = meanOf(members, i)
		default:
			values[i] = pooledQuantile(members, i, aggregation)
		}
		if m.Max != 0 && values[i] > m.Max && len(members) == 1 {
			values[i] = math.NaN()
		}
	}
	return values
}

func (c column) at(i int) float64 {
	if i >= len(c.values) {
		return math.NaN()
	}
	return c.values[i]
}

// foldOf is the aggregate of those that have a value at a time, NaN when none has.
func foldOf(members []*workloadLine, i int, aggregation string) float64 {
	result, n := math.NaN(), 0
	for _, line := range members {
		v := line.value.at(i)
		if math.IsNaN(v) {
			continue
		}
		n++
		switch {
		case n == 1:
			result = v
		case aggregation == "max":
			result = math.Max(result, v)
		case aggregation == "min":
			result = math.Min(result, v)
		default:
			result += v
		}
	}
	if aggregation == "avg" && n > 1 {
		result /= float64(n)
	}
	return result
}

// meanOf is the mean of all that was observed around a time, NaN when nothing was.
func meanOf(members []*workloadLine, i int) float64 {
	var sum, count float64
	for _, line := range members {
		for _, rank := range line.ranks {
			o := line.observed[rank]
			if n := o.count.at(i); n > 0 && !math.IsNaN(o.sum.at(i)) {
				sum, count = sum+o.sum.at(i), count+n
				break
			}
		}
	}
	if count == 0 {
		return math.NaN()
	}
	return sum / count
}

// pooledQuantile is the quantile of all that was observed around a time: by members' own quantiles where these are all
// there is, which are of one workload or of native histograms, and otherwise from all buckets together. Within a bucket
// values count as spread evenly, as Prometheus has it, so that buckets with different bounds can be put together.
func pooledQuantile(members []*workloadLine, i int, aggregation string) float64 {
	var pool []distribution
	highest := math.NaN()
	for _, line := range members {
		if v := line.value.at(i); !math.IsNaN(v) && !(v <= highest) {
			highest = v
		}
		for _, rank := range line.ranks {
			if d := line.observed[rank].distribution(i); d.total() > 0 {
				pool = append(pool, d)
				break
			}
		}
	}
	if len(pool) == 0 {
		return highest
	}
	q, _ := strconv.ParseFloat(strings.TrimPrefix(aggregation, "p"), 64)
	if v := poolOf(pool).quantile(q / 100); !(v <= highest) {
		return v
	}
	return highest
}

// distribution is how many values are at or below each of some bounds, of which the last is infinite.
type distribution struct{ bounds, below []float64 }

func (o *observed) distribution(i int) distribution {
	var d distribution
	most := 0.0
	for _, bound := range o.bounds {
		v := o.buckets[bound].at(i)
		if math.IsNaN(v) {
			continue
		}
		most = max(most, v) // rates of buckets may be off by a rounding
		d.bounds, d.below = append(d.bounds, bound), append(d.below, most)
	}
	return d
}

// total is how many values there are, 0 when that is not known.
func (d distribution) total() float64 {
	if n := len(d.bounds); n > 1 && math.IsInf(d.bounds[n-1], 1) {
		return d.below[n-1]
	}
	return 0
}

// at is how many values are at or below a bound.
func (d distribution) at(bound float64) float64 {
	n, exact := slices.BinarySearch(d.bounds, bound)
	if exact {
		return d.below[n]
	}
	last := len(d.bounds) - 1
	lower, under := 0.0, 0.0
	if n > 0 {
		lower, under = d.bounds[n-1], d.below[n-1]
	}
	switch {
	case n == last: // they are somewhere above the highest bound
		return under
	case n == 0 && d.bounds[0] <= 0 || bound <= lower:
		return 0
	}
	return under + (d.below[n]-under)*(bound-lower)/(d.bounds[n]-lower)
}

// poolOf adds distributions up.
func poolOf(all []distribution) distribution {
	if len(all) == 1 {
		return all[0]
	}
	var sum distribution
	for _, d := range all {
		for _, bound := range d.bounds {
			if at, known := slices.BinarySearch(sum.bounds, bound); !known {
				sum.bounds = slices.Insert(sum.bounds, at, bound)
			}
		}
	}
	sum.below = make([]float64, len(sum.bounds))
	for i, bound := range sum.bounds {
		for _, d := range all {
			sum.below[i] += d.at(bound)
		}
	}
	return sum
}

// quantile is Prometheus' histogram_quantile.
func (d distribution) quantile(q float64) float64 {
	rank := q * d.total()
	last := len(d.bounds) - 1
	n := 0
	for n < last && d.below[n] < rank {
		n++
	}
	switch {
	case n == last:
		return d.bounds[last-1]
	case n == 0 && d.bounds[0] <= 0:
		return d.bounds[0]
	}
	lower, under := 0.0, 0.0
	if n > 0 {
		lower, under = d.bounds[n-1], d.below[n-1]
	}
	if d.below[n] == under {
		return d.bounds[n]
	}
	return lower + (d.bounds[n]-lower)*(rank-under)/(d.below[n]-under)
}
