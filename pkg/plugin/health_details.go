package plugin

import (
	"github.com/warpwatch/warpwatch/pkg/history"
)

// healthDetails are a check's results one by one, for the settings page. Grafana itself shows the first two.
type healthDetails struct {
	Message        string         `json:"message"`
	VerboseMessage string         `json:"verboseMessage"`
	Servers        []serverHealth `json:"servers"`
	Agents         *agentsHealth  `json:"agents,omitempty"` // absent when there is no live data
	Alertmanagers  []string       `json:"alertmanagers"`    // a line each
	Unknown        []string       `json:"unknown"`          // settings that mean nothing
}

// serverHealth is what is known of one server. Error says what to change, and Next what is missing.
type serverHealth struct {
	ID        string   `json:"id"`
	Cluster   string   `json:"cluster"`
	Replica   bool     `json:"replica"`
	Flavour   string   `json:"flavour"`
	Version   string   `json:"version"` // "" when it does not say
	LatencyMs float64  `json:"latencyMs"`
	Exporters []string `json:"exporters"` // whose series it has
	Next      []string `json:"next"`
	Error     string   `json:"error"` // "" when it can be used
}

// agentsHealth is what came of trying some of the agents.
type agentsHealth struct {
	Known     int         `json:"known"`
	Connected int         `json:"connected"` // of those tried
	GPUs      int         `json:"gpus"`
	Tried     []agentInfo `json:"tried"`
	Notes     []string    `json:"notes"` // sources of discovery, versions, clocks, and what is missing
}

func serverHealthOf(s history.EndpointStatus) serverHealth {
	h := serverHealth{
		ID: s.ID, Cluster: s.Cluster, Replica: s.Replica, Flavour: flavour(s.Flavour), Version: s.Version,
		LatencyMs: float64(s.Latency.Microseconds()) / 1000, Exporters: append([]string{}, s.Dialects...), Next: append([]string{}, s.Hints...),
	}
	if s.Err != nil {
		h.Error = s.Err.Error()
	}
	return h
}

func (c agentCheck) health(notes []string) *agentsHealth {
	h := &agentsHealth{Known: c.known, Connected: c.connected, GPUs: c.devices, Tried: []agentInfo{}, Notes: append([]string{}, notes...)}
	for _, n := range c.tried {
		h.Tried = append(h.Tried, agentInfoOf(n))
	}
	return h
}
