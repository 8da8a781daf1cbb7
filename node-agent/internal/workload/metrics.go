package workload

import (
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Collector shows the figures of a store about itself.
type Collector struct {
	store                    *Store
	series, refused, success *prometheus.Desc
}

// NewCollector returns a collector for s, to be registered with the agent's own figures.
func NewCollector(s *Store) *Collector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("warpwatch_agent_workload_"+name, help, labels, nil)
	}
	return &Collector{
		store:   s,
		series:  describe("series", "Lines on /metrics that an input brought.", "input"),
		refused: describe("refused_total", "Series, or whole files and requests, that were refused.", "input", "reason"),
		success: describe("last_success_timestamp_seconds", "When an input was last read without its being refused whole.", "input"),
	}
}

// Describe is of prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.series
	ch <- c.refused
	ch <- c.success
}

// Collect is of prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	s := c.store
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	for _, name := range slices.Sorted(maps.Keys(s.inputs)) {
		in, name := s.inputs[name], strings.ToValidUTF8(name, "\uFFFD")
		ch <- prometheus.MustNewConstMetric(c.series, prometheus.GaugeValue, float64(in.lines), name)
		for reason, n := range in.refused {
			ch <- prometheus.MustNewConstMetric(c.refused, prometheus.CounterValue, float64(n), name, string(reason))
		}
		if !in.success.IsZero() {
			ch <- prometheus.MustNewConstMetric(c.success, prometheus.GaugeValue, float64(in.success.UnixNano())/1e9, name)
		}
	}
}
