package frames

import (
	"github.com/grafana/grafana-plugin-sdk-go/data"
)

// Table is a frame of facts that are no samples: a row for each, in the columns given.
func Table(name string, columns data.Fields, o Options) *data.Frame {
	frame := data.NewFrame(name, columns...)
	frame.Meta = o.meta(data.FrameTypeTable)
	frame.Meta.PreferredVisualization = data.VisTypeTable
	return frame
}
