package timeline

import (
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// blockBins is how many bins are gathered in one pass over all series: two cache lines of each, so that hundreds of
// thousands of series are read once from memory and never copied as a whole.
const blockBins = 16

// maxBins bounds a grid, whatever times series claim to have.
const maxBins = 1 << 20

// sweep walks over many series bin by bin. The values of a bin are those of all series that have a finite one there,
// in no order.
type sweep struct {
	series []gpu.Series
	step   int64
	keep   Keep

	first int64 // start of the first bin
	bins  int
	at    []int // next sample of each series
	rows  [blockBins][]float64
}

// newSweep looks at when the series begin and end. Without a step, each series counts with its newest value, in one bin
// at the newest time.
func newSweep(series []gpu.Series, step time.Duration, keep Keep) *sweep {
	s := &sweep{series: series, step: step.Milliseconds(), keep: keep, at: make([]int, len(series))}
	var begin, end int64
	found := false
	for _, line := range series {
		n := len(line.Times)
		if n == 0 {
			continue
		}
		if !found || line.Times[0] < begin {
			begin = line.Times[0]
		}
		if !found || line.Times[n-1] > end {
			end = line.Times[n-1]
		}
		found = true
	}
	switch {
	case !found:
	case s.step <= 0:
		s.first, s.bins = end, 1
	default:
		s.first = floor(begin, s.step)
		s.bins = int(min((floor(end, s.step)-s.first)/s.step+1, maxBins))
	}
	return s
}

// each calls f for every bin that has a value, in the order of time. values belong to f until it returns, and it may
// reorder them.
func (s *sweep) each(f func(time int64, values []float64)) {
	if s.step <= 0 {
		s.newest(f)
		return
	}
	for block := 0; block < s.bins; block += blockBins {
		start := s.first + int64(block)*s.step
		count := min(blockBins, s.bins-block)
		s.gather(start, count)
		for i := range count {
			if len(s.rows[i]) > 0 {
				f(start+int64(i)*s.step, s.rows[i])
			}
		}
	}
}

// gather fills the rows with the samples of a block of bins.
func (s *sweep) gather(start int64, count int) {
	for i := range count {
		if s.rows[i] == nil {
			s.rows[i] = make([]float64, 0, len(s.series))
		}
		s.rows[i] = s.rows[i][:0]
	}
	end := start + int64(count)*s.step
	for n := range s.series {
		times, values := s.series[n].Times, s.series[n].Values
		at := s.at[n]
		for at < len(times) && times[at] < end {
			row := (times[at] - start) / s.step
			limit := start + (row+1)*s.step
			value := values[at]
			if at++; at < len(times) && times[at] < limit {
				var b kept
				b.add(value, s.keep)
				for ; at < len(times) && times[at] < limit; at++ {
					b.add(values[at], s.keep)
				}
				value = b.result()
			}
			if finite(value) {
				s.rows[row] = append(s.rows[row], value)
			}
		}
		s.at[n] = at
	}
}

// newest is the one bin of series that have no grid.
func (s *sweep) newest(f func(time int64, values []float64)) {
	row := make([]float64, 0, len(s.series))
	for _, line := range s.series {
		if n := len(line.Values); n > 0 && finite(line.Values[n-1]) {
			row = append(row, line.Values[n-1])
		}
	}
	if len(row) > 0 {
		f(s.first, row)
	}
}
