package frames

import (
	"math"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestExemplars(t *testing.T) {
	frame := Exemplars([]gpu.Exemplar{
		{Series: map[string]string{"le": "1"}, Labels: map[string]string{"trace_id": "a"}, Time: 1000, Value: 0.5},
		{Labels: map[string]string{"span_id": "s"}, Time: 2000, Value: math.Inf(1)},
	}, Options{Notices: []gpu.Notice{{Text: "x"}}})
	require.Equal(t, "exemplar", frame.Name)
	require.Equal(t, data.DataTopicAnnotations, frame.Meta.DataTopic)
	require.Equal(t, map[string]string{"resultType": "exemplar"}, frame.Meta.Custom)
	require.Empty(t, frame.Meta.Notices)
	var names []string
	for _, f := range frame.Fields {
		names = append(names, f.Name)
		require.Equal(t, 2, f.Len())
	}
	require.Equal(t, []string{"Time", "Value", "le", "span_id", "trace_id"}, names)
	require.Equal(t, "", frame.Fields[4].At(1))
	_, err := frame.MarshalArrow()
	require.NoError(t, err)
}

func TestHeatmaps(t *testing.T) {
	o := Options{Step: time.Minute, Notices: []gpu.Notice{{Text: "x"}}}
	got := Heatmaps([]gpu.Histogram{
		{Labels: map[string]string{"job": "a"}, Cells: []gpu.Cell{
			{Time: 1000, Low: -0.5, High: 0.5, Count: 2}, {Time: 1000, Low: 8, High: math.Inf(1), Count: 3},
			{Time: 1000, Low: math.Inf(-1), High: 0.25, Count: 4}, {Time: 1000, Low: math.Inf(-1), High: math.Inf(1), Count: 5},
		}},
		{},
	}, o)
	require.Len(t, got, 2)
	require.Len(t, got[0].Meta.Notices, 1)
	require.Empty(t, got[1].Meta.Notices)
	require.Equal(t, data.FrameType("heatmap-cells"), got[0].Meta.Type)
	require.InDelta(t, 60_000, got[0].Fields[0].Config.Interval, 0)
	for row, want := range [][]float64{{-0.5, 0.5, 2}, {8, 16, 3}, {-0.75, 0.25, 4}, {-1, 1, 5}} {
		for i, v := range want {
			require.InDelta(t, v, got[0].Fields[i+1].At(row), 0)
		}
	}
	require.Equal(t, data.Labels{"job": "a"}, got[0].Fields[1].Labels)
}
