package main

import "time"

// span is a stretch of time, Unix milliseconds, from included and to excluded.
type span struct{ from, to int64 }

func (s span) empty() bool { return s.from >= s.to }

// stretch is a span whose samples lie on a grid of multiples of step.
type stretch struct {
	span
	step int64
}

// times yields the stretch's grid.
func (s stretch) times(yield func(int64) bool) {
	for t := ceil(s.from, s.step); t < s.to; t += s.step {
		if !yield(t) {
			return
		}
	}
}

func ceil(t, step int64) int64 { return (t + step - 1) / step * step }

// stretches are the parts of (newest, now) that are missing: coarse, then fine.
func (p Plan) stretches(newest int64, found bool, now time.Time) []stretch {
	end := now.UnixMilli()
	start := end - p.History.ms()
	if found && newest >= start {
		start = newest + 1
	}
	// The border lies on the coarse grid, so that the two grids neither overlap nor leave a hole.
	border := min(max(ceil(end-p.Recent.ms(), p.Step.ms()), start), end)
	parts := []stretch{{span{start, border}, p.Step.ms()}, {span{border, end}, p.RecentStep.ms()}}
	kept := parts[:0]
	for _, part := range parts {
		if !part.empty() {
			kept = append(kept, part)
		}
	}
	return kept
}

// blockRanges are the block sizes that Prometheus' compaction arrives at with the demo's retention, largest first.
func blockRanges() []int64 {
	const hour = int64(time.Hour / time.Millisecond)
	return []int64{54 * hour, 18 * hour, 6 * hour, 2 * hour}
}

// blocks cuts a span at the borders that Prometheus would use, so that it never compacts again what was written: the
// largest aligned range that ends within the span, and at last the two hours that have just begun.
func blocks(whole span) []span {
	var cut []span
	for at := whole.from; at < whole.to; {
		end := whole.to
		for _, size := range blockRanges() {
			if border := at/size*size + size; border <= whole.to {
				end = border
				break
			}
		}
		cut = append(cut, span{at, end})
		at = end
	}
	return cut
}
