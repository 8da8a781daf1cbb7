package nvml

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh200"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"
)

// fake is a DGX H200 as go-nvml mocks it, with the telemetry that the mock leaves out, and with ways to break it.
type fake struct {
	*server.Server
	mu      sync.Mutex
	now     time.Time
	missing map[string]bool // symbols that the library lacks
	init    nvml.Return
	count   func() (int, nvml.Return)
	gpus    []*fakeGPU
	events  chan nvml.EventData
	calls   map[string]int
}

// fakeGPU answers every call with numbers like a real H200's under load, or with what is in fail.
type fakeGPU struct {
	*server.Device
	f      *fake
	index  int
	fail   map[string]nvml.Return // by name of the method; "*" fails everything
	fields map[uint32]nvml.FieldValue
	mig    []*mock.Device
	gpm    float64
}

func newFake(gpus int) *fake {
	f := &fake{
		Server: dgxh200.New(), now: time.Unix(1_800_000_000, 0), missing: map[string]bool{}, calls: map[string]int{},
		events: make(chan nvml.EventData, 10),
	}
	f.LookupSymbolFunc = func(name string) error {
		if f.missing[name] {
			return fmt.Errorf("undefined symbol: %s", name)
		}
		return nil
	}
	f.InitFunc = func() nvml.Return { return f.init }
	f.ShutdownFunc = func() nvml.Return { return nvml.SUCCESS }
	for i := range gpus {
		f.gpus = append(f.gpus, newFakeGPU(f, i))
	}
	f.count = func() (int, nvml.Return) { return len(f.gpus), nvml.SUCCESS }
	f.DeviceGetCountFunc = func() (int, nvml.Return) { return f.count() }
	f.DeviceGetHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if ret := f.gpus[i].answer("GetHandle"); ret != nvml.SUCCESS {
			return nil, ret
		}
		return f.gpus[i], nvml.SUCCESS
	}
	f.mockGPM()
	f.EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) {
		return &mock.EventSet{
			FreeFunc: func() nvml.Return { return nvml.SUCCESS },
			WaitFunc: func(ms uint32) (nvml.EventData, nvml.Return) {
				select {
				case e := <-f.events:
					return e, nvml.SUCCESS
				case <-time.After(min(time.Duration(ms)*time.Millisecond, 20*time.Millisecond)):
					return nvml.EventData{}, nvml.ERROR_TIMEOUT
				}
			},
		}, nvml.SUCCESS
	}
	return f
}

func (f *fake) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fake) advance(d time.Duration) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
	return f.now
}

// fakeSample remembers when and of what it was taken.
type fakeSample struct {
	mock.GpmSample
	at    time.Time
	level float64
}

func (f *fake) mockGPM() {
	f.GpmQueryDeviceSupportFunc = func(d nvml.Device) (nvml.GpmSupport, nvml.Return) {
		return nvml.GpmSupport{IsSupportedDevice: 1}, d.(*fakeGPU).answer("GpmQuery")
	}
	f.GpmSampleAllocFunc = func() (nvml.GpmSample, nvml.Return) { return &fakeSample{}, nvml.SUCCESS }
	f.GpmSampleFreeFunc = func(nvml.GpmSample) nvml.Return { return nvml.SUCCESS }
	take := func(d nvml.Device, s nvml.GpmSample) nvml.Return {
		g := d.(*fakeGPU)
		if ret := g.answer("GpmSampleGet"); ret != nvml.SUCCESS {
			return ret
		}
		s.(*fakeSample).at, s.(*fakeSample).level = f.clock(), g.gpm
		return nvml.SUCCESS
	}
	f.GpmSampleGetFunc = take
	f.GpmMigSampleGetFunc = func(d nvml.Device, _ int, s nvml.GpmSample) nvml.Return { return take(d, s) }
	f.GpmMetricsGetFunc = func(m *nvml.GpmMetricsGetType) nvml.Return {
		from, to := m.Sample1.(*fakeSample), m.Sample2.(*fakeSample)
		if to.at.Sub(from.at) < gpmShortest {
			return nvml.ERROR_UNKNOWN
		}
		for i := range m.NumMetrics {
			m.Metrics[i].Value = to.level
			if nvml.GpmMetricId(m.Metrics[i].MetricId) == nvml.GPM_METRIC_SM_OCCUPANCY {
				m.Metrics[i].Value = math.NaN()
			}
		}
		return nvml.SUCCESS
	}
}

// answer is what a method of the GPU returns now.
func (g *fakeGPU) answer(method string) nvml.Return {
	g.f.mu.Lock()
	defer g.f.mu.Unlock()
	g.f.calls[method]++
	if ret, ok := g.fail[method]; ok {
		return ret
	}
	return g.fail["*"]
}

// set breaks a method, or all with "*"; SUCCESS repairs it.
func (g *fakeGPU) set(method string, ret nvml.Return) {
	g.f.mu.Lock()
	defer g.f.mu.Unlock()
	g.fail[method] = ret
}

func newFakeGPU(f *fake, index int) *fakeGPU {
	d := dgxh200.NewDevice(index)
	g := &fakeGPU{Device: d, f: f, index: index, fail: map[string]nvml.Return{}, fields: map[uint32]nvml.FieldValue{}, gpm: 40}
	d.UUID = fmt.Sprintf("GPU-00000000-0000-4000-8000-%012d", index)
	d.GetUUIDFunc = func() (string, nvml.Return) { return d.UUID, g.answer("GetUUID") }
	d.GetPciInfoFunc = func() (nvml.PciInfo, nvml.Return) {
		var info nvml.PciInfo
		for i, c := range []byte(fmt.Sprintf("00000000:%02x:00.0", 0x1a+index)) {
			info.BusId[i] = int8(c)
		}
		return info, g.answer("GetPciInfo")
	}
	g.mockReadings()
	g.mockFields()
	d.GetSupportedEventTypesFunc = func() (uint64, nvml.Return) { return 0xffff, g.answer("GetSupportedEventTypes") }
	d.RegisterEventsFunc = func(uint64, nvml.EventSet) nvml.Return { return g.answer("RegisterEvents") }
	d.GetMigModeFunc = func() (int, int, nvml.Return) {
		mode := min(len(g.mig), 1)
		return mode, mode, g.answer("GetMigMode")
	}
	d.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 7, g.answer("GetMaxMigDeviceCount") }
	d.GetMigDeviceHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if i >= len(g.mig) || g.mig[i] == nil {
			return nil, nvml.ERROR_NOT_FOUND
		}
		return g.mig[i], g.answer("GetMigDeviceHandleByIndex")
	}
	return g
}

func (g *fakeGPU) mockReadings() {
	d := g.Device
	u32 := func(method string, value uint32) func() (uint32, nvml.Return) {
		return func() (uint32, nvml.Return) { return value, g.answer(method) }
	}
	integer := func(method string, value int) func() (int, nvml.Return) {
		return func() (int, nvml.Return) { return value, g.answer(method) }
	}
	d.GetPowerUsageFunc = u32("GetPowerUsage", 627400)
	d.GetEnforcedPowerLimitFunc = u32("GetEnforcedPowerLimit", 700000)
	d.GetFanSpeedFunc = func() (uint32, nvml.Return) { _ = g.answer("GetFanSpeed"); return 0, nvml.ERROR_NOT_SUPPORTED }
	d.GetTotalEnergyConsumptionFunc = func() (uint64, nvml.Return) { return 1e9, g.answer("GetTotalEnergyConsumption") }
	d.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 52, g.answer("GetTemperature") }
	d.GetMarginTemperatureFunc = func() (nvml.MarginTemperature, nvml.Return) {
		return nvml.MarginTemperature{MarginTemperature: 35}, g.answer("GetMarginTemperature")
	}
	d.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) {
		return nvml.Utilization{Gpu: 100, Memory: 7}, g.answer("GetUtilizationRates")
	}
	d.GetEncoderUtilizationFunc = func() (uint32, uint32, nvml.Return) { return 3, 1, g.answer("GetEncoderUtilization") }
	d.GetDecoderUtilizationFunc = func() (uint32, uint32, nvml.Return) { return 4, 1, g.answer("GetDecoderUtilization") }
	d.GetClockInfoFunc = func(c nvml.ClockType) (uint32, nvml.Return) {
		return map[nvml.ClockType]uint32{nvml.CLOCK_SM: 1980, nvml.CLOCK_MEM: 3201}[c], g.answer("GetClockInfo")
	}
	d.GetMaxClockInfoFunc = func(nvml.ClockType) (uint32, nvml.Return) { return 1980, g.answer("GetMaxClockInfo") }
	d.GetCurrentClocksEventReasonsFunc = func() (uint64, nvml.Return) { return 1 << 40, g.answer("GetCurrentClocksEventReasons") }
	d.GetCurrentClocksThrottleReasonsFunc = func() (uint64, nvml.Return) { return 4, g.answer("GetCurrentClocksThrottleReasons") }
	d.GetPerformanceStateFunc = func() (nvml.Pstates, nvml.Return) { return nvml.PSTATE_0, g.answer("GetPerformanceState") }
	d.GetCurrPcieLinkGenerationFunc = integer("GetCurrPcieLinkGeneration", 5)
	d.GetCurrPcieLinkWidthFunc = integer("GetCurrPcieLinkWidth", 16)
	d.GetPcieThroughputFunc = func(nvml.PcieUtilCounter) (uint32, nvml.Return) { return 1000, g.answer("GetPcieThroughput") }
	d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) {
		return nvml.Memory_v2{
			Total: 150754820096, Reserved: 643825664, Used: 33934016512, Free: 116176977920,
		}, g.answer("GetMemoryInfo_v2")
	}
	d.GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) {
		return nvml.Memory{Total: 150754820096, Used: 34577842176, Free: 116176977920}, g.answer("GetMemoryInfo")
	}
}

func (g *fakeGPU) mockFields() {
	put := func(id uint32, kind nvml.ValueType, value uint64) {
		f := nvml.FieldValue{FieldId: id, ValueType: uint32(kind)}
		binary.NativeEndian.PutUint64(f.Value[:], value)
		g.fields[id] = f
	}
	put(nvml.FI_DEV_POWER_INSTANT, nvml.VALUE_TYPE_UNSIGNED_INT, 626260)
	put(nvml.FI_DEV_TOTAL_ENERGY_CONSUMPTION, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG, 123456789)
	put(nvml.FI_DEV_MEMORY_TEMP, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG, 0xdeadbeef<<32|40) // r545: wrong type, garbage above
	put(nvml.FI_DEV_PERF_POLICY_POWER, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG, 2_500_000_000)
	put(nvml.FI_DEV_PERF_POLICY_THERMAL, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG, 0)
	for _, f := range slowFields {
		put(f.id, nvml.VALUE_TYPE_UNSIGNED_INT, 0)
	}
	put(nvml.FI_DEV_PCIE_REPLAY_COUNTER, nvml.VALUE_TYPE_UNSIGNED_INT, math.MaxUint32)
	put(nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG, 1000)
	put(nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_RX, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG, 2000)
	g.GetFieldValuesFunc = func(values []nvml.FieldValue) nvml.Return {
		if ret := g.answer("GetFieldValues"); ret != nvml.SUCCESS {
			return ret
		}
		for i := range values {
			known, ok := g.fields[values[i].FieldId]
			if !ok {
				values[i].NvmlReturn = uint32(nvml.ERROR_NOT_SUPPORTED)
				continue
			}
			values[i] = known
		}
		return nvml.SUCCESS
	}
}

// split puts the GPU in MIG mode, with one compute instance in each of the GPU instances.
func (g *fakeGPU) split(profiles map[int]string) {
	for id, profile := range profiles {
		g.mig = append(g.mig, g.migDevice(id, 0, "NVIDIA H200 MIG "+profile))
	}
}

func (g *fakeGPU) migDevice(gpuInstance, computeInstance int, name string) *mock.Device {
	return &mock.Device{
		GetGpuInstanceIdFunc:     func() (int, nvml.Return) { return gpuInstance, nvml.SUCCESS },
		GetComputeInstanceIdFunc: func() (int, nvml.Return) { return computeInstance, nvml.SUCCESS },
		GetUUIDFunc: func() (string, nvml.Return) {
			return fmt.Sprintf("MIG-%d-%d-%d", g.index, gpuInstance, computeInstance), nvml.SUCCESS
		},
		GetNameFunc: func() (string, nvml.Return) { return name, nvml.SUCCESS },
		GetAttributesFunc: func() (nvml.DeviceAttributes, nvml.Return) {
			return nvml.DeviceAttributes{GpuInstanceSliceCount: 1, ComputeInstanceSliceCount: 1, MemorySizeMB: 16384}, nvml.SUCCESS
		},
		GetMemoryInfo_v2Func: func() (nvml.Memory_v2, nvml.Return) {
			return nvml.Memory_v2{Total: 10468982784, Used: 9437184, Free: 10459545600}, g.answer("mig.GetMemoryInfo_v2")
		},
		GetMemoryInfoFunc: func() (nvml.Memory, nvml.Return) { return nvml.Memory{}, nvml.ERROR_NOT_SUPPORTED },
	}
}
