package plugin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// agentLister is who knows agents by their series.
type agentLister interface {
	Agents(ctx context.Context) ([]history.Agent, []gpu.Notice)
}

// discovery finds agents the way the settings say. It remembers those that Prometheus told of, because a server that
// is down must not make the agents disappear that stand in for it.
type discovery struct {
	agents settings.Agents
	lister agentLister

	mu   sync.Mutex
	told []history.Agent
}

// targets lists the agents, each once. With several ways to find one, the first that names it counts. The error is
// that nothing is known because no server answers.
func (d *discovery) targets(ctx context.Context) ([]live.Target, []gpu.Notice, error) {
	if d.agents.Discovery == settings.DiscoverOff {
		return nil, nil, nil
	}
	var found []live.Target
	seen := map[string]bool{}
	add := func(t live.Target) {
		if key := t.Cluster + groupSeparator + t.Address; !seen[key] {
			seen[key] = true
			found = append(found, t)
		}
	}
	for _, a := range d.agents.Static {
		add(live.Target{Cluster: a.Cluster, Address: a.Address, Scheme: d.agents.Scheme})
	}
	if d.agents.Discovery != settings.DiscoverPrometheus {
		return found, nil, nil
	}
	agents, notices := d.ask(ctx)
	for _, a := range agents {
		scheme := a.Scheme
		if scheme != "http" && scheme != "https" {
			scheme = d.agents.Scheme
		}
		add(live.Target{Cluster: a.Cluster, Node: a.Node, Address: a.Address, Scheme: scheme})
	}
	if len(found) == 0 && len(notices) > 0 {
		return nil, nil, errors.New(strings.TrimSuffix(strings.Join(textsOf(notices), " "), "."))
	}
	return found, notices, nil
}

// ask lists what Prometheus tells of now, and where a server failed also what was told before.
func (d *discovery) ask(ctx context.Context) ([]history.Agent, []gpu.Notice) {
	agents, notices := d.lister.Agents(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(notices) > 0 {
		for _, earlier := range d.told {
			if !slices.Contains(agents, earlier) {
				agents = append(agents, earlier)
			}
		}
	}
	d.told = agents
	return agents, notices
}
