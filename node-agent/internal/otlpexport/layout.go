package otlpexport

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

// layout is a schema, turned into instruments. It is made once for each schema.
type layout struct {
	schema      *snapshot.Schema
	devices     []attribute.Set
	instruments []group
	total, used []int // column of each device, -1 for none: hw.gpu.memory.utilization is made of them
	recovery    []int // column of gpu_recovery_action
}

// group is an instrument with its series.
type group struct {
	instrument
	series []series
}

// series is one column.
type series struct {
	column     int
	attributes attribute.Set
	// A counter's start is when it was first seen, or seen to have been reset: the driver does not say since when it counts.
	start time.Time
	last  float64
}

func newLayout(s *snapshot.Schema) *layout {
	l := &layout{schema: s, total: none(len(s.Devices)), used: none(len(s.Devices)), recovery: none(len(s.Devices))}
	plain := make([][]attribute.KeyValue, len(s.Devices))
	for i, d := range s.Devices {
		plain[i] = deviceAttributes(d)
		l.devices = append(l.devices, attribute.NewSet(slices.Clone(plain[i])...))
	}
	byMetric := map[string]int{} // of the canonical name
	byName := map[string]int{}
	for column, c := range s.Columns {
		switch c.Row.Name {
		case "gpu_memory_total_bytes":
			l.total[c.Device] = column
		case "gpu_memory_used_bytes":
			l.used[c.Device] = column
		case "gpu_recovery_action":
			l.recovery[c.Device] = column
		}
		i := nameOf(c.Row)
		g, ok := byMetric[c.Row.Name]
		if !ok {
			g, ok = byName[i.name]
			if ok && !l.instruments[g].shares(i) {
				// Two canonical names became one: the second keeps its unit in the name, so no series is ever mixed with another's.
				i.name, ok = "hw.gpu."+c.Row.Name[len("gpu_"):], false
			}
			if !ok {
				g = len(l.instruments)
				l.instruments = append(l.instruments, group{instrument: i})
				byName[i.name] = g
			}
			byMetric[c.Row.Name] = g
		}
		attributes := append(slices.Clone(plain[c.Device]), i.attributes...)
		if label, value := c.Metric.Label(); label != "" {
			attributes = append(attributes, attribute.String("hw.gpu."+label, value))
		}
		l.instruments[g].series = append(l.instruments[g].series, series{column: column, attributes: attribute.NewSet(attributes...)})
	}
	return l
}

// shares reports whether i may be another series of g: the conventions tell the two apart by attributes.
func (g *group) shares(i instrument) bool {
	return len(i.attributes) > 0 && len(g.attributes) > 0 && g.unit == i.unit && g.shape == i.shape
}

func none(n int) []int {
	columns := make([]int, n)
	for i := range columns {
		columns[i] = -1
	}
	return columns
}

// readings are the frame's, without those that were not taken.
func (l *layout) readings(f *snapshot.Frame) []metricdata.Metrics {
	metrics := make([]metricdata.Metrics, 0, len(l.instruments)+1)
	for i := range l.instruments {
		g := &l.instruments[i]
		points := make([]metricdata.DataPoint[float64], 0, len(g.series))
		for j := range g.series {
			s := &g.series[j]
			r := f.Readings[s.column]
			if !r.OK() {
				continue
			}
			p := metricdata.DataPoint[float64]{Attributes: s.attributes, Time: f.Time, Value: r.Value}
			if g.shape == counter {
				if s.start.IsZero() || r.Value < s.last {
					s.start = f.Time
				}
				s.last, p.StartTime = r.Value, s.start
			}
			points = append(points, p)
		}
		if len(points) > 0 {
			metrics = append(metrics, g.with(points))
		}
	}
	if full := l.fullness(f); len(full) > 0 {
		metrics = append(metrics, instrument{
			name: "hw.gpu.memory.utilization", unit: "1", description: "Fraction of GPU memory used.",
		}.with(full))
	}
	return metrics
}

// fullness is how much of its memory each device has used.
func (l *layout) fullness(f *snapshot.Frame) []metricdata.DataPoint[float64] {
	var points []metricdata.DataPoint[float64]
	for i := range l.devices {
		if l.total[i] < 0 || l.used[i] < 0 {
			continue
		}
		total, used := f.Readings[l.total[i]], f.Readings[l.used[i]]
		if !total.OK() || !used.OK() || total.Value <= 0 {
			continue
		}
		points = append(points, metricdata.DataPoint[float64]{Attributes: l.devices[i], Time: f.Time, Value: used.Value / total.Value})
	}
	return points
}

// with is the instrument, carrying points.
func (i instrument) with(points []metricdata.DataPoint[float64]) metricdata.Metrics {
	m := metricdata.Metrics{Name: i.name, Unit: i.unit, Description: i.description}
	if i.shape == gauge {
		m.Data = metricdata.Gauge[float64]{DataPoints: points}
	} else {
		m.Data = metricdata.Sum[float64]{DataPoints: points, Temporality: metricdata.CumulativeTemporality, IsMonotonic: i.shape == counter}
	}
	return m
}
