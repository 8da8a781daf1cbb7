package nvml

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/device/devicetest"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func source(t *testing.T, f *fake) *Source {
	t.Helper()
	return New(f, Options{Proc: t.TempDir(), Logger: slog.New(slog.DiscardHandler), Now: f.clock})
}

func opened(t *testing.T, f *fake) (*Source, []device.Board) {
	t.Helper()
	s := source(t, f)
	require.NoError(t, s.Open(t.Context()))
	found, err := s.Inventory(t.Context())
	require.NoError(t, err)
	require.Empty(t, found.Unreadable)
	return s, found.Boards
}

func take(t *testing.T, f *fake, b device.Board) []device.Values {
	t.Helper()
	values := make([]device.Values, len(b.Devices()))
	require.NoError(t, b.Sample(t.Context(), f.advance(time.Second), device.AllGroups, &device.Sample{Values: values}))
	return values
}

func TestConformance(t *testing.T) {
	for name, prepare := range map[string]func(*fake){
		"whole": func(*fake) {},
		"split": func(f *fake) { f.gpus[1].split(map[int]string{1: "3g.71gb", 5: "1g.18gb"}) },
		"old driver": func(f *fake) {
			for _, c := range []call{callMargin, callEventReasons, callMemoryV2, callGPM, callMIGMode, callFields} {
				f.missing[symbols[c][0]] = true
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			devicetest.Run(t, func(t *testing.T) devicetest.Harness {
				f := newFake(3)
				prepare(f)
				return devicetest.Harness{Source: source(t, f), Advance: f.advance}
			})
		})
	}
}

func TestReadingsInCanonicalUnits(t *testing.T) {
	f := newFake(1)
	_, boards := opened(t, f)
	take(t, f, boards[0])
	v := take(t, f, boards[0])[0]
	for m, want := range map[device.Metric]float64{
		device.Utilization: 1, device.MemoryUtilization: 0.07, device.EncoderUtilization: 0.03, device.DecoderUtilization: 0.04,
		device.GraphicsEngineActive: 0.4, device.SMActive: 0.4, device.TensorActive: 0.4, device.DRAMActive: 0.4,
		device.MemoryTotal: 150754820096, device.MemoryReserved: 643825664, device.MemoryUsed: 33934016512,
		device.Power: 627.4, device.PowerInstant: 626.26, device.PowerLimit: 700, device.Energy: 123456.789,
		device.Temperature: 52, device.MemoryTemperature: 40, device.TemperatureMargin: 35,
		device.SMClock: 1.98e9, device.MemoryClock: 3.201e9, device.SMClockMax: 1.98e9,
		device.ClockEventReasons: 1 << 40, device.PerformanceState: 0,
		device.ThrottlePower: 2.5, device.ThrottleThermal: 0,
		device.PCIeTransmit: 40 << 20, device.NVLinkReceive: 40 << 20, device.PCIeLinkGeneration: 5, device.PCIeLinkWidth: 16,
		device.ECCCorrected: 0, device.RowRemapPending: 0, device.RecoveryAction: 0,
	} {
		assert.Equal(t, gpu.OK, v[m].State, m.String())
		assert.InDelta(t, want, v[m].Value, want*1e-9, m.String())
	}
	assert.Equal(t, gpu.NoData, v[device.PCIeReplayErrors].State, "0xFFFFFFFF is NVML's way to say that there is none")
	assert.Equal(t, gpu.NoData, v[device.SMOccupancy].State, "NaN is no measurement")
	assert.Equal(t, gpu.NotSupported, v[device.FanSpeed].State)
	assert.Equal(t, gpu.NoData, v[device.XIDLast].State)
}

// D16: a passive board's fan is asked for once, not each tick; other readings go on.
func TestUnsupportedCallsAreNotRepeated(t *testing.T) {
	f := newFake(1)
	delete(f.gpus[0].fields, nvml.FI_DEV_GET_GPU_RECOVERY_ACTION)
	_, boards := opened(t, f)
	for range 60 {
		v := take(t, f, boards[0])[0]
		assert.Equal(t, gpu.NotSupported, v[device.FanSpeed].State)
		assert.Equal(t, gpu.NotSupported, v[device.RecoveryAction].State)
		assert.Equal(t, gpu.OK, v[device.Power].State)
	}
	assert.Equal(t, 1, f.calls["GetFanSpeed"])
	assert.Equal(t, 60, f.calls["GetPowerUsage"])
	assert.Equal(t, 12, f.calls["GetEnforcedPowerLimit"], "slow readings are taken every five seconds")
	assert.Len(t, boards[0].(*board).slow.fields, len(slowFields)-1)
}

// Calling a function that the library lacks would end the process.
func TestMissingSymbolsAreNeverCalled(t *testing.T) {
	f := newFake(1)
	for c := range numCalls {
		for _, name := range symbols[c] {
			f.missing[name] = true
		}
	}
	s, boards := opened(t, f)
	v := take(t, f, boards[0])[0]
	for m := range device.NumMetrics {
		assert.False(t, v[m].OK(), m.String())
	}
	assert.ErrorIs(t, s.Events(t.Context(), nil), device.ErrNotSupported)
	for _, method := range []string{"GetPowerUsage", "GetFieldValues", "GpmSampleGet", "GetMemoryInfo", "RegisterEvents"} {
		assert.Zero(t, f.calls[method], method)
	}
}

// D01: one GPU falls off the bus, and comes back.
func TestLostIsNeverCached(t *testing.T) {
	f := newFake(2)
	s, boards := opened(t, f)
	f.gpus[1].set("*", nvml.ERROR_GPU_IS_LOST)
	values := make([]device.Values, 1)
	err := boards[1].Sample(t.Context(), f.clock(), device.AllGroups, &device.Sample{Values: values})
	require.ErrorIs(t, err, device.ErrLost)
	assert.Contains(t, err.Error(), "ERROR_GPU_IS_LOST")
	assert.Equal(t, gpu.Lost, device.StateOf(err))
	take(t, f, boards[0])

	found, err := s.Inventory(t.Context())
	require.NoError(t, err)
	assert.Len(t, found.Boards, 1)
	require.Len(t, found.Unreadable, 1)
	assert.ErrorIs(t, found.Unreadable[0], device.ErrLost)

	f.gpus[1].set("*", nvml.SUCCESS)
	assert.True(t, take(t, f, boards[1])[0][device.Power].OK())
	require.NoError(t, s.Close())
}

// D02: the count drops, and the GPUs behind the gap move up: they are the same boards under other indices.
func TestIndicesShift(t *testing.T) {
	f := newFake(3)
	s, boards := opened(t, f)
	moved := boards[2].Devices()[0].UUID
	f.gpus = append(f.gpus[:1], f.gpus[2:]...)
	found, err := s.Inventory(t.Context())
	require.NoError(t, err)
	require.Len(t, found.Boards, 2)
	assert.Same(t, boards[0], found.Boards[0])
	assert.Equal(t, moved, found.Boards[1].Devices()[0].UUID)
	assert.Equal(t, 1, found.Boards[1].Devices()[0].Index)
}

func TestOpenSaysWhatToDo(t *testing.T) {
	for ret, want := range map[nvml.Return]struct {
		kind error
		text string
	}{
		nvml.ERROR_LIBRARY_NOT_FOUND:       {device.ErrNoDriver, "no NVIDIA driver here"}, // D04
		nvml.ERROR_DRIVER_NOT_LOADED:       {device.ErrNoDriver, "the nvidia kernel module is not loaded"},
		nvml.ERROR_LIB_RM_VERSION_MISMATCH: {device.ErrMismatch, "reboot the node or reload the nvidia kernel module"}, // D03
		nvml.ERROR_UNKNOWN:                 {device.ErrNoAccess, "the container must be created again"},                // D21
		nvml.ERROR_NO_PERMISSION:           {device.ErrNoPermission, "/dev/nvidiactl"},
		nvml.Return(998):                   {errFailed, "998"},
	} {
		f := newFake(1)
		s := source(t, f)
		f.init = ret
		err := s.Open(t.Context())
		require.ErrorIs(t, err, want.kind)
		assert.Contains(t, err.Error(), want.text)

		// D27: it works as soon as the driver does.
		f.init = nvml.SUCCESS
		require.NoError(t, s.Open(t.Context()))
		_, err = s.Inventory(t.Context())
		require.NoError(t, err)
	}
}

// D27: what was thought unsupported while the driver was broken is asked for again.
func TestReopeningForgetsWhatIsUnsupported(t *testing.T) {
	f := newFake(1)
	s, boards := opened(t, f)
	f.gpus[0].set("GetMarginTemperature", nvml.ERROR_NOT_SUPPORTED)
	f.missing[symbols[callPower][0]] = true
	v := take(t, f, boards[0])[0]
	assert.Equal(t, gpu.NotSupported, v[device.Power].State)
	assert.Equal(t, gpu.NotSupported, v[device.TemperatureMargin].State)

	f.gpus[0].set("GetMarginTemperature", nvml.SUCCESS)
	f.missing = map[string]bool{}
	require.NoError(t, s.Close())
	require.NoError(t, s.Open(t.Context()))
	found, err := s.Inventory(t.Context())
	require.NoError(t, err)
	v = take(t, f, found.Boards[0])[0]
	assert.True(t, v[device.Power].OK())
	assert.True(t, v[device.TemperatureMargin].OK())
}

// D25: a GPU that is plugged in later is found; when only the kernel knows it, the library has to be opened again.
func TestHotPlug(t *testing.T) {
	f := newFake(2)
	present := 0
	f.count = func() (int, nvml.Return) { return present, nvml.SUCCESS }
	s, boards := opened(t, f)
	assert.Empty(t, boards)
	present = 1
	found, err := s.Inventory(t.Context())
	require.NoError(t, err)
	assert.Len(t, found.Boards, 1)

	for i := range 2 {
		require.NoError(t, os.MkdirAll(filepath.Join(s.proc, "driver/nvidia/gpus", strconv.Itoa(i)), 0o755))
	}
	_, err = s.Inventory(t.Context())
	require.ErrorIs(t, err, device.ErrChanged)
	require.NoError(t, s.Open(t.Context()))
	_, err = s.Inventory(t.Context())
	assert.NoError(t, err)
}

// D28: one reading fails without a reason; the others go on.
func TestOneUnknownErrorIsOneReading(t *testing.T) {
	f := newFake(1)
	_, boards := opened(t, f)
	f.gpus[0].set("GetUtilizationRates", nvml.ERROR_UNKNOWN)
	v := take(t, f, boards[0])[0]
	assert.Equal(t, gpu.NoData, v[device.Utilization].State)
	assert.True(t, v[device.Power].OK())
}

// D21: a container loses its devices: everything fails without a reason. That is not a lost GPU.
func TestLostAccess(t *testing.T) {
	f := newFake(1)
	_, boards := opened(t, f)
	f.gpus[0].set("*", nvml.ERROR_UNKNOWN)
	err := boards[0].Sample(t.Context(), f.clock(), device.AllGroups, &device.Sample{Values: make([]device.Values, 1)})
	require.ErrorIs(t, err, device.ErrNoAccess)
	assert.NotErrorIs(t, err, device.ErrLost)
	assert.Contains(t, err.Error(), "the container must be created again")
}

// D10: inside a container, the parent's memory is forbidden; the instance tells its own.
func TestSplitBoard(t *testing.T) {
	f := newFake(1)
	g := f.gpus[0]
	g.split(map[int]string{7: "1g.18gb"})
	g.set("GetMemoryInfo_v2", nvml.ERROR_NO_PERMISSION)
	_, boards := opened(t, f)
	devices := boards[0].Devices()
	require.Len(t, devices, 2)
	assert.True(t, devices[0].MIGEnabled)
	assert.Equal(t, gpu.Identity{UUID: devices[0].UUID, GPUInstance: "7", ComputeInstance: "0"}, devices[1].Identity)
	assert.Equal(t, "1g.18gb", devices[1].MIGProfile)
	assert.Equal(t, "MIG-0-7-0", devices[1].MIGUUID)

	take(t, f, boards[0])
	v := take(t, f, boards[0])
	assert.Equal(t, gpu.NotSupported, v[0][device.Utilization].State)
	assert.Equal(t, gpu.NoPermission, v[0][device.MemoryUsed].State)
	assert.Equal(t, gpu.NotSupported, v[0][device.NVLinkTransmit].State)
	assert.True(t, v[0][device.Power].OK())
	assert.Equal(t, 10468982784.0, v[1][device.MemoryTotal].Value)
	assert.Equal(t, 0.4, v[1][device.SMActive].Value)
	assert.Equal(t, gpu.NotSupported, v[1][device.Power].State)
	assert.Zero(t, f.calls["GetUtilizationRates"])
}

func TestComputeInstancesOfOneGPUInstanceAreOneDevice(t *testing.T) {
	f := newFake(1)
	g := f.gpus[0]
	g.mig = []*mock.Device{
		g.migDevice(1, 0, "NVIDIA H200 MIG 1c.3g.71gb"), nil, g.migDevice(1, 1, "NVIDIA H200 MIG 2c.3g.71gb"), g.migDevice(2, 0, "NVIDIA H200"),
	}
	_, boards := opened(t, f)
	devices := boards[0].Devices()
	require.Len(t, devices, 3)
	assert.Equal(t, "3g.71gb", devices[1].MIGProfile)
	assert.Empty(t, devices[1].ComputeInstance)
	assert.Equal(t, "1g.18gb", devices[2].MIGProfile, "an old driver's name says nothing, the attributes do")
}

// D23: no memory figures at all is not an error and not zero.
func TestUnifiedMemory(t *testing.T) {
	f := newFake(1)
	_, boards := opened(t, f)
	f.gpus[0].set("GetMemoryInfo_v2", nvml.ERROR_NOT_SUPPORTED)
	v := take(t, f, boards[0])[0]
	assert.Equal(t, 34577842176.0, v[device.MemoryUsed].Value, "the first version of the call works")
	assert.Equal(t, gpu.NotSupported, v[device.MemoryReserved].State)

	f.gpus[0].set("GetMemoryInfo", nvml.ERROR_NOT_SUPPORTED)
	v = take(t, f, boards[0])[0]
	assert.Equal(t, gpu.Absent(gpu.NotSupported), v[device.MemoryUsed])
	assert.Equal(t, gpu.Absent(gpu.NotSupported), v[device.MemoryTotal])
}

func TestProfilingNeedsTwoSamplesApart(t *testing.T) {
	f := newFake(1)
	_, boards := opened(t, f)
	v := take(t, f, boards[0])[0]
	assert.Equal(t, gpu.NoData, v[device.SMActive].State)
	v = take(t, f, boards[0])[0]
	assert.Equal(t, gpu.Read(0.4), v[device.SMActive])

	f.gpus[0].gpm = 80
	values := make([]device.Values, 1)
	require.NoError(t, boards[0].Sample(t.Context(), f.advance(40*time.Millisecond), device.AllGroups, &device.Sample{Values: values}))
	assert.Equal(t, gpu.Read(0.4), values[0][device.SMActive], "too close: the last reading stands")
	require.NoError(t, boards[0].Sample(t.Context(), f.advance(70*time.Millisecond), device.AllGroups, &device.Sample{Values: values}))
	assert.Equal(t, gpu.Read(0.8), values[0][device.SMActive])
	require.NoError(t, boards[0].Sample(t.Context(), f.advance(time.Hour), device.AllGroups, &device.Sample{Values: values}))
	assert.Equal(t, gpu.NoData, values[0][device.SMActive].State, "an hour's mean is no reading of now")
}

func TestBoardsWithoutProfiling(t *testing.T) {
	f := newFake(1)
	f.gpus[0].set("GpmQuery", nvml.ERROR_NOT_SUPPORTED)
	_, boards := opened(t, f)
	take(t, f, boards[0])
	link := f.gpus[0].fields[nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX]
	link.Value[1] += 8 // 2,048 KiB more
	f.gpus[0].fields[nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX] = link
	v := take(t, f, boards[0])[0]
	assert.Equal(t, gpu.NotSupported, v[device.SMActive].State)
	assert.Equal(t, gpu.Read(2048*1024), v[device.NVLinkTransmit])
	assert.Equal(t, gpu.Read(1e6), v[device.PCIeTransmit])
	assert.Equal(t, 1, f.calls["GpmQuery"])
}

func TestABusyProfilerDoesNotHoldUpOthers(t *testing.T) {
	f := newFake(1)
	s, boards := opened(t, f)
	s.lib.gpm <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := boards[0].Sample(ctx, f.clock(), device.AllGroups, &device.Sample{Values: make([]device.Values, 1)})
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	<-s.lib.gpm
}

func TestEvents(t *testing.T) {
	f := newFake(2)
	s, _ := opened(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan device.Event)
	done := make(chan error, 1)
	go func() { done <- s.Events(ctx, func(e device.Event) { got <- e }) }()

	// The GPU that reports XID 79 does not answer any more when the event is read.
	f.events <- nvml.EventData{Device: f.gpus[0], EventType: nvml.EventTypeXidCriticalError, EventData: 31}
	assert.Equal(t, device.Event{Kind: device.EventXID, UUID: f.gpus[0].UUID, XID: 31, Time: f.clock()}, <-got)
	f.gpus[1].set("*", nvml.ERROR_GPU_IS_LOST)
	f.events <- nvml.EventData{Device: f.gpus[1], EventType: nvml.EventTypeXidCriticalError, EventData: 79}
	assert.Equal(t, device.Event{Kind: device.EventXID, UUID: f.gpus[1].UUID, XID: 79, Time: f.clock()}, <-got)
	f.events <- nvml.EventData{Device: f.gpus[0], EventType: 1 << 30} // D26: not a kind that is known
	f.events <- nvml.EventData{Device: f.gpus[0], EventType: nvml.EventMigConfigChange}
	assert.Equal(t, device.EventLayoutChanged, (<-got).Kind)
	cancel()
	assert.True(t, errors.Is(<-done, context.Canceled))
}

func TestEventsOfNoBoard(t *testing.T) {
	f := newFake(1)
	s, _ := opened(t, f)
	f.gpus[0].set("RegisterEvents", nvml.ERROR_NOT_SUPPORTED)
	assert.ErrorIs(t, s.Events(t.Context(), nil), device.ErrNotSupported)
}

func TestProfileNames(t *testing.T) {
	const h200 = 150754820096
	for want, a := range map[string]nvml.DeviceAttributes{
		"1g.18gb":    {GpuInstanceSliceCount: 1, ComputeInstanceSliceCount: 1, MemorySizeMB: 16384},
		"2g.35gb":    {GpuInstanceSliceCount: 2, ComputeInstanceSliceCount: 2, MemorySizeMB: 33280},
		"1c.3g.71gb": {GpuInstanceSliceCount: 3, ComputeInstanceSliceCount: 1, MemorySizeMB: 71424},
		"7g.141gb":   {GpuInstanceSliceCount: 7, ComputeInstanceSliceCount: 7, MemorySizeMB: 143000},
	} {
		assert.Equal(t, want, profileName(a, h200))
	}
}

// There is no driver where these tests run; the real library must say so, and not crash.
func TestRealLibraryWithoutDriver(t *testing.T) {
	if _, err := os.Stat("/dev/nvidiactl"); err == nil {
		t.Skip("this machine has a driver")
	}
	err := New(nvml.New(), Options{}).Open(t.Context())
	require.ErrorIs(t, err, device.ErrNoDriver)
	assert.Contains(t, err.Error(), "libnvidia-ml.so.1 is missing")
}
