package nvmltest

import (
	"encoding/binary"
	"math"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// none32 is NVML's "no such instance".
const none32 = math.MaxUint32

// use is a sample of the use by a process, as a fixture gives it.
type use struct {
	after  float64 // seconds from now, negative for the past
	zero   bool    // its time is 0
	sample nvml.ProcessUtilizationSample
}

func (d *Device) running(call, kind string) ([]nvml.ProcessInfo, nvml.Return) {
	if ret, _ := d.m.enter(call, d, ""); ret != nvml.SUCCESS {
		return nil, ret
	}
	if a, ok := d.answers()[call]; ok && a.Ret != nvml.SUCCESS {
		return nil, a.Ret
	}
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	var list []nvml.ProcessInfo
	for _, p := range d.gpu.spec.Processes {
		if p.Kind != kind && (p.Kind != "" || kind != "compute") {
			continue
		}
		info := nvml.ProcessInfo{Pid: p.PID, UsedGpuMemory: p.Memory, GpuInstanceId: none32, ComputeInstanceId: none32}
		if p.GI != nil {
			info.GpuInstanceId = uint32(*p.GI)
		}
		if p.CI != nil {
			info.ComputeInstanceId = uint32(*p.CI)
		}
		if d.mig != nil && (p.GI == nil || *p.GI != d.mig.spec.GI) {
			continue
		}
		list = append(list, info)
	}
	return list, nvml.SUCCESS
}

// GetComputeRunningProcesses implements nvml.Device.
func (d *Device) GetComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return d.running("GetComputeRunningProcesses", "compute")
}

// GetGraphicsRunningProcesses implements nvml.Device.
func (d *Device) GetGraphicsRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return d.running("GetGraphicsRunningProcesses", "graphics")
}

// GetMPSComputeRunningProcesses implements nvml.Device.
func (d *Device) GetMPSComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return d.running("GetMPSComputeRunningProcesses", "mps")
}

// SetProcesses gives GPU i other processes.
func (m *Machine) SetProcesses(i int, list []ProcessSpec) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gpus[i].spec.Processes = list
}

// GetProcessUtilization implements nvml.Device. Without any sample the answer is ERROR_NOT_FOUND, as NVML's is.
func (d *Device) GetProcessUtilization(since uint64) ([]nvml.ProcessUtilizationSample, nvml.Return) {
	ret, _ := d.m.enter("GetProcessUtilization", d, "")
	switch a := d.answers()["GetProcessUtilization"]; {
	case ret != nvml.SUCCESS:
		return nil, ret
	case a.Ret != nvml.SUCCESS:
		return nil, a.Ret
	}
	now := d.m.now()
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	if d.mig != nil || len(d.gpu.mig) > 0 {
		return nil, nvml.ERROR_NOT_SUPPORTED
	}
	var list []nvml.ProcessUtilizationSample
	// What a fixture lists comes whatever was asked for: that is its point.
	for _, u := range d.m.spec.uses {
		s := u.sample
		if !u.zero {
			s.TimeStamp = uint64(now.UnixMicro() + int64(u.after*1e6))
		}
		list = append(list, s)
	}
	for _, p := range d.gpu.spec.Processes {
		at := uint64(now.UnixMicro())
		if p.Idle || len(d.m.spec.uses) > 0 || at <= since {
			continue
		}
		list = append(list, nvml.ProcessUtilizationSample{
			Pid: p.PID, TimeStamp: at, SmUtil: p.SM, MemUtil: p.Mem, EncUtil: p.Enc, DecUtil: p.Dec,
		})
	}
	if len(list) == 0 {
		return nil, nvml.ERROR_NOT_FOUND
	}
	return list, nvml.SUCCESS
}

var samplingNames = []string{
	"power", "gpu_utilization", "memory_utilization", "encoder", "decoder", "sm_clock", "memory_clock", "module_power", "jpeg", "ofa",
}

// GetSamples implements nvml.Device. The newest of the driver's measurements are kept, some of them.
func (d *Device) GetSamples(kind nvml.SamplingType, since uint64) (nvml.ValueType, []nvml.Sample, nvml.Return) {
	name := named(samplingNames, kind)
	const valueType = nvml.VALUE_TYPE_UNSIGNED_INT
	ret, _ := d.m.enter("GetSamples", d, name)
	if ret != nvml.SUCCESS {
		return valueType, nil, ret
	}
	defer d.m.account()()
	spec, ok := d.gpu.spec.Samples[name]
	d.m.mu.Lock()
	split := len(d.gpu.mig) > 0
	d.m.mu.Unlock()
	if !ok || d.mig != nil || split && kind != nvml.TOTAL_POWER_SAMPLES {
		return valueType, nil, nvml.ERROR_NOT_SUPPORTED
	}
	keep := spec.Keep
	if keep == 0 {
		keep = 120
	}
	newest := int(d.m.seconds() / spec.Every)
	var list []nvml.Sample
	for i := max(newest-keep+1, 1); i <= newest; i++ {
		t := float64(i) * spec.Every
		at := uint64(d.m.began.UnixMicro() + int64(t*1e6))
		if at <= since {
			continue
		}
		s := nvml.Sample{TimeStamp: at}
		binary.NativeEndian.PutUint32(s.SampleValue[:4], uint32(spec.Value.at(t, d.find)))
		list = append(list, s)
	}
	if len(list) == 0 {
		return valueType, nil, nvml.ERROR_NOT_FOUND
	}
	return valueType, list, nvml.SUCCESS
}
