package live

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Hub holds the connections to the agents of one data source. All its methods may be called from any goroutine.
type Hub struct {
	cfg      Config
	accesses accesses
	slots    chan struct{} // one for each connection being made
	rings    rings
	columns  columnSets
	buffers  sync.Pool  // of *bytes.Buffer, for messages
	trimming sync.Mutex // one makes room at a time

	ctx     context.Context // of everything that runs here; ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex // before a node's mu
	closed   bool
	found    discovery
	nodes    map[place]*node
	known    map[place]memory
	twins    map[place]twin
	runs     map[run]*node // which node is of a run
	subs     map[*Subscription]struct{}
	watching bool // the background refresh runs
}

// memory is what is left of a node that nobody looks at any more.
type memory struct {
	status  NodeStatus
	devices []gpu.Device
	until   time.Time // when it was disconnected
}

// Select says which nodes, and for a window what of them.
type Select struct {
	// Match decides by the target. A static target has no Node before it was connected to for the first time: one that
	// may be meant must match then, and is asked about again when the name is known. Match must not call the hub.
	Match func(Target) bool
	// Metric is the canonical name of what a window has. A subscription has all metrics.
	Metric string
	// Since is the start of a window. A subscription hears of what the ring holds from then on first; zero: only of
	// the last sample.
	Since time.Time
	// Wait is how long a window waits at most for nodes that are not connected yet.
	Wait time.Duration
	// Period is a wish: how far apart samples should be where that is less than the agent's own period. An agent serves
	// the most eager of those who look, as far as it can, until a while after they went. 0: as the agent takes them.
	Period time.Duration
	// What else a subscription hears of, and Now has. Agents are asked for it only while somebody wishes it.
	Events, Processes, Owners bool
}

func (s Select) matches(t Target) bool { return s.Match == nil || s.Match(t) }

// NewHub makes a hub. It connects to nothing until somebody looks.
func NewHub(cfg Config) *Hub {
	cfg = cfg.withDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	h := &Hub{
		cfg: cfg, accesses: newAccesses(cfg), slots: make(chan struct{}, cfg.Parallel), ctx: ctx, cancel: cancel,
		nodes: make(map[place]*node), known: make(map[place]memory), twins: make(map[place]twin), runs: make(map[run]*node),
		subs: make(map[*Subscription]struct{}),
	}
	h.rings.limit = int64(cfg.TotalRingBytes)
	return h
}

// Close disconnects everything and ends all subscriptions with [ErrClosed]. It returns when nothing of the hub runs any more.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	subs := h.subs
	h.subs = nil
	for _, n := range h.nodes {
		n.stopTimers()
	}
	h.mu.Unlock()
	for sub := range subs {
		sub.end(ErrClosed)
	}
	h.cancel()
	h.running.Wait()
}

// Subscribe starts to hear of nodes. It returns at once; the nodes are connected to in the background. The caller must
// Close the subscription.
func (h *Hub) Subscribe(selected Select) *Subscription {
	sub := newSubscription(h, selected)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		sub.end(ErrClosed)
		close(sub.updates)
		close(sub.ended)
		return sub
	}
	h.subs[sub] = struct{}{}
	h.running.Go(sub.pump)
	h.watch()
	h.attach(sub)
	return sub
}

func (h *Hub) unsubscribe(sub *Subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.subs, sub)
	for n := range sub.nodes {
		h.part(sub, n)
	}
}

// attach makes a subscription hear of the nodes that match by now, and no longer of those that do not. The caller
// holds mu.
func (h *Hub) attach(sub *Subscription) {
	for n := range sub.nodes {
		if !sub.selected.matches(n.target()) {
			h.part(sub, n)
		}
	}
	for _, t := range h.targets() {
		if !sub.selected.matches(t) {
			continue
		}
		if n, ok := h.nodes[t.place()]; ok {
			if _, has := sub.nodes[n]; has {
				continue
			}
		}
		h.join(sub, t)
	}
}

// part is the other way round. The caller holds mu.
func (h *Hub) part(sub *Subscription, n *node) {
	delete(sub.nodes, n)
	n.detach(sub)
	n.lookAway(sub.selected)
	h.release(n)
}

// learned is called by a node that may have got a name.
func (h *Hub) learned(n *node) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.nodes[n.place] != n || h.untwin(n) {
		return
	}
	t := n.target()
	for sub := range h.subs {
		_, has := sub.nodes[n]
		switch matches := sub.selected.matches(t); {
		case has && !matches:
			h.part(sub, n)
		case matches && !has:
			h.join(sub, t)
		}
	}
}

// join makes a subscription hear of a node. The caller holds mu.
func (h *Hub) join(sub *Subscription, t Target) {
	n := h.acquire(t)
	if n == nil {
		return
	}
	sub.nodes[n] = struct{}{}
	n.look(sub.selected, sub.selected.Since)
	n.attach(sub)
}

// acquire looks at a node, which starts it if need be. It is nil when there are too many. The caller holds mu.
func (h *Hub) acquire(t Target) *node {
	n, ok := h.nodes[t.place()]
	if !ok {
		if h.closed || len(h.nodes) >= h.cfg.MaxNodes {
			return nil
		}
		n = newNode(h, t)
		if given, ok := h.found.given[n.place]; ok {
			n.given = given // without the name that it had when it was last connected to
		}
		ctx, cancel := context.WithCancel(h.ctx)
		n.cancel = cancel
		if past, ok := h.known[n.place]; ok && past.status.Err != nil && time.Since(past.until) < time.Minute {
			// It was in trouble just now. Let nobody wait for it, but tell when it is not.
			n.settle()
		}
		h.nodes[n.place] = n
		h.running.Go(func() { n.run(ctx) })
	}
	if n.linger != nil {
		n.linger.Stop()
		n.linger = nil
	}
	n.watchers++
	return n
}

// release no longer looks at a node. The caller holds mu.
func (h *Hub) release(n *node) {
	if n.watchers--; n.watchers > 0 || h.closed {
		return
	}
	n.linger = time.AfterFunc(h.cfg.Linger, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if n.watchers == 0 && h.nodes[n.place] == n {
			h.retire(n)
		}
	})
}

// retire disconnects a node and keeps what is worth it. The caller holds mu.
func (h *Hub) retire(n *node) {
	n.cancel()
	n.stopTimers()
	delete(h.nodes, n.place)
	h.endRun(n)
	status, devices := n.snapshot()
	status.State = Idle
	h.known[n.place] = memory{status: status, devices: devices, until: time.Now()}
}

// Devices are those of all schemas seen, in the order of their identities.
func (h *Hub) Devices() []gpu.Device {
	h.mu.Lock()
	defer h.mu.Unlock()
	var devices []gpu.Device
	for _, t := range h.targets() {
		devices = append(devices, h.remember(t).devices...)
	}
	slices.SortFunc(devices, func(a, b gpu.Device) int { return a.Compare(b.Identity) })
	return slices.CompactFunc(devices, func(a, b gpu.Device) bool { return a.Identity == b.Identity })
}

// Nodes are all targets with what is known of them, in the order of cluster and node. It connects to none. The error
// is that of finding the targets; those found before are there all the same.
func (h *Hub) Nodes(ctx context.Context) ([]NodeStatus, error) {
	err := h.refresh(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	var nodes []NodeStatus
	for _, t := range h.targets() {
		nodes = append(nodes, h.remember(t).status)
	}
	sortNodes(nodes)
	return nodes, err
}

func sortNodes(nodes []NodeStatus) {
	slices.SortFunc(nodes, compareNodes)
}

func compareNodes(a, b NodeStatus) int {
	return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Node, b.Node), strings.Compare(a.Address, b.Address))
}

// remember is what is known of a target. The caller holds mu.
func (h *Hub) remember(t Target) memory {
	if n, ok := h.nodes[t.place()]; ok {
		status, devices := n.snapshot()
		return memory{status: status, devices: devices}
	}
	m, ok := h.known[t.place()]
	if !ok {
		m.status = NodeStatus{Target: t, State: Idle}
	}
	m.status.Found = t.Found
	if _, refused := h.permit(t); refused != nil {
		m.status.State, m.status.Err = Refused, refused
	}
	return m
}
