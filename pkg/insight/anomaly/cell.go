package anomaly

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// kept is how many values an hour is remembered by.
const kept = 12

// cell is the values of one hour in rising order: all of them up to kept; else the lowest, the highest, and between them the
// middles of equal parts of the others.
type cell struct {
	count  uint32
	values [kept]float32
}

// weighted is a value that stands for several.
type weighted struct{ value, weight float64 }

// fold puts more values into a cell. They are sorted in place.
func (c *cell) fold(more []float32) {
	slices.Sort(more)
	n := int(c.count)
	if total := n + len(more); total <= kept {
		copy(c.values[n:], more)
		if n > 0 {
			slices.Sort(c.values[:total])
		}
		c.count = uint32(total)
		return
	}
	points := c.points(make([]weighted, 0, kept+len(more)))
	for _, v := range more {
		points = append(points, weighted{float64(v), 1})
	}
	c.compress(points)
}

// merge puts another cell's values into a cell.
func (c *cell) merge(other *cell) {
	if other.count == 0 {
		return
	}
	if int(other.count) <= kept {
		c.fold(slices.Clone(other.values[:other.count]))
		return
	}
	points := make([]weighted, 0, 2*kept)
	c.compress(other.points(c.points(points)))
}

// points appends a cell's values with their weights.
func (c *cell) points(buffer []weighted) []weighted {
	if c.count <= kept {
		for _, v := range c.values[:c.count] {
			buffer = append(buffer, weighted{float64(v), 1})
		}
		return buffer
	}
	inner := float64(c.count-2) / (kept - 2)
	for i, v := range c.values {
		w := inner
		if i == 0 || i == kept-1 {
			w = 1
		}
		buffer = append(buffer, weighted{float64(v), w})
	}
	return buffer
}

// compress makes points the content of a cell.
func (c *cell) compress(points []weighted) {
	slices.SortFunc(points, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	total := 0.0
	for _, p := range points {
		total += p.weight
	}
	c.count = uint32(min(math.Round(total), math.MaxUint32))
	c.values[0], c.values[kept-1] = float32(points[0].value), float32(points[len(points)-1].value)
	at, sum := 0, points[0].weight
	for i := range kept - 2 {
		target := 1 + (float64(i)+0.5)/(kept-2)*(total-2)
		for sum < target && at < len(points)-1 {
			at++
			sum += points[at].weight
		}
		c.values[i+1] = float32(points[at].value)
	}
}

// pool is values of several cells with their weights. plain says that all of them weigh 1, and that weights are left out.
type pool struct {
	values, weights []float64
	plain           bool
	weight          float64   // of all
	ends            []int     // of the cells' values, each of which are in order
	spare           []float64 // to merge them into
}

func (p *pool) reset() {
	p.values, p.weights, p.ends, p.plain, p.weight = p.values[:0], p.weights[:0], p.ends[:0], true, 0
}

// sort merges what the cells had in order, which takes half of the time of sorting it anew.
func (p *pool) sort() {
	p.spare = slices.Grow(p.spare[:0], len(p.values))[:len(p.values)]
	for len(p.ends) > 1 {
		from, merged := 0, 0
		for i := 0; i < len(p.ends); i += 2 {
			middle := p.ends[i]
			end := p.ends[min(i+1, len(p.ends)-1)]
			merge(p.spare[from:end], p.values[from:middle], p.values[middle:end])
			p.ends[merged] = end
			merged++
			from = end
		}
		p.ends = p.ends[:merged]
		p.values, p.spare = p.spare, p.values
	}
}

// merge puts two sorted lists into one.
func merge(to, a, b []float64) {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		// Which of them is next is a coin that the processor cannot guess: both ways are the same steps.
		x, y := a[i], b[j]
		second := 0
		if y < x {
			second = 1
		}
		to[i+j] = min(x, y)
		j += second
		i += 1 - second
	}
	copy(to[i+j:], a[i:])
	copy(to[len(a)+j:], b[j:])
}

// take adds a cell's values.
func (p *pool) take(c *cell) {
	if c.count == 0 {
		return
	}
	p.weight += float64(c.count)
	values := c.values[:min(c.count, kept)]
	if c.count > kept && p.plain {
		p.plain = false
		p.weights = append(p.weights[:0], slices.Repeat([]float64{1}, len(p.values))...)
	}
	for _, v := range values {
		p.values = append(p.values, float64(v))
	}
	if !p.plain {
		inner := 1.0
		if c.count > kept {
			inner = float64(c.count-2) / (kept - 2)
		}
		for i := range values {
			w := inner
			if i == 0 || i == kept-1 {
				w = 1
			}
			p.weights = append(p.weights, w)
		}
	}
	p.ends = append(p.ends, len(p.values))
}

// spread is what is to be known of a set of values.
type spread struct{ P1, P50, P99, mad float64 }

// summary of a pool with at least one value, which is sorted.
func (p *pool) summary() spread {
	if p.plain {
		p.sort()
		n := len(p.values)
		at := func(q float64) float64 { return p.values[max(0, int(math.Ceil(q*float64(n)))-1)] }
		s := spread{P1: at(0.01), P50: halfway(p.values), P99: at(0.99)}
		s.mad = p.deviation(s.P50)
		return s
	}
	stat.SortWeighted(p.values, p.weights)
	s := spread{P50: p.middle()}
	s.P1 = stat.Quantile(0.01, stat.Empirical, p.values, p.weights)
	s.P99 = stat.Quantile(0.99, stat.Empirical, p.values, p.weights)
	s.mad = p.deviation(s.P50)
	return s
}

// middle is the weighted median: the mean of the two that half of the weight lies between, or the one that it falls into.
func (p *pool) middle() float64 {
	sum := 0.0
	for i, w := range p.weights {
		sum += w
		if sum == p.weight/2 && i+1 < len(p.values) {
			return p.values[i] + (p.values[i+1]-p.values[i])/2
		}
		if sum >= p.weight/2 {
			return p.values[i]
		}
	}
	return p.values[len(p.values)-1]
}

// deviation is the weighted median of the distances from a centre: they rise outwards from it on both sides, so that there is
// nothing to sort.
func (p *pool) deviation(centre float64) float64 {
	if p.plain {
		return nearestHalf(p.values, centre)
	}
	right, _ := slices.BinarySearch(p.values, centre)
	left := right - 1
	next := func() (distance, weight float64) {
		if left < 0 || right < len(p.values) && p.values[right]-centre <= centre-p.values[left] {
			right++
			return p.values[right-1] - centre, p.weights[right-1]
		}
		left--
		return centre - p.values[left+1], p.weights[left+1]
	}
	sum := 0.0
	for range len(p.values) - 1 {
		distance, weight := next()
		sum += weight
		if sum == p.weight/2 {
			further, _ := next()
			return distance + (further-distance)/2
		}
		if sum > p.weight/2 {
			return distance
		}
	}
	distance, _ := next()
	return distance
}

// nearestHalf is the median of the distances of sorted values from a centre: the nearest half of them are neighbours, whose
// first is found by halving.
func nearestHalf(values []float64, centre float64) float64 {
	n := len(values)
	half := (n + 1) / 2
	low, high := 0, n-half
	for low < high {
		middle := low + (high-low)/2
		if centre-values[middle] > values[middle+half]-centre {
			low = middle + 1
		} else {
			high = middle
		}
	}
	distance := max(centre-values[low], values[low+half-1]-centre)
	if n%2 == 1 {
		return distance
	}
	further := math.Inf(1)
	if low > 0 {
		further = centre - values[low-1]
	}
	if low+half < n {
		further = min(further, values[low+half]-centre)
	}
	return distance + (further-distance)/2
}
