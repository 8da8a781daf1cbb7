package history

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
)

// Flavours of servers.
const (
	flavourPrometheus = "Prometheus"
	flavourThanos     = "Thanos"
	flavourMimir      = "Mimir"
	flavourCortex     = "Cortex"
	flavourVictoria   = "VictoriaMetrics"
)

const (
	buildInfoPath = "/api/v1/status/buildinfo"
	storesPath    = "/api/v1/stores" // Thanos only
)

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
		return flavourMimir, version
	case strings.Contains(application, "cortex"):
		return flavourCortex, version
	case strings.Contains(application, "thanos"):
		return flavourThanos, version
	case strings.Contains(application, "victoria") || resp.Header.Get("X-Server-Hostname") != "" || strings.Contains(server, "victoria"):
		return flavourVictoria, e.victoriaVersion(ctx) // the version it tells is that of the Prometheus it imitates
	}
	if len(info.Data.Features) > 0 {
		return flavourMimir, version // Cortex has no features
	}
	// Thanos tells the same as Prometheus, but has stores.
	if _, body, err := e.fetch(ctx, storesPath, url.Values{}); err == nil && json.Valid(body) && strings.Contains(string(body), `"success"`) {
		return flavourThanos, version
	}
	return flavourPrometheus, version
}

// victoriaVersion is known where VictoriaMetrics scrapes itself.
func (e *endpoint) victoriaVersion(ctx context.Context) string {
	a, err := e.query(ctx, instantPath, url.Values{"query": {`vm_app_version{version=~"(victoria-metrics|vmselect)-.+"}`}})
	if err != nil || len(a.Series) == 0 {
		return ""
	}
	return clean(strings.TrimPrefix(a.Series[0].Labels.Get("short_version"), "v"))
}

// habit is what people should know of a flavour before they wonder.
func habit(flavour string) string {
	if flavour == flavourVictoria {
		return "VictoriaMetrics holds samples back for 30 s (-search.latencyOffset); live samples of agents fill these, otherwise lower it."
	}
	return ""
}

// remedy is what to do about a message of a server that is known to mislead, or to stop people.
type remedy struct{ message, what string }

func remedies() []remedy {
	const narrow = "narrow the time range or the scope, or raise the minimum step of the query"
	return []remedy{
		{"many-to-many matching not allowed", "aggregate the right-hand side first, like max by (pod) (kube_pod_labels), so that it has one series a match"},
		{"exceeded maximum resolution", "raise the minimum step of the query"},
		{"cannot exceed -search.maxPointsPerTimeseries", "raise the minimum step of the query"},
		{"exceeds the limit (query length:", "narrow the time range, or let whoever runs the server raise the tenant's limit; recording rules do not help, because the limit is on the range"},
		{"would load too many samples into memory", narrow + "; recording rules help, and so does a higher --query.max-samples"},
		{"-search.maxSamplesPerQuery", narrow},
		{"timeseries exceeds", "narrow the scope to fewer clusters, nodes or GPUs"},
		{"err-mimir-max-", "narrow the scope to fewer clusters, nodes or GPUs, or the time range"},
		{"exceeded series limit", "narrow the scope to fewer clusters, nodes or GPUs"},
	}
}

// explain adds what to do to messages of servers that do not say it, or say it wrongly.
func explain(message string) string {
	for _, r := range remedies() {
		if strings.Contains(message, r.message) {
			return message + " (" + r.what + ")"
		}
	}
	return message
}

// noTenant is how Mimir and Cortex refuse requests without a tenant.
const noTenant = "no org id"
