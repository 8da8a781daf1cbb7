package history

import (
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// role says what a series is good for in the answer to a metric.
type role uint8

const (
	direct     role = iota // it holds the metric
	substitute             // it stands in for the metric on MIG instances
	part                   // it is one of several that add up to the metric
)

// want is a series that a server is asked for.
type want struct {
	source catalog.Source
	metric catalog.Metric // that the source is of: the one asked for, its substitute, or a part of it
	role   role
	part   int // which part
	rank   int // among all wants for the same metric, 0 is best
}

// Ranks of what is no direct source come after all that are.
const (
	substituteRank = 1000
	sumRank        = 2000
)

// plan is what to ask one server for one metric.
type plan struct {
	metric  catalog.Metric
	catalog *catalog.Catalog
	over    overTime
	wants   map[string]*want // by the series' name as the server has it
	names   []string         // of the wants, sorted
}

// plan finds the series that exist on the server. The parts of a sum are asked for too, because some targets of a dialect
// may lack the metric itself in the middle of an upgrade; our own agents never do.
func (h *History) plan(words vocabulary, m catalog.Metric) plan {
	p := plan{metric: m, catalog: h.catalog, wants: map[string]*want{}}
	for _, dialect := range h.catalog.Dialects() {
		found := h.want(&p, words, m, dialect, want{role: direct})
		if len(m.SumOf) > 0 && (found == 0 || dialect != catalog.Warpwatch) {
			h.wantParts(&p, words, m, dialect)
		}
		if other, ok := h.catalog.Metric(m.MIGSubstitute); ok && words.namesInstances(h.catalog) {
			h.want(&p, words, other, dialect, want{role: substitute, rank: substituteRank})
		}
	}
	for name := range p.wants {
		p.names = append(p.names, name)
	}
	slices.Sort(p.names)
	return p
}

// want adds the series that a dialect has of a metric and returns how many there are.
func (h *History) want(p *plan, words vocabulary, m catalog.Metric, dialect catalog.Dialect, as want) int {
	names := h.existing(words, m, dialect)
	for _, name := range names {
		w := as
		w.source, _ = h.catalog.SourceOf(m.Name, name)
		w.metric = m
		w.rank += w.source.Rank
		p.wants[name] = &w
	}
	return len(names)
}

// wantParts adds the parts of a sum. One part alone is no sum.
func (h *History) wantParts(p *plan, words vocabulary, m catalog.Metric, dialect catalog.Dialect) {
	parts := plan{wants: map[string]*want{}}
	present := 0
	for i, name := range m.SumOf {
		other, _ := h.catalog.Metric(name)
		if h.want(&parts, words, other, dialect, want{role: part, part: i, rank: sumRank}) > 0 {
			present++
		}
	}
	if present < 2 {
		return
	}
	for name, w := range parts.wants {
		p.wants[name] = w
	}
}

// find is the want that a series of the answer fulfils.
func (p plan) find(labels labelSet) (*want, bool) {
	w, ok := p.wants[p.nameOf(labels)]
	return w, ok
}

// nameOf is the name of the series that a series of the answer comes from.
func (p plan) nameOf(labels labelSet) string {
	if name := labels.Get(tag); name != "" {
		return name
	}
	return labels.Get("__name__")
}

// expr asks for all wants in one expression. alternatives are sets of matchers of which a series must fulfil one; none
// selects all.
func (p plan) expr(alternatives []string, w query.Window) string {
	if len(alternatives) == 0 {
		alternatives = []string{""}
	}
	var selectors []string
	if p.metric.Kind == catalog.Counter {
		for _, name := range p.names {
			for _, matchers := range alternatives {
				selector := selectMatching([]string{name}, matchers)
				span := selector + `[` + model.Duration(w.RateInterval()).String() + `]`
				rate := `rate(` + span + `)`
				if p.wants[name].source.Dialect == catalog.DCGM {
					// DCGM's "no value" never changes, and a rate of 0 would say that there is one.
					rate += ` unless max_over_time(` + span + `) >= 9.2e18`
				}
				selectors = append(selectors, `label_replace(`+rate+`,`+query.Quote(tag)+`,`+query.Quote(name)+`,"","")`)
			}
		}
		return strings.Join(selectors, " or ")
	}
	if p.over.span > 0 {
		return p.spanned(alternatives)
	}
	// "or" compares labels without the name, so each selector must have all names: a series is then kept or dropped for
	// its labels alone.
	for _, matchers := range alternatives {
		selectors = append(selectors, selectMatching(p.names, matchers))
	}
	return strings.Join(selectors, " or ")
}

func selectMatching(names []string, matchers string) string {
	if matchers == "" {
		return selectNames(names)
	}
	return selectNames(names, matchers)
}

// pushDown turns the most selective part of the scope into matchers, one for each label that may hold it on this server.
// They select at least what the scope does; the exact choice is made when the devices are known.
func (h *History) pushDown(s query.Scope, words vocabulary, known []roster) []string {
	if uuids, ok := s.ExactGPUs(); ok {
		quoted := make([]string, len(uuids))
		for i, uuid := range uuids {
			uuid, _, _ = strings.Cut(uuid, catalog.NodeMark)
			quoted[i] = regexp.QuoteMeta(strings.TrimPrefix(uuid, "GPU-"))
		}
		return matchersFor(words, h.catalog.UUIDLabels(), "(?:GPU-)?(?:"+strings.Join(quoted, "|")+")")
	}
	if pods := s.Pods; len(pods) > 0 && !slices.Contains(pods, query.Unassigned) {
		return matchersFor(words, h.catalog.PodLabels(), query.RegexText(pods))
	}
	if len(s.Nodes) > 0 {
		regex := query.RegexText(append(slices.Clone(s.Nodes), aliases(s, known)...))
		return matchersFor(words, h.catalog.NodeLabels(), regex)
	}
	return nil
}

// matchersFor is a matcher for each of the labels that the server has; nil when it has none of them.
func matchersFor(words vocabulary, labels []string, regex string) []string {
	var matchers []string
	for _, label := range labels {
		if !slices.Contains(words.labels, label) {
			continue
		}
		text := regex
		if label == "instance" {
			text = `\[?(?:` + regex + `)\]?(?::[0-9]+)?`
		}
		matchers = append(matchers, query.RegexMatcher(label, text))
	}
	return matchers
}

// aliases are other names of the nodes that the scope selects: exporters do not agree on them.
func aliases(s query.Scope, known []roster) []string {
	var names []string
	for _, r := range known {
		for _, resident := range r {
			d := resident.device
			if !s.MatchesNode(d.Cluster, d.Node) {
				continue
			}
			for _, host := range resident.hosts {
				if host.value != d.Node && !slices.Contains(names, host.value) {
					names = append(names, host.value)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}
