package plugin

import (
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

// reduced is an answer of fewer columns than there are lines. It does not stream.
func (d *Datasource) reduced(a answer, mode string, all []gpu.Series) data.Frames {
	switch mode {
	case query.ReduceBands:
		return a.bands(all)
	case query.ReduceHeatmap:
		return a.heatmap(all)
	}
	a = a.ranked(all)
	switch {
	case isInstant(a.request.query):
		a.options.Step = 0
		return data.Frames{frames.Latest(slices.Concat(a.continued, a.rest), a.options)}
	case len(a.continued) == 0:
		return data.Frames{frames.Wide(a.rest, a.options)}
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
	return d.streaming(a)
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

func (d *Datasource) streaming(a answer) data.Frames {
	fields := make([]timeline.Field, len(a.continued))
	for i, s := range a.continued {
		fields[i] = timeline.Field{Device: s.Device}
		if s.Device.Identity == (gpu.Identity{}) {
			fields[i].Labels = s.Labels
		}
	}
	c := newChannel(a.request.query.Canonical(), fields)
	c.StepMs, c.PeriodMs, c.MeasuredMs = a.plan.Step.Milliseconds(), a.plan.Period.Milliseconds(), a.plan.Measured.Milliseconds()
	c.IntervalMs = max(a.plan.Step, a.historyStep).Milliseconds()
	c.RangeMs = a.request.window.To.Sub(a.request.window.From).Milliseconds()
	c.Clusters = a.options.Naming.Clusters
	raw, path, err := c.encode()
	if err != nil || len(raw) > maxChannelBytes {
		text := fmt.Sprintf("Not streaming: %d lines are too many for a live channel. Narrow the query, or aggregate it; until then a refresh shows what is new.", len(fields))
		if len(c.Query) > maxChannelBytes/2 {
			text = "Not streaming: the query names too much for a live channel. Select by a regular expression like /gpu-.*/, or leave the list empty for all; until then a refresh shows what is new."
		}
		if err != nil {
			text = "Not streaming: " + err.Error()
		}
		a.options.Notices = append(a.options.Notices, d.shown([]gpu.Notice{{Severity: gpu.Warning, Text: text}})...)
		return a.split(nil)
	}
	d.handovers.put(path, lastComplete(a.continued, a.plan.Step, a.plan.Period, a.request.now), a.request.now)
	return a.split(map[string]liveMeta{"live": {Path: path, Data: c, StepMs: c.StepMs, RangeMs: c.RangeMs}})
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
