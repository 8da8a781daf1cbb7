package nvml

import (
	"context"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/nvml/nvmltest"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestProfilingNeedsTwoSamplesApart(t *testing.T) {
	m := machine(t, "h200")
	_, boards := opened(t, m)
	read := func(after time.Duration, groups ...device.Group) *device.Values {
		return &takeAfter(t, m, boards[0], after, groups...).Values[0]
	}
	assert.Equal(t, gpu.NoData, read(time.Second, device.GroupProfiling)[device.SMActive].State)
	assert.Equal(t, gpu.Read(0.96), read(time.Second, device.GroupProfiling)[device.SMActive])
	calls := counted(m, func() {
		assert.Equal(t, gpu.Read(0.96), read(40*time.Millisecond, device.GroupProfiling)[device.SMActive], "too close: the last reading stands")
	})
	assert.Empty(t, calls)
	assert.Equal(t, gpu.Read(0.96), read(70*time.Millisecond, device.GroupProfiling)[device.SMActive])
	assert.Equal(t, gpu.NoData, read(time.Hour, device.GroupProfiling)[device.SMActive].State, "an hour's mean is no reading of now")
	assert.Equal(t, gpu.Read(0.96), read(time.Second, device.GroupProfiling)[device.SMActive])
}

// Groups that are read at different times each have their own interval, and share the samples.
func TestGroupsOfGPMAreReadApart(t *testing.T) {
	m := machine(t, "h200")
	_, boards := opened(t, m)
	both := []device.Group{device.GroupProfiling, device.GroupPipes}
	takeAfter(t, m, boards[0], time.Second, both...)
	for range 9 {
		s := takeAfter(t, m, boards[0], 100*time.Millisecond, device.GroupProfiling)
		assert.True(t, s.Values[0][device.SMActive].OK())
	}
	calls := counted(m, func() {
		s := takeAfter(t, m, boards[0], 100*time.Millisecond, both...)
		assert.True(t, s.Values[0][device.TensorHMMAActive].OK())
		assert.True(t, s.Values[0][device.SMActive].OK())
	})
	assert.Equal(t, 1, calls["GpmSampleGet"])
	assert.Equal(t, 2, calls["GpmMetricsGet"], "a tenth of a second for one group, a second for the other")
	assert.LessOrEqual(t, m.Calls()["GpmSampleAlloc"], 3)
}

func TestBoardsWithoutProfiling(t *testing.T) {
	m := machine(t, "h200", func(s *nvmltest.Spec) { s.GPUs[0].GPM = nil })
	_, boards := opened(t, m)
	take(t, m, boards[0])
	v := take(t, m, boards[0])[0]
	assert.Equal(t, gpu.NotSupported, v[device.SMActive].State)
	assert.Equal(t, gpu.Read(5e6*1024), v[device.NVLinkTransmit], "KiB are counted instead")
	assert.Equal(t, gpu.Read(410e6), v[device.PCIeTransmit])
	again := counted(m, func() { take(t, m, boards[0]) })
	assert.Zero(t, again["GpmQueryDeviceSupport"]+again["GpmSampleGet"])
}

// A metric that GPM lacks is looked for elsewhere; the others go on.
func TestGPMWithoutNVLink(t *testing.T) {
	m := machine(t, "h200", func(s *nvmltest.Spec) {
		s.GPUs[0].GPM[60], s.GPUs[0].GPM[61] = nvmltest.Value{Ret: nvml.ERROR_NOT_SUPPORTED}, nvmltest.Value{Ret: nvml.ERROR_NOT_SUPPORTED}
	})
	_, boards := opened(t, m)
	for range 3 {
		take(t, m, boards[0])
	}
	v := take(t, m, boards[0])[0]
	assert.Equal(t, gpu.Read(5e6*1024), v[device.NVLinkTransmit])
	assert.Equal(t, gpu.Read(400<<20), v[device.PCIeTransmit])
}

// A driver that hangs in GPM must not take the other boards with it.
func TestABusyProfilerDoesNotHoldUpOthers(t *testing.T) {
	m := machine(t, "h200")
	s, boards := opened(t, m)
	require.True(t, s.lib.gpm.enter(t.Context()))
	s.lib.gpm.since.Store(0)
	v := take(t, m, boards[0])[0]
	assert.Equal(t, gpu.NoData, v[device.SMActive].State)
	assert.True(t, v[device.Power].OK())

	s.lib.gpm.since.Store(time.Now().Add(time.Hour).UnixNano())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.False(t, s.lib.gpm.enter(ctx))
	s.lib.gpm.leave()
	assert.True(t, take(t, m, boards[0])[0][device.Power].OK())
	require.NoError(t, s.Close())
}
