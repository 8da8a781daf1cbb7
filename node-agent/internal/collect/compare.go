package collect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// seen are the readings that become events when they change.
type seen struct {
	recovery, uncorrected, pending, failure, retiring gpu.Reading
}

// compare makes events of what changed since the last measurement of a group. The first tells nothing: how a board was
// found is no event.
func (c *Collector) compare(e *entry, groups device.Groups) {
	if len(e.values) == 0 {
		return
	}
	v := &e.values[0]
	if groups.Has(device.GroupHealth) {
		if was, is, ok := change(&e.seen.recovery, v[device.RecoveryAction]); ok && was != is {
			c.saw(e, device.EventRecoveryActionChanged, device.GroupHealth, recoveryText(was)+" → "+recoveryText(is))
		}
	}
	if groups.Has(device.GroupECC) {
		if was, is, ok := change(&e.seen.uncorrected, v[device.ECCUncorrected]); ok && is > was {
			c.saw(e, device.EventECCUncorrected, device.GroupECC, fmt.Sprintf("%g more uncorrected memory errors", is-was))
		}
	}
	if groups.Has(device.GroupRemapping) {
		for _, w := range []struct {
			seen   *gpu.Reading
			metric device.Metric
			kind   device.EventKind
			text   string
		}{
			{&e.seen.pending, device.RowRemapPending, device.EventPageRetired, "a row remapping is pending: it takes effect when the GPU is reset"},
			{&e.seen.retiring, device.RetiredPagesPending, device.EventPageRetired, "a page retirement is pending: it takes effect when the GPU is reset"},
			{&e.seen.failure, device.RowRemapFailure, device.EventPageRetirementFailed, "a row could not be remapped: no spare row is left in its bank"},
		} {
			if was, is, ok := change(w.seen, v[w.metric]); ok && is > was {
				c.saw(e, w.kind, device.GroupRemapping, w.text)
			}
		}
	}
}

// change replaces what was seen by what is, when that is known. ok is false for the first.
func change(seen *gpu.Reading, now gpu.Reading) (was, is float64, ok bool) {
	if !now.OK() {
		return 0, 0, false
	}
	before := *seen
	*seen = now
	return before.Value, now.Value, before.OK()
}

// saw makes an event of a reading, unless somebody told it already.
func (c *Collector) saw(e *entry, kind device.EventKind, g device.Group, detail string) {
	if at := e.heardAt[kind]; !at.IsZero() && time.Since(at) <= c.schedule.Every[g]+sameEvent {
		return
	}
	c.happened(e, kind, time.Now(), detail)
	c.o.Logger.Warn("A GPU's health changed", "gpu", e.devices[0].Index, "uuid", e.devices[0].UUID, "event", kind, "detail", detail)
}

// recoveryText is a recovery action as NVIDIA names it.
func recoveryText(action float64) string {
	names := []string{"none", "GPU reset", "node reboot", "drain peer-to-peer", "drain and reset"}
	if i := int(action); i >= 0 && i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("action %g", action)
}

// relaid makes an event of MIG instances that changed from what the entry has to devices.
func (c *Collector) relaid(e *entry, devices []gpu.Device) {
	told, origin := e.relaidAt, e.relaidOrigin
	e.relaidAt = time.Time{}
	created, destroyed := missing(devices, e.devices), missing(e.devices, devices)
	var parts []string
	if was, is := e.devices[0].MIGEnabled, devices[0].MIGEnabled; was != is {
		parts = append(parts, map[bool]string{true: "MIG mode on", false: "MIG mode off"}[is])
	}
	if len(created) > 0 {
		parts = append(parts, "created "+strings.Join(created, ", "))
	}
	if len(destroyed) > 0 {
		parts = append(parts, "destroyed "+strings.Join(destroyed, ", "))
	}
	if len(parts) == 0 && told.IsZero() {
		return
	}
	d := devices[0]
	x := device.Event{
		Kind: device.EventLayoutChanged, Time: time.Now(), Origin: device.FromAgent, UUID: d.UUID, PCIBusID: d.PCIBusID,
		Detail: strings.Join(parts, "; "),
	}
	if !told.IsZero() {
		x.Time, x.Origin = told, origin
	}
	e.countKind(x.Kind, x.Time)
	c.dirty = true
	c.keepEvent(e, x)
}

// missing names the MIG instances of a that are not among b.
func missing(a, b []gpu.Device) []string {
	var names []string
	for _, d := range a {
		if d.IsMIG() && !slices.ContainsFunc(b, func(o gpu.Device) bool {
			return o.GPUInstance == d.GPUInstance && o.ComputeInstance == d.ComputeInstance && o.MIGProfile == d.MIGProfile
		}) {
			id := d.GPUInstance
			if d.ComputeInstance != "" {
				id += "/" + d.ComputeInstance
			}
			names = append(names, strings.TrimSpace(d.MIGProfile+" #"+id))
		}
	}
	return names
}
