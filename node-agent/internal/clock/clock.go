// Package clock tells how well the kernel keeps this machine's clock. Samples of different nodes are laid side by side by
// their times, so a clock that is off makes a straggler of a node that is none. Nothing is changed.
package clock

import (
	"github.com/prometheus/client_golang/prometheus"
)

// State is how the kernel's clock is disciplined.
type State struct {
	Offset float64 // seconds by which it is off, as far as whoever disciplines it knows
	Error  float64 // seconds that it may be off at most
	// Synchronized: somebody, like chrony or systemd-timesyncd, keeps it right.
	Synchronized bool
}

// Collector shows the state to Prometheus.
type Collector struct {
	read func() (State, error)

	offset, bound, synchronized *prometheus.Desc
}

// New reads the kernel of this machine.
func New() *Collector { return newCollector(Read) }

func newCollector(read func() (State, error)) *Collector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("warpwatch_agent_clock_"+name, help, nil, nil)
	}
	return &Collector{
		read:         read,
		offset:       desc("offset_seconds", "By how much the node's clock is off, as far as its time service knows."),
		bound:        desc("error_seconds", "By how much the node's clock may be off at most, as the kernel reckons."),
		synchronized: desc("synchronized", "Whether a time service keeps the node's clock right: 1, or 0."),
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(into chan<- *prometheus.Desc) {
	into <- c.offset
	into <- c.bound
	into <- c.synchronized
}

// Collect implements prometheus.Collector. Where the state cannot be read there are no samples.
func (c *Collector) Collect(into chan<- prometheus.Metric) {
	s, err := c.read()
	if err != nil {
		return
	}
	synchronized := 0.0
	if s.Synchronized {
		synchronized = 1
	}
	into <- prometheus.MustNewConstMetric(c.offset, prometheus.GaugeValue, s.Offset)
	into <- prometheus.MustNewConstMetric(c.bound, prometheus.GaugeValue, s.Error)
	into <- prometheus.MustNewConstMetric(c.synchronized, prometheus.GaugeValue, synchronized)
}
