package history

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// clusterLabel is added to PromQL results when they come from several clusters.
const clusterLabel = "cluster"

// PromQL answers a query in PromQL from the servers of the scope's clusters: one series per label set, replicas folded
// together, with a cluster label when several clusters answer. The rest of the scope is for the query's macros. Values
// are as the servers sent them, NaN and infinities included.
func (h *History) PromQL(ctx context.Context, q query.Query, w query.Window) Result {
	return h.promQL(ctx, q, w, false)
}

// PromQLTable is PromQL for a table of an instant query: where one server answers, with one sample of each series, they are in
// the result's Instant and not in its Series, which takes a tenth of the time and of the memory.
func (h *History) PromQLTable(ctx context.Context, q query.Query, w query.Window) Result {
	return h.promQL(ctx, q, w, q.Instant)
}

func (h *History) promQL(ctx context.Context, q query.Query, w query.Window, columns bool) Result {
	result := Result{Step: w.Step}
	if q.Instant {
		result.Step = 0
	}
	endpoints, notices := h.inScope(q.Scope)
	prepared, err := h.macros(ctx, endpoints, q, w).Prepare(q)
	if err != nil {
		result.Err = &Error{Endpoint: "query", Kind: KindBadQuery, Message: err.Error()}
		return result
	}
	expr := prepared.Text
	result.Executed = describe(expr, q.Instant, w)
	exemplars := h.exemplarsBeside(ctx, q, w)
	columns = columns && len(endpoints) == 1 && len(endpoints[0].ReplicaLabels) == 0
	good, failed, err := split(fanOut(ctx, endpoints, func(ctx context.Context, e *endpoint) (*answer, error) {
		if columns {
			a, err := e.cached.columns(ctx, e, e.instantForm(expr, w))
			return a, pointed(err, prepared.Err)
		}
		a, err := e.evaluate(ctx, expr, q.Instant, w)
		if err == nil && e.Replica {
			a.incomplete = lacks(a.Series, q.Instant, w)
		}
		return a, pointed(err, prepared.Err)
	}))
	result.Notices, result.Err = slices.Concat(notices, prepared.Notices, failed), err
	severalClusters := several(endpoints)
	merge := replicas{at: map[string]int{}, distinct: len(good) == 1 && len(good[0].endpoint.ReplicaLabels) == 0}
	for _, o := range good {
		result.Notices = append(result.Notices, remarks(o.endpoint, o.value)...)
		result.Instant = o.value.Instant
		for _, s := range o.value.Series {
			merge.add(o.endpoint.plainLabels(s.Labels, severalClusters), s)
		}
	}
	result.Series = merge.series
	var told []gpu.Notice
	result.Histograms, told = h.histograms(ctx, good, expr, q, w)
	result.Notices = append(result.Notices, told...)
	result.Exemplars, told = exemplars()
	result.Notices = append(result.Notices, told...)
	found := len(result.Series) > 0 || result.Instant != nil && result.Instant.Len() > 0
	if matcher := query.RegexInEquality(expr); matcher != "" && len(good) > 0 && !found {
		result.Notices = append(result.Notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
			"Nothing was found, and %s compares with a regular expression: use =~ for a variable that can have several values.", matcher)})
	}
	return result
}

// evaluate runs an expression over the window, or at its end. The answer's values are the caller's own.
func (e *endpoint) evaluate(ctx context.Context, expr string, instant bool, w query.Window) (*answer, error) {
	return e.ask(ctx, expr, instant, w, false)
}

// evaluateOurs is evaluate for what we wrote: hints about how an expression is written are not for people who did not
// write it, and are dropped.
func (e *endpoint) evaluateOurs(ctx context.Context, expr string, instant bool, w query.Window) (*answer, error) {
	return e.ask(ctx, expr, instant, w, true)
}

func (e *endpoint) ask(ctx context.Context, expr string, instant bool, w query.Window, quiet bool) (*answer, error) {
	if instant {
		return e.cached.instant(ctx, e, e.instantForm(expr, w), quiet)
	}
	form := e.form(expr)
	form.Set("step", strconv.FormatFloat(w.Step.Seconds(), 'f', -1, 64))
	return e.cached.overRange(ctx, e, form, w.Start().UnixMilli(), w.End().UnixMilli(), w.Step.Milliseconds(), quiet)
}

func (e *endpoint) form(expr string) url.Values {
	return url.Values{"query": {expr}, "timeout": {strconv.FormatFloat(e.Timeout.Seconds(), 'f', -1, 64) + "s"}}
}

func (e *endpoint) instantForm(expr string, w query.Window) url.Values {
	form := e.form(expr)
	form.Set("time", timestamp(w.To))
	return form
}

func timestamp(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', -1, 64)
}

func describe(expr string, instant bool, w query.Window) string {
	if instant {
		return fmt.Sprintf("%s @ %s", expr, w.To.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("%s (step %s)", expr, w.Step)
}

// plainLabels are a series' labels without those that tell replicas apart.
func (e *endpoint) plainLabels(labels labelSet, severalClusters bool) map[string]string {
	plain := make(map[string]string, labels.len()+1)
	for _, l := range labels.all() {
		if !slices.Contains(e.ReplicaLabels, l.Name) {
			plain[l.Name] = l.Value
		}
	}
	if severalClusters {
		plain[clusterLabel] = e.Cluster
	}
	return plain
}

// replicas folds series with the same labels together: the first one counts, and others fill its gaps.
type replicas struct {
	series   []gpu.Series
	at       map[string]int
	distinct bool // one server answered, whose series are distinct already
}

func (r *replicas) add(labels map[string]string, s rawSeries) {
	if r.distinct {
		r.series = append(r.series, gpu.Series{Labels: labels, Times: s.Times, Values: s.Values})
		return
	}
	key := labelKey(labels)
	i, ok := r.at[key]
	if !ok {
		r.at[key] = len(r.series)
		r.series = append(r.series, gpu.Series{Labels: labels, Times: s.Times, Values: s.Values})
		return
	}
	known := &r.series[i]
	if !slices.Equal(known.Times, s.Times) {
		known.Times, known.Values = union(known.Times, known.Values, s.Times, s.Values)
	}
}

// labelKey is the labels in one text; 0xff is in no valid one.
func labelKey(labels map[string]string) string {
	names := make([]string, 0, len(labels))
	for name := range labels {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		b.WriteString(name)
		b.WriteByte(0xff)
		b.WriteString(labels[name])
		b.WriteByte(0xff)
	}
	return b.String()
}

// union is a with the points of b at times that a lacks.
func union(aTimes []int64, a []float64, bTimes []int64, b []float64) ([]int64, []float64) {
	times := make([]int64, 0, len(aTimes)+len(bTimes))
	values := make([]float64, 0, len(aTimes)+len(bTimes))
	i, j := 0, 0
	for i < len(aTimes) || j < len(bTimes) {
		if j == len(bTimes) || i < len(aTimes) && aTimes[i] <= bTimes[j] {
			if j < len(bTimes) && aTimes[i] == bTimes[j] {
				j++
			}
			times, values = append(times, aTimes[i]), append(values, a[i])
			i++
			continue
		}
		times, values = append(times, bTimes[j]), append(values, b[j])
		j++
	}
	return times, values
}

// remarks are what a server said beside its answer.
func remarks(e *endpoint, a *answer) []gpu.Notice {
	var notices []gpu.Notice
	for _, text := range a.Warnings {
		notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: e.ID + ": " + clean(text)})
	}
	for _, text := range a.Infos {
		notices = append(notices, gpu.Notice{Severity: gpu.Info, Text: e.ID + ": " + clean(text)})
	}
	if a.Partial {
		notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: e.ID + ": the answer is partial, because some storage nodes did not answer."})
	}
	return notices
}
