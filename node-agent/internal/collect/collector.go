// Package collect samples the boards of a source on a schedule of its own, and publishes what it gets.
//
// The schedule is aligned to multiples of the period, so that samples of different nodes fall together. Each board is
// sampled by a worker of its own, under a deadline: a board that is lost or hangs is reported so, and the others go on.
package collect

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

// Options of a Collector. All fields but the durations must be set.
type Options struct {
	Source  device.Source
	Store   *snapshot.Store
	Node    snapshot.Node
	Rows    *snapshot.Rows
	Metrics *Metrics
	Logger  *slog.Logger

	// Rescan is how often the devices are listed again. 0 means ten seconds.
	Rescan time.Duration
	// HungAfter is after how long without an answer a board counts as hung. 0 means five seconds, or five periods when
	// that is longer.
	HungAfter time.Duration
}

const (
	defaultRescan = 10 * time.Second
	shortestHang  = 5 * time.Second
	periodsToHang = 5
	// shutdownGrace is how long Run waits for a call to the driver that does not come back.
	shutdownGrace = 2 * time.Second
)

// Collector samples one source into one store.
type Collector struct {
	o       Options
	reports chan report
	results chan result
	events  chan device.Event
	reopen  chan struct{} // asks the keeper to open the source again
	rescan  chan struct{} // asks the keeper to list the devices now
	workers sync.WaitGroup
	stopped chan struct{} // closed when nobody takes results any more

	// Of the loop alone.
	entries   []*entry // by index
	schema    *snapshot.Schema
	driver    string
	condition snapshot.Condition
	heard     bool // events are listened to
	dirty     bool // status must be built again
	status    *snapshot.Status
}

// New prepares a collector. Nothing runs until Run.
func New(o Options) *Collector {
	if o.Rescan == 0 {
		o.Rescan = defaultRescan
	}
	if o.HungAfter == 0 {
		o.HungAfter = max(shortestHang, periodsToHang*o.Node.Period)
	}
	return &Collector{
		o: o, reports: make(chan report), results: make(chan result), events: make(chan device.Event),
		reopen: make(chan struct{}, 1), rescan: make(chan struct{}, 1), stopped: make(chan struct{}),
		condition: snapshot.Condition{State: snapshot.StateStarting, Since: time.Now()}, dirty: true,
	}
}

// Run samples until ctx ends, which is not an error.
func (c *Collector) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	c.layout()
	var keeper sync.WaitGroup
	keeper.Go(func() { c.keep(ctx) })
	c.loop(ctx)
	cancel()
	close(c.stopped)
	for _, e := range c.entries {
		e.retire()
	}
	done := make(chan struct{})
	go func() {
		c.workers.Wait()
		keeper.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(shutdownGrace):
		c.o.Logger.Warn("A call to the driver does not come back; leaving without it")
	}
	return nil
}

// loop is the schedule: it alone changes entries and publishes.
func (c *Collector) loop(ctx context.Context) {
	period := c.o.Node.Period
	next := align(time.Now(), period)
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-c.reports:
			c.apply(r)
		case r := <-c.results:
			c.accept(r)
		case e := <-c.events:
			c.note(e)
		case <-timer.C:
			c.tick(ctx, next)
			now := time.Now()
			due := align(now, period)
			if missed := int64(due.Sub(next)/period) - 1; missed > 0 {
				c.o.Metrics.missed.Add(float64(missed))
			}
			next = due
			timer.Reset(time.Until(next))
		}
	}
}

// align is the first multiple of period after t, counted from the Unix epoch.
func align(t time.Time, period time.Duration) time.Time {
	n := t.UnixNano()
	return time.Unix(0, n-n%int64(period)+int64(period))
}

// tick samples every board that is free, waits until all answered or most of the period is over, and publishes.
func (c *Collector) tick(ctx context.Context, at time.Time) {
	waiting := 0
	for _, e := range c.entries {
		if e.start(at) {
			waiting++
		}
	}
	deadline := time.NewTimer(time.Until(at.Add(c.o.Node.Period * 7 / 10)))
	defer deadline.Stop()
	for waiting > 0 {
		select {
		case r := <-c.results:
			if c.accept(r) && r.at.Equal(at) {
				waiting--
			}
			continue
		case <-deadline.C:
		case <-ctx.Done():
			return
		}
		break
	}
	if c.condition.State != snapshot.StateStarting {
		c.publish(at)
	}
}

// accept takes a worker's answer. It is false for a worker that was replaced.
func (c *Collector) accept(r result) bool {
	e := c.find(r.worker.uuid)
	if e == nil || e.worker != r.worker {
		return false
	}
	e.busySince = time.Time{}
	c.o.Metrics.duration.Observe(r.took.Seconds())
	if r.err != nil {
		c.o.Metrics.failures.Inc()
		e.fill(device.StateOf(r.err))
		c.set(e, conditionOf(r.err))
		if errors.Is(r.err, device.ErrNoAccess) && c.allWithoutAccess() {
			ask(c.reopen)
		}
		return true
	}
	c.o.Metrics.samples.Inc()
	copy(e.values, r.values)
	e.fresh = true
	c.set(e, snapshot.Condition{State: snapshot.StateOK})
	return true
}

// publish makes a frame of what the boards answered for this tick.
func (c *Collector) publish(at time.Time) {
	now := time.Now()
	values := make([]device.Values, 0, len(c.schema.Devices))
	for _, e := range c.entries {
		if !e.busySince.IsZero() && now.Sub(e.busySince) > c.o.HungAfter {
			c.set(e, snapshot.Condition{
				State: snapshot.StateHung, Reason: "a call to the driver for this GPU does not come back; the node may need a reboot",
			})
		}
		e.settle(c.heard)
		values = append(values, e.values...)
		e.fresh = false
	}
	if c.dirty {
		c.rebuildStatus()
	}
	c.o.Store.Append(&snapshot.Frame{Time: at, Schema: c.schema, Readings: c.schema.Flatten(values), Status: c.status})
}

func (c *Collector) allWithoutAccess() bool {
	for _, e := range c.entries {
		if e.board != nil && e.condition.State != snapshot.StateNoAccess {
			return false
		}
	}
	return len(c.entries) > 0
}

func (c *Collector) find(uuid string) *entry {
	for _, e := range c.entries {
		if e.devices[0].UUID == uuid {
			return e
		}
	}
	return nil
}

// set changes how a board is, and says so in the log.
func (c *Collector) set(e *entry, to snapshot.Condition) {
	if e.condition.State == to.State && e.condition.Reason == to.Reason {
		return
	}
	if e.condition.State != to.State {
		to.Since = time.Now()
		level := slog.LevelWarn
		if to.State == snapshot.StateOK {
			level = slog.LevelInfo
			if e.condition.State == snapshot.StateStarting {
				level = slog.LevelDebug
			}
		}
		c.o.Logger.Log(context.Background(), level, "GPU changed state", "gpu", e.devices[0].Index, "uuid", e.devices[0].UUID,
			"state", to.State, "reason", to.Reason)
	} else {
		to.Since = e.condition.Since
	}
	e.condition, c.dirty = to, true
}

// conditionOf is how something is that failed with err.
func conditionOf(err error) snapshot.Condition {
	c := snapshot.Condition{State: snapshot.StateFailed, Reason: err.Error()}
	for _, known := range []struct {
		kind  error
		state snapshot.State
	}{
		{device.ErrLost, snapshot.StateLost}, {device.ErrNoAccess, snapshot.StateNoAccess},
		{device.ErrNoPermission, snapshot.StateFailed}, {device.ErrNoDriver, snapshot.StateNoDriver},
		{device.ErrMismatch, snapshot.StateMismatch},
	} {
		if errors.Is(err, known.kind) {
			c.State = known.state
			break
		}
	}
	return c
}

// ask wakes somebody up, once.
func ask(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
