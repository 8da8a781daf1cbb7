package frames

import (
	"maps"
	"math"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// exemplarName is the name by which panels know exemplars among annotations.
const exemplarName = "exemplar"

// Exemplars is one row for every exemplar: its time, its value, its own labels and those of its series. Panels draw them
// over the series of the answer.
func Exemplars(exemplars []gpu.Exemplar, o Options) *data.Frame {
	o.Notices, o.Custom = nil, map[string]string{"resultType": exemplarName}
	times, values := make([]time.Time, len(exemplars)), make([]float64, len(exemplars))
	labels, present := make([]map[string]string, len(exemplars)), map[string]string{}
	for i, x := range exemplars {
		times[i], values[i] = time.UnixMilli(x.Time).UTC(), x.Value
		labels[i] = maps.Clone(x.Series)
		if labels[i] == nil {
			labels[i] = map[string]string{}
		}
		maps.Copy(labels[i], x.Labels)
		for name := range labels[i] {
			present[name] = ""
		}
	}
	frame := data.NewFrame(exemplarName, data.NewField(data.TimeSeriesTimeFieldName, nil, times), data.NewField(data.TimeSeriesValueFieldName, nil, values))
	for _, name := range sortedLabels(present) {
		cells := make([]string, len(labels))
		for i := range labels {
			cells[i] = labels[i][name]
		}
		frame.Fields = append(frame.Fields, data.NewField(name, nil, cells))
	}
	frame.Meta = o.meta("")
	frame.Meta.DataTopic = data.DataTopicAnnotations
	frame.Meta.TypeVersion = data.FrameTypeVersion{}
	return frame
}

// heatmapCells is Grafana's type for cells that each say where they are.
const heatmapCells data.FrameType = "heatmap-cells"

// Heatmaps is a frame for every series of native histograms: the time at which each cell ends, its lowest and highest
// value, and the count between them. An open bucket ends at twice its bound.
func Heatmaps(histograms []gpu.Histogram, o Options) data.Frames {
	var frames data.Frames
	for _, h := range histograms {
		n := len(h.Cells)
		ends, counts := make([]time.Time, n), make([]float64, n)
		lows, highs := make([]float64, n), make([]float64, n)
		for i, c := range h.Cells {
			ends[i], counts[i] = time.UnixMilli(c.Time).UTC(), c.Count
			lows[i], highs[i] = closed(c.Low, c.High)
		}
		frame := o.empty(heatmapCells)
		frame.Name = o.Naming.display(gpu.Series{Labels: h.Labels})
		end := data.NewField("xMax", nil, ends)
		end.Config = &data.FieldConfig{Interval: float64(o.Step.Milliseconds())}
		frame.Fields = data.Fields{
			end, data.NewField("yMin", data.Labels(h.Labels), lows), data.NewField("yMax", nil, highs), data.NewField("count", nil, counts),
		}
		frames = append(frames, frame)
		o.Notices = nil // on the first of them only
	}
	return frames
}

// closed are the bounds of a bucket, made finite.
func closed(low, high float64) (float64, float64) {
	if math.IsInf(high, 1) {
		high = low + max(math.Abs(low), 1)
	}
	if math.IsInf(low, -1) {
		low = high - max(math.Abs(high), 1)
	}
	if !finite(low) || !finite(high) {
		return -1, 1 // a bucket of everything
	}
	return low, high
}
