package timeline

import "math"

// Keep says which of several samples in one bin stands for it.
type Keep uint8

// The ways to make one sample of several. What must not be missed, a temperature or an error, is kept by its extreme;
// nothing picks points for how a line looks.
const (
	KeepLast Keep = iota // the newest, as Prometheus answers a step with
	KeepMean
	KeepMax
	KeepMin
)

// kept is what is kept of the samples of one bin. Its zero value holds none.
type kept struct {
	n     int
	value float64
}

// add takes the next sample. One that is not finite says nothing.
func (b *kept) add(v float64, keep Keep) {
	if !finite(v) {
		return
	}
	b.n++
	switch {
	case b.n == 1 || keep == KeepLast:
		b.value = v
	case keep == KeepMax:
		b.value = max(b.value, v)
	case keep == KeepMin:
		b.value = min(b.value, v)
	default:
		b.value += (v - b.value) / float64(b.n)
	}
}

// result is NaN when there was no sample.
func (b *kept) result() float64 {
	if b.n == 0 {
		return math.NaN()
	}
	return b.value
}

// merge is what two samples of one bin are together, for the ways that need no count.
func (k Keep) merge(before, next float64) float64 {
	switch {
	case math.IsNaN(next):
		return before
	case k == KeepMax && before > next, k == KeepMin && before < next:
		return before
	}
	return next
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
