package query

import (
	"regexp"
	"strings"

	"github.com/prometheus/common/model"
)

// Quote is a PromQL string literal in double quotes.
func Quote(text string) string { return `"` + escape(text) + `"` }

// escape writes text for a double-quoted PromQL string. Everything but the quote, the backslash and line ends may stand
// for itself there.
func escape(text string) string {
	return escaper.Replace(text)
}

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`)

// RegexText is the regular expression that matches the values of a scope list and nothing else: exact values with their
// special characters escaped, expressions between slashes as they are. It is not yet escaped for a PromQL string.
func RegexText(values []string) string {
	parts := make([]string, len(values))
	for i, value := range values {
		if text, isRegex := pattern(value); isRegex {
			parts[i] = text
			if len(values) > 1 {
				parts[i] = "(?:" + text + ")"
			}
			continue
		}
		parts[i] = regexp.QuoteMeta(value)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	text := strings.Join(parts, "|")
	if len(parts) > plainAbove && regexp.QuoteMeta(text) == strings.ReplaceAll(text, "|", `\|`) {
		return text
	}
	return "(" + text + ")"
}

// Matcher selects series whose label has one of the values of a scope list: label=~"(a|b)", or label="a" for a single
// exact value. It is "" for an empty list. Names that PromQL accepts only in quotes are quoted.
func Matcher(label string, values []string) string {
	if len(values) == 0 {
		return ""
	}
	if _, isRegex := pattern(values[0]); len(values) == 1 && !isRegex {
		return quoteName(label) + "=" + Quote(values[0])
	}
	return RegexMatcher(label, RegexText(values))
}

// RegexMatcher is label=~"regex".
func RegexMatcher(label, regex string) string { return quoteName(label) + "=~" + Quote(regex) }

// Selector is a vector selector for one metric name, which may be one that PromQL accepts only in quotes.
func Selector(name string, matchers ...string) string {
	kept := make([]string, 0, len(matchers)+1)
	plainName := model.LegacyValidation.IsValidMetricName(name)
	if !plainName {
		kept = append(kept, Quote(name))
	}
	for _, m := range matchers {
		if m != "" {
			kept = append(kept, m)
		}
	}
	inner := strings.Join(kept, ",")
	switch {
	case !plainName:
		return "{" + inner + "}"
	case inner == "":
		return name
	}
	return name + "{" + inner + "}"
}

// quoteName is a label's name, in quotes where PromQL needs them.
func quoteName(label string) string {
	if model.LegacyValidation.IsValidLabelName(label) {
		return label
	}
	return Quote(label)
}

// QuoteLabels lists label names for "by (…)", in quotes where PromQL needs them.
func QuoteLabels(labels []string) string {
	quoted := make([]string, len(labels))
	for i, label := range labels {
		quoted[i] = quoteName(label)
	}
	return strings.Join(quoted, ", ")
}
