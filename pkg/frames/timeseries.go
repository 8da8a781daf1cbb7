package frames

import (
	"slices"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Wide is one frame with a shared time and a nullable column for every series, in the order given. Where a series has
// no sample at a time that another one has, its cell is null. Without series the frame has no fields; with series
// that hold no sample it has its fields and no rows.
func Wide(series []gpu.Series, o Options) *data.Frame {
	frame := o.empty(data.FrameTypeTimeSeriesWide)
	if len(series) == 0 {
		return frame
	}
	times := union(series)
	frame.Fields = append(make(data.Fields, 0, len(series)+1), o.timeField(times))
	names := o.Naming.fieldNames(series)
	var room []*float64
	for i, s := range series {
		room = column(room, s, times)
		field := data.NewField(names[i], Labels(s), room)
		field.Config = o.valueConfig(s, o.Naming.display(s))
		frame.Fields = append(frame.Fields, field)
	}
	return frame
}

// Multi is one frame for every series, each with its own times. Without series it is one frame without fields.
// Notices and the executed query are on the first frame.
func Multi(series []gpu.Series, o Options) data.Frames {
	if len(series) == 0 {
		return data.Frames{o.empty(data.FrameTypeTimeSeriesMulti)}
	}
	out := make(data.Frames, 0, len(series))
	var room []*float64
	for i, s := range series {
		if i == 1 {
			o.Notices, o.Executed, o.Custom = nil, "", nil
		}
		frame := o.empty(data.FrameTypeTimeSeriesMulti)
		name := s.Labels[metricName]
		if name == "" {
			name = data.TimeSeriesValueFieldName
		}
		room = column(room, s, s.Times)
		field := data.NewField(name, Labels(s), room)
		display := o.Naming.display(s)
		if display == "" {
			display = o.Metric
		}
		field.Config = o.valueConfig(s, display)
		frame.Fields = data.Fields{o.timeField(s.Times), field}
		out = append(out, frame)
	}
	return out
}

// union merges the times of all series. Series that add none, as on one grid, cost one comparison and no memory.
func union(series []gpu.Series) []int64 {
	times := series[0].Times
	for _, s := range series[1:] {
		if !contains(times, s.Times) {
			times = merge(times, s.Times)
		}
	}
	return times
}

// contains reports whether all of the rising list b is in the rising list a.
func contains(a, b []int64) bool {
	if len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] {
		return true
	}
	for _, t := range b {
		for len(a) > 0 && a[0] < t {
			a = a[1:]
		}
		if len(a) == 0 || a[0] != t {
			return false
		}
		a = a[1:]
	}
	return true
}

// merge of two rising lists, each time once.
func merge(a, b []int64) []int64 {
	out := make([]int64, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case a[0] > b[0]:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// column lays the values of s on times, which hold all of s.Times. Cells point at the series' own values, which nobody
// writes to any more; a field copies the cells, so that one room serves for all columns of a frame.
func column(room []*float64, s gpu.Series, times []int64) []*float64 {
	cells := slices.Grow(room[:0], len(times))[:len(times)]
	at := 0
	for i, t := range times {
		cells[i] = nil
		if at < len(s.Values) && s.Times[at] == t {
			if finite(s.Values[at]) {
				cells[i] = &s.Values[at]
			}
			at++
		}
	}
	return cells
}
