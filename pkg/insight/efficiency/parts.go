package efficiency

import "math"

// Parts are the parts that GPU-hours, or what was spent in them, fall into. They do not overlap.
type Parts struct {
	Used        float64 // somebody had it, and it worked
	Idle        float64 // somebody had it, and it did not
	Unmeasured  float64 // somebody had it, and nobody knows whether it worked
	Unallocated float64 // nobody had it; the unpartitioned part of MIG GPUs is in here
	Broken      float64 // it needs a reset, or was missing from a node that reported
	Absent      float64 // nothing is known of it
}

// Allocated is what somebody had.
func (p Parts) Allocated() float64 { return p.Used + p.Idle + p.Unmeasured }

// Total is all of it.
func (p Parts) Total() float64 { return p.Allocated() + p.Unallocated + p.Broken + p.Absent }

// Coverage is the share of which anything is known, NaN of nothing.
func (p Parts) Coverage() float64 { return ratio(p.Total()-p.Absent, p.Total()) }

func (p *Parts) add(q Parts, factor float64) {
	p.Used += q.Used * factor
	p.Idle += q.Idle * factor
	p.Unmeasured += q.Unmeasured * factor
	p.Unallocated += q.Unallocated * factor
	p.Broken += q.Broken * factor
	p.Absent += q.Absent * factor
}

// state is where a step of a unit went.
type state uint8

const (
	absent state = iota
	broken
	unallocated
	unmeasured
	idle
	used
	live // not yet decided: it was there and well
	gone // an instance that did not exist then
)

func (p *Parts) put(s state, v float64) {
	switch s {
	case used:
		p.Used += v
	case idle:
		p.Idle += v
	case unmeasured:
		p.Unmeasured += v
	case unallocated:
		p.Unallocated += v
	case broken:
		p.Broken += v
	case absent, live, gone:
		p.Absent += v
	}
}

// ratio is a/b, NaN where that is none.
func ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	if r := a / b; !math.IsInf(r, 0) {
		return r
	}
	return math.NaN()
}
