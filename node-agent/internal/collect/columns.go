package collect

import (
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// columns is a run of a schema's columns.
type columns struct{ from, to int }

// columnsOf finds the columns of each device and group.
func columnsOf(s *snapshot.Schema) [][device.NumGroups][]columns {
	all := make([][device.NumGroups][]columns, len(s.Devices))
	for i, c := range s.Columns {
		of := &all[c.Device][c.Metric.Group()]
		if n := len(*of); n > 0 && (*of)[n-1].to == i {
			(*of)[n-1].to++
			continue
		}
		*of = append(*of, columns{i, i + 1})
	}
	return all
}

// flatten brings the readings of a board up to date: only those that changed, as most are carried on most of the time.
func (c *Collector) flatten(e *entry) {
	for i := range e.devices {
		for g, runs := range c.columns[e.offset+i] {
			if !e.changed.Has(device.Group(g)) {
				continue
			}
			for _, r := range runs {
				c.schema.FlattenColumns(c.values, r.from, r.to, c.readings)
			}
		}
	}
	e.changed = 0
}

// layout makes a new schema for the devices and groups there are, and room for their values.
func (c *Collector) layout() {
	c.schema = snapshot.NewSchema(c.node, c.driver, c.devices(), c.schedule.Groups, c.o.Rows)
	c.schema.SetIntervals(c.schedule.Every)
	c.schemas = map[time.Duration]*snapshot.Schema{c.node.Period: c.schema}
	c.columns, c.readings = columnsOf(c.schema), make([]gpu.Reading, len(c.schema.Columns))
	values := make([]device.Values, 0, len(c.schema.Devices))
	for i, e := range c.entries {
		e.position, e.offset, e.changed = i, len(values), device.AllGroups
		values = append(values, e.values...)
		e.values = values[e.offset:len(values):len(values)]
	}
	c.values, c.dirty = values, true
}

// repace makes the schema fit the period. One that was there before is taken again: paces come and go.
func (c *Collector) repace() {
	s, known := c.schemas[c.node.Period]
	if !known {
		s = c.schema.At(c.node)
		c.schemas[c.node.Period] = s
	}
	c.schema = s
}
