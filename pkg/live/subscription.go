package live

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// ErrClosed is why a subscription ended when its hub was closed.
var ErrClosed = errors.New("the data source was changed or removed; a new stream has its new settings")

// Update is one thing that happened on a node: a sample, a change of its state, or, where the selection wishes it,
// events or a new list. It is complete in itself. What is handed out is never written to.
type Update struct {
	Target Target // with the node's name

	Schema *Schema // of Sample; nil for what is no sample
	Sample wire.Sample
	// Dropped is how many samples of this node the subscriber lost just before this one because it was too slow.
	Dropped uint64

	Status *NodeStatus // the new state; nil for the others

	Events    []gpu.Event // that happened, oldest first
	Processes *Processes  // a new list
	Owners    *Owners     // a new list
}

// Subscription hears of every sample of the nodes it selected, those that appear later included. One that does not
// keep up loses the oldest samples, node by node, and never the newest.
//
// On each node's first update it is told the state if that is known, and the last sample there is.
type Subscription struct {
	hub      *Hub
	selected Select
	began    time.Time
	nodes    map[*node]struct{} // guarded by hub.mu

	updates chan Update
	wake    chan struct{}
	done    chan struct{}
	stop    sync.Once
	ended   chan struct{}

	mu      sync.Mutex
	busy    bool // pump has an update in its hand, which comes before others
	closed  bool // updates is
	queues  map[*node]*queue
	order   []*queue // whose turn it is, one entry for each queued update
	err     error
	dropped uint64
}

// queue is what one node has for a subscriber.
type queue struct {
	status  *NodeStatus
	samples []Update
	dropped uint64 // since the newest sample handed out
	past    int    // how many may wait while those of the past do

	target    Target // of what follows
	events    []gpu.Event
	processes *Processes
	owners    *Owners
}

func newSubscription(h *Hub, selected Select) *Subscription {
	return &Subscription{
		hub: h, selected: selected, began: time.Now(), nodes: make(map[*node]struct{}), updates: make(chan Update),
		wake: make(chan struct{}, 1), done: make(chan struct{}), ended: make(chan struct{}), queues: make(map[*node]*queue),
	}
}

// C is where updates come. It is closed when the subscription ends; [Subscription.Err] then says why.
func (s *Subscription) C() <-chan Update { return s.updates }

// Err is why the subscription ended: nil while it runs and after Close, [ErrClosed] when the hub was closed.
func (s *Subscription) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Dropped is how many samples and events were lost because the subscriber was too slow.
func (s *Subscription) Dropped() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// Close ends the subscription. It may be called several times and from any goroutine.
func (s *Subscription) Close() {
	s.hub.unsubscribe(s)
	s.end(nil)
	<-s.ended
}

func (s *Subscription) end(why error) {
	s.stop.Do(func() {
		s.mu.Lock()
		s.err = why
		s.mu.Unlock()
		close(s.done)
	})
}

// pump moves updates from the queues to the channel. It is the only one that sends.
func (s *Subscription) pump() {
	defer close(s.ended)
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed = true
		close(s.updates)
	}()
	for {
		u, ok := s.next()
		if !ok {
			select {
			case <-s.wake:
				continue
			case <-s.done:
				return
			}
		}
		select {
		case s.updates <- u:
		case <-s.done:
			return
		}
	}
}

func (s *Subscription) next() (Update, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = true
	for len(s.order) > 0 {
		q := s.order[0]
		s.order[0] = nil
		s.order = s.order[1:]
		switch {
		case q.status != nil:
			u := Update{Target: q.status.Target, Status: q.status}
			q.status = nil
			return u, true
		case len(q.samples) > 0:
			u := q.samples[0]
			q.samples[0] = Update{}
			if q.samples = q.samples[1:]; len(q.samples) == 0 {
				q.samples = nil
			}
			u.Dropped, q.dropped = q.dropped, 0
			return u, true
		case len(q.events) > 0:
			u := Update{Target: q.target, Events: q.events}
			q.events = nil
			return u, true
		case q.processes != nil:
			u := Update{Target: q.target, Processes: q.processes}
			q.processes = nil
			return u, true
		case q.owners != nil:
			u := Update{Target: q.target, Owners: q.owners}
			q.owners = nil
			return u, true
		}
	}
	s.busy = false
	return Update{}, false
}

// pastTicks is how many samples of a node are held for a subscriber that is told of the past: they come at once.
const pastTicks = 10_000

// offer is false when an older sample had to go for it. live is whether it is of now.
func (s *Subscription) offer(n *node, u Update, live bool) (kept bool) {
	s.mu.Lock()
	if live && s.handOver(u) {
		s.mu.Unlock()
		return true
	}
	q := s.queue(n)
	most := s.hub.cfg.QueueTicks
	if !live {
		q.past = pastTicks
	} else if len(q.samples) < most {
		q.past = 0
	}
	kept = len(q.samples) < max(most, q.past)
	if !kept {
		// Its turn stays; the newest takes it.
		q.samples = append(q.samples[:0], q.samples[1:]...)
		q.dropped++
		s.dropped++
	} else {
		s.order = append(s.order, q)
	}
	q.samples = append(q.samples, u)
	s.mu.Unlock()
	s.signal()
	return kept
}

// handOver gives an update to a subscriber that waits for one while nothing else is on its way to it. The caller holds mu.
func (s *Subscription) handOver(u Update) bool {
	if s.busy || s.closed || len(s.order) > 0 {
		return false
	}
	select {
	case s.updates <- u:
		return true
	default:
		return false
	}
}

func (s *Subscription) offerStatus(n *node, status NodeStatus) {
	s.mu.Lock()
	q := s.queue(n)
	if q.status == nil {
		s.order = append(s.order, q)
	}
	q.status = &status
	s.mu.Unlock()
	s.signal()
}

// offerEvents adds to those that wait. Of more than a node remembers the oldest are lost, and counted.
func (s *Subscription) offerEvents(n *node, events []gpu.Event) {
	s.mu.Lock()
	q := s.queue(n)
	if len(q.events) == 0 {
		s.order = append(s.order, q)
	}
	// A copy, because what was handed out is the subscriber's.
	q.target, q.events = n.where, append(slices.Clip(q.events), events...)
	if over := len(q.events) - maxEvents; over > 0 {
		q.events = q.events[over:]
		s.dropped += uint64(over)
	}
	s.mu.Unlock()
	s.signal()
}

func (s *Subscription) offerProcesses(n *node, list *Processes) {
	s.mu.Lock()
	q := s.queue(n)
	if q.processes == nil {
		s.order = append(s.order, q)
	}
	q.target, q.processes = n.where, list
	s.mu.Unlock()
	s.signal()
}

func (s *Subscription) offerOwners(n *node, list *Owners) {
	s.mu.Lock()
	q := s.queue(n)
	if q.owners == nil {
		s.order = append(s.order, q)
	}
	q.target, q.owners = n.where, list
	s.mu.Unlock()
	s.signal()
}

func (s *Subscription) queue(n *node) *queue {
	q, ok := s.queues[n]
	if !ok {
		q = &queue{}
		s.queues[n] = q
	}
	return q
}

// forget drops a node's queue; what it still holds is handed out.
func (s *Subscription) forget(n *node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.queues, n)
}

func (s *Subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
