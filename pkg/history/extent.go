package history

import (
	"slices"
	"unique"
)

// blockTicks is how many points of the grid a block has. Fewer cost memory for labels, more are asked for again when a
// block is no longer trusted.
const blockTicks = 128

// slab is an answer between two ticks, numbers of points on a grid, both included. It is never changed.
type slab struct {
	from, to int64
	runs     []run
	until    int64 // Unix milliseconds up to which it is trusted
	sent     int64 // ticks of it that the remote cache has
}

// run is a series in a slab: its values from first on, one each tick, or where there are gaps at the ticks in at.
// Both count from the slab's first tick.
type run struct {
	id     seriesID
	first  int
	at     []uint16 // nil without gaps
	values []float64
}

// seriesID is a series' labels, see [labelText]. All extents share the text.
type seriesID = unique.Handle[string]

// What extents take, in bytes: their own, and a run's without its values.
const (
	slabBytes = 80
	runBytes  = 64
)

// maxTicks is how long a slab may be for its gaps to be counted.
const maxTicks = 1 << 16

func (e *slab) ticks() int64 { return e.to - e.from + 1 }

// bytes is what the slab takes in memory, the labels counted as if it had them for itself.
func (e *slab) bytes() int64 {
	n := slabBytes + runBytes*len(e.runs)
	for i := range e.runs {
		n += 8*len(e.runs[i].values) + 2*len(e.runs[i].at) + len(e.runs[i].id.Value())
	}
	return int64(n)
}

func (e *slab) samples() int {
	n := 0
	for i := range e.runs {
		n += len(e.runs[i].values)
	}
	return n
}

// within is the part of a run between two ticks, which count from the slab's first tick too. The values are shared.
func (r *run) within(from, to int) run {
	part := run{id: r.id}
	if r.at == nil {
		low, high := max(from-r.first, 0), min(to+1-r.first, len(r.values))
		if low < high {
			part.first, part.values = r.first+low, r.values[low:high]
		}
		return part
	}
	low, _ := slices.BinarySearch(r.at, uint16(max(from, 0)))
	high := len(r.at)
	if to+1 < maxTicks {
		high, _ = slices.BinarySearch(r.at, uint16(max(to+1, 0)))
	}
	if low < high {
		part.first, part.at, part.values = int(r.at[low]), r.at[low:high], r.values[low:high]
	}
	return part
}

// last is the run's last tick.
func (r *run) last() int {
	if r.at != nil {
		return int(r.at[len(r.at)-1])
	}
	return r.first + len(r.values) - 1
}

// stretch is a slab, or a part of one.
type stretch struct {
	*slab
	low, high int64 // ticks, both included
}

// join copies stretches, in the order of time and without a gap between them, into one slab.
func join(stretches []stretch) *slab {
	whole := &slab{from: stretches[0].low, to: stretches[len(stretches)-1].high}
	type total struct{ first, last, count int }
	var totals []total
	place := make(map[seriesID]int, len(stretches[0].runs))
	each := func(do func(part run, shift int)) {
		for _, s := range stretches {
			low, high, shift := int(s.low-s.from), int(s.high-s.from), int(s.from-whole.from)
			for i := range s.runs {
				if part := s.runs[i].within(low, high); len(part.values) > 0 {
					do(part, shift)
				}
			}
		}
	}
	samples := 0
	each(func(part run, shift int) {
		i, known := place[part.id]
		if !known {
			i = len(totals)
			place[part.id] = i
			totals = append(totals, total{first: part.first + shift})
			whole.runs = append(whole.runs, run{id: part.id})
		}
		totals[i].last = part.last() + shift
		totals[i].count += len(part.values)
		samples += len(part.values)
	})
	values, gappy := make([]float64, samples), 0
	for i, t := range totals {
		whole.runs[i].first = t.first
		whole.runs[i].values, values = values[0:0:t.count], values[t.count:]
		if t.last-t.first+1 != t.count {
			gappy += t.count
		}
	}
	at := make([]uint16, gappy)
	for i, t := range totals {
		if t.last-t.first+1 != t.count {
			whole.runs[i].at, at = at[0:0:t.count], at[t.count:]
		}
	}
	each(func(part run, shift int) {
		r := &whole.runs[place[part.id]]
		r.values = append(r.values, part.values...)
		if r.at == nil {
			return
		}
		for i := range part.values {
			tick := part.first + i
			if part.at != nil {
				tick = int(part.at[i])
			}
			r.at = append(r.at, uint16(tick+shift))
		}
	})
	whole.runs = slices.Clip(whole.runs)
	return whole
}

// cut is a copy of a part.
func (e *slab) cut(from, to int64) *slab {
	part := join([]stretch{{e, from, to}})
	part.until = e.until
	return part
}

// touches reports whether there is no gap between two extents.
func (e *slab) touches(other *slab) bool { return e.from <= other.to+1 && other.from <= e.to+1 }

// renewed is what to keep of a block, given what there was and what was just learned. The new counts where there are both.
func (e *slab) renewed(next *slab, now int64) *slab {
	switch {
	case e == nil || e.until <= now || next.from <= e.from && next.to >= e.to:
		return next
	case !e.touches(next):
		if next.ticks() >= e.ticks() {
			return next
		}
		return e
	}
	var stretches []stretch
	if e.from < next.from {
		stretches = append(stretches, stretch{e, e.from, next.from - 1})
	}
	stretches = append(stretches, stretch{next, next.from, next.to})
	if e.to > next.to {
		stretches = append(stretches, stretch{e, next.to + 1, e.to})
	}
	both := join(stretches)
	both.until, both.sent = min(e.until, next.until), e.sent
	return both
}
