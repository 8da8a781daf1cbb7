package nvml

import (
	"context"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// linkGroups need to know how many NVLinks there are.
const linkGroups device.Groups = 1<<device.GroupNVLink | 1<<device.GroupNVLinkState | 1<<device.GroupNVLinkLinks

// readFields reads the fields of all groups with one call. Only while it is being found out which of them the board
// supports, there are more.
func (b *board) readFields(_ context.Context, groups device.Groups, into *device.Sample) {
	v := &into.Values[0]
	if groups&linkGroups != 0 {
		b.countLinks(groups, v)
	}
	if groups.Has(device.GroupC2C) {
		b.countC2C(v)
	}
	now := b.lib.now()
	b.fields.begin(func(m device.Metric) bool { return groups.Has(m.Group()) && !b.elsewhere(m) })
	for {
		request := b.fields.next()
		if len(request) == 0 {
			return
		}
		if state := b.ask(request); state != gpu.OK {
			b.fields.give(v, state)
			return
		}
		b.fields.take(request, now, v, b.tally)
	}
}

// elsewhere reports whether a metric comes from GPM and needs no field.
func (b *board) elsewhere(m device.Metric) bool {
	g := m.Group()
	return (g == device.GroupPCIe || g == device.GroupNVLink) && b.profiler != nil && b.canProfile() == gpu.OK && b.profiler.offers(m)
}

// ask has the driver fill in fields. A driver that takes fewer at once is asked several times from then on.
func (b *board) ask(fields []nvml.FieldValue) gpu.State {
	refused := false
	for len(fields) > 0 {
		part := fields[:min(len(fields), b.fields.limit)]
		var ret nvml.Return
		state := b.call(callFields, func() nvml.Return {
			ret = b.handle.GetFieldValues(part)
			return ret
		})
		switch {
		case ret == nvml.ERROR_INVALID_ARGUMENT && len(part) > 1:
			b.fields.limit = len(part) / 2
			continue
		case ret == nvml.ERROR_INVALID_ARGUMENT:
			part[0].NvmlReturn = uint32(ret)
			refused = true
		case state != gpu.OK:
			return state
		}
		fields = fields[len(part):]
	}
	if refused { // it was this field, and not their number
		b.fields.limit = maxFields
	}
	return gpu.OK
}

// askOne reads a field that counts something, 0 when the board does not have it. known is false when it may say so later.
func (b *board) askOne(id uint32) (reading gpu.Reading, known bool) {
	field := []nvml.FieldValue{{FieldId: id}}
	if state := b.ask(field); state != gpu.OK {
		return gpu.Absent(state), state == gpu.NotSupported
	}
	ret := nvml.Return(field[0].NvmlReturn)
	b.tally(ret)
	if isFinal(ret) || ret == nvml.ERROR_INVALID_ARGUMENT {
		return gpu.Absent(gpu.NotSupported), true
	}
	if ret != nvml.SUCCESS {
		return gpu.Absent(stateOf(ret)), false
	}
	if x, ok := decode(field[0], 0); ok && x >= 0 {
		return gpu.Read(x), true
	}
	return gpu.Absent(gpu.NoData), true
}

// countLinks finds out once how many NVLinks there are, and from then on asks for theirs. Boards in MIG mode do not tell.
func (b *board) countLinks(groups device.Groups, v *device.Values) {
	if b.split() {
		return
	}
	if !b.linksKnown {
		reading, known := b.askOne(nvml.FI_DEV_NVLINK_LINK_COUNT)
		if reading.State == gpu.NotSupported {
			reading, known = b.probeLinks()
		}
		if !known {
			if groups.Has(device.GroupNVLinkState) {
				v[device.NVLinkLinks] = reading
			}
			return
		}
		b.linksKnown = true
		if reading.OK() && reading.Value > 0 {
			b.links = int(min(reading.Value, maxLinks))
			b.fields.add(linkItems(b.links))
		}
	}
	if groups.Has(device.GroupNVLinkState) && b.links > 0 {
		v.Set(device.NVLinkLinks, float64(b.links))
	}
}

// probeLinks counts the links by asking each for its state, for drivers that do not tell their number.
func (b *board) probeLinks() (gpu.Reading, bool) {
	n := 0
	for link := range maxLinks {
		var ret nvml.Return
		state := b.try(callLinkState, slotLinkState+slot(link), &b.unsupported, func() nvml.Return {
			_, ret = b.handle.GetNvLinkState(link)
			return ret
		})
		switch {
		case state == gpu.OK:
			n = link + 1
		case state == gpu.Lost:
			return gpu.Absent(state), false
		case state == gpu.NotSupported && n == 0, ret == nvml.ERROR_INVALID_ARGUMENT:
			if n == 0 {
				return gpu.Absent(gpu.NotSupported), true
			}
			return gpu.Read(float64(n)), true
		}
	}
	return gpu.Read(float64(n)), true
}

// countC2C finds out once how many links there are to the CPU.
func (b *board) countC2C(v *device.Values) {
	if b.c2cKnown && !b.hasC2C {
		return
	}
	reading, known := b.askOne(nvml.FI_DEV_C2C_LINK_COUNT)
	v[device.C2CLinks] = reading
	if known && !b.c2cKnown {
		b.c2cKnown = true
		if reading.OK() && reading.Value > 0 {
			b.hasC2C = true
			b.fields.add(c2cItems(int(min(reading.Value, maxC2C))))
		}
	}
}
