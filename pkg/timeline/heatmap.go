package timeline

import (
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Heatmap is how many series have a value in each bin of values, at each time.
type Heatmap struct {
	Times []int64
	Low   float64     // lower edge of the first bin, which is in the bin
	Upper []float64   // upper edges, rising; a value on an edge is in the bin below it
	Count [][]float64 // for each bin, at each time
}

// Scale is what values are binned by. The zero value takes it from the values.
type Scale struct {
	Low, High float64 // the values that are expected; what is outside makes the scale wider
	Bins      int     // about how many; 0 for DefaultBins
}

// DefaultBins is about how many bins a heatmap has.
const DefaultBins = 20

// HeatmapOf counts series into bins whose width is 1, 2, 2.5 or 5 times a power of ten, on a grid of step; samples that
// are finer count as keep says. Values that are not finite do not count.
func HeatmapOf(series []gpu.Series, step time.Duration, keep Keep, scale Scale) Heatmap {
	low, high, found := scale.Low, scale.High, scale.Low < scale.High
	for _, s := range series {
		for _, v := range s.Values {
			switch {
			case !finite(v):
			case !found:
				low, high, found = v, v, true
			default:
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if !found {
		return Heatmap{}
	}
	var h Heatmap
	first, width := h.layOut(low, high, scale.Bins)
	s := newSweep(series, step, keep)
	h.Count = make([][]float64, len(h.Upper))
	s.each(func(at int64, values []float64) {
		h.Times = append(h.Times, at)
		for i := range h.Count {
			h.Count[i] = append(h.Count[i], 0)
		}
		n := len(h.Times) - 1
		for _, v := range values {
			h.Count[h.find(v, first, width)][n]++
		}
	})
	return h
}

// layOut chooses the bins.
func (h *Heatmap) layOut(low, high float64, bins int) (first, width float64) {
	if bins <= 0 {
		bins = DefaultBins
	}
	// So wide that edges are distinct numbers, also where all values are one.
	extent := math.Max(math.Abs(low), math.Abs(high))
	least := 8 * (math.Nextafter(extent, math.Inf(1)) - extent)
	width = niceWidth(math.Max((high-low)/float64(bins), least))
	if low == high {
		width = niceWidth(math.Max(extent/float64(bins), least))
	}
	if extent == 0 {
		width = 1
	}
	first = math.Floor(low / width)
	for edge(first, width) > low { // after rounding
		first--
	}
	h.Low = edge(first, width)
	for n := first + 1; len(h.Upper) == 0 || h.Upper[len(h.Upper)-1] < high; n++ {
		h.Upper = append(h.Upper, edge(n, width))
	}
	return first, width
}

// find is the bin of a value: the first whose upper edge is not below it.
func (h *Heatmap) find(v, first, width float64) int {
	at := min(max(int(math.Ceil(v/width-first))-1, 0), len(h.Upper)-1)
	for at > 0 && v <= h.Upper[at-1] {
		at--
	}
	for at < len(h.Upper)-1 && v > h.Upper[at] {
		at++
	}
	return at
}

// niceWidth is the next larger of 1, 2, 2.5 and 5 times a power of ten.
func niceWidth(width float64) float64 {
	exponent := math.Floor(math.Log10(width))
	for _, nice := range []float64{1, 2, 2.5, 5, 10} {
		if w := scaled(nice, exponent); w >= width*(1-1e-9) {
			return w
		}
	}
	return scaled(10, exponent)
}

// scaled is v times a power of ten, divided where the power is negative: 2 ÷ 10 is the number that is written 0.2.
func scaled(v, exponent float64) float64 {
	if exponent < 0 {
		return v / math.Pow(10, -exponent)
	}
	return v * math.Pow(10, exponent)
}

// edge is the n-th edge, as the number that is written with the fewest digits: 3 × 0.1 is 0.30000000000000004.
func edge(n, width float64) float64 {
	exponent := math.Floor(math.Log10(width)) - 1
	if exponent < 0 && exponent > -300 {
		power := math.Pow(10, -exponent)
		return n * math.Round(width*power) / power
	}
	return n * width
}
