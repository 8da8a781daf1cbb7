package promtest

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"sort"
)

// node is an expression that can be evaluated at a time.
type node interface {
	eval(s *Store, t int64) ([]sample, error)
}

type sample struct {
	labels map[string]string
	value  float64
}

type matcher struct {
	name, value string
	op          string // = != =~ !~
	re          *regexp.Regexp
}

func (m matcher) match(labels map[string]string) bool {
	value := labels[m.name]
	switch m.op {
	case "=":
		return value == m.value
	case "!=":
		return value != m.value
	case "=~":
		return m.re.MatchString(value)
	}
	return !m.re.MatchString(value)
}

type selector []matcher

func (sel selector) match(labels map[string]string) bool {
	for _, m := range sel {
		if !m.match(labels) {
			return false
		}
	}
	return true
}

func (sel selector) eval(s *Store, t int64) ([]sample, error) {
	var out []sample
	for _, one := range s.series {
		if v, ok := one.at(t); ok && sel.match(one.labels) {
			out = append(out, sample{one.labels, v})
		}
	}
	return out, nil
}

// offset is selector offset length.
type offset struct {
	of     selector
	length int64
}

func (o offset) eval(s *Store, t int64) ([]sample, error) { return o.of.eval(s, t-o.length) }

// rate is rate(selector[length]).
type rate struct {
	sel    selector
	length int64
}

func (r rate) eval(s *Store, t int64) ([]sample, error) {
	var out []sample
	for _, one := range s.series {
		if !r.sel.match(one.labels) {
			continue
		}
		if v, ok := one.rate(t, r.length); ok {
			out = append(out, sample{withoutName(one.labels), v})
		}
	}
	return out, unique(out)
}

// measured is timestamp(selector): when the samples were measured, in seconds. Those of a constant series always are now.
type measured struct{ sel selector }

func (m measured) eval(s *Store, t int64) ([]sample, error) {
	var out []sample
	for _, one := range s.series {
		if _, ok := one.at(t); !ok || !m.sel.match(one.labels) {
			continue
		}
		at := t
		if !one.constant {
			i := sort.Search(len(one.points), func(i int) bool { return one.points[i].Time > t })
			at = one.points[i-1].Time
		}
		out = append(out, sample{withoutName(one.labels), float64(at) / 1000})
	}
	return out, unique(out)
}

// compare is expr <= number and the like: the samples that keep accepts.
type compare struct {
	of   node
	keep func(float64) bool
}

func (c compare) eval(s *Store, t int64) ([]sample, error) {
	samples, err := c.of.eval(s, t)
	return slices.DeleteFunc(samples, func(one sample) bool { return !c.keep(one.value) }), err
}

// or is a or b: of b what has no labels, but for the name, in common with anything of a.
type or struct{ a, b node }

func (o or) eval(s *Store, t int64) ([]sample, error) {
	left, err := o.a.eval(s, t)
	if err != nil {
		return nil, err
	}
	right, err := o.b.eval(s, t)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, one := range left {
		taken[key(withoutName(one.labels))] = true
	}
	for _, one := range right {
		if !taken[key(withoutName(one.labels))] {
			left = append(left, one)
		}
	}
	return left, nil
}

// unless is a unless b: of a what has no labels, but for the name, in common with anything of b.
type unless struct{ a, b node }

func (u unless) eval(s *Store, t int64) ([]sample, error) {
	left, err := u.a.eval(s, t)
	if err != nil {
		return nil, err
	}
	right, err := u.b.eval(s, t)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, one := range right {
		taken[key(withoutName(one.labels))] = true
	}
	return slices.DeleteFunc(left, func(one sample) bool { return taken[key(withoutName(one.labels))] }), nil
}

// aggregate is fn by (labels) (expr).
type aggregate struct {
	fn string
	by []string
	of node
}

func (a aggregate) eval(s *Store, t int64) ([]sample, error) {
	samples, err := a.of.eval(s, t)
	if err != nil {
		return nil, err
	}
	groups := map[string]*sample{}
	counts := map[string]float64{}
	for _, one := range samples {
		labels := map[string]string{}
		for _, name := range a.by {
			if v, ok := one.labels[name]; ok {
				labels[name] = v
			}
		}
		k := key(labels)
		counts[k]++
		group, ok := groups[k]
		switch {
		case !ok:
			groups[k] = &sample{labels, one.value}
		case a.fn == "max":
			group.value = math.Max(group.value, one.value)
		case a.fn == "min":
			group.value = math.Min(group.value, one.value)
		default:
			group.value += one.value
		}
	}
	var out []sample
	for k, group := range groups {
		switch a.fn {
		case "group":
			group.value = 1
		case "count":
			group.value = counts[k]
		case "avg":
			group.value /= counts[k]
		}
		out = append(out, *group)
	}
	return out, nil
}

// relabel is label_replace(expr, name, value, "", ""), which always sets the label.
type relabel struct {
	of          node
	name, value string
}

func (r relabel) eval(s *Store, t int64) ([]sample, error) {
	samples, err := r.of.eval(s, t)
	for i := range samples {
		labels := maps.Clone(samples[i].labels)
		labels[r.name] = r.value
		samples[i].labels = labels
	}
	return samples, err
}

// vector is vector(number).
type vector float64

func (v vector) eval(*Store, int64) ([]sample, error) {
	return []sample{{map[string]string{}, float64(v)}}, nil
}

func withoutName(labels map[string]string) map[string]string {
	rest := maps.Clone(labels)
	delete(rest, "__name__")
	return rest
}

func unique(samples []sample) error {
	seen := map[string]bool{}
	for _, one := range samples {
		k := key(one.labels)
		if seen[k] {
			return fmt.Errorf("vector cannot contain metrics with the same labelset")
		}
		seen[k] = true
	}
	return nil
}
