package history

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// defaultPatience is how long a replica is waited for, before another is asked too, while little is known of it.
	defaultPatience = time.Second
	// leastPatience keeps the usual ups and downs of fast servers from doubling the requests.
	leastPatience = 50 * time.Millisecond
	// enough is how many answers make a distribution.
	enough = 8
	// ailing is how long a replica that failed is asked last.
	ailing = 30 * time.Second
	// forgets is after how long it is forgotten how fast a replica was that is not asked any more.
	forgets = 5 * time.Minute
	// A second request is a spare one for every tenth, and for so many beyond.
	spareShare, spareBurst = 10, 10
)

// pulse is how a server has answered lately. It decides whom of several replicas to ask, and how long to wait.
type pulse struct {
	mu       sync.Mutex
	took     [64]time.Duration // of the newest answers, in a ring
	count    int               // of answers, ever
	newest   time.Time
	failedAt time.Time

	asked, spares int
}

// answered notes how long an answer took, or that it took at least so long.
func (p *pulse) answered(took time.Duration, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.newest) > forgets {
		p.count = 0
	}
	p.took[p.count%len(p.took)] = took
	p.count++
	p.newest = now
}

func (p *pulse) failed(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failedAt = now
}

// recovered is the opposite of failed.
func (p *pulse) recovered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failedAt = time.Time{}
}

func (p *pulse) ails(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.failedAt.IsZero() && now.Sub(p.failedAt) < ailing
}

// quantile of how long the newest answers took; false when there are fewer than least.
func (p *pulse) quantile(q float64, least int, now time.Time) (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(p.count, len(p.took))
	if n < max(least, 1) || now.Sub(p.newest) > forgets {
		return 0, false
	}
	sorted := slices.Clone(p.took[:n])
	slices.Sort(sorted)
	return sorted[int(q*float64(n-1)+0.5)], true
}

// patience is how long to wait for an answer before it is a slow one: 19 of 20 came sooner.
func (p *pulse) patience(limit time.Duration, now time.Time) time.Duration {
	patience, known := p.quantile(0.95, enough, now)
	if !known {
		patience = defaultPatience
	}
	return min(max(patience, leastPatience), limit/2)
}

// ask counts a request that somebody waits for.
func (p *pulse) ask() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
}

// spare reports whether one more request may be sent only because another is slow. When all are slow, twice the requests
// would make it worse.
func (p *pulse) spare() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spares >= spareBurst+p.asked/spareShare {
		return false
	}
	p.spares++
	return true
}

// needed takes back that a request was a spare one: it was answered before the one that it was sent besides. So all who
// wait for a server that hangs get another's answer soon, and where all servers are slow there stay few spares.
func (p *pulse) needed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spares--
}

// byHealth puts replicas in the order to ask them in: as they are listed, but those behind that are much slower than
// another, and those at the end that failed lately.
func byHealth(ctx context.Context, replicas []*endpoint, now time.Time) []*endpoint {
	const much = 2
	fastest := time.Duration(-1)
	for _, e := range replicas {
		if typical, known := e.pulse.quantile(0.5, 1, now); known && !e.pulse.ails(now) && (fastest < 0 || typical < fastest) {
			fastest = typical
		}
	}
	rank := func(e *endpoint) int {
		typical, known := e.pulse.quantile(0.5, 1, now)
		switch {
		case e.pulse.ails(now) || e.blocked(ctx) != nil:
			return 2
		case known && fastest >= 0 && typical > much*fastest+leastPatience:
			return 1
		}
		return 0
	}
	ordered := slices.Clone(replicas)
	slices.SortStableFunc(ordered, func(a, b *endpoint) int { return rank(a) - rank(b) })
	return ordered
}
