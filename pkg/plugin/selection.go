package plugin

import (
	"math"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// selection is what a query wants of the agents: a metric of the devices in its scope. Where NVIDIA does not report a
// metric for MIG instances, another one stands in for it there.
type selection struct {
	scope  query.Scope
	metric catalog.Metric
}

func (s selection) matchesTarget(t live.Target) bool {
	if t.Node == "" {
		return t.Cluster == "" || s.scope.MatchesCluster(t.Cluster)
	}
	return s.scope.MatchesNode(t.Cluster, t.Node)
}

// metrics are the names to read, the first is the metric itself.
func (s selection) metrics() []string {
	if s.metric.MIGSubstitute == "" {
		return []string{s.metric.Name}
	}
	return []string{s.metric.Name, s.metric.MIGSubstitute}
}

// wants reports whether a device's readings of the n-th of metrics count.
func (s selection) wants(d gpu.Device, n int) bool {
	return (n == 0 || d.IsMIG()) && s.scope.Matches(d)
}

// filter keeps the series that are wanted of the n-th of metrics, each device once.
func (s selection) filter(into, series []gpu.Series, n int) []gpu.Series {
	have := make(map[gpu.Identity]bool, len(into))
	for _, known := range into {
		have[known.Device.Identity] = true
	}
	for _, candidate := range series {
		if s.wants(candidate.Device, n) && !have[candidate.Device.Identity] {
			into = append(into, candidate)
		}
	}
	return into
}

// columns finds the selected devices of one node in its samples.
type columns struct {
	schema  *live.Schema
	picks   []live.Pick
	devices []gpu.Device // selected
	places  [][]place    // where each of them is read; the first that has a value counts
}

type place struct{ pick, column int }

// columns of the devices that keep accepts. Devices is a new slice each time.
func (s selection) columns(schema *live.Schema, keep func(gpu.Device) bool) columns {
	c := columns{schema: schema}
	at := map[gpu.Identity]int{}
	for n, name := range s.metrics() {
		pick := schema.Pick(name)
		c.picks = append(c.picks, pick)
		for i, device := range pick.Devices {
			if !s.wants(device, n) || !keep(device) {
				continue
			}
			row, known := at[device.Identity]
			if !known {
				row = len(c.devices)
				at[device.Identity] = row
				c.devices, c.places = append(c.devices, device), append(c.places, nil)
			}
			c.places[row] = append(c.places[row], place{n, i})
		}
	}
	return c
}

// values of the selected devices in a sample of the columns' schema, NaN where there is none.
func (c columns) values(sample wire.Sample) []float64 {
	read := make([][]float64, len(c.picks))
	for n, pick := range c.picks {
		read[n] = pick.Values(sample)
	}
	values := make([]float64, len(c.places))
	for i, places := range c.places {
		values[i] = math.NaN()
		for _, at := range places {
			if v := read[at.pick][at.column]; !math.IsNaN(v) {
				values[i] = v
				break
			}
		}
	}
	return values
}
