package nvmltest

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func machine(t *testing.T, name string) *Machine {
	t.Helper()
	spec, err := Load(name)
	require.NoError(t, err)
	m, err := New(spec, Options{})
	require.NoError(t, err)
	return m
}

func openGPU(t *testing.T, m *Machine, i int) nvml.Device {
	t.Helper()
	require.Equal(t, nvml.SUCCESS, m.Init())
	d, ret := m.DeviceGetHandleByIndex(i)
	require.Equal(t, nvml.SUCCESS, ret)
	return d
}

func TestEveryMachineCanBeRead(t *testing.T) {
	names, err := Machines()
	require.NoError(t, err)
	assert.Greater(t, len(names), 30)
	for _, name := range names {
		m := machine(t, name)
		assert.NotEmpty(t, m.spec.About, name)
		for _, g := range m.gpus {
			assert.NotEmpty(t, g.spec.Answers["GetName"].Text, name)
			for call, a := range g.spec.Answers {
				for _, of := range []string{a.Like, a.Integral} {
					if of != "" {
						d := &Device{m: m, gpu: g}
						assert.NotZero(t, d.find(of).Base, "%s: %s refers to %s", name, call, of)
					}
				}
			}
		}
	}
}

func TestValuesAreWhatAnH200Said(t *testing.T) {
	m := machine(t, "h200")
	d := openGPU(t, m, 0)
	name, _ := d.GetName()
	assert.Equal(t, "NVIDIA H200", name)
	memory, ret := d.GetMemoryInfo_v2()
	require.Equal(t, nvml.SUCCESS, ret)
	assert.EqualValues(t, 150754820096, memory.Total)
	assert.Equal(t, memory.Total, memory.Used+memory.Free+memory.Reserved)
	_, ret = d.GetFanSpeed()
	assert.Equal(t, nvml.ERROR_NOT_SUPPORTED, ret, "what is not described is not supported")
	again, _ := m.DeviceGetHandleByIndex(0)
	assert.Same(t, d, again, "NVML gives the same handle again")
	assert.Panics(t, func() { _, _ = d.GetVgpuMetadata() }, "a call that the fake does not know is loud")
	assert.Equal(t, 1, m.Calls()["GetFanSpeed"])
	assert.Empty(t, m.Violations())
}

func TestEnergyIsWhatPowerAddsUpTo(t *testing.T) {
	m := machine(t, "h200")
	d := openGPU(t, m, 0)
	from, _ := d.GetTotalEnergyConsumption()
	sum := 0.0
	for range 1000 {
		before, _ := d.GetPowerUsage()
		m.Advance(10 * time.Millisecond)
		after, _ := d.GetPowerUsage()
		sum += float64(before+after) / 2 * 0.01
	}
	to, _ := d.GetTotalEnergyConsumption()
	assert.InEpsilon(t, sum, to-from, 1e-3)
	values := []nvml.FieldValue{{FieldId: nvml.FI_DEV_TOTAL_ENERGY_CONSUMPTION}, {FieldId: 9999}}
	require.Equal(t, nvml.SUCCESS, d.GetFieldValues(values))
	assert.Equal(t, to, binary.NativeEndian.Uint64(values[0].Value[:]), "the field and the call agree")
	assert.EqualValues(t, nvml.ERROR_NOT_SUPPORTED, values[1].NvmlReturn)
}

func TestScriptLosesAGPU(t *testing.T) {
	m := machine(t, "D01_gpu_lost")
	d := openGPU(t, m, 3)
	set, ret := m.EventSetCreate()
	require.Equal(t, nvml.SUCCESS, ret)
	require.Equal(t, nvml.SUCCESS, d.RegisterEvents(nvml.EventTypeXidCriticalError, set))
	_, ret = d.GetPowerUsage()
	assert.Equal(t, nvml.SUCCESS, ret)
	m.Advance(30 * time.Second)
	_, ret = d.GetPowerUsage()
	assert.Equal(t, nvml.ERROR_GPU_IS_LOST, ret)
	_, ret = m.DeviceGetHandleByIndex(3)
	assert.Equal(t, nvml.ERROR_GPU_IS_LOST, ret)
	_, ret = set.Wait(1)
	assert.Equal(t, nvml.ERROR_TIMEOUT, ret)
	m.Advance(time.Second)
	e, ret := set.Wait(1000)
	require.Equal(t, nvml.SUCCESS, ret)
	assert.EqualValues(t, 79, e.EventData)
	assert.Same(t, d, e.Device)
	require.Equal(t, nvml.SUCCESS, set.Free())
}

func TestScriptTakesAGPUOut(t *testing.T) {
	m := machine(t, "D02_off_bus_no_xid")
	openGPU(t, m, 0)
	m.Advance(31 * time.Second)
	n, _ := m.DeviceGetCount()
	assert.Equal(t, 7, n)
	d, ret := m.DeviceGetHandleByIndex(5)
	require.Equal(t, nvml.SUCCESS, ret)
	index, _ := d.GetIndex()
	assert.Equal(t, 6, index, "the GPUs behind the missing one move up")
}

func TestRulesOfNVML(t *testing.T) {
	m := machine(t, "h200_mig")
	d := openGPU(t, m, 0)
	mig, ret := d.GetMigDeviceHandleByIndex(2)
	require.Equal(t, nvml.SUCCESS, ret)
	assert.Equal(t, nvml.ERROR_IN_USE, m.Split(0, nil), "whoever holds a handle is in the way")
	a, _ := m.GpmSampleAlloc()
	b, _ := m.GpmSampleAlloc()
	require.Equal(t, nvml.SUCCESS, m.GpmMigSampleGet(d, 3, a))
	m.Advance(90 * time.Millisecond)
	require.Equal(t, nvml.SUCCESS, m.GpmMigSampleGet(d, 3, b))
	r := nvml.GpmMetricsGetType{NumMetrics: 1, Sample1: a, Sample2: b}
	assert.Equal(t, nvml.ERROR_INVALID_ARGUMENT, m.GpmMetricsGet(&r))
	require.Equal(t, nvml.SUCCESS, m.Shutdown())
	_, ret = mig.GetMemoryInfo_v2()
	assert.Equal(t, nvml.ERROR_UNINITIALIZED, ret)
	require.Equal(t, nvml.SUCCESS, m.Init())
	_, ret = d.GetPowerUsage()
	assert.Equal(t, nvml.ERROR_INVALID_ARGUMENT, ret, "handles do not outlive Shutdown")
	assert.Equal(t, nvml.SUCCESS, m.Split(0, nil))
	assert.Len(t, m.Violations(), 3)
}

func TestOldLibraryLacksWhatCameLater(t *testing.T) {
	m := machine(t, "t4_driver_450")
	d := openGPU(t, m, 0)
	require.NoError(t, m.Extensions().LookupSymbol("nvmlDeviceGetPowerUsage"))
	require.Error(t, m.Extensions().LookupSymbol("nvmlDeviceGetMemoryInfo_v2"))
	_, ret := d.GetMemoryInfo_v2()
	assert.Equal(t, nvml.ERROR_FUNCTION_NOT_FOUND, ret)
	assert.Len(t, m.Violations(), 1)
}

func TestSampleBuffersHoldWhatIsNew(t *testing.T) {
	m := machine(t, "h200")
	d := openGPU(t, m, 0)
	_, _, ret := d.GetSamples(nvml.TOTAL_POWER_SAMPLES, 0)
	assert.Equal(t, nvml.ERROR_NOT_FOUND, ret)
	m.Advance(time.Second)
	_, list, ret := d.GetSamples(nvml.TOTAL_POWER_SAMPLES, 0)
	require.Equal(t, nvml.SUCCESS, ret)
	assert.InDelta(t, 50, len(list), 1)
	m.Advance(100 * time.Millisecond)
	_, list, _ = d.GetSamples(nvml.TOTAL_POWER_SAMPLES, list[len(list)-1].TimeStamp)
	assert.InDelta(t, 5, len(list), 1)
	m.Advance(time.Hour)
	_, list, _ = d.GetSamples(nvml.TOTAL_POWER_SAMPLES, 0)
	assert.Len(t, list, 120, "drivers keep so many")
}

func TestSpecsWithMistakesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"gpus: [{board: h200, anwers: {}}]":                      "anwers not found",
		"gpus: [{board: nowhere}]":                               "nowhere.yaml",
		"gpus: [{board: h200, answers: {GetFanSpeed: ERROR_X}}]": "NVML has no ERROR_X",
		"fixture: nothing":                                       "nothing.json",
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, want)
	}
}

func TestValueKinds(t *testing.T) {
	none := func(string) *Value { return nil }
	list := Value{List: []float64{1, 2, 3}, Each: 0.5}
	assert.InDelta(t, 2, list.at(0.7, none), 0)
	assert.InDelta(t, 3, list.at(100, none), 0)
	steps := Value{Rate: 1000, Step: 0.03}
	assert.InDelta(t, 30, steps.at(0.059, none), 1e-9)
	wave := Value{Base: 10, Swing: 2, Period: 4}
	assert.InDelta(t, 12, wave.at(1, none), 1e-9)
	assert.InDelta(t, 40, wave.sum(4), 1e-9)
	assert.False(t, math.IsNaN(wave.sum(1)))
}
