package collect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
	// shortestRescan is how far apart the devices are listed at least, however many events ask for it.
	shortestRescan = time.Second
)

// report is what the keeper and the listeners tell the loop.
type report struct {
	found    *device.Inventory   // what the source listed; nil otherwise
	err      error               // why there is nothing to list
	heard    *bool               // whether the source's events are listened to
	listener int                 // 1 when another source of events is listened to, -1 when not any more
	released *snapshot.Condition // the source was closed on demand
	// stop asks the loop to let all workers go, and is answered with the boards that are busy: none when it worked. With
	// hold nothing new is started until it is asked again.
	stop chan []int
	hold bool
}

// keep opens the source, lists its devices again and again, and opens it anew when that is needed. All of this may take
// long or hang, so it is not the loop's business.
func (c *Collector) keep(ctx context.Context) {
	retry := firstRetry
	for ctx.Err() == nil {
		if err := c.o.Source.Open(ctx); err != nil {
			c.tell(ctx, report{err: err})
			if r, asked := c.pauseUnlessReleased(ctx, retry); asked {
				c.stayAway(ctx, r, nil)
				retry = firstRetry
				continue
			}
			retry = min(2*retry, lastRetry)
			continue
		}
		retry = firstRetry
		drain(c.reopen)
		r, asked := c.watch(ctx)
		if ctx.Err() != nil {
			// Samples may be under way, and the loop lets no worker go any more but at its own end.
			<-c.stopped
			c.workers.Wait()
		}
		err := c.o.Source.Close()
		if err != nil {
			c.o.Logger.Warn("The source did not close", "err", err)
		}
		if asked {
			c.stayAway(ctx, r, err)
		} else if r, asked = c.pauseUnlessReleased(ctx, firstRetry); asked {
			c.stayAway(ctx, r, nil)
		}
	}
}

// watch lists devices and listens to events until the source must be closed. No worker is left when it returns, unless
// ctx ended. It returns who asked for that, if somebody did.
func (c *Collector) watch(ctx context.Context) (letGo, bool) {
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
		listed := time.Now()
		if ctx.Err() != nil {
			return letGo{}, false
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
				if r, asked := c.pauseUnlessReleased(ctx, shortestRescan-time.Since(listed)); asked && c.granted(ctx, r) {
					return r, true
				}
			case <-time.After(c.o.Rescan):
			case r := <-c.releases:
				if c.granted(ctx, r) {
					return r, true
				}
			case <-ctx.Done():
				return letGo{}, false
			}
		}
		if again {
			if busy, ok := c.stopWorkers(ctx, false); ok && len(busy) == 0 {
				return letGo{}, false
			}
			// A worker hangs in the driver, which must not be closed under it.
			if r, asked := c.pauseUnlessReleased(ctx, c.o.Rescan); asked && c.granted(ctx, r) {
				return r, true
			}
		}
	}
}

// stopWorkers asks the loop to let all workers go. It returns the boards that are busy; false when ctx ended.
func (c *Collector) stopWorkers(ctx context.Context, hold bool) ([]int, bool) {
	answer := make(chan []int, 1)
	if !c.tell(ctx, report{stop: answer, hold: hold}) {
		return nil, false
	}
	select {
	case busy := <-answer:
		return busy, true
	case <-ctx.Done():
		return nil, false
	}
}

// listen passes the source's events on, and tries again when they break off.
func (c *Collector) listen(ctx context.Context) {
	origin := device.FromNVML
	if c.o.Source.Name() == string(device.FromSimulator) {
		origin = device.FromSimulator
	}
	retry := firstRetry
	for ctx.Err() == nil {
		yes, no := true, false
		c.tell(ctx, report{heard: &yes})
		err := c.o.Source.Events(ctx, func(e device.Event) {
			if e.Origin == "" {
				e.Origin = origin
			}
			c.tellEvent(ctx, occurrence{Event: e})
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

// busyText names boards that are busy.
func busyText(busy []int) string {
	if len(busy) == 1 {
		return fmt.Sprintf("a call to the driver for GPU %d does not come back", busy[0])
	}
	return fmt.Sprintf("calls to the driver for the GPUs %v do not come back", busy)
}
