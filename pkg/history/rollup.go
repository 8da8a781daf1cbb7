package history

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// When a query is answered from recording rules: over a long range, or where each device's own series are very many points.
const (
	rollupRange  = 48 * time.Hour
	rollupPoints = 1_000_000
)

// Rollup answers a query for lines of whole nodes, clusters or models from the recording rules in dashboards/rules. The
// series have the group in their labels, as the aggregate of [History.Metric]'s would. It reports false where
// there are no such rules, or where they may know less than the exporters: Executed then says what is the matter with them. Where
// they know nothing of a part of the range only, that part is in Holes: the caller reads it from [History.Metric].
//
// Averages are of all devices' values, not of averages, and so exact; a value is at most a minute older than its point.
func (h *History) Rollup(ctx context.Context, q query.Query, m catalog.Metric, w query.Window) (Result, bool) {
	aggregation := q.AggregationOf(m)
	if !rollable(q, m) || rollupParts(aggregation) == nil {
		return Result{}, false
	}
	endpoints, _ := h.inScope(q.Scope)
	if len(endpoints) == 0 || sharded(endpoints) {
		return Result{}, false
	}
	ask := rollupQuestion{history: h, query: q, metric: m, window: w, level: rollupLevel(q)}
	for _, part := range rollupParts(aggregation) {
		ask.names = append(ask.names, rollupName(m.Name, part, ask.level))
	}
	good, failed, err := split(fanOut(ctx, endpoints, ask.one))
	if err != nil {
		return Result{}, false // whoever asks the exporters' series is told
	}
	result := Result{Step: w.Step, Notices: failed}
	total := rollup{lines: map[string]*rollupLine{}}
	var asked []question
	var holes []Stretch
	for _, cluster := range clustersOf(endpoints) {
		merged := rollup{lines: map[string]*rollupLine{}}
		for _, o := range good {
			if o.endpoint.Cluster != cluster {
				continue
			}
			if !o.value.usable {
				return Result{}, false
			}
			merged.takeReplica(o.value)
			asked = append(asked, question{o.endpoint.ID, describe(o.value.asked, false, w)})
			result.Notices = append(result.Notices, o.value.notices...)
		}
		if merged.asked == "" {
			return Result{}, false // all of the cluster's servers failed
		}
		for _, o := range good {
			if o.endpoint.Cluster != cluster {
				continue
			}
			if ofOwners(q) {
				continue // a job does not always run
			}
			gaps, few := ask.gapsOf(ctx, o.endpoint, merged)
			if !few {
				return Result{Executed: "# " + ask.unsure(gaps[0])}, false
			}
			holes = append(holes, gaps...)
		}
		total.add(merged)
	}
	result.Executed = executed(asked)
	var fewest, most, mixed int
	result.Series, result.Devices, fewest, most, mixed = total.series(gridOf(false, w), aggregation)
	result.Holes = together(holes, w.Step)
	if len(result.Series) == 0 {
		if len(holes) > 0 {
			result.Executed = "# " + ask.unsure(holes[0])
		}
		return Result{Executed: result.Executed}, false
	}
	result.Notices = append(result.Notices, gpu.Notice{Severity: gpu.Info, Text: rollupText(ask.names[0], aggregation, fewest, most)})
	if mixed > 0 {
		result.Notices = append(result.Notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
			"%s are not shown: they are of several recorded groups (models, or jobs of a namespace), and a p95 is not made of those of its parts.",
			plural(mixed, "point", "points"))})
	}
	return result, true
}

func rollupText(name, aggregation string, fewest, most int) string {
	over := plural(most, "GPU", "GPUs")
	if fewest != most {
		over = fmt.Sprintf("%d to %d GPUs", fewest, most)
	}
	exact := "the " + map[string]string{"max": "maximum", "min": "minimum", "sum": "sum"}[aggregation] + " is exact"
	switch aggregation {
	case quantileRule:
		exact = "a step has the mean of what was recorded each minute"
	case "avg":
		exact = "the average is exact, the sum over the number of GPUs"
	}
	return fmt.Sprintf("From recording rules (%s): a line is of %s, %s, and values are up to 1 min older than their point.",
		name, over, exact)
}

// rollable reports whether a query is one that the rules may answer.
func rollable(q query.Query, m catalog.Metric) bool {
	switch q.AggregateBy {
	case query.ByNode, query.ByCluster, query.ByModel:
	case query.ByNamespace, query.ByJob:
		// What the nodes and models of a job's devices are is not recorded.
		return m.Recorded() && !q.Instant && q.Source != query.SourceLive && !q.Scope.SelectsGPUs() && !q.Scope.SelectsNodes() && !q.Scope.SelectsModels()
	default:
		return false
	}
	return m.Subject == catalog.SubjectDevice && m.Kind == catalog.Gauge && recordedFrom(m.Name) != nil && !q.Instant &&
		q.Source != query.SourceLive && !q.Scope.SelectsGPUs() && !q.Scope.ByOwner()
}

// sharded reports whether a cluster has several servers that are no replicas: each may know devices of the other, and rules
// of both would count these twice.
func sharded(endpoints []*endpoint) bool {
	seen := map[string]*endpoint{}
	for _, e := range endpoints {
		if other := seen[e.Cluster]; other != nil && !(e.Replica && other.Replica) {
			return true
		}
		seen[e.Cluster] = e
	}
	return false
}

func clustersOf(endpoints []*endpoint) []string {
	var names []string
	for _, e := range endpoints {
		if !slices.Contains(names, e.Cluster) {
			names = append(names, e.Cluster)
		}
	}
	return names
}

// rollupQuestion is what all servers are asked.
type rollupQuestion struct {
	history *History
	query   query.Query
	metric  catalog.Metric
	window  query.Window
	level   string
	names   []string
}

// one asks one server. What it answers is not usable when it has no rules, or exporters that the rules do not read.
func (r rollupQuestion) one(ctx context.Context, e *endpoint) (rollup, error) {
	words, err := r.history.words(ctx, e)
	if err != nil {
		return rollup{}, err
	}
	p := r.history.plan(words, r.metric)
	byModel := r.query.AggregateBy == query.ByModel || r.query.Scope.SelectsModels()
	if !words.recorded(p, r.names, byModel) {
		return rollup{}, nil
	}
	inv, err := r.history.inventory(ctx, e)
	if err != nil {
		return rollup{}, err
	}
	if !r.query.RulesOnly(r.metric) && !r.worthIt(inv.roster) || inv.roster.split() && (r.metric.PerInstance || r.metric.NoMIG) {
		return rollup{}, nil
	}
	out := rollup{usable: true, lines: map[string]*rollupLine{}}
	nodes := inv.roster.nodeNames()
	var matchers []string
	if scope := r.query.Scope; len(scope.Nodes) > 0 {
		matchers = []string{query.RegexMatcher("node", query.RegexText(append(slices.Clone(scope.Nodes), aliases(scope, []roster{inv.roster})...)))}
	}
	out.asked = r.expr(matchers)
	a, err := e.evaluateOurs(ctx, out.asked, false, r.window)
	if err != nil {
		return rollup{}, err
	}
	out.notices = remarks(e, a)
	g := gridOf(false, r.window)
	for _, s := range a.Series {
		if ofOwners(r.query) {
			if labels, ok := ownerGroup(r.query, e.Cluster, s.Labels); ok {
				out.line(labels, len(g.times)).take(g, s, nameOfRule(s) == r.names[len(r.names)-1])
			}
			continue
		}
		d := gpu.Device{Identity: gpu.Identity{Cluster: e.Cluster, Node: s.Labels.Get("node")}, Model: s.Labels.Get("model")}
		if name, ok := nodes[d.Node]; ok {
			d.Node = name
		}
		if r.query.Scope.Matches(d) {
			out.line(groupLabels(r.query.AggregateBy, d), len(g.times)).take(g, s, nameOfRule(s) == r.names[len(r.names)-1])
		}
	}
	return out, nil
}

// worthIt reports whether each device's own series would be many points.
func (r rollupQuestion) worthIt(known roster) bool {
	if r.window.Length() > rollupRange {
		return true
	}
	devices := 0
	for _, one := range known {
		if r.query.Scope.Matches(one.device) {
			devices++
		}
	}
	return devices*pointsOf(r.window) > rollupPoints
}

// split reports whether a GPU is split into MIG instances, or may be.
func (r roster) split() bool {
	for _, one := range r {
		if one.device.MIGEnabled || one.device.IsMIG() {
			return true
		}
	}
	return false
}

// nodeNames are the names that nodes go by, by each of the names that exporters call them.
func (r roster) nodeNames() map[string]string {
	names := map[string]string{}
	for _, one := range r {
		for _, host := range one.hosts {
			if _, known := names[host.value]; !known || host.value == one.device.Node {
				names[host.value] = one.device.Node
			}
		}
	}
	return names
}

// groupLabels are those of the line that a device is part of; they are as the aggregate of devices' series has them.
func groupLabels(by string, d gpu.Device) map[string]string {
	labels := make(map[string]string, 2)
	set := func(name, value string) {
		if value != "" {
			labels[name] = value
		}
	}
	switch by {
	case query.ByNode:
		set("cluster", d.Cluster)
		set("node", d.Node)
	case query.ByCluster:
		set("cluster", d.Cluster)
	case query.ByModel:
		set("model", gpu.ShortModel(d.Model))
	}
	return labels
}

// rollup is what the rules of one server, of a cluster's replicas, or of all clusters say.
type rollup struct {
	usable  bool
	asked   string
	notices []gpu.Notice
	lines   map[string]*rollupLine // by the key of their labels
}

// gaps reports whether another replica may know more: one that was down has recorded nothing meanwhile.
func (r rollup) gaps() bool {
	if !r.usable {
		return false
	}
	for _, l := range r.lines {
		if slices.Contains(l.count, 0) {
			return true
		}
	}
	return len(r.lines) == 0
}

// rollupLine is one line on the grid.
type rollupLine struct {
	labels map[string]string
	count  []float64
	sum    []float64
	min    []float64 // NaN where there is none
	max    []float64
}

func (r *rollup) line(labels map[string]string, points int) *rollupLine {
	key := labelKey(labels)
	l, ok := r.lines[key]
	if !ok {
		l = &rollupLine{labels: labels, count: make([]float64, points), sum: make([]float64, points), min: make([]float64, points), max: make([]float64, points)}
		for i := range points {
			l.min[i], l.max[i] = math.NaN(), math.NaN()
		}
		r.lines[key] = l
	}
	return l
}

// take adds a series of a rule.
func (l *rollupLine) take(g grid, s rawSeries, counts bool) {
	for i, t := range s.Times {
		at, v := g.at(t), s.Values[i]
		if at < 0 || math.IsNaN(v) {
			continue
		}
		if counts {
			l.count[at] += v
			continue
		}
		l.sum[at] += v
		if !(l.min[at] <= v) {
			l.min[at] = v
		}
		if !(l.max[at] >= v) {
			l.max[at] = v
		}
	}
}

// takeReplica takes another replica's values of the points where it knows more devices.
func (r *rollup) takeReplica(other rollup) {
	r.asked = other.asked
	for key, theirs := range other.lines {
		ours, ok := r.lines[key]
		if !ok {
			r.lines[key] = theirs
			continue
		}
		for i := range ours.count {
			if theirs.count[i] > ours.count[i] {
				ours.count[i], ours.sum[i], ours.min[i], ours.max[i] = theirs.count[i], theirs.sum[i], theirs.min[i], theirs.max[i]
			}
		}
	}
}

// add takes in another cluster's lines; one of a model may be of several clusters.
func (r *rollup) add(other rollup) {
	for key, theirs := range other.lines {
		ours, ok := r.lines[key]
		if !ok {
			r.lines[key] = theirs
			continue
		}
		for i := range ours.count {
			ours.count[i] += theirs.count[i]
			ours.sum[i] += theirs.sum[i]
			ours.min[i], ours.max[i] = either(ours.min[i], theirs.min[i], math.Min), either(ours.max[i], theirs.max[i], math.Max)
		}
	}
}

func either(a, b float64, both func(a, b float64) float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	}
	return both(a, b)
}

// series are the lines with a value where they have one, and how many devices the newest points of a line are of.
func (r *rollup) series(g grid, aggregation string) (list []gpu.Series, counts []int, fewest, most, mixed int) {
	of := map[string]int{}
	for _, l := range r.lines {
		values := make([]float64, len(g.times))
		devices := 0
		for i, n := range l.count {
			values[i] = math.NaN()
			if n == 0 {
				continue
			}
			devices = int(math.Round(n))
			switch aggregation {
			case "avg":
				values[i] = l.sum[i] / n
			case "sum":
				values[i] = l.sum[i]
			case "min":
				values[i] = l.min[i]
			case "max":
				values[i] = l.max[i]
			case quantileRule:
				if l.min[i] == l.max[i] {
					values[i] = l.max[i]
				} else {
					mixed++ // several parts, whose quantile is not known
				}
			}
		}
		from, to := extent(values)
		if from == to {
			continue
		}
		if fewest == 0 || devices < fewest {
			fewest = devices
		}
		most = max(most, devices)
		of[labelKey(l.labels)] = devices
		list = append(list, gpu.Series{Labels: l.labels, Times: g.times[from:to:to], Values: values[from:to:to]})
	}
	slices.SortFunc(list, func(a, b gpu.Series) int {
		return strings.Compare(labelKey(a.Labels), labelKey(b.Labels))
	})
	for _, s := range list {
		counts = append(counts, of[labelKey(s.Labels)])
	}
	return list, counts, fewest, most, mixed
}
