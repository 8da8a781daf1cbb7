package collect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// apply takes what the keeper says.
func (c *Collector) apply(r report) {
	switch {
	case r.stop != nil:
		busy := c.dismiss()
		c.holding = r.hold && len(busy) > 0
		r.stop <- busy
	case r.released != nil:
		c.setSource(*r.released)
		for _, e := range c.entries {
			if e.condition.State != snapshot.StateLost { // else it is known better
				c.set(e, *r.released)
			}
		}
	case r.heard != nil:
		c.heard = *r.heard
	case r.listener != 0:
		c.listeners += r.listener
	case r.err != nil:
		c.setSource(sourceCondition(conditionOf(r.err)))
		for _, e := range c.entries {
			if e.worker == nil {
				c.set(e, boardCondition(c.condition))
			}
		}
	case r.found != nil:
		c.reconcile(*r.found)
	}
	if c.condition.State != snapshot.StateStarting {
		for _, o := range c.early {
			c.note(o)
		}
		c.early = nil
	}
}

// dismiss lets all workers go, unless some are busy: then none, and the source must stay open. It returns the indices of
// the busy boards.
func (c *Collector) dismiss() []int {
	var busy []int
	for _, e := range c.entries {
		if !e.busySince.IsZero() {
			busy = append(busy, e.devices[0].Index)
		}
	}
	if len(busy) > 0 {
		return busy
	}
	for _, e := range c.entries {
		e.retire()
	}
	return nil
}

// reconcile makes the entries fit what the source lists.
func (c *Collector) reconcile(found device.Inventory) {
	before := c.devices()
	c.forget(time.Now())
	listed := map[string]bool{}
	for _, b := range found.Boards {
		devices := b.Devices()
		uuid := devices[0].UUID
		if listed[uuid] {
			found.Unreadable = append(found.Unreadable, fmt.Errorf("GPU %d says that it is %s, as another does", devices[0].Index, uuid))
			continue
		}
		listed[uuid] = true
		e := c.find(uuid)
		switch {
		case e == nil:
			e = &entry{devices: devices, condition: snapshot.Condition{State: snapshot.StateStarting, Since: time.Now()}}
			c.entries = append(c.entries, e)
		case e.board == b:
			c.relaid(e, e.devices)
			continue
		default:
			e.retire()
		}
		c.relaid(e, devices)
		e.devices, e.facts, e.board, e.worker = devices, b.Facts(), b, c.hire(b)
		if len(e.values) != len(devices) {
			e.values = make([]device.Values, len(devices))
		}
		e.fill(gpu.NoData)
		e.took = 0
		c.dirty = true
	}
	for _, e := range c.entries {
		if listed[e.devices[0].UUID] {
			continue
		}
		e.retire()
		if e.condition.State != snapshot.StateLost { // else it is known better why
			c.set(e, snapshot.Condition{
				State: snapshot.StateLost, Reason: "the driver does not list this GPU any more: it fell off the bus, or was taken away",
			})
		}
	}
	slices.SortStableFunc(c.entries, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.devices[0].Index, b.devices[0].Index), strings.Compare(a.devices[0].UUID, b.devices[0].UUID))
	})
	condition := snapshot.Condition{State: snapshot.StateOK}
	if n := len(found.Unreadable); n > 0 {
		texts := make([]string, n)
		for i, err := range found.Unreadable {
			texts[i] = err.Error()
		}
		condition.Reason = fmt.Sprintf("%d of the GPUs that the driver counts cannot be opened: %s", n, strings.Join(texts, "; "))
	}
	c.setSource(condition)
	if found.Versions != c.versions {
		c.versions, c.dirty = found.Versions, true
	}
	if found.Driver != c.driver || !slices.Equal(before, c.devices()) {
		c.driver = found.Driver
		c.layout()
		c.o.Logger.Info("Devices changed", "gpus", len(c.entries), "devices", len(c.schema.Devices), "driver", c.driver)
	}
}

// forget leaves out GPUs that were lost so long ago that nobody waits for them.
func (c *Collector) forget(now time.Time) {
	kept := c.entries[:0:0]
	for _, e := range c.entries {
		since := e.condition.Since
		if e.worker != nil || e.condition.State != snapshot.StateLost || c.schedule.ForgetAfter <= 0 || now.Sub(since) < c.schedule.ForgetAfter {
			kept = append(kept, e)
			continue
		}
		d := e.devices[0]
		c.o.Logger.Warn("A GPU was forgotten", "gpu", d.Index, "uuid", d.UUID, "lost", since)
		c.keepEvent(e, device.Event{
			Kind: device.EventForgotten, Time: now, Origin: device.FromAgent, PCIBusID: d.PCIBusID,
			Detail: "it is lost since " + since.UTC().Format(time.RFC3339) + " and is not shown any more",
		})
		c.dirty, c.listed = true, true
	}
	c.entries = kept
}

func (c *Collector) devices() []gpu.Device {
	var all []gpu.Device
	for _, e := range c.entries {
		all = append(all, e.devices...)
	}
	return all
}

// replanned changes to another schedule.
func (c *Collector) replanned(s Schedule) {
	before := c.schedule
	c.plan(s)
	for _, e := range c.entries {
		for g := range device.NumGroups {
			if !c.schedule.Groups.Has(g) {
				e.drop(g, &c.spans)
			}
			if before.Every[g] != c.schedule.Every[g] || !before.Groups.Has(g) {
				e.next[g] = 0
			}
		}
		if !c.listing() {
			c.forgetProcesses(e, nil)
		}
	}
	c.listed = true
	if before != c.schedule {
		c.layout()
	}
	c.o.Logger.Info("The schedule changed", "every", c.schedule.Tick, "columns", len(c.schema.Columns))
}

// pace changes to what readers wish now, and reports whether that is another pace. Nothing is forgotten or measured anew.
func (c *Collector) pace() bool {
	s := c.wished()
	if s.Tick == c.schedule.Tick {
		return false
	}
	c.plan(s)
	now := time.Now()
	for _, e := range c.entries {
		for g, last := range e.last {
			if c.each.Has(device.Group(g)) && !last.IsZero() {
				e.last[g] = now // it stands for now until the first sample at the new pace
			}
		}
	}
	c.repace()
	c.o.Logger.Debug("Readers changed the pace", "every", c.schedule.Tick)
	return true
}
