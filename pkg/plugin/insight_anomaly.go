package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/anomaly"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// How much of the past values are compared with, and how finely: an hour has room for twelve values.
const (
	anomalyHistory = 14 * 24 * time.Hour
	anomalyStep    = 5 * time.Minute
	anomalyPoints  = 6000
)

// anomalyOptions are the options of a query of type anomaly.
type anomalyOptions struct {
	anomaly.Options

	Limits json.RawMessage `json:"limits"`
	Learn  bool            `json:"learn"` // suggest thresholds for alert rules
	Below  bool            `json:"below"` // of the suggestion: alert when values are below
	Show   string          `json:"show"`  // "lines", "episodes", "thresholds", "" for all
}

func (d *Datasource) anomalyLimits() (anomaly.Limits, error) {
	return limitsOver(anomaly.DefaultLimits(), d.settings, query.TypeAnomaly)
}

// anomaly answers what is not as it was, or not as its peers are.
func (d *Datasource) anomaly(ctx context.Context, r request) (data.Frames, error) {
	limits, err := d.anomalyLimits()
	if err != nil {
		return nil, badInput(err)
	}
	var o anomalyOptions
	if err := r.query.DecodeOptions(&o); err != nil {
		return nil, badInput(err)
	}
	if limits, err = resolved(limits, o.Limits); err == nil {
		err = o.Validate()
	}
	if err == nil {
		err = d.knownMetric(o.Metric)
	}
	if err != nil {
		return nil, badOptions(err)
	}
	if o.Hours == 0 {
		o.Hours = min(max(r.window.To.Sub(r.window.From).Hours(), 1), 7*24)
	}
	looked := time.Duration(o.Hours * float64(time.Hour))
	j, answer, err := d.held(ctx, r, o, looked, limits)
	if err != nil {
		return nil, err
	}
	missing := tallied{}
	missing.add(answer.Missing)
	var notices []gpu.Notice
	for _, note := range answer.Notes {
		notices = append(notices, gpu.Notice{Severity: gpu.Info, Text: note})
	}
	if n := warming(answer.Results); n > 0 {
		notices = append(notices, gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf("%d of %d lines have too little to be compared with yet: see warm_up.", n, len(answer.Results))})
	}
	said := j.options(ctx, missing, notices...)
	told := func() frames.Options {
		now := said
		said.Notices, said.Executed = nil, ""
		return now
	}
	if r.static {
		return data.Frames{j.oddNumbers(answer.Results, told())}, nil
	}
	// What goes on now comes first.
	slices.SortStableFunc(answer.Results, func(a, b anomaly.Result) int {
		return cmp.Or(order(b.Reason != nil)-order(a.Reason != nil), len(b.Episodes)-len(a.Episodes))
	})
	lines := answer.Results[:min(len(answer.Results), max(1, d.limit(r.query)/linesOfAnomaly))]
	if len(lines) < len(answer.Results) && o.Show != "episodes" {
		said.Notices = append(said.Notices, d.shown([]gpu.Notice{{Severity: gpu.Info, Text: fmt.Sprintf(
			"The lines are of %d of %d, those with something odd first.", len(lines), len(answer.Results))}})...)
	}
	all := map[string]func() *data.Frame{
		"lines":    func() *data.Frame { return oddLines(lines, told()) },
		"episodes": func() *data.Frame { return j.episodes(answer.Results, r.query.Rows(), told()) },
		"thresholds": func() *data.Frame {
			return learned(anomaly.Learn(j.gathered.devices, o.Field(), insight.Unclassified, o.Below, limits), told())
		},
	}
	if o.Learn || o.Show == "thresholds" {
		return shownOf(o.Show, all, "lines", "episodes", "thresholds")
	}
	return shownOf(o.Show, all, "lines", "episodes")
}

// held gathers and compares. Against history, the past is what the data source has learned of it, where it can be kept.
func (d *Datasource) held(ctx context.Context, r request, o anomalyOptions, looked time.Duration, limits anomaly.Limits) (*judgement, anomaly.Answer, error) {
	asked, want := r, wanted{fields: anomaly.Fields(o.Options), workloads: anomaly.WorkloadFields(o.Options), points: gatherPoints}
	asked.window.From = r.window.To.Add(-looked)
	past := o.Against == "" || o.Against == anomaly.History
	if past || o.Learn {
		asked.window.MinStep, asked.window.MaxDataPoints, want.points = max(anomalyStep, r.query.MinStep), anomalyPoints, anomalyPoints
	}
	if past && !o.Learn {
		j, err := d.judged(ctx, asked, want)
		if err != nil {
			return nil, anomaly.Answer{}, err
		}
		if kept, release, ok := j.learned(ctx, o.Field()); ok {
			defer release()
			return j, anomaly.Compare(j.gathered.devices, j.gathered.workloads, kept.set, o.Options, limits), nil
		}
		if err := ctx.Err(); err != nil {
			return nil, anomaly.Answer{}, err
		}
	}
	if past || o.Learn {
		asked.window.From = asked.window.From.Add(-anomalyHistory)
	}
	j, err := d.judged(ctx, asked, want)
	if err != nil {
		return nil, anomaly.Answer{}, err
	}
	return j, anomaly.Judge(j.gathered.devices, j.gathered.workloads, nil, o.Options, limits), nil
}

// linesOfAnomaly is how many lines a value is shown by: itself, its band, what is expected, and whether it is odd.
const linesOfAnomaly = 5

func warming(all []anomaly.Result) int {
	n := 0
	for _, r := range all {
		if r.WarmUp != "" && r.Now.Basis == anomaly.Nothing && r.Against == anomaly.History {
			n++
		}
	}
	return n
}

// oddLines are the lines of every device: its value, what is expected, the band, and 1 where it is odd.
func oddLines(all []anomaly.Result, o frames.Options) *data.Frame {
	var series []gpu.Series
	banded := func(of func(anomaly.Point) float64) func(anomaly.Point) float64 {
		return func(p anomaly.Point) float64 {
			if !p.Banded {
				return math.NaN()
			}
			return of(p)
		}
	}
	for _, r := range all {
		for _, line := range []struct {
			name string
			of   func(anomaly.Point) float64
		}{
			{"value", func(p anomaly.Point) float64 {
				if !p.Measured {
					return math.NaN()
				}
				return p.Value
			}},
			{"expected", banded(func(p anomaly.Point) float64 { return p.Expected })}, {"lower", banded(func(p anomaly.Point) float64 { return p.Lower })},
			{"upper", banded(func(p anomaly.Point) float64 { return p.Upper })}, {"odd", func(p anomaly.Point) float64 { return float64(order(p.Flag)) }},
		} {
			s := gpu.Series{Labels: map[string]string{"name": r.Name, "line": line.name}}
			for _, p := range r.Points {
				s.Times, s.Values = append(s.Times, p.Time), append(s.Values, line.of(p))
			}
			series = append(series, s)
		}
		o.Unit = r.Unit
	}
	o.Metric, o.Naming = "anomaly", frames.Naming{Legend: "{{name}} {{line}}"}
	frame := frames.Wide(series, o)
	for _, f := range frame.Fields {
		if f.Labels["line"] == "odd" && f.Config != nil {
			f.Config.Unit = ""
		}
	}
	return frame
}

// odd is one episode of one device.
type odd struct {
	anomaly.Result
	episode anomaly.Episode
}

// episodes is a row for each time during which a device's values were odd, those that go on first, then the newest.
func (j *judgement) episodes(all []anomaly.Result, most int, o frames.Options) *data.Frame {
	var rows []odd
	for _, r := range all {
		for _, e := range r.Episodes {
			rows = append(rows, odd{r, e})
		}
	}
	slices.SortStableFunc(rows, func(a, b odd) int {
		return cmp.Or(order(b.episode.Ongoing)-order(a.episode.Ongoing), cmp.Compare(b.episode.Start, a.episode.Start))
	})
	rows, cut := cutRows(rows, most, "episodes")
	o.Notices = append(o.Notices[:len(o.Notices):len(o.Notices)], cut...)
	t := frames.SheetOf(rows)
	t.At("time", func(e odd) time.Time { return timeOf(e.episode.Start) })
	t.At("timeEnd", func(e odd) time.Time { return timeOf(e.episode.End) })
	t.Device(func(e odd) gpu.Device { return j.gathered.devices.Subjects[e.Subject].Device })
	t.Owners(func(e odd) []gpu.Owner { return j.gathered.devices.Subjects[e.Subject].Owners })
	t.Text("metric", func(e odd) string { return e.Field.Metric })
	t.Text("text", func(e odd) string { return e.episode.Text })
	reasonColumns(t, func(e odd) insight.Reason {
		if e.Reason == nil || !e.episode.Ongoing {
			return insight.Reason{Evidence: []insight.Evidence{e.episode.Evidence}}
		}
		return *e.Reason
	})
	confidenceColumn(t, func(e odd) insight.Confidence { return e.Confidence })
	t.Text("ongoing", func(e odd) string {
		if e.episode.Ongoing {
			return "yes"
		}
		return "no"
	})
	unit := gpu.Unit("")
	if len(rows) > 0 {
		unit = rows[0].Unit
	}
	t.Number("value", unit, "The oddest.", func(e odd) gpu.Reading { return known(e.episode.Value) })
	t.Number("expected", unit, "At its time.", func(e odd) gpu.Reading { return known(e.episode.Expected) })
	t.Number("score", gpu.Count, "Robust standard deviations from what is expected.", func(e odd) gpu.Reading { return known(e.episode.Score) })
	t.Text("against", func(e odd) string { return string(e.Against) })
	t.Text("group", func(e odd) string { return e.Group })
	t.Text("warm_up", func(e odd) string { return e.WarmUp })
	return t.Table("anomaly_episodes", o)
}

// learned is what the history suggests for alert rules.
func learned(l anomaly.Learned, o frames.Options) *data.Frame {
	type row struct {
		name string
		anomaly.Threshold
	}
	var rows []row
	if l.Known {
		rows = []row{{"warning", l.Warn}, {"critical", l.Critical}}
	}
	t := frames.SheetOf(rows)
	t.Text("severity", func(r row) string { return r.name }).Coloured(severityColours())
	t.Text("metric", func(row) string { return l.Field.Metric })
	t.Text("condition", func(row) string {
		if l.Below {
			return "below"
		}
		return "above"
	})
	t.Number("threshold", l.Unit, "", func(r row) gpu.Reading { return known(r.Value) })
	t.Number("per_week", gpu.Count, "How often it would have been crossed on all devices together.", func(r row) gpu.Reading { return known(r.PerWeek) })
	t.Text("text", func(row) string { return l.Text })
	if !l.Known && l.Text != "" {
		o.Notices = append(o.Notices[:len(o.Notices):len(o.Notices)], gpu.Notice{Severity: gpu.Info, Text: l.Text})
	}
	return t.Table("anomaly_thresholds", o)
}

// oddNumbers is what an alert rule reads: the score of what goes on at the end of the range, 0 where all is as usual.
// What has nothing to be compared with has no row.
func (j *judgement) oddNumbers(all []anomaly.Result, o frames.Options) *data.Frame {
	var rows []anomaly.Result
	for _, r := range all {
		if slices.ContainsFunc(r.Points, func(p anomaly.Point) bool { return p.Banded }) {
			rows = append(rows, r)
		}
	}
	t := frames.SheetOf(rows)
	t.Device(func(r anomaly.Result) gpu.Device { return j.gathered.devices.Subjects[r.Subject].Device })
	t.Text("metric", func(r anomaly.Result) string { return r.Field.Metric })
	t.Number("score", gpu.Count, "", func(r anomaly.Result) gpu.Reading {
		for _, e := range r.Episodes {
			if e.Ongoing {
				return known(e.Score)
			}
		}
		return gpu.Read(0)
	})
	return t.Numbers("anomaly", o)
}
