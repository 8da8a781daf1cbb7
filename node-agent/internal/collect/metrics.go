package collect

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

// Metrics are the collector's own figures. They are counted without locks, and laid out only when somebody asks.
type Metrics struct {
	samples, failures, missed, suppressed, droppedProcesses prometheus.Counter

	duration prometheus.Histogram
	period   prometheus.Gauge
	events   *prometheus.CounterVec
	groups   [device.NumGroups]groupFigures
	store    atomic.Pointer[snapshot.Store]
	support  supportCache
}

// groupFigures are those of one group.
type groupFigures struct {
	success, failure, skipped atomic.Uint64
	every                     atomic.Int64 // nanoseconds; 0 for a group that is switched off
}

// NewMetrics registers the figures.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		samples: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "warpwatch_agent_samples_total", Help: "Samples taken of a GPU with its MIG instances.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "warpwatch_agent_sample_failures_total", Help: "Samples of a GPU that failed as a whole.",
		}),
		missed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "warpwatch_agent_missed_periods_total",
			Help: "Sampling periods that passed without a sample, because the agent was not given the CPU in time.",
		}),
		suppressed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "warpwatch_agent_events_suppressed_total",
			Help: "Events that were counted but not kept, because there were too many like them.",
		}),
		droppedProcesses: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "warpwatch_agent_processes_dropped_total", Help: "Processes that were not listed, because a GPU had too many.",
		}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "warpwatch_agent_sample_duration_seconds", Help: "How long a sample of one GPU took.",
			Buckets: []float64{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3},
		}),
		period: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "warpwatch_agent_period_seconds",
			Help: "How far apart samples are taken now: less than configured while a reader of the live stream wishes it.",
		}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "warpwatch_agent_events_total", Help: "Events that were kept, by what happened and who reported it.",
		}, []string{"kind", "origin"}),
	}
	r.MustRegister(m.samples, m.failures, m.missed, m.suppressed, m.droppedProcesses, m.duration, m.period, m.events, (*groupMetrics)(m))
	return m
}

// plan notes how often groups are measured.
func (m *Metrics) plan(s Schedule) {
	m.period.Set(s.Tick.Seconds())
	for g := range device.NumGroups {
		every := time.Duration(0)
		if s.Groups.Has(g) {
			every = s.Every[g]
		}
		m.groups[g].every.Store(int64(every))
	}
}

// succeeded notes a sample.
func (m *Metrics) succeeded(groups device.Groups) {
	m.samples.Inc()
	for g := range device.NumGroups {
		if groups.Has(g) {
			m.groups[g].success.Add(1)
		}
	}
}

// failed notes a sample that gave nothing.
func (m *Metrics) failed(groups device.Groups) {
	m.failures.Inc()
	for g := range device.NumGroups {
		if groups.Has(g) {
			m.groups[g].failure.Add(1)
		}
	}
}

// skipped notes groups that were due on a board that had not answered the sample before.
func (m *Metrics) skipped(groups device.Groups) {
	for g := range device.NumGroups {
		if groups.Has(g) {
			m.groups[g].skipped.Add(1)
		}
	}
}
