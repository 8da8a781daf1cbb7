package nvml

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/nvml/nvmltest"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// D10: inside a container, the parent's memory is forbidden; the instance tells its own.
func TestSplitBoardInAContainer(t *testing.T) {
	m := machine(t, "D10_mig_parent", func(s *nvmltest.Spec) {
		s.GPUs[0].Answers["GetMemoryInfo_v2"] = nvmltest.Answer{Value: nvmltest.Value{Ret: nvml.ERROR_NOT_SUPPORTED}}
	})
	_, boards := opened(t, m)
	v := take(t, m, boards[0])
	assert.Equal(t, gpu.NotSupported, v[0][device.Utilization].State)
	assert.Equal(t, gpu.NoPermission, v[0][device.MemoryUsed].State)
	assert.True(t, v[1][device.MemoryUsed].OK())
	assert.Zero(t, m.Calls()["GetUtilizationRates"])
}

func TestSplitBoard(t *testing.T) {
	m := machine(t, "h200_mig")
	s, boards := opened(t, m)
	devices := boards[0].Devices()
	require.Len(t, devices, 5)
	assert.True(t, devices[0].MIGEnabled)
	assert.Equal(t, gpu.Identity{UUID: devices[0].UUID, GPUInstance: "1"}, devices[1].Identity, "two compute instances: neither is named")
	assert.Equal(t, "3g.71gb", devices[1].MIGProfile)
	assert.Equal(t, gpu.Identity{UUID: devices[0].UUID, GPUInstance: "3", ComputeInstance: "0"}, devices[2].Identity)
	assert.Equal(t, "2g.35gb", devices[2].MIGProfile)
	assert.Equal(t, device.Placement{Start: 4, Size: 2}, boards[0].Facts().Placements["3"])

	take(t, m, boards[0])
	v := take(t, m, boards[0])
	for _, metric := range []device.Metric{device.Utilization, device.NVLinkTransmit, device.NVLinkLinks, device.SMActive} {
		assert.Equal(t, gpu.NotSupported, v[0][metric].State, metric.String())
	}
	assert.True(t, v[0][device.Power].OK())
	readingsAre(t, &v[1], map[device.Metric]float64{device.MemoryTotal: 75698798592, device.MemoryUsed: 20937184, device.BAR1Total: 34359738368})
	assert.True(t, v[2][device.SMActive].OK())
	assert.Equal(t, gpu.NotSupported, v[1][device.Power].State)
	sum := 0.0
	for _, in := range v[1:] {
		sum += in[device.MemoryTotal].Value
	}
	assert.LessOrEqual(t, sum, v[0][device.MemoryTotal].Value, "the instances lie in their board")
	readingsAre(t, &v[0], map[device.Metric]float64{device.Processes: 1})
	readingsAre(t, &v[2], map[device.Metric]float64{device.Processes: 1})
	readingsAre(t, &v[1], map[device.Metric]float64{device.Processes: 0})

	calls := counted(m, func() { take(t, m, boards[0], device.GroupMemory) })
	assert.Equal(t, 4, calls["GetMigDeviceHandleByIndex"], "an instance is found where it was")

	// With NVML closed nothing is in use, and the board may be split anew: it is another board then.
	require.NoError(t, s.Close())
	require.Equal(t, nvml.SUCCESS, m.Split(0, []nvmltest.InstanceSpec{{GI: 2, Profile: "7g.141gb", Placement: [2]uint32{0, 8}}}))
	require.NoError(t, s.Open(t.Context()))
	found, err := s.Inventory(t.Context())
	require.NoError(t, err)
	require.Len(t, found.Boards, 1)
	assert.NotSame(t, boards[0], found.Boards[0])
	assert.Equal(t, "7g.141gb", found.Boards[0].Devices()[1].MIGProfile)
}

// An instance that was destroyed since the board was described has no readings; the others go on.
func TestDestroyedInstance(t *testing.T) {
	m := machine(t, "h200_mig")
	_, boards := opened(t, m)
	b := boards[0].(*board)
	b.instances[1].id = 77
	v := take(t, m, b)
	assert.Equal(t, gpu.Absent(gpu.NoData), v[2][device.MemoryUsed])
	assert.Equal(t, gpu.Absent(gpu.NoData), v[2][device.BAR1Used])
	assert.True(t, v[3][device.MemoryUsed].OK())
}

// A board that is not listed any more gives its buffers back at once, or when the sample ends that is being taken.
func TestRetiredBoardsHoldNothing(t *testing.T) {
	m := machine(t, "h200")
	_, boards := opened(t, m)
	b := boards[0].(*board)
	take(t, m, b)
	require.NotEmpty(t, b.profiler.spare)
	b.busy.Lock()
	b.retire()
	assert.NotEmpty(t, b.profiler.spare, "in use")
	b.idle()
	assert.Empty(t, b.profiler.spare)
	assert.True(t, take(t, m, b)[0][device.Power].OK(), "it may still be asked")
	assert.Empty(t, b.profiler.spare)
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
