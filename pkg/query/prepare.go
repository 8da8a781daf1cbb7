package query

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Prepared is a PromQL query as it goes to the servers.
type Prepared struct {
	Text string
	// Type of the result, "" when Err is set.
	Type parser.ValueType
	// Err is what Prometheus' parser does not accept, at the place in the user's text. It is no reason not to ask: the
	// languages of other servers are wider. Whoever is refused by a server has a better message here.
	Err error
	// Notices are what the user should know about the query itself.
	Notices []gpu.Notice
}

// Prepare expands the macros of a PromQL query and adds the dashboard's filters to its selectors and, where the query
// asks for it and does not place $__gpu_filter itself, the scope. Every error is the user's to mend.
//
// Filters go to all selectors; the scope goes to those of GPUs' series, by the labels of their dialect. Where nothing is
// added the text stays as it was written; otherwise it is written anew from what was parsed, without its comments.
func (m Macros) Prepare(q Query) (Prepared, error) {
	e, err := m.expand(q.Expr)
	if err != nil {
		return Prepared{}, err
	}
	p := Prepared{Text: e.text}
	if e.uses("gpu_filter") && q.Scope.ByOwner() {
		p.Notices = append(p.Notices, gpu.Notice{Severity: gpu.Warning, Text: "$__gpu_filter does not select by namespace, pod or job: " +
			"set injectScope instead, or filter by the labels of your exporter."})
	}
	if e.uses("gpu_filter") && len(q.Scope.Nodes) > 0 && len(m.Addressed) > 0 {
		p.Notices = append(p.Notices, gpu.Notice{Severity: gpu.Warning, Text: "$__gpu_filter does not select by node where an exporter names its host in no label but the " +
			"scraped address (instance): those series are of all nodes. Set injectScope instead, or let the exporter name its host (NODE_NAME)."})
	}
	scoped := q.InjectScope && !e.uses("gpu_filter") && q.Scope.selectsDevices()
	expr, err := parsePromQL(e.text)
	if err != nil {
		p.Err = e.explain(err)
		if scoped || len(q.Filters) > 0 {
			return Prepared{}, fmt.Errorf("%w (filters can only be added to what Prometheus' parser accepts)", p.Err)
		}
		return p, nil
	}
	p.Type = expr.Type()
	p.ofType(expr, q.Instant)
	p.Notices = append(p.Notices, advise(expr, m.Catalog)...)
	if !scoped && len(q.Filters) == 0 {
		return p, nil
	}
	filters, err := matchersOfFilters(q.Filters)
	if err != nil {
		return Prepared{}, err
	}
	left := selectorNames{}
	in := injector{additions: func(selector *parser.VectorSelector) (additions, error) {
		if !scoped {
			return filters, nil
		}
		sets, known, err := m.scopeAdditions(selector, q.Scope)
		if err != nil {
			return nil, err
		}
		if !known {
			left.add(selector)
		}
		return product(filters, sets)
	}}
	if expr, err = in.rewrite(expr, 0); err != nil {
		return Prepared{}, err
	}
	p.Text = expr.String()
	if len(left) > 0 {
		p.Notices = append(p.Notices, gpu.Notice{Severity: gpu.Info, Text: "Not restricted to the scope, because these are not known to be series of GPUs: " +
			left.String() + "."})
	}
	return p, nil
}

// ofType tells what cannot be shown of a result's type.
func (p *Prepared) ofType(expr parser.Expr, instant bool) {
	switch {
	case !instant && p.Type == parser.ValueTypeMatrix:
		p.Err = errors.New(`field "expr": the result is a range vector, which has no value at a time; put it into a function, as in ` +
			`rate(x[$__rate_interval]), or make the query instant`)
	case !instant && p.Type == parser.ValueTypeString:
		p.Err = errors.New(`field "expr": the result is a text, which has no value to show`)
	case p.Type == parser.ValueTypeString:
		p.Notices = append(p.Notices, gpu.Notice{
			Severity: gpu.Warning, Text: "The expression is a text, which has no value to show: " + shorten(expr.String()) + ".",
		})
	}
}

// selectsDevices reports whether the scope restricts more than the servers that are asked.
func (s Scope) selectsDevices() bool {
	return len(s.Nodes) > 0 || len(s.GPUs) > 0 || len(s.MIGs) > 0 || len(s.Models) > 0 || s.ByOwner()
}

// scopeAdditions are the scope as matchers for a selector. It reports false for a selector that is not known to be of
// GPUs' series.
func (m Macros) scopeAdditions(selector *parser.VectorSelector, scope Scope) (additions, bool, error) {
	name := nameOf(selector)
	filter, ok := gpuFilter(m.Catalog, name, scope)
	if !ok {
		return nil, false, nil
	}
	places := additions{nil}
	if len(scope.Nodes) > 0 && len(filter.Node) > 1 && slices.Contains(filter.Node, instance) {
		var err error
		if places, err = firstSet(filter.Node, func(label string) clause { return nodeClause(scope, label) }); err != nil {
			return nil, false, err
		}
		scope.Nodes = nil
	} else if len(scope.Nodes) > 0 && (scope.namesAddresses() || m.Addressed[filter.Dialect]) && !slices.Contains(filter.Node, instance) {
		var err error
		if places, err = addressSets(filter.Node, scope, m.Catalog.UselessHosts()); err != nil {
			return nil, false, fmt.Errorf(`field "expr": %s: %w`, shorten(name), err)
		}
		scope.Nodes = nil
	}
	var devices additions
	if groups, ok := byInstanceID(scope.MIGs); ok {
		for _, migs := range groups {
			set, err := setOf(clausesOf(Scope{MIGs: migs}, filter))
			if err != nil {
				return nil, false, fmt.Errorf(`field "expr": %s: %w`, shorten(name), err)
			}
			devices = append(devices, set)
		}
		scope.MIGs = nil
	}
	set, err := setOf(clausesOf(scope, filter))
	if err != nil {
		return nil, false, fmt.Errorf(`field "expr": %s: %w`, shorten(name), err)
	}
	sets, err := product(places, additions{set})
	if err != nil {
		return nil, false, err
	}
	if sets, err = product(sets, devices); err != nil {
		return nil, false, err
	}
	if scope.ByOwner() {
		if !m.Catalog.NamesOwners(filter.Dialect) {
			return nil, false, fmt.Errorf(
				`field "injectScope": %s does not tell namespaces, pods and jobs; take a metric query, which knows them from elsewhere`, shorten(name))
		}
		owners, err := ownerAdditions(m.Catalog, scope)
		if err != nil {
			return nil, false, err
		}
		if sets, err = product(sets, owners); err != nil {
			return nil, false, err
		}
	}
	return sets, true, nil
}

// setOf are clauses as matchers.
func setOf(clauses []clause) ([]*labels.Matcher, error) {
	b := matcherBuilder{}
	for _, c := range clauses {
		b.add(labels.MatchRegexp, c.label, c.regex)
	}
	return b.matchers, b.err
}

// gpuFilter is how to select series of a name by a scope, false when it is not known to be of GPUs, or when it is a
// recording rule's that does not tell them apart as the scope does.
func gpuFilter(c *catalog.Catalog, name string, scope Scope) (catalog.Filter, bool) {
	if level := recordedLevel(name); level != "" && !scope.within(level) {
		return catalog.Filter{}, false
	}
	return c.FilterFor(name), c.OfDevices(name)
}

// recordedLevel is what a recording rule has a series for each of: "node" of gpu:power_watts:sum_by_node.
func recordedLevel(name string) string {
	if !strings.HasPrefix(name, "gpu:") {
		return ""
	}
	if at := strings.LastIndex(name, "_by_"); at >= 0 {
		return name[at+len("_by_"):]
	}
	return ""
}

// within reports whether the labels of a level hold all that the scope selects devices by.
func (s Scope) within(level string) bool {
	devices := len(s.GPUs) > 0 || len(s.MIGs) > 0
	switch level {
	case ByNode:
		return !devices && !s.ByOwner()
	case ByCluster:
		return !devices && !s.ByOwner() && len(s.Nodes) == 0
	case ByJob:
		return false
	}
	return true
}

// nameOf is the metric's name that a selector asks for, or the regular expression for it.
func nameOf(selector *parser.VectorSelector) string {
	if selector.Name != "" {
		return selector.Name
	}
	for _, m := range selector.LabelMatchers {
		if m != nil && m.Name == model.MetricNameLabel && (m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp) {
			return m.Value
		}
	}
	return ""
}

// ownerAdditions are the namespaces, pods and jobs of a scope. A series has its owner in the first family of labels that
// is set, so there is a set of matchers for each.
func ownerAdditions(c *catalog.Catalog, scope Scope) (additions, error) {
	for _, list := range [][]string{scope.Namespaces, scope.Pods, scope.Jobs} {
		if slices.Contains(list, Unassigned) {
			return nil, fmt.Errorf(`field "injectScope": %q cannot be told by the labels of a series; take a metric query`, Unassigned)
		}
	}
	all := additions{nil}
	if len(scope.Namespaces) > 0 || len(scope.Pods) > 0 {
		var families additions
		var before []*labels.Matcher
		for _, family := range c.OwnerLabels() {
			b := matcherBuilder{matchers: slices.Clone(before)}
			b.add(labels.MatchNotRegexp, family.Pod, c.ExporterPods())
			b.add(labels.MatchNotEqual, family.Pod, "")
			b.list(family.Pod, scope.Pods)
			b.list(family.Namespace, scope.Namespaces)
			if b.err != nil {
				return nil, b.err
			}
			families = append(families, b.matchers)
			none := matcherBuilder{matchers: before}
			none.add(labels.MatchEqual, family.Pod, "")
			before = none.matchers
		}
		all = families
	}
	if len(scope.Jobs) == 0 {
		return all, nil
	}
	jobs, err := firstSet(c.JobLabels(), func(label string) clause { return clause{label, RegexText(scope.Jobs)} })
	if err != nil {
		return nil, err
	}
	return product(all, jobs)
}

// namesAddresses reports whether a node is given by its address, as nodes are that only the scraped address names.
func (s Scope) namesAddresses() bool {
	return slices.ContainsFunc(s.Nodes, func(node string) bool {
		_, err := netip.ParseAddr(node)
		return err == nil
	})
}

// addressSets are the matchers for series of nodes that some label names, and the scraped address where none of them is of use.
func addressSets(names []string, scope Scope, useless string) (additions, error) {
	var sets additions
	var before []*labels.Matcher
	for _, name := range slices.Concat(names, []string{instance}) {
		c := nodeClause(scope, name)
		b := matcherBuilder{matchers: slices.Clone(before)}
		b.add(labels.MatchRegexp, c.label, c.regex)
		none := matcherBuilder{matchers: before}
		none.add(labels.MatchRegexp, name, useless+"|")
		if err := errors.Join(b.err, none.err); err != nil {
			return nil, err
		}
		sets, before = append(sets, b.matchers), none.matchers
	}
	return sets, nil
}

// firstSet are the matchers for what is in the first of several labels that is set.
func firstSet(names []string, condition func(label string) clause) (additions, error) {
	var sets additions
	var before []*labels.Matcher
	for _, name := range names {
		c := condition(name)
		b := matcherBuilder{matchers: slices.Clone(before)}
		b.add(labels.MatchRegexp, c.label, c.regex)
		if b.err != nil {
			return nil, b.err
		}
		sets = append(sets, b.matchers)
		none := matcherBuilder{matchers: before}
		none.add(labels.MatchEqual, name, "")
		before = none.matchers
	}
	return sets, nil
}

// matcherBuilder collects matchers and keeps the first error.
type matcherBuilder struct {
	matchers []*labels.Matcher
	err      error
}

func (b *matcherBuilder) add(kind labels.MatchType, name, value string) {
	m, err := labels.NewMatcher(kind, name, value)
	if err != nil {
		b.err = errors.Join(b.err, fmt.Errorf("restrict %s: %w", name, err))
		return
	}
	b.matchers = append(b.matchers, m)
}

func (b *matcherBuilder) list(name string, values []string) {
	if len(values) > 0 {
		b.add(labels.MatchRegexp, name, RegexText(values))
	}
}

// maxSets bounds the selectors that one selector becomes.
const maxSets = 64

// product are the sets that fulfil one of a and one of b; none fulfils nothing in particular.
func product(a, b additions) (additions, error) {
	if len(a) == 0 {
		return b, nil
	}
	if len(b) == 0 {
		return a, nil
	}
	if len(a)*len(b) > maxSets {
		return nil, errors.New(`field "expr": the scope and the filters have too many values together; use regular expressions`)
	}
	var sets additions
	for _, x := range a {
		for _, y := range b {
			sets = append(sets, slices.Concat(x, y))
		}
	}
	return sets, nil
}

// selectorNames are selectors to tell people about.
type selectorNames map[string]bool

func (s selectorNames) add(selector *parser.VectorSelector) {
	s[shorten(firstOf(nameOf(selector), selector.String()))] = true
}

func (s selectorNames) String() string {
	names := make([]string, 0, len(s))
	for name := range s {
		names = append(names, name)
	}
	slices.Sort(names)
	if more := len(names) - namedValues; more > 0 {
		return strings.Join(names[:namedValues], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}
