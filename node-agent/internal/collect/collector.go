// Package collect samples the boards of a source on a schedule of its own, and publishes what it gets.
//
// The schedule is aligned to multiples of each group's interval, so that samples of different nodes fall together. Each
// board is sampled by a worker of its own, under a deadline: a board that is lost or hangs is reported so, and the others
// go on. What was not due is carried on from frame to frame, for as long as it may stand for now.
//
// One goroutine, the loop, knows how everything is and publishes it; a second, the keeper, opens, lists and closes the
// source, all of which may take long or hang.
package collect

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/node-agent/internal/wish"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Options of a Collector.
type Options struct {
	Source  device.Source
	Store   *snapshot.Store
	Node    snapshot.Node
	Rows    *snapshot.Rows
	Metrics *Metrics
	Logger  *slog.Logger

	// Schedule is what is measured when. The zero value is the standard profile at Node.Period.
	Schedule Schedule
	// Events takes what happens, and Processes who uses the GPUs. Nil keeps nothing.
	Events    *snapshot.EventLog
	Processes *snapshot.Latest[snapshot.ProcessList]
	// Describer names processes; nil where the host's processes cannot be seen.
	Describer Describer
	// Sources tell of events besides the driver.
	Sources []EventSource
	// Wishes are how often readers want samples; nil when nobody says.
	Wishes *wish.Book

	// Rescan is how often the devices are listed again. 0 means ten seconds.
	Rescan time.Duration
	// HungAfter is after how long without an answer a board counts as hung. 0 means five seconds, or five periods when
	// that is longer.
	HungAfter time.Duration
	// MaxRelease is for how long the GPUs are let go at most. 0 means ten minutes.
	MaxRelease time.Duration
}

const (
	defaultRescan  = 10 * time.Second
	defaultRelease = 10 * time.Minute
	shortestHang   = 5 * time.Second
	periodsToHang  = 5
	// shutdownGrace is how long Run waits for a call to the driver that does not come back.
	shutdownGrace = 2 * time.Second
)

// Collector samples one source into one store.
type Collector struct {
	o        Options
	reports  chan report
	results  chan result
	heardOf  chan occurrence
	reopen   chan struct{} // asks the keeper to open the source again
	rescan   chan struct{} // asks the keeper to list the devices now
	releases chan letGo    // asks the keeper to close the source for a while
	resume   chan struct{} // asks it to open it again
	planned  atomic.Pointer[Schedule]
	replan   chan struct{} // says that there is another plan
	workers  sync.WaitGroup
	stopped  chan struct{} // closed when nobody takes results any more

	// Of the loop alone.
	node      snapshot.Node
	base      Schedule      // as configured
	schedule  Schedule      // with what readers wish
	each      device.Groups // due on every tick
	spans     [device.NumGroups][]span
	entries   []*entry        // by index
	values    []device.Values // of all entries, in the order of the schema's devices
	schema    *snapshot.Schema
	schemas   map[time.Duration]*snapshot.Schema // of the same devices and groups, by period
	columns   [][device.NumGroups][]columns      // of each device
	readings  []gpu.Reading                      // for the schema's columns, as far as they did not change since the last frame
	driver    string
	versions  device.Versions
	condition snapshot.Condition
	heard     bool // the source's events are listened to
	listeners int  // how many other sources of events are listened to
	holding   bool // nothing is started, so that the workers can be let go
	dirty     bool // status must be built again
	listed    bool // the processes must be published again
	status    *snapshot.Status
	sampled   *[device.NumGroups]time.Time
	// sampledShared: a frame has it, so that it must not be changed any more.
	sampledShared bool
	early         []occurrence // before the devices are known
	twins         twins
	limits        limits // of events that are kept
	said          limits // of XID errors in the log
}

// New prepares a collector. Nothing runs until Run.
func New(o Options) *Collector {
	if o.Rescan == 0 {
		o.Rescan = defaultRescan
	}
	if o.MaxRelease == 0 {
		o.MaxRelease = defaultRelease
	}
	if o.Schedule.Tick == 0 {
		o.Schedule = NewSchedule(device.Standard, ClassIntervals(o.Node.Period))
	}
	c := &Collector{
		o: o, reports: make(chan report), results: make(chan result), heardOf: make(chan occurrence),
		reopen: make(chan struct{}, 1), rescan: make(chan struct{}, 1), releases: make(chan letGo), resume: make(chan struct{}, 1),
		replan: make(chan struct{}, 1), stopped: make(chan struct{}), node: o.Node, spans: layoutOfGroups(),
		condition: snapshot.Condition{State: snapshot.StateStarting, Since: time.Now()}, dirty: true,
		sampled: new([device.NumGroups]time.Time), limits: limits{}, said: limits{},
	}
	o.Metrics.store.Store(o.Store)
	c.base = o.Schedule.complete()
	c.plan(c.base)
	return c
}

// Run samples until ctx ends, which is not an error.
func (c *Collector) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	c.layout()
	var helpers sync.WaitGroup
	helpers.Go(func() { c.keep(ctx) })
	for _, s := range c.o.Sources {
		helpers.Go(func() { c.follow(ctx, s) })
	}
	c.loop(ctx)
	cancel()
	close(c.stopped)
	for _, e := range c.entries {
		e.retire()
	}
	done := make(chan struct{})
	go func() {
		c.workers.Wait()
		helpers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(shutdownGrace):
		c.o.Logger.Warn("A call to the driver does not come back; leaving without it")
	}
	return nil
}

// Reconfigure changes what is measured and when, from the next tick on. It may be called at any time.
func (c *Collector) Reconfigure(s Schedule) {
	c.planned.Store(&s)
	ask(c.replan)
}

// plan takes a schedule.
func (c *Collector) plan(s Schedule) {
	c.schedule, c.each = s, s.each()
	c.node.Period, c.node.MinPeriod = s.Tick, 0
	if c.o.Wishes != nil && c.base.MinTick > 0 {
		c.node.MinPeriod = c.base.tickFor(c.base.MinTick)
	}
	c.o.Metrics.plan(s)
}

// wished is the base schedule with what readers wish.
func (c *Collector) wished() Schedule {
	if c.o.Wishes == nil {
		return c.base
	}
	return c.base.raised(c.o.Wishes.Period())
}

// hungAfter is how long a sample may take.
func (c *Collector) hungAfter() time.Duration {
	if c.o.HungAfter != 0 {
		return c.o.HungAfter
	}
	return max(shortestHang, periodsToHang*c.schedule.Tick)
}

// loop is the schedule: it alone changes entries and publishes.
func (c *Collector) loop(ctx context.Context) {
	next := align(time.Now(), c.schedule.Tick)
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	var wishes <-chan struct{}
	if c.o.Wishes != nil {
		wishes = c.o.Wishes.Changed()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-c.reports:
			c.apply(r)
		case r := <-c.results:
			c.accept(r)
		case o := <-c.heardOf:
			c.note(o)
		case <-c.replan:
			c.base = c.planned.Load().complete()
			c.replanned(c.wished())
			next = align(time.Now(), c.schedule.Tick)
			timer.Reset(time.Until(next))
		case <-wishes:
			if c.pace() {
				next = align(time.Now(), c.schedule.Tick)
				timer.Reset(time.Until(next))
			}
		case <-timer.C:
			c.tick(ctx, next)
			period := c.schedule.Tick
			due := align(time.Now(), period)
			if missed := int64(due.Sub(next)/period) - 1; missed > 0 {
				c.o.Metrics.missed.Add(float64(missed))
			}
			if next = due; c.pace() { // wishes end without a word
				next = align(time.Now(), c.schedule.Tick)
			}
			timer.Reset(time.Until(next))
		}
	}
}

// align is the first multiple of period after t, counted from the Unix epoch.
func align(t time.Time, period time.Duration) time.Time {
	n := t.UnixNano()
	return time.Unix(0, n-n%int64(period)+int64(period))
}

// tick starts what is due on every board that is free, waits until all answered or most of the period is over, and
// publishes.
func (c *Collector) tick(ctx context.Context, at time.Time) {
	patience := min(c.schedule.Tick*7/10, shortestHang)             // nothing else is heard meanwhile
	until := time.Now().Add(min(time.Until(at)+patience, patience)) // a clock that was set back makes no tick longer
	waiting := 0
	if !c.holding {
		for _, e := range c.entries {
			e.awaited = c.start(e, at) && e.took < patience // the others need not wait for one that will be late
			if e.awaited {
				waiting++
			}
		}
	}
	deadline := time.NewTimer(time.Until(until))
	defer deadline.Stop()
	for waiting > 0 {
		select {
		case r := <-c.results:
			if e := c.accept(r); e != nil && e.awaited && r.at.Equal(at) {
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

// start gives the worker of a board what is due, and reports whether there will be an answer.
func (c *Collector) start(e *entry, at time.Time) bool {
	if e.worker == nil {
		return false
	}
	due := e.due(&c.schedule, c.each, at)
	if !e.busySince.IsZero() {
		c.o.Metrics.skipped(due)
		return false
	}
	if due == 0 {
		return false
	}
	e.busySince = time.Now()
	e.planned(&c.schedule, due&^c.each, at)
	e.worker.jobs <- job{ // has room: the worker is free
		at: at, groups: due, limit: c.hungAfter(), names: c.schedule.Names,
		list: c.schedule.List && c.o.Processes != nil && due.Has(device.GroupProcesses),
	}
	return true
}

// accept takes a worker's answer, and says whose it is; nil for a worker that was replaced.
func (c *Collector) accept(r result) *entry {
	e := c.find(r.worker.uuid)
	if e == nil || e.worker != r.worker {
		return nil
	}
	e.busySince = time.Time{}
	c.o.Metrics.duration.Observe(r.took.Seconds())
	if r.err != nil {
		c.o.Metrics.failed(r.groups)
		e.fill(device.StateOf(r.err))
		e.took = r.took
		c.forgetProcesses(e, errNotListed)
		c.set(e, boardCondition(conditionOf(r.err)))
		if reopens(r.err) && c.all(e.condition.State) {
			ask(c.reopen)
		}
		return e
	}
	c.o.Metrics.succeeded(r.groups)
	r.groups &= c.schedule.Groups // others were switched off meanwhile
	e.take(r, &c.spans)
	if c.listing() {
		c.takeProcesses(e, r)
	}
	c.measured(r.groups, r.at)
	c.set(e, snapshot.Condition{State: snapshot.StateOK})
	c.compare(e, r.groups)
	return e
}

// reopens reports whether a failure may end when the source is opened again.
func reopens(err error) bool {
	return errors.Is(err, device.ErrNoAccess) || errors.Is(err, device.ErrMismatch)
}

// measured notes when groups were measured.
func (c *Collector) measured(groups device.Groups, at time.Time) {
	if c.sampledShared {
		fresh := *c.sampled
		c.sampled, c.sampledShared = &fresh, false
	}
	for g := range device.NumGroups {
		// One that answers late does not set it back; a clock that was set back does.
		if groups.Has(g) && (at.After(c.sampled[g]) || c.sampled[g].Sub(at) > c.hungAfter()) {
			c.sampled[g] = at
		}
	}
}

// publish makes a frame of what is known at a tick.
func (c *Collector) publish(at time.Time) {
	now := time.Now()
	var extents []device.Extent
	for _, e := range c.entries {
		if !e.busySince.IsZero() && now.Sub(e.busySince) > c.hungAfter() {
			c.set(e, snapshot.Condition{
				State: snapshot.StateHung, Reason: "a call to the driver for this GPU does not come back; the node may need a reboot",
			})
		}
		if e.worker == nil || e.condition.State == snapshot.StateHung {
			e.fill(readingState(e.condition.State))
			c.forgetProcesses(e, errNotListed)
		}
		e.settle(&c.schedule, &c.spans, at, c.heard)
		for _, x := range e.extents {
			if c.schedule.Groups.Has(x.Metric.Group()) {
				x.Device += e.offset
				extents = append(extents, x)
			}
		}
		e.extents = e.extents[:0]
		c.flatten(e)
		c.steady(e, now)
	}
	for _, o := range c.twins.expired(now) {
		c.keepEvent(c.find(o.UUID), o)
	}
	if c.dirty {
		c.rebuildStatus()
	}
	if err := c.o.Store.Append(&snapshot.Frame{
		Time: at, Schema: c.schema, Readings: slices.Clone(c.readings), Extents: extents, Sampled: c.sampled, Status: c.status,
	}); err != nil {
		c.o.Logger.Error("The past was forgotten", "err", err)
	}
	c.sampledShared = true
	c.publishProcesses(at)
}

// all reports whether every board that is sampled is in a state.
func (c *Collector) all(state snapshot.State) bool {
	return len(c.entries) > 0 && !slices.ContainsFunc(c.entries, func(e *entry) bool {
		return e.board != nil && e.condition.State != state
	})
}

func (c *Collector) find(uuid string) *entry {
	for _, e := range c.entries {
		if e.devices[0].UUID == uuid {
			return e
		}
	}
	return nil
}

// ask wakes somebody up, once.
func ask(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
