package simulate

import (
	"fmt"
	"slices"
	"strings"
)

// Model is the data sheet of a board, in canonical units, with the idle figures and the thermal behaviour that real ones
// show: an H200 under full load draws 627 W at 52 °C, with 35 °C to spare before it slows down.
type Model struct {
	Name  string // as the driver prints it
	Short string // as the command line takes it

	MemoryTotal, MemoryReserved float64 // bytes

	PowerIdle, PowerHeld, PowerLimit float64 // watts: no process, a process that does nothing, the limit

	ClockIdle, ClockMax, ClockMemory float64 // hertz

	TemperatureSlowdown float64 // °C at which the margin is 0
	Resistance          float64 // °C per watt between board and inlet air

	PCIeGeneration int
	PCIe, NVLink   float64 // bytes per second each way at most; NVLink 0 for none

	HBM         bool // has a memory temperature and row remapping
	Profiling   bool // GPM: Hopper and newer
	Fan         bool
	DefaultMIG  []string // the split that --simulate.mig makes, nil for a board that cannot be split
	MemoryUnits int      // in how many parts MIG divides the memory

	Architecture, ComputeCapability string
	BusBits, Cores                  int
}

const (
	mib = 1 << 20
	gib = 1 << 30
	mhz = 1e6
)

// Models are the boards that can be simulated.
func Models() []Model {
	return []Model{
		{
			Name: "NVIDIA H200", Short: "H200", MemoryTotal: 150754820096, MemoryReserved: 643825664,
			PowerIdle: 77, PowerHeld: 116, PowerLimit: 700, ClockIdle: 345 * mhz, ClockMax: 1980 * mhz, ClockMemory: 3201 * mhz,
			TemperatureSlowdown: 87, Resistance: 0.042, PCIeGeneration: 5, PCIe: 63e9, NVLink: 450e9,
			HBM: true, Profiling: true, DefaultMIG: []string{"3g.71gb", "2g.35gb", "1g.18gb", "1g.18gb"}, MemoryUnits: 8,
			Architecture: "Hopper", ComputeCapability: "9.0", BusBits: 6144, Cores: 16896,
		},
		{
			Name: "NVIDIA H100 80GB HBM3", Short: "H100", MemoryTotal: 85520809984, MemoryReserved: 617414656,
			PowerIdle: 70, PowerHeld: 112, PowerLimit: 700, ClockIdle: 345 * mhz, ClockMax: 1980 * mhz, ClockMemory: 2619 * mhz,
			TemperatureSlowdown: 87, Resistance: 0.045, PCIeGeneration: 5, PCIe: 63e9, NVLink: 450e9,
			HBM: true, Profiling: true, DefaultMIG: []string{"3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"}, MemoryUnits: 8,
			Architecture: "Hopper", ComputeCapability: "9.0", BusBits: 5120, Cores: 16896,
		},
		{
			Name: "NVIDIA A100-SXM4-80GB", Short: "A100", MemoryTotal: 85899345920, MemoryReserved: 672006144,
			PowerIdle: 56, PowerHeld: 84, PowerLimit: 400, ClockIdle: 210 * mhz, ClockMax: 1410 * mhz, ClockMemory: 1593 * mhz,
			TemperatureSlowdown: 87, Resistance: 0.085, PCIeGeneration: 4, PCIe: 31e9, NVLink: 300e9,
			HBM: true, DefaultMIG: []string{"3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"}, MemoryUnits: 8,
			Architecture: "Ampere", ComputeCapability: "8.0", BusBits: 5120, Cores: 6912,
		},
		{
			Name: "NVIDIA L40S", Short: "L40S", MemoryTotal: 48305799168, MemoryReserved: 658505728,
			PowerIdle: 34, PowerHeld: 82, PowerLimit: 350, ClockIdle: 210 * mhz, ClockMax: 2520 * mhz, ClockMemory: 9001 * mhz,
			TemperatureSlowdown: 88, Resistance: 0.115, PCIeGeneration: 4, PCIe: 31e9,
			Architecture: "Ada", ComputeCapability: "8.9", BusBits: 384, Cores: 18176,
		},
		{
			Name: "NVIDIA GeForce RTX 4090", Short: "RTX4090", MemoryTotal: 25757220864, MemoryReserved: 390070272,
			PowerIdle: 18, PowerHeld: 62, PowerLimit: 450, ClockIdle: 210 * mhz, ClockMax: 3105 * mhz, ClockMemory: 10501 * mhz,
			TemperatureSlowdown: 84, Resistance: 0.095, PCIeGeneration: 4, PCIe: 31e9, Fan: true,
			Architecture: "Ada", ComputeCapability: "8.9", BusBits: 384, Cores: 16384,
		},
	}
}

// ModelNamed finds a model by its short name, whatever the case. The error lists what there is.
func ModelNamed(short string) (Model, error) {
	models := Models()
	at := slices.IndexFunc(models, func(m Model) bool { return strings.EqualFold(m.Short, short) })
	if at < 0 {
		names := make([]string, len(models))
		for i, m := range models {
			names[i] = m.Short
		}
		return Model{}, fmt.Errorf("model %q is not one of %s", short, strings.Join(names, ", "))
	}
	return models[at], nil
}

// instance is one MIG slice of a board.
type instance struct {
	id      int
	profile string
	compute float64 // share of the board's SMs, of 7
	memory  float64 // share of the board's memory
}

// split divides a board by profile names ("3g.71gb"). The error says why the board cannot be split so.
func split(m Model, profiles []string) ([]instance, error) {
	if m.MemoryUnits == 0 {
		return nil, fmt.Errorf("a %s cannot be split into MIG instances", m.Short)
	}
	var instances []instance
	var compute, memory int
	for i, profile := range profiles {
		var slices, size int
		if _, err := fmt.Sscanf(profile, "%dg.%dgb", &slices, &size); err != nil || slices < 1 || slices > 7 || size < 1 {
			return nil, fmt.Errorf("MIG profile %q is not like 1g.18gb", profile)
		}
		units := int(float64(size)*gib/(m.MemoryTotal/float64(m.MemoryUnits)) + 0.5)
		if units < 1 {
			return nil, fmt.Errorf("MIG profile %q is smaller than a slice of a %s, which has %.0f GiB",
				profile, m.Short, m.MemoryTotal/float64(m.MemoryUnits)/gib)
		}
		compute, memory = compute+slices, memory+units
		if compute > 7 || memory > m.MemoryUnits {
			return nil, fmt.Errorf("MIG profiles %s need more than the 7 compute and %d memory slices of a %s",
				strings.Join(profiles, ","), m.MemoryUnits, m.Short)
		}
		// The driver counts instance ids from 1 for the small profiles and gives the big ones the low numbers; any numbers
		// do, as long as they are not the positions.
		instances = append(instances, instance{
			id: i + 1 + 2*(i/2), profile: profile, compute: float64(slices) / 7, memory: float64(units) / float64(m.MemoryUnits),
		})
	}
	return instances, nil
}
