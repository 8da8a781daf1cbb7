package history

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

const agentInfo = "warpwatch_agent_info"

// Agent is a node agent that a Prometheus scrapes, and where its stream is.
type Agent struct {
	Cluster string
	Node    string
	Address string // host:port
	Scheme  string // "http" or "https", "" when the agent does not say
	Version string
}

// Agents lists the agents that the servers scrape now, by warpwatch_agent_info. An agent that advertises no address is
// at the one it is scraped at. The notices tell of servers that failed.
func (h *History) Agents(ctx context.Context) ([]Agent, []gpu.Notice) {
	good, notices, err := split(fanOut(ctx, h.endpoints, h.agents))
	if err != nil {
		return nil, []gpu.Notice{{Severity: gpu.Warning, Text: "Prometheus cannot be asked for agents: " + err.Error() + "."}}
	}
	var all []Agent
	seen := map[[2]string]bool{}
	for _, o := range good {
		for _, a := range o.value {
			if key := [2]string{a.Cluster, a.Address}; !seen[key] {
				seen[key] = true
				all = append(all, a)
			}
		}
	}
	slices.SortFunc(all, func(a, b Agent) int {
		if c := strings.Compare(a.Cluster, b.Cluster); c != 0 {
			return c
		}
		if c := strings.Compare(a.Node, b.Node); c != 0 {
			return c
		}
		return strings.Compare(a.Address, b.Address)
	})
	return all, notices
}

func (h *History) agents(ctx context.Context, e *endpoint) ([]Agent, error) {
	return e.agents.get(ctx, h.options.Tenant(ctx), inventoryTTL, func(ctx context.Context) ([]Agent, error) {
		a, err := e.query(ctx, instantPath, url.Values{"query": {agentInfo}})
		if err != nil {
			return nil, err
		}
		var agents []Agent
		for _, s := range a.Series {
			l := s.Labels
			agent := Agent{Cluster: e.Cluster, Node: l.Get("node"), Address: l.Get("address"), Scheme: l.Get("scheme"), Version: l.Get("version")}
			if agent.Address == "" {
				agent.Address = l.Get("instance")
			}
			// An instance label may be relabelled to anything; only host:port can be dialled.
			if _, port, err := net.SplitHostPort(agent.Address); err != nil || port == "" {
				continue
			}
			agents = append(agents, agent)
		}
		return agents, nil
	})
}
