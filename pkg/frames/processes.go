package frames

import (
	"strconv"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// plausibleProcessBytes is more memory than any GPU has, plausibleRatio more than any share: drivers have said so of processes
// that they knew nothing of.
const (
	plausibleProcessBytes = 1 << 44
	plausibleRatio        = 8
)

func upTo(r gpu.Reading, most float64) gpu.Reading {
	if r.OK() && (r.Value < 0 || r.Value > most) {
		return gpu.Absent(gpu.NoData)
	}
	return r
}

// Processes is a row for each process and device, of type table. What was not measured is an empty cell.
func Processes(rows []gpu.Process, o Options) *data.Frame {
	c := processColumns(rows)
	c.text("kind", func(p gpu.Process) string { return p.Kind })
	ownerColumns(&c.columns, func(p gpu.Process) []gpu.Owner { return []gpu.Owner{p.Owner} })
	// The user of the process itself is there already.
	c.fields = c.fields[:len(c.fields)-1]
	c.memory()
	share := func(of func(gpu.Process) gpu.Reading) func(gpu.Process) gpu.Reading {
		return func(p gpu.Process) gpu.Reading { return upTo(of(p), plausibleRatio) }
	}
	c.number("sm", gpu.Ratio, "Share of the time in which kernels of the process ran.", share(func(p gpu.Process) gpu.Reading { return p.SMRatio }))
	c.number("memory_activity", gpu.Ratio, "Share of the time in which the process read or wrote device memory.", share(func(p gpu.Process) gpu.Reading { return p.MemoryActivityRatio }))
	c.number("encoder", gpu.Ratio, "", share(func(p gpu.Process) gpu.Reading { return p.EncoderRatio }))
	c.number("decoder", gpu.Ratio, "", share(func(p gpu.Process) gpu.Reading { return p.DecoderRatio }))
	return Table("processes", c.fields, o)
}

// ProcessNumbers is what an alert rule reads: the memory of each process that the driver tells it of.
func ProcessNumbers(rows []gpu.Process, o Options) *data.Frame {
	c := processColumns(rows)
	c.memory()
	return numbers("processes", c.fields, o)
}

type processTable struct{ columns[gpu.Process] }

func processColumns(rows []gpu.Process) processTable {
	c := processTable{columns[gpu.Process]{rows: rows}}
	c.device(func(p gpu.Process) gpu.Device { return p.Device })
	c.text("pid", func(p gpu.Process) string { return strconv.FormatUint(uint64(p.PID), 10) })
	c.text("name", func(p gpu.Process) string { return p.Name })
	c.text("user", func(p gpu.Process) string {
		if p.User == "" {
			return p.Owner.User
		}
		return p.User
	})
	return c
}

func (c *processTable) memory() {
	c.number("memory", gpu.Bytes, "Device memory that the process uses; empty where the driver does not tell.", func(p gpu.Process) gpu.Reading {
		return upTo(p.MemoryBytes, plausibleProcessBytes)
	})
}
