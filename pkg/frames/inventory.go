package frames

import (
	"fmt"
	"slices"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// InventoryRow is a GPU or MIG instance as it is now. A reading that is absent is an empty cell.
type InventoryRow struct {
	Device gpu.Device
	Owners []gpu.Owner
	State  string // StatePresent and so on, or "gone since …"

	SMActive, Utilization, MemoryUsed, MemoryTotal, Power, Temperature gpu.Reading

	XID      uint64 // the last one in the range, 0 for none
	XIDAt    time.Time
	Throttle string // reasons, "" for none or not known

	Agent     string      // state of the connection to the node's agent, "none" when there is no agent
	SampleAge gpu.Reading // seconds since the newest sample
	Source    string      // where the values are from: "live", "history" or "live, history"
}

// The states of an InventoryRow.
const (
	StatePresent = "present"
	StateLost    = "lost" // it is listed and does not answer
)

// Inventory is a row for each device, of type table. Alert rules and expressions get InventoryNumbers.
func Inventory(rows []InventoryRow, o Options) *data.Frame {
	c := columns[InventoryRow]{rows: rows}
	c.device(func(r InventoryRow) gpu.Device { return r.Device })
	c.text("compute_instance", func(r InventoryRow) string { return r.Device.ComputeInstance })
	c.text("mig_uuid", func(r InventoryRow) string { return r.Device.MIGUUID })
	c.text("pci_bus_id", func(r InventoryRow) string { return r.Device.PCIBusID })
	c.text("driver", func(r InventoryRow) string { return r.Device.Driver })
	ownerColumns(&c, func(r InventoryRow) []gpu.Owner { return r.Owners })
	colours(c.text("state", func(r InventoryRow) string { return r.State }), map[string]string{StatePresent: "green", StateLost: "red"})
	c.number("sm_active", gpu.Ratio, "Share of cycles in which the SMs had work, averaged over them.", func(r InventoryRow) gpu.Reading { return r.SMActive })
	c.number("utilization", gpu.Ratio, "Share of time in which any kernel ran; it does not say how busy the GPU was.", func(r InventoryRow) gpu.Reading { return r.Utilization })
	c.number("memory_used", gpu.Bytes, "", func(r InventoryRow) gpu.Reading { return r.MemoryUsed })
	c.number("memory_total", gpu.Bytes, "", func(r InventoryRow) gpu.Reading { return r.MemoryTotal })
	c.number("power", gpu.Watts, "", func(r InventoryRow) gpu.Reading { return r.Power })
	c.number("temperature", gpu.Celsius, "", func(r InventoryRow) gpu.Reading { return r.Temperature })
	c.code("xid", func(r InventoryRow) uint64 { return r.XID })
	c.text("xid_text", func(r InventoryRow) string {
		if r.XID == 0 {
			return ""
		}
		return XIDText(r.XID)
	})
	c.at("xid_time", func(r InventoryRow) time.Time { return r.XIDAt })
	c.text("throttle", func(r InventoryRow) string { return r.Throttle })
	colours(c.text("agent", func(r InventoryRow) string { return r.Agent }),
		map[string]string{"connected": "green", "lagging": "yellow", "stale": "orange", "refused": "red", "unreachable": "red"})
	c.number("sample_age", gpu.Seconds, "How long ago the newest sample was measured.", func(r InventoryRow) gpu.Reading { return r.SampleAge })
	c.text("source", func(r InventoryRow) string { return r.Source })
	return Table("inventory", c.fields, o)
}

// ownerColumns name the workloads of a device; of several each column lists all.
func ownerColumns[R any](c *columns[R], of func(R) []gpu.Owner) {
	for _, part := range []struct {
		name string
		text func(gpu.Owner) string
	}{
		{"owner", gpu.Owner.Name},
		{"namespace", func(o gpu.Owner) string { return o.Namespace }},
		{"pod", func(o gpu.Owner) string { return o.Pod }},
		{"container", func(o gpu.Owner) string { return o.Container }},
		{"slurm_job", func(o gpu.Owner) string { return o.SlurmJob }},
		{"user", func(o gpu.Owner) string { return o.User }},
	} {
		c.text(part.name, func(row R) string { return listOf(of(row), part.text) })
	}
}

// InventoryNumbers is what an alert rule reads of an inventory: for each device 1 when it is there and answers, else 0.
func InventoryNumbers(rows []InventoryRow, o Options) *data.Frame {
	c := columns[InventoryRow]{rows: rows}
	c.device(func(r InventoryRow) gpu.Device { return r.Device })
	c.number("present", gpu.Count, "1 when the device is there and answers, 0 when it is gone or lost.", func(r InventoryRow) gpu.Reading {
		if r.State == StatePresent {
			return gpu.Read(1)
		}
		return gpu.Read(0)
	})
	return numbers("inventory", c.fields, o)
}

// numbers is a frame of one number for each set of texts, without fields when there are no rows. A row whose number is not known
// is left out: Grafana would compute with not-a-number there, which no comparison with a limit survives.
func numbers(name string, fields data.Fields, o Options) *data.Frame {
	rows := 0
	if len(fields) > 0 {
		rows = fields[0].Len()
	}
	kept := make([]int, 0, rows)
	for row := range rows {
		if !slices.ContainsFunc(fields, func(f *data.Field) bool { return f.Type() == data.FieldTypeNullableFloat64 && f.NilAt(row) }) {
			kept = append(kept, row)
		}
	}
	if rows > 0 && len(kept) == 0 {
		o.Notices = append(slices.Clip(o.Notices), gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf(
			"There is no number to read: %s is not known of any of %d rows.", fields[len(fields)-1].Name, rows)})
	}
	o.Metric = name
	frame := o.empty(data.FrameTypeNumericLong)
	switch len(kept) {
	case 0:
	case rows:
		frame.Fields = fields
	default:
		for _, field := range fields {
			frame.Fields = append(frame.Fields, rowsOf(field, kept))
		}
	}
	return frame
}

// rowsOf is a field with some of its rows.
func rowsOf(field *data.Field, rows []int) *data.Field {
	some := data.NewFieldFromFieldType(field.Type(), len(rows))
	some.Name, some.Labels, some.Config = field.Name, field.Labels, field.Config
	for i, row := range rows {
		some.Set(i, field.At(row))
	}
	return some
}

// XIDText is a code with what it means; a code that NVIDIA's catalogue lacks is said to be unknown.
func XIDText(code uint64) string {
	text := gpu.XIDText(code)
	if _, known := gpu.LookupXID(code); !known {
		text += " (unknown)"
	}
	return text
}
