package logrule

import "github.com/prometheus/client_golang/prometheus"

// Where lines come from.
const (
	fromFile    = "file"
	fromJournal = "journal"
)

// selfMetrics are the reader's figures about itself.
type selfMetrics struct {
	lines, tooLong, matches, refused *prometheus.CounterVec
	files                            *prometheus.GaugeVec
	journal                          prometheus.Gauge
}

func newSelfMetrics(rules []*compiled) *selfMetrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &selfMetrics{
		lines:   counter("warpwatch_agent_log_lines_total", "Lines of logs that were read for the rules.", "source"),
		tooLong: counter("warpwatch_agent_log_lines_too_long_total", "Lines of logs that were skipped, because they are longer than any rule takes.", "source"),
		matches: counter("warpwatch_agent_log_matches_total", "Lines that a rule matched.", "rule"),
		refused: counter("warpwatch_agent_log_refused_total",
			"Lines and matches that a rule did not use: the line too long, the value no number, a series or an event too many.", "rule", "reason"),
		files: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "warpwatch_agent_log_files", Help: "Files that the rules select: those that are read, those too many, and those that cannot be read.",
		}, []string{"state"}),
		journal: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "warpwatch_agent_log_journal_up", Help: "How many of the rules' selections of the systemd journal are read now.",
		}),
	}
	for _, source := range []string{fromFile, fromJournal} {
		m.lines.WithLabelValues(source)
		m.tooLong.WithLabelValues(source)
	}
	for _, c := range rules {
		m.matches.WithLabelValues(c.Name)
	}
	return m
}

func (m *selfMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.lines, m.tooLong, m.matches, m.refused, m.files, m.journal}
}
