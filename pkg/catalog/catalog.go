package catalog

import (
	"regexp"
	"slices"
	"strings"
)

// Catalog is the loaded knowledge. It is immutable and safe for concurrent use.
type Catalog struct {
	metrics   []Metric
	byName    map[string]int
	bySeries  map[string][]Source // key in lower case: some pipelines change the case of names
	exact     map[string][]Source // the same by the names as they are, which saves changing their case
	rank      map[Dialect]int
	info      []Info
	labels    labelRules
	workload  workloadLabels
	useless   *regexp.Regexp
	exporters *regexp.Regexp

	exporterContainers, exporterJobs *regexp.Regexp

	sentinels []interval
	percent   Conversion
	filters   []Filter
	identity  []string
	presence  []string
	owners    []Dialect
	migModes  []string
	legacy    []string

	renamable     beginnings
	known, levels []string
	conversions   map[string]conversionRow
	openUnits     map[string][]candidate
	unitWords     []unitWords
	agentGroups   map[string]string // the smallest profile of each group of the agent
	given         map[string]bool   // series that an exporter writes as it is installed
	advice        []advice
	remarks       []remark
	agentSeries   []string
}

// Filter names the labels by which series of one dialect are selected in PromQL.
type Filter struct {
	Dialect Dialect  `yaml:"dialect"`
	Mark    string   `yaml:"mark"` // part of the names of the dialect's series, in lower case
	Node    []string `yaml:"node"`
	UUID    []string `yaml:"uuid"`
	Model   []string `yaml:"model"`
	MIGID   []string `yaml:"mig_id"`
	Whole   bool     `yaml:"whole"` // the mark is a whole name
}

func (f Filter) isOf(text string) bool {
	from := 0
	for {
		at := strings.Index(text[from:], f.Mark)
		if at < 0 || !f.Whole {
			return at >= 0
		}
		begin, end := from+at, from+at+len(f.Mark)
		if (begin == 0 || !isNameByte(text[begin-1])) && (end == len(text) || !isNameByte(text[end])) {
			return true
		}
		from = begin + 1
	}
}

func isNameByte(c byte) bool {
	return c == '_' || c == ':' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// FilterFor is how to select series in an expression about name, which may be any text that holds the series' name.
func (c *Catalog) FilterFor(name string) Filter {
	name = strings.ToLower(name)
	for _, f := range c.filters {
		if f.isOf(name) {
			return f
		}
	}
	return Filter{}
}

// GroupLabels are the labels that tell devices apart in PromQL's "by (…)". The slice is shared and must not be changed.
func (c *Catalog) GroupLabels() []string { return c.identity }

// Info is a series with the constant value 1 that carries facts about devices as labels.
type Info struct {
	Dialect Dialect `yaml:"dialect"`
	Series  string  `yaml:"series"`
}

// Metrics are all rows, in the catalogue's order. The slice is shared and must not be changed.
func (c *Catalog) Metrics() []Metric { return c.metrics }

// Metric finds a row by its canonical name.
func (c *Catalog) Metric(name string) (Metric, bool) {
	i, ok := c.byName[name]
	if !ok {
		return Metric{}, false
	}
	return c.metrics[i], true
}

// Info lists the info series of all dialects. The slice is shared and must not be changed.
func (c *Catalog) Info() []Info { return c.info }

// Presence lists the metrics that show which devices an exporter without info series knows. The slice is shared and must
// not be changed.
func (c *Catalog) Presence() []string { return c.presence }

// MIGModes lists the series that are 1 for GPUs that are split into MIG instances. The slice is shared and must not be
// changed.
func (c *Catalog) MIGModes() []string { return c.migModes }

// Dialects lists all dialects, the most preferred first.
func (c *Catalog) Dialects() []Dialect {
	dialects := make([]Dialect, len(c.rank))
	for d, rank := range c.rank {
		dialects[rank] = d
	}
	return dialects
}

// NamesOwners reports whether a dialect's series say which workload a GPU was given to.
func (c *Catalog) NamesOwners(d Dialect) bool { return slices.Contains(c.owners, d) }

// Rank is the place of a dialect in the order of preference, 0 is best.
func (c *Catalog) Rank(d Dialect) int { return c.rank[d] }

// SeriesDialect is the dialect a series belongs to, whether it is a metric or an info series.
func (c *Catalog) SeriesDialect(series string) (Dialect, bool) {
	if sources := c.Lookup(series); len(sources) > 0 {
		return sources[0].Dialect, true
	}
	for _, info := range c.info {
		if strings.EqualFold(info.Series, series) {
			return info.Dialect, true
		}
	}
	return "", false
}

// longestName is more than any canonical name is long.
const longestName = 64

// Suggest is the canonical name closest to a misspelt one, "" when none is close.
func (c *Catalog) Suggest(name string) string {
	if sources := c.Lookup(name); len(sources) > 0 {
		return sources[0].Metric
	}
	if len(name) > 2*longestName {
		return "" // and no time is spent on it: the distance takes that of both lengths multiplied
	}
	name = strings.ToLower(name)
	best, distance := "", len(name)/2
	for _, m := range c.metrics {
		if name != "" && strings.HasPrefix(m.Name, name+"_") {
			return m.Name
		}
		if d := editDistance(name, m.Name); d < distance {
			best, distance = m.Name, d
		}
	}
	return best
}

// editDistance is Levenshtein's distance over bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
