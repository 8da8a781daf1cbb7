package plugin

import (
	"fmt"
	"slices"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// keepOf is what of several samples of a metric stands for them where there is room for one: what must not be missed is
// kept by its extreme, and a code, which has no mean, by the newest.
func keepOf(m catalog.Metric, aggregation string) timeline.Keep {
	switch {
	case m.Unit == gpu.Code:
		return timeline.KeepLast
	case aggregation == "min":
		return timeline.KeepMin
	case aggregation == "max", m.Family == "temperature", m.Family == "errors":
		return timeline.KeepMax
	}
	return timeline.KeepMean
}

// keepLive is the same for live samples, of which history has the newest of each step where no extreme is kept.
func keepLive(keep timeline.Keep) timeline.Keep {
	if keep == timeline.KeepMean {
		return timeline.KeepLast
	}
	return keep
}

// limit is how many lines are shown one by one.
func (d *Datasource) limit(q query.Query) int {
	for _, most := range []int{q.MaxSeries, d.settings.MaxSeries} {
		if most > 0 {
			return most
		}
	}
	return frames.MaxSeries
}

// reduction is what the answer's lines are made into.
func (d *Datasource) reduction(q query.Query, static bool, lines int) string {
	mode := q.Reduce.Mode
	switch {
	case static:
		return query.ReduceAll
	case mode != "":
		return mode
	case isInstant(q) || lines <= d.limit(q):
		return query.ReduceAuto
	}
	return query.ReduceBands
}

// decimated makes samples fewer until there are no more times than the panel has points for.
func (a answer) decimated() answer {
	room := int(a.request.window.MaxDataPoints)
	if room <= 0 {
		room = query.DefaultMaxDataPoints
	}
	all := slices.Concat(a.continued, a.rest)
	// A range of n steps has n + 1 points.
	if timeline.Points(all) <= room+1 {
		return a
	}
	first, last := extent(all)
	step := query.NewWindow(query.WindowOptions{
		From: time.UnixMilli(first), To: time.UnixMilli(last), MaxDataPoints: int64(room), ScrapeInterval: time.Millisecond,
	}).Step
	a.continued, a.rest = timeline.Decimate(a.continued, step, a.keep), timeline.Decimate(a.rest, step, a.keep)
	a.plan.Step, a.historyStep = max(a.plan.Step, step), max(a.historyStep, step)
	what := map[timeline.Keep]string{
		timeline.KeepLast: "the newest", timeline.KeepMean: "the mean", timeline.KeepMax: "the highest", timeline.KeepMin: "the lowest",
	}[a.keep]
	a.options.Notices = append(a.options.Notices, gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf(
		"Each point is %s of %s, because the panel has room for %d points.", what, step, room)})
	return a
}

// extent is when the first of all series begins and the last ends.
func extent(all []gpu.Series) (first, last int64) {
	found := false
	for _, s := range all {
		if n := len(s.Times); n > 0 {
			if !found {
				first, last, found = s.Times[0], s.Times[n-1], true
			}
			first, last = min(first, s.Times[0]), max(last, s.Times[n-1])
		}
	}
	return first, last
}

// common is the step that all lines of the answer have a sample on.
func (a answer) common() time.Duration {
	if len(a.continued) == 0 {
		return a.historyStep
	}
	return max(a.plan.Step, a.plan.Period, a.historyStep)
}

// bands is how the values of all lines are spread.
func (a answer) bands(all []gpu.Series) *data.Frame {
	if isInstant(a.request.query) {
		b, o := timeline.BandsOf(all, 0, a.keep), a.options
		return frames.BandsNow(bandsOf(b), b.Count, o)
	}
	a.options.Step = a.common()
	b := timeline.BandsOf(all, a.options.Step, a.keep)
	return frames.Bands(b.Times, bandsOf(b), b.Count, a.options)
}

func bandsOf(b timeline.Bands) []frames.Band {
	bands := make([]frames.Band, len(b.Levels))
	for i, level := range b.Levels {
		bands[i] = frames.Band{Name: level.Name, Values: level.Values}
	}
	return bands
}

// heatmap is how many lines have a value in each bin, and the bins' edges.
func (a answer) heatmap(all []gpu.Series) (frame *data.Frame, edges []float64) {
	a.options.Step = a.common()
	scale := timeline.Scale{}
	if a.options.Unit == gpu.Ratio && !a.options.Rate {
		scale.High = 1
	}
	h := timeline.HeatmapOf(all, a.options.Step, a.keep, scale)
	bins := make([]frames.Bin, len(h.Upper))
	for i := range bins {
		bins[i] = frames.Bin{Upper: h.Upper[i], Count: h.Count[i]}
	}
	return frames.Heatmap(h.Times, bins, a.options), append([]float64{h.Low}, h.Upper...)
}

// ranked keeps the lines that rank first; they are continued or rest as before.
func (a answer) ranked(all []gpu.Series) answer {
	reduce := a.request.query.Reduce
	by := map[string]timeline.Rank{
		query.RankAvg: timeline.RankAvg, query.RankMax: timeline.RankMax, query.RankMin: timeline.RankMin, query.RankLast: timeline.RankLast,
	}[reduce.By]
	compared := all
	switch {
	case isInstant(a.request.query):
		by = timeline.RankLast
	case by == timeline.RankAvg:
		// On one grid, so that a line with many live samples is not judged by these alone.
		compared = timeline.Decimate(all, a.common(), a.keep)
	}
	live := len(a.continued)
	a.continued, a.rest = nil, nil
	for _, at := range timeline.Top(compared, reduce.K, by, reduce.Mode == query.ReduceBottomK) {
		if at < live {
			a.continued = append(a.continued, all[at])
		} else {
			a.rest = append(a.rest, all[at])
		}
	}
	return a
}

// reduceNotice says that the answer is not every line, and how to have them.
func (d *Datasource) reduceNotice(a answer, mode string, lines int) gpu.Notice {
	var text string
	reduce := a.request.query.Reduce
	switch mode {
	case query.ReduceBands:
		text = fmt.Sprintf("Showing bands over %d lines (lowest, 5 %%, 25 %%, 50 %%, 75 %%, 95 %%, highest)", lines)
		if reduce.Mode == "" {
			text += fmt.Sprintf(", because at most %d are shown one by one", d.limit(a.request.query))
		}
	case query.ReduceHeatmap:
		text = fmt.Sprintf("Showing how many of %d lines have which value", lines)
	case query.ReduceTopK, query.ReduceBottomK:
		extreme := "highest"
		if mode == query.ReduceBottomK {
			extreme = "lowest"
		}
		by := map[string]string{
			query.RankAvg: "average", query.RankMax: "maximum", query.RankMin: "minimum", query.RankLast: "newest value",
		}[reduce.By]
		if isInstant(a.request.query) {
			by = "value"
		}
		text = fmt.Sprintf("Showing the %d of %d lines with the %s %s", min(reduce.K, lines), lines, extreme, by)
	}
	text += `. For every line set "reduce" to "all", or narrow the selection.`
	if a.streams() && reduce.Mode != "" && (mode == query.ReduceTopK || mode == query.ReduceBottomK) && len(a.continued) > 0 {
		text += " The lines go on live; which ones they are is decided anew with each refresh."
	}
	return gpu.Notice{Severity: gpu.Info, Text: text}
}
