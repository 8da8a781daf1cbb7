package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// liveWait is how long an answer waits for agents that are not connected yet. They stay connected for the next one.
const liveWait = 2 * time.Second

// Of a table: how old its newest live sample may be at most, or three periods where they are longer, and how much
// before it is read for the rate of a counter.
const (
	instantAge  = 15 * time.Second
	instantSpan = 2 * time.Minute
)

// counterSpan is how much before a range a counter's live samples are read, so that its rate is known from the start.
const counterSpan = 2 * time.Minute

// metric answers a query for a canonical metric: history and live data side by side, joined for each device.
func (d *Datasource) metric(ctx context.Context, r request) (data.Frames, error) {
	m, err := r.query.MetricIn(d.catalog)
	if err != nil {
		return nil, badInput(err)
	}
	if m.Subject == catalog.SubjectWorkload {
		return d.workload(ctx, r, m)
	}
	if r.query.RulesOnly(m) {
		return d.recordedOnly(ctx, r, m)
	}
	aggregation, err := aggregationOf(r.query, m)
	if err != nil {
		return nil, badInput(err)
	}
	reach := reachOf(r.query, r.window.From, r.window.To, r.now)
	if !m.Agent {
		reach.live, reach.continues = false, false
		if r.query.Source == query.SourceLive {
			reach.notices = []gpu.Notice{{Severity: gpu.Warning, Text: "Agents do not measure " + m.Name + ": set the source to auto or history."}}
		}
	}
	rolled, ok, why := d.rolledUp(ctx, r, m, aggregation, reach)
	if ok {
		rolled.options.Notices = append(reach.notices, rolled.options.Notices...)
		return d.render(rolled), nil
	}
	got, err := d.fetch(ctx, r, m, reach.live)
	if err != nil {
		return nil, err
	}
	notices := append(reach.notices, got.notices...)
	if !reach.continues {
		got.live.Series = upTo(got.live.Series, r.window.To)
	}

	step := liveStep(r.window, eagerPeriod(got.live, got.wish))
	if isInstant(r.query) {
		step = max(got.live.Period, time.Second)
	}
	keep := keepOf(m, r.query.AggregationOf(m))
	plan := timeline.Plan{
		Keep: keepLive(keep), Step: step, Period: got.live.Period, Counter: m.Kind == catalog.Counter, Aggregation: aggregation,
	}
	if plan.Counter && got.live.Interval > got.live.Period {
		plan.Measured = min(got.live.Interval, counterSpan/4)
	}
	sewn := sew(got.history.Series, onward(plan.Live(got.live.Series), got.since), aggregation.By, plan.Step, earlier(r.now, r.window.To).Add(-absentAge))
	notices = append(notices, sewn.notices()...)
	if n, ok := absentNotice(m, got.history.Absent, sewn); ok && r.now.Sub(r.window.To) < absentAge {
		notices = append(notices, n)
	}
	if n, ok := stairsNotice(sewn, got.history.Step, got.live.Period); ok && !isInstant(r.query) {
		notices = append(notices, n)
	}
	if n, ok := rateNotice(sewn, query.NewWindow(r.window).RateInterval(), plan.RateWindow()); ok && plan.Counter && !isInstant(r.query) {
		notices = append(notices, n)
	}
	notices = append(notices, averageNotices(aggregation, sewn.history, sewn.live, sewn.rest)...)
	if len(notices) == 0 && len(sewn.history)+len(sewn.live)+len(sewn.rest) == 0 {
		notices = append(notices, nothingNotice(m, r.query.Scope))
	}
	a := answer{
		request: r, plan: plan, keep: keep, continues: reach.continues,
		continued: timeline.Aggregate(timeline.Join(sewn.history, sewn.live), aggregation, 0),
		rest:      timeline.Aggregate(sewn.rest, aggregation, 0),
		options: frames.Options{
			Metric: m.Name, Description: m.Help, Unit: m.ShownUnit(), Rate: m.Kind == catalog.Counter,
			Executed: why + got.executed(m), Notices: notices,
		},
		historyStep: got.history.Step, seam: sewn.begins(),
	}
	return d.render(a), nil
}

// nothingNotice is for an answer that is empty though nobody failed: without a word it would look healthy.
func nothingNotice(m catalog.Metric, scope query.Scope) gpu.Notice {
	selection := scope.String()
	if selection == "" {
		return gpu.Notice{Severity: gpu.Info, Text: "No GPU has " + m.Name + " in this range."}
	}
	return gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf("No GPU or MIG instance of the selection has %s in this range. Selected: %s.", m.Name, selection)}
}

func aggregationOf(q query.Query, m catalog.Metric) (timeline.Aggregation, error) {
	by, err := timeline.ParseBy(q.AggregateBy)
	if err != nil {
		return timeline.Aggregation{}, err
	}
	fn, err := timeline.ParseFn(q.AggregationOf(m))
	return timeline.Aggregation{By: by, Fn: fn, Relative: m.Unit == gpu.Ratio}, err
}

// fetched is what both sides said.
type fetched struct {
	history history.Result
	live    live.WindowResult
	notices []gpu.Notice
	wish    time.Duration // how far apart live samples were asked to be; 0 for as they are
	since   time.Time     // of the live window; zero when live data was not asked for
}

// fetch asks both sides at the same time. One that fails is a notice as long as the other has something; when nothing
// came and something failed, the error names all that did.
func (d *Datasource) fetch(ctx context.Context, r request, m catalog.Metric, withLive bool) (fetched, error) {
	var f fetched
	var wg sync.WaitGroup
	if r.query.Source != query.SourceLive {
		asked := r.query
		asked.Instant = isInstant(asked)
		wg.Go(func() { f.history = d.history.Metric(ctx, asked, m, query.NewWindow(r.window)) })
	}
	if withLive {
		// From where history begins, a little before the range: otherwise the first live samples would become history's
		// with every refresh.
		f.since = query.NewWindow(r.window).Start()
		if isInstant(r.query) {
			f.since = r.now.Add(-instantSpan)
		}
		from := f.since
		if m.Kind == catalog.Counter {
			from = from.Add(-counterSpan)
		}
		wg.Go(func() {
			of := selection{scope: r.query.Scope, metric: m}
			f.wish = d.wish(ctx, r, of)
			f.live = windowEvery(ctx, d.live, of, from, f.wish)
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return f, err
	}
	if isInstant(r.query) {
		f.live.Series = current(f.live, r.now)
	}
	f.notices = append(f.notices, f.history.Notices...)
	f.notices = append(f.notices, f.live.Notices...)
	if r.query.Scope.ByOwner() {
		f.live.Series = ownedBy(f.history.Series, f.live.Series)
	}
	switch failed := f.history.Err; {
	case failed != nil && len(f.live.Series) == 0:
		return f, noSide(failed, f.live)
	case failed != nil:
		f.notices = append(f.notices, gpu.Notice{Severity: gpu.Warning, Text: "No history, only live data: " + failed.Error()})
	case r.query.Source == query.SourceLive && len(f.live.Series) == 0 && len(troubles(f.live)) > 0:
		return f, noSide(nil, f.live)
	}
	return f, nil
}

// onward leaves out what is before a time, and lines that end before it.
func onward(series []gpu.Series, start time.Time) []gpu.Series {
	var kept []gpu.Series
	for _, s := range series {
		n := sort.Search(len(s.Times), func(i int) bool { return s.Times[i] >= start.UnixMilli() })
		if n < len(s.Times) {
			s.Times, s.Values = s.Times[n:], s.Values[n:]
			kept = append(kept, s)
		}
	}
	return kept
}

// current leaves out what was measured too long ago to be called a value of now.
func current(l live.WindowResult, now time.Time) []gpu.Series {
	oldest := now.Add(-max(instantAge, 3*l.Period)).UnixMilli()
	return slices.DeleteFunc(l.Series, func(s gpu.Series) bool { return len(s.Times) == 0 || s.Times[len(s.Times)-1] < oldest })
}

// ownedBy keeps the devices that history found for a scope of pods or jobs: agents do not know who owns a GPU.
func ownedBy(history, live []gpu.Series) []gpu.Series {
	owned := make(map[board]bool, len(history))
	for _, h := range history {
		owned[boardOf(h.Device)] = true
	}
	return slices.DeleteFunc(live, func(l gpu.Series) bool { return !owned[boardOf(l.Device)] })
}

// troubles are the notices that explain why live data is missing.
func troubles(l live.WindowResult) []string {
	var texts []string
	for _, n := range l.Notices {
		if n.Severity >= gpu.Warning {
			texts = append(texts, n.Text)
		}
	}
	return texts
}

// noSide is the error of an answer that has nothing at all.
func noSide(history error, l live.WindowResult) error {
	liveText := strings.Join(textsOf(l.Notices), " ")
	switch {
	case history == nil:
		return &sidesError{cause: errors.New(liveText), text: "No live data. " + liveText}
	case liveText == "":
		return history
	}
	return &sidesError{cause: history, text: fmt.Sprintf("No history: %s\nNo live data: %s", history, liveText)}
}

// executed says for the query inspector what was asked.
func (f fetched) executed(m catalog.Metric) string {
	text := f.history.Executed
	if f.since.IsZero() {
		return text
	}
	if text != "" {
		text += "\n"
	}
	return text + fmt.Sprintf("# live: %s of %d agents since %s", m.Name, len(f.live.Nodes), f.since.UTC().Format(time.RFC3339))
}

func isInstant(q query.Query) bool {
	return q.Instant || q.Format == query.FormatTable || q.Format == query.FormatMatrix
}
