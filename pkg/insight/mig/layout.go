package mig

import "math/bits"

// Instance is a GPU instance of a GPU.
type Instance struct {
	ID      string
	Profile string // "3g.40gb"
	Start   int    // first memory slice, -1 where it is not known, as with most exporters
}

// Layout is what instances leave room for.
type Layout struct {
	// Known is false when the instances do not fit the table: one has a profile that the model does not have, or they cannot
	// be together. Nothing else is said then.
	Known bool
	// Sure says that there is one way only in which the instances can stand.
	Sure bool

	FreeCompute, FreeMemory int // slices, by sum
	Fits                    []Fit
	// Largest is the largest profile that surely still fits, "" for none; Possible the largest that fits if the instances
	// happen to stand well.
	Largest, Possible string
	// Fragmentation is the share of what is free by sum that the largest profile which surely fits cannot have, 0 when
	// nothing is free: free slices of an empty GPU are not fragmented.
	Fragmentation float64
}

// Fit is how many more instances of one profile a GPU has room for.
type Fit struct {
	Profile string
	Sure    int // however the instances stand
	Most    int // if they stand well
}

// slot is where an instance may stand, as a mask of memory slices.
type slot = uint16

func mask(start, size int) slot { return slot((1<<size - 1) << start) }

// occupied are ways in which memory slices may be taken.
type occupied map[slot]bool

// Layout says what still fits beside instances. Where a start is not known, all places that NVIDIA allows are considered.
// Instances are those of the GPU, not compute instances in them.
func (t Table) Layout(instances []Instance) Layout {
	ways := occupied{0: true}
	counts := make(map[string]int)
	media := false
	freeCompute, freeMemory := t.ComputeSlices, t.MemorySlices
	for _, instance := range instances {
		p, known := t.profileOf(instance.Profile)
		if !known || p.Media && media {
			return Layout{}
		}
		media = media || p.Media
		counts[p.Name]++
		freeCompute -= p.Compute
		freeMemory -= p.Memory
		next := occupied{}
		for way := range ways {
			for _, start := range p.Starts {
				if instance.Start >= 0 && instance.Start != start {
					continue
				}
				if m := mask(start, p.Memory); way&m == 0 {
					next[way|m] = true
				}
			}
		}
		if ways = next; len(ways) == 0 || freeCompute < 0 {
			return Layout{}
		}
	}
	l := Layout{Known: true, Sure: len(ways) == 1, FreeCompute: freeCompute, FreeMemory: freeMemory}
	largest := 0
	for _, p := range t.Profiles {
		fit := Fit{Profile: p.Name}
		fit.Sure = t.MemorySlices
		for way := range ways {
			n := p.room(way, freeCompute, p.Most-counts[p.Name])
			if p.Media && media {
				n = 0
			}
			fit.Sure, fit.Most = min(fit.Sure, n), max(fit.Most, n)
		}
		if fit.Most > 0 {
			l.Possible = p.Name
		}
		if fit.Sure > 0 {
			l.Largest, largest = p.Name, p.Compute
		}
		l.Fits = append(l.Fits, fit)
	}
	if freeCompute > 0 && len(instances) > 0 {
		l.Fragmentation = 1 - float64(largest)/float64(freeCompute)
	}
	return l
}

// room is how many more of a profile fit. Places of one profile are either the same or apart, so each that is free counts.
func (p Profile) room(way slot, compute, most int) int {
	n := 0
	for _, start := range p.Starts {
		if m := mask(start, p.Memory); way&m == 0 {
			way |= m
			n++
		}
	}
	return max(0, min(n, compute/p.Compute, most))
}

// FreeSlices are the memory slices that are free in a way of standing that is known, the lowest bit for slice 0; false when
// the starts are not all known or do not fit.
func (t Table) FreeSlices(instances []Instance) (free []int, known bool) {
	var taken slot
	for _, instance := range instances {
		p, ok := t.profileOf(instance.Profile)
		if !ok || instance.Start < 0 || instance.Start+p.Memory > t.MemorySlices {
			return nil, false
		}
		m := mask(instance.Start, p.Memory)
		if taken&m != 0 {
			return nil, false
		}
		taken |= m
	}
	for left := ^taken & mask(0, t.MemorySlices); left != 0; left &= left - 1 {
		free = append(free, bits.TrailingZeros16(left))
	}
	return free, true
}
