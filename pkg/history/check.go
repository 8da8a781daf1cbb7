package history

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// EndpointStatus is what a check found out about one endpoint.
type EndpointStatus struct {
	ID      string
	Cluster string
	Replica bool
	Flavour string // Prometheus, Mimir, Thanos, VictoriaMetrics, Cortex or "" when it does not say
	Version string // "" when it does not say
	Latency time.Duration
	// Dialects are the exporters whose series are there, the preferred first; nil when that is not known.
	Dialects []string
	// Hints are what is missing and what to do next, a sentence each.
	Hints []string
	Err   error // an *Error when the endpoint cannot be used
}

// Check asks every endpoint what it is, whether it answers queries, and what it knows of GPUs.
func (h *History) Check(ctx context.Context) []EndpointStatus {
	statuses := make([]EndpointStatus, len(h.endpoints))
	for i, o := range askAll(ctx, h.endpoints, h.check) {
		statuses[i] = o.value
		statuses[i].ID, statuses[i].Cluster, statuses[i].Replica, statuses[i].Err = o.endpoint.ID, o.endpoint.Cluster, o.endpoint.Replica, o.err
	}
	return statuses
}

func (h *History) check(ctx context.Context, e *endpoint) (EndpointStatus, error) {
	var s EndpointStatus
	s.Flavour, s.Version = e.buildInfo(ctx)
	start := h.options.now()
	_, err := e.query(ctx, instantPath, url.Values{"query": {"vector(1)"}})
	s.Latency = h.options.now().Sub(start)
	if err != nil {
		return s, err
	}
	if s.Flavour == "" {
		s.Flavour = flavourPrometheus
	}
	words, err := h.words(ctx, e)
	if err != nil {
		s.Hints = append(s.Hints, "Which series there are is not known: "+err.Error()+".")
	} else {
		h.look(&s, words)
	}
	if text := habit(s.Flavour); text != "" {
		s.Hints = append(s.Hints, text)
	}
	return s, nil
}

// look finds out what a server's series are good for.
func (h *History) look(s *EndpointStatus, words vocabulary) {
	if words.series == nil {
		s.Hints = append(s.Hints, "The server does not list the names of its series, so queries ask for every name there may be; let it answer /api/v1/label/__name__/values.")
		return
	}
	s.Dialects = []string{}
	for _, dialect := range h.catalog.Dialects() {
		if h.speaks(words, dialect) {
			s.Dialects = append(s.Dialects, string(dialect))
		}
	}
	if len(s.Dialects) == 0 {
		s.Hints = append(s.Hints, "It has no series of a GPU exporter that the catalogue knows: let it scrape warpwatch-agent, dcgm-exporter or "+
			"nvidia_gpu_exporter, or describe yours under dialects.")
		return
	}
	var missing []string
	for _, name := range essentials() {
		if m, ok := h.catalog.Metric(name); ok && len(h.plan(words, m).names) == 0 {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		s.Hints = append(s.Hints, fmt.Sprintf("No exporter measures %s; a query of the type coverage says what to turn on.", strings.Join(missing, ", ")))
	}
}

// speaks reports whether there is any series of a dialect.
func (h *History) speaks(words vocabulary, dialect catalog.Dialect) bool {
	return slices.ContainsFunc(h.catalog.Info(), func(info catalog.Info) bool { return info.Dialect == dialect && words.series[info.Series] }) ||
		slices.ContainsFunc(h.catalog.Metrics(), func(m catalog.Metric) bool { return len(h.existing(words, m, dialect)) > 0 })
}

// essentials are the metrics that the bundled dashboards start with.
func essentials() []string {
	return []string{
		"gpu_utilization_ratio", "gpu_sm_active_ratio", "gpu_memory_used_bytes", "gpu_power_watts", "gpu_temperature_celsius",
	}
}
