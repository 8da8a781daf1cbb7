package live

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/grafana/dskit/backoff"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// Times of the reconnect loop. From a node that is gone it makes eight attempts in the first minute, then two.
const (
	minBackoff = 500 * time.Millisecond
	maxBackoff = 30 * time.Second
	// steady is how long a connection must have stood for the next attempt to come soon again.
	steady = 30 * time.Second
)

// futureLimit is how far ahead of now a sample may be after its time was corrected: what is tolerated, and what
// rounding the correction leaves.
const futureLimit = 2 * tolerated

// node is one agent that is looked at. One goroutine runs its connection; the fields under mu are shared.
type node struct {
	hub    *Hub
	place  place
	cancel context.CancelFunc

	watchers int         // guarded by hub.mu
	linger   *time.Timer // guarded by hub.mu; runs while there are no watchers
	ofRun    run         // guarded by hub.mu; the newest that it was known to be of

	mu       sync.Mutex
	given    Target // as discovery says it
	where    Target // with the node's name, as soon as it is known
	state    State
	since    time.Time
	err      *Error
	schema   *Schema
	seq      uint64 // newest sample of the schema's epoch
	clock    clock
	drops    Drops
	ring     ring
	said     bool      // the ring's newest sample is of the schema's columns
	newest   time.Time // agent's time of the newest sample
	again    uint64    // up to this one samples may come again, because they were asked for again
	lag      lag
	reach    reach
	arrived  time.Time // of the newest sample, or of the schema
	settled  chan struct{}
	isSettle bool
	subs     map[*Subscription]struct{}

	beside  beside
	changed chan struct{} // closed when beside changes; nil when nobody waits for that

	wishes     wishes
	fade       *time.Timer // runs while wishes fade
	conn       *socket     // that requests can be sent on; nil when there is none
	asked      wish        // by the newest request on conn
	asking     bool        // requests are being sent
	listsAsked time.Time   // when a list was first asked for on conn
}

func newNode(h *Hub, t Target) *node {
	return &node{
		hub: h, place: t.place(), given: t, where: t, state: Connecting, since: time.Now(),
		ring: newRing(&h.rings, h.cfg.RingBytes, h.cfg.Keep), settled: make(chan struct{}),
		subs: make(map[*Subscription]struct{}),
	}
}

// run keeps the node connected until ctx ends.
func (n *node) run(ctx context.Context) {
	defer n.forget()
	retry := newRetry(ctx)
	for {
		s := n.begin(ctx)
		if s == nil {
			return
		}
		err := s.run(ctx)
		if ctx.Err() != nil {
			return
		}
		n.failed(err)
		if s.steady() {
			retry.Reset()
		}
		retry.Wait()
	}
}

func newRetry(ctx context.Context) *backoff.Backoff {
	return backoff.New(ctx, backoff.Config{MinBackoff: minBackoff, MaxBackoff: maxBackoff})
}

// forget gives back the room that the node's samples take.
func (n *node) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dropRefill()
	n.ring.clear()
}

func (n *node) target() Target {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.where
}

// position is where the next stream is to continue. The caller holds mu.
func (n *node) position() (epoch string, seq uint64) {
	if n.schema == nil || n.seq == 0 {
		return "", 0
	}
	return n.schema.Wire.GetEpoch(), n.seq
}

// stopTimers ends what would happen later. The caller holds hub.mu.
func (n *node) stopTimers() {
	if n.linger != nil {
		n.linger.Stop()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fade != nil {
		n.fade.Stop()
	}
}

// adopt takes a schema and the agent's clock in it. first is whether it answers the request that was sent at that time.
// It returns the schema that the samples are of, and whether the node has another name than before.
func (n *node) adopt(schema *wire.Schema, agent, sent, arrived time.Time, first bool) (adopted *Schema, renamed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.schema == nil || n.schema.Wire.GetEpoch() != schema.GetEpoch() {
		n.seq, n.beside.seq = 0, 0
	}
	renamed = n.name(schema)
	next := n.schema.next(n.where, schema, &n.hub.columns)
	if !next.SameColumns(n.schema) {
		// What was last said is not about the devices there are now.
		n.said = false
	}
	n.schema = next
	if first {
		n.clock.exchange(agent, sent, arrived)
	} else {
		n.clock.bound(agent, arrived, n.schema.Period())
	}
	n.arrived, n.reach.answers = arrived, true
	if !first {
		n.again = n.seq
	}
	if renamed && n.state == Connected {
		n.tellState()
	}
	n.setState(Connected, nil)
	return n.schema, renamed
}

// name calls the node what discovery does, and else what its agent does by now. The caller holds mu.
func (n *node) name(schema *wire.Schema) (renamed bool) {
	before := n.where
	n.where.Node = cmp.Or(n.given.Node, schema.GetNode(), before.Node)
	n.where.Cluster = cmp.Or(n.given.Cluster, schema.GetCluster(), before.Cluster)
	if n.where == before {
		return false
	}
	if before.Node != "" {
		n.hub.cfg.Logger.Info("agent's node has another name", "before", before.Node, "node", n.where.Node, "cluster", n.where.Cluster,
			"address", n.where.Address)
	}
	return true
}

func (n *node) heartbeat(agent, arrived time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	period := n.schema.Period()
	n.clock.bound(agent, arrived, period)
	n.settle()
	n.ask()
	n.refilled(false, arrived)
	if silence := arrived.Sub(n.arrived); silence > max(3*period, 3*time.Second) {
		n.setState(Stale, &Error{
			Target: n.where, Kind: KindSilent, What: "it is connected but has sent no samples for " + silence.Round(time.Second).String(),
			Remedy: "look at the agent's log",
		})
	}
}

func (n *node) repeated() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drops.Repeated++
}

func (n *node) reordered() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drops.Reordered++
}

// take puts the sample that the session's state holds where it belongs.
func (n *node) take(s *session, head wire.Head, arrived time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.reach.older != nil {
		if head.Seq <= n.seq && n.reach.answers {
			n.refill(s.sample(head), arrived)
			return
		}
		n.refilled(head.Seq > n.seq, arrived)
	}
	if head.Seq <= n.seq {
		if head.Seq > n.again {
			n.drops.Repeated++
		}
		return
	}
	missed := uint64(0)
	if n.seq != 0 {
		missed = head.Seq - n.seq - 1
		n.drops.Missed += missed
	}
	n.seq = head.Seq

	taken, live := head.Time, s.fresh
	switch back := live && taken.Before(n.newest); {
	case !live:
		s.settle(n.clock.correct(taken), arrived)
	case back:
		n.clock.jumpedBack(taken, arrived)
	default:
		n.clock.bound(taken, arrived, s.period)
	}
	n.newest = taken
	head.Time = n.clock.correct(taken)
	if head.Time.After(arrived.Add(futureLimit)) {
		n.drops.Future++
		return
	}
	if !n.ring.addState(n.schema, head.Seq, head.Time, s.state) {
		n.drops.Late++
		return
	}
	n.said, n.arrived = true, arrived
	if live {
		n.lag.take(missed, n.clock.offset-taken.Sub(arrived), s.period, arrived)
	}
	if what := n.lag.what(arrived); what != "" {
		n.setState(Lagging, &Error{Target: n.where, Kind: KindSlow, What: what, Remedy: "look at the network between, and at the load here and there"})
	} else {
		n.setState(Connected, nil)
	}
	// A first stream starts with minutes out of the agent's ring, which are history to a subscriber. Later ones fill a hole.
	if s.fresh || s.resumed {
		n.hand(s, head)
	}
}

// hand gives the sample that the session's state holds to the subscribers. The caller holds mu.
func (n *node) hand(s *session, head wire.Head) {
	if len(n.subs) == 0 {
		return
	}
	u := Update{Target: n.where, Schema: n.schema, Sample: s.sample(head)}
	for sub := range n.subs {
		if !sub.offer(n, u, s.fresh) {
			n.drops.Unheard++
		}
	}
}

// caughtUp says that the ring is filled up to now.
func (n *node) caughtUp() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settle()
	n.ask()
}

func (n *node) failed(err *Error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.setState(err.state(), err)
	n.settle()
}

// settle says that there is something to say: samples of now, or an error. The caller holds mu.
func (n *node) settle() {
	if !n.isSettle {
		n.isSettle = true
		close(n.settled)
	}
}

// setState tells the log and the subscribers of a change. The caller holds mu.
func (n *node) setState(state State, err *Error) {
	same := n.state == state && (n.err == nil) == (err == nil) && (err == nil || n.err.Kind == err.Kind)
	n.err = err
	if same {
		return
	}
	n.state, n.since = state, time.Now()
	if err != nil {
		n.hub.cfg.Logger.Warn("agent has trouble, its values stay away until it is reached again",
			"node", n.where.Node, "cluster", n.where.Cluster, "state", string(state), "kind", string(err.Kind), "err", err.Error())
	} else {
		n.hub.cfg.Logger.Info("agent connected", "node", n.where.Node, "cluster", n.where.Cluster, "address", n.where.Address,
			"version", n.schema.Wire.GetAgentVersion(), "devices", len(n.schema.Devices))
	}
	n.tellState()
}

// tellState tells the subscribers the node's state. The caller holds mu.
func (n *node) tellState() {
	status := n.status()
	for sub := range n.subs {
		sub.offerStatus(n, status)
	}
}

// status is the node's. The caller holds mu.
func (n *node) status() NodeStatus {
	s := NodeStatus{
		Target: n.where, State: n.state, Since: n.since,
		ClockOffset: n.clock.offset, Correction: n.clock.correction, Drops: n.drops,
	}
	if n.err != nil {
		s.Err = n.err
	}
	if n.schema != nil {
		s.AgentVersion, s.Source = n.schema.Wire.GetAgentVersion(), n.schema.Wire.GetSource()
		s.Period, s.Devices = n.schema.Period(), len(n.schema.Devices)
		s.MinPeriod = time.Duration(n.schema.Wire.GetMinPeriodMs()) * time.Millisecond
		s.LastSeen = n.arrived
	}
	return s
}

// snapshot is the node's status and its devices.
func (n *node) snapshot() (NodeStatus, []gpu.Device) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.schema == nil {
		return n.status(), nil
	}
	return n.status(), n.schema.Devices
}

// attach makes a subscription hear of the node: its state and its last sample at once, or its samples from since on.
func (n *node) attach(sub *Subscription) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.subs[sub] = struct{}{}
	if n.state != Connecting {
		sub.offerStatus(n, n.status())
	}
	n.attachBeside(sub)
	if since := sub.selected.Since; !since.IsZero() {
		n.ring.samples(since.UnixMilli(), func(schema *Schema, sample wire.Sample) {
			sub.offer(n, Update{Target: n.where, Schema: schema, Sample: sample}, false)
		})
		return
	}
	if n.said {
		sub.offer(n, Update{Target: n.where, Schema: n.schema, Sample: n.ring.newest(n.schema)}, true)
	}
}

func (n *node) detach(sub *Subscription) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.subs, sub)
	sub.forget(n)
}
