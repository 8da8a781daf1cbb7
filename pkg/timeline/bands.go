package timeline

import (
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Bands is how the values of many series are spread at each time: quantiles over the series, and how many there are.
type Bands struct {
	Times  []int64
	Levels []Level   // from the lowest to the highest
	Count  []float64 // series that have a finite value at the time
}

// Level is one quantile at every time of the bands.
type Level struct {
	Name     string
	Quantile float64 // 0 to 1
	Values   []float64
}

// levels are the quantiles of Bands, rising.
func levels() []Level {
	return []Level{
		{Name: "min", Quantile: 0}, {Name: "p5", Quantile: 0.05}, {Name: "p25", Quantile: 0.25}, {Name: "p50", Quantile: 0.5},
		{Name: "p75", Quantile: 0.75}, {Name: "p95", Quantile: 0.95}, {Name: "max", Quantile: 1},
	}
}

// BandsOf computes the bands of series on a grid of step; samples that are finer count as keep says. Quantiles are
// exact, between two ranks interpolated as PromQL's quantile does. Values that are not finite do not count, and there is
// a point only where a series has a finite value. Without a step the newest value of each series counts, in one point.
func BandsOf(series []gpu.Series, step time.Duration, keep Keep) Bands {
	s := newSweep(series, step, keep)
	b := Bands{Times: make([]int64, 0, s.bins), Levels: levels(), Count: make([]float64, 0, s.bins)}
	for i := range b.Levels {
		b.Levels[i].Values = make([]float64, 0, s.bins)
	}
	var q quantiler
	point := make([]float64, len(b.Levels))
	s.each(func(at int64, values []float64) {
		b.Times, b.Count = append(b.Times, at), append(b.Count, float64(len(values)))
		q.quantiles(values, b.Levels, point)
		for i, v := range point {
			b.Levels[i].Values = append(b.Levels[i].Values, v)
		}
	})
	return b
}
