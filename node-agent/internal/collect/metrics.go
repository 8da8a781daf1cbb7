package collect

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the collector's own figures.
type Metrics struct {
	samples, failures, missed prometheus.Counter
	duration                  prometheus.Histogram
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
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "warpwatch_agent_sample_duration_seconds", Help: "How long a sample of one GPU took.",
			Buckets: []float64{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3},
		}),
	}
	r.MustRegister(m.samples, m.failures, m.missed, m.duration)
	return m
}
