// Package snapshot holds what the agent knows: the newest sample, and a bounded ring of those before it. One goroutine
// writes; any number read, and what they read never changes.
package snapshot

import (
	"fmt"
	"math"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// Node is what the agent says about itself. Only its periods change while the agent runs.
type Node struct {
	Cluster string // "" when not set
	Name    string
	Version string // of the agent
	Source  string // "nvml" or "simulate"
	Epoch   string // tells one run of the agent from another; sequence numbers belong to it
	Period  time.Duration
	// MinPeriod is the shortest period that readers can bring about by wishing for it; 0 when they cannot.
	MinPeriod time.Duration
}

// Column is one metric of one device.
type Column struct {
	Device int // index into Schema.Devices
	Metric device.Metric
	Row    catalog.Metric
}

// Schema says what the readings of a frame are. It is immutable; when the devices change there is a new one.
type Schema struct {
	Node    Node
	Driver  string
	Devices []gpu.Device // with cluster and node
	Columns []Column
	Wire    *wire.Schema // the same for the stream, without the clock
}

// Rows are the catalogue's rows for the metrics that are measured per device.
type Rows [device.NumMetrics]catalog.Metric

// LoadRows finds each metric in the catalogue. An error means that the build itself is broken.
func LoadRows(c *catalog.Catalog) (*Rows, error) {
	var rows Rows
	for m := range device.NumMetrics {
		row, ok := c.Metric(m.String())
		if !ok {
			return nil, fmt.Errorf("metric %s is not in the catalogue", m)
		}
		rows[m] = row
	}
	return &rows, nil
}

// NewSchema lays out the columns for devices: the metrics of groups, and of a MIG instance those that it has.
func NewSchema(node Node, driver string, devices []gpu.Device, groups device.Groups, rows *Rows) *Schema {
	s := &Schema{
		Node: node, Driver: driver,
		Wire: &wire.Schema{
			SchemaVersion: wire.SchemaVersion, AgentVersion: node.Version, Epoch: node.Epoch, Cluster: node.Cluster,
			Node: node.Name, PeriodMs: uint32(node.Period.Milliseconds()), DriverVersion: driver, Source: node.Source,
			MinPeriodMs: uint32(node.MinPeriod.Milliseconds()),
		},
	}
	for i, d := range devices {
		d.Cluster, d.Node, d.Driver = node.Cluster, node.Name, driver
		s.Devices = append(s.Devices, d)
		s.Wire.Devices = append(s.Wire.Devices, wire.FromDevice(d))
		for m := range device.NumMetrics {
			if !groups.Has(m.Group()) || d.IsMIG() && !m.PerInstance() {
				continue
			}
			label, value := m.Label()
			s.Columns = append(s.Columns, Column{Device: i, Metric: m, Row: rows[m]})
			s.Wire.Columns = append(s.Wire.Columns, &wire.Column{
				Device: uint32(i), Metric: m.String(), Multiplier: rows[m].Multiplier, Divisor: rows[m].Divisor,
				Label: label, LabelValue: value,
			})
		}
	}
	return s
}

// Flatten lays the values of the devices out in the order of the columns, rounded to what a column resolves. /metrics, the
// stream and the simulated past then agree to the last bit: to Prometheus a counter that reads a billionth less was reset.
func (s *Schema) Flatten(values []device.Values) []gpu.Reading {
	readings := make([]gpu.Reading, len(s.Columns))
	s.FlattenColumns(values, 0, len(s.Columns), readings)
	return readings
}

// SetIntervals tells the stream which groups are measured less often than once a period. It belongs to making the schema.
func (s *Schema) SetIntervals(every [device.NumGroups]time.Duration) {
	for i, c := range s.Columns {
		if d := every[c.Metric.Group()]; d > s.Node.Period {
			s.Wire.Columns[i].IntervalMs = uint32(d.Milliseconds())
		}
	}
}

// At is the schema of the same devices and columns when samples are taken as often as another node says.
func (s *Schema) At(node Node) *Schema {
	other := *s
	other.Node = node
	other.Wire = &wire.Schema{
		SchemaVersion: s.Wire.SchemaVersion, AgentVersion: s.Wire.AgentVersion, Epoch: s.Wire.Epoch, Cluster: s.Wire.Cluster,
		Node: s.Wire.Node, PeriodMs: uint32(node.Period.Milliseconds()), MinPeriodMs: uint32(node.MinPeriod.Milliseconds()),
		Devices: s.Wire.Devices, Columns: s.Wire.Columns, DriverVersion: s.Wire.DriverVersion, Source: s.Wire.Source,
	}
	return &other
}

// shares reports whether two schemas have their columns in common.
func (s *Schema) shares(other *Schema) bool {
	return len(s.Columns) == len(other.Columns) && (len(s.Columns) == 0 || &s.Columns[0] == &other.Columns[0])
}

// weight is about how many bytes a schema takes.
func (s *Schema) weight() int {
	const ofColumn, ofDevice = 400, 800
	return len(s.Columns)*ofColumn + len(s.Devices)*ofDevice
}

// FlattenColumns does the same for the columns from one number up to another, which it leaves out. into has all columns.
func (s *Schema) FlattenColumns(values []device.Values, from, to int, into []gpu.Reading) {
	for i := from; i < to; i++ {
		c := &s.Columns[i]
		into[i] = c.rounded(values[c.Device][c.Metric])
	}
}

func (c *Column) rounded(r gpu.Reading) gpu.Reading {
	if !r.OK() {
		return r
	}
	multiplier, divisor := float64(c.Row.Multiplier), float64(c.Row.Divisor)
	// Divided last, as the stream's decoder does it.
	if v := math.Round(r.Value*divisor/multiplier) * multiplier / divisor; !math.IsInf(v, 0) && !math.IsNaN(v) {
		r.Value = v
	}
	return r
}
