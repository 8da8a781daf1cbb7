package history

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

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

// agentGrace is how long the agents that some servers know wait for those of the others.
const agentGrace = 2 * time.Second

// Agents lists the agents that the servers scrape now, by warpwatch_agent_info. An agent that advertises no address is
// at the one it is scraped at. The notices tell of servers that failed, and of those that were not waited for because
// others had answered: what they know is there for the next call. Meanwhile what each of these told last counts, because
// a server that is down must not make the agents disappear that stand in for it.
func (h *History) Agents(ctx context.Context) ([]Agent, []gpu.Notice) {
	outcomes := h.agentsSoon(ctx)
	good, notices, err := split(outcomes)
	if err != nil {
		notices = []gpu.Notice{{Severity: gpu.Warning, Text: "Prometheus cannot be asked for agents: " + err.Error() + "."}}
	}
	var all []Agent
	seen := map[[2]string]bool{}
	add := func(agents []Agent) {
		for _, a := range agents {
			if key := [2]string{a.Cluster, a.Address}; !seen[key] {
				seen[key] = true
				all = append(all, a)
			}
		}
	}
	covered := map[string]bool{} // clusters of which a replica answered
	for _, o := range good {
		add(o.value)
		covered[o.endpoint.Cluster] = covered[o.endpoint.Cluster] || o.endpoint.Replica
	}
	for _, o := range outcomes {
		if told := o.endpoint.told.Load(); o.err != nil && told != nil && !(o.endpoint.Replica && covered[o.endpoint.Cluster]) {
			add(*told)
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

// agentsSoon asks every server, and waits for all as long as none has answered, but only a short time for the last.
func (h *History) agentsSoon(ctx context.Context) []outcome[[]Agent] {
	outcomes := make([]outcome[[]Agent], len(h.endpoints))
	ready := make(chan int, len(h.endpoints))
	enough := make(chan struct{})
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer close(enough)
	loads := make([]*entry[[]Agent], len(h.endpoints))
	for i, e := range h.endpoints {
		loads[i] = e.agents.begin(h.options.Tenant(ctx), inventoryTTL, func(load func(context.Context)) bool {
			return h.background.run(ctx, load)
		}, e.listAgents)
		waiting.Go(func() {
			select {
			case <-loads[i].done:
				ready <- i
			case <-enough:
			}
		})
	}
	grace := time.NewTimer(agentGrace)
	defer grace.Stop()
	late, someAnswered := false, false
	for left := len(loads); left > 0 && ctx.Err() == nil && !(late && someAnswered); {
		select {
		case i := <-ready:
			left--
			outcomes[i] = outcome[[]Agent]{h.endpoints[i], loads[i].value, h.endpoints[i].asError(ctx, loads[i].err)}
			someAnswered = someAnswered || loads[i].err == nil
		case <-grace.C:
			late = true
		case <-ctx.Done():
		}
	}
	for i, e := range h.endpoints {
		if outcomes[i].endpoint == nil {
			err := &Error{Endpoint: e.ID, Kind: KindTimeout, Message: "has not answered yet; the agents that it knows are added as soon as it does"}
			if ctx.Err() != nil {
				err = e.transportError(ctx, ctx.Err())
			}
			outcomes[i] = outcome[[]Agent]{endpoint: e, err: err}
		}
	}
	return outcomes
}

func (e *endpoint) listAgents(ctx context.Context) ([]Agent, error) {
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
	e.told.Store(&agents)
	return agents, nil
}
