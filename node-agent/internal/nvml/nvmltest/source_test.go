package nvmltest_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/device/devicetest"
	nvmlsource "github.com/warpwatch/warpwatch/node-agent/internal/nvml"
	"github.com/warpwatch/warpwatch/node-agent/internal/nvml/nvmltest"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// node is the agent's source on a machine.
type node struct {
	*nvmlsource.Source
	m    *nvmltest.Machine
	proc string
}

// on makes a source. Whatever the test does, no rule of NVML may be broken.
func on(t *testing.T, name string) node {
	t.Helper()
	spec, err := nvmltest.Load(name)
	require.NoError(t, err)
	m, err := nvmltest.New(spec, nvmltest.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.Empty(t, m.Violations()) })
	proc := t.TempDir()
	return node{m: m, proc: proc, Source: nvmlsource.New(m, nvmlsource.Options{
		Proc: proc, Logger: slog.New(slog.DiscardHandler), Now: m.Clock,
	})}
}

// opened is a source with its boards.
func opened(t *testing.T, name string) (node, []device.Board) {
	t.Helper()
	n := on(t, name)
	require.NoError(t, n.Open(t.Context()))
	t.Cleanup(func() { assert.NoError(t, n.Close()) })
	found := n.list(t)
	require.Empty(t, found.Unreadable)
	return n, found.Boards
}

func (n node) list(t *testing.T) device.Inventory {
	t.Helper()
	found, err := n.Inventory(t.Context())
	require.NoError(t, err)
	return found
}

// take samples a board after a second.
func (n node) take(t *testing.T, b device.Board) ([]device.Values, error) {
	t.Helper()
	s := device.Sample{Values: make([]device.Values, len(b.Devices()))}
	err := b.Sample(t.Context(), n.m.Advance(time.Second), device.AllGroups, &s)
	return s.Values, err
}

// must is take for a board that answers.
func (n node) must(t *testing.T, b device.Board) []device.Values {
	t.Helper()
	v, err := n.take(t, b)
	require.NoError(t, err)
	return v
}

func uuids(boards []device.Board) []string {
	var all []string
	for _, b := range boards {
		all = append(all, b.Devices()[0].UUID)
	}
	return all
}

// broken are the machines on which something fails or ends as time goes by; each has a test of its own.
var broken = []string{
	"D01_gpu_lost", "D02_off_bus_no_xid", "D03_version_mismatch", "D04_no_driver", "D21_cgroup_lost", "D25_late_gpus",
	"D27_late_driver", "reset_required", "D18_energy_steps",
}

func TestConformance(t *testing.T) {
	names, err := nvmltest.Machines()
	require.NoError(t, err)
	for _, name := range names {
		if slices.Contains(broken, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			devicetest.Run(t, func(t *testing.T) devicetest.Harness {
				n := on(t, name)
				return devicetest.Harness{Source: n, Advance: n.m.Advance}
			})
		})
	}
}

func TestARealH200UnderLoad(t *testing.T) {
	n, boards := opened(t, "h200")
	n.must(t, boards[0])
	v := n.must(t, boards[0])[0]
	for m, want := range map[device.Metric]float64{
		device.Utilization: 1, device.MemoryUtilization: 0.07, device.MemoryTotal: 150754820096, device.MemoryReserved: 643825664,
		device.MemoryUsed: 33934016512, device.PowerLimit: 700, device.PowerLimitMin: 200, device.PowerLimitMax: 700,
		device.Temperature: 52, device.TemperatureMargin: 35, device.MemoryTemperature: 40, device.SMClock: 1.98e9,
		device.MemoryClock: 3.201e9, device.VideoClock: 1.545e9, device.PCIeLinkGeneration: 5, device.PCIeLinkWidth: 16,
		device.FabricState: 3, device.RecoveryAction: 0, device.ClockEventReasonsSupported: 511, device.ECCMode: 1,
		device.RowRemapBanks: 3072, device.SMActive: 0.96, device.TensorActive: 0.61, device.PCIeReceive: 800 << 20,
	} {
		assert.Equal(t, gpu.OK, v[m].State, m.String())
		assert.InDelta(t, want, v[m].Value, want*1e-9, m.String())
	}
	assert.InDelta(t, 627.4, v[device.Power].Value, 41)
	assert.Equal(t, gpu.NotSupported, v[device.FanSpeed].State)
	f := boards[0].Facts()
	assert.Equal(t, []any{"Hopper", "9.0", 6144, 16896, 0}, []any{f.Architecture, f.ComputeCapability, f.MemoryBusBits, f.Cores, f.Minor})
	found := n.list(t)
	assert.Equal(t, "590.48.01", found.Driver)
	assert.Equal(t, "13.1", found.Versions.CUDA)
}

func TestInstancesOfAnH200(t *testing.T) {
	n, boards := opened(t, "h200_mig")
	devices := boards[0].Devices()
	var profiles []string
	for _, d := range devices[1:] {
		profiles = append(profiles, d.MIGProfile+" "+d.GPUInstance)
	}
	assert.Equal(t, []string{"3g.71gb 1", "2g.35gb 3", "1g.18gb 9", "1g.18gb 10"}, profiles)
	n.must(t, boards[0])
	v := n.must(t, boards[0])
	assert.Equal(t, gpu.NotSupported, v[0][device.Utilization].State)
	assert.Equal(t, gpu.OK, v[0][device.Power].State)
	assert.Equal(t, gpu.Read(75698798592), v[1][device.MemoryTotal])
	assert.InDelta(t, 0.96, v[2][device.SMActive].Value, 1e-9)
	assert.Equal(t, device.Placement{Start: 4, Size: 2}, boards[0].Facts().Placements["3"])
	list, err := boards[0].Processes(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, "3", list[0].GPUInstance)
}

// Whoever wants to split a GPU otherwise tells the agent to let go: closing the source is enough.
func TestClosingLetsInstancesGo(t *testing.T) {
	n, boards := opened(t, "h200_mig")
	n.must(t, boards[0])
	require.NoError(t, n.Close())
	require.EqualValues(t, 0, n.m.Split(0, nil))
	require.NoError(t, n.Open(t.Context()))
	found := n.list(t)
	require.Len(t, found.Boards, 1)
	assert.Len(t, found.Boards[0].Devices(), 1)
}

// events collects what a source reports until there are n, or a while has passed.
func events(t *testing.T, s device.Source, count int) []device.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var all []device.Event
	_ = s.Events(ctx, func(e device.Event) {
		if all = append(all, e); len(all) == count {
			cancel()
		}
	})
	return all
}
