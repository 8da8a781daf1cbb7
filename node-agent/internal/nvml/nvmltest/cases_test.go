package nvmltest_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestD01OneGPUIsLost(t *testing.T) {
	n, boards := opened(t, "D01_gpu_lost")
	require.Len(t, boards, 8)
	n.must(t, boards[3])
	n.m.Advance(30 * time.Second)
	_, err := n.take(t, boards[3])
	require.ErrorIs(t, err, device.ErrLost)
	for _, i := range []int{0, 1, 2, 4, 5, 6, 7} {
		assert.True(t, n.must(t, boards[i])[0][device.Power].OK())
	}
	found := n.list(t)
	assert.Len(t, found.Boards, 7)
	require.Len(t, found.Unreadable, 1)
	require.ErrorIs(t, found.Unreadable[0], device.ErrLost)
}

func TestD01XIDOfALostGPU(t *testing.T) {
	n, boards := opened(t, "D01_gpu_lost")
	n.m.Advance(25 * time.Second)
	done := make(chan []device.Event, 1)
	go func() { done <- events(t, n, 1) }()
	// The source listens before the GPU is gone.
	require.Eventually(t, func() bool { return n.m.Calls()["RegisterEvents"] == 8 && n.m.Calls()["EventSetWait"] > 0 }, 10*time.Second, time.Millisecond)
	n.m.Advance(10 * time.Second)
	got := <-done
	require.Len(t, got, 1)
	assert.Equal(t, device.EventXID, got[0].Kind)
	assert.EqualValues(t, 79, got[0].XID)
	assert.Equal(t, boards[3].Devices()[0].UUID, got[0].UUID)
}

func TestD02MissingGPUDoesNotSwapTheOthers(t *testing.T) {
	n, boards := opened(t, "D02_off_bus_no_xid")
	before := uuids(boards)
	n.m.Advance(31 * time.Second)
	found := n.list(t)
	assert.Equal(t, append(append([]string{}, before[:5]...), before[6:]...), uuids(found.Boards))
	for _, b := range found.Boards {
		assert.True(t, n.must(t, b)[0][device.Power].OK())
	}
}

func TestD03VersionsDoNotMatch(t *testing.T) {
	n := on(t, "D03_version_mismatch")
	require.NoError(t, n.Open(t.Context()))
	require.NoError(t, n.Close())
	n.m.Advance(61 * time.Second)
	err := n.Open(t.Context())
	require.ErrorIs(t, err, device.ErrMismatch)
	assert.Contains(t, err.Error(), "reboot the node or reload the nvidia kernel module")
	n.m.Advance(600 * time.Second)
	require.NoError(t, n.Open(t.Context()))
	assert.Len(t, n.list(t).Boards, 8)
	require.NoError(t, n.Close())
}

func TestD04NoDriver(t *testing.T) {
	require.ErrorIs(t, on(t, "D04_no_driver").Open(t.Context()), device.ErrNoDriver)
}

func TestD08NoProcessIsNoError(t *testing.T) {
	n, boards := opened(t, "D08_no_process")
	for range 3 {
		n.m.Advance(time.Second)
		list, err := boards[0].Processes(t.Context(), nil)
		require.NoError(t, err)
		assert.Empty(t, list)
	}
}

func TestD09AbsurdSamplesOfProcesses(t *testing.T) {
	n, boards := opened(t, "D09_process_samples")
	_, err := boards[0].Processes(t.Context(), nil)
	require.NoError(t, err)
	n.m.Advance(time.Second)
	list, err := boards[0].Processes(t.Context(), nil)
	require.NoError(t, err)
	shares := map[int]gpu.Reading{}
	for _, p := range list {
		shares[p.PID] = p.SM
	}
	require.Len(t, shares, 2, "neither the process 0 nor the one that is rubbish")
	assert.Equal(t, gpu.Read(0.4), shares[52011], "the newest sample")
	assert.False(t, shares[52007].OK(), "its sample is old")
}

func TestD10SplitBoardInsideAContainer(t *testing.T) {
	n, boards := opened(t, "D10_mig_parent")
	v := n.must(t, boards[0])
	require.Len(t, v, 2)
	assert.Equal(t, gpu.NotSupported, v[0][device.Utilization].State)
	assert.Equal(t, gpu.Read(10468982784), v[1][device.MemoryTotal])
	assert.Equal(t, gpu.Read(9437184), v[1][device.MemoryUsed])
}

func TestD13MemoryOfAProcessIsNotAvailable(t *testing.T) {
	_, boards := opened(t, "D13_process_mem")
	list, err := boards[0].Processes(t.Context(), nil)
	require.NoError(t, err)
	memory := map[int]gpu.Reading{}
	for _, p := range list {
		memory[p.PID] = p.Memory
	}
	assert.False(t, memory[79].OK())
	assert.Equal(t, gpu.Read(1<<20), memory[80])
}

func TestD16PassiveCardIsAskedForItsFanOnce(t *testing.T) {
	n, boards := opened(t, "D16_passive_card")
	for range 60 {
		assert.Equal(t, gpu.NotSupported, n.must(t, boards[0])[0][device.FanSpeed].State)
	}
	assert.LessOrEqual(t, n.m.Calls()["GetFanSpeed"], 1)
}

func TestD18EnergyInSteps(t *testing.T) {
	n, boards := opened(t, "D18_energy_steps")
	var joules []float64
	s := device.Sample{Values: make([]device.Values, 1)}
	for range 10 {
		require.NoError(t, boards[0].Sample(t.Context(), n.m.Clock(), device.GroupsOf(device.GroupPower), &s))
		joules = append(joules, s.Values[0][device.Energy].Value)
		assert.Equal(t, gpu.Read(1000), s.Values[0][device.Power], "power is not made up from steps")
		n.m.Advance(10 * time.Millisecond)
	}
	assert.Equal(t, []float64{1, 1, 1, 31, 31, 31, 61, 61, 61, 91}, joules)
}

func TestD20EveryCodeIsPassedOn(t *testing.T) {
	n, _ := opened(t, "D20_xid_codes")
	done := make(chan []device.Event, 1)
	go func() { done <- events(t, n, 18) }()
	require.Eventually(t, func() bool { return n.m.Calls()["EventSetWait"] > 0 }, 10*time.Second, time.Millisecond)
	n.m.Advance(time.Minute)
	var codes []uint64
	for _, e := range <-done {
		codes = append(codes, e.XID)
	}
	assert.Equal(t, []uint64{13, 31, 43, 45, 68, 109, 48, 62, 64, 74, 79, 94, 95, 119, 120, 999, 0, 4294967295}, codes)
}

func TestD21AccessIsLost(t *testing.T) {
	n := on(t, "D21_cgroup_lost")
	require.NoError(t, n.Open(t.Context()))
	boards := n.list(t).Boards
	n.must(t, boards[0])
	n.m.Advance(40 * time.Second)
	for _, b := range boards {
		_, err := n.take(t, b)
		require.ErrorIs(t, err, device.ErrNoAccess, "this is not a GPU that is lost")
	}
	require.NoError(t, n.Close())
	err := n.Open(t.Context())
	require.ErrorIs(t, err, device.ErrNoAccess)
	assert.Contains(t, err.Error(), "container")
}

func TestD23OneMemoryForCPUAndGPU(t *testing.T) {
	n, boards := opened(t, "gb10")
	assert.True(t, boards[0].Facts().SharedMemory, "the host's memory is told apart from a GPU's")
	v := n.must(t, boards[0])[0]
	assert.False(t, v[device.MemoryTotal].OK() || v[device.MemoryUsed].OK() || v[device.MemoryFree].OK())
	const meminfo = "MemTotal: 125458432 kB\nMemFree: 1000000 kB\nMemAvailable: 60000000 kB\n"
	require.NoError(t, os.WriteFile(filepath.Join(n.proc, "meminfo"), []byte(meminfo), 0o600))
	v = n.must(t, boards[0])[0]
	assert.Equal(t, gpu.Read(125458432<<10), v[device.MemoryTotal])
	assert.Equal(t, gpu.Read((125458432-60000000)<<10), v[device.MemoryUsed])
	assert.False(t, v[device.MemoryTemperature].OK(), "0 is no temperature")
	list, err := boards[0].Processes(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, gpu.Read(64424509440), list[0].Memory)

	n, boards = opened(t, "gb10_v2")
	assert.Equal(t, gpu.Read(64424509440), n.must(t, boards[0])[0][device.MemoryUsed])
	assert.False(t, boards[0].Facts().SharedMemory)
}

func TestD25GPUsThatComeLate(t *testing.T) {
	n, boards := opened(t, "D25_late_gpus")
	assert.Empty(t, boards)
	for _, want := range []int{1, 2} {
		n.m.Advance(41 * time.Second)
		found := n.list(t)
		require.Len(t, found.Boards, want)
		assert.True(t, n.must(t, found.Boards[want-1])[0][device.Power].OK())
	}
}

func TestD26NumbersThatAreNewerThanAnyList(t *testing.T) {
	n, boards := opened(t, "D26_unknown_numbers")
	assert.Equal(t, gpu.Read(1<<40), n.must(t, boards[0])[0][device.ClockEventReasons])
	assert.Equal(t, "99", boards[0].Facts().Brand)
	assert.Equal(t, "42", boards[0].Facts().Architecture)
}

func TestD27DriverIsReadyLate(t *testing.T) {
	n := on(t, "D27_late_driver")
	for range 3 {
		require.ErrorIs(t, n.Open(t.Context()), device.ErrNoDriver)
	}
	n.m.Advance(2 * time.Minute)
	require.NoError(t, n.Open(t.Context()))
	boards := n.list(t).Boards
	require.Len(t, boards, 1)
	n.must(t, boards[0])
	v := n.must(t, boards[0])[0]
	assert.True(t, v[device.Power].OK() && v[device.SMActive].OK() && v[device.ECCCorrected].OK())
	require.NoError(t, n.Close())
}

func TestD28DesktopCardUnderWSL(t *testing.T) {
	n, boards := opened(t, "rtx2080s_wsl")
	v := n.must(t, boards[0])[0]
	assert.False(t, v[device.Utilization].OK())
	assert.True(t, v[device.Power].OK() && v[device.MemoryUsed].OK() && v[device.FanSpeed].OK())
	list, err := boards[0].Processes(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list, 2)
	for _, p := range list {
		assert.False(t, p.Memory.OK())
	}
	assert.Equal(t, gpu.NotSupported, v[device.ECCCorrected].State)
}

func TestResetIsRequiredAndDone(t *testing.T) {
	n, boards := opened(t, "reset_required")
	n.m.Advance(10 * time.Second)
	_, err := n.take(t, boards[1])
	require.ErrorIs(t, err, device.ErrLost)
	assert.Contains(t, err.Error(), "nvidia-smi --gpu-reset")
	n.must(t, boards[0])
	n.m.Advance(time.Minute)
	found := n.list(t)
	require.Len(t, found.Boards, 2)
	assert.True(t, n.must(t, found.Boards[1])[0][device.Power].OK())
}

func TestRubbishIsNoReading(t *testing.T) {
	n, boards := opened(t, "garbage")
	n.must(t, boards[0])
	v := n.must(t, boards[0])[0]
	for _, m := range []device.Metric{
		device.Utilization, device.Power, device.PerformanceState, device.PCIeReplayErrors, device.MemoryTemperature,
		device.SMOccupancy, device.TensorActive,
	} {
		assert.False(t, v[m].OK(), "%s is %v", m, v[m].Value)
	}
	assert.Equal(t, gpu.Read(0.07), v[device.MemoryUtilization])
	assert.True(t, v[device.SMActive].OK())

	n, boards = opened(t, "r545_wrong_type")
	assert.Equal(t, gpu.Read(40), n.must(t, boards[0])[0][device.MemoryTemperature])
}

func TestWithoutPermission(t *testing.T) {
	n, boards := opened(t, "no_permission")
	_, err := boards[0].Processes(t.Context(), nil)
	require.ErrorIs(t, err, device.ErrNoPermission)
	assert.True(t, n.must(t, boards[0])[0][device.Power].OK())
	assert.Empty(t, boards[0].Facts().Serial)
}
