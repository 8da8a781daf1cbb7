package timeline

import (
	"math"
	"slices"
	"sort"
)

// BandLevels are the names of the values of a [BandSpread]'s row but for the last, which is the count of lines.
func BandLevels() []string {
	all := levels()
	names := make([]string, len(all))
	for i, level := range all {
		names[i] = level.Name
	}
	return names
}

// BandSpread continues [Bands]: a row is the quantiles, NaN where no line has a value, and how many lines have one.
type BandSpread struct {
	q      quantiler
	levels []Level
}

// Row makes the quantiles and the count.
func (b *BandSpread) Row(values []float64) []float64 {
	if b.levels == nil {
		b.levels = levels()
	}
	out := make([]float64, len(b.levels)+1)
	if len(values) == 0 {
		for i := range b.levels {
			out[i] = math.NaN()
		}
		return out
	}
	b.q.quantiles(values, b.levels, out[:len(b.levels)])
	out[len(b.levels)] = float64(len(values))
	return out
}

// HeatmapSpread continues a [Heatmap]: a row is how many lines are in each of its bins. The bins stay as they are: what
// is below the first or above the last counts there, and is counted in Outside.
type HeatmapSpread struct {
	Low   float64   // lower edge of the first bin
	Upper []float64 // upper edges, rising, at least one; a value on an edge is in the bin below it

	Outside uint64 // values so far that no bin was made for
}

// Row counts values into the bins.
func (h *HeatmapSpread) Row(values []float64) []float64 {
	out := make([]float64, len(h.Upper))
	last := len(h.Upper) - 1
	for _, v := range values {
		at, found := slices.BinarySearch(h.Upper, v)
		if !found && at > last {
			at = last
			h.Outside++
		}
		if v < h.Low {
			h.Outside++
		}
		out[at]++
	}
	return out
}

// Rising reports whether edges are finite and each above the one before, as a HeatmapSpread needs them.
func Rising(edges []float64) bool {
	return !slices.ContainsFunc(edges, func(v float64) bool { return !finite(v) }) &&
		sort.SliceIsSorted(edges, func(i, j int) bool { return edges[i] < edges[j] }) &&
		len(slices.Compact(slices.Clone(edges))) == len(edges)
}
