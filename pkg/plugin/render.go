package plugin

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// answer is a metric query's answer before it becomes frames.
type answer struct {
	request   request
	plan      timeline.Plan
	keep      timeline.Keep // what of several samples stands for them where there is room for one
	continues bool          // a stream can go on from the end of the range
	workloads bool          // the lines are of workloads, named by their labels

	continued []gpu.Series // lines that agents have a part in
	rest      []gpu.Series // lines that only history has

	options     frames.Options
	historyStep time.Duration
	seam        int64 // where history ends and live samples begin, Unix milliseconds; 0 where there are not both
}

// render chooses the shape: a row for each line, one frame, for a panel that goes on by itself one frame that streams
// and one that does not, or what very many lines are reduced to. Alert rules and expressions see every line.
func (d *Datasource) render(a answer) data.Frames {
	frames.Sort(a.continued)
	frames.Sort(a.rest)
	if !isInstant(a.request.query) {
		a = a.decimated()
	}
	all := slices.Concat(a.continued, a.rest)
	a.options.Naming = frames.NamingFor(all, a.request.query.Legend)
	if a.workloads {
		a.options.Naming = a.options.Naming.OfWorkloads(all)
	}
	a.options.Step = a.historyStep
	if !isInstant(a.request.query) {
		a.options.Notices = append(a.options.Notices, frames.Silent(all, a.options.Naming)...)
	}
	if a.request.query.Format == query.FormatMatrix && !a.request.static {
		return d.matrix(a)
	}
	mode := d.reduction(a.request.query, a.request.static, len(all))
	switch mode {
	case query.ReduceAll:
		if a.request.static {
			return d.complete(a, all)
		}
	case query.ReduceBands, query.ReduceHeatmap, query.ReduceTopK, query.ReduceBottomK:
		if len(all) == 0 {
			break
		}
		a.options.Notices = d.shown(append(a.options.Notices, d.reduceNotice(a, mode, len(all))))
		return d.reduced(a, mode, all)
	}
	return d.lines(a, all)
}

// reduced is an answer of fewer columns than there are lines.
func (d *Datasource) reduced(a answer, mode string, all []gpu.Series) data.Frames {
	switch mode {
	case query.ReduceBands:
		return d.spread(a, mode, nil, a.bands(all))
	case query.ReduceHeatmap:
		frame, edges := a.heatmap(all)
		return d.spread(a, mode, edges, frame)
	}
	a = a.ranked(all)
	switch {
	case isInstant(a.request.query):
		a.options.Step = 0
		return data.Frames{frames.Latest(slices.Concat(a.continued, a.rest), a.options)}
	case len(a.continued) == 0:
		return data.Frames{frames.Wide(a.rest, a.options)}
	case a.streams():
		return d.streaming(a, true)
	}
	return a.split(nil)
}

// complete is every line, for alert rules and expressions: they compute with an answer, and would not see what is left
// out of it.
func (d *Datasource) complete(a answer, all []gpu.Series) data.Frames {
	if mode := a.request.query.Reduce.Mode; mode != "" && mode != query.ReduceAll {
		a.options.Notices = append(a.options.Notices, gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf(
			"Alert rules and expressions see every line, so that %q of the query does not count here.", mode)})
	}
	a.options.Notices = d.shown(a.options.Notices)
	a.options.Complete = true
	switch {
	case isInstant(a.request.query):
		a.options.Step = 0
		frames.Sort(all)
		return data.Frames{frames.Latest(all, a.options)}
	case len(a.continued) == 0:
		return data.Frames{frames.Wide(a.rest, a.options)}
	}
	// Alert rules read the first wide frame only, and in one frame a line that is coarser, or whose node has not sent
	// the newest sample yet, would end in a null.
	frames.Sort(all)
	a.options.Step = max(a.plan.Step, a.historyStep)
	return frames.Multi(all, a.options)
}

// lines is one column or row for each line.
func (d *Datasource) lines(a answer, all []gpu.Series) data.Frames {
	if isInstant(a.request.query) {
		a.options.Step = 0
		frames.Sort(all)
		a.options.Notices = d.shown(a.options.Notices)
		return data.Frames{frames.Latest(all, a.options)}
	}
	shown, notices := frames.LimitCells(all)
	a.options.Notices = d.shown(append(a.options.Notices, notices...))
	a.continued = a.continued[:min(len(a.continued), len(shown))]
	a.rest = shown[len(a.continued):]
	switch {
	case len(a.continued) == 0:
		return data.Frames{frames.Wide(a.rest, a.options)}
	case !a.continues || !a.request.query.Live:
		return a.split(nil)
	}
	return d.streaming(a, false)
}

// split is the lines that are live in one frame, and the others, if there are any, in a second. Notices are on the
// second, because a panel that streams shows the first one's of when it began.
func (a answer) split(custom any) data.Frames {
	first := a.options
	first.Step = max(a.plan.Step, a.historyStep)
	first.Custom = custom
	if custom == nil && len(a.rest) == 0 {
		return data.Frames{frames.Wide(a.continued, first)}
	}
	first.Notices = nil
	out := data.Frames{frames.Wide(a.continued, first)}
	if len(a.rest) > 0 || len(a.options.Notices) > 0 {
		second := a.options
		second.Executed = ""
		out = append(out, frames.Wide(a.rest, second))
	}
	return out
}

// streams reports whether the panel goes on live where that is possible.
func (a answer) streams() bool {
	return a.continues && a.request.query.Live && !isInstant(a.request.query) && !a.request.static
}

// newChannel is the channel of an answer but for its columns.
func (a answer) newChannel() channel {
	return channel{
		Query: a.request.query.Canonical(), StepMs: a.plan.Step.Milliseconds(), PeriodMs: a.plan.Period.Milliseconds(),
		MeasuredMs: a.plan.Measured.Milliseconds(), IntervalMs: max(a.plan.Step, a.historyStep).Milliseconds(),
		RangeMs: a.request.window.To.Sub(a.request.window.From).Milliseconds(), Clusters: a.options.Naming.Clusters,
	}
}

// errNoStream is a range or a step that no stream can go on with.
var errNoStream = errors.New("the range is too long to go on live")

// offer makes the channel one that can be subscribed to, and remembers up to which row the answer has shown it. It fails
// when a browser could not send what it needs.
func (d *Datasource) offer(c channel, shown int64, now time.Time) (liveMeta, error) {
	raw, path, err := c.encode()
	switch {
	case err != nil:
		return liveMeta{}, err
	case len(c.Query) > maxChannelBytes/2:
		return liveMeta{}, errLongQuery
	case len(raw) > maxChannelBytes || c.columns() > frames.MaxSeries:
		return liveMeta{}, fmt.Errorf("%d lines are too many for a live channel. Narrow the query, or aggregate it", c.width())
	case !c.sound():
		return liveMeta{}, errNoStream
	}
	d.handovers.put(path, shown, now)
	return liveMeta{Path: path, Data: raw, StepMs: c.StepMs, RangeMs: c.RangeMs, AtMs: now.UnixMilli()}, nil
}

// streaming lets an answer's lines go on live. Where they are fixed no other device gets a line.
func (d *Datasource) streaming(a answer, fixed bool) data.Frames {
	fields := make([]timeline.Field, len(a.continued))
	for i, s := range a.continued {
		fields[i] = timeline.Field{Device: s.Device}
		if s.Device.Identity == (gpu.Identity{}) {
			fields[i].Labels = s.Labels
		}
	}
	c := a.newChannel().with(fields)
	c.Fixed = fixed
	meta, err := d.offer(c, lastComplete(a.continued, a.plan.Step, a.plan.Period, a.request.now), a.request.now)
	if err != nil {
		a.options.Notices = append(a.options.Notices, d.shown([]gpu.Notice{{
			Severity: gpu.Warning, Text: "Not streaming: " + err.Error() + "; until then a refresh shows what is new.",
		}})...)
		return a.split(nil)
	}
	custom := map[string]any{"live": meta}
	if a.seam > 0 {
		custom["seam"] = a.seam
	}
	return a.split(custom)
}

// shown leaves out what the settings say is not to be shown, and repetitions.
func (d *Datasource) shown(notices []gpu.Notice) []gpu.Notice {
	var kept []gpu.Notice
	for _, n := range notices {
		if n.Severity >= d.settings.NoticeLevel && n.Text != "" && !slices.Contains(kept, n) {
			kept = append(kept, n)
		}
	}
	return kept
}
