package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// filled is an answer from recording rules whose holes are read from each GPU's own series.
func (d *Datasource) filled(ctx context.Context, r request, m catalog.Metric, aggregation timeline.Aggregation, got history.Result) history.Result {
	for _, hole := range got.Holes {
		own := d.history.Metric(ctx, r.query, m, hole.Window(query.NewWindow(r.window)))
		from, to := hole.From.UTC().Format("2006-01-02 15:04:05 UTC"), hole.To.UTC().Format("2006-01-02 15:04:05 UTC")
		if own.Err != nil {
			got.Notices = append(got.Notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
				"The recording rules have nothing from %s to %s, and what exporters have there could not be read: %v.", from, to, own.Err)})
			continue
		}
		got.Series = spliced(got.Series, timeline.Aggregate(own.Series, aggregation, 0), hole)
		got.Executed = strings.TrimSpace(got.Executed + "\n" + own.Executed)
		got.Notices = append(append(got.Notices, gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf(
			"From %s to %s the recording rules have nothing: that part is of each GPU's own series.", from, to)}), own.Notices...)
	}
	return got
}

// spliced is the lines of rules with a part of them replaced.
func spliced(rules, own []gpu.Series, hole history.Stretch) []gpu.Series {
	out := make([]gpu.Series, 0, len(rules))
	for _, s := range rules {
		at := slices.IndexFunc(own, func(o gpu.Series) bool { return maps.Equal(o.Labels, s.Labels) })
		part := gpu.Series{}
		if at >= 0 {
			part = own[at]
			own = slices.Delete(slices.Clone(own), at, at+1)
		}
		out = append(out, replaced(s, part, hole))
	}
	for _, s := range own { // what was gone before there were rules
		out = append(out, replaced(gpu.Series{Labels: s.Labels}, s, hole))
	}
	return slices.DeleteFunc(out, func(s gpu.Series) bool { return len(s.Times) == 0 })
}

// replaced is a line with a stretch of another in its place.
func replaced(s, part gpu.Series, hole history.Stretch) gpu.Series {
	from, to := hole.From.UnixMilli(), hole.To.UnixMilli()
	whole := s
	whole.Times, whole.Values = nil, nil
	take := func(other gpu.Series, low, high int64) {
		first, _ := slices.BinarySearch(other.Times, low)
		last, _ := slices.BinarySearch(other.Times, high)
		whole.Times = append(whole.Times, other.Times[first:last]...)
		whole.Values = append(whole.Values, other.Values[first:last]...)
	}
	const always = 1 << 62
	take(s, -always, from)
	take(part, from, to+1)
	take(s, to+1, always)
	return whole
}

// latest leaves out what is before a time, but for the last point of lines that have nothing after it.
func latest(series []gpu.Series, from time.Time) []gpu.Series {
	var kept []gpu.Series
	for _, s := range series {
		if n := len(s.Times); n > 0 {
			first, _ := slices.BinarySearch(s.Times, from.UnixMilli())
			first = min(first, n-1)
			s.Times, s.Values = s.Times[first:], s.Values[first:]
			kept = append(kept, s)
		}
	}
	return kept
}

// freshened goes on with what the agents measured after the last point of the rules, for lines all of whose GPUs agents measure:
// a line must not seem to fall where it is only that some are not heard of yet.
func (d *Datasource) freshened(ctx context.Context, r request, m catalog.Metric, plan timeline.Plan, got history.Result, reach reach) []gpu.Series {
	if !reach.live || !m.Agent || len(got.Series) == 0 {
		return got.Series
	}
	end := query.NewWindow(r.window).End()
	// When a step begins nobody has measured anything in it for a moment.
	live := window(ctx, d.live, selection{scope: r.query.Scope, metric: m}, earlier(end, r.now.Add(-instantAge)))
	plan.Step, plan.Period = liveStep(r.window, live.Period), live.Period
	fresh := latest(plan.Live(live.Series), end)
	if !reach.continues {
		fresh = upTo(fresh, r.window.To)
	}
	heard := map[string]int{}
	for _, s := range fresh {
		if s.Device.IsMIG() || s.Device.MIGEnabled {
			return got.Series
		}
		for _, of := range timeline.Aggregate([]gpu.Series{s}, plan.Aggregation, 0) {
			heard[fmt.Sprint(of.Labels)]++
		}
	}
	tails := timeline.Aggregate(fresh, plan.Aggregation, 0)
	out := slices.Clone(got.Series)
	for i, s := range out {
		at := slices.IndexFunc(tails, func(tail gpu.Series) bool { return maps.Equal(tail.Labels, s.Labels) })
		if at < 0 || len(s.Times) == 0 || i >= len(got.Devices) || heard[fmt.Sprint(s.Labels)] != got.Devices[i] {
			continue
		}
		last := s.Times[len(s.Times)-1]
		first, _ := slices.BinarySearch(tails[at].Times, last+1)
		out[i].Times = append(slices.Clip(s.Times), tails[at].Times[first:]...)
		out[i].Values = append(slices.Clip(s.Values), tails[at].Values[first:]...)
	}
	return out
}
