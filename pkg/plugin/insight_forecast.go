package plugin

import (
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
	"github.com/warpwatch/warpwatch/pkg/insight/forecast"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// forecastOptions are the options of a query of type forecast.
type forecastOptions struct {
	forecast.Options

	HistoryHours float64         `json:"historyHours"` // how much of the past is looked at; what suits when left out, at least the range
	Limits       json.RawMessage `json:"limits"`
	Show         string          `json:"show"`  // "lines", "summary", "" for both
	LookAt       string          `json:"alert"` // what an alert rule or expression reads: "value" (the default), "hours" or "slope"
}

func (d *Datasource) forecastLimits() (forecast.Limits, error) {
	return limitsOver(forecast.DefaultLimits(), d.settings, query.TypeForecast)
}

// mostHistory bounds how much of the past a forecast may ask for.
const mostHistory = 60 * 24 * time.Hour

// history is how much of the past a forecast looks at.
func (o forecastOptions) history() time.Duration {
	if o.HistoryHours > 0 {
		return time.Duration(o.HistoryHours * float64(time.Hour))
	}
	switch o.Of {
	case forecast.Memory:
		return 6 * time.Hour
	case forecast.Temperature:
		return 48 * time.Hour
	default:
		return 14 * 24 * time.Hour
	}
}

// forecast answers what values will be.
func (d *Datasource) forecast(ctx context.Context, r request) (data.Frames, error) {
	limits, err := d.forecastLimits()
	if err != nil {
		return nil, badInput(err)
	}
	var o forecastOptions
	if err := r.query.DecodeOptions(&o); err != nil {
		return nil, badInput(err)
	}
	if limits, err = resolved(limits, o.Limits); err == nil {
		err = o.Validate()
	}
	if err == nil {
		err = oneOfThese("alert", o.LookAt, "value", "hours", "slope")
	}
	if err == nil && !(o.HistoryHours >= 0 && o.HistoryHours <= mostHistory.Hours()) {
		err = fmt.Errorf("historyHours: %g must be between 0 and %g", o.HistoryHours, mostHistory.Hours())
	}
	if err == nil && o.Metric != "" {
		err = d.knownMetric(o.Metric)
	}
	if err != nil {
		return nil, badOptions(err)
	}
	asked := r
	if from := r.window.To.Add(-o.history()); from.Before(r.window.From) {
		asked.window.From = from
	}
	j, err := d.judged(ctx, asked, wanted{fields: forecast.Fields(o.Options), workloads: forecast.WorkloadFields(o.Options)})
	if err != nil {
		return nil, err
	}
	answer := forecast.Judge(j.gathered.devices, j.gathered.workloads, o.Options, limits)
	missing := tallied{}
	missing.add(answer.Missing)
	var notices []gpu.Notice
	if len(answer.Forecasts) == 0 && len(j.gathered.devices.Subjects) > 0 && len(answer.Missing) == 0 {
		notices = append(notices, gpu.Notice{Severity: gpu.Info, Text: "Nothing in the selection has values to look ahead from."})
	}
	said := j.options(ctx, missing, notices...)
	told := func() frames.Options {
		now := said
		said.Notices, said.Executed = nil, ""
		return now
	}
	if r.static {
		return data.Frames{j.forecastNumbers(answer.Forecasts, o.LookAt, told())}, nil
	}
	rows, cut := cutRows(answer.Forecasts, r.query.Rows(), "forecasts")
	lines := answer.Forecasts[:min(len(answer.Forecasts), max(1, d.limit(r.query)/linesOfForecast))]
	if len(lines) < len(answer.Forecasts) && o.Show != "summary" {
		cut = append(cut, gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf("The lines are of %d of %d; the summary has all.", len(lines), len(answer.Forecasts))})
	}
	said.Notices = append(said.Notices, d.shown(cut)...)
	return shownOf(o.Show, map[string]func() *data.Frame{
		"lines":   func() *data.Frame { return j.forecastLines(lines, told()) },
		"summary": func() *data.Frame { return j.forecastTable(rows, told()) },
	}, "lines", "summary")
}

// linesOfForecast is how many lines a forecast is shown by: what is expected, and its interval.
const linesOfForecast = 3

// knownMetric checks the metric of an option.
func (d *Datasource) knownMetric(name string) error {
	_, err := query.Query{Type: query.TypeMetric, Metric: name, AggregateBy: query.ByIdentity}.MetricIn(d.catalog)
	return err //nolint:wrapcheck // it names the field
}

// forecastDevice is the device of a forecast; a pool or a workload has none.
func (j *judgement) forecastDevice(f forecast.Forecast) insight.Subject {
	if f.Subject < 0 {
		return insight.Subject{Device: gpu.Device{Index: -1}}
	}
	return j.gathered.devices.Subjects[f.Subject]
}

// forecastLines are the lines of every forecast: what is expected, with its interval. Those of the past are what the method
// says of it.
func (j *judgement) forecastLines(all []forecast.Forecast, o frames.Options) *data.Frame {
	var series []gpu.Series
	for _, f := range all {
		for _, line := range []struct {
			name string
			of   func(forecast.Point) float64
		}{
			{"forecast", func(p forecast.Point) float64 { return p.Value }}, {"lower", func(p forecast.Point) float64 { return p.Lower }},
			{"upper", func(p forecast.Point) float64 { return p.Upper }},
		} {
			s := gpu.Series{Labels: map[string]string{"name": f.Name, "metric": f.Field.Metric, "line": line.name}}
			for _, p := range f.Points {
				s.Times, s.Values = append(s.Times, p.Time), append(s.Values, line.of(p))
			}
			series = append(series, s)
		}
		o.Step, o.Unit = max(o.Step, f.Step), f.Unit
	}
	o.Metric, o.Naming = "forecast", frames.Naming{Legend: "{{name}} {{line}}"}
	return frames.Wide(series, o)
}

// forecastTable is a row for each forecast.
func (j *judgement) forecastTable(rows []forecast.Forecast, o frames.Options) *data.Frame {
	t := frames.SheetOf(rows)
	t.Text("name", func(f forecast.Forecast) string { return f.Name })
	t.Device(func(f forecast.Forecast) gpu.Device {
		return j.forecastDevice(f).Device
	})
	t.Owners(func(f forecast.Forecast) []gpu.Owner {
		return j.forecastDevice(f).Owners
	})
	t.Text("metric", func(f forecast.Forecast) string { return f.Field.Metric })
	t.Text("unit", func(f forecast.Forecast) string { return string(f.Unit) })
	t.Text("text", func(f forecast.Forecast) string { return f.Text })
	reasonColumns(t, func(f forecast.Forecast) insight.Reason {
		if f.Reason == nil {
			return insight.Reason{}
		}
		return *f.Reason
	})
	confidenceColumn(t, func(f forecast.Forecast) insight.Confidence { return f.Confidence })
	t.Text("outlook", func(f forecast.Forecast) string { return string(f.Crossing.Outlook) }).
		Coloured(map[string]string{"no": "green", "possible": "yellow", "likely": "orange", "reached": "red"})
	t.Number("limit", unitOfAll(rows), "", func(f forecast.Forecast) gpu.Reading {
		if f.Crossing.Outlook == forecast.NoLimit {
			return gpu.Absent(gpu.NoData)
		}
		return gpu.Read(f.Crossing.Limit)
	})
	t.At("earliest", func(f forecast.Forecast) time.Time { return timeOf(f.Crossing.Earliest) })
	t.At("likely", func(f forecast.Forecast) time.Time { return timeOf(f.Crossing.Likely) })
	t.At("latest", func(f forecast.Forecast) time.Time { return timeOf(f.Crossing.Latest) })
	t.Number("at_horizon", unitOfAll(rows), "What is expected at the end of what was looked ahead.", func(f forecast.Forecast) gpu.Reading { return known(atHorizon(f)) })
	t.Text("trend", func(f forecast.Forecast) string {
		if f.Trend.Significant {
			return "yes"
		}
		return "no"
	})
	t.Number("per_day", unitOfAll(rows), "Slope, whether or not the forecast follows it.", func(f forecast.Forecast) gpu.Reading { return known(f.Trend.PerDay) })
	t.Text("method", func(f forecast.Forecast) string { return string(f.Method) })
	t.Number("error", unitOfAll(rows), "Mean error of the method on the past.", func(f forecast.Forecast) gpu.Reading { return known(f.Backtest.Error) })
	t.Number("skill", gpu.Ratio, "How much smaller that is than the error of the better naive method.", func(f forecast.Forecast) gpu.Reading { return known(f.Backtest.Skill()) })
	return t.Table("forecast_summary", o)
}

// unitOfAll is the unit of all rows, "" where they differ.
func unitOfAll(rows []forecast.Forecast) gpu.Unit {
	for _, f := range rows {
		if f.Unit != rows[0].Unit {
			return ""
		}
	}
	if len(rows) == 0 {
		return ""
	}
	return rows[0].Unit
}

// atHorizon is the last value of a forecast, NaN when there is none.
func atHorizon(f forecast.Forecast) float64 {
	if n := len(f.Points); n > 0 && f.Points[n-1].Future {
		return f.Points[n-1].Value
	}
	return math.NaN()
}

// forecastNumbers is what an alert rule reads: the value at the horizon, the slope of a day, or the hours until the limit is
// likely to be reached, which has no row where that is not expected.
func (j *judgement) forecastNumbers(all []forecast.Forecast, what string, o frames.Options) *data.Frame {
	end := j.gathered.devices.Times
	value := atHorizon
	name, unit := "value", unitOfAll(all)
	switch what {
	case "slope":
		name, value = "slope", func(f forecast.Forecast) float64 { return f.Trend.PerDay }
	case "hours":
		name, unit = "hours", gpu.Count
		value = func(f forecast.Forecast) float64 {
			if f.Crossing.Likely == 0 || len(end) == 0 {
				return math.NaN()
			}
			return max(0, (time.Duration(f.Crossing.Likely-end[len(end)-1]) * time.Millisecond).Hours())
		}
	}
	var rows []forecast.Forecast
	for _, f := range all {
		if !math.IsNaN(value(f)) {
			rows = append(rows, f)
		}
	}
	if len(rows) == 0 && len(all) > 0 {
		o.Notices = append(slices.Clip(o.Notices), gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf(
			"There is no %s to read of any of %d forecasts. %s: %s", name, len(all), all[0].Name, all[0].Text)})
	}
	t := frames.SheetOf(rows)
	t.Text("name", func(f forecast.Forecast) string { return f.Name })
	t.Device(func(f forecast.Forecast) gpu.Device {
		return j.forecastDevice(f).Device
	})
	t.Text("metric", func(f forecast.Forecast) string { return f.Field.Metric })
	t.Number(name, unit, "", func(f forecast.Forecast) gpu.Reading { return known(value(f)) })
	return t.Numbers("forecast", o)
}
