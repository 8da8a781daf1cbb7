package timeline

import (
	"math"
	"math/bits"
	"slices"
	"sort"
)

// buckets is how many parts the span of many values is cut into, to find quantiles of them without ordering all.
const buckets = 1024

// quantiler finds quantiles. It keeps room from one call to the next.
type quantiler struct {
	bucket []uint16           // of each value
	before [buckets + 1]int   // how many values are in smaller buckets
	wanted [buckets]bool      // a rank is in it
	found  [buckets][]float64 // values of the wanted buckets
	places []place            // of the levels
}

// place is where a level's value stands among sorted values: at a rank, or between it and the next.
type place struct {
	rank   int
	weight float64 // of the next
}

func placeOf(quantile float64, count int) place {
	rank := quantile * float64(count-1)
	return place{int(rank), rank - math.Floor(rank)}
}

// quantiles writes the quantile of each level into out. Values are finite and at least one; they are reordered. Levels
// rise from 0 to 1.
func (q *quantiler) quantiles(values []float64, levels []Level, out []float64) {
	low, high := values[0], values[0]
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	scale := buckets / (high - low)
	if len(values) < buckets/4 || math.IsInf(scale, 0) || scale == 0 {
		from := 0
		for i, level := range levels {
			out[i], from = quantile(values, from, level.Quantile)
		}
		return
	}
	q.sort(values, low, scale)
	q.places = q.places[:0]
	for _, level := range levels {
		p := placeOf(level.Quantile, len(values))
		q.places = append(q.places, p)
		q.want(p.rank)
		if p.weight > 0 {
			q.want(p.rank + 1)
		}
	}
	for i, b := range q.bucket {
		if q.wanted[b] {
			q.found[b] = append(q.found[b], values[i])
		}
	}
	for i, p := range q.places {
		out[i] = q.at(p.rank)
		if p.weight > 0 {
			out[i] = out[i]*(1-p.weight) + q.at(p.rank+1)*p.weight
		}
	}
}

// sort finds each value's bucket. Buckets rise with the values.
func (q *quantiler) sort(values []float64, low, scale float64) {
	if cap(q.bucket) < len(values) {
		q.bucket = make([]uint16, len(values))
	}
	q.bucket = q.bucket[:len(values)]
	clear(q.before[:])
	for b := range q.wanted {
		q.wanted[b], q.found[b] = false, q.found[b][:0]
	}
	for i, v := range values {
		b := min(uint16((v-low)*scale), buckets-1)
		q.bucket[i] = b
		q.before[b+1]++
	}
	for b := range buckets {
		q.before[b+1] += q.before[b]
	}
}

// bucketOf is the bucket that a rank is in.
func (q *quantiler) bucketOf(rank int) int {
	return sort.Search(buckets, func(b int) bool { return q.before[b+1] > rank })
}

func (q *quantiler) want(rank int) { q.wanted[q.bucketOf(rank)] = true }

// at is the value that sorting would put at a rank.
func (q *quantiler) at(rank int) float64 {
	b := q.bucketOf(rank)
	n := rank - q.before[b]
	selectNth(q.found[b], n)
	return q.found[b][n]
}

// quantile is the q-quantile of values, which are finite and at least one. It reorders them: what is before the index
// that it returns is not larger than the rest, so that the next higher quantile begins to look there.
func quantile(values []float64, from int, q float64) (value float64, next int) {
	p := placeOf(q, len(values))
	selectNth(values[from:], p.rank-from)
	low := values[p.rank]
	if p.weight == 0 {
		return low, p.rank
	}
	return low*(1-p.weight) + slices.Min(values[p.rank+1:])*p.weight, p.rank
}

// selectNth puts the value that sorting would put at n there, none larger before it and none smaller after it. It takes
// linear time, and where the pivots are bad ones that of a sort.
func selectNth(values []float64, n int) {
	for tries := 2 * bits.Len(uint(len(values))); len(values) > 1; tries-- {
		if tries == 0 || len(values) <= 12 {
			slices.Sort(values)
			return
		}
		if n == 0 {
			least := minIndex(values)
			values[0], values[least] = values[least], values[0]
			return
		}
		if last := len(values) - 1; n == last {
			most := maxIndex(values)
			values[last], values[most] = values[most], values[last]
			return
		}
		below, equal := partition(values, pivot(values))
		switch {
		case n < below:
			values = values[:below]
		case n < below+equal:
			return
		default:
			values, n = values[below+equal:], n-below-equal
		}
	}
}

// partition puts smaller values first, then the equal, then the larger, and returns how many of the first two there are.
func partition(values []float64, pivot float64) (below, equal int) {
	at, above := 0, len(values)
	for at < above {
		switch v := values[at]; {
		case v < pivot:
			values[at], values[below] = values[below], v
			below++
			at++
		case v > pivot:
			above--
			values[at], values[above] = values[above], v
		default:
			at++
		}
	}
	return below, above - below
}

// pivot is the median of three, or for many of three such medians. It depends on nothing but the values.
func pivot(values []float64) float64 {
	n := len(values)
	if n < 100 {
		return median(values[0], values[n/2], values[n-1])
	}
	step := n / 9
	var thirds [3]float64
	for i := range thirds {
		at := (3*i + 1) * step
		thirds[i] = median(values[at-step], values[at], values[at+step])
	}
	return median(thirds[0], thirds[1], thirds[2])
}

func median(a, b, c float64) float64 { return math.Max(math.Min(a, b), math.Min(math.Max(a, b), c)) }

func minIndex(values []float64) int {
	best := 0
	for i, v := range values {
		if v < values[best] {
			best = i
		}
	}
	return best
}

func maxIndex(values []float64) int {
	best := 0
	for i, v := range values {
		if v > values[best] {
			best = i
		}
	}
	return best
}
