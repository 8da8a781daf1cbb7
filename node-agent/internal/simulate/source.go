// Package simulate is a node without GPUs that reads like one with them: seeded, physically coherent, and a function of
// the time alone, so that a past that is generated and a present that is sampled are one process.
//
// Power follows activity, temperature follows power with the inertia of die and heat sink, clocks follow temperature and
// the power limit, energy is power's integral, and what an application does – training in steps, serving with the day,
// holding a board and doing nothing – is visible in all of them at once.
package simulate

import (
	"context"
	"fmt"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

const driverVersion = "590.48.01"

// Source is a simulated node. It implements device.Source.
type Source struct {
	boards []*Board
	now    func() time.Time
}

// New builds the node. now is the clock that events go by. The error names the option that is wrong.
func New(o Options, now func() time.Time) (*Source, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Source{now: now}
	node := mixText(mix(o.Seed, 1), o.Node)
	for i := range o.GPUs {
		b, err := newBoard(o, node, i)
		if err != nil {
			return nil, err
		}
		b.readings, b.latest = make([]device.Values, len(b.devices)), make([]latest, len(b.workers))
		s.boards = append(s.boards, b)
	}
	return s, nil
}

func newBoard(o Options, node uint64, index int) (*Board, error) {
	key := mix(node, uint64(index))
	work := jobFor(o.Profile, index)
	b := &Board{
		model: o.Model, key: key, window: 1,
		inlet:    23.5 + 1.4*float64(index%4) + 2*uniform(node, 7), // boards behind others get warmer air
		appetite: 1 + 0.05*signed(key, 8),
	}
	if o.Window > 0 {
		b.window = min(o.Window, 1)
	}
	whole := gpu.Device{
		Identity: gpu.Identity{UUID: uuid("GPU-", key)}, Index: index, Model: o.Model.Name, MIGEnabled: len(o.MIG) > 0,
		PCIBusID: busID(index), Driver: driverVersion,
	}
	b.devices = []gpu.Device{whole}
	if len(o.MIG) == 0 {
		// Every node with the same seed works on the same job.
		b.workers = []worker{{job: work, key: mix(key, 20), jobKey: mixText(o.Seed, "job")}}
		b.faults = newFaults(node, index, o.GPUs, work == train, o.Faults)
		return b, nil
	}
	instances, err := split(o.Model, o.MIG)
	if err != nil {
		return nil, err
	}
	b.instances = instances
	b.faults = newFaults(node, index, o.GPUs, false, o.Faults)
	for slot, in := range instances {
		d := whole
		d.GPUInstance, d.ComputeInstance = fmt.Sprint(in.id), "0"
		d.MIGProfile, d.MIGUUID = in.profile, uuid("MIG-", mix(key, uint64(100+slot)))
		b.devices = append(b.devices, d)
		b.workers = append(b.workers, worker{job: jobForInstance(o.Profile, index, slot), key: mix(key, uint64(40+slot))})
	}
	return b, nil
}

func uuid(prefix string, key uint64) string {
	a, b := mix(key, 31), mix(key, 32)
	return fmt.Sprintf("%s%08x-%04x-4%03x-%04x-%012x",
		prefix, a>>32, a>>16&0xffff, a&0xfff, 0x8000|b>>48&0x3fff, b&0xffffffffffff)
}

// busID is where the boards of an HGX baseboard sit.
func busID(index int) string {
	buses := [...]int{0x1a, 0x40, 0x53, 0x66, 0x9c, 0xc0, 0xd2, 0xe4}
	return fmt.Sprintf("%08X:%02X:00.0", index/len(buses), buses[index%len(buses)])
}

// Name implements device.Source.
func (s *Source) Name() string { return "simulate" }

// Open implements device.Source.
func (s *Source) Open(context.Context) error { return nil }

// Inventory implements device.Source.
func (s *Source) Inventory(context.Context) (device.Inventory, error) {
	found := device.Inventory{Driver: driverVersion, Versions: device.Versions{NVML: "13." + driverVersion, CUDA: "13.1"}}
	for _, b := range s.boards {
		found.Boards = append(found.Boards, b)
	}
	return found, nil
}

// Close implements device.Source.
func (s *Source) Close() error { return nil }

// Events implements device.Source.
func (s *Source) Events(ctx context.Context, emit func(device.Event)) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	seen := cellAt(s.now())
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		for now := cellAt(s.now()); seen < now; {
			seen++
			for _, e := range s.eventsIn(seen) {
				emit(e)
			}
		}
	}
}

func (s *Source) eventsIn(cell int64) []device.Event {
	var events []device.Event
	for _, b := range s.boards {
		for _, code := range b.faults.xids(cell) {
			events = append(events, device.Event{
				Kind: device.EventXID, Origin: device.FromSimulator, UUID: b.devices[0].UUID, XID: code,
				Time: time.Unix(cell*cellSeconds, 0),
			})
		}
	}
	return events
}

func cellAt(t time.Time) int64 { return floorDiv(t.UnixMilli(), cellSeconds*1000) }
