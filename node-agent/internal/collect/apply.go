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
		r.stop <- c.dismiss()
	case r.heard != nil:
		c.heard = *r.heard
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
}

// sourceCondition is how the source is that failed so: it cannot be lost, only its boards can.
func sourceCondition(c snapshot.Condition) snapshot.Condition {
	if !slices.Contains(snapshot.SourceStates(), c.State) {
		c.State = snapshot.StateFailed
	}
	return c
}

// boardCondition is how a board is whose source is in a condition.
func boardCondition(source snapshot.Condition) snapshot.Condition {
	if !slices.Contains(snapshot.BoardStates(), source.State) {
		source.State = snapshot.StateFailed
	}
	return source
}

// dismiss lets all workers go, unless one is busy: then none, and the source must stay open.
func (c *Collector) dismiss() bool {
	for _, e := range c.entries {
		if !e.busySince.IsZero() {
			return false
		}
	}
	for _, e := range c.entries {
		e.retire()
	}
	return true
}

// reconcile makes the entries fit what the source lists.
func (c *Collector) reconcile(found device.Inventory) {
	before := c.devices()
	listed := map[string]bool{}
	for _, b := range found.Boards {
		devices := b.Devices()
		uuid := devices[0].UUID
		listed[uuid] = true
		e := c.find(uuid)
		switch {
		case e == nil:
			e = &entry{condition: snapshot.Condition{State: snapshot.StateStarting, Since: time.Now()}}
			c.entries = append(c.entries, e)
		case e.board == b:
			continue
		default:
			e.retire()
		}
		e.devices, e.board, e.worker = devices, b, c.hire(b)
		e.values = make([]device.Values, len(devices))
		e.fresh = false
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
	if found.Driver != c.driver || !slices.Equal(before, c.devices()) {
		c.driver = found.Driver
		c.layout()
		c.o.Logger.Info("Devices changed", "gpus", len(c.entries), "devices", len(c.schema.Devices), "driver", c.driver)
	}
}

func (c *Collector) devices() []gpu.Device {
	var all []gpu.Device
	for _, e := range c.entries {
		all = append(all, e.devices...)
	}
	return all
}

// layout makes a new schema for the devices there are.
func (c *Collector) layout() {
	c.schema = snapshot.NewSchema(c.o.Node, c.driver, c.devices(), device.AllGroups, c.o.Rows)
	c.dirty = true
}

// setSource changes how the source is, and says so in the log.
func (c *Collector) setSource(to snapshot.Condition) {
	if c.condition.State == to.State && c.condition.Reason == to.Reason {
		return
	}
	to.Since = c.condition.Since
	if c.condition.State != to.State {
		to.Since = time.Now()
	}
	c.condition, c.dirty = to, true
	if to.State == snapshot.StateOK && to.Reason == "" {
		c.o.Logger.Info("Sampling", "from", c.o.Source.Name())
		return
	}
	c.o.Logger.Warn("The source is not as it should be", "from", c.o.Source.Name(), "state", to.State, "reason", to.Reason)
}

// note takes an event.
func (c *Collector) note(e device.Event) {
	switch e.Kind {
	case device.EventLayoutChanged:
		ask(c.rescan)
	case device.EventXID:
		entry := c.find(e.UUID)
		if entry == nil {
			c.o.Logger.Warn("XID error of an unknown GPU", "xid", e.XID, "uuid", e.UUID)
			return
		}
		entry.count(e.XID, e.Time)
		c.dirty = true
		c.o.Logger.Warn("XID error", "xid", e.XID, "gpu", entry.devices[0].Index, "uuid", e.UUID)
		ask(c.rescan) // some mean that the board is gone
	}
}

// rebuildStatus makes an immutable copy of how everything is.
func (c *Collector) rebuildStatus() {
	s := &snapshot.Status{Source: c.condition}
	for _, e := range c.entries {
		d := e.devices[0]
		d.Cluster, d.Node, d.Driver = c.o.Node.Cluster, c.o.Node.Name, c.driver
		s.Boards = append(s.Boards, snapshot.Board{
			Device: d, Condition: e.condition, LastXID: e.lastXID, XIDs: slices.Clone(e.xids),
		})
	}
	c.status, c.dirty = s, false
}
