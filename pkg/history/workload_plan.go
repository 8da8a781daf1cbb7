package history

import (
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// facet is what a series of an answer is of a workload's value.
type facet uint8

const (
	whole      facet = iota // the value itself
	bucket                  // the rate of one bucket, which label le bounds
	sumOfAll                // the rate of the sum of what was observed
	countOfAll              // the rate of how much was observed
)

// workloadPlan is what to ask one server for a metric of workloads.
type workloadPlan struct {
	plan
	facets map[string]facet // by the names in the plan's wants
	exprs  []string
	native bool // quantiles of native histograms are among them that were to be put together
}

const bucketEnding = "_bucket"

// workloadPlan finds the series that exist on the server and writes what to ask for. The aggregation is the query's, of a
// histogram the quantile or mean; together is whether workloads are put together to lines. Points of a gauge are of all samples of
// their step.
func (h *History) workloadPlan(words vocabulary, q query.Query, m catalog.Metric, alternatives []string, w query.Window) workloadPlan {
	aggregation, together := q.AggregationOf(m), q.AggregateBy != query.ByIdentity
	p := workloadPlan{plan: plan{metric: m, wants: map[string]*want{}, over: overTimeOf(q, m, w)}, facets: map[string]facet{}}
	ask := func(name string, source catalog.Source, what facet, expr string) {
		if _, known := p.wants[name]; known {
			return
		}
		p.wants[name] = &want{source: source, metric: m, rank: source.Rank}
		p.facets[name] = what
		p.names = append(p.names, name)
		p.exprs = append(p.exprs, `label_replace(`+expr+`,`+query.Quote(tag)+`,`+query.Quote(name)+`,"","")`)
	}
	by := query.QuoteLabels(append([]string{"job"}, words.workload...))
	interval := `[` + model.Duration(w.RateInterval()).String() + `]`
	selected := func(name string, source catalog.Source, function, span string) string {
		conditions := conditionsOf(source)
		parts := make([]string, 0, len(alternatives))
		for _, matchers := range alternatives {
			one := selectMatching([]string{name}, joinMatchers(conditions, matchers)) + span
			if function != "" {
				one = function + `(` + one + `)`
			}
			parts = append(parts, one)
		}
		return strings.Join(parts, " or ")
	}
	rates := func(name string, source catalog.Source) string { return selected(name, source, "rate", interval) }
	for _, dialect := range h.catalog.Dialects() {
		if m.Kind != catalog.Histogram {
			for _, name := range h.existing(words, m, dialect) {
				source, _ := h.catalog.SourceOf(m.Name, name)
				values := selected(name, source, "", "")
				switch {
				case m.Kind == catalog.Counter:
					values = rates(name, source)
				case p.over.span > 0:
					newest := values
					values = selected(name, source, p.over.function+"_over_time", bracketed(p.over.span))
					if p.over.span < lookback {
						values = `(` + values + ` or ` + newest + `)` // some exporters are scraped less often than others
					}
				}
				ask(name, source, whole, m.Aggregations[0]+` by (`+by+`) (`+values+`)`)
			}
			continue
		}
		quantile := quantileOf(aggregation)
		natives := h.natives(words, m, dialect)
		for _, name := range sortedNames(natives) {
			source := natives[name]
			total := `sum by (` + by + `) (` + rates(name, source) + `)`
			if aggregation == "avg" {
				ask(name+"_sum", source, sumOfAll, `histogram_sum(`+total+`)`)
				ask(name+"_count", source, countOfAll, `histogram_count(`+total+`)`)
				continue
			}
			p.native = p.native || together
			ask(name, source, whole, `histogram_quantile(`+quantile+`,`+total+`)`)
		}
		for _, name := range h.existing(words, m, dialect) {
			source, _ := h.catalog.SourceOf(m.Name, name)
			source.Rank = 2*source.Rank + 1 // native histograms are finer
			base := strings.TrimSuffix(name, bucketEnding)
			switch {
			case aggregation == "avg":
				ask(base+"_sum", source, sumOfAll, `sum by (`+by+`) (`+rates(base+"_sum", source)+`)`)
				ask(base+"_count", source, countOfAll, `sum by (`+by+`) (`+rates(base+"_count", source)+`)`)
			case together:
				ask(name, source, bucket, `sum by (le, `+by+`) (`+rates(name, source)+`)`)
			default:
				ask(name, source, whole, `histogram_quantile(`+quantile+`,sum by (le, `+by+`) (`+rates(name, source)+`))`)
			}
		}
	}
	return p
}

// conditionsOf are the matchers of what a series must fulfil besides its name.
func conditionsOf(source catalog.Source) string {
	conditions := source.Conditions()
	matchers := make([]string, 0, len(conditions))
	for _, c := range conditions {
		matchers = append(matchers, query.RegexMatcher(strings.ReplaceAll(c.Label, ".", "_"), query.RegexText(c.Values)))
	}
	return strings.Join(matchers, ",")
}

func joinMatchers(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}

// natives are the native histograms of a dialect, by name: they have the name that buckets have without its ending.
func (h *History) natives(words vocabulary, m catalog.Metric, dialect catalog.Dialect) map[string]catalog.Source {
	found := map[string]catalog.Source{}
	for _, s := range m.Sources {
		if base, ok := strings.CutSuffix(s.Series, bucketEnding); ok && s.Dialect == dialect && words.series[base] {
			s.Rank *= 2
			found[base] = s
		}
	}
	return found
}

// quantileOf is "0.95" for p95.
func quantileOf(aggregation string) string {
	percent, err := strconv.Atoi(strings.TrimPrefix(aggregation, "p"))
	if err != nil {
		return "0.5"
	}
	return strconv.FormatFloat(float64(percent)/100, 'f', -1, 64)
}

// workloadMatchers turn the scope into matchers, of which a series must fulfil one set; they select at least what the scope
// does. What is in one label only narrows every set, of the rest the first list counts.
func (h *History) workloadMatchers(s query.Scope, words vocabulary) []string {
	var narrow, sets []string
	places := h.catalog.WorkloadPlaces()
	for _, list := range []struct {
		values, labels []string
	}{{s.Pods, places.Pod}, {s.Jobs, places.Job}, {s.Models, places.Model}, {s.Namespaces, places.Namespace}} {
		if len(list.values) == 0 || slices.Contains(list.values, query.Unassigned) {
			continue
		}
		all := words
		all.labels = words.workload
		matchers := matchersFor(all, list.labels, query.RegexText(list.values))
		switch {
		case len(matchers) == 1:
			narrow = append(narrow, matchers[0])
		case len(sets) == 0:
			sets = matchers
		}
	}
	if len(s.Nodes) > 0 && len(sets) == 0 {
		sets = matchersFor(words, h.catalog.NodeLabels(), query.RegexText(s.Nodes))
	}
	if len(sets) == 0 {
		sets = []string{""}
	}
	for i, set := range sets {
		sets[i] = joinMatchers(strings.Join(narrow, ","), set)
	}
	return sets
}
