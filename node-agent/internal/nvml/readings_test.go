package nvml

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/nvml/nvmltest"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestReadingsInCanonicalUnits(t *testing.T) {
	m := machine(t, "h200", func(s *nvmltest.Spec) {
		s.GPUs[0].Answers["GetPowerUsage"] = nvmltest.Answer{Value: nvmltest.Value{Base: 627400}}
		s.GPUs[0].Answers["GetPowerManagementLimit"] = nvmltest.Answer{Value: nvmltest.Value{Base: 650500}}
		s.GPUs[0].Answers["GetUnrepairableMemoryFlag_v1"] = nvmltest.Answer{Value: nvmltest.Value{Base: 1}}
	})
	_, boards := opened(t, m)
	take(t, m, boards[0])
	v := take(t, m, boards[0])[0]
	readingsAre(t, &v, map[device.Metric]float64{
		device.Utilization: 1, device.MemoryUtilization: 0.07, device.EncoderUtilization: 0, device.OFAUtilization: 0,
		device.GraphicsEngineActive: 0.985, device.SMActive: 0.96, device.SMOccupancy: 0.425, device.TensorActive: 0.61, device.DRAMActive: 0.48,
		device.TensorHMMAActive: 0.605, device.TensorDFMAActive: 0, device.IntegerActive: 0.03, device.FP32Active: 0.12, device.FP16Active: 0.015,
		device.MemoryTotal: 150754820096, device.MemoryReserved: 643825664, device.MemoryUsed: 33934016512, device.MemoryFree: 116176977920,
		device.BAR1Total: 274877906944, device.BAR1Used: 2097152, device.BAR1Free: 274877906944 - 2097152,
		device.Power: 627.4, device.PowerInstant: 626.26, device.Energy: 123456.789 + 2*627.4,
		device.PowerLimit: 700, device.PowerLimitRequested: 650.5, device.PowerLimitDefault: 700, device.PowerLimitMin: 200, device.PowerLimitMax: 700,
		device.Temperature: 52, device.MemoryTemperature: 40, device.TemperatureMargin: 35,
		device.MarginShutdown: -8, device.MarginSlowdown: -2, device.MarginMaxOperating: 0, device.MemoryMarginMaxOperating: 0,
		device.SMClock: 1.98e9, device.MemoryClock: 3.201e9, device.GraphicsClock: 1.98e9, device.VideoClock: 1.545e9,
		device.SMClockMax: 1.98e9, device.MemoryClockMax: 3.201e9, device.VideoClockMax: 1.545e9, device.SMClockApplication: 1.98e9,
		device.ClockEventReasons: 4, device.ClockEventReasonsSupported: 511, device.PerformanceState: 0,
		device.ThrottlePower: 2.7, device.ThrottleThermal: 0.002, device.ThrottleSoftwareThermal: 0.002, device.ThrottlePowerBrake: 0,
		device.PCIeTransmit: 400 << 20, device.PCIeReceive: 800 << 20,
		device.PCIeLinkGeneration: 5, device.PCIeLinkWidth: 16, device.PCIeLinkGenerationMax: 5, device.PCIeLinkWidthMax: 16,
		device.PCIeReplayErrors: 0, device.PCIeCorrectableErrors: 0, device.PCIeFatalErrors: 0, device.PCIeRecoveries: 0,
		device.NVLinkTransmit: 43000 << 20, device.NVLinkReceive: 44000 << 20,
		device.NVLinkLinks: 18, device.NVLinkLinksActive: 18, device.NVLinkCRCErrors: 0, device.NVLinkReplayErrors: 0,
		device.LinkState.At(17): 1, device.LinkSpeed.At(3): 26562e6, device.LinkTransmit.At(0): (1000 + 2*277777) << 10, device.LinkCRCErrors.At(5): 0,
		device.ECCCorrected: 2, device.ECCUncorrected: 0, device.ECCCorrectedLifetime: 5, device.ECCUncorrectedAt.At(6): 0, device.ECCCorrectedAt.At(7): 0,
		device.RemappedRowsCorrectable: 0, device.RowRemapPending: 0, device.RowRemapBanks: 3072, device.RowRemapBanks.At(4): 0,
		device.RecoveryAction: 0, device.SRAMThresholdExceeded: 0, device.MemoryUnrepairable: 1,
		device.FabricState: 3, device.FabricStatus: 0,
		device.PersistenceMode: 1, device.ComputeMode: 0, device.ECCMode: 1, device.ECCModePending: 1, device.MIGMode: 0, device.ConfidentialCompute: 0,
	})
	for _, absent := range []device.Metric{
		device.FanSpeed, device.TemperatureSlowdown, device.C2CLinks, device.NVLinkMalformedPackets,
		device.RetiredPagesDoubleBit, device.FabricHealth, device.ECCCorrectedAt.At(6),
	} {
		assert.Equal(t, gpu.NotSupported.String(), v[absent].State.String(), absent.String())
	}
	assert.Equal(t, gpu.NoData, v[device.XIDLast].State, "it comes from events")
}

func TestSentinelsAreNoReadings(t *testing.T) {
	m := machine(t, "garbage")
	_, boards := opened(t, m)
	take(t, m, boards[0])
	v := take(t, m, boards[0])[0]
	for metric, want := range map[device.Metric]gpu.State{
		device.Utilization: gpu.NoData, device.Power: gpu.NoData, device.PCIeReplayErrors: gpu.NoData, device.PerformanceState: gpu.NoData,
		device.SMOccupancy: gpu.NoData, device.TensorActive: gpu.NotSupported, device.MemoryTemperature: gpu.NotSupported,
	} {
		assert.Equal(t, want.String(), v[metric].State.String(), metric.String())
	}
	assert.Equal(t, gpu.Read(1.3), v[device.FanSpeed], "the intended speed may exceed the maximum")

	m = machine(t, "r545_wrong_type")
	_, boards = opened(t, m)
	assert.Equal(t, gpu.Read(40), take(t, m, boards[0])[0][device.MemoryTemperature])
}

// Numbers that were negative before somebody took their sign away, and others that are no measurements.
func TestGarbageIsNoReading(t *testing.T) {
	const minusTen32, minusTen64 = 1<<32 - 10, float64(1<<64 - 1<<12)
	for _, garbage := range []float64{minusTen32, minusTen64, 1 << 63, math.NaN()} {
		m := machine(t, "h200", func(s *nvmltest.Spec) {
			g := &s.GPUs[0]
			for _, call := range []string{
				"GetPowerUsage", "GetTemperature", "GetEnforcedPowerLimit", "GetClockInfo", "GetFanSpeed", "GetPersistenceMode",
				"GetCurrPcieLinkWidth", "GetUtilizationRates", "GetMemoryInfo_v2",
			} {
				g.Answers[call] = nvmltest.Answer{Value: nvmltest.Value{Base: garbage}}
			}
			for _, part := range []string{"gpu", "memory"} {
				g.Answers["GetUtilizationRates"] = nvmltest.Answer{Parts: map[string]nvmltest.Value{part: {Base: garbage}}}
			}
			g.Answers["GetMemoryInfo_v2"] = nvmltest.Answer{Parts: map[string]nvmltest.Value{
				"total": {Base: 1 << 37}, "used": {Base: garbage * 64}, "reserved": {Base: 1 << 20},
			}}
			for id := range g.Fields {
				g.Fields[id] = nvmltest.Value{Base: garbage}
			}
			for id := range g.GPM {
				g.GPM[id] = nvmltest.Value{Base: garbage}
			}
		})
		_, boards := opened(t, m)
		take(t, m, boards[0])
		v := take(t, m, boards[0])[0]
		for _, metric := range []device.Metric{
			device.Power, device.PowerInstant, device.ModulePower, device.Temperature, device.MemoryTemperature, device.PowerLimit, device.SMClock,
			device.PersistenceMode, device.PCIeLinkWidth, device.Utilization, device.SMActive, device.TensorActive, device.NVLinkTransmit,
			device.RecoveryAction, device.MemoryUsed, device.FanSpeed,
		} {
			if v[metric].OK() {
				// What is left of the garbage in a smaller type may be a number like any other.
				assert.Less(t, v[metric].Value, 1.0, "%v: %s", garbage, metric)
			}
		}
		assert.InDelta(t, 1<<37, v[device.MemoryTotal].Value, 0)
		assert.Equal(t, gpu.OK.String(), v[device.FabricState].State.String(), "the rest goes on")
	}
}

// D16: a passive board's fan is asked for once, not each tick; other readings go on. The same goes for fields.
func TestUnsupportedCallsAreNotRepeated(t *testing.T) {
	m := machine(t, "h200")
	_, boards := opened(t, m)
	take(t, m, boards[0])
	take(t, m, boards[0])
	again := counted(m, func() {
		for range 10 {
			v := take(t, m, boards[0])[0]
			assert.Equal(t, gpu.NotSupported, v[device.FanSpeed].State)
			assert.True(t, v[device.Power].OK())
		}
	})
	assert.Zero(t, again["GetFanSpeed"])
	assert.Zero(t, again["GetTemperatureThreshold"])
	assert.Zero(t, again["GetUnrepairableMemoryFlag_v1"])
	assert.Equal(t, 10, again["GetPowerUsage"])
	assert.Equal(t, 10, again["GetFieldValues"], "all fields of all groups come with one call")
	assert.Equal(t, 20, again["GetMemoryErrorCounter"]+again["GetSramEccErrorStatus"], "SRAM, for two groups; the rest are fields")
}

// What is asked for ten times a second must be what is cheap.
func TestOnlyWhatIsAskedForIsCalled(t *testing.T) {
	m := machine(t, "h200")
	_, boards := opened(t, m)
	lean := []device.Group{
		device.GroupUtilization, device.GroupProfiling, device.GroupMemory, device.GroupPower, device.GroupTemperature, device.GroupClocks,
	}
	for range 20 {
		takeAfter(t, m, boards[0], 100*time.Millisecond, lean...)
	}
	calls := counted(m, func() {
		for range 10 {
			takeAfter(t, m, boards[0], 100*time.Millisecond, lean...)
		}
	})
	assert.Equal(t, map[string]int{
		"GetFieldValues": 10, "GetUtilizationRates": 10, "GetMemoryInfo_v2": 10, "GetPowerUsage": 10, "GetTemperature": 10,
		"GetMarginTemperature": 10, "GetClockInfo": 40, "GetCurrentClocksEventReasons": 10, "GetPerformanceState": 10,
		"GpmSampleGet": 10, "GpmMetricsGet": 10, "GetSamples": calls["GetSamples"],
	}, calls)
	assert.LessOrEqual(t, calls["GetSamples"], 10, "the driver's buffers are fetched about once a second")
	assert.Positive(t, calls["GetSamples"])

	for g := range device.NumGroups {
		calls := counted(m, func() { take(t, m, boards[0], g) })
		for name, of := range map[string]device.Group{
			"GetPcieThroughput": device.NumGroups, "GetPowerUsage": device.GroupPower, "GetMemoryInfo_v2": device.GroupMemory,
			"GetEnforcedPowerLimit": device.GroupLimits, "GetRowRemapperHistogram": device.GroupRemapHistogram, "GetGpuFabricInfo": device.GroupFabric,
			"GetComputeRunningProcesses": device.GroupProcesses, "GetBAR1MemoryInfo": device.GroupBAR1, "GetMaxClockInfo": device.GroupClockLimits,
		} {
			assert.True(t, g == of || calls[name] == 0, "%s was called for group %s", name, g)
		}
	}
	assert.Empty(t, counted(m, func() { require.NoError(t, boards[0].Sample(t.Context(), m.Clock(), 0, sampleFor(boards[0]))) }))
}

func sampleFor(b device.Board) *device.Sample {
	return &device.Sample{Values: make([]device.Values, len(b.Devices()))}
}

func TestASampleEndsWithItsContext(t *testing.T) {
	m := machine(t, "h200")
	_, boards := opened(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, boards[0].Sample(ctx, m.Clock(), device.AllGroups, sampleFor(boards[0])), context.Canceled)
	assert.ErrorContains(t, boards[0].Sample(t.Context(), m.Clock(), device.AllGroups, &device.Sample{}), "0 values for 1 devices")
}

// D23: one report has a driver that tells no memory at all, the other one that does.
func TestUnifiedMemory(t *testing.T) {
	m := machine(t, "gb10")
	s := sourceOf(t, m)
	meminfo := "MemTotal:       125456872 kB\nMemFree:        10000000 kB\nMemAvailable:   60000000 kB\n"
	require.NoError(t, os.WriteFile(filepath.Join(s.proc, "meminfo"), []byte(meminfo), 0o600))
	require.NoError(t, s.Open(t.Context()))
	found, err := s.Inventory(t.Context())
	require.NoError(t, err)
	board := found.Boards[0]
	assert.True(t, board.Facts().SharedMemory, "what is shown is the host's memory")
	v := take(t, m, board)[0]
	readingsAre(t, &v, map[device.Metric]float64{
		device.MemoryTotal: 125456872 * 1024, device.MemoryFree: 60000000 * 1024, device.MemoryUsed: 65456872 * 1024,
	})
	assert.Equal(t, gpu.NotSupported, v[device.MemoryReserved].State)
	processes, err := board.Processes(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, processes, 1)
	assert.Equal(t, gpu.Read(64424509440), processes[0].Memory)

	require.NoError(t, os.WriteFile(filepath.Join(s.proc, "meminfo"), []byte(strings.ReplaceAll(meminfo, "MemAvailable", "Mem")), 0o600))
	assert.Equal(t, gpu.Absent(gpu.NoData), take(t, m, board)[0][device.MemoryUsed])

	m = machine(t, "gb10_v2")
	_, boards := opened(t, m)
	assert.False(t, boards[0].Facts().SharedMemory)
	assert.Equal(t, gpu.Read(64424509440), take(t, m, boards[0])[0][device.MemoryUsed])
}

func TestOldMemoryCallCountsReservedAsUsed(t *testing.T) {
	m := machine(t, "h200", func(s *nvmltest.Spec) {
		s.GPUs[0].Answers["GetMemoryInfo_v2"] = nvmltest.Answer{Value: nvmltest.Value{Ret: nvml.ERROR_NOT_SUPPORTED}}
	})
	_, boards := opened(t, m)
	v := take(t, m, boards[0])[0]
	assert.Equal(t, gpu.Read(34577842176), v[device.MemoryUsed])
	assert.Equal(t, gpu.NotSupported, v[device.MemoryReserved].State)
}

// Drivers without the fields for throttling, remapped rows, errors and replays have older calls.
func TestOlderCallsStandInForFields(t *testing.T) {
	m := machine(t, "h200", func(s *nvmltest.Spec) {
		s.Missing = append(s.Missing, "nvmlDeviceGetFieldValues")
		s.GPUs[0].Answers["GetTotalEnergyConsumption"] = nvmltest.Answer{Value: nvmltest.Value{Base: 12345}}
		s.GPUs[0].Answers["GetViolationStatus"] = nvmltest.Answer{Parts: map[string]nvmltest.Value{"power": {Base: 2.5e9}}}
		s.GPUs[0].Answers["GetRemappedRows"] = nvmltest.Answer{Parts: map[string]nvmltest.Value{
			"corrected": {Base: 3}, "uncorrected": {Base: 1}, "pending": {Base: 1}, "failed": {},
		}}
		s.GPUs[0].Answers["GetPcieReplayCounter"] = nvmltest.Answer{Value: nvmltest.Value{Base: 7}}
	})
	_, boards := opened(t, m)
	v := take(t, m, boards[0])[0]
	readingsAre(t, &v, map[device.Metric]float64{
		device.ThrottlePower: 2.5, device.RemappedRowsCorrectable: 3, device.RemappedRowsUncorrectable: 1, device.RowRemapPending: 1,
		device.RowRemapFailure: 0, device.PCIeReplayErrors: 7, device.ECCCorrected: 2, device.ECCCorrectedLifetime: 5, device.Energy: 12.345,
		device.NVLinkLinks: 18, device.NVLinkLinksActive: 18, device.LinkState.At(0): 1, device.ECCCorrectedAt.At(2): 0,
	})
}

// rarities are what some board somewhere has, and none of the machines.
func rarities(s *nvmltest.Spec) {
	for i := range s.GPUs {
		g := &s.GPUs[i]
		g.Fields[nvml.FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_TOTAL] = nvmltest.Value{Base: 1}
		g.Answers["GetUnrepairableMemoryFlag_v1"] = nvmltest.Answer{Value: nvmltest.Value{Base: 0}}
		g.Answers["GetTemperatureThreshold"] = nvmltest.Answer{Parts: map[string]nvmltest.Value{
			"shutdown": {Base: 96}, "slowdown": {Base: 93}, "memory_max": {Base: 95}, "gpu_max": {Base: 85},
		}}
		counts := map[string]nvmltest.Value{}
		for _, kind := range []string{"corrected volatile", "corrected aggregate", "uncorrected volatile", "uncorrected aggregate"} {
			counts[kind+" 5"], counts[kind+" 6"] = nvmltest.Value{Base: 1}, nvmltest.Value{Base: 1}
		}
		g.Answers["GetMemoryErrorCounter"] = nvmltest.Answer{Parts: counts}
	}
}

// What no machine measures would be a metric for nobody.
func TestEveryMetricIsMeasuredSomewhere(t *testing.T) {
	names, err := nvmltest.Machines()
	require.NoError(t, err)
	measured := map[device.Metric]bool{
		device.XIDLast:      true, // from events
		device.FabricHealth: true, // by calls that only the real library has
	}
	for _, name := range names {
		if slices.Contains(failing, name) {
			continue
		}
		m := machine(t, name, rarities)
		_, boards := opened(t, m)
		for _, b := range boards {
			take(t, m, b)
			for _, v := range take(t, m, b) {
				for metric := range device.NumMetrics {
					measured[metric] = measured[metric] || v[metric].OK()
				}
			}
		}
	}
	for metric := range device.NumMetrics {
		label, value := metric.Label()
		assert.True(t, measured[metric], "%s %s %s", metric, label, value)
	}
}
