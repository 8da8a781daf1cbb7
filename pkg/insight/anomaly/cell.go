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
	total := int(c.count) + len(more)
	if total <= kept {
		n := int(c.count)
		copy(c.values[n:], more)
		slices.Sort(c.values[:total])
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

// spread is what is to be known of a set of values.
type spread struct {
	P1, P50, P99 float64
	mad          float64
	weight       float64
}

// summary of points, which are reordered. There must be at least one.
func summary(points []weighted, values, weights []float64) spread {
	slices.SortFunc(points, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	values, weights = values[:0], weights[:0]
	total := 0.0
	for _, p := range points {
		values, weights, total = append(values, p.value), append(weights, p.weight), total+p.weight
	}
	s := spread{weight: total, P50: middle(values, weights, total)}
	s.P1 = stat.Quantile(0.01, stat.Empirical, values, weights)
	s.P99 = stat.Quantile(0.99, stat.Empirical, values, weights)
	for i := range points {
		points[i].value = math.Abs(points[i].value - s.P50)
	}
	slices.SortFunc(points, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	for i, p := range points {
		values[i], weights[i] = p.value, p.weight
	}
	s.mad = middle(values, weights, total)
	return s
}

// middle is the weighted median of sorted values: the mean of the two that half of the weight lies between, or the one that
// it falls into.
func middle(values, weights []float64, total float64) float64 {
	sum := 0.0
	for i, w := range weights {
		sum += w
		if sum == total/2 && i+1 < len(values) {
			return values[i] + (values[i+1]-values[i])/2
		}
		if sum >= total/2 {
			return values[i]
		}
	}
	return values[len(values)-1]
}
