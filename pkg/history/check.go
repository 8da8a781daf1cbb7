package history

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"
)

const buildInfoPath = "/api/v1/status/buildinfo"

// EndpointStatus is what a check found out about one endpoint.
type EndpointStatus struct {
	ID      string
	Cluster string
	Flavour string // Prometheus, Mimir, Thanos, VictoriaMetrics, Cortex or "" when it does not say
	Version string // "" when it does not say
	Latency time.Duration
	Err     error // an *Error when the endpoint cannot be used
}

// Check asks every endpoint what it is and whether it answers queries.
func (h *History) Check(ctx context.Context) []EndpointStatus {
	statuses := make([]EndpointStatus, len(h.endpoints))
	for i, o := range askAll(ctx, h.endpoints, h.check) {
		statuses[i] = o.value
		statuses[i].ID, statuses[i].Cluster, statuses[i].Err = o.endpoint.ID, o.endpoint.Cluster, o.err
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
		s.Flavour = "Prometheus"
	}
	return s, nil
}

// buildInfo tells the flavour apart as far as servers say. Not all offer it, so that it fails means nothing.
func (e *endpoint) buildInfo(ctx context.Context) (flavour, version string) {
	resp, body, err := e.fetch(ctx, buildInfoPath, url.Values{})
	if err != nil {
		return "", ""
	}
	var info struct {
		Data struct {
			Application string            `json:"application"`
			Version     string            `json:"version"`
			GoVersion   string            `json:"goVersion"`
			Features    map[string]string `json:"features"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &info) != nil {
		return "", ""
	}
	version = clean(strings.TrimPrefix(info.Data.Version, "v"))
	server := strings.ToLower(resp.Header.Get("Server") + " " + resp.Header.Get("X-Server-Hostname"))
	switch application := strings.ToLower(info.Data.Application); {
	case strings.Contains(application, "mimir"):
		return "Mimir", version
	case strings.Contains(application, "cortex"):
		return "Cortex", version
	case strings.Contains(application, "thanos"):
		return "Thanos", version
	case strings.Contains(application, "victoria") || resp.Header.Get("X-Server-Hostname") != "" || strings.Contains(server, "victoria"):
		return "VictoriaMetrics", "" // the version it tells is that of the Prometheus it imitates
	}
	if len(info.Data.Features) > 0 {
		return "Mimir", version // Cortex has no features
	}
	// Thanos tells the same as Prometheus, but has stores.
	if _, body, err := e.fetch(ctx, "/api/v1/stores", url.Values{}); err == nil && json.Valid(body) && strings.Contains(string(body), `"success"`) {
		return "Thanos", version
	}
	return "Prometheus", version
}
