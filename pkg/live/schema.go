package live

import (
	"cmp"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// Schema says what the readings of a sample are. It is immutable; one that says the same as the one before it, after a
// reconnect for example, is the same pointer.
type Schema struct {
	Wire    *wire.Schema // as the agent sent it, but for the clock, which is zero, and the devices, which are those below
	Devices []gpu.Device // with the target's cluster and node, where it names them

	*layout
	target nodeName
}

// nodeName is what a target calls its node.
type nodeName struct{ cluster, node string }

// layout is where a sample's readings are. Schemas with the same columns of the same devices share it, so that one that
// says only how often samples are taken by now is no break in what is held of the node.
type layout struct{ *columnSet }

// SameColumns reports whether samples of both schemas have the same readings in the same places.
func (s *Schema) SameColumns(other *Schema) bool {
	return s == other || s != nil && other != nil && s.layout == other.layout
}

func newSchema(t Target, sent *wire.Schema) *Schema {
	return schemaOf(t, proto.CloneOf(sent), newColumnSet(sent.GetColumns()))
}

// schemaOf makes a schema. sent becomes the schema's.
func schemaOf(t Target, sent *wire.Schema, set *columnSet) *Schema {
	s := &Schema{Wire: sent, Devices: wire.ToDevices(sent), layout: &layout{set}, target: nodeName{t.Cluster, t.Node}}
	sent.Devices, sent.ClockUnixMs = nil, 0
	s.target.name(s.Devices, sent)
	return s
}

// name gives devices the target's name for their node, or else the agent's own.
func (t nodeName) name(devices []gpu.Device, sent *wire.Schema) {
	for i := range devices {
		devices[i].Cluster = cmp.Or(t.cluster, sent.GetCluster())
		devices[i].Node = cmp.Or(t.node, sent.GetNode())
	}
}

// next is the schema of what an agent says after s, which may be nil. It is s when the agent says the same. sent becomes
// the schema's.
func (s *Schema) next(t Target, sent *wire.Schema, sets *columnSets) *Schema {
	if s == nil || s.target != (nodeName{t.Cluster, t.Node}) {
		return schemaOf(t, sent, sets.share(sent))
	}
	next := schemaOf(t, sent, s.columnSet)
	if !slices.Equal(s.Devices, next.Devices) || !slices.EqualFunc(s.wire, sent.GetColumns(), sameColumn) {
		next.layout = &layout{sets.share(sent)}
		return next
	}
	sent.Columns = s.wire
	if proto.Equal(s.Wire, sent) {
		return s
	}
	alike := proto.CloneOf(sent)
	alike.PeriodMs, alike.MinPeriodMs, alike.Epoch, alike.AgentVersion = s.Wire.GetPeriodMs(), s.Wire.GetMinPeriodMs(), s.Wire.GetEpoch(), s.Wire.GetAgentVersion()
	if proto.Equal(s.Wire, alike) {
		next.Devices, next.layout = s.Devices, s.layout
	}
	return next
}

// named is the schema under another name of the node.
func (s *Schema) named(t Target) *Schema {
	other := &Schema{Wire: s.Wire, Devices: slices.Clone(s.Devices), layout: &layout{s.columnSet}, target: nodeName{t.Cluster, t.Node}}
	other.target.name(other.Devices, s.Wire)
	return other
}

// Period is how far apart samples are taken.
func (s *Schema) Period() time.Duration {
	return time.Duration(s.Wire.GetPeriodMs()) * time.Millisecond
}

// Interval is how far apart a metric is measured, where that is longest: at least Period.
func (s *Schema) Interval(metric string) time.Duration {
	longest := s.Period()
	for _, c := range s.columns[metric] {
		longest = max(longest, time.Duration(s.Wire.Columns[c.index].GetIntervalMs())*time.Millisecond)
	}
	return longest
}

// Pick finds one metric in samples of the schema. Make it once for each schema, not for each sample.
func (s *Schema) Pick(metric string) Pick {
	columns := s.columns[metric]
	if s.ofAll(columns) {
		return Pick{Devices: s.Devices, columns: columns}
	}
	p := Pick{Devices: make([]gpu.Device, len(columns)), columns: columns}
	for i, c := range columns {
		p.Devices[i] = s.Devices[c.device]
	}
	return p
}

// ofAll reports whether columns are one of each device, in the devices' order.
func (s *Schema) ofAll(columns []column) bool {
	for i, c := range columns {
		if c.device != i {
			return false
		}
	}
	return len(columns) == len(s.Devices)
}

// Reading is what a sample of the schema says of a metric of Devices[device]; NoData when there is no such column.
func (s *Schema) Reading(sample *wire.Sample, metric string, device int) gpu.Reading {
	for _, c := range s.columns[metric] {
		if c.device == device && sample != nil && c.index < len(sample.Readings) {
			return sample.Readings[c.index]
		}
	}
	return gpu.Absent(gpu.NoData)
}

// Pick is the columns of one metric. Devices has the devices that report it, and is never written to.
type Pick struct {
	Devices []gpu.Device
	columns []column
}

// Values are the metric's readings in a sample of the same schema, one for each of Devices, NaN where there is none.
func (p Pick) Values(sample wire.Sample) []float64 {
	values := make([]float64, len(p.columns))
	for i, c := range p.columns {
		values[i] = math.NaN()
		if c.index < len(sample.Readings) && sample.Readings[c.index].OK() {
			values[i] = sample.Readings[c.index].Value
		}
	}
	return values
}
