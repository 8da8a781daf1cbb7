package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/bottleneck"
)

// bottleneckOptions are the options of a query of type bottleneck.
type bottleneckOptions struct {
	bottleneck.Options

	Show    string `json:"show"`    // "timeline", "summary", "reasons", "" for all three
	Verdict string `json:"verdict"` // of an alert rule or expression: the only verdict whose share it reads, also where it is 0
}

// heldBack is a subject or a job with its verdicts within the range.
type heldBack struct {
	bottleneck.Timeline

	device gpu.Device // of a job only its cluster
	owners []gpu.Owner
	class  insight.Class
	job    *bottleneck.Job
	shares [bottleneck.Verdicts]float64
}

// bottleneck answers what holds each GPU, MIG instance and job back.
func (d *Datasource) bottleneck(ctx context.Context, r request) (data.Frames, error) {
	limits, err := d.bottleneckLimits()
	if err != nil {
		return nil, badInput(err)
	}
	var o bottleneckOptions
	if err := r.query.DecodeOptions(&o); err != nil {
		return nil, badInput(err)
	}
	if limits, err = o.Resolve(limits); err == nil {
		err = oneOfThese("verdict", o.Verdict, verdictNames()...)
	}
	if err != nil {
		return nil, badOptions(err)
	}
	j, err := d.judged(ctx, r, wanted{
		fields: bottleneck.Fields(), workloads: bottleneck.WorkloadFields(),
		lead: time.Duration(limits.Default["windowSeconds"]) * time.Second,
	})
	if err != nil {
		return nil, err
	}
	report, err := bottleneck.Judge(j.gathered.devices, j.gathered.workloads, limits)
	if err != nil {
		return nil, fmt.Errorf("judge bottlenecks: %w", err)
	}
	all, missing := j.back(report, o.Of)
	if r.static {
		return data.Frames{shareNumbers(all, o.Verdict, j.options(ctx, missing))}, nil
	}
	slices.SortStableFunc(all, func(a, b heldBack) int {
		return cmp.Or(b.Now().Reason().Severity.Rank()-a.Now().Reason().Severity.Rank(), cmp.Compare(b.trouble(), a.trouble()))
	})
	rows, cut := cutRows(all, r.query.Rows(), "GPUs, MIG instances and jobs")
	lines := all[:min(len(all), d.limit(r.query))]
	if len(lines) < len(all) && o.Show != "summary" {
		cut = append(cut, gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf("The timeline shows %d of %d lines, the worst.", len(lines), len(all))})
	}
	said := j.options(ctx, missing, cut...)
	told := func() frames.Options {
		now := said
		said.Notices, said.Executed = nil, ""
		return now
	}
	return shownOf(o.Show, map[string]func() *data.Frame{
		"timeline": func() *data.Frame { return j.states(lines, told()) },
		"summary":  func() *data.Frame { return summary(rows, told()) },
		"reasons":  func() *data.Frame { return reasons(lines, r.query.Rows(), told()) },
	}, "timeline", "summary", "reasons")
}

func verdictNames() []string {
	names := make([]string, bottleneck.Verdicts)
	for v := range names {
		names[v] = bottleneck.Verdict(v).String() //nolint:gosec // few
	}
	return names
}

// back are the subjects and jobs that a query is of, within its range: the grid begins before it.
func (j *judgement) back(report *bottleneck.Report, of string) ([]heldBack, tallied) {
	from := j.gathered.from.UnixMilli()
	missing := tallied{}
	var all []heldBack
	if of != "jobs" {
		for i, t := range report.Devices {
			s := j.gathered.devices.Subjects[i]
			one := heldBack{Timeline: within(t, from), device: s.Device, owners: s.Owners, class: s.Class}
			one.shares = one.Shares()
			missing.add(one.Now().Missing())
			all = append(all, one)
		}
	}
	if of != "gpus" {
		for _, t := range report.Jobs {
			one := heldBack{Timeline: within(t.Timeline, from), device: gpu.Device{Identity: gpu.Identity{Cluster: t.Cluster}, Index: -1}, job: &t.Job}
			one.shares = one.Shares()
			if len(t.Job.Devices) > 0 {
				s := j.gathered.devices.Subjects[t.Job.Devices[0]]
				one.owners, one.class = s.Owners, s.Class
			}
			all = append(all, one)
		}
	}
	return all, missing
}

// within cuts off what was before a time.
func within(t bottleneck.Timeline, from int64) bottleneck.Timeline {
	var kept []bottleneck.Interval
	for _, i := range t.Intervals {
		if i.To > from {
			i.From = max(i.From, from)
			kept = append(kept, i)
		}
	}
	return bottleneck.Timeline{Intervals: kept}
}

// trouble is the share of time in which something is to be done.
func (h heldBack) trouble() float64 {
	sum := 0.0
	for _, i := range h.Intervals {
		if i.Judgement.Reason().Severity.Rank() > insight.Info.Rank() {
			sum += float64(i.To - i.From)
		}
	}
	return sum
}

// jobName is the job's name, "" for a device.
func (h heldBack) jobName() string {
	if h.job == nil {
		return ""
	}
	return h.job.Name
}

func (h heldBack) namespace() string {
	if h.job == nil {
		return ""
	}
	return h.job.Namespace
}

// line is the subject's line of a timeline.
func (h heldBack) line(states []string) frames.StateLine {
	line := frames.StateLine{Device: h.device, States: states}
	if h.job != nil {
		line.Name = "job " + strings.TrimPrefix(h.job.Namespace+"/"+h.job.Name, "/")
		line.Labels = map[string]string{"job": h.job.Name}
		for name, value := range map[string]string{"cluster": h.job.Cluster, "namespace": h.job.Namespace} {
			if value != "" {
				line.Labels[name] = value
			}
		}
	}
	return line
}

// verdictStates are how timelines show verdicts.
func verdictStates() map[string]frames.State {
	colours := map[bottleneck.Verdict]string{
		bottleneck.Unknown: "purple", bottleneck.Idle: "#808080", bottleneck.Thermal: "red", bottleneck.PowerBrake: "dark-red",
		bottleneck.PowerLimited: "light-orange", bottleneck.MemoryCapacity: "dark-orange", bottleneck.InputBound: "yellow",
		bottleneck.Interconnect: "dark-yellow", bottleneck.WaitingOnRank: "orange", bottleneck.MemoryBandwidth: "blue",
		bottleneck.Compute: "green", bottleneck.LaunchBound: "light-yellow", bottleneck.Mixed: "light-green",
	}
	states := map[string]frames.State{}
	for v, colour := range colours {
		states[v.String()] = frames.State{Text: strings.ReplaceAll(v.String(), "-", " "), Colour: colour}
	}
	return states
}

// states is the timeline: a line of verdicts for each subject, in the order of their place.
func (j *judgement) states(all []heldBack, o frames.Options) *data.Frame {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b heldBack) int {
		return cmp.Or(cmp.Compare(a.jobName(), b.jobName()), frames.CompareDevices(a.device, b.device))
	})
	times := j.gathered.times()
	lines := make([]frames.StateLine, len(sorted))
	for i, h := range sorted {
		states := make([]string, len(times))
		at := 0
		for n, t := range times {
			for at < len(h.Intervals) && h.Intervals[at].To <= t {
				at++
			}
			if at < len(h.Intervals) && h.Intervals[at].From <= t {
				states[n] = h.Intervals[at].Verdict.String()
			}
		}
		lines[i] = h.line(states)
	}
	return frames.States("bottleneck", times, lines, verdictStates(), o)
}

// verdictColours are those of cells.
func verdictColours() map[string]string {
	colours := map[string]string{}
	for name, state := range verdictStates() {
		colours[name] = state.Colour
	}
	return colours
}

// heldColumns are the columns that say whose row it is.
func heldColumns[R any](t *frames.Sheet[R], of func(R) heldBack) {
	t.Device(func(r R) gpu.Device { return of(r).device })
	t.Text("job", func(r R) string { return of(r).jobName() })
	t.Text("job_namespace", func(r R) string { return of(r).namespace() })
}

// summary is a row for each subject: its verdict now, why, what to do, and the share of time of each verdict.
func summary(rows []heldBack, o frames.Options) *data.Frame {
	t := frames.SheetOf(rows)
	heldColumns(t, func(h heldBack) heldBack { return h })
	t.Owners(func(h heldBack) []gpu.Owner { return h.owners })
	t.Text("class", func(h heldBack) string { return string(h.class) })
	t.Text("verdict", func(h heldBack) string { return h.Now().Verdict.String() }).Coloured(verdictColours())
	reasonColumns(t, func(h heldBack) insight.Reason { return h.now().Reason() })
	confidenceColumn(t, func(h heldBack) insight.Confidence { return h.Now().Confidence })
	t.At("since", func(h heldBack) time.Time { return timeOf(h.now().From) })
	t.Text("secondary", func(h heldBack) string { return namesOf(h.Now().Secondary) })
	t.Text("notes", func(h heldBack) string { return strings.Join(h.Now().Notes(), " ") })
	t.Text("missing", func(h heldBack) string { return strings.Join(h.Now().Missing(), ", ") })
	for v, name := range verdictNames() {
		t.Number(name, gpu.Ratio, "Share of the time.", func(h heldBack) gpu.Reading {
			if len(h.Intervals) == 0 {
				return gpu.Absent(gpu.NoData)
			}
			return gpu.Read(h.shares[v])
		})
	}
	return t.Table("bottleneck_summary", o)
}

// now is the newest interval; an empty one when there is none.
func (h heldBack) now() bottleneck.Interval {
	if n := len(h.Intervals); n > 0 {
		return h.Intervals[n-1]
	}
	return bottleneck.Interval{Judgement: h.Now()}
}

func namesOf(s bottleneck.Set) string {
	var names []string
	for v := range s.All() {
		names = append(names, v.String())
	}
	return strings.Join(names, ", ")
}

// spell is one interval of one subject.
type spell struct {
	heldBack
	interval bottleneck.Interval
}

// reasons is a row for each interval of each line, in the order of time: what a timeline's tooltip has no room for.
func reasons(all []heldBack, most int, o frames.Options) *data.Frame {
	var spells []spell
	for _, h := range all {
		for _, i := range h.Intervals {
			spells = append(spells, spell{h, i})
		}
	}
	slices.SortStableFunc(spells, func(a, b spell) int { return cmp.Compare(a.interval.From, b.interval.From) })
	if n := len(spells); n > most {
		spells = spells[n-most:]
		o.Notices = append(slices.Clip(o.Notices), gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
			"The table of reasons has the newest %d of %d intervals: narrow the query, or set maxRows.", most, n)})
	}
	t := frames.SheetOf(spells)
	t.At("time", func(s spell) time.Time { return timeOf(s.interval.From) })
	t.At("timeEnd", func(s spell) time.Time { return timeOf(s.interval.To) })
	heldColumns(t, func(s spell) heldBack { return s.heldBack })
	t.Text("verdict", func(s spell) string { return s.interval.Verdict.String() }).Coloured(verdictColours())
	reasonColumns(t, func(s spell) insight.Reason { return s.interval.Reason() })
	confidenceColumn(t, func(s spell) insight.Confidence { return s.interval.Confidence })
	return t.Table("bottleneck_reasons", o)
}

// shareNumbers is what an alert rule reads: the share of time of each verdict that a subject had, or of one verdict for all.
func shareNumbers(all []heldBack, verdict string, o frames.Options) *data.Frame {
	type share struct {
		heldBack
		verdict string
		value   float64
	}
	var rows []share
	names := verdictNames()
	for _, h := range all {
		if len(h.Intervals) == 0 {
			continue
		}
		for v, value := range h.shares {
			if names[v] == verdict || verdict == "" && value > 0 {
				rows = append(rows, share{h, names[v], value})
			}
		}
	}
	t := frames.SheetOf(rows)
	heldColumns(t, func(s share) heldBack { return s.heldBack })
	t.Text("verdict", func(s share) string { return s.verdict })
	t.Number("share", gpu.Ratio, "Share of the time in which the verdict heldBack.", func(s share) gpu.Reading { return gpu.Read(s.value) })
	return t.Numbers("bottleneck", o)
}
