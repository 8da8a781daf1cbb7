package nvml

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/device/devicetest"
	"github.com/warpwatch/warpwatch/node-agent/internal/nvml/nvmltest"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// failing are the machines that do not answer all the time, or not what power and energy do (D18).
var failing = []string{
	"D01_gpu_lost", "D02_off_bus_no_xid", "D03_version_mismatch", "D04_no_driver", "D21_cgroup_lost", "D25_late_gpus", "D27_late_driver",
	"reset_required", "D18_energy_steps",
}

func TestConformance(t *testing.T) {
	names, err := nvmltest.Machines()
	require.NoError(t, err)
	for _, name := range names {
		if slices.Contains(failing, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			devicetest.Run(t, func(t *testing.T) devicetest.Harness {
				m := machine(t, name)
				return devicetest.Harness{Source: sourceOf(t, m), Advance: m.Advance}
			})
		})
	}
}

// Calling a function that the library lacks would end the process; the fake notices each such call.
func TestMissingSymbolsAreNeverCalled(t *testing.T) {
	all := func(s *nvmltest.Spec) {
		for c := range numCalls {
			if c == callCount || c == callHandle || c == callUUID {
				continue
			}
			s.Missing = append(s.Missing, everyName(c)...)
		}
	}
	m := machine(t, "h200", all)
	s, boards := opened(t, m)
	v := take(t, m, boards[0])[0]
	for metric := range device.NumMetrics {
		assert.False(t, v[metric].OK(), metric.String())
	}
	_, err := boards[0].Processes(t.Context(), nil)
	require.ErrorIs(t, err, device.ErrNotSupported)
	assert.ErrorIs(t, s.Events(t.Context(), nil), device.ErrNotSupported)

	for c := range numCalls {
		for _, name := range []string{"h200", "h200_mig"} {
			m := machine(t, name, func(s *nvmltest.Spec) { s.Missing = append(s.Missing, everyName(c)...) })
			s := sourceOf(t, m)
			if err := s.Open(t.Context()); err != nil {
				assert.ErrorIs(t, err, device.ErrNotSupported)
				assert.Contains(t, []call{callCount, callHandle, callUUID}, c)
				continue
			}
			found, err := s.Inventory(t.Context())
			require.NoError(t, err)
			for _, b := range found.Boards {
				take(t, m, b)
				take(t, m, b)
				_, _ = b.Processes(t.Context(), nil)
			}
			require.NoError(t, s.Close())
		}
	}
}

// everyName is all symbols of a call, whichever the fake calls it by.
func everyName(c call) []string {
	var names []string
	for _, alternatives := range symbols[c] {
		names = append(names, strings.Split(alternatives, "|")...)
	}
	return names
}

func TestDriverOf2020(t *testing.T) {
	m := machine(t, "t4_driver_450")
	_, boards := opened(t, m)
	v := take(t, m, boards[0])[0]
	for _, metric := range []device.Metric{
		device.Utilization, device.MemoryUsed, device.Power, device.Temperature, device.SMClock, device.ClockEventReasons,
		device.PCIeLinkGeneration, device.Energy,
	} {
		assert.Equal(t, "ok", v[metric].State.String(), metric.String())
	}
	for _, metric := range []device.Metric{device.MemoryReserved, device.SMActive, device.TemperatureMargin, device.FabricState} {
		assert.Equal(t, gpu.NotSupported, v[metric].State, metric.String())
	}
}

// D01: one GPU falls off the bus, and comes back.
func TestLostIsNeverCached(t *testing.T) {
	m := machine(t, "reset_required")
	s, boards := opened(t, m)
	m.Advance(20 * time.Second)
	err := boards[1].Sample(t.Context(), m.Clock(), device.AllGroups, &device.Sample{Values: make([]device.Values, 1)})
	require.ErrorIs(t, err, device.ErrLost)
	assert.Contains(t, err.Error(), "nvidia-smi --gpu-reset")
	assert.Equal(t, gpu.Lost, device.StateOf(err))
	_, err = boards[1].Processes(t.Context(), nil)
	require.ErrorIs(t, err, device.ErrLost)
	take(t, m, boards[0])

	found, err := s.Inventory(t.Context())
	require.NoError(t, err)
	assert.Len(t, found.Boards, 1)
	require.Len(t, found.Unreadable, 1)
	assert.ErrorIs(t, found.Unreadable[0], device.ErrLost)

	m.Advance(50 * time.Second)
	assert.True(t, take(t, m, boards[1])[0][device.Power].OK())
	require.NoError(t, s.Close())
}

func TestGPUOffTheBus(t *testing.T) {
	m := machine(t, "D01_gpu_lost")
	_, boards := opened(t, m)
	m.Advance(30 * time.Second)
	err := boards[3].Sample(t.Context(), m.Clock(), device.GroupsOf(device.GroupFan), &device.Sample{Values: make([]device.Values, 1)})
	require.ErrorIs(t, err, device.ErrLost)
	assert.Contains(t, err.Error(), "ERROR_GPU_IS_LOST")
}

// D02: the count drops, and the GPUs behind the gap move up: they are the same boards under other indices.
func TestIndicesShift(t *testing.T) {
	m := machine(t, "D02_off_bus_no_xid")
	s, boards := opened(t, m)
	m.Advance(31 * time.Second)
	found, err := s.Inventory(t.Context())
	require.NoError(t, err)
	require.Len(t, found.Boards, 7)
	assert.Same(t, boards[0], found.Boards[0])
	assert.Equal(t, boards[6].Devices()[0].UUID, found.Boards[5].Devices()[0].UUID)
	assert.Equal(t, 5, found.Boards[5].Devices()[0].Index)
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
		err := failure("open NVML", ret)
		require.ErrorIs(t, err, want.kind)
		assert.Contains(t, err.Error(), want.text)
	}
	// D27: it works as soon as the driver does.
	m := machine(t, "D27_late_driver")
	s := sourceOf(t, m)
	require.ErrorIs(t, s.Open(t.Context()), device.ErrNoDriver)
	m.Advance(2 * time.Minute)
	require.NoError(t, s.Open(t.Context()))
	found, err := s.Inventory(t.Context())
	require.NoError(t, err)
	assert.Len(t, found.Boards, 1)
}

// D03: the driver package was upgraded; an agent that closes and opens again hears so.
func TestVersionMismatch(t *testing.T) {
	m := machine(t, "D03_version_mismatch")
	s, _ := opened(t, m)
	m.Advance(61 * time.Second)
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Open(t.Context()), device.ErrMismatch)
	m.Advance(10 * time.Minute)
	require.NoError(t, s.Open(t.Context()))
}

// D27: what was thought unsupported while the driver was broken is asked for again.
func TestReopeningForgetsWhatIsUnsupported(t *testing.T) {
	m := machine(t, "h200")
	s, boards := opened(t, m)
	m.Put(0, "GetMarginTemperature", nvmltest.Answer{Value: nvmltest.Value{Ret: nvml.ERROR_NOT_SUPPORTED}})
	assert.Equal(t, gpu.NotSupported, take(t, m, boards[0])[0][device.TemperatureMargin].State)
	m.Put(0, "GetMarginTemperature", nvmltest.Answer{Value: nvmltest.Value{Base: 35}})
	assert.Equal(t, gpu.NotSupported, take(t, m, boards[0])[0][device.TemperatureMargin].State)
	require.NoError(t, s.Close())
	require.NoError(t, s.Open(t.Context()))
	found, err := s.Inventory(t.Context())
	require.NoError(t, err)
	assert.Equal(t, gpu.Read(35), take(t, m, found.Boards[0])[0][device.TemperatureMargin])
}

// D25: a GPU that is plugged in later is found; when only the kernel knows it, the library has to be opened again.
func TestHotPlug(t *testing.T) {
	m := machine(t, "D25_late_gpus")
	s, boards := opened(t, m)
	assert.Empty(t, boards)
	m.Advance(40 * time.Second)
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
	m := machine(t, "h200")
	_, boards := opened(t, m)
	m.Put(0, "GetUtilizationRates", nvmltest.Answer{Value: nvmltest.Value{Ret: nvml.ERROR_UNKNOWN}})
	v := take(t, m, boards[0])[0]
	assert.Equal(t, gpu.NoData, v[device.Utilization].State)
	assert.True(t, v[device.Power].OK())
}

// D21: a container loses its devices: everything fails without a reason. That is not a lost GPU.
func TestLostAccess(t *testing.T) {
	m := machine(t, "D21_cgroup_lost")
	_, boards := opened(t, m)
	m.Advance(40 * time.Second)
	err := boards[0].Sample(t.Context(), m.Clock(), device.AllGroups, &device.Sample{Values: make([]device.Values, 1)})
	require.ErrorIs(t, err, device.ErrNoAccess)
	assert.NotErrorIs(t, err, device.ErrLost)
	assert.Contains(t, err.Error(), "the container must be created again")
}

func TestFacts(t *testing.T) {
	m := machine(t, "h200")
	s, boards := opened(t, m)
	assert.Equal(t, device.Facts{
		Serial: "1650224012345", Brand: "GeForce RTX", Architecture: "Hopper", ComputeCapability: "9.0", VBIOS: "96.00.B7.00.02",
		InfoROM: "G520.0280.00.04", BoardPart: "699-2G520-0280-900", Minor: 0, MemoryBusBits: 6144, Cores: 16896,
	}, boards[0].Facts())
	found, err := s.Inventory(t.Context())
	require.NoError(t, err)
	assert.Equal(t, device.Versions{NVML: "13.590.48.01", CUDA: "13.1"}, found.Versions)

	// D26: what is newer than any list is shown as a number.
	m = machine(t, "D26_unknown_numbers")
	_, boards = opened(t, m)
	assert.Equal(t, "99", boards[0].Facts().Brand)
	assert.Equal(t, "42", boards[0].Facts().Architecture)
	assert.Equal(t, gpu.Read(1<<40), take(t, m, boards[0])[0][device.ClockEventReasons])
}

// There is no driver where these tests run; the real library must say so, and not crash.
func TestRealLibraryWithoutDriver(t *testing.T) {
	if _, err := os.Stat("/dev/nvidiactl"); err == nil {
		t.Skip("this machine has a driver")
	}
	s := New(nvml.New(), Options{})
	assert.NotNil(t, s.lib.versioned)
	err := s.Open(t.Context())
	require.ErrorIs(t, err, device.ErrNoDriver)
	assert.Contains(t, err.Error(), "libnvidia-ml.so.1 is missing")
}
