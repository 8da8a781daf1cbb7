package collect

import (
	"context"
	"errors"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// report is what the keeper tells the loop.
type report struct {
	found *device.Inventory // what the source listed; nil otherwise
	err   error             // why there is nothing to list
	heard *bool             // whether events are listened to
	// stop asks the loop to let all workers go, and is answered with whether that worked.
	stop chan bool
}

// keep opens the source, lists its devices again and again, and opens it anew when that is needed. All of this may take
// long or hang, so it is not the loop's business.
func (c *Collector) keep(ctx context.Context) {
	retry := firstRetry
	for ctx.Err() == nil {
		if err := c.o.Source.Open(ctx); err != nil {
			c.tell(ctx, report{err: err})
			pause(ctx, retry)
			retry = min(2*retry, lastRetry)
			continue
		}
		retry = firstRetry
		drain(c.reopen)
		c.watch(ctx)
		if err := c.o.Source.Close(); err != nil {
			c.o.Logger.Warn("The source did not close", "err", err)
		}
		if ctx.Err() == nil {
			pause(ctx, firstRetry)
		}
	}
}

// watch lists devices and listens to events until the source must be opened again. No worker is left when it returns,
// unless ctx ended.
func (c *Collector) watch(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	listening := make(chan struct{})
	go func() {
		defer close(listening)
		c.listen(ctx)
	}()
	defer func() {
		cancel()
		<-listening
	}()
	for {
		found, err := c.o.Source.Inventory(ctx)
		if ctx.Err() != nil {
			return
		}
		again := err != nil
		if err == nil {
			c.tell(ctx, report{found: &found})
		} else if !errors.Is(err, device.ErrChanged) {
			c.tell(ctx, report{err: err})
		}
		if !again {
			select {
			case <-c.reopen:
				again = true
			case <-c.rescan:
			case <-time.After(c.o.Rescan):
			case <-ctx.Done():
				return
			}
		}
		if again {
			if c.stopWorkers(ctx) {
				return
			}
			// A worker hangs in the driver, which must not be closed under it.
			pause(ctx, c.o.Rescan)
		}
	}
}

func (c *Collector) stopWorkers(ctx context.Context) bool {
	answer := make(chan bool, 1)
	if !c.tell(ctx, report{stop: answer}) {
		return false
	}
	select {
	case ok := <-answer:
		return ok
	case <-ctx.Done():
		return false
	}
}

// listen passes the source's events on, and tries again when they break off.
func (c *Collector) listen(ctx context.Context) {
	retry := firstRetry
	for ctx.Err() == nil {
		yes, no := true, false
		c.tell(ctx, report{heard: &yes})
		err := c.o.Source.Events(ctx, func(e device.Event) {
			select {
			case c.events <- e:
			case <-ctx.Done():
			}
		})
		if ctx.Err() != nil {
			return
		}
		c.tell(ctx, report{heard: &no})
		if errors.Is(err, device.ErrNotSupported) {
			c.o.Logger.Info("XID errors are not reported by this driver", "err", err)
			return
		}
		c.o.Logger.Warn("Listening for XID errors broke off; trying again", "err", err, "in", retry)
		pause(ctx, retry)
		retry = min(2*retry, lastRetry)
	}
}

// tell hands a report to the loop; false when ctx ended first.
func (c *Collector) tell(ctx context.Context, r report) bool {
	select {
	case c.reports <- r:
		return true
	case <-ctx.Done():
		return false
	}
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// drain forgets a wish that was not granted.
func drain(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}
