package catalog

import (
	"slices"
	"strings"
)

// OfDevices reports whether a series, or those whose names a regular expression matches, are known to be of GPUs, so that
// they have the labels that FilterFor tells. A name that merely begins like one is not: other vendors' exporters write gpu_*,
// too.
func (c *Catalog) OfDevices(series string) bool {
	for _, source := range c.Lookup(series) {
		if m, ok := c.Metric(source.Metric); ok && m.Subject == SubjectDevice {
			return true
		}
	}
	for _, info := range c.info {
		if strings.EqualFold(info.Series, series) {
			return true
		}
	}
	if f := c.FilterFor(series); f.Mark != "" && slices.Contains(c.renamable, f.Mark) {
		return true // also what is not in the catalogue
	}
	return c.ofAgent(strings.ToLower(series)) || strings.HasPrefix(series, "gpu:")
}

// ofAgent reports whether the agent writes a name that is no metric of its own: facts, and what it saw between two scrapes.
func (c *Catalog) ofAgent(name string) bool {
	if slices.Contains(c.agentSeries, name) {
		return true
	}
	stem, rest, ok := strings.Cut(name, "_window")
	if !ok {
		return false
	}
	for _, figure := range []string{"_min", "_mean", "_max"} {
		rest = strings.TrimPrefix(rest, figure)
	}
	_, known := c.Metric(stem + rest)
	return known
}

// OfOthers reports whether a series that is named like one of the agent's is another exporter's, by what it calls a UUID:
// other vendors' GPUs, and things that are none, have base units in their names, too.
func OfOthers(d Dialect, labels Labels) bool {
	if d != Warpwatch || labels.Get("gpu_uuid") != "" {
		return false
	}
	uuid := first(labels, []string{"UUID", "uuid"})
	return uuid != "" && !strings.HasPrefix(uuid, "GPU-")
}
