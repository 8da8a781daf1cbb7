package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// discovery is what Targets answered last.
type discovery struct {
	targets []Target
	given   map[place]Target // the same by place
	notices []gpu.Notice
	err     error
	at      time.Time     // of the answer; zero before the first
	asked   time.Time     // when that was asked for
	asking  chan struct{} // closed when the question under way is answered; nil when there is none

	outdated bool // there is more to tell than was told
}

// retryTargets is how soon Targets is asked again after an error.
const retryTargets = 5 * time.Second

// errLooking is that whoever waits for the first answer did not wait long enough.
var errLooking = errors.New("agents are still being looked for, because not every Prometheus has answered yet; live values follow when they have")

// askLimit is how long one call of Targets may take.
const askLimit = 20 * time.Second

// targets are those found, each with what its agent said it is called, and those that are connected though they are no
// longer found: a Prometheus that just restarted knows nobody. The caller holds mu.
func (h *Hub) targets() []Target {
	list := make([]Target, 0, len(h.found.targets))
	seen := make(map[place]bool, len(h.found.targets))
	for _, t := range h.found.targets {
		if seen[t.place()] {
			continue
		}
		seen[t.place()] = true
		if _, again := h.twin(t.place()); again {
			continue
		}
		list = append(list, h.named(t))
	}
	for at, n := range h.nodes {
		if !seen[at] && n.isConnected() {
			list = append(list, n.target())
		}
	}
	return list
}

// refound takes over what sources say of a node by now.
func (n *node) refound(t Target) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.given = t
	n.where.Found = t.Found
	if n.schema == nil {
		n.where.Node = cmp.Or(t.Node, n.where.Node)
		return
	}
	if n.name(n.schema.Wire) {
		n.schema = n.schema.named(n.where)
		n.said = false // it is about devices of another name
		n.tellState()
	}
}

func (n *node) isConnected() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state.Streams() || n.err != nil && n.err.Kind == KindSilent
}

// named is a target under the name that is known for it.
func (h *Hub) named(t Target) Target {
	if t.Node != "" && t.Cluster != "" {
		return t
	}
	if n, ok := h.nodes[t.place()]; ok {
		return n.target()
	}
	if past, ok := h.known[t.place()]; ok {
		past.status.Found, past.status.Node = t.Found, cmp.Or(t.Node, past.status.Node)
		return past.status.Target
	}
	return t
}

// watch starts the background refresh. The caller holds mu.
func (h *Hub) watch() {
	h.ask()
	if h.watching {
		return
	}
	h.watching = true
	h.running.Go(func() {
		// An answer may turn out to be incomplete, and then ask decides to go on sooner.
		ticker := time.NewTicker(min(h.cfg.TargetsEvery, retryTargets))
		defer ticker.Stop()
		for {
			select {
			case <-h.ctx.Done():
				return
			case <-h.cfg.TargetsChanged:
				h.mu.Lock()
				h.found.outdated = true
				h.mu.Unlock()
			case <-ticker.C:
			}
			h.mu.Lock()
			if len(h.nodes) == 0 && len(h.subs) == 0 {
				h.watching = false
				h.mu.Unlock()
				return
			}
			h.ask()
			h.mu.Unlock()
		}
	})
}

// pace is how long an answer of Targets is good for. The caller holds mu.
func (h *Hub) pace() time.Duration {
	if h.found.incomplete() {
		return min(h.cfg.TargetsEvery, retryTargets)
	}
	return h.cfg.TargetsEvery
}

// refresh waits for targets when there are none yet. An answer that is old is asked for again in the background.
func (h *Hub) refresh(ctx context.Context) error {
	h.mu.Lock()
	h.ask()
	asking, first := h.found.asking, h.found.at.IsZero()
	h.mu.Unlock()
	if asking != nil && first {
		select {
		case <-asking:
		case <-ctx.Done():
			return errLooking
		case <-h.ctx.Done():
			return ErrClosed
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.found.err
}

// ask calls Targets in the background, unless that is under way or was done just now. The caller holds mu.
func (h *Hub) ask() {
	select {
	case <-h.cfg.TargetsChanged:
		h.found.outdated = true
	default:
	}
	if h.closed || h.found.asking != nil || !h.found.at.IsZero() && !h.found.outdated && time.Since(h.found.asked) < h.pace() {
		return
	}
	asked := make(chan struct{})
	h.found.asking, h.found.asked, h.found.outdated = asked, time.Now(), false
	h.running.Go(func() {
		ctx, cancel := context.WithTimeout(h.ctx, askLimit)
		defer cancel()
		targets, notices, err := h.cfg.Targets(ctx)
		h.mu.Lock()
		defer h.mu.Unlock()
		defer close(asked)
		h.answer(targets, notices, err)
	})
}

// incomplete reports whether there may be more to find soon: a server did not answer, or has just started and scraped
// nobody yet.
func (d *discovery) incomplete() bool {
	return d.err != nil || len(d.targets) == 0 || warns(d.notices)
}

// answer takes what Targets said. The caller holds mu.
func (h *Hub) answer(targets []Target, notices []gpu.Notice, err error) {
	h.found.asking, h.found.at, h.found.notices, h.found.err = nil, time.Now(), notices, nil
	if h.closed {
		return
	}
	if err != nil {
		h.found.err = fmt.Errorf("find agents: %w", err)
		h.cfg.Logger.Warn("agents not found, going on with those found before", "agents", len(h.found.targets), "err", err)
		return
	}
	h.found.targets, h.found.given = targets, make(map[place]Target, len(targets))
	for _, t := range targets {
		h.found.given[t.place()] = t
		if n, ok := h.nodes[t.place()]; ok {
			n.refound(t)
		}
	}
	for at := range h.known {
		if _, listed := h.found.given[at]; !listed {
			delete(h.known, at)
		}
	}
	for at := range h.twins {
		if _, listed := h.found.given[at]; !listed {
			delete(h.twins, at)
		}
	}
	for at, n := range h.nodes {
		if _, listed := h.found.given[at]; listed || n.isConnected() {
			continue
		}
		for sub := range h.subs {
			if _, has := sub.nodes[n]; has {
				h.part(sub, n)
			}
		}
		if n.linger != nil {
			n.linger.Stop()
		}
		h.retire(n)
		delete(h.known, at)
	}
	for sub := range h.subs {
		h.attach(sub)
	}
}
