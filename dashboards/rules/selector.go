package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// selector keeps what the exporter, or somebody else than an exporter of GPUs, writes.
func (r reducer) selector(e *parser.VectorSelector) (parser.Expr, error) {
	if e.Name != "" {
		if r.gone[e.Name] || r.names.foreign(e.Name) {
			return nil, nil
		}
		return e, nil
	}
	at := slices.IndexFunc(e.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == model.MetricNameLabel })
	if at < 0 || e.LabelMatchers[at].Type != labels.MatchRegexp {
		return nil, fmt.Errorf("%s does not say which series it is of", e)
	}
	kept, all := r.alternatives(e.LabelMatchers[at])
	switch {
	case len(kept) == 0:
		return nil, nil
	case len(kept) == all:
		return e, nil
	case len(kept) == 1:
		e.Name = kept[0]
		e.LabelMatchers[at] = labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, kept[0])
		return e, nil
	}
	matcher, err := labels.NewMatcher(labels.MatchRegexp, model.MetricNameLabel, strings.Join(kept, "|"))
	if err != nil {
		return nil, err
	}
	e.LabelMatchers[at] = matcher
	return e, nil
}

// alternatives are the names that a regular expression stands for and that are kept, and how many it stands for: those it lists, else
// those of the catalogue that it fits.
func (r reducer) alternatives(m *labels.Matcher) (kept []string, all int) {
	names := m.SetMatches()
	if len(names) == 0 {
		for _, series := range r.names.devices {
			if m.Matches(series) {
				names = append(names, series)
			}
		}
	}
	for _, name := range names {
		if !r.names.foreign(name) {
			kept = append(kept, name)
		}
	}
	return kept, len(names)
}
