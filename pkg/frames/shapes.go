package frames

import (
	"strconv"
	"strings"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// heatmapRows is the type of a frame that has a column for each bin of values, as Grafana's heatmap panel reads it.
const heatmapRows data.FrameType = "heatmap-rows"

// Band is one quantile over many series, at each of the times they share.
type Band struct {
	Name   string // "min", "p5" and so on
	Values []float64
}

// Bands is one frame with a column for each band and the count of series behind them. It draws itself as bands: the
// space between p95 and p5, and between p75 and p25, is filled. Without times it has no fields.
func Bands(times []int64, bands []Band, count []float64, o Options) *data.Frame {
	frame := o.empty(data.FrameTypeTimeSeriesWide)
	if len(times) == 0 {
		return frame
	}
	frame.Fields = append(data.Fields{o.timeField(times)}, o.bandFields(bands, count)...)
	return frame
}

// BandsNow is Bands of one time, without it.
func BandsNow(bands []Band, count []float64, o Options) *data.Frame {
	frame := o.empty(data.FrameTypeNumericWide)
	if len(count) > 0 {
		frame.Fields = o.bandFields(bands, count)
	}
	return frame
}

func (o Options) bandFields(bands []Band, count []float64) data.Fields {
	// Two queries of a panel are told apart by their legends, and the bands of one do not fill down to the other's.
	prefix := strings.Join(strings.Fields(legendVariable.ReplaceAllString(o.Naming.Legend, "")), " ")
	if prefix == "__auto" {
		prefix = ""
	}
	name := func(band string) string { return strings.TrimSpace(prefix + " " + band) }
	var fields data.Fields
	for _, b := range bands {
		field := data.NewField(name(b.Name), nil, pointers(b.Values))
		field.Config = o.valueConfig(gpu.Series{}, name(b.Name))
		field.Config.Custom = bandStyle(b.Name, name)
		fields = append(fields, field)
	}
	field := data.NewField(name("count"), nil, pointers(count))
	field.Config = &data.FieldConfig{
		DisplayNameFromDS: name("count"), Description: "How many lines the bands are over.", Unit: grafanaUnit(gpu.Count, false),
		Custom: map[string]any{
			"hideFrom":      map[string]bool{"viz": true, "legend": true, "tooltip": false},
			"axisPlacement": "hidden", // an axis would be drawn for what is hidden, too
		},
	}
	return append(fields, field)
}

// bandStyle is how a time series panel draws a band; other panels ignore it.
func bandStyle(band string, name func(string) string) map[string]any {
	switch band {
	case "p95":
		return map[string]any{"fillBelowTo": name("p5"), "fillOpacity": 15, "lineWidth": 0}
	case "p75":
		return map[string]any{"fillBelowTo": name("p25"), "fillOpacity": 30, "lineWidth": 0}
	case "p5", "p25":
		return map[string]any{"lineWidth": 0}
	case "p50":
		return map[string]any{"lineWidth": 2}
	}
	return map[string]any{"lineWidth": 1, "lineStyle": map[string]any{"fill": "dash", "dash": []int{4, 4}}}
}

// Bin is one bin of values of a heatmap, and how many series were in it at each time.
type Bin struct {
	Upper float64 // its upper edge, which is in the bin
	Count []float64
}

// Heatmap is one frame with a column for each bin, from the lowest to the highest; counts are of the bin alone. Without
// times it has no fields.
func Heatmap(times []int64, bins []Bin, o Options) *data.Frame {
	frame := o.empty(heatmapRows)
	if len(times) == 0 {
		return frame
	}
	frame.Fields = append(make(data.Fields, 0, len(bins)+1), o.timeField(times))
	for _, b := range bins {
		name := strconv.FormatFloat(b.Upper, 'f', -1, 64)
		field := data.NewField(name, data.Labels{"le": name}, pointers(b.Count))
		field.Config = &data.FieldConfig{DisplayNameFromDS: name, Description: o.Description, Unit: grafanaUnit(gpu.Count, false)}
		frame.Fields = append(frame.Fields, field)
	}
	return frame
}

// pointers is a column of values, null where they are not finite.
func pointers(values []float64) []*float64 {
	cells := make([]*float64, len(values))
	for i := range values {
		if finite(values[i]) {
			cells[i] = &values[i]
		}
	}
	return cells
}
