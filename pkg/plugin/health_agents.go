package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

const (
	// agentsWait is how long agents have to answer within a check.
	agentsWait = 5 * time.Second
	// agentsTried is how many agents a check connects to. More would say nothing new.
	agentsTried = 32
	// versionsNamed is how many versions of agents a check names.
	versionsNamed = 8
)

// agentCheck is what came of trying agents.
type agentCheck struct {
	known     int
	tried     []live.NodeStatus
	connected int
	devices   int // physical GPUs
	refused   int // of those that were not tried: they would not be connected to
	err       error
	notices   []gpu.Notice
}

func (d *Datasource) checkAgents(ctx context.Context) agentCheck {
	var c agentCheck
	if d.settings.Agents.Discovery == settings.DiscoverOff {
		return c
	}
	known, err := d.live.Nodes(ctx)
	c.known, c.err = len(known), err
	chosen := map[string]bool{}
	for _, n := range spread(known, agentsTried) {
		chosen[n.Cluster+groupSeparator+n.Address] = true
	}
	for _, n := range known {
		if n.State == live.Refused && !chosen[n.Cluster+groupSeparator+n.Address] {
			c.refused++
		}
	}
	got := d.live.Window(ctx, live.Select{
		Match: func(t live.Target) bool { return chosen[t.Cluster+groupSeparator+t.Address] }, Since: d.now(), Wait: agentsWait,
	})
	c.tried, c.notices = got.Nodes, got.Notices
	for _, n := range c.tried {
		if n.State.Streams() {
			c.connected++
		}
	}
	for _, device := range d.live.Devices() {
		if !device.IsMIG() {
			c.devices++
		}
	}
	return c
}

// versions lists which agent versions are in use.
func versions(nodes []live.NodeStatus) []string {
	count := map[string]int{}
	var order []string
	for _, n := range nodes {
		if n.AgentVersion == "" {
			continue
		}
		if count[n.AgentVersion] == 0 {
			order = append(order, n.AgentVersion)
		}
		count[n.AgentVersion]++
	}
	var parts []string
	for i, v := range order {
		if i == versionsNamed {
			parts = append(parts, fmt.Sprintf("%d others", len(order)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s on %d", v, count[v]))
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"Agent versions: " + strings.Join(parts, ", ") + " nodes."}
}

// spread takes some from all over a list.
func spread(nodes []live.NodeStatus, most int) []live.NodeStatus {
	if len(nodes) <= most {
		return nodes
	}
	some := make([]live.NodeStatus, most)
	for i := range some {
		some[i] = nodes[i*len(nodes)/most]
	}
	return some
}

// clocks says how far the clocks of agents are from the plugin's.
func clocks(nodes []live.NodeStatus) []string {
	var seen []live.NodeStatus
	for _, n := range nodes {
		if n.AgentVersion != "" {
			seen = append(seen, n)
		}
	}
	if len(seen) == 0 {
		return nil
	}
	worst := slices.MaxFunc(seen, func(a, b live.NodeStatus) int { return int(a.ClockOffset.Abs() - b.ClockOffset.Abs()) })
	text := fmt.Sprintf("Clocks of agents: at most %s off", worst.ClockOffset.Abs().Round(time.Millisecond))
	if worst.ClockOffset.Abs() >= time.Millisecond {
		side := "ahead"
		if worst.ClockOffset < 0 {
			side = "behind"
		}
		text += fmt.Sprintf(" (%s is %s)", worst.Target, side)
	}
	return []string{text + "."}
}

// sourceLines say of each source of agents how many it names, or why it does not.
func (d *Datasource) sourceLines() []string {
	var lines []string
	for _, s := range d.sources() {
		text := fmt.Sprintf("Agents by %s: %d found", s.Name, s.Found)
		switch {
		case s.Err != nil && s.At.IsZero():
			text = fmt.Sprintf("Agents by %s: %s", s.Name, strings.TrimSuffix(s.Err.Error(), "."))
		case s.Err != nil:
			text += fmt.Sprintf(" at %s; since then: %s", s.At.UTC().Format("15:04:05 UTC"), strings.TrimSuffix(s.Err.Error(), "."))
		case s.At.IsZero():
			text = fmt.Sprintf("Agents by %s: no answer yet", s.Name)
		}
		lines = append(lines, text+".")
	}
	return lines
}

func (d *Datasource) sources() []live.SourceStatus {
	if d.finder == nil {
		return nil
	}
	return d.finder.Sources()
}
