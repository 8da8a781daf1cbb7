package catalog

import (
	"regexp"
	"slices"
	"strings"
)

// RenamedRank is added to the rank of a source that was found under a name with something in front: series that bear
// their own name are preferred.
const RenamedRank = 500

// Lookup lists what a series may be a source of. Most are of none or one; where it is several their Conditions tell which.
//
// The case of the name does not matter, and neither does what a pipeline put in front of it, behind which "_" or ":"
// follows, nor the "_total" that OpenTelemetry puts behind whatever is declared a counter:
// "myorg_dcgm_fi_dev_pcie_replay_counter_total" is a source with the Prefix "myorg_" and the Suffix "_total". This holds for
// names that cannot mean anything else, and not for recording rules, whose names have a level in front:
// "node:DCGM_FI_DEV_GPU_UTIL". The slice may be shared and must not be changed.
func (c *Catalog) Lookup(series string) []Source {
	if sources, ok := c.exact[series]; ok {
		return sources
	}
	lower := strings.ToLower(series)
	if sources, ok := c.bySeries[lower]; ok {
		return sources
	}
	known, at := c.withoutPrefix(lower)
	suffix := ""
	if short, ok := strings.CutSuffix(lower, totalSuffix); ok && len(known) == 0 {
		suffix = series[len(short):]
		if known, at = c.bySeries[short], 0; len(known) == 0 || !c.renamable.begins(short) {
			known, at = c.withoutPrefix(short)
		}
	}
	if len(known) == 0 {
		return nil
	}
	renamed := make([]Source, len(known))
	for i, s := range known {
		s.Series, s.Prefix, s.Suffix = series, series[:at], suffix
		s.Rank += RenamedRank
		renamed[i] = s
	}
	return renamed
}

// NamePattern is a regular expression that the names of all series match which Lookup, Info and MIGModes know, whatever is
// in front of them. Others may match too.
func (c *Catalog) NamePattern() string {
	return "(?i:(.+[_:])?(" + alternatives(c.renamable) + ").+|(" + alternatives(c.known) + ").*)"
}

func alternatives(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = regexp.QuoteMeta(text)
	}
	return strings.Join(quoted, "|")
}

// Required are labels, as a series of this name writes them, that it must have one of some values of to be a source of
// anything.
func (c *Catalog) Required(series string) map[string][]string {
	required := map[string][]string{}
	for i, s := range c.Lookup(series) {
		own := map[string][]string{}
		for _, condition := range s.Conditions() {
			label := condition.Label
			if !strings.Contains(series, ".") {
				label = underscored(label)
			}
			own[label] = condition.Values
		}
		if i == 0 {
			required = own
			continue
		}
		for label, values := range required {
			if more, ok := own[label]; ok {
				required[label] = slices.Concat(values, more)
			} else {
				delete(required, label)
			}
		}
	}
	return required
}

const totalSuffix = "_total"

// SourceOf is how a series holds one metric, false when it does not.
func (c *Catalog) SourceOf(metric, series string) (Source, bool) {
	for _, s := range c.Lookup(series) {
		if s.Metric == metric {
			return s, true
		}
	}
	return Source{}, false
}

// longestPrefix is how much may stand in front of a known name.
const longestPrefix = 100

// withoutPrefix finds the series that a name in lower case ends in, and where it begins.
func (c *Catalog) withoutPrefix(name string) (sources []Source, at int) {
	for at := 2; at < len(name) && at <= longestPrefix; at++ {
		if name[at-1] != '_' && name[at-1] != ':' || !c.renamable.begins(name[at:]) {
			continue
		}
		if known, ok := c.bySeries[name[at:]]; ok && !c.recorded(name[:at-1], name[at-1]) {
			return known, at
		}
	}
	return nil, 0
}

// beginnings are texts that names may begin with.
type beginnings []string

func (b beginnings) begins(name string) bool {
	for _, text := range b {
		if name != "" && name[0] == text[0] && strings.HasPrefix(name, text) {
			return true
		}
	}
	return false
}

// recorded reports whether what stands in front of a name makes it that of a recording rule.
func (c *Catalog) recorded(prefix string, separator byte) bool {
	if strings.Contains(prefix, ":") {
		return true
	}
	if separator != ':' {
		return false
	}
	for word := range strings.SplitSeq(prefix, "_") {
		for _, level := range c.levels {
			if word == level {
				return true
			}
		}
	}
	return false
}
