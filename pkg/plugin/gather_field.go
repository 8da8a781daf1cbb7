package plugin

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// field asks both sides for one field of devices, and joins them as metric queries do.
func (g *gathering) field(ctx context.Context, f insight.Field) fieldSeries {
	return g.fieldsOf(ctx, f)[0]
}

// together are the places of fields, those that one question answers in one list, which begins with what the question is asked for.
func (g *gathering) together(fields []insight.Field) [][]int {
	lists := make([][]int, 0, len(fields))
	for i, f := range fields {
		if slices.ContainsFunc(fields, func(other insight.Field) bool { return g.answers(other, f) }) {
			continue
		}
		list := []int{i}
		for k, other := range fields {
			if g.answers(f, other) {
				list = append(list, k)
			}
		}
		lists = append(lists, list)
	}
	return lists
}

// answers reports whether what history is asked for a field tells another one too: a rise is read off what a counter stands at, and
// the last of the masks of a step is one of them.
func (g *gathering) answers(f, other insight.Field) bool {
	if f.Metric != other.Metric {
		return false
	}
	if f.Of == insight.Rise {
		return other.Of == insight.Total
	}
	m, ok := g.catalog.Metric(f.Metric)
	return ok && f.Of == insight.AnyBits && other.Of == insight.Mean && m.Unit == gpu.Code && m.Kind != catalog.Counter
}

// fieldsOf is field for several that one question answers, as together lists them.
func (g *gathering) fieldsOf(ctx context.Context, fields ...insight.Field) []fieldSeries {
	all := make([]fieldSeries, len(fields))
	for i, f := range fields {
		all[i].field = f
	}
	m, ok := g.catalog.Metric(fields[0].Metric)
	if !ok || m.Subject != catalog.SubjectDevice {
		return all
	}
	var result history.Result
	var w query.Window
	var got live.WindowResult
	var wg sync.WaitGroup
	if g.request.query.Source != query.SourceLive && !g.unheard[m.Name] {
		wg.Go(func() {
			q, as, over := g.question(fields[0], m)
			result, w = g.linesOf(ctx, q, as, over), over
		})
	}
	if g.reach.live && m.Agent {
		from, _ := g.span()
		if m.Kind == catalog.Counter {
			from = from.Add(-max(counterSpan, g.window.Step))
		}
		got = window(ctx, g.live, selection{scope: g.scope, metric: m}, from)
	}
	wg.Wait()
	all[0].executed, all[0].notices = result.Executed, result.Notices
	for i, f := range fields {
		out := &all[i]
		out.instance, out.failed, out.partial = m.PerInstance, result.Err, result.Partial
		lines := result.Lines
		if i < len(fields)-1 {
			lines = slices.Clone(lines)
		}
		past := g.stepped(f, lines, w)
		if len(got.Series) > 0 {
			series := make([]gpu.Series, len(past))
			for n, l := range past {
				series[n] = l.Series()
			}
			past = linesOf(timeline.Join(series, g.fromAgents(f, m, series, got)))
		}
		out.lines = g.seen.lines(past, onGrid{times: g.times, step: g.window.Step.Milliseconds()})
	}
	return all
}

// linesOf asks history for the lines of a metric.
func (g *gathering) linesOf(ctx context.Context, q query.Query, m catalog.Metric, w query.Window) history.Result {
	if past, ok := g.history.(interface {
		Lines(ctx context.Context, q query.Query, m catalog.Metric, w query.Window) history.Result
	}); ok {
		return past.Lines(ctx, q, m, w)
	}
	result := g.history.Metric(ctx, q, m, w)
	result.Lines, result.Series = linesOf(result.Series), nil
	return result
}

// linesOf are series as lines.
func linesOf(series []gpu.Series) []history.Line {
	lines := make([]history.Line, len(series))
	for i := range series {
		lines[i] = history.Line{Device: &series[i].Device, Times: series[i].Times, Values: series[i].Values}
	}
	return lines
}

// question is how history is asked for a field: which samples of a step stand for it is decided here, and a counter whose rise
// is wanted is read as it stands.
func (g *gathering) question(f insight.Field, m catalog.Metric) (query.Query, catalog.Metric, query.Window) {
	q := g.request.query
	q.Type, q.Metric, q.AggregateBy, q.Scope, q.Aggregation = query.TypeMetric, m.Name, query.ByIdentity, g.scope, m.Aggregations[0]
	w := g.window
	if m.Pulse != m.Name {
		m.Pulse = "" // exporters that repeat old values show by the pulse itself, without asking for it with every field
	}
	switch {
	case f.Of == insight.Rise || f.Of == insight.Total:
		m = asItStands(m)
		q.OverTime = catalog.OverTimeMax
		if f.Of == insight.Rise {
			w.From = w.From.Add(-w.Step) // what it rose from
		}
	case f.Of == insight.AnyBits:
		w.Step = g.maskStep()
		w.From = g.window.From.Add(-g.window.Step + w.Step)
	case m.Kind == catalog.Counter:
	case f.Of == insight.Max:
		q.OverTime = catalog.OverTimeMax
	case f.Of == insight.Min:
		q.OverTime = catalog.OverTimeMin
	case m.Unit == gpu.Code:
		q.OverTime = catalog.OverTimeLast
	default:
		q.OverTime = catalog.OverTimeMean
	}
	return q, m, w
}

// asItStands is a counter that is read as its exporter writes it, and not as a rate, which its limits are of.
func asItStands(m catalog.Metric) catalog.Metric {
	m.Kind, m.Max, m.Witness, m.Pulse = catalog.Gauge, 0, "", ""
	return m
}

// maskSamples is how many samples of a step are looked at for bits, at most.
const maskSamples = 12

// maskStep is how far apart bit masks are read from history: servers have no function that collects bits over time.
func (g *gathering) maskStep() time.Duration {
	for n := maskSamples; n > 1; n-- {
		if part := g.window.Step / time.Duration(n); part*time.Duration(n) == g.window.Step && part >= g.window.ScrapeInterval && part%time.Second == 0 {
			return part
		}
	}
	return g.window.Step
}

// stepped is history's samples at the starts of the steps that they are of: a server's point is of the time before it.
func (g *gathering) stepped(f insight.Field, lines []history.Line, w query.Window) []history.Line {
	var move shift
	collect := collector{step: g.window.Step}
	for i := range lines {
		l := &lines[i]
		l.Times = move.by(l.Times, -w.Step)
		switch f.Of {
		case insight.Rise:
			l.Values = rises(l.Values)
		case insight.AnyBits:
			l.Times, l.Values = collect.bits(l.Times, l.Values)
		case insight.Total:
			before, _ := slices.BinarySearch(l.Times, g.times[0]) // where it was asked for as a rise
			l.Times, l.Values = l.Times[before:], l.Values[before:]
		default:
			if w.Step < g.window.Step { // it was asked for as bits
				l.Times, l.Values = collect.ends(l.Times, l.Values, w.Step)
			}
		}
	}
	return lines
}

// shift puts series at other times. Most series of an answer share their times, and so do the shifted ones.
type shift struct{ from, to []int64 }

func (m *shift) by(times []int64, by time.Duration) []int64 {
	if !sameSlice(times, m.from) {
		m.from, m.to = times, make([]int64, len(times))
		for i, t := range times {
			m.to[i] = t + by.Milliseconds()
		}
	}
	return m.to
}

// sameSlice reports whether two slices are the same memory.
func sameSlice(a, b []int64) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

// rises is how much a counter rose up to each sample from the one before, NaN where that is not known. One that falls was
// reset and starts again from zero.
func rises(of []float64) []float64 {
	values := make([]float64, len(of))
	before := math.NaN()
	for i, v := range of {
		switch {
		case math.IsNaN(v) || math.IsNaN(before):
			values[i] = math.NaN()
		case v < before:
			values[i] = v
		default:
			values[i] = v - before
		}
		if !math.IsNaN(v) {
			before = v
		}
	}
	return values
}

// collected is all bits that were set in each step.
func collected(series []gpu.Series, step time.Duration) []gpu.Series {
	out := slices.Clone(series)
	collect := collector{step: step}
	for i, s := range series {
		out[i].Times, out[i].Values = collect.bits(s.Times, s.Values)
	}
	return out
}

// collector puts the bits of all samples of a step together. Most series of an answer share their times, and so do the results.
type collector struct {
	step   time.Duration
	times  []int64 // that the steps are of
	starts []int64 // of the steps
	last   []int   // the last sample of each step
}

// bits is all bits that were set in each step that has samples.
func (c *collector) bits(times []int64, values []float64) ([]int64, []float64) {
	c.lookAt(times)
	all := make([]float64, len(c.starts))
	i := 0
	for n := range all {
		all[n] = values[i]
		for i++; i <= c.last[n]; i++ {
			all[n] = eitherBits(all[n], values[i])
		}
	}
	return c.starts, all
}

// lookAt finds the steps of times.
func (c *collector) lookAt(times []int64) {
	if sameSlice(times, c.times) {
		return
	}
	c.times, c.starts, c.last = times, nil, nil
	for i, t := range times {
		start := t - t%c.step.Milliseconds()
		if n := len(c.starts); n > 0 && c.starts[n-1] == start {
			c.last[n-1] = i
			continue
		}
		c.starts, c.last = append(c.starts, start), append(c.last, i)
	}
}

// ends is the sample at the end of each step, of samples that are so far apart.
func (c *collector) ends(times []int64, values []float64, apart time.Duration) ([]int64, []float64) {
	c.lookAt(times)
	of := make([]float64, len(c.starts))
	for n, start := range c.starts {
		of[n] = math.NaN()
		if last := c.last[n]; times[last] == start+(c.step-apart).Milliseconds() {
			of[n] = values[last]
		}
	}
	return c.starts, of
}

// maxBits is the first whole number that a mask cannot be: a float64 has no room for it.
const maxBits = 1 << 53

func eitherBits(a, b float64) float64 {
	isMask := func(v float64) bool { return v >= 0 && v < maxBits }
	switch {
	case !isMask(a):
		return b
	case !isMask(b):
		return a
	}
	return float64(uint64(a) | uint64(b))
}

// fromAgents is live samples on the grid, without a first step that they only have the end of and history has all of.
func (g *gathering) fromAgents(f insight.Field, m catalog.Metric, past []gpu.Series, got live.WindowResult) []gpu.Series {
	from, to := g.span()
	step := g.window.Step
	series := upTo(got.Series, to.Add(-time.Millisecond))
	keep := timeline.KeepMean
	switch {
	case f.Of == insight.AnyBits:
		return onward(g.whole(collected(series, step), series, past), from)
	case f.Of == insight.Rise || f.Of == insight.Total:
		series = timeline.Decimate(series, step, timeline.KeepMax)
		if f.Of == insight.Rise {
			for i, s := range series {
				series[i].Values = rises(s.Values)
			}
		}
		return onward(withoutLeadingGaps(series), from)
	case m.Kind == catalog.Counter:
		series = timeline.Rate(series, timeline.RateWindow(0, max(got.Period, got.Interval)))
	case m.Unit == gpu.Code:
		keep = timeline.KeepLast
	}
	switch f.Of {
	case insight.Max:
		keep = timeline.KeepMax
	case insight.Min:
		keep = timeline.KeepMin
	default:
	}
	return onward(g.whole(timeline.Decimate(series, step, keep), series, past), from)
}

// whole leaves out the first step of a line whose samples begin within it, where history goes back further.
func (g *gathering) whole(stepped, raw, past []gpu.Series) []gpu.Series {
	before := make(map[board]bool, len(past))
	for _, s := range past {
		before[boardOf(s.Device)] = true
	}
	for i, s := range stepped {
		if len(s.Times) > 1 && len(raw[i].Times) > 0 && before[boardOf(s.Device)] && raw[i].Times[0]-s.Times[0] > g.window.Step.Milliseconds()/4 {
			stepped[i].Times, stepped[i].Values = s.Times[1:], s.Values[1:]
		}
	}
	return stepped
}

func withoutLeadingGaps(series []gpu.Series) []gpu.Series {
	var kept []gpu.Series
	for _, s := range series {
		first := slices.IndexFunc(s.Values, func(v float64) bool { return !math.IsNaN(v) })
		if first >= 0 {
			s.Times, s.Values = s.Times[first:], s.Values[first:]
			kept = append(kept, s)
		}
	}
	return kept
}

// workload asks history for one field of ranks and servers.
func (g *gathering) workload(ctx context.Context, f insight.Field) fieldSeries {
	out := fieldSeries{field: f}
	m, ok := g.catalog.Metric(f.Metric)
	if !ok || m.Subject != catalog.SubjectWorkload || g.request.query.Source == query.SourceLive {
		return out
	}
	q := g.request.query
	q.Type, q.Metric, q.AggregateBy, q.Aggregation = query.TypeMetric, m.Name, query.ByIdentity, m.Aggregations[0]
	w := g.window
	switch {
	case m.Kind == catalog.Histogram && f.Of == insight.Max:
		q.Aggregation = "p99"
	case m.Kind == catalog.Histogram:
		q.Aggregation = "avg"
	case m.Kind == catalog.Counter && f.Of == insight.Total:
		m = asItStands(m)
		q.OverTime = catalog.OverTimeMax
	case m.Kind == catalog.Gauge && f.Of == insight.Max:
		q.OverTime = catalog.OverTimeMax
	case m.Kind == catalog.Gauge && f.Of == insight.Min:
		q.OverTime = catalog.OverTimeMin
	}
	result := g.history.Metric(ctx, q, m, w)
	out.failed, out.executed, out.notices = result.Err, result.Executed, result.Notices
	var move shift
	for _, s := range result.Series {
		s.Times = move.by(s.Times, -w.Step)
		if m.Kind == catalog.Counter && f.Of == insight.Rise {
			s.Values = scaled(s.Values, w.Step.Seconds()) // of a rate, the rise is what it comes to in a step
		}
		out.series = append(out.series, s)
	}
	return out
}

func scaled(values []float64, by float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v * by
	}
	return out
}
