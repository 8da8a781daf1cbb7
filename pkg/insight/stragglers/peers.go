package stragglers

import (
	"math"
	"slices"
	"time"
)

// comparison is how members are held against each other.
type comparison struct {
	rows  [][]float64 // by member, nil for one without values
	low   bool        // the slow ones have lower values
	limit float64     // of a member's value and the median, or the other way round
	skip  func(member, step int) bool
	// follow asks for skew and pace, which cost a look at all values of a step even where they are alike.
	follow bool
}

// run is a time in which a member was slow. Steps in which nothing could be compared, in an evaluation of the whole job say, do
// not interrupt it.
type run struct {
	from, to int // steps, to included
	first    int // number of the first comparison, and
	last     int // of the last one
	count    int // steps in which it was slow
	sum      float64
	z        float64 // at its end
}

func (r run) ratio() float64 { return r.sum / float64(r.count) }

// member is what is known of one.
type member struct {
	now  run // that which is going on, or was last
	last run // the last one that was long enough
	slow int // steps in all
}

// spread is the outcome of a comparison.
type spread struct {
	members []member
	present int         // members with values at all
	skew    []float64   // by step: the slowest by the median, NaN where there is nothing to compare
	pace    []float64   // by step: the median
	lost    []float64   // by step: what the slowest has more than the median, where somebody is slow
	uneven  run         // when too many were slow to name one
	many    int         // how many that were, at most
	slowers map[int]int // how often each of them was among the many
	latest  int         // the last step with something to compare, -1 for none
	number  int         // comparisons so far
}

// compare holds members against each other, step by step.
func (p *pass) compare(c comparison) *spread {
	s := &spread{members: make([]member, len(c.rows)), latest: -1, skew: p.blank(), pace: p.blank(), lost: make([]float64, p.steps)}
	for _, row := range c.rows {
		if row != nil {
			s.present++
		}
	}
	if s.present < 2 {
		return s
	}
	values, who, sorted := make([]float64, 0, s.present), make([]int, 0, s.present), make([]float64, 0, s.present)
	for t := range p.steps {
		values, who = values[:0], who[:0]
		least, most := math.Inf(1), 0.0
		for m, row := range c.rows {
			if row == nil {
				continue
			}
			v := row[t]
			if !plausible(v) || c.skip != nil && c.skip(m, t) || !c.low && v < leastPlausible {
				continue
			}
			values, who = append(values, v), append(who, m)
			least, most = min(least, v), max(most, v)
		}
		if len(values) < 2 || 2*len(values) < s.present {
			continue
		}
		s.latest = t
		s.number++
		if !c.follow && most <= c.limit*least {
			continue // all are alike
		}
		sorted = append(sorted[:0], values...)
		slices.Sort(sorted)
		middle := medianOf(sorted)
		if len(sorted) == 2 { // the other one is the measure
			if middle = sorted[0]; c.low {
				middle = sorted[1]
			}
		}
		if middle < leastPlausible {
			continue
		}
		s.pace[t] = middle
		s.skew[t] = c.ratio(pick(c.low, least, most), middle)
		fast := sorted[(len(sorted)-1)/4]
		if c.low {
			fast = sorted[len(sorted)-1-(len(sorted)-1)/4]
		}
		if c.ratio(pick(c.low, least, most), fast) <= c.limit {
			continue
		}
		p.outliers(c, s, t, values, who, sorted, middle, fast)
	}
	return s
}

func pick(low bool, least, most float64) float64 {
	if low {
		return least
	}
	return most
}

// ratio is how much slower a value is than another.
func (c comparison) ratio(v, than float64) float64 {
	if c.low {
		v, than = than, v
	}
	if than < leastPlausible {
		return mostOfComparison
	}
	return min(v/than, mostOfComparison)
}

// outliers finds who is slow in a step.
func (p *pass) outliers(c comparison, s *spread, t int, values []float64, who []int, sorted []float64, middle, fast float64) {
	many := 0
	for _, v := range values {
		if c.ratio(v, fast) > c.limit {
			many++
		}
	}
	if len(values) > 2 && float64(many) > p.limits.MostSuspects*float64(len(values)) {
		s.uneven.take(t, s.number)
		s.many = max(s.many, many)
		s.uneven.sum += s.skew[t]
		if s.slowers == nil {
			s.slowers = make(map[int]int)
		}
		for i, v := range values {
			if c.ratio(v, fast) > c.limit {
				s.slowers[who[i]]++
			}
		}
		return
	}
	deviation := deviationOf(sorted, middle)
	for i, v := range values {
		ratio := c.ratio(v, middle)
		if ratio <= c.limit {
			continue
		}
		z := 0.6745 * math.Abs(v-middle) / deviation
		if len(values) > 2 && z <= p.limits.RobustZ {
			continue
		}
		m := &s.members[who[i]]
		m.slow++
		m.now.take(t, s.number)
		m.now.sum += ratio
		m.now.z = min(z, mostOfComparison)
		if p.sustained(m.now) {
			m.last = m.now
		}
		s.lost[t] = max(s.lost[t], 1-1/ratio)
	}
}

// medianOf is the middle of sorted values.
func medianOf(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return sorted[n/2-1]/2 + sorted[n/2]/2
}

// deviationOf is the median absolute deviation, and half a per cent at least: where all but one are the same to the digit it
// would be 0, and every trifle an outlier.
func deviationOf(sorted []float64, middle float64) float64 {
	deviations := make([]float64, len(sorted))
	for i, v := range sorted {
		deviations[i] = math.Abs(v - middle)
	}
	slices.Sort(deviations)
	return max(medianOf(deviations), middle*0.005)
}

// gap is how many comparisons apart two of one run may be: one in between may be better.
const gap = 2

// take adds a step to a run, or begins a new one.
func (r *run) take(t, number int) {
	if r.count == 0 || number-r.last > gap {
		*r = run{from: t, first: number}
	}
	r.to, r.last = t, number
	r.count++
}

// sustained reports whether a run is no single moment: it is long enough, and the member was slow in two thirds of it.
func (p *pass) sustained(r run) bool {
	least := time.Duration(p.limits.SustainedMinutes * float64(time.Minute))
	return r.count >= 2 && time.Duration(r.to-r.from+1)*p.step >= least && 3*time.Duration(r.count)*p.step >= 2*least &&
		3*r.count >= 2*(r.last-r.first+1)
}

// ongoing reports whether a run reaches the end of what was compared.
func (s *spread) ongoing(r run) bool { return r.count > 0 && s.number-r.last < gap }

func (p *pass) blank() []float64 {
	values := make([]float64, p.steps)
	for i := range values {
		values[i] = math.NaN()
	}
	return values
}
