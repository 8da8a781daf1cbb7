package live

import (
	"fmt"
	"time"
)

const (
	// lagsFor is how long a node counts as lagging after the last sign of it.
	lagsFor = 15 * time.Second
	// lateTicks is how many samples in a row must come late.
	lateTicks = 3
)

// lag tells whether a node's samples come late, or not all of them.
type lag struct {
	missed   uint64    // since it began to lag
	missedAt time.Time // zero: never
	late     int       // samples in a row
	lateAt   time.Time
	delay    time.Duration // of the newest late one
}

// take notes a sample of now: how many before it are missing, and how much longer it was on its way than the fastest.
func (l *lag) take(missed uint64, delay, period time.Duration, now time.Time) {
	if missed > 0 {
		if !l.recent(l.missedAt, now) {
			l.missed = 0
		}
		l.missed += missed
		l.missedAt = now
	}
	if delay <= max(3*period, 2*tolerated) {
		l.late = 0
		return
	}
	if l.late++; l.late >= lateTicks {
		l.lateAt, l.delay = now, delay
	}
}

func (*lag) recent(at, now time.Time) bool { return !at.IsZero() && now.Sub(at) < lagsFor }

// what is how the node lags, "" when it does not.
func (l *lag) what(now time.Time) string {
	switch {
	case l.recent(l.missedAt, now):
		return fmt.Sprintf("%d samples were left out because the connection is too slow", l.missed)
	case l.recent(l.lateAt, now):
		return fmt.Sprintf("its samples come %s late", l.delay.Round(100*time.Millisecond))
	}
	return ""
}
