package nvml

import (
	"math"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func processesOf(t *testing.T, b device.Board) []device.Process {
	t.Helper()
	found, err := b.Processes(t.Context(), nil)
	require.NoError(t, err)
	return found
}

// D09: of several samples the newest counts; old ones, those of pid 0 and nonsense do not.
func TestSharesOfProcesses(t *testing.T) {
	m := machine(t, "D09_process_samples")
	_, boards := opened(t, m)
	found := processesOf(t, boards[0])
	require.Len(t, found, 2)
	assert.Equal(t, 52011, found[0].PID)
	assert.Equal(t, gpu.Read(0.4), found[0].SM)
	assert.Equal(t, gpu.Read(0.09), found[0].MemoryActivity)
	assert.Equal(t, gpu.NoData, found[1].SM.State, "its last sample is old")

	b := boards[0].(*board)
	newest := b.processes.newest
	assert.EqualValues(t, m.Clock().Add(-100*time.Millisecond).UnixMicro(), newest, "nonsense does not move what was seen")
	b.processes.newest = uint64(m.Clock().Add(time.Hour).UnixMicro())
	m.Advance(time.Second)
	assert.Equal(t, gpu.NoData, processesOf(t, b)[0].SM.State, "nothing new since")
}

// D08: no process ever ran.
func TestNoProcesses(t *testing.T) {
	m := machine(t, "D08_no_process")
	_, boards := opened(t, m)
	assert.Empty(t, processesOf(t, boards[0]))
	assert.Equal(t, gpu.Read(0), take(t, m, boards[0])[0][device.Processes])
	assert.Zero(t, m.Calls()["GetProcessUtilization"])
}

// D13: memory that is not available is no 16 EiB, and sums skip it.
func TestMemoryOfProcesses(t *testing.T) {
	m := machine(t, "D13_process_mem")
	_, boards := opened(t, m)
	sum := 0.0
	for _, p := range processesOf(t, boards[0]) {
		if p.PID == 79 {
			assert.Equal(t, gpu.Absent(gpu.NoData), p.Memory)
		}
		sum += p.Memory.Value
	}
	assert.LessOrEqual(t, sum, take(t, m, boards[0])[0][device.MemoryUsed].Value)
}

// D28: Windows tells no memory of processes, and lists them all the same.
func TestWSL(t *testing.T) {
	m := machine(t, "rtx2080s_wsl")
	_, boards := opened(t, m)
	found := processesOf(t, boards[0])
	require.Len(t, found, 2)
	assert.Equal(t, device.Compute, found[0].Kind)
	assert.Equal(t, device.Graphics, found[1].Kind)
	assert.False(t, found[0].Memory.OK() || found[1].Memory.OK())
}

func TestProcessesWithoutPermission(t *testing.T) {
	m := machine(t, "no_permission")
	_, boards := opened(t, m)
	_, err := boards[0].Processes(t.Context(), nil)
	require.ErrorIs(t, err, device.ErrNoPermission)
	v := take(t, m, boards[0])[0]
	assert.Equal(t, gpu.Absent(gpu.NoPermission), v[device.Processes])
	assert.True(t, v[device.Power].OK())
	assert.Empty(t, boards[0].Facts().Serial)
}

func TestProcessesOfInstances(t *testing.T) {
	m := machine(t, "h200_mig")
	_, boards := opened(t, m)
	found := processesOf(t, boards[0])
	require.Len(t, found, 1)
	assert.Equal(t, "3", found[0].GPUInstance)
	assert.Equal(t, "0", found[0].ComputeInstance)
	assert.Equal(t, gpu.NotSupported, found[0].SM.State, "NVIDIA does not offer it there")
	calls := counted(m, func() { processesOf(t, boards[0]) })
	assert.Zero(t, calls["GetComputeRunningProcesses"], "one listing serves a sample and the list")
}

func TestAProcessIsListedOnce(t *testing.T) {
	m := machine(t, "h200")
	_, boards := opened(t, m)
	b := boards[0].(*board)
	b.processes.places = map[processKey]int{}
	b.addProcess(nvml.ProcessInfo{Pid: 5, UsedGpuMemory: math.MaxUint64, GpuInstanceId: 0}, device.Compute, nil)
	b.addProcess(nvml.ProcessInfo{Pid: 5, UsedGpuMemory: 100}, device.Graphics, nil)
	b.addProcess(nvml.ProcessInfo{Pid: 0}, device.Compute, nil)
	require.Len(t, b.processes.found, 1)
	p := b.processes.found[0]
	assert.Equal(t, device.Compute, p.Kind)
	assert.Equal(t, gpu.Read(100), p.Memory)
	assert.Empty(t, p.GPUInstance, "a whole board has none, whatever the old call leaves there")
	for i := range maxProcesses + 10 {
		b.addProcess(nvml.ProcessInfo{Pid: uint32(i + 100)}, device.Compute, nil)
	}
	assert.Len(t, b.processes.found, maxProcesses)
}
