package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

var _ backend.CheckHealthHandler = (*Datasource)(nil)

const (
	// healthTimeout bounds the whole check: somebody waits for it with the settings open.
	healthTimeout = 15 * time.Second
)

// CheckHealth asks every server and a number of agents, and says of each what it is or what to change. A query that
// fails is no matter of health.
func (d *Datasource) CheckHealth(ctx context.Context, req *backend.CheckHealthRequest) (*backend.CheckHealthResult, error) {
	if d.broken != nil {
		return report{failed: true, lines: strings.Split(d.broken.Error(), "\n"), message: "The settings cannot be used: " + d.broken.Error()}.result()
	}
	ctx, cancel := context.WithTimeout(withTenant(ctx, req.GetHTTPHeaders()), healthTimeout)
	defer cancel()
	var servers []history.EndpointStatus
	var agents agentCheck
	var alertmanagers []string
	var wg sync.WaitGroup
	wg.Go(func() { servers = d.history.Check(ctx) })
	wg.Go(func() { agents = d.checkAgents(ctx) })
	wg.Go(func() { alertmanagers = d.alertmanagerLines(ctx) })
	wg.Wait()
	r := d.report(servers, agents)
	r.lines = append(r.lines, alertmanagers...)
	r.details.Alertmanagers = append([]string{}, alertmanagers...)
	return r.result()
}

// report is a check's outcome before it becomes Grafana's.
type report struct {
	failed  bool
	first   string // the first failure
	message string
	lines   []string
	details healthDetails
}

func (r *report) fail(text string) {
	r.failed = true
	if r.first == "" {
		r.first = text
	}
}

func (r report) result() (*backend.CheckHealthResult, error) {
	result := &backend.CheckHealthResult{Status: backend.HealthStatusOk, Message: r.message}
	if r.failed {
		result.Status = backend.HealthStatusError
	}
	r.details.Message, r.details.VerboseMessage = r.message, strings.Join(r.lines, "\n")
	details, err := json.Marshal(r.details)
	if err != nil {
		return nil, backend.PluginError(fmt.Errorf("encode the health's details: %w", err))
	}
	result.JSONDetails = details
	return result, nil
}

// report puts a check into words: one line for everything, and a line for each server and each agent in trouble.
// It is a failure when a server fails, or when there is no server and no agent.
func (d *Datasource) report(servers []history.EndpointStatus, agents agentCheck) report {
	var r report
	r.details.Servers, r.details.Unknown = []serverHealth{}, append([]string{}, d.settings.Unknown...)
	var parts []string
	for _, s := range servers {
		r.details.Servers = append(r.details.Servers, serverHealthOf(s))
		name := fmt.Sprintf("%s %s", flavour(s.Flavour), s.ID)
		if s.Err != nil {
			r.fail(s.Err.Error())
			parts = append(parts, name+" failed")
			r.lines = append(r.lines, s.Err.Error())
			continue
		}
		text := fmt.Sprintf("%s %s ok (%s)", name, orUnknown(s.Version), milliseconds(s.Latency))
		parts = append(parts, text)
		r.lines = append(r.lines, serverLine(text, s))
		for _, hint := range s.Hints {
			r.lines = append(r.lines, s.ID+": "+hint)
		}
	}
	ofServers := len(r.lines)
	switch {
	case d.settings.Agents.Discovery == settings.DiscoverOff:
		parts = append(parts, "agents off")
	case agents.known == 0:
		parts = append(parts, "no agents found")
		const remedy = "No live data: install warpwatch-agent on the GPU nodes and let Prometheus scrape it, or list agents under agents.static."
		r.lines = append(r.lines, remedy)
		if len(servers) == 0 {
			r.fail(remedy)
		}
	default:
		text := fmt.Sprintf("agents %d/%d connected, %d GPUs", agents.connected, len(agents.tried), agents.devices)
		if len(agents.tried) < agents.known {
			text += fmt.Sprintf(" (tried %d of %d agents", len(agents.tried), agents.known)
			if agents.refused > 0 {
				text += fmt.Sprintf("; %d more are not allowed or refuse", agents.refused)
			}
			text += ")"
		}
		parts = append(parts, text)
		r.lines = append(r.lines, text)
		if len(servers) == 0 && agents.connected == 0 {
			r.fail(strings.Join(append(textsOf(agents.notices), "no agent could be connected to"), " "))
		}
		r.lines = append(r.lines, versions(agents.tried)...)
		r.lines = append(r.lines, clocks(agents.tried)...)
	}
	r.lines = append(r.lines, d.sourceLines()...)
	if agents.err != nil {
		r.lines = append(r.lines, agents.err.Error())
	}
	r.lines = append(r.lines, textsOf(agents.notices)...)
	if d.settings.Agents.Discovery != settings.DiscoverOff {
		r.details.Agents = agents.health(r.lines[ofServers:])
	}
	if len(d.settings.Unknown) > 0 {
		r.lines = append(r.lines, "Settings that mean nothing here, misspelt perhaps: "+strings.Join(d.settings.Unknown, ", ")+".")
	}
	r.message = strings.Join(parts, ", ")
	if r.failed {
		r.message += ": " + r.first
	}
	return r
}

// serverLine adds to a server's own text what it is to the data source.
func serverLine(text string, s history.EndpointStatus) string {
	text += ", cluster " + s.Cluster
	if s.Replica {
		text += ", a replica"
	}
	if len(s.Dialects) > 0 {
		text += ", metrics of " + strings.Join(s.Dialects, ", ")
	}
	return text
}

func textsOf(notices []gpu.Notice) []string {
	texts := make([]string, len(notices))
	for i, n := range notices {
		texts[i] = n.Text
	}
	return texts
}

func milliseconds(d time.Duration) string {
	if d < time.Millisecond {
		return "<1 ms"
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

func flavour(name string) string {
	if name == "" {
		return "Prometheus"
	}
	return name
}

func orUnknown(version string) string {
	if version == "" {
		return "(version unknown)"
	}
	return version
}
