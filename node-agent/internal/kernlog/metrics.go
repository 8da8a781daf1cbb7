package kernlog

import "github.com/prometheus/client_golang/prometheus"

// figures are the reader's own.
type figures struct {
	records, lost, notUnderstood prometheus.Counter
}

// newFigures registers them, unless r is nil.
func newFigures(r prometheus.Registerer) *figures {
	f := &figures{
		records: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "warpwatch_agent_kernel_log_records_total", Help: "Records read of the kernel log, of which few are the NVIDIA driver's.",
		}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "warpwatch_agent_kernel_log_lost_records_total",
			Help: "Records of the kernel log that were overwritten before the agent read them, or too long.",
		}),
		notUnderstood: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "warpwatch_agent_kernel_log_not_understood_total",
			Help: "Messages of the NVIDIA driver that look like an XID but have a form that the agent does not know.",
		}),
	}
	if r != nil {
		r.MustRegister(f.records, f.lost, f.notUnderstood)
	}
	return f
}
