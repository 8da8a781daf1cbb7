package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

const (
	// leastReach is how much of an agent's ring is asked for at least.
	leastReach = 30 * time.Second
	// refillLimit is how long an agent may take to send older samples.
	refillLimit = 15 * time.Second
	// trimmedFor is how long samples that were dropped for want of room are not asked for again.
	trimmedFor = time.Minute
)

// reach is how far back a node's samples are held, and wanted. Agents have rings of their own, so the hub holds only
// what somebody asked for. Guarded by node.mu.
type reach struct {
	wanted  time.Time // from when on somebody wanted samples
	held    time.Time // from when on all that the agent has was asked for; zero: nothing was
	trimmed time.Time // when samples were dropped for want of room; zero: never
	read    time.Time // when the ring was last read

	older   *ring // samples before those of the ring, while they come; nil when none were asked for
	since   time.Time
	begun   time.Time // when they were asked for
	answers bool      // a schema came since
	seen    bool      // and samples
}

// want makes the node hold samples from since on, if the agent has them. The caller holds mu.
func (n *node) want(since time.Time) {
	if n.reach.wanted.IsZero() || since.Before(n.reach.wanted) {
		n.reach.wanted = since
	}
}

// start is from when on samples are to be asked for at a time. The caller holds mu.
func (n *node) start(now time.Time) time.Time {
	least, most := now.Add(-leastReach), now.Add(-n.hub.cfg.Keep)
	start := n.reach.wanted
	if start.IsZero() || start.After(least) {
		start = least
	}
	if !n.ring.empty() {
		// What happened while there was no connection.
		if last := time.UnixMilli(n.ring.last); last.Before(start) {
			start = last
		}
	}
	if start.Before(most) {
		start = most
	}
	return start
}

// shallow reports whether older samples are to be asked for now. The caller holds mu.
func (n *node) shallow(now time.Time) bool {
	return n.isSettle && n.seq != 0 && n.reach.older == nil && !n.reach.held.IsZero() &&
		n.start(now).Add(tolerated).Before(n.reach.held) && !n.trimmedJustNow(now)
}

func (n *node) trimmedJustNow(now time.Time) bool {
	return !n.reach.trimmed.IsZero() && (now.Sub(n.reach.trimmed) < trimmedFor || n.hub.rings.crowded())
}

// beginRefill makes place for older samples. The caller holds mu.
func (n *node) beginRefill(now time.Time) {
	older := newRing(n.ring.shared, n.ring.budget, n.ring.keep)
	n.reach.older, n.reach.since, n.reach.begun, n.reach.answers, n.reach.seen = &older, n.start(now), now, false, false
}

// refilled ends waiting for older samples when a newer one comes after them, or when the agent took too long. The caller
// holds mu.
func (n *node) refilled(newer bool, now time.Time) {
	r := &n.reach
	if r.older != nil && (newer && r.seen || now.Sub(r.begun) > refillLimit) {
		n.endRefill()
	}
}

// dropRefill no longer waits for older samples. The caller holds mu.
func (n *node) dropRefill() {
	if n.reach.older != nil {
		n.reach.older.clear()
		n.reach.older = nil
	}
}

// refill takes a sample that the ring had, or that is older. The caller holds mu.
func (n *node) refill(sample wire.Sample, arrived time.Time) {
	r := &n.reach
	r.seen = true
	at := n.clock.correct(sample.Time)
	if n.ring.empty() || at.UnixMilli() < n.ring.oldest() && !n.ring.has(n.schema, sample.Seq) {
		if !at.After(arrived.Add(futureLimit)) {
			sample.Time = at
			r.older.add(n.schema, sample)
		}
	}
	if sample.Seq >= n.seq {
		n.endRefill()
	}
}

// has reports whether a sample of the same run of the agent is not before the oldest.
func (r *ring) has(schema *Schema, seq uint64) bool {
	if len(r.chunks) > 0 {
		oldest := r.chunks[0]
		return oldest.schema.Wire.GetEpoch() == schema.Wire.GetEpoch() && int64(seq) >= oldest.number
	}
	return r.open.Wire.GetEpoch() == schema.Wire.GetEpoch() && int64(seq) >= r.block.firstNumber()
}

// endRefill puts the older samples where they belong. The caller holds mu.
func (n *node) endRefill() {
	r := &n.reach
	n.ring.prepend(r.older)
	r.older = nil
	r.held = r.since
	n.tell()
}

// waitReach waits until samples from since on are held, or it is clear that they will not come.
func (n *node) waitReach(ctx context.Context) {
	timer := time.NewTimer(refillLimit)
	defer timer.Stop()
	for {
		n.mu.Lock()
		waits := n.conn != nil && (n.reach.older != nil || n.shallow(time.Now()))
		changed := n.changes()
		n.mu.Unlock()
		if !waits {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		case <-n.hub.ctx.Done():
			return
		}
	}
}

// lost is from when on samples are held, when some after since were dropped for want of room. The caller holds mu.
func (n *node) lost(since time.Time) (from time.Time, lost bool) {
	if n.reach.trimmed.IsZero() {
		return time.Time{}, false
	}
	if n.ring.empty() {
		return time.Now(), true
	}
	from = time.UnixMilli(n.ring.oldest())
	return from, from.After(since.Add(tolerated)) && from.After(time.Now().Add(-n.hub.cfg.Keep))
}

// roomNotice says that samples are missing because the rings are full.
func (h *Hub) roomNotice(nodes []string, from time.Time) gpu.Notice {
	return gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf("Live samples before %s of %s were dropped because all of the %d MiB for live samples are taken: "+
		"choose fewer nodes, or a shorter range.", from.UTC().Format("15:04:05 UTC"), list(nodes), h.cfg.TotalRingBytes>>20)}
}

// makeRoom drops samples until the rings are within their budget: the oldest of the nodes that were read longest ago
// first. The caller holds nothing.
func (h *Hub) makeRoom() {
	if !h.trimming.TryLock() {
		return
	}
	defer h.trimming.Unlock()
	h.mu.Lock()
	nodes := make([]*node, 0, len(h.nodes))
	for _, n := range h.nodes {
		nodes = append(nodes, n)
	}
	h.mu.Unlock()

	type victim struct {
		node  *node
		read  int64 // in half minutes, so that nodes read by the same dashboards share
		until int64
	}
	var victims []victim
	for _, n := range nodes {
		n.mu.Lock()
		read := n.reach.read.Unix() / 30
		for i := range n.ring.chunks {
			victims = append(victims, victim{n, read, n.ring.chunks[i].last})
		}
		if n.ring.open != nil {
			victims = append(victims, victim{n, read, n.ring.last})
		}
		n.mu.Unlock()
	}
	slices.SortFunc(victims, func(a, b victim) int { return cmp.Or(cmp.Compare(a.read, b.read), cmp.Compare(a.until, b.until)) })
	goal := h.rings.limit - h.rings.limit/16
	for _, v := range victims {
		if h.rings.used.Load() <= goal {
			return
		}
		v.node.trim(v.until)
	}
}

// trim drops the oldest samples up to a time.
func (n *node) trim(until int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reach.trimmed = time.Now()
	gone := 0
	for gone < len(n.ring.chunks) && n.ring.chunks[gone].last <= until {
		gone++
	}
	n.ring.cut(gone)
	if len(n.ring.chunks) == 0 && n.ring.open != nil && n.ring.last <= until {
		n.ring.open, n.ring.block.data = nil, nil
	}
	n.reach.held = time.Now()
	if !n.ring.empty() {
		n.reach.held = time.UnixMilli(n.ring.oldest())
	}
	n.ring.account(n.ring.size())
}
