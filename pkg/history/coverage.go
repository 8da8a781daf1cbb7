package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// CoverageStatus says how far a metric is there.
type CoverageStatus string

// The statuses of rows, the best first.
const (
	Covered  CoverageStatus = "ok"       // every device of the scope that can have it has it
	Partial  CoverageStatus = "partial"  // other devices of the scope lack it
	Doubtful CoverageStatus = "doubtful" // it is there, but its unit could only be guessed
	Missing  CoverageStatus = "missing"  // these devices lack it
)

// CoverageRow is one metric as one kind of exporter gives it, in one cluster: exporters that write the same series in the
// same unit share a row. What is missing has a row for each way to get it.
type CoverageRow struct {
	Cluster  string
	Endpoint string // "" for what is missing
	Metric   catalog.Metric
	Dialect  catalog.Dialect // of what was chosen, or of what could give it
	Status   CoverageStatus
	Covered  int // devices, or workloads, that this row is about
	Total    int // that should have the metric; in a row of what is missing those that lack it
	Targets  int // exporters
	Series   string
	Unit     string // that the series is in
	Why      string
	Passed   string // other series of the same devices, which were passed over
	Type     string // as the exporters declare it, "" when that is not known
	Help     string
	Enable   string // what to do to get what is missing, or to remove the doubt
}

// Coverage is which metrics of the catalogue there are of a scope now.
type Coverage struct {
	Rows     []CoverageRow
	Notices  []gpu.Notice
	Executed string
	Err      error // set when no endpoint answered
}

// Coverage tells which metrics there are of the scope's devices and workloads now, which series they are taken from and
// why, what is missing and how to get it. It is never older than a minute.
func (h *History) Coverage(ctx context.Context, scope query.Scope) Coverage {
	endpoints, notices := h.inScope(scope)
	outcomes := fanOut(ctx, endpoints, h.resolve)
	good, failed, err := split(outcomes)
	c := Coverage{Notices: append(notices, failed...), Err: err}
	if err != nil || len(endpoints) == 0 {
		return c
	}
	place := map[*endpoint]int{}
	for i, e := range endpoints {
		place[e] = i
	}
	slices.SortFunc(good, func(a, b outcome[*resolution]) int { return place[a.endpoint] - place[b.endpoint] })
	var questions []question
	var clusters []*census
	at := map[string]*census{}
	for _, o := range good {
		questions = append(questions, question{o.endpoint.ID, o.value.asked})
		c.Notices = append(c.Notices, o.value.notices...)
		name := o.endpoint.Cluster
		if at[name] == nil {
			at[name] = &census{
				h: h, scope: scope, cluster: name, roster: roster{}, workloads: map[deviceKey]catalog.Workload{},
				seen: map[string]map[deviceKey][]seen{}, dialects: map[deviceKey][]catalog.Dialect{}, families: map[familyKey]bool{},
			}
			clusters = append(clusters, at[name])
		}
		at[name].take(o.endpoint, o.value)
	}
	c.Executed = executed(questions)
	slices.SortFunc(clusters, func(a, b *census) int { return strings.Compare(a.cluster, b.cluster) })
	for _, one := range clusters {
		one.roster.complete()
		c.Notices = append(c.Notices, one.nobody()...)
		for _, m := range h.catalog.Metrics() {
			c.Rows = append(c.Rows, one.rows(m)...)
		}
		if len(one.workloads) == 0 {
			c.Notices = append(c.Notices, gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf(
				"No server of models and no training job is known in the cluster %s: their metrics, serve_… and train_…, are not listed.", one.cluster)})
		}
	}
	if scope.ByOwner() {
		c.Notices = append(c.Notices, gpu.Notice{Severity: gpu.Info, Text: "Namespaces, pods and jobs narrow the metrics of workloads only: coverage of GPUs is of all in the rest of the selection."})
	}
	return c
}

// nobody says so when there is no GPU to list anything of: an empty table would look as if nothing were missing.
func (c *census) nobody() []gpu.Notice {
	for _, known := range c.roster {
		if c.scope.Matches(known.device) {
			return nil
		}
	}
	text := "No GPU of the cluster " + c.cluster + " is in the selection."
	if len(c.roster) == 0 {
		text = "No GPU is known in the cluster " + c.cluster + ": none of its servers has a series of a GPU exporter that the catalogue knows. " +
			"Let them scrape warpwatch-agent, dcgm-exporter or nvidia_gpu_exporter, or describe yours under dialects."
	}
	return []gpu.Notice{{Severity: gpu.Warning, Text: text}}
}

// seen is a sighting at one server.
type seen struct {
	endpoint *endpoint
	means    metadata
	sighting
}

// census is all that the servers of one cluster have.
type census struct {
	h         *History
	scope     query.Scope
	cluster   string
	roster    roster
	workloads map[deviceKey]catalog.Workload
	seen      map[string]map[deviceKey][]seen // by metric
	dialects  map[deviceKey][]catalog.Dialect // that tell anything of a device
	families  map[familyKey]bool
}

// familyKey is a workload and what the names of some of its metrics begin with.
type familyKey struct {
	workload  deviceKey
	beginning string
}

// beginningOf is "serve" or "train".
func beginningOf(m catalog.Metric) string {
	beginning, _, _ := strings.Cut(m.Name, "_")
	return beginning
}

func (c *census) take(e *endpoint, r *resolution) {
	c.roster.take(r.roster)
	for key, w := range r.workloads {
		c.workloads[key] = w
	}
	for _, one := range r.sightings {
		m, _ := c.h.catalog.Metric(one.source.Metric)
		key := one.key
		if m.Subject == catalog.SubjectDevice && !m.PerInstance {
			key = key.parent()
		}
		if m.Subject == catalog.SubjectWorkload {
			c.families[familyKey{key, beginningOf(m)}] = true
		}
		if c.seen[m.Name] == nil {
			c.seen[m.Name] = map[deviceKey][]seen{}
		}
		c.seen[m.Name][key] = append(c.seen[m.Name][key], seen{e, r.means, one})
		for _, k := range []deviceKey{key, one.key} {
			if !slices.Contains(c.dialects[k], one.source.Dialect) {
				c.dialects[k] = append(c.dialects[k], one.source.Dialect)
			}
		}
	}
}

// population are, in a fixed order, the devices or workloads of the scope that should have a metric, or have it.
func (c *census) population(m catalog.Metric) []deviceKey {
	var keys []deviceKey
	defer func() { slices.SortFunc(keys, compareKeys) }()
	if m.Subject == catalog.SubjectWorkload {
		for key, w := range c.workloads {
			if c.scope.MatchesWorkload(w) && c.families[familyKey{key, beginningOf(m)}] {
				keys = append(keys, key)
			}
		}
		return keys
	}
	r := reduction{metric: m, scope: c.scope}
	for key, known := range c.roster {
		if r.expects(known.device) || c.scope.Matches(known.device) && len(c.seen[m.Name][key]) > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// choice is where the metric of one device is taken from.
type choice struct {
	chosen []seen // of a sum several
	passed []seen
	how    string // "" when the series holds the metric itself
}

// choose is where the metric of one device is taken from, false when it is not there.
func (c *census) choose(m catalog.Metric, key deviceKey) (choice, bool) {
	if best, passed, ok := preferred(c.seen[m.Name][key]); ok {
		return choice{chosen: []seen{best}, passed: passed}, true
	}
	if len(m.SumOf) > 1 {
		var parts []seen
		for _, name := range m.SumOf {
			if best, _, ok := preferred(c.seen[name][key]); ok {
				parts = append(parts, best)
			}
		}
		if len(parts) > 1 {
			return choice{chosen: parts, how: "not reported, and computed as " + strings.Join(m.SumOf, " + ")}, true
		}
	}
	if m.MIGSubstitute != "" && key.instance() != "" {
		if best, passed, ok := preferred(c.seen[m.MIGSubstitute][key]); ok {
			return choice{chosen: []seen{best}, passed: passed, how: "not reported for MIG instances, where " + m.MIGSubstitute + " stands in for it"}, true
		}
	}
	return choice{}, false
}

// preferred is the best of several series that hold a metric of one device, and what was passed over. Parts that add up are
// of one choice.
func preferred(all []seen) (best seen, passed []seen, ok bool) {
	for _, one := range all {
		if !one.blank && (!ok || one.source.Rank < best.source.Rank) {
			best, ok = one, true
		}
	}
	for _, one := range all {
		together := one.source.Part != "" && best.source.Part != "" && one.source.Dialect == best.source.Dialect
		if ok && one.name != best.name && !together {
			passed = append(passed, one)
		}
	}
	return best, passed, ok
}

// tallyRow is a row in the making.
type tallyRow struct {
	row     CoverageRow
	choice  choice
	devices int
	targets map[target]bool
	passed  map[string]bool
	certain bool
}

// rows of one metric.
func (c *census) rows(m catalog.Metric) []CoverageRow {
	population := c.population(m)
	found := map[string]*tallyRow{}
	lacking := map[catalog.Dialect][]deviceKey{}
	covered := 0
	for _, key := range population {
		ch, ok := c.choose(m, key)
		if !ok {
			d, _ := c.offer(m, key)
			lacking[d] = append(lacking[d], key)
			continue
		}
		covered++
		first := ch.chosen[0]
		var names []string
		for _, one := range ch.chosen {
			name := one.name
			if m.Kind == catalog.Histogram {
				name = strings.TrimSuffix(name, "_count")
			}
			names = append(names, name)
		}
		series := strings.Join(names, " + ")
		if first.source.Part != "" {
			series += " and the like"
		}
		id := strings.Join([]string{first.endpoint.ID, series, first.unit.conversion.Unit, fmt.Sprint(first.unit.certain), ch.how}, "\xff")
		t := found[id]
		if t == nil {
			t = &tallyRow{choice: ch, targets: map[target]bool{}, passed: map[string]bool{}, certain: true}
			t.row = CoverageRow{
				Cluster: c.cluster, Endpoint: first.endpoint.ID, Metric: m, Dialect: first.source.Dialect, Series: series,
				Unit: cmp.Or(first.unit.conversion.Unit, string(m.Unit)),
			}
			for _, meant := range first.means.of(strings.TrimSuffix(first.name, "_count")) {
				if t.row.Help == "" {
					t.row.Help, t.row.Type = clean(meant.Help), clean(meant.Type)
				}
			}
			found[id] = t
		}
		t.devices++
		for _, one := range ch.chosen {
			t.targets[one.from] = true
			t.certain = t.certain && one.unit.certain
		}
		for _, one := range ch.passed {
			t.passed[fmt.Sprintf("%s (%s)", one.name, one.source.Dialect)] = true
		}
	}
	rows := make([]CoverageRow, 0, len(found)+len(lacking))
	for _, t := range found {
		row := t.row
		row.Covered, row.Total, row.Targets = t.devices, len(population), len(t.targets)
		row.Passed = listed(sortedNames(t.passed))
		row.Why = t.why(row.Passed != "")
		switch {
		case !t.certain:
			row.Status = Doubtful
			row.Enable = fmt.Sprintf("Describe %s with its unit in a dialect in the data source's settings, or let the HELP text name it.", row.Series)
		case covered < len(population):
			row.Status = Partial
		default:
			row.Status = Covered
		}
		rows = append(rows, row)
	}
	for dialect, keys := range lacking {
		_, enable := c.offer(m, keys[0])
		rows = append(rows, CoverageRow{
			Cluster: c.cluster, Metric: m, Dialect: dialect, Status: Missing, Total: len(keys), Unit: string(m.Unit),
			Why: c.whyMissing(m, dialect, keys), Enable: enable,
		})
	}
	slices.SortFunc(rows, func(a, b CoverageRow) int {
		return cmp.Or(strings.Compare(rankOf(a.Status), rankOf(b.Status)), c.h.catalog.Rank(a.Dialect)-c.h.catalog.Rank(b.Dialect),
			strings.Compare(a.Series, b.Series), strings.Compare(a.Unit, b.Unit), strings.Compare(a.Endpoint, b.Endpoint), strings.Compare(a.Why, b.Why))
	})
	return rows
}

// rankOf puts what is missing last.
func rankOf(s CoverageStatus) string {
	if s == Missing {
		return "1"
	}
	return "0"
}

// why the series was chosen, and what its unit is known by.
func (t *tallyRow) why(compared bool) string {
	first := t.choice.chosen[0]
	var parts []string
	switch source := first.source; {
	case t.choice.how != "":
		parts = append(parts, t.choice.how)
	case source.Prefix != "":
		parts = append(parts, fmt.Sprintf("recognised by its name after the prefix %q", source.Prefix))
	case source.Suffix != "":
		parts = append(parts, fmt.Sprintf("recognised by its name before the suffix %q", source.Suffix))
	case first.name != source.Series && !strings.HasSuffix(source.Series, bucketEnding):
		parts = append(parts, "recognised by its name, written in another case")
	default:
		parts = append(parts, "recognised by its name")
	}
	if g := first.source.Generation; g != "" {
		parts = append(parts, "written so from version "+g+" on")
	}
	switch {
	case first.unit.why != "" && len(t.targets) > 1:
		parts = append(parts, first.unit.why+" (at "+first.from.name()+")")
	case first.unit.why != "":
		parts = append(parts, first.unit.why)
	case first.source.Conversion.Unit != "":
		parts = append(parts, "always in "+strings.ReplaceAll(first.source.Conversion.Unit, "_", " "))
	}
	if compared {
		parts = append(parts, "preferred to what was passed over")
	}
	return strings.Join(parts, "; ")
}

// offer is how a device could get a metric: from an exporter that it has, or else from the best that knows it.
func (c *census) offer(m catalog.Metric, key deviceKey) (catalog.Dialect, string) {
	options := c.h.catalog.Explain(m.Name)
	for _, o := range options {
		if slices.Contains(c.dialects[key], o.Dialect) {
			return o.Dialect, o.Enable
		}
	}
	if len(options) == 0 {
		return "", ""
	}
	return options[0].Dialect, options[0].Enable
}

func (c *census) whyMissing(m catalog.Metric, dialect catalog.Dialect, keys []deviceKey) string {
	blank, here := 0, 0
	for _, key := range keys {
		blank += min(len(c.seen[m.Name][key]), 1)
		if slices.Contains(c.dialects[key], dialect) {
			here++
		}
	}
	switch {
	case blank == len(keys):
		return "its series say that there is no value"
	case blank > 0:
		return fmt.Sprintf("no series; of %d of them a series says that there is no value", blank)
	case here == 0:
		return "no exporter that is here knows it"
	}
	return fmt.Sprintf("%s is here and can give it, but does not", dialect)
}
