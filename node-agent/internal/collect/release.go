package collect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

// letGo is a wish that the GPUs be let go.
type letGo struct {
	ctx    context.Context // of the one who waits for the answer
	until  time.Time
	answer chan error // has room
}

// Release lets go of the GPUs, so that they can be reset, split into MIG instances, or given another driver. It returns
// once the source is closed: the samples under way come first. They are sampled again when d is over, or after Resume; 0
// is as long as is allowed. Asking again while they are let go sets another end.
//
// The error says what still holds them; they are sampled on then. ctx should have a deadline: the driver may hang.
func (c *Collector) Release(ctx context.Context, d time.Duration) error {
	if d == 0 {
		d = c.o.MaxRelease
	}
	if d < 0 || d > c.o.MaxRelease {
		return fmt.Errorf("let go of the GPUs for %s: must be more than 0s and at most %s", d, c.o.MaxRelease)
	}
	r := letGo{ctx: ctx, until: time.Now().Add(d), answer: make(chan error, 1)}
	select {
	case c.releases <- r:
	case <-ctx.Done():
		return fmt.Errorf("let go of the GPUs: the driver does not answer the listing of its devices: %w", ctx.Err())
	case <-c.stopped:
		return errStopped
	}
	select {
	case err := <-r.answer:
		return err
	case <-c.stopped:
		return errStopped
	case <-ctx.Done():
	}
	select {
	case err := <-r.answer: // the keeper gives up by the same context, and says why
		return err
	case <-c.stopped:
		return errStopped
	case <-time.After(closeGrace):
		return fmt.Errorf("let go of the GPUs: sampling has stopped, but the driver does not come back from being closed: %w", ctx.Err())
	}
}

// closeGrace is how long the driver may take to be closed when nobody wants to wait any more.
const closeGrace = time.Second

var errStopped = errors.New("let go of the GPUs: the agent is ending")

// Resume ends a release. It does nothing when there is none.
func (c *Collector) Resume() { ask(c.resume) }

// releasePoll is how often busy workers are looked at.
const releasePoll = 10 * time.Millisecond

// granted lets all workers go for a release, or answers why that cannot be.
func (c *Collector) granted(ctx context.Context, r letGo) bool {
	if err := c.stopForRelease(ctx, r); err != nil {
		r.answer <- err
		return false
	}
	return true
}

// stopForRelease lets all workers go once their samples are done. The error says which are not.
func (c *Collector) stopForRelease(ctx context.Context, r letGo) error {
	limit, cancel := context.WithTimeout(r.ctx, releasePatience)
	defer cancel()
	for {
		last := limit.Err() != nil // looked at once, as the loop must be told to go on when this is the end
		busy, ok := c.stopWorkers(ctx, !last)
		switch {
		case !ok:
			return errStopped
		case len(busy) == 0:
			return nil
		case last:
			return fmt.Errorf("let go of the GPUs: %s, and the driver cannot be closed under it; the node may need a reboot", busyText(busy))
		}
		pause(limit, releasePoll)
	}
}

// releasePatience is how long the samples under way may take.
const releasePatience = 3 * time.Second

// stayAway keeps the source closed until the end of a release.
func (c *Collector) stayAway(ctx context.Context, r letGo, closing error) {
	drain(c.resume)
	for {
		c.tell(ctx, report{released: &snapshot.Condition{
			State:  snapshot.StateReleased,
			Reason: "the agent was told to let go of the GPUs until " + r.until.UTC().Format(time.TimeOnly) + " UTC",
		}})
		if closing != nil {
			closing = fmt.Errorf("let go of the GPUs: %w", closing)
		}
		r.answer <- closing
		timer := time.NewTimer(time.Until(r.until))
		select {
		case r = <-c.releases:
			timer.Stop()
			closing = nil
			continue
		case <-timer.C:
		case <-c.resume:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
		}
		return
	}
}

// pauseUnlessReleased waits, until ctx ends or the GPUs are to be let go.
func (c *Collector) pauseUnlessReleased(ctx context.Context, d time.Duration) (letGo, bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case r := <-c.releases:
		return r, true
	case <-timer.C:
	case <-ctx.Done():
	}
	return letGo{}, false
}
