package plugin

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestPromQLShowsHistogramsAndExemplars(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		f.past.notices = []gpu.Notice{{Severity: gpu.Warning, Text: "w"}}
		f.past.histograms = []gpu.Histogram{{Labels: map[string]string{"job": "a"}, Cells: []gpu.Cell{{Time: 1000, Low: 1, High: 2, Count: 3}}}}
		f.past.exemplars = []gpu.Exemplar{{Time: 1000, Value: 1, Labels: map[string]string{"trace_id": "x"}}}
		names := func(q string) (names []string) {
			for _, frame := range f.frames(t, time.Hour, q) {
				name := string(frame.Meta.Type)
				if frame.Meta.DataTopic != "" {
					name = string(frame.Meta.DataTopic)
				}
				for range frame.Meta.Notices {
					name += "!"
				}
				names = append(names, name)
			}
			return names
		}
		const expr = `{"queryType":"promql","expr":"up"`
		require.Equal(t, []string{"heatmap-cells!", "annotations"}, names(expr+`}`))
		require.Equal(t, []string{"heatmap-cells!", "annotations"}, names(expr+`,"instant":true}`))
		require.Equal(t, []string{"timeseries-long!!", "annotations"}, names(expr+`,"format":"table"}`))
		f.past.series = []gpu.Series{{Labels: map[string]string{"a": "b"}, Times: []int64{1000}, Values: []float64{1}}}
		require.Equal(t, []string{"timeseries-multi", "heatmap-cells!", "annotations"}, names(expr+`}`))
		f.past.histograms = nil
		require.Equal(t, []string{"timeseries-multi!", "annotations"}, names(expr+`}`))
	})
}
