package efficiency

import (
	"math"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/mig"
)

// board accounts for one GPU. there says in which steps anything was known of it.
func (r *run) board(b *board, there []bool) {
	s := &r.buffer
	s.unitRows(len(b.units) + 1)
	whole := len(b.units) // the row of what is the GPU itself
	for k, u := range b.units {
		r.activityOf(s.activity[k], u.subject, true)
	}
	if b.whole >= 0 {
		r.activityOf(s.activity[whole], b.whole, len(b.units) > 0)
	} else {
		fill(s.activity[whole], math.NaN())
	}
	r.base(b, there)
	r.energyOf(b)
	if len(b.units) == 0 {
		fill(s.weight, 1)
		r.unit(holding{board: b, subject: b.whole, part: mig.Part{Weight: 1, Compute: 1, Memory: 1, Known: true}}, s.activity[whole], s.joules)
		return
	}
	r.exist(b)
	for k, u := range b.units {
		copy(s.weight, s.weights[k])
		for i, base := range s.base {
			switch {
			case base != live || s.weight[i] == 0:
				s.state[i] = gone
			case s.missing[k][i]:
				s.state[i] = absent
			default:
				s.state[i] = live
			}
			s.energy[i] = s.joules[i] * r.energyShare(b, k, i)
		}
		r.unit(holding{board: b, subject: u.subject, part: u.part, instance: true}, s.activity[k], s.energy)
	}
	// What no instance has: all of the GPU while it has none or is broken, the rest otherwise.
	for i, base := range s.base {
		left, some := 1.0, false
		if base == live {
			for k := range b.units {
				left -= s.weights[k][i]
				some = some || s.weights[k][i] > 0
			}
			if left < rounding {
				left = 0
			}
		}
		s.weight[i], s.state[i] = left, base
		if some {
			s.state[i] = unallocated
		}
		s.energy[i] = s.joules[i] * r.energyShare(b, whole, i)
	}
	r.unit(holding{board: b, subject: b.first(), part: mig.Part{Weight: 1, Compute: 1, Memory: 1, Known: true}, rest: true}, s.activity[whole], s.energy)
}

// rounding is less than any part of a GPU that weights leave over.
const rounding = 1e-9

func fill(values []float64, v float64) {
	for i := range values {
		values[i] = v
	}
}

// Values of gpu_recovery_action that take a GPU out of service.
const (
	resetGPU      = 1
	rebootNode    = 2
	drainAndReset = 4
)

// base decides in which steps a GPU was there and well. One that asks for a reset and works counts as well. Of the time before a
// GPU is first seen nothing is known: it may be new.
func (r *run) base(b *board, there []bool) {
	s := &r.buffer
	recovery := row(r.columns.recovery, b.first())
	first := slices.Index(there, true)
	for i := range s.base {
		switch action := insight.At(recovery, i); {
		case i < b.from || i >= b.to:
			s.base[i] = gone // another board is, or was, in its place
		case i < first:
			s.base[i] = absent
		case !there[i] && s.peers[i] > 0 && r.limits.Missing == MissingIsBroken:
			s.base[i] = broken
		case !there[i]:
			s.base[i] = absent
		case action == resetGPU || action == rebootNode || action == drainAndReset:
			s.base[i] = broken
			for k := range len(b.units) + 1 {
				if s.activity[k][i] >= r.limits.IdleActivity {
					s.base[i] = live
				}
			}
		default:
			s.base[i] = live
		}
		s.state[i] = s.base[i]
	}
}

// exist decides which instances a GPU had in each step, and what part of it each was. An instance exists while it has values,
// and in the gaps between. Weights of more than one GPU are scaled to one; a gap takes what those that are there leave.
func (r *run) exist(b *board) {
	s := &r.buffer
	for k, u := range b.units {
		clear(s.unitThere)
		presence(s.unitThere, r.columns.instance, u.subject)
		first, last := len(s.unitThere), -1
		for i, is := range s.unitThere {
			if is {
				first, last = min(first, i), i
			}
		}
		if last < 0 {
			first, last = 0, len(s.unitThere)-1 // it is known of and nothing else is
		}
		for i := range s.unitThere {
			s.missing[k][i] = !s.unitThere[i] && first <= i && i <= last
			s.weights[k][i] = 0
			if s.unitThere[i] || s.missing[k][i] {
				s.weights[k][i] = u.part.Weight
			}
		}
	}
	for i := range s.unitThere {
		var present, missing float64
		for k := range b.units {
			if s.missing[k][i] {
				missing += s.weights[k][i]
			} else {
				present += s.weights[k][i]
			}
		}
		scale := 1 / max(1, present)
		rest := 1 - present*scale
		if rest < rounding {
			rest = 0
		}
		for k := range b.units {
			switch {
			case !s.missing[k][i]:
				s.weights[k][i] *= scale
			case missing > rest:
				s.weights[k][i] *= rest / missing
			}
		}
	}
}

// mostWatts is more than any GPU draws.
const mostWatts = 1e5

// energyOf writes what a GPU used in each step: by its counter's rise, by the rate of it, or by its mean power.
func (r *run) energyOf(b *board) {
	s := &r.buffer
	subjects := make([]int, 0, 1)
	if b.whole >= 0 {
		subjects = append(subjects, b.whole)
	}
	for _, u := range b.units {
		subjects = append(subjects, u.subject)
	}
	pick := func(column [][]float64) []float64 {
		for _, subject := range subjects {
			if values := row(column, subject); values != nil {
				return values
			}
		}
		return nil
	}
	rise, rate, watts := pick(r.columns.rise), pick(r.columns.rate), pick(r.columns.power)
	seconds := r.hours * 3600
	for i := range s.joules {
		j := plausible(insight.At(rise, i), mostWatts*seconds)
		if math.IsNaN(j) {
			j = plausible(insight.At(rate, i), mostWatts) * seconds
		}
		s.counter[i] = !math.IsNaN(j)
		if math.IsNaN(j) {
			j = plausible(insight.At(watts, i), mostWatts) * seconds
		}
		s.joules[i] = j
		if !math.IsNaN(j) {
			r.seen.energy = r.seen.energy || s.counter[i]
			r.seen.power = r.seen.power || !s.counter[i]
		}
	}
}

// energyShare is the share of a GPU's energy that an instance gets, or what is no instance (k = len(b.units)): by slices
// times activity, by slices alone where the activity of any is not known or all of them rest.
func (r *run) energyShare(b *board, k, i int) float64 {
	s := &r.buffer
	whole := len(b.units)
	if s.base[i] != live {
		return one(k == whole)
	}
	var active, weights float64
	known, some := true, false
	for n, u := range b.units {
		if s.weights[n][i] == 0 {
			continue
		}
		some = true
		weights += s.weights[n][i]
		active += u.part.Compute * s.activity[n][i]
		known = known && !math.IsNaN(s.activity[n][i])
	}
	byActivity := known && active > 0
	switch {
	case !some:
		return one(k == whole)
	case k == whole && byActivity:
		return 0
	case k == whole:
		return max(0, 1-weights)
	case s.weights[k][i] == 0:
		return 0
	case byActivity:
		return b.units[k].part.Compute * s.activity[k][i] / active
	default:
		return s.weights[k][i]
	}
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
