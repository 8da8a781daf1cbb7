package live

import "time"

// wish is what somebody wants of a node besides samples as the agent takes them.
type wish struct {
	period                    time.Duration
	events, processes, owners bool
}

func (s Select) wish() wish {
	return wish{period: s.Period.Truncate(time.Millisecond), events: s.Events, processes: s.Processes, owners: s.Owners}
}

// and is what satisfies both.
func (w wish) and(o wish) wish {
	if w.period == 0 || o.period > 0 && o.period < w.period {
		w.period = o.period
	}
	w.events, w.processes, w.owners = w.events || o.events, w.processes || o.processes, w.owners || o.owners
	return w
}

// maxFading bounds the wishes remembered of those who went.
const maxFading = 8

// wishes are those of all who look at a node, and, for as long as a node lingers, of those who went just now: a panel
// that is refreshed looks only for moments. Guarded by node.mu.
type wishes struct {
	live   map[wish]int
	fading map[wish]time.Time // until when
}

func (w *wishes) add(one wish) {
	if one == (wish{}) {
		return
	}
	if w.live == nil {
		w.live = make(map[wish]int)
	}
	w.live[one]++
}

// drop ends a wish that fades until then. It is false when there is nothing to fade.
func (w *wishes) drop(one wish, until time.Time) bool {
	if one == (wish{}) {
		return false
	}
	if w.live[one]--; w.live[one] <= 0 {
		delete(w.live, one)
	}
	if w.fading == nil {
		w.fading = make(map[wish]time.Time)
	}
	if _, ok := w.fading[one]; !ok && len(w.fading) >= maxFading {
		first := one
		for other, end := range w.fading {
			if first == one || end.Before(w.fading[first]) {
				first = other
			}
		}
		delete(w.fading, first)
	}
	w.fading[one] = until
	return true
}

// all is what satisfies everybody now.
func (w *wishes) all(now time.Time) wish {
	var sum wish
	for one := range w.live {
		sum = sum.and(one)
	}
	for one, until := range w.fading {
		if !now.Before(until) {
			delete(w.fading, one)
			continue
		}
		sum = sum.and(one)
	}
	return sum
}

// look adds the wishes of somebody who looks at the node, and at its samples from since on; zero: at the newest. The
// caller holds hub.mu.
func (n *node) look(selected Select, since time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wishes.add(selected.wish())
	if !since.IsZero() {
		n.want(since)
	}
	n.ask()
}

// lookAway takes them back. The agent is told a while later, unless somebody has looked again. The caller holds hub.mu.
func (n *node) lookAway(selected Select) {
	n.mu.Lock()
	defer n.mu.Unlock()
	linger := n.hub.cfg.Linger
	if !n.wishes.drop(selected.wish(), time.Now().Add(linger)) || n.fade != nil {
		return
	}
	n.fade = time.AfterFunc(linger, n.faded)
}

// faded asks for what is wanted now, and waits for the other wishes that fade.
func (n *node) faded() {
	n.hub.mu.Lock()
	defer n.hub.mu.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fade = nil
	if n.hub.closed || n.hub.nodes[n.place] != n {
		return
	}
	n.wishes.all(time.Now()) // forgets those that have faded, connected or not
	n.ask()
	var first time.Time
	for _, until := range n.wishes.fading {
		if first.IsZero() || until.Before(first) {
			first = until
		}
	}
	if !first.IsZero() {
		n.fade = time.AfterFunc(time.Until(first), n.faded)
	}
}

// ask sends the agent a new request when another one than before is wanted. Nobody waits for it. The caller holds
// mu, and hub.mu with the hub open or runs the node.
func (n *node) ask() {
	if now := time.Now(); n.conn == nil || n.asking || n.wishes.all(now) == n.asked && !n.shallow(now) {
		return
	}
	n.asking = true
	n.hub.running.Go(n.sendRequests)
}

// sendRequests sends requests until the newest is what is wanted.
func (n *node) sendRequests() {
	for {
		n.mu.Lock()
		conn, now := n.conn, time.Now()
		if conn == nil || n.hub.ctx.Err() != nil || n.wishes.all(now) == n.asked && !n.shallow(now) {
			n.asking = false
			n.mu.Unlock()
			return
		}
		if n.shallow(now) {
			n.beginRefill(now)
		}
		raw, err := n.request(now)
		n.mu.Unlock()
		if err == nil {
			err = conn.send(raw)
		}
		if err != nil {
			// The session finds the connection closed, and connects again with what is wanted then.
			conn.close()
			n.closed(conn)
		}
	}
}
