package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// run is one run of an agent's process.
type run struct{ epoch, cluster, node string }

// runOf is the run that a schema is of, as the node is called here. It is false where the agent does not say.
func runOf(where Target, s *wire.Schema) (run, bool) {
	return run{s.GetEpoch(), where.Cluster, where.Node}, s.GetEpoch() != ""
}

// twin is an agent that is found under two addresses, such as its name and its number.
type twin struct {
	of    *node // the one that stays connected
	run   run
	again Target // the other
}

// twins are those known, by the place that is left alone. One holds as long as the other place is connected to the same run.
// The caller holds mu of the hub.
func (h *Hub) twin(at place) (twin, bool) {
	t, ok := h.twins[at]
	if !ok {
		return twin{}, false
	}
	if h.nodes[t.of.place] == t.of && t.of.is(t.run) {
		return t, true
	}
	delete(h.twins, at)
	return twin{}, false
}

// is reports whether a node is connected to a run.
func (n *node) is(r run) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.schema == nil || n.conn == nil {
		return false
	}
	now, ok := runOf(n.where, n.schema.Wire)
	return ok && now == r
}

// untwin leaves a node that has just been connected to alone when another one leads to the same run of an agent. Who
// looks at it looks at the other from now on. The caller holds mu.
func (h *Hub) untwin(n *node) (gone bool) {
	n.mu.Lock()
	if n.schema == nil {
		n.mu.Unlock()
		return false
	}
	r, ok := runOf(n.where, n.schema.Wire)
	where := n.where
	n.mu.Unlock()
	if !ok {
		return false
	}
	other := h.runs[r]
	if other == nil || other == n || h.nodes[other.place] != other || !other.is(r) {
		h.endRun(n)
		n.ofRun = r
		h.runs[r] = n
		return false
	}
	h.twins[n.place] = twin{of: other, run: r, again: where}
	h.cfg.Logger.Warn("agent is found twice, one connection to it is enough", "node", where.Node, "cluster", where.Cluster,
		"address", where.Address, "kept", other.place.address)
	for sub := range h.subs {
		if _, has := sub.nodes[n]; has {
			h.part(sub, n)
		}
		if _, has := sub.nodes[other]; !has && sub.selected.matches(other.target()) {
			h.join(sub, other.target())
		}
	}
	if n.watchers == 0 {
		if n.linger != nil {
			n.linger.Stop()
		}
		h.retire(n)
		delete(h.known, n.place)
	}
	return true
}

// endRun forgets which run a node was of. The caller holds mu.
func (h *Hub) endRun(n *node) {
	if h.runs[n.ofRun] == n {
		delete(h.runs, n.ofRun)
	}
}

// twinNotice says which agents are listed twice, "" when none is.
func (h *Hub) twinNotice(nodes []NodeStatus) (gpu.Notice, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for at := range h.twins {
		t, ok := h.twin(at)
		if ok && slices.ContainsFunc(nodes, func(n NodeStatus) bool { return n.place() == t.of.place }) {
			names = append(names, fmt.Sprintf("%s at %s and at %s", t.run.node, t.of.place.address, t.again.Address))
		}
	}
	if len(names) == 0 {
		return gpu.Notice{}, false
	}
	slices.SortFunc(names, strings.Compare)
	return gpu.Notice{Severity: gpu.Info, Text: "Agents are found under two addresses, of which one is read: " + list(names) +
		". List each once in the data source's settings."}, true
}
