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

// Metric answers a query for a canonical metric: one series per GPU or MIG instance in the scope, in canonical units,
// whichever exporters report it. A counter is answered as its per-second rate. Where several exporters, servers, pods or
// instances report the same device the best dialect counts at each time, and of equals the largest value.
//
// A metric of workloads has one series for each server of models or process of a training job, or for each group of them,
// named by its labels.
func (h *History) Metric(ctx context.Context, q query.Query, m catalog.Metric, w query.Window) Result {
	if m.Subject == catalog.SubjectWorkload {
		return h.workloads(ctx, q, m, w)
	}
	return h.reduced(ctx, q, m, w, func(result *Result, r *reduction, found bool) {
		result.Series = r.series()
		if found && !q.Scope.ByOwner() {
			result.Absent = r.absent()
		}
	})
}

// Line is a series of a device that many series are of: what is known of it is not copied for each.
type Line struct {
	Device *gpu.Device // must not be changed
	Times  []int64     // as of [gpu.Series]
	Values []float64
}

// Series is the line as a series of its own.
func (l Line) Series() gpu.Series {
	return gpu.Series{Device: *l.Device, Times: l.Times, Values: l.Values}
}

// Lines is Metric for who asks for many metrics of devices, with a context of [Together]: the answer is in the result's Lines, in
// no particular order, and Absent is not told.
func (h *History) Lines(ctx context.Context, q query.Query, m catalog.Metric, w query.Window) Result {
	return h.reduced(ctx, q, m, w, func(result *Result, r *reduction, _ bool) { result.Lines = r.found() })
}

// reduced asks for a metric of devices. take takes what was found, found is whether a series of the metric exists.
func (h *History) reduced(ctx context.Context, q query.Query, m catalog.Metric, w query.Window, take func(result *Result, r *reduction, found bool)) Result {
	result := Result{Step: w.Step}
	if q.Instant {
		result.Step = 0
	}
	endpoints, notices := h.inScope(q.Scope)
	all, asked, failed, err := h.collectAll(ctx, endpoints, q, m, w, "")
	result.Notices, result.Err, result.Partial = append(notices, failed...), err, anyMissing(failed) || all.partial
	if err != nil || len(endpoints) == 0 {
		return result
	}
	result.Executed = executed(asked)
	r := reduced(all, q, m, w)
	doubts := h.doubt(ctx, endpoints, q, r, w)
	take(&result, r, all.found)
	result.Notices = append(result.Notices, all.notices...)
	result.Notices = append(result.Notices, all.down.notices(q.Scope, all)...)
	result.Notices = append(result.Notices, r.notices(all)...)
	result.Notices = append(result.Notices, r.ageNotices(all.candidates)...)
	result.Notices = append(result.Notices, doubts...)
	if len(q.Scope.Pods) > 0 {
		result.Notices = append(result.Notices, h.sharing(ctx, endpoints, r)...)
	}
	return result
}

// collectAll asks all servers. filter is what PromQL puts behind the expression, like " > 0". The error is set when none
// answered.
func (h *History) collectAll(ctx context.Context, endpoints []*endpoint, q query.Query, m catalog.Metric, w query.Window, filter string) (
	all collected, asked []question, failed []gpu.Notice, err error,
) {
	outcomes := fanOut(ctx, endpoints, func(ctx context.Context, e *endpoint) (collected, error) {
		c, err := h.collect(ctx, e, q, m, w, filter)
		if err == nil && e.Replica {
			c.incomplete = c.stranger(h.known(ctx, e.Cluster)) || filter == "" && c.short(q.Instant, w)
		}
		return c, err
	})
	good, failed, err := split(outcomes)
	all = collected{tallies: tallies{}}
	for _, o := range outcomes {
		asking := question{endpoint: o.endpoint.ID}
		if o.value.asked != "" {
			asking.text = describe(o.value.asked, q.Instant, w)
		}
		asked = append(asked, asking)
	}
	for _, o := range good {
		all.merge(o.value)
	}
	all.roster.complete()
	return all, asked, failed, err
}

// reduced makes one line of all that was collected of each device in the scope.
func reduced(all collected, q query.Query, m catalog.Metric, w query.Window) *reduction {
	candidates := all.candidates
	if m.Latched {
		candidates = newestFirst(candidates)
	}
	r := newReduction(m, q.Scope, all.roster, gridOf(q.Instant, w), len(candidates))
	r.over = overTimeOf(q, m, w)
	for _, c := range candidates {
		r.add(c)
	}
	return r
}

// collected is what one server, or all together, have of a metric.
type collected struct {
	candidates []candidate
	roster     roll
	asked      string
	notices    []gpu.Notice
	found      bool // a series of the metric exists, whether or not in the scope and window
	nameless   int  // series that name no GPU
	tallies    tallies
	ownerless  bool // series were left out because their dialect does not name owners
	down       downTargets
	partial    bool             // the server said that it left out something
	incomplete bool             // another replica may have more: see gaps
	old        map[origin]int64 // when samples of one server's instant answer were measured that are not of its time
}

func (c *collected) merge(other collected) {
	if len(c.candidates) == 0 {
		c.candidates = other.candidates
	} else {
		c.candidates = append(c.candidates, other.candidates...)
	}
	c.roster.take(other.roster)
	c.notices = append(c.notices, other.notices...)
	c.found = c.found || other.found
	c.nameless += other.nameless
	for key, t := range other.tallies {
		c.tallies.of(key).add(*t)
	}
	c.ownerless = c.ownerless || other.ownerless
	c.down = append(c.down, other.down...)
	c.partial = c.partial || other.partial
}

// candidate is one series that may be part of the answer, converted to canonical units.
type candidate struct {
	key    deviceKey
	want   *want
	from   *target // must not be changed
	old    int64   // when it was measured, Unix milliseconds, of an instant answer that is not of its time; else 0
	extra  string  // value of the metric's SumOver label
	times  []int64
	values []float64 // NaN where there was nothing or nothing plausible
}

// collect asks one server.
func (h *History) collect(ctx context.Context, e *endpoint, q query.Query, m catalog.Metric, w query.Window, filter string) (collected, error) {
	c := collected{tallies: tallies{}}
	words, err := h.words(ctx, e)
	if err != nil {
		return c, err
	}
	if inv, err := h.inventory(ctx, e); err == nil {
		c.roster.base = inv.roster
		c.down = inv.down
	} else {
		if ctx.Err() != nil {
			return c, err
		}
		c.notices = append(c.notices, gpu.Notice{Severity: gpu.Info, Text: "Names and models of GPUs may be missing: " + err.Error() + "."})
	}
	p := h.plan(words, m)
	p.spread(words, overTimeOf(q, m, w))
	if len(p.names) == 0 {
		return c, nil
	}
	c.found = true
	alternatives := h.pushDown(q.Scope, words, h.known(ctx, e.Cluster))
	c.asked = p.expr(alternatives, w)
	if filter != "" {
		c.asked = "(" + c.asked + ")" + filter
	}
	a, err := e.evaluateOurs(ctx, c.asked, q.Instant, w)
	if err != nil {
		return c, err
	}
	c.notices = append(append(c.notices, remarks(e, a)...), bucketsOnly(e, a)...)
	c.partial = a.Partial || len(a.Warnings) > 0
	if q.Instant && m.Kind == catalog.Gauge && filter == "" && len(a.Series) > 0 {
		if c.old, err = h.ages(ctx, e, p, alternatives, w); err != nil {
			if ctx.Err() != nil {
				return c, err
			}
			c.notices = append(c.notices, gpu.Notice{Severity: gpu.Info, Text: "How old these values are is not known: " + err.Error() + "."})
		}
	}
	units, err := h.units(ctx, e, p, a)
	if err != nil {
		return c, err
	}
	c.notices = append(c.notices, units.notices()...)
	better, err := h.mend(ctx, e, p, units, w, a)
	if err != nil {
		if ctx.Err() != nil {
			return c, err
		}
		c.notices = append(c.notices, gpu.Notice{Severity: gpu.Info, Text: "Points with a sample that means no value are left out whole: " + err.Error() + "."})
	}
	c.candidates = make([]candidate, 0, len(a.Series))
	for _, s := range a.Series {
		h.consider(&c, e, q.Scope, p, units, s, better.of(s.Labels))
	}
	return c, nil
}

// consider turns one series of an answer into a candidate, if it can be one.
// better are values that replace those of the series which must not be shown.
func (h *History) consider(c *collected, e *endpoint, scope query.Scope, p plan, units units, s rawSeries, better map[int64]float64) {
	want, ok := p.find(s.Labels)
	if !ok || !want.source.Accepts(s.Labels) {
		return
	}
	who := h.bearer(e, s.Labels)
	if !who.named {
		c.nameless++
		return
	}
	if scope.ByOwner() {
		if !h.catalog.NamesOwners(want.source.Dialect) {
			c.ownerless = true
			return
		}
		if !scope.MatchesOwner(who.id.Owner.Namespace, who.id.Owner.Pod, who.id.Owner.Job) {
			return
		}
	}
	c.roster.add(who, h.catalog.Rank(want.source.Dialect))
	if want.role == substitute && !who.id.Device.IsMIG() {
		return
	}
	key := who.key
	if !p.metric.PerInstance && want.role != substitute {
		key = who.board
	}
	next := candidate{key: key, want: want, from: &who.from, times: s.Times}
	if len(c.old) > 0 {
		next.old = c.old[origin{key, who.from}]
	}
	if p.metric.SumOver != "" {
		next.extra = cmp.Or(want.source.Part, s.Labels.Get(p.metric.SumOver))
	}
	for i, t := range s.Times {
		if len(better) == 0 {
			break
		}
		if _, ok := better[t]; ok && p.over.averaged() {
			s.Values[i] = maxInt64 // a mean with a blank in it is nothing that an exporter wrote
		}
	}
	next.values = c.tallies.convert(h.catalog, want.metric, units.of(want, s.Labels), s.Values, key)
	for i, t := range next.times {
		if len(better) == 0 {
			break
		}
		if raw, ok := better[t]; ok {
			if value, verdict := h.catalog.Convert(want.metric, units.of(want, s.Labels), raw); verdict == catalog.Kept {
				next.values[i] = value
			}
		}
	}
	c.candidates = append(c.candidates, next)
}

// known are the devices that the cluster's servers were last asked for, without asking.
func (h *History) known(ctx context.Context, cluster string) []roster {
	var rosters []roster
	for _, e := range h.endpoints {
		if e.Cluster != cluster {
			continue
		}
		if inv, ok := e.inventory.peek(h.options.Tenant(ctx)); ok {
			rosters = append(rosters, inv.roster)
		}
	}
	return rosters
}

// notices tell what is missing from the answer, or not what it seems.
func (r *reduction) notices(all collected) []gpu.Notice {
	var notices []gpu.Notice
	say := func(severity gpu.Severity, format string, args ...any) {
		notices = append(notices, gpu.Notice{Severity: severity, Text: fmt.Sprintf(format, args...)})
	}
	name := r.metric.Name
	switch {
	case !all.found:
		say(gpu.Info, "No exporter reports %s: none of its series (%s) exists in Prometheus.%s", name, sourceNames(r.metric), r.reason())
	case all.nameless > 0 && len(all.candidates) == 0:
		say(gpu.Warning, "%s of %s carry no GPU UUID (label %s), so they cannot be shown.", plural(all.nameless, "series", "series"), name, "gpu_uuid, UUID or uuid")
	case all.nameless > 0:
		say(gpu.Info, "%s of %s carry no GPU UUID and are left out.", plural(all.nameless, "series", "series"), name)
	}
	if all.ownerless {
		say(gpu.Info, "Only dcgm-exporter says which workload a GPU was given to; series of other exporters are left out.")
	}
	if r.substituted > 0 {
		say(gpu.Info, "NVIDIA reports no %s for MIG instances; theirs is %s.", name, r.metric.MIGSubstitute)
	} else if n := r.split(); n > 0 && all.found {
		say(gpu.Info, "NVIDIA reports no %s for GPUs that are split into MIG instances; %s in the selection.", name, plural(n, "is one", "are such"))
	}
	if len(r.lines) == 0 && len(r.scope.MIGs) > 0 && !r.metric.PerInstance && r.metric.MIGSubstitute == "" && all.found {
		say(gpu.Info, "%s is a figure of the whole GPU, which a MIG instance has no part of: select the GPU.", name)
	}
	if r.summed > 0 {
		say(gpu.Info, "%s is not reported for %s and computed as %s.", name, plural(r.summed, "GPU", "GPUs"), strings.Join(r.metric.SumOf, " + "))
	}
	notices = append(notices, all.tallies.notices(name, r.has)...)
	notices = append(notices, r.latched...)
	if r.blank > 0 {
		say(gpu.Info, "%s without a single value of %s in this range.", plural(r.blank, "device is", "devices are"), name)
	}
	if r.ended > 0 {
		say(gpu.Info, "%s stopped reporting before the end of the range, the last at %s. Where an exporter vanished without a word "+
			"Prometheus repeats its last value for up to 5 minutes.", plural(r.ended, "GPU", "GPUs"), r.lastEnd.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	return notices
}

func sourceNames(m catalog.Metric) string {
	var names []string
	for _, s := range m.Sources {
		if !slices.Contains(names, s.Series) {
			names = append(names, s.Series)
		}
	}
	const shown = 4
	if len(names) > shown {
		return strings.Join(names[:shown], ", ") + fmt.Sprintf(" and %d more", len(names)-shown)
	}
	return strings.Join(names, ", ")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
