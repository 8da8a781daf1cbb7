package history

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// workloads answers a query for a metric of workloads: one series for each, or for each group. A counter is answered as its
// rate, and a histogram as a quantile or the mean of what was observed around each time.
func (h *History) workloads(ctx context.Context, q query.Query, m catalog.Metric, w query.Window) Result {
	result := Result{Step: w.Step}
	if q.Instant {
		result.Step = 0
	}
	endpoints, notices := h.inScope(q.Scope)
	outcomes := fanOut(ctx, endpoints, func(ctx context.Context, e *endpoint) (workloadAnswer, error) {
		return h.collectWorkloads(ctx, e, q, m, w)
	})
	good, failed, err := split(outcomes)
	result.Notices, result.Err = append(notices, failed...), err
	if err != nil || len(endpoints) == 0 {
		return result
	}
	var asked []question
	lines := workloadLines{grid: gridOf(q.Instant, w), at: map[workloadKey]*workloadLine{}}
	var all workloadAnswer
	for _, o := range outcomes {
		one := question{endpoint: o.endpoint.ID}
		if o.value.asked != "" {
			one.text = describe(o.value.asked, q.Instant, w)
		}
		asked = append(asked, one)
	}
	for _, o := range good {
		all.merge(o.value)
		for _, c := range o.value.candidates {
			lines.add(c)
		}
	}
	result.Executed = executed(asked)
	result.Series = lines.series(q, m)
	result.Notices = append(append(result.Notices, all.notices...), workloadNotices(h.catalog, q, m, all, len(result.Series))...)
	return result
}

// workloadAnswer is what one server, or all together, have of a metric of workloads.
type workloadAnswer struct {
	candidates []workloadCandidate
	asked      string
	notices    []gpu.Notice
	found      bool // a series of the metric exists, whether or not in the scope and window
	nameless   int  // series that name no workload
	native     bool // quantiles of native histograms, which cannot be put together
	dropped    tally
	incomplete bool
}

func (a workloadAnswer) gaps() bool { return a.incomplete }

func (a *workloadAnswer) merge(other workloadAnswer) {
	a.notices = append(a.notices, other.notices...)
	a.found, a.native = a.found || other.found, a.native || other.native
	a.nameless += other.nameless
	a.dropped.add(other.dropped)
}

// workloadCandidate is one series that may be part of the answer, in canonical units.
type workloadCandidate struct {
	workload catalog.Workload
	facet    facet
	bound    float64 // of a bucket
	column   candidate
}

func (h *History) collectWorkloads(ctx context.Context, e *endpoint, q query.Query, m catalog.Metric, w query.Window) (workloadAnswer, error) {
	var found workloadAnswer
	words, err := h.words(ctx, e)
	if err != nil {
		return found, err
	}
	p := h.workloadPlan(words, q, m, h.workloadMatchers(q.Scope, words), w)
	if len(p.exprs) == 0 {
		return found, nil
	}
	found.found, found.native = true, p.native
	found.asked = strings.Join(p.exprs, " or ")
	a, err := e.evaluateOurs(ctx, found.asked, q.Instant, w)
	if err != nil {
		return found, err
	}
	found.incomplete = e.Replica && lacks(a.Series, q.Instant, w)
	units, err := h.units(ctx, e, p.plan, a)
	if err != nil {
		return found, err
	}
	found.notices = append(append(found.notices, remarks(e, a)...), units.notices()...)
	for _, s := range a.Series {
		h.considerWorkload(&found, e, q.Scope, p, units, s)
	}
	return found, nil
}

// considerWorkload turns one series of an answer into a candidate, if it can be one.
func (h *History) considerWorkload(found *workloadAnswer, e *endpoint, scope query.Scope, p workloadPlan, units units, s rawSeries) {
	want, ok := p.find(s.Labels)
	if !ok {
		return
	}
	workload, ok := h.catalog.ResolveWorkload(s.Labels)
	if !ok {
		found.nameless++
		return
	}
	workload.Cluster = e.Cluster
	if workload.Node == "" && workload.Pod == "" {
		workload.Node = h.catalog.Node(s.Labels) // of a server in no pod the address is the node's
	}
	if !scope.MatchesWorkload(workload) {
		return
	}
	next := workloadCandidate{workload: workload, facet: p.facets[p.nameOf(s.Labels)]}
	next.column = candidate{want: want, times: s.Times, values: s.Values}
	conversion := units.of(want, s.Labels)
	switch next.facet {
	case whole:
		for i, raw := range s.Values {
			value, verdict := h.catalog.Convert(want.metric, conversion, raw)
			if verdict == catalog.Kept {
				s.Values[i] = value
				continue
			}
			s.Values[i] = math.NaN()
			switch verdict {
			case catalog.Garbage:
				found.dropped.garbage++
				found.dropped.garbled(raw)
			case catalog.Sentinel:
				found.dropped.sentinels++
			}
		}
	case sumOfAll:
		for i, raw := range s.Values {
			s.Values[i] = conversion.Apply(raw)
		}
	case bucket:
		bound, err := strconv.ParseFloat(s.Labels.Get("le"), 64)
		if err != nil {
			return
		}
		next.bound = conversion.Apply(bound)
	}
	found.candidates = append(found.candidates, next)
}

// workloadKey is what tells workloads apart for as long as they live. The address of a pod changes with every restart, so
// that of a workload in a pod only its port counts.
type workloadKey struct{ cluster, namespace, pod, job, model, rank, address string }

func keyOfWorkload(w catalog.Workload) workloadKey {
	address := w.Instance
	if w.Pod != "" {
		address = address[strings.LastIndexByte(address, ':')+1:]
	}
	return workloadKey{w.Cluster, w.Namespace, w.Pod, w.Job, w.Model, w.Rank, address}
}

// labelsOf name a workload.
func labelsOf(w catalog.Workload, withAddress bool) map[string]string {
	labels := map[string]string{}
	for name, value := range map[string]string{
		"cluster": w.Cluster, "node": w.Node, "namespace": w.Namespace, "pod": w.Pod, "job": w.Job, "model": w.Model, "rank": w.Rank,
	} {
		if value != "" {
			labels[name] = value
		}
	}
	if withAddress && w.Instance != "" {
		labels["instance"] = w.Instance
	}
	return labels
}

// groupOfWorkload are the labels of the line that a workload is part of.
func groupOfWorkload(w catalog.Workload, by string) map[string]string {
	var part catalog.Workload
	switch by {
	case query.ByNode:
		part = catalog.Workload{Cluster: w.Cluster, Node: w.Node}
	case query.ByCluster:
		part = catalog.Workload{Cluster: w.Cluster}
	case query.ByModel:
		part = catalog.Workload{Model: w.Model}
	case query.ByNamespace:
		part = catalog.Workload{Cluster: w.Cluster, Namespace: w.Namespace}
	case query.ByPod:
		part = catalog.Workload{Cluster: w.Cluster, Namespace: w.Namespace, Pod: w.Pod}
	case query.ByJob:
		part = catalog.Workload{Cluster: w.Cluster, Job: w.Job}
	}
	return labelsOf(part, false)
}

// workloadNotices tell what is missing from the answer, or not what it seems.
func workloadNotices(c *catalog.Catalog, q query.Query, m catalog.Metric, all workloadAnswer, lines int) []gpu.Notice {
	var notices []gpu.Notice
	say := func(severity gpu.Severity, format string, args ...any) {
		notices = append(notices, gpu.Notice{Severity: severity, Text: fmt.Sprintf(format, args...)})
	}
	switch {
	case !all.found:
		hint := ""
		if options := c.Explain(m.Name); len(options) > 0 {
			hint = " " + options[0].Enable
		}
		say(gpu.Info, "Nothing reports %s: none of its series (%s) exists in Prometheus.%s", m.Name, sourceNames(m), hint)
	case all.nameless > 0:
		say(gpu.Info, "%s of %s name no workload and are left out.", plural(all.nameless, "series", "series"), m.Name)
	case lines == 0:
		say(gpu.Info, "No server or job of the selection has %s in this range.", m.Name)
	}
	if q.Scope.SelectsGPUs() {
		say(gpu.Info, "%s is a metric of workloads, which name no GPU: the selection of GPUs does not narrow it; select pods, jobs or nodes.", m.Name)
	}
	if all.dropped.garbage > 0 {
		say(gpu.Warning, "%s of %s cannot be true (up to %.10g) and are not shown; PromQL shows the raw values.",
			plural(all.dropped.garbage, "sample", "samples"), m.Name, all.dropped.worst)
	}
	if all.dropped.sentinels > 0 {
		say(gpu.Info, "%s of %s mean that there is no value, and are not shown.", plural(all.dropped.sentinels, "sample", "samples"), m.Name)
	}
	if all.native {
		say(gpu.Info, "Quantiles of native histograms cannot be put together here: where servers write them a line is the highest of its workloads; PromQL can add the histograms.")
	}
	return notices
}

func compareWorkloads(a, b catalog.Workload) int {
	return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Pod, b.Pod),
		strings.Compare(a.Job, b.Job), strings.Compare(a.Model, b.Model), compareRanks(a.Rank, b.Rank), strings.Compare(a.Instance, b.Instance))
}

// compareRanks orders numbers by their size.
func compareRanks(a, b string) int {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return strings.Compare(a, b)
}

func sortedWorkloads(lines map[workloadKey]*workloadLine) []*workloadLine {
	sorted := make([]*workloadLine, 0, len(lines))
	for _, l := range lines {
		sorted = append(sorted, l)
	}
	slices.SortFunc(sorted, func(a, b *workloadLine) int { return compareWorkloads(a.workload, b.workload) })
	return sorted
}
