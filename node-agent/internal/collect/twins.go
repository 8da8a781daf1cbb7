package collect

import (
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

const (
	// sameEvent is how far apart two may report what is one event.
	sameEvent = 5 * time.Second
	// twinPatience is how long an event waits for the one who knows more about it.
	twinPatience = 2 * time.Second
	// maxTwins bounds how many events are remembered for that.
	maxTwins = 1024
)

// twin is an XID error that one origin reported, and that another may report too.
type twin struct {
	device.Event
	heard time.Time
	waits bool // it is not published yet
}

// twins pairs the reports of different origins. An error that NVML reports three times and the kernel twice was three.
type twins struct{ open []twin }

// match takes the oldest report of the same error by another origin out.
func (t *twins) match(x device.Event, now time.Time) (twin, bool) {
	for i, o := range t.open {
		if o.UUID == x.UUID && o.XID == x.XID && o.Origin != x.Origin && now.Sub(o.heard) <= sameEvent {
			t.open = append(t.open[:i], t.open[i+1:]...)
			return o, true
		}
	}
	return twin{}, false
}

// add remembers a report, and returns whether it waits to be published.
func (t *twins) add(x device.Event, waits bool, now time.Time) bool {
	if len(t.open) >= maxTwins {
		return false
	}
	t.open = append(t.open, twin{Event: x, heard: now, waits: waits})
	return waits
}

// expired returns what waited long enough, and forgets what nobody will report any more.
func (t *twins) expired(now time.Time) []device.Event {
	var alone []device.Event
	kept := t.open[:0]
	for _, o := range t.open {
		if o.waits && now.Sub(o.heard) >= twinPatience {
			alone = append(alone, o.Event)
			o.waits = false
		}
		if now.Sub(o.heard) <= sameEvent {
			kept = append(kept, o)
		}
	}
	t.open = kept
	return alone
}

// merged is what two say about one event.
func merged(a, b device.Event) device.Event {
	if b.Time.Before(a.Time) {
		a.Time = b.Time
	}
	if len(b.Detail) > len(a.Detail) {
		a.Detail = b.Detail
	}
	if a.GPUInstance == "" {
		a.GPUInstance, a.ComputeInstance = b.GPUInstance, b.ComputeInstance
	}
	if a.PCIBusID == "" {
		a.PCIBusID = b.PCIBusID
	}
	return a
}

// limitKey is what events are alike by.
type limitKey struct {
	uuid string
	kind device.EventKind
	xid  uint64
}

// bucket is how many more events may come at a time.
type bucket struct {
	left float64
	at   time.Time
}

const (
	eventBurst  = 20
	eventRefill = 5 * time.Second // until one more may come
	maxLimits   = 4096
	// setBack is how much earlier than the one before an event can only be when the clock was set back.
	setBack = time.Minute
)

// limits keep one kind of event, of one board, from pushing all others out of the log.
type limits map[limitKey]bucket

// allow goes by the times of the events, so that a past that is read at once is thinned out as it would have been live.
// Rules over logs have limits of their own.
func (l limits) allow(x device.Event) bool {
	if x.Origin == device.FromLog {
		return true
	}
	now := x.Time
	key := limitKey{x.UUID, x.Kind, x.XID}
	b, known := l[key]
	if !known {
		if len(l) >= maxLimits {
			clear(l)
		}
		b = bucket{left: eventBurst, at: now}
	}
	if b.at.Sub(now) > setBack {
		b.at = now
	}
	if now.After(b.at) {
		b.left = min(eventBurst, b.left+now.Sub(b.at).Seconds()/eventRefill.Seconds())
		b.at = now
	}
	ok := b.left >= 1
	if ok {
		b.left--
	}
	l[key] = b
	return ok
}
