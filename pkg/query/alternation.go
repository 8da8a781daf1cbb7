package query

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

const (
	// plainAbove is how many exact values are written without parentheses around them: Prometheus then compares them
	// without ever reading a regular expression.
	plainAbove = 100
	// maxRegex is how long a regular expression is made, in bytes. RE2 gives a program 8 MiB, of which a letter takes up to
	// 16 bytes forwards and as much backwards.
	maxRegex = 256 << 10
)

// alternation are regular expressions for a list of exact values, each within maxRegex; most often there is one.
//
// Fewer and longer ones are better: with 5,000 of 10,000 values Prometheus takes 5 times as long for a range over
// selectors of 250 values joined by "or" as for one selector.
func alternation(values []string) []string {
	var texts []string
	var b strings.Builder
	empty := false
	for _, value := range values {
		if value == "" {
			empty = true // is written last: an alternative that is not seen at the beginning
			continue
		}
		literal := regexp.QuoteMeta(value)
		if b.Len() > 0 && b.Len()+1+len(literal) > maxRegex {
			texts = append(texts, b.String())
			b.Reset()
		} else if b.Len() > 0 {
			b.WriteByte('|')
		}
		b.WriteString(literal)
	}
	if empty {
		b.WriteByte('|')
	}
	return append(texts, b.String())
}

// matchersOfFilters are ad-hoc filters as matchers.
func matchersOfFilters(filters []Filter) (additions, error) {
	var all additions
	for _, f := range filters {
		sets, err := f.additions()
		if err != nil {
			return nil, fmt.Errorf(`field "adhocFilters": %s: %w`, shorten(f.Key), err)
		}
		if all, err = product(all, sets); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (f Filter) additions() (additions, error) {
	b := matcherBuilder{}
	switch f.Operator {
	case opEqual:
		b.add(labels.MatchEqual, f.Key, f.Values[0])
	case opNotEqual:
		b.add(labels.MatchNotEqual, f.Key, f.Values[0])
	case opMatch:
		b.add(labels.MatchRegexp, f.Key, f.Values[0])
	case opNotMatch:
		b.add(labels.MatchNotRegexp, f.Key, f.Values[0])
	case opNoneOf:
		for _, text := range alternation(f.Values) {
			b.add(labels.MatchNotRegexp, f.Key, text)
		}
	case opOneOf:
		var sets additions
		for _, text := range alternation(f.Values) {
			one := matcherBuilder{}
			one.add(labels.MatchRegexp, f.Key, text)
			if one.err != nil {
				return nil, one.err
			}
			sets = append(sets, one.matchers)
		}
		return sets, nil
	}
	if b.err != nil {
		return nil, b.err
	}
	return additions{b.matchers}, nil
}
