package plugin

import (
	"cmp"
	"context"
	"net"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// agentLister is who knows agents by their series.
type agentLister interface {
	Agents(ctx context.Context) ([]history.Agent, []gpu.Notice)
}

// prometheusEvery is how often Prometheus is asked for agents while somebody looks.
const prometheusEvery = 30 * time.Second

// sources are the ways to find agents that the settings name. What somebody wrote down comes before what labels say,
// which whoever writes to Prometheus chooses. resolver is nil for the system's.
func sources(agents settings.Agents, lister agentLister, resolver *net.Resolver) []live.Source {
	if agents.Discovery == settings.DiscoverOff {
		return nil
	}
	var list []live.Source
	if len(agents.Static) > 0 {
		list = append(list, live.Source{Name: "static", Find: written(agents.Static)})
	}
	for _, f := range agents.Files {
		list = append(list, live.Source{Name: f.Name, Find: written(f.Agents)})
	}
	for _, d := range agents.DNS {
		list = append(list, live.Source{Name: d.Name, Every: d.Every, Find: live.FindByDNS(d.Name, d.Cluster, resolver)})
	}
	if agents.Discovery == settings.DiscoverPrometheus {
		list = append(list, live.Source{Name: "prometheus", Every: prometheusEvery, Find: scraped(lister)})
	}
	return list
}

// written are agents that the settings list.
func written(agents []settings.StaticAgent) func(context.Context) ([]live.Target, []gpu.Notice, error) {
	targets := make([]live.Target, len(agents))
	for i, a := range agents {
		targets[i] = live.Target{Cluster: a.Cluster, Node: a.Node, Address: a.Address, Scheme: a.Scheme}
	}
	return func(context.Context) ([]live.Target, []gpu.Notice, error) { return targets, nil, nil }
}

// scraped are agents that Prometheus scrapes.
func scraped(lister agentLister) func(context.Context) ([]live.Target, []gpu.Notice, error) {
	return func(ctx context.Context) ([]live.Target, []gpu.Notice, error) {
		agents, notices := lister.Agents(ctx)
		targets := make([]live.Target, len(agents))
		for i, a := range agents {
			targets[i] = live.Target{Cluster: a.Cluster, Node: a.Node, Address: a.Address}
			if a.Scheme == "http" || a.Scheme == "https" {
				targets[i].Scheme = a.Scheme
			}
		}
		if len(targets) == 0 {
			return nil, notices, ctx.Err()
		}
		return targets, notices, nil
	}
}

// schemes gives each target the scheme that it is reached by: its group's, or else what was found, or else that of the
// agents in no group.
func schemes(agents settings.Agents, groups []live.Group, targets []live.Target) []live.Target {
	for i := range targets {
		t := &targets[i]
		host, _, err := net.SplitHostPort(t.Address)
		if err == nil {
			for j, g := range groups {
				if g.Hosts.Covers(host) {
					t.Scheme = cmp.Or(agents.Groups[j].Scheme, t.Scheme)
					break
				}
			}
		}
		t.Scheme = cmp.Or(t.Scheme, agents.Scheme)
	}
	return targets
}
