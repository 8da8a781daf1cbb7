package promtest

import (
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
)

// quantile is histogram_quantile(q, expr) of buckets.
type quantile struct {
	q  float64
	of node
}

func (n quantile) eval(s *Store, t int64) ([]sample, error) {
	samples, err := n.of.eval(s, t)
	if err != nil {
		return nil, err
	}
	type bucket struct{ bound, count float64 }
	buckets := map[string][]bucket{}
	labels := map[string]map[string]string{}
	for _, one := range samples {
		bound, err := strconv.ParseFloat(one.labels["le"], 64)
		if err != nil {
			continue
		}
		rest := withoutName(one.labels)
		delete(rest, "le")
		k := key(rest)
		labels[k] = rest
		buckets[k] = append(buckets[k], bucket{bound, one.value})
	}
	var out []sample
	for _, k := range slices.Sorted(maps.Keys(buckets)) {
		of := buckets[k]
		sort.Slice(of, func(i, j int) bool { return of[i].bound < of[j].bound })
		last := len(of) - 1
		value := math.NaN()
		if last > 0 && of[last].count > 0 {
			rank := n.q * of[last].count
			i := sort.Search(last, func(i int) bool { return of[i].count >= rank })
			if i == last {
				value = of[last-1].bound
			} else {
				lower, under := 0.0, 0.0
				if i > 0 {
					lower, under = of[i-1].bound, of[i-1].count
				}
				value = lower + (of[i].bound-lower)*(rank-under)/(of[i].count-under)
			}
		}
		out = append(out, sample{labels[k], value})
	}
	return out, nil
}
