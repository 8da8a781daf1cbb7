package live

import (
	"context"
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// NowResult is what nodes say now.
type NowResult struct {
	Nodes   []NodeNow    // every node that matched, in the order of cluster and node
	Notices []gpu.Notice // what is missing and why
}

// NodeNow is what one node says now. Its parts are never written to.
type NodeNow struct {
	Status  NodeStatus
	Devices []gpu.Device // of Schema; nil before the first
	Schema  *Schema      // of Sample; nil before the first
	Sample  *wire.Sample // the newest; nil when there is none of these devices

	Events        []gpu.Event // since Select.Since, oldest first; of the newest thousand
	EventsDropped uint64      // events that were forgotten, by the agent or here, since it was connected to

	// The newest lists; nil when they are not known, because they were not asked for, did not come yet, or the agent is
	// too old to send them, of which there is a notice.
	Processes *Processes
	Owners    *Owners
}

// Now is what nodes say now: their newest samples, and what else the selection wishes. It connects to the nodes that
// match and are not connected, and waits for those and for lists that were not sent yet at most as long as the
// selection says, or ctx does. The nodes stay connected for a while.
func (h *Hub) Now(ctx context.Context, selected Select) NowResult {
	ctx, cancel := context.WithTimeout(ctx, selected.Wait)
	defer cancel()
	var result NowResult
	nodes, tooMany, err := h.look(ctx, selected, time.Time{})
	defer h.lookAway(nodes, selected)
	if err != nil {
		result.Notices = append(result.Notices, gpu.Notice{Severity: gpu.Warning, Text: sentence(err.Error())})
	}
	for _, n := range nodes {
		n.waitLists(ctx, selected)
	}
	var statuses []NodeStatus
	var without, silent []string
	for _, n := range nodes {
		now, matches, old := n.now(selected)
		if !matches {
			continue
		}
		result.Nodes, statuses = append(result.Nodes, now), append(statuses, now.Status)
		if old {
			without = append(without, now.Status.Target.String())
		}
		if selected.Events && now.untold() {
			silent = append(silent, now.Status.Target.String())
		}
	}
	slices.SortFunc(result.Nodes, func(a, b NodeNow) int { return compareNodes(a.Status, b.Status) })
	sortNodes(statuses)
	result.Notices = append(result.Notices, h.notices(statuses, tooMany)...)
	if len(without) > 0 {
		result.Notices = append(result.Notices, gpu.Notice{Severity: gpu.Warning, Text: "No list of processes or owners comes from " +
			list(without) + ": upgrade warpwatch-agent there, or enable it in its configuration."})
	}
	if len(silent) > 0 {
		result.Notices = append(result.Notices, gpu.Notice{Severity: gpu.Info, Text: "No events have come from " + list(silent) +
			", maybe because the agents there are too old to send them: upgrade warpwatch-agent there."})
	}
	return result
}

// untold reports whether the agent is connected, seems to be of before there were events, and has sent none.
func (n *NodeNow) untold() bool {
	return n.Status.State.Streams() && n.Status.MinPeriod == 0 && len(n.Events) == 0 && n.EventsDropped == 0
}

// waitLists waits for the lists that are wanted, as long as the agent can be expected to send them.
func (n *node) waitLists(ctx context.Context, selected Select) {
	if !n.waitSettled(ctx) || !selected.Processes && !selected.Owners {
		return
	}
	for {
		n.mu.Lock()
		missing := n.lacks(selected)
		left := listsIn - time.Since(n.listsAsked)
		if n.listsAsked.IsZero() {
			left = listsIn
		}
		up := n.conn != nil
		changed := n.changes()
		n.mu.Unlock()
		if !missing || left <= 0 || !up {
			return
		}
		timer := time.NewTimer(left)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
		case <-n.hub.ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil || n.hub.ctx.Err() != nil {
			return
		}
	}
}

// waitSettled waits until there is something to say about the node. It is false when ctx ended before.
func (n *node) waitSettled(ctx context.Context) bool {
	select {
	case <-n.settled:
		return true
	default:
	}
	select {
	case <-n.settled:
		return true
	case <-ctx.Done():
	case <-n.hub.ctx.Done():
	}
	return false
}

// lacks reports whether a list that is wanted never came. The caller holds mu.
func (n *node) lacks(selected Select) bool {
	return selected.Processes && n.beside.processes == nil || selected.Owners && n.beside.owners == nil
}

// now is what the node says now, whether it still matches, and whether its agent seems to know nothing of lists.
func (n *node) now(selected Select) (now NodeNow, matches, old bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !selected.matches(n.where) {
		return NodeNow{}, false, false
	}
	now = NodeNow{Status: n.status(), Schema: n.schema, EventsDropped: n.beside.dropped}
	if n.said {
		sample := n.ring.newest(n.schema)
		now.Sample = &sample
	}
	if n.schema != nil {
		now.Devices = n.schema.Devices
	}
	if selected.Events {
		now.Events = n.beside.since(selected.Since)
	}
	if selected.Processes {
		now.Processes = n.beside.processes
	}
	if selected.Owners {
		now.Owners = n.beside.owners
	}
	old = n.conn != nil && n.lacks(selected) && !n.listsAsked.IsZero() && time.Since(n.listsAsked) >= listsIn
	return now, true, old
}

// changes is closed at the next change of what a node has besides samples. The caller holds mu.
func (n *node) changes() <-chan struct{} {
	if n.changed == nil {
		n.changed = make(chan struct{})
	}
	return n.changed
}

// tell wakes those who wait for changes. The caller holds mu.
func (n *node) tell() {
	if n.changed != nil {
		close(n.changed)
		n.changed = nil
	}
}
