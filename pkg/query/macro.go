package query

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// macroNames are the macros in the order that messages list them.
var macroNames = []string{
	"$__interval", "$__interval_ms", "$__range", "$__range_s", "$__range_ms", "$__rate_interval", "$__rate_interval_ms",
	"$__gpu_filter", "$__gpu_identity",
}

// macro is $__name or ${__name}; ${__name:format} has a format of Grafana's that is of no use here.
var macro = regexp.MustCompile(`\$(?:__([a-zA-Z0-9_]+)|\{__([a-zA-Z0-9_]+)(?::[a-zA-Z]*)?\})`)

// Macros are what the macros of a PromQL expression stand for.
//
//	$__interval, $__interval_ms        the step
//	$__range, $__range_s, $__range_ms  the length of the range
//	$__rate_interval, …_ms             a range for rate() that always holds enough scrapes
//	$__gpu_filter                      label matchers for the query's scope, to be used between braces
//	$__gpu_identity                    the labels that tell GPUs apart, to be used in by (…)
//
// Each may be written in braces, ${__interval}.
type Macros struct {
	Window  Window
	Scope   Scope
	Catalog *catalog.Catalog
	// Addressed are dialects of which a series names its node by the scraped address alone, though others of the dialect
	// have a label for it.
	Addressed map[catalog.Dialect]bool
}

// Expand replaces all macros but those in comments. A macro that does not exist is the user's to mend, and the error lists those that do.
func (m Macros) Expand(expr string) (string, error) {
	expanded, err := m.expand(expr)
	return expanded.text, err
}

func (m Macros) expand(expr string) (expansion, error) {
	e := expansion{source: expr}
	var out strings.Builder
	rest := 0
	comments := commentsOf(expr)
	for _, at := range macro.FindAllStringSubmatchIndex(expr, -1) {
		if slices.ContainsFunc(comments, func(c span) bool { return c.from <= at[0] && at[0] < c.to }) {
			continue
		}
		out.WriteString(expr[rest:at[0]])
		rest = at[1]
		var name string
		if at[2] >= 0 {
			name = expr[at[2]:at[3]]
		} else {
			name = expr[at[4]:at[5]]
		}
		text, ok := m.value(name, expr[:at[0]], expr[at[1]:])
		if !ok {
			return expansion{}, fmt.Errorf("macro %s does not exist; use %s", expr[at[0]:at[1]], oneOf(macroNames))
		}
		e.macros = append(e.macros, expanded{name: name, from: at[0], to: at[1], start: out.Len(), end: out.Len() + len(text)})
		out.WriteString(text)
	}
	out.WriteString(expr[rest:])
	e.text = out.String()
	return e, nil
}

// value is what a macro stands for between the parts of the expression before and after it.
func (m Macros) value(name, before, after string) (string, bool) {
	length, rate := m.Window.Length(), m.Window.RateInterval()
	switch name {
	case "interval":
		return promDuration(m.Window.Step), true
	case "interval_ms":
		return strconv.FormatInt(m.Window.Step.Milliseconds(), 10), true
	case "range":
		return promDuration(max(length.Round(time.Second), time.Second)), true
	case "range_s":
		return strconv.FormatInt(int64(max(length.Round(time.Second), time.Second)/time.Second), 10), true
	case "range_ms":
		return strconv.FormatInt(max(length.Milliseconds(), 1), 10), true
	case "rate_interval":
		return promDuration(rate), true
	case "rate_interval_ms":
		return strconv.FormatInt(rate.Milliseconds(), 10), true
	case "all":
		return ".*", true // of a variable that nothing has resolved
	case "gpu_filter":
		return m.filter(before, after), true
	case "gpu_identity":
		return QuoteLabels(m.Catalog.GroupLabels()), true
	}
	return "", false
}

// promDuration never is "0s", which PromQL takes for no duration.
func promDuration(d time.Duration) string { return model.Duration(max(d, time.Millisecond)).String() }

// filter is $__gpu_filter for the selector it stands in. It is never empty: a matcher that all series pass stands
// in for no scope, so that the commas around it stay right.
func (m Macros) filter(before, after string) string {
	labels := m.Catalog.FilterFor(selectorAround(before, after))
	clauses := clausesOf(m.Scope, labels)
	if len(clauses) == 0 {
		name := "__name__"
		if len(labels.Node) > 0 {
			name = labels.Node[0]
		}
		return quoteName(name) + `=~".*"`
	}
	matchers := make([]string, len(clauses))
	for i, c := range clauses {
		matchers[i] = RegexMatcher(c.label, c.regex)
	}
	return strings.Join(matchers, ",")
}
