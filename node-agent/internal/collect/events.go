package collect

import (
	"context"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// EventSource tells of events besides the driver: the kernel log, or the rules over other logs. Run calls emit until ctx
// ends; it returns early, with an error, when it cannot go on, and is run again later.
type EventSource interface {
	Run(ctx context.Context, emit func(device.Event)) error
}

// occurrence is an event from outside the loop.
type occurrence struct {
	device.Event
	past bool // it was before the agent started, and counts for nothing
}

// Emit takes an event from elsewhere. It waits until the loop took it, and drops it when the collector ended.
func (c *Collector) Emit(e device.Event) { c.emit(occurrence{Event: e}) }

// Past takes an event from before the agent started: it is shown, and raises no counter.
func (c *Collector) Past(e device.Event) { c.emit(occurrence{Event: e, past: true}) }

func (c *Collector) emit(o occurrence) {
	select {
	case c.heardOf <- o:
	case <-c.stopped:
	}
}

// tellEvent hands an event to the loop, or drops it when ctx ends.
func (c *Collector) tellEvent(ctx context.Context, o occurrence) {
	select {
	case c.heardOf <- o:
	case <-ctx.Done():
	}
}

// follow runs a source of events until ctx ends.
func (c *Collector) follow(ctx context.Context, s EventSource) {
	retry, said := firstRetry, ""
	for ctx.Err() == nil {
		c.tell(ctx, report{listener: 1})
		err := s.Run(ctx, func(e device.Event) { c.tellEvent(ctx, occurrence{Event: e}) })
		if ctx.Err() != nil {
			return
		}
		c.tell(ctx, report{listener: -1})
		if text := textOf(err); text != said {
			c.o.Logger.Warn("A source of events broke off; trying again", "err", err)
			said = text
		}
		pause(ctx, retry)
		retry = min(2*retry, lastRetry)
	}
}

func textOf(err error) string {
	if err == nil {
		return "it ended"
	}
	return err.Error()
}

// maxEarly is how many events are kept until the devices are known.
const maxEarly = 1024

// note takes an event from outside.
func (c *Collector) note(o occurrence) {
	if !c.known() {
		if len(c.early) < maxEarly {
			c.early = append(c.early, o)
		} else {
			c.o.Metrics.suppressed.Inc()
		}
		return
	}
	now := time.Now()
	if o.Time.IsZero() {
		o.Time = now
	}
	e := c.whose(&o.Event)
	switch {
	case o.past:
		c.keepEvent(e, o.Event)
	case o.Kind == device.EventLayoutChanged:
		// What changed is seen when the devices are listed again, and is then one event.
		if e != nil {
			e.relaidAt, e.relaidOrigin = o.Time, o.Origin
		}
		ask(c.rescan)
	case o.Kind == device.EventXID:
		c.noteXID(e, o.Event, now)
		ask(c.rescan) // some mean that the board is gone
	case e == nil:
		c.keepEvent(nil, o.Event)
	case o.Kind >= device.NumEventKinds:
		c.o.Logger.Debug("An event of a kind that is not known", "uuid", o.UUID, "detail", o.Detail)
	case now.Sub(e.madeAt[o.Kind]) < sameEvent:
		e.heardAt[o.Kind] = now // the agent saw it first
	default:
		e.heardAt[o.Kind] = now
		e.countKind(o.Kind, o.Time)
		c.dirty = true
		c.keepEvent(e, o.Event)
	}
}

// known reports whether the devices were listed, or cannot be.
func (c *Collector) known() bool { return c.condition.State != snapshot.StateStarting }

// noteXID counts an XID error, unless it is one that somebody else reported already.
func (c *Collector) noteXID(e *entry, x device.Event, now time.Time) {
	if x.XID >= maxCode {
		c.o.Metrics.suppressed.Inc()
		return
	}
	if e == nil {
		if c.said.allow(x) {
			c.o.Logger.Warn("XID error of an unknown GPU", "xid", x.XID, "uuid", x.UUID, "pci", x.PCIBusID)
		}
		c.keepEvent(nil, x)
		return
	}
	if x.XID == fallenOffTheBus {
		c.fell(e, x)
	}
	twin, ok := c.twins.match(x, now)
	if ok {
		if twin.waits {
			c.keepEvent(e, merged(twin.Event, x))
		}
		return
	}
	e.count(x.XID, x.Time)
	c.dirty = true
	if c.said.allow(x) {
		c.o.Logger.Warn("XID error", "xid", x.XID, "gpu", e.devices[0].Index, "uuid", x.UUID, "from", x.Origin)
	}
	// The kernel log says more than NVML, a moment later.
	waits := x.Origin == device.FromNVML && c.listeners > 0
	if waits = c.twins.add(x, waits, now); !waits {
		c.keepEvent(e, x)
	}
}

const (
	fallenOffTheBus = 79
	// maxCode is above every XID that NVIDIA gave out, and those to come. Each code that a GPU had is a series.
	maxCode = 1024
)

// fell remembers why a board does not answer, or is about to stop doing so.
func (c *Collector) fell(e *entry, x device.Event) {
	said := "XID 79: " + gpu.XIDText(fallenOffTheBus)
	if x.Detail != "" {
		said = "XID 79: " + x.Detail
	}
	if e.fell != "" && x.Detail == "" {
		return
	}
	before := e.fell
	e.fell = said
	if s := e.condition; s.State == snapshot.StateLost || s.State == snapshot.StateHung {
		s.Reason = strings.TrimPrefix(s.Reason, before+"; ")
		c.set(e, s)
	}
}

// happened makes an event of what the agent itself saw.
func (c *Collector) happened(e *entry, kind device.EventKind, at time.Time, detail string) {
	d := e.devices[0]
	e.madeAt[kind] = time.Now()
	e.countKind(kind, at)
	c.dirty = true
	c.keepEvent(e, device.Event{Kind: kind, Time: at, Origin: device.FromAgent, UUID: d.UUID, PCIBusID: d.PCIBusID, Detail: detail})
}

// keepEvent numbers an event, unless there are far too many of its kind.
func (c *Collector) keepEvent(e *entry, x device.Event) {
	if e != nil {
		x.UUID = e.devices[0].UUID
	}
	if c.o.Events == nil {
		return
	}
	if !c.limits.allow(x) {
		c.o.Metrics.suppressed.Inc()
		return
	}
	c.o.Metrics.events.WithLabelValues(x.Kind.String(), string(x.Origin)).Inc()
	c.o.Events.Append(x)
}

// whose finds the board of an event, and fills in its UUID when only its place was known.
func (c *Collector) whose(x *device.Event) *entry {
	if x.UUID != "" {
		return c.find(x.UUID)
	}
	place := busPlace(x.PCIBusID)
	if place == "" {
		return nil
	}
	for _, e := range c.entries {
		if busPlace(e.devices[0].PCIBusID) == place {
			x.UUID = e.devices[0].UUID
			return e
		}
	}
	return nil
}

// busPlace is a PCI address in one spelling: NVML writes 00000000:1A:00.0, the kernel 0000:1a:00.
func busPlace(address string) string {
	address = strings.ToLower(address)
	address, _, _ = strings.Cut(address, ".")
	domain, rest, ok := strings.Cut(address, ":")
	if !ok {
		return ""
	}
	if !strings.Contains(rest, ":") {
		return "0:" + address // without a domain
	}
	if domain = strings.TrimLeft(domain, "0"); domain == "" {
		domain = "0"
	}
	return domain + ":" + rest
}
