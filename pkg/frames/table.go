package frames

import (
	"fmt"
	"math"
	"slices"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Latest is one row for every series: its dimensions as text columns and its newest value. For devices the columns
// are always the same seven, so that a panel's column settings fit every selection. Without series it has no fields.
func Latest(series []gpu.Series, o Options) *data.Frame {
	series, o = limitRows(series, len(series), latestRows(len(orderedLabels(series))), o)
	frame := o.empty(data.FrameTypeNumericLong)
	if len(series) == 0 {
		return frame
	}
	newest := make([]float64, len(series))
	for i, s := range series {
		newest[i] = math.NaN()
		if n := len(s.Values); n > 0 {
			newest[i] = s.Values[n-1]
		}
	}
	frame.Fields = append(dimensions(series, nil), o.valueColumn(pointers(newest)))
	return frame
}

// latestRows is how many rows there may be of a table of newest values with so many labels.
func latestRows(labels int) int { return min(MaxLatest, MaxCells/(labels+1)) }

// Long is one row for every sample of every series, in the order of time within each: time, dimensions, value.
func Long(series []gpu.Series, o Options) *data.Frame {
	rows := 0
	for _, s := range series {
		rows += len(s.Times)
	}
	series, o = limitRows(series, rows, MaxRows, o)
	frame := o.empty(data.FrameTypeTimeSeriesLong)
	if len(series) == 0 {
		return frame
	}
	var times []int64
	var values []*float64
	var owner []int
	for i, s := range series {
		times = append(times, s.Times...)
		values = append(values, column(nil, s, s.Times)...)
		for range s.Times {
			owner = append(owner, i)
		}
	}
	frame.Fields = append(data.Fields{o.timeField(times)}, dimensions(series, owner)...)
	frame.Fields = append(frame.Fields, o.valueColumn(values))
	return frame
}

func (o Options) valueColumn(values []*float64) *data.Field {
	name := o.Metric
	if name == "" {
		name = data.TimeSeriesValueFieldName
	}
	field := data.NewField(name, nil, values)
	field.Config = o.valueConfig(gpu.Series{}, "")
	return field
}

// dimensions are text columns for all labels that occur; row i belongs to series[owner[i]], or
// without owners to series[i]. A dimension that does not
// apply is the empty text, never null.
func dimensions(series []gpu.Series, owner []int) data.Fields {
	names := orderedLabels(series)
	devices := slices.ContainsFunc(series, isDevice)
	if devices {
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(deviceLabels(), name) })
		names = slices.Concat(deviceLabels(), names)
	}
	return textFields(names, len(series), owner, func(name string, texts []string) bool {
		of := deviceText(name)
		said := devices && of != nil
		for i, s := range series {
			texts[i] = s.Labels[name]
			if texts[i] == "" && of != nil && isDevice(s) {
				texts[i] = of(s.Device)
			}
			said = said || texts[i] != ""
		}
		return said
	})
}

// textFields are the columns of labels, but for the metric's name and those of which fill reports that they are not needed.
func textFields(names []string, rows int, owner []int, fill func(name string, texts []string) bool) data.Fields {
	texts := make([]string, rows) // a field copies them
	var fields data.Fields
	for _, name := range names {
		if name != metricName && fill(name, texts) {
			fields = append(fields, data.NewField(name, nil, perRow(texts, owner)))
		}
	}
	return fields
}

// perRow repeats each series' text for its rows.
func perRow(texts []string, owner []int) []string {
	if owner == nil {
		return texts
	}
	cells := make([]string, len(owner))
	for row, i := range owner {
		cells[row] = texts[i]
	}
	return cells
}

// limitRows keeps the first series whose rows fit into a table.
func limitRows(series []gpu.Series, rows, most int, o Options) ([]gpu.Series, Options) {
	keep, o := keepRows(len(series), rows, most, o)
	return series[:keep], o
}

// keepRows is how many of the series fit into a table.
func keepRows(series, rows, most int, o Options) (int, Options) {
	if rows <= most || o.Complete {
		return series, o
	}
	perSeries := (rows + series - 1) / series
	keep := max(1, most/perSeries)
	o.Notices = append(o.Notices[:len(o.Notices):len(o.Notices)], gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
		"Showing %d of %d series (%d rows at most): narrow the query by cluster, node, GPU or model.", keep, series, most)})
	return keep, o
}
