package anomaly

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/forecast"
)

// Result is what was found of one device.
type Result struct {
	Subject    int // row of the grid
	Name       string
	Field      insight.Field
	Unit       gpu.Unit
	Against    Against
	Group      string // the job or the model whose GPUs are the peers
	Points     []Point
	Now        Expected // of the newest step that has a band, from own history
	Episodes   []Episode
	Confidence insight.Confidence
	WarmUp     string // what there is too little of, "" when nothing
	Text       string
	Reason     *insight.Reason // when an episode is going on
}

// Answer is what a query gets, in the order of subjects.
type Answer struct {
	Results []Result
	Missing []string // canonical names of what was needed and not measured
	Skipped int      // devices of which there was nothing to compare
	Notes   []string
}

// Judge looks for odd values in the newest part of a grid. Against history, it first adds what is new in the grid to
// baselines, which may be nil: then the grid is all that is known. workloads, which may be nil, tell which pods are one job.
func Judge(devices *insight.Devices, workloads *insight.Workloads, baselines *Set, o Options, l Limits) Answer {
	if devices != nil && devices.Has(o.Field()) && o.against() == History {
		if baselines == nil {
			baselines = NewSet(len(devices.Subjects))
		}
		baselines.Update(devices, o.Field())
	}
	return Compare(devices, workloads, baselines, o, l)
}

// Compare is Judge without adding anything to the baselines, which may be nil where values are not compared with history.
func Compare(devices *insight.Devices, workloads *insight.Workloads, baselines *Set, o Options, l Limits) Answer {
	if devices == nil || !devices.Has(o.Field()) {
		return Answer{Missing: []string{o.Field().Metric}}
	}
	first := windowOf(devices, o)
	if o.against() != History {
		return peers(devices, workloads, o, l, first)
	}
	if baselines == nil {
		baselines = NewSet(0)
	}
	var a Answer
	for i := range devices.Subjects {
		values := devices.Values(o.Field(), i)
		b := baselines.Of(Key{devices.Subjects[i].Identity, o.Field(), devices.Subjects[i].Class})
		if values == nil || b == nil {
			a.Skipped++
			continue
		}
		a.Results = append(a.Results, own(devices, i, values, b, o, l, first))
	}
	if n := baselines.Refused(); n > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("There was no room for %d baselines.", n))
	}
	return a
}

// windowOf is the first step that is looked at.
func windowOf(devices *insight.Devices, o Options) int {
	n := len(devices.Times)
	if devices.Step <= 0 {
		return 0
	}
	return max(0, n-int(o.hours()*float64(time.Hour)/float64(devices.Step)))
}

// own compares a device with its past.
func own(devices *insight.Devices, i int, values []float64, b *Baseline, o Options, l Limits, first int) Result {
	r := Result{Subject: i, Name: devices.Subjects[i].Name(), Field: o.Field(), Unit: forecast.UnitOf(o.Field()), Against: History}
	hour, expected := int64(math.MinInt64), Expected{}
	worst := TwoWeeks
	for k := first; k < len(values); k++ {
		at := devices.Times[k]
		if h := hourOf(at); h != hour {
			hour, expected = h, b.At(at)
		}
		p := point(at, values[k])
		if expected.Basis != Nothing {
			l.hold(&p, expected, r.Unit)
			r.Now = expected
		}
		worst = min(worst, expected.Basis)
		r.Points = append(r.Points, p)
	}
	r.Episodes = l.episodes(r.Points, devices.Step, o.Metric, r.Unit)
	span := time.Duration(b.newest-b.first) * time.Hour
	if b.newest == lateHour {
		span = 0
	}
	r.warm(r.Now.Basis, worst, span)
	r.say()
	return r
}

// warm says how much of a past there is to compare with.
func (r *Result) warm(now, worst Basis, known time.Duration) {
	switch {
	case now == Nothing:
		r.WarmUp = fmt.Sprintf("There is no band yet: it takes a day of history, %s are known.", insight.Span(known))
	case worst == Nothing:
		r.WarmUp = "A part of the range is too early for a band."
		r.Confidence = insight.Low
	case worst == HourOfDay:
		r.WarmUp = fmt.Sprintf("Compared with the same hour of the days before: it takes a week to know the hours of a week, %s are known.", insight.Span(known))
		r.Confidence = insight.Low
	case worst == HourOfWeek:
		r.WarmUp = "Compared with one week before: with a second one the band is surer."
		r.Confidence = insight.Medium
	default:
		r.Confidence = insight.High
	}
}

func point(at int64, v float64) Point {
	if math.IsNaN(v) || math.Abs(v) > biggest {
		return Point{Time: at}
	}
	return Point{Time: at, Value: v, Measured: true}
}

// say puts a result into words.
func (r *Result) say() {
	usual := "its own past"
	if r.Against != History {
		usual = "its peers in " + r.Group
	}
	switch {
	case len(r.Episodes) > 0:
		last := r.Episodes[len(r.Episodes)-1]
		r.Text = fmt.Sprintf("Odd against %s: %s", usual, last.Text)
		if last.Ongoing {
			severity := insight.Info
			if r.Confidence >= insight.Medium {
				severity = insight.Warning
			}
			r.Reason = &insight.Reason{
				ID: "anomaly", Severity: severity, Text: r.Text, Evidence: []insight.Evidence{last.Evidence}, Since: last.Start,
				Action: insight.Action{Text: "Look at what changed when it began: the job, its input, the node's events and its neighbours.", Who: gpu.XIDOperator},
			}
		}
	case !slices.ContainsFunc(r.Points, func(p Point) bool { return p.Banded && p.Measured }):
		r.Confidence = insight.NoConfidence
		r.Text = "Nothing to compare."
	default:
		r.Text = "Nothing odd against " + usual + "."
	}
	if r.WarmUp != "" {
		r.Text += " " + r.WarmUp
	}
}
