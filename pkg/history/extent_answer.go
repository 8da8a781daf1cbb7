package history

import "slices"

// axis is the grid that a key's ticks count.
type axis struct{ step, phase int64 } // milliseconds; the phase is below the step

func axisOf(start, step int64) axis { return axis{step, ((start % step) + step) % step} }

func (a axis) tick(t int64) int64    { return floorDiv(t-a.phase, a.step) }
func (a axis) time(tick int64) int64 { return tick*a.step + a.phase }
func (a axis) onGrid(t int64) bool   { return (t-a.phase)%a.step == 0 }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// blockOf is the block of a tick.
func blockOf(tick int64) int64 { return floorDiv(tick, blockTicks) }

// slabOf reads an answer as a slab that shares its values. It is nil for answers that cannot be cut and put together
// without loss: other than ranges, with remarks about the whole, with points beside the grid, or ambiguous.
func slabOf(a *answer, g axis, from, to int64) *slab {
	if a.ResultType != "matrix" || len(a.Warnings) > 0 || len(a.Infos) > 0 || a.Partial || a.Histograms > 0 || to-from >= maxTicks {
		return nil
	}
	whole := &slab{from: from, to: to, runs: make([]run, 0, len(a.Series))}
	seen := make(map[seriesID]bool, len(a.Series))
	var buf []byte
	var known []int64 // times that were looked at last, and their run
	var like run
	for _, s := range a.Series {
		if len(s.Times) == 0 {
			continue
		}
		if len(known) != len(s.Times) || &known[0] != &s.Times[0] {
			var ok bool
			if like, ok = runOf(s.Times, g, from, to); !ok {
				return nil
			}
			known = s.Times
		}
		r := like
		r.values = s.Values
		if r.id, buf = identify(s.Labels, buf); seen[r.id] {
			return nil
		}
		seen[r.id] = true
		whole.runs = append(whole.runs, r)
	}
	return whole
}

// runOf is a run with the given times and no values. It reports whether all times are on the grid and in range.
func runOf(times []int64, g axis, from, to int64) (run, bool) {
	first, last := times[0], times[len(times)-1]
	if !g.onGrid(first) || !g.onGrid(last) || g.tick(first) < from || g.tick(last) > to {
		return run{}, false
	}
	r := run{first: int(g.tick(first) - from)}
	gaps := (last-first)/g.step+1 != int64(len(times))
	if gaps {
		r.at = make([]uint16, len(times))
	}
	for i, t := range times {
		if !g.onGrid(t) || !gaps && t != first+int64(i)*g.step {
			return run{}, false
		}
		if gaps {
			r.at[i] = uint16(g.tick(t) - from)
		}
	}
	return r, true
}

// answer makes an answer of a slab, which gives its values away.
func (e *slab) answer(g axis) *answer {
	a := &answer{Status: "success", ResultType: "matrix", Series: make([]rawSeries, 0, len(e.runs))}
	times := make([]int64, e.ticks())
	for i := range times {
		times[i] = g.time(e.from + int64(i))
	}
	gappy := 0
	for i := range e.runs {
		gappy += len(e.runs[i].at)
	}
	own := make([]int64, 0, gappy)
	var room []label
	for _, r := range e.runs {
		if cap(room)-len(room) < 32 {
			room = make([]label, 0, 1024)
		}
		start := len(room)
		room, _ = readLabels(r.id.Value(), room)
		s := rawSeries{Labels: labelSet{own: slices.Clip(room[start:])}, Values: r.values}
		if r.at == nil {
			s.Times = slices.Clip(times[r.first : r.first+len(r.values)])
		} else {
			begin := len(own)
			for _, tick := range r.at {
				own = append(own, times[tick])
			}
			s.Times = slices.Clip(own[begin:])
		}
		a.Series = append(a.Series, s)
	}
	slices.SortStableFunc(a.Series, func(x, y rawSeries) int { return compareLabels(x.Labels, y.Labels) })
	return a
}

// clone is a copy whose values are its own.
func (a *answer) clone() *answer {
	c := *a
	c.Series = slices.Clone(a.Series)
	for i := range c.Series {
		c.Series[i].Values = slices.Clone(c.Series[i].Values)
	}
	return &c
}

func (a *answer) samples() int {
	n := 0
	for i := range a.Series {
		n += len(a.Series[i].Values)
	}
	return n
}
