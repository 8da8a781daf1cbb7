// Package frames turns series into Grafana's data frames, after the data plane contract: every frame carries its type
// and version, an empty answer is a typed frame, times are never null, and a value that is not a finite number is null.
// It does no I/O and keeps no state.
package frames

import (
	"math"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Options say what the values of an answer are and how they are shown.
type Options struct {
	Metric      string   // names the frame and a table's value column
	Description string   // one sentence for the value's tooltip
	Unit        gpu.Unit // "" when not known
	Rate        bool     // the values are per second of a counter; Unit is that of the rate
	Naming      Naming
	Step        time.Duration // widest regular distance between two samples; 0 when there is none
	Executed    string        // what was asked of the servers, for the query inspector
	Notices     []gpu.Notice
	Custom      any  // goes to meta.custom as it is
	Complete    bool // no row is left out of a table, however many there are: it is computed with, not looked at
}

// version of the data plane contract that all frames here follow.
func version() data.FrameTypeVersion { return data.FrameTypeVersion{0, 1} }

// empty is a typed frame without fields: an answer that holds nothing.
func (o Options) empty(kind data.FrameType) *data.Frame {
	return &data.Frame{Name: o.Metric, Meta: o.meta(kind)}
}

func (o Options) meta(kind data.FrameType) *data.FrameMeta {
	m := &data.FrameMeta{Type: kind, TypeVersion: version(), Custom: o.Custom, ExecutedQueryString: o.Executed}
	m.PreferredVisualization = data.VisTypeGraph
	if kind == data.FrameTypeNumericLong || kind == data.FrameTypeTimeSeriesLong {
		m.PreferredVisualization = data.VisTypeTable
	}
	for _, n := range o.Notices {
		m.Notices = append(m.Notices, notice(n))
	}
	return m
}

func notice(n gpu.Notice) data.Notice {
	severity := data.NoticeSeverityInfo
	switch n.Severity {
	case gpu.Warning:
		severity = data.NoticeSeverityWarning
	case gpu.Error:
		severity = data.NoticeSeverityError
	}
	return data.Notice{Severity: severity, Text: n.Text}
}

// timeField is never nullable. Its interval lets panels break a line where samples are missing.
func (o Options) timeField(times []int64) *data.Field {
	at := make([]time.Time, len(times))
	for i, ms := range times {
		at[i] = time.UnixMilli(ms).UTC()
	}
	field := data.NewField(data.TimeSeriesTimeFieldName, nil, at)
	field.Config = &data.FieldConfig{Interval: float64(o.Step.Milliseconds())}
	return field
}

func (o Options) valueConfig(s gpu.Series, display string) *data.FieldConfig {
	description := o.Description
	if s.Device.IsMIG() && o.Unit == gpu.Ratio && !o.Rate && description != "" {
		description += " Relative to the MIG instance."
	}
	return &data.FieldConfig{DisplayNameFromDS: display, Description: description, Unit: grafanaUnit(o.Unit, o.Rate)}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
