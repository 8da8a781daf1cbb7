package frames

import (
	"github.com/grafana/grafana-plugin-sdk-go/data"
)

// NodeGraph is what Grafana prefers to show as a node graph.
const NodeGraph data.VisType = "nodeGraph"

// Graph is one of the two frames of a node graph: "nodes", whose columns begin with id, or "edges", with id, source and target.
func (t *Sheet[R]) Graph(name string, o Options) *data.Frame {
	frame := t.Table(name, o)
	frame.Meta.PreferredVisualization = NodeGraph
	return frame
}

// Flag adds a column of yes and no.
func (t *Sheet[R]) Flag(name string, of func(R) bool) *Column {
	flags := make([]bool, len(t.columns.rows))
	for i, row := range t.columns.rows {
		flags[i] = of(row)
	}
	return &Column{t.columns.add(data.NewField(name, nil, flags))}
}

// Named gives the column a name for people.
func (c *Column) Named(display string) *Column {
	c.config().DisplayNameFromDS = display
	return c
}

// Fixed gives all of the column one colour, as the parts of a circle have in a node graph.
func (c *Column) Fixed(colour string) *Column {
	c.config().Color = map[string]any{"mode": "fixed", "fixedColor": colour}
	return c
}
