package attribute

import "github.com/prometheus/client_golang/prometheus"

// metrics are the figures of an attributor about itself.
type metrics struct {
	up         *prometheus.GaugeVec
	unresolved *prometheus.CounterVec
	owners     prometheus.Gauge
	refused    prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "warpwatch_agent_owner_source_up",
			Help: "Whether a source of owners answers: 1 when it does, 0 when it fails, no series when it is not on this node.",
		}, []string{"source"}),
		unresolved: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "warpwatch_agent_owner_unresolved_total",
			Help: "Devices that a source named and that could not be found on this node, counted when first seen.",
		}, []string{"source"}),
		owners: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "warpwatch_agent_owners", Help: "Owners of GPUs that are told.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "warpwatch_agent_owners_refused_total", Help: "Owners and grants that were too many to tell.",
		}),
	}
	r.MustRegister(m.up, m.unresolved, m.owners, m.refused)
	return m
}
