package query

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
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
}

// Expand replaces all macros. A macro that does not exist is the user's to mend, and the error lists those that do.
func (m Macros) Expand(expr string) (string, error) {
	var out strings.Builder
	rest := 0
	for _, at := range macro.FindAllStringSubmatchIndex(expr, -1) {
		out.WriteString(expr[rest:at[0]])
		rest = at[1]
		var name string
		if at[2] >= 0 {
			name = expr[at[2]:at[3]]
		} else {
			name = expr[at[4]:at[5]]
		}
		text, ok := m.value(name, expr[:at[0]])
		if !ok {
			return "", fmt.Errorf("macro %s does not exist; use %s", expr[at[0]:at[1]], oneOf(macroNames))
		}
		out.WriteString(text)
	}
	out.WriteString(expr[rest:])
	return out.String(), nil
}

// value is what a macro stands for; before is the expression up to it.
func (m Macros) value(name, before string) (string, bool) {
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
	case "gpu_filter":
		return m.filter(before), true
	case "gpu_identity":
		return QuoteLabels(m.Catalog.GroupLabels()), true
	}
	return "", false
}

// promDuration never is "0s", which PromQL takes for no duration.
func promDuration(d time.Duration) string { return model.Duration(max(d, time.Millisecond)).String() }

// filter is $__gpu_filter for the selector that before ends in. It is never empty: a matcher that all series pass stands
// in for no scope, so that the commas around it stay right.
func (m Macros) filter(before string) string {
	labels := m.Catalog.FilterFor(selectorHead(before))
	var matchers []string
	add := func(names []string, regex string) {
		for _, name := range names {
			text := regex
			if len(names) > 1 {
				// The series has one of these labels; the others read as empty.
				text += "|"
			}
			matchers = append(matchers, RegexMatcher(name, text))
		}
	}
	scope := m.Scope
	if len(scope.Nodes) > 0 {
		regex := RegexText(scope.Nodes)
		if labels.Node[0] == "instance" {
			regex = group(regex) + "(:[0-9]+)?"
		}
		add(labels.Node, regex)
	}
	if uuids := scope.uuidRegexes(); len(uuids) > 0 {
		regex := strings.Join(uuids, "|")
		if labels.Dialect == catalog.NvidiaSMI {
			// nvidia_gpu_exporter writes UUIDs without the prefix.
			regex = strings.ReplaceAll(regex, "GPU-", "(?:GPU-)?")
		}
		add(labels.UUID, regex)
	}
	if ids := scope.migIDs(); len(ids) > 0 {
		add(labels.MIGID, strings.Join(ids, "|"))
	}
	if len(scope.Models) > 0 {
		add(labels.Model, modelRegex(scope.Models))
	}
	if len(matchers) == 0 {
		return quoteName(labels.Node[0]) + `=~".*"`
	}
	return strings.Join(matchers, ",")
}

// selectorHead is the name in front of the innermost open brace and what stands between that brace and the end.
func selectorHead(before string) string {
	open := strings.LastIndexByte(before, '{')
	if open < 0 {
		return ""
	}
	head := strings.TrimRight(before[:open], " \t\r\n")
	start := len(head)
	for start > 0 && isNameByte(head[start-1]) {
		start--
	}
	return head[start:] + before[open:]
}

func isNameByte(c byte) bool {
	return c == '_' || c == ':' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func group(regex string) string {
	if strings.HasPrefix(regex, "(") && strings.HasSuffix(regex, ")") && strings.Count(regex, "(") == 1 {
		return regex
	}
	return "(?:" + regex + ")"
}

// ExactGPUs are the UUIDs of the GPUs that the lists of GPUs and of MIG instances select; false when they select all or
// by regular expressions.
func (s Scope) ExactGPUs() ([]string, bool) {
	uuids := make([]string, 0, len(s.GPUs)+len(s.MIGs))
	for _, value := range s.GPUs {
		if _, isRegex := pattern(value); isRegex {
			return nil, false
		}
		uuids = append(uuids, value)
	}
	if len(uuids) > 0 {
		return uuids, true
	}
	for _, value := range s.MIGs {
		uuid, _, isExact := exactMIG(value)
		if !isExact {
			return nil, false
		}
		uuids = append(uuids, uuid)
	}
	return uuids, len(uuids) > 0
}

// uuidRegexes are the GPUs that the lists of GPUs and of MIG instances select. MIG instances given as regular
// expressions do not say which GPU they are on, so they select all.
func (s Scope) uuidRegexes() []string {
	var regexes []string
	for _, value := range s.GPUs {
		regexes = append(regexes, RegexText([]string{value}))
	}
	if len(regexes) > 0 {
		return regexes
	}
	for _, value := range s.MIGs {
		uuid, _, isExact := exactMIG(value)
		if !isExact {
			return nil
		}
		regexes = append(regexes, regexp.QuoteMeta(uuid))
	}
	return regexes
}

// migIDs are the instance ids that the list of MIG instances selects; nil when it has regular expressions.
func (s Scope) migIDs() []string {
	var ids []string
	for _, value := range s.MIGs {
		_, id, isExact := exactMIG(value)
		if !isExact {
			return nil
		}
		ids = append(ids, regexp.QuoteMeta(id))
	}
	return ids
}

func exactMIG(value string) (uuid, id string, ok bool) {
	if _, isRegex := pattern(value); isRegex {
		return "", "", false
	}
	return strings.Cut(value, "/")
}

// modelRegex matches a model under all its spellings: with or without the vendor's words, with blanks or dashes.
func modelRegex(models []string) string {
	parts := make([]string, len(models))
	for i, value := range models {
		if text, isRegex := pattern(value); isRegex {
			parts[i] = text
			continue
		}
		parts[i] = "(?:.*[ -])?" + strings.ReplaceAll(regexp.QuoteMeta(gpu.ShortModel(value)), " ", "[ -]")
	}
	return strings.Join(parts, "|")
}
