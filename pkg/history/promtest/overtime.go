package promtest

import (
	"maps"
	"slices"
)

// fold makes one value of several; there is at least one.
type fold func(values []float64) float64

var folds = map[string]fold{
	"max_over_time": slices.Max[[]float64],
	"min_over_time": slices.Min[[]float64],
	"avg_over_time": func(values []float64) (mean float64) {
		for i, v := range values {
			mean += (v - mean) / float64(i+1)
		}
		return mean
	},
}

// overTime is fn(selector[length]): of all samples after t - length up to t.
type overTime struct {
	fold   fold
	sel    selector
	length int64
}

func (o overTime) eval(s *Store, t int64) ([]sample, error) {
	var out []sample
	for _, one := range s.series {
		if !o.sel.match(one.labels) {
			continue
		}
		var values []float64
		for _, p := range one.points {
			if one.constant || p.Time > t-o.length && p.Time <= t && !isStale(p.Value) {
				values = append(values, p.Value)
			}
		}
		if len(values) > 0 {
			out = append(out, sample{withoutName(one.labels), o.fold(values)})
		}
	}
	return out, unique(out)
}

// subquery is fn(expr[length:step]).
type subquery struct {
	fold         fold
	of           node
	length, step int64
}

func (q subquery) eval(s *Store, t int64) ([]sample, error) {
	found := map[string]sample{}
	values := map[string][]float64{}
	for at := t - t%q.step; at > t-q.length; at -= q.step {
		samples, err := q.of.eval(s, at)
		if err != nil {
			return nil, err
		}
		for _, one := range samples {
			k := key(one.labels)
			found[k] = one
			values[k] = append(values[k], one.value)
		}
	}
	for k, one := range found {
		found[k] = sample{withoutName(one.labels), q.fold(values[k])}
	}
	return slices.Collect(maps.Values(found)), nil
}
