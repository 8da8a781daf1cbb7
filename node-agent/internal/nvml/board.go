package nvml

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// board is one GPU. It implements device.Board.
type board struct {
	lib     *library
	handle  nvml.Device
	devices []gpu.Device
	facts   device.Facts
	name    string

	fields    *fieldSet
	profiler  *profiler // of the whole board, nil when it is split
	instances []*instance
	migSlots  int // how many MIG devices there may be, 0 when not known yet

	// What was found out about links, once it was asked.
	linksKnown, c2cKnown, hasC2C bool
	links                        int

	pcie        pcieMeter
	buffers     buffers
	processes   listing
	unsupported unsupported

	// busy is held while a sample is taken; retired says that the board is not listed any more.
	busy    sync.Mutex
	retired atomic.Bool

	// Of the sample that is being taken.
	answered, unknown int
	lost              nvml.Return // SUCCESS while the board answers
}

func newBoard(lib *library, handle nvml.Device, devices []gpu.Device) *board {
	b := &board{
		lib: lib, handle: handle, devices: devices, name: fmt.Sprintf("GPU %d (%s)", devices[0].Index, devices[0].UUID),
		fields: newFieldSet(boardItems),
	}
	b.fields.add(locationItems())
	b.fields.wrapSeconds = b.wrapSeconds()
	if !devices[0].MIGEnabled {
		b.profiler = newProfiler(lib, true, func(s nvml.GpmSample) nvml.Return { return lib.api.GpmSampleGet(handle, s) })
	}
	for _, d := range devices[1:] {
		// describe made the id from a number.
		id, _ := strconv.Atoi(d.GPUInstance)
		b.instances = append(b.instances, &instance{id: id, profiler: newProfiler(lib, false, func(s nvml.GpmSample) nvml.Return {
			return lib.api.GpmMigSampleGet(handle, id, s)
		})})
	}
	b.facts = b.readFacts()
	return b
}

// Devices implements device.Board.
func (b *board) Devices() []gpu.Device { return b.devices }

// Facts implements device.Board.
func (b *board) Facts() device.Facts { return b.facts }

// split reports whether the board is in MIG mode.
func (b *board) split() bool { return b.devices[0].MIGEnabled }

// steps are what a sample consists of. Each is left out when none of its groups is asked for. Fields come first, because
// some of the others stand in for fields that a driver lacks, and GPM last, because it may have to wait for its turn.
var steps = [...]struct {
	groups device.Groups
	read   func(*board, context.Context, device.Groups, *device.Sample)
}{
	{device.AllGroups, (*board).readFields},
	{device.GroupsOf(device.GroupUtilization, device.GroupEngines), (*board).readUtilization},
	{device.GroupsOf(device.GroupMemory, device.GroupBAR1), (*board).readMemories},
	{device.GroupsOf(device.GroupProcesses), (*board).readProcesses},
	{device.GroupsOf(device.GroupPower, device.GroupLimits), (*board).readPower},
	{device.GroupsOf(device.GroupTemperature, device.GroupThresholds), (*board).readTemperature},
	{device.GroupsOf(device.GroupClocks, device.GroupClockLimits), (*board).readClocks},
	{device.GroupsOf(device.GroupThrottling), (*board).readThrottling},
	{device.GroupsOf(device.GroupPCIe, device.GroupPCIeLink), (*board).readPCIe},
	{device.GroupsOf(device.GroupNVLinkState, device.GroupNVLinkLinks), (*board).readLinkStates},
	{device.GroupsOf(device.GroupECC, device.GroupECCLocations), (*board).readECC},
	{device.GroupsOf(device.GroupRemapping, device.GroupRemapHistogram), (*board).readRemapping},
	{device.GroupsOf(device.GroupHealth), (*board).readHealth},
	{device.GroupsOf(device.GroupFabric), (*board).readFabric},
	{device.GroupsOf(device.GroupModes), (*board).readModes},
	{device.GroupsOf(device.GroupFan), (*board).readFan},
	{bufferGroups, (*board).readBuffers},
	{gpmGroups, (*board).readProfile},
}

// Sample implements device.Board.
func (b *board) Sample(ctx context.Context, _ time.Time, groups device.Groups, into *device.Sample) error {
	if len(into.Values) != len(b.devices) {
		return fmt.Errorf("sample %s: %d values for %d devices", b.name, len(into.Values), len(b.devices))
	}
	b.busy.Lock()
	defer b.idle()
	b.start()
	into.Extents = into.Extents[:0]
	for i := range into.Values {
		b.lib.absent(&into.Values[i], groups)
	}
	for _, step := range steps {
		if groups&step.groups == 0 {
			continue
		}
		step.read(b, ctx, groups, into)
		if err := b.end(ctx); err != nil {
			return err
		}
	}
	for i := range into.Values {
		b.lib.plausible(&into.Values[i], groups)
	}
	return nil
}

// start forgets what the answers to the sample before said about the board.
func (b *board) start() { b.answered, b.unknown, b.lost = 0, 0, nvml.SUCCESS }

// end is why the sample cannot go on, or is worth nothing.
func (b *board) end(ctx context.Context) error {
	act := "sample " + b.name
	switch {
	case b.lost != nvml.SUCCESS:
		return failure(act, b.lost)
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", act, ctx.Err())
	case b.answered == 0 && b.unknown > 2:
		return failure(act, nvml.ERROR_UNKNOWN)
	}
	return nil
}

// idle ends a sample. One of a board that was retired meanwhile leaves nothing behind.
func (b *board) idle() {
	b.busy.Unlock()
	if b.retired.Load() {
		b.tidy()
	}
}

// retire gives back what the board holds, now or when the sample ends that is being taken.
func (b *board) retire() {
	b.retired.Store(true)
	b.tidy()
}

func (b *board) tidy() {
	if b.busy.TryLock() {
		defer b.busy.Unlock()
		b.release()
	}
}

// release gives back what the board holds. No sample may be running.
func (b *board) release() {
	if b.profiler != nil {
		b.profiler.release()
	}
	for _, in := range b.instances {
		in.profiler.release()
	}
}
