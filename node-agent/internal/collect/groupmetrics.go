package collect

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

// groupMetrics shows the figures of the groups to Prometheus.
type groupMetrics Metrics

// Describe implements prometheus.Collector: an unchecked one, as the groups change with the configuration.
func (m *groupMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *groupMetrics) Collect(into chan<- prometheus.Metric) {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("warpwatch_agent_"+name, help, labels, nil)
	}
	var (
		samples  = desc("group_samples_total", "Samples of a group of metrics of one GPU, by how they ended; skipped ones were due while the GPU had not answered yet.", "group", "result")
		interval = desc("group_interval_seconds", "How often a group of metrics is measured.", "group")
	)
	for g := range device.NumGroups {
		f := &m.groups[g]
		every := f.every.Load()
		if every == 0 {
			continue
		}
		name := g.String()
		into <- prometheus.MustNewConstMetric(interval, prometheus.GaugeValue, time.Duration(every).Seconds(), name)
		for result, n := range map[string]uint64{"success": f.success.Load(), "failure": f.failure.Load(), "skipped": f.skipped.Load()} {
			into <- prometheus.MustNewConstMetric(samples, prometheus.CounterValue, float64(n), name, result)
		}
	}
	supported := desc("supported_metrics", "Metrics of a group that boards of a model with this driver have.", "model", "driver", "group")
	asked := desc("asked_metrics", "Metrics of a group that boards of a model are asked for.", "model", "driver", "group")
	for _, s := range m.support.of(m.store.Load()) {
		into <- prometheus.MustNewConstMetric(supported, prometheus.GaugeValue, float64(s.have), s.model, s.driver, s.group.String())
		into <- prometheus.MustNewConstMetric(asked, prometheus.GaugeValue, float64(s.asked), s.model, s.driver, s.group.String())
	}
}

// support is how many metrics of a group boards of a model have.
type support struct {
	model, driver string
	group         device.Group
	have, asked   int
}

// supportCache counts again only when something may have changed, and not more often than once in ten seconds.
type supportCache struct {
	mu     sync.Mutex
	schema *snapshot.Schema
	status *snapshot.Status
	at     time.Time
	list   []support
}

const supportAge = 10 * time.Second

func (c *supportCache) of(store *snapshot.Store) []support {
	if store == nil {
		return nil
	}
	f := store.Newest()
	if f == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.schema != f.Schema || c.status != f.Status || f.Time.Sub(c.at) >= supportAge {
		c.schema, c.status, c.at, c.list = f.Schema, f.Status, f.Time, countSupport(f)
	}
	return c.list
}

// countSupport looks at the boards that answer; a metric counts when one board of the model has it.
func countSupport(f *snapshot.Frame) []support {
	fine := map[string]bool{}
	for _, b := range f.Status.Boards {
		fine[b.Device.UUID] = b.Condition.State == snapshot.StateOK
	}
	type key struct {
		model string
		group device.Group
	}
	found := map[key]map[device.Metric]bool{}
	for i, c := range f.Schema.Columns {
		d := &f.Schema.Devices[c.Device]
		if !fine[d.UUID] {
			continue
		}
		k := key{d.Model, c.Metric.Group()}
		if found[k] == nil {
			found[k] = map[device.Metric]bool{}
		}
		r := f.Readings[i]
		found[k][c.Metric] = found[k][c.Metric] || r.OK()
	}
	var list []support
	for k, metrics := range found {
		s := support{model: k.model, driver: f.Schema.Driver, group: k.group, asked: len(metrics)}
		for _, have := range metrics {
			if have {
				s.have++
			}
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b support) int {
		if a.model != b.model {
			return strings.Compare(a.model, b.model)
		}
		return int(a.group) - int(b.group)
	})
	return list
}
