package frames_test

import (
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func stocked() []frames.InventoryRow {
	board := gpu.Device{
		Identity: gpu.Identity{Cluster: "north", Node: "gpu01", UUID: "GPU-1"}, Index: 0, Model: "NVIDIA H200", PCIBusID: "00000000:19:00.0",
		Driver: "590.48.01", MIGEnabled: true,
	}
	mig := board
	mig.GPUInstance, mig.ComputeInstance, mig.MIGProfile, mig.MIGUUID = "7", "0", "1g.18gb", "MIG-7"
	gone := gpu.Device{Identity: gpu.Identity{Cluster: "north", Node: "gpu02", UUID: "GPU-2"}, Index: -1}
	return []frames.InventoryRow{
		{
			Device: board, State: frames.StatePresent, Power: gpu.Read(412.5), Temperature: gpu.Read(66), MemoryTotal: gpu.Read(150754820096),
			Utilization: gpu.Absent(gpu.NotSupported), XID: 79, XIDAt: time.Unix(1793400000, 0), Throttle: "hw_thermal_slowdown", Agent: "connected",
			SampleAge: gpu.Read(0.4), Source: "live, history",
		},
		{
			Device: mig, State: frames.StatePresent, SMActive: gpu.Read(0), MemoryUsed: gpu.Read(1 << 30), Agent: "connected", Source: "live",
			Owners: []gpu.Owner{{Namespace: "ml", Pod: "train-0", Container: "main"}, {SlurmJob: "4711", User: "ada"}, {Namespace: "ml", Pod: "train-1"}},
		},
		{Device: gone, State: "gone since 2026-10-30 22:40:00 UTC", Agent: "none", SampleAge: gpu.Read(600), Source: "history", XID: 999, XIDAt: time.Unix(1793400060, 0)},
	}
}

func TestInventoryTables(t *testing.T) {
	o := frames.Options{Executed: "group by (…)", Notices: []gpu.Notice{{Severity: gpu.Warning, Text: "p1 is down."}}}
	golden(t, "inventory", frames.Inventory(stocked(), o))
	golden(t, "inventory_numbers", frames.InventoryNumbers(stocked(), o))
	golden(t, "tables_empty", frames.Inventory(nil, frames.Options{}), frames.InventoryNumbers(nil, frames.Options{}), frames.Processes(nil, frames.Options{}),
		frames.ProcessNumbers(nil, frames.Options{}), frames.Events(nil, frames.Options{}), frames.EventNumbers(nil, frames.Options{}))
}

func TestProcessTables(t *testing.T) {
	device := stocked()[0].Device
	rows := []gpu.Process{
		{Device: device, PID: 79, Name: "python", User: "ada", Kind: "compute", MemoryBytes: gpu.Absent(gpu.NotSupported), SMRatio: gpu.Read(0.75)},
		{Device: device, PID: 80, Name: "trtllm", Kind: "mps", MemoryBytes: gpu.Read(1048576), SMRatio: gpu.Read(3e9), DecoderRatio: gpu.Read(0),
			Owner: gpu.Owner{Namespace: "ml", Pod: "serve-0", User: "bob"}},
	}
	golden(t, "processes", frames.Processes(rows, frames.Options{}))
	golden(t, "process_numbers", frames.ProcessNumbers(rows, frames.Options{}))
}

func TestEventTables(t *testing.T) {
	device := stocked()[0].Device
	at := time.Unix(1793400000, 0)
	rows := []gpu.Event{
		{Time: at, Until: at.Add(time.Minute), Kind: gpu.KindThrottle, Origin: "history", Device: device, Detail: "heat, slowed down by hardware"},
		{Time: at.Add(time.Minute), Kind: gpu.KindXID, XID: 31, Origin: "kernel", Device: device, Detail: "Ch 00000008, intr 00000000"},
		{Time: at.Add(time.Minute), Kind: gpu.KindXID, XID: 31, Origin: "kernel", Device: device},
		{Time: at.Add(2 * time.Minute), Kind: gpu.KindXID, XID: 999, Origin: "nvml", Device: device},
		{Time: at.Add(3 * time.Minute), Kind: "of_tomorrow", Origin: "agent", Device: gpu.Device{Identity: gpu.Identity{Cluster: "north", Node: "gpu01"}, Index: -1}},
	}
	golden(t, "events", frames.Events(rows, frames.Options{}))
	golden(t, "event_numbers", frames.EventNumbers(rows, frames.Options{}))
}

// Alert rules take one number for each set of labels: no two rows may have the same.
func TestNumbersHaveLabelsOfTheirOwn(t *testing.T) {
	for _, frame := range []*data.Frame{frames.InventoryNumbers(stocked(), frames.Options{}), frames.EventNumbers([]gpu.Event{{XID: 1}, {XID: 2}, {XID: 1}}, frames.Options{})} {
		seen := map[string]bool{}
		for i := range frame.Rows() {
			labels := ""
			for _, f := range frame.Fields {
				if text, ok := f.At(i).(string); ok {
					labels += text + "\xff"
				}
			}
			if seen[labels] {
				t.Errorf("%s: twice %q", frame.Name, labels)
			}
			seen[labels] = true
		}
	}
}
