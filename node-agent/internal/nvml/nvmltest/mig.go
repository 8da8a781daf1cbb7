package nvmltest

import (
	"strconv"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
)

// IsMigDeviceHandle implements nvml.Device.
func (d *Device) IsMigDeviceHandle() (bool, nvml.Return) {
	ret, _ := d.m.enter("IsMigDeviceHandle", d, "")
	return d.mig != nil, ret
}

// GetMigDeviceHandleByIndex implements nvml.Device. The instance is in use until NVML is closed.
func (d *Device) GetMigDeviceHandleByIndex(i int) (nvml.Device, nvml.Return) {
	ret, _ := d.m.enter("GetMigDeviceHandleByIndex", d, strconv.Itoa(i))
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	d.m.mu.Lock()
	if d.mig != nil || i < 0 || i >= len(d.gpu.mig) {
		d.m.mu.Unlock()
		return nil, nvml.ERROR_NOT_FOUND
	}
	in := d.gpu.mig[i]
	in.held = d.m.generation
	d.m.mu.Unlock()
	return d.m.handle(&Device{m: d.m, gpu: d.gpu, mig: in, generation: d.generation}), nvml.SUCCESS
}

// GetDeviceHandleFromMigDeviceHandle implements nvml.Device.
func (d *Device) GetDeviceHandleFromMigDeviceHandle() (nvml.Device, nvml.Return) {
	ret, _ := d.m.enter("GetDeviceHandleFromMigDeviceHandle", d, "")
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	return d.m.handle(&Device{m: d.m, gpu: d.gpu, generation: d.generation}), nvml.SUCCESS
}

func (d *Device) instanceNumber(call string, number func(InstanceSpec) int) (int, nvml.Return) {
	ret, _ := d.m.enter(call, d, "")
	switch {
	case ret != nvml.SUCCESS:
		return 0, ret
	case d.mig == nil:
		return 0, nvml.ERROR_NOT_SUPPORTED
	}
	return number(d.mig.spec), nvml.SUCCESS
}

// GetGpuInstanceId implements nvml.Device.
func (d *Device) GetGpuInstanceId() (int, nvml.Return) {
	return d.instanceNumber("GetGpuInstanceId", func(s InstanceSpec) int { return s.GI })
}

// GetComputeInstanceId implements nvml.Device.
func (d *Device) GetComputeInstanceId() (int, nvml.Return) {
	return d.instanceNumber("GetComputeInstanceId", func(s InstanceSpec) int { return s.CI })
}

// GetAttributes implements nvml.Device.
func (d *Device) GetAttributes() (nvml.DeviceAttributes, nvml.Return) {
	p, ret := d.parts("GetAttributes", "gi_slices", "ci_slices", "memory_mib")
	return nvml.DeviceAttributes{
		GpuInstanceSliceCount: uint32(p[0]), ComputeInstanceSliceCount: uint32(p[1]), MemorySizeMB: uint64(p[2]),
	}, ret
}

// GetGpuInstanceById implements nvml.Device.
func (d *Device) GetGpuInstanceById(id int) (nvml.GpuInstance, nvml.Return) {
	ret, _ := d.m.enter("GetGpuInstanceById", d, strconv.Itoa(id))
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	for _, in := range d.gpu.mig {
		if in.spec.GI != id {
			continue
		}
		spec := in.spec
		return &mock.GpuInstance{GetInfoFunc: func() (nvml.GpuInstanceInfo, nvml.Return) {
			return nvml.GpuInstanceInfo{
				Device: d, Id: uint32(id), Placement: nvml.GpuInstancePlacement{Start: spec.Placement[0], Size: spec.Placement[1]},
			}, nvml.SUCCESS
		}}, nvml.SUCCESS
	}
	return nil, nvml.ERROR_NOT_FOUND
}
