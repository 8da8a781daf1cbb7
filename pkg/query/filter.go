package query

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxFilters bounds the ad-hoc filters of a query: nobody sets more by hand.
const maxFilters = 100

// The operators of a Filter, as Grafana writes them.
const (
	opEqual    = "="
	opNotEqual = "!="
	opMatch    = "=~"
	opNotMatch = "!~"
	opOneOf    = "=|"
	opNoneOf   = "!=|"
)

func operators() []string {
	return []string{opEqual, opNotEqual, opMatch, opNotMatch, opOneOf, opNoneOf}
}

// Filter is an ad-hoc filter of a dashboard: a condition on a label that holds for all queries.
//
// In PromQL the key is any label, and the condition is added to every selector. In other queries it is a dimension of
// GPUs and their owners: cluster, node, gpu (the index), gpu_uuid, model, mig_id, mig_profile, namespace, pod or job, or
// an exporter's own word for one of them. As in PromQL, the empty value stands for a label that is not there, and regular
// expressions match the whole value.
type Filter struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"` // = != =~ !~, or =| and !=| for one and none of several values
	Values   []string `json:"values"`   // one but for =| and !=|
}

func (f Filter) String() string {
	if len(f.Values) == 1 {
		return fmt.Sprintf("%s %s %q", f.Key, f.Operator, shorten(f.Values[0]))
	}
	return fmt.Sprintf("%s %s %d values", f.Key, f.Operator, len(f.Values))
}

func (f Filter) negative() bool { return strings.HasPrefix(f.Operator, "!") }

// matches is what the filter says of a label's value.
func (f Filter) matches(value string, re *regexp.Regexp) bool {
	if re != nil {
		return re.MatchString(value) != f.negative()
	}
	return slices.Contains(f.Values, value) != f.negative()
}

// compile is the filter's regular expression, nil when it compares with exact values.
func (f Filter) compile() (*regexp.Regexp, error) {
	if f.Operator != opMatch && f.Operator != opNotMatch {
		return nil, nil
	}
	return wholly(f.Values[0], f.Values[0])
}

// given is an ad-hoc filter as Grafana sends it. Grafana adds fields of its own.
type given struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Value    *string  `json:"value"`
	Values   []string `json:"values"`
}

// filters reads ad-hoc filters. Those that are not finished – without a key, or a choice without values – restrict nothing,
// nor does the choice of all.
func (r *reader) filters(name string) []Filter {
	var raw []json.RawMessage
	if !r.get(name, &raw, `a list of filters, like [{"key": "node", "operator": "=", "value": "gpu-01"}]`) {
		return nil
	}
	if len(raw) > maxFilters {
		r.fail(name, "has %d filters; at most %d are accepted", len(raw), maxFilters)
		return nil
	}
	var filters []Filter
	for _, text := range raw {
		var g given
		if err := json.Unmarshal(text, &g); err != nil {
			r.fail(name, `%s is no filter; write {"key": "node", "operator": "=", "value": "gpu-01"}`, shorten(string(text)))
			return nil
		}
		f, finished := r.filter(name, g)
		if r.err != nil {
			return nil
		}
		if finished {
			filters = append(filters, f)
		}
	}
	slices.SortFunc(filters, func(a, b Filter) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Operator, b.Operator), slices.Compare(a.Values, b.Values))
	})
	return filters
}

func (r *reader) filter(name string, g given) (Filter, bool) {
	f := Filter{Key: strings.TrimSpace(g.Key), Operator: firstOf(strings.TrimSpace(g.Operator), opEqual)}
	r.checkText(name, f.Key, maxText)
	if f.Key == "" {
		return f, false
	}
	if !slices.Contains(operators(), f.Operator) {
		r.fail(name, "operator %q of %q is not known; use %s", shorten(f.Operator), shorten(f.Key), oneOf(operators()))
		return f, false
	}
	several := f.Operator == opOneOf || f.Operator == opNoneOf
	switch {
	case several && len(g.Values) > 0, g.Value == nil && len(g.Values) > 0:
		f.Values = g.Values
	case g.Value != nil:
		f.Values = []string{*g.Value}
	case !several:
		f.Values = []string{""}
	}
	if !several && len(f.Values) > 1 {
		f.Values = f.Values[:1]
	}
	if len(f.Values) == 0 || slices.Contains(f.Values, allValues) {
		return f, false
	}
	if len(f.Values) > MaxValues {
		r.fail(name, "%q has %d values; at most %d are accepted, so use a regular expression", shorten(f.Key), len(f.Values), MaxValues)
	}
	for _, value := range f.Values {
		r.checkText(name, value, maxPattern)
	}
	if several {
		f.Values = normal(f.Values)
	}
	if several && len(f.Values) == 1 {
		f.Operator = strings.TrimSuffix(f.Operator, "|")
	}
	if _, err := f.compile(); err != nil {
		r.fail(name, "%s: %v", shorten(f.Key), err)
	}
	return f, true
}

// wholly compiles an expression that must match the whole value, as in Prometheus. given is what the error quotes.
func wholly(text, given string) (*regexp.Regexp, error) {
	// Alone first: "a)|(b" would become valid, and unanchored, by the anchors around it.
	if _, err := regexp.Compile(text); err != nil {
		return nil, notRegex(given, err)
	}
	re, err := regexp.Compile("^(?s:" + text + ")$")
	if err != nil {
		return nil, notRegex(given, err)
	}
	return re, nil
}
