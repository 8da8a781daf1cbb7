package plugin

import (
	"context"
	"errors"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// agentLister is who knows agents by their series.
type agentLister interface {
	Agents(ctx context.Context) ([]history.Agent, []gpu.Notice)
}

// discovery finds agents the way the settings say.
type discovery struct {
	agents settings.Agents
	lister agentLister
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
	agents, notices := d.lister.Agents(ctx)
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
