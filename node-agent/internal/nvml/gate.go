package nvml

import (
	"context"
	"sync/atomic"
	"time"
)

// gatePatience is how long one board waits for another that uses GPM. Some milliseconds are usual; a driver that hangs must
// not hold up the boards that answer.
const gatePatience = 200 * time.Millisecond

// gate lets one board at a time use GPM: parallel calls were seen to crash the driver.
type gate struct {
	turn  chan struct{}
	since *atomic.Int64 // when it was last entered
}

func newGate() gate { return gate{turn: make(chan struct{}, 1), since: new(atomic.Int64)} }

// enter waits for its turn, and reports whether it came. Behind one that has stayed for too long it does not wait at all.
func (g gate) enter(ctx context.Context) bool {
	select {
	case g.turn <- struct{}{}:
		g.since.Store(time.Now().UnixNano())
		return true
	default:
	}
	if time.Since(time.Unix(0, g.since.Load())) > gatePatience {
		return false
	}
	timer := time.NewTimer(gatePatience)
	defer timer.Stop()
	select {
	case g.turn <- struct{}{}:
		g.since.Store(time.Now().UnixNano())
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func (g gate) leave() { <-g.turn }
