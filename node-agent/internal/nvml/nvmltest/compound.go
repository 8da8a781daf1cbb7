package nvmltest

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// GetUtilizationRates implements nvml.Device.
func (d *Device) GetUtilizationRates() (nvml.Utilization, nvml.Return) {
	p, ret := d.parts("GetUtilizationRates", "gpu", "memory")
	return nvml.Utilization{Gpu: uint32(p[0]), Memory: uint32(p[1])}, ret
}

// engine is the use of an engine, with the period that it was measured over.
func (d *Device) engine(call string) (uint32, uint32, nvml.Return) {
	n, ret := d.u32(call, "")
	return n, 167_000, ret
}

// GetEncoderUtilization implements nvml.Device.
func (d *Device) GetEncoderUtilization() (uint32, uint32, nvml.Return) {
	return d.engine("GetEncoderUtilization")
}

// GetDecoderUtilization implements nvml.Device.
func (d *Device) GetDecoderUtilization() (uint32, uint32, nvml.Return) {
	return d.engine("GetDecoderUtilization")
}

// GetJpgUtilization implements nvml.Device.
func (d *Device) GetJpgUtilization() (uint32, uint32, nvml.Return) {
	return d.engine("GetJpgUtilization")
}

// GetOfaUtilization implements nvml.Device.
func (d *Device) GetOfaUtilization() (uint32, uint32, nvml.Return) {
	return d.engine("GetOfaUtilization")
}

// GetMemoryInfo implements nvml.Device. What is reserved counts as used there.
func (d *Device) GetMemoryInfo() (nvml.Memory, nvml.Return) {
	p, ret := d.parts("GetMemoryInfo", "total", "free", "used")
	return nvml.Memory{Total: uint64(p[0]), Free: uint64(p[1]), Used: uint64(p[2])}, ret
}

// GetMemoryInfo_v2 implements nvml.Device. What is free is what the other parts leave over.
func (d *Device) GetMemoryInfo_v2() (nvml.Memory_v2, nvml.Return) {
	p, ret := d.parts("GetMemoryInfo_v2", "total", "used", "reserved")
	m := nvml.Memory_v2{Total: uint64(p[0]), Used: uint64(p[1]), Reserved: uint64(p[2])}
	if m.Used+m.Reserved <= m.Total {
		m.Free = m.Total - m.Used - m.Reserved
	}
	return m, ret
}

// GetBAR1MemoryInfo implements nvml.Device.
func (d *Device) GetBAR1MemoryInfo() (nvml.BAR1Memory, nvml.Return) {
	p, ret := d.parts("GetBAR1MemoryInfo", "total", "used")
	return nvml.BAR1Memory{Bar1Total: uint64(p[0]), Bar1Used: uint64(p[1]), Bar1Free: uint64(p[0] - p[1])}, ret
}

// GetPowerManagementLimitConstraints implements nvml.Device.
func (d *Device) GetPowerManagementLimitConstraints() (uint32, uint32, nvml.Return) {
	p, ret := d.parts("GetPowerManagementLimitConstraints", "min", "max")
	return uint32(p[0]), uint32(p[1]), ret
}

// GetMarginTemperature implements nvml.Device.
func (d *Device) GetMarginTemperature() (nvml.MarginTemperature, nvml.Return) {
	n, ret := d.number("GetMarginTemperature", "")
	return nvml.MarginTemperature{MarginTemperature: int32(n)}, ret
}

// GetEccMode implements nvml.Device.
func (d *Device) GetEccMode() (nvml.EnableState, nvml.EnableState, nvml.Return) {
	p, ret := d.parts("GetEccMode", "current", "pending")
	return nvml.EnableState(p[0]), nvml.EnableState(p[1]), ret
}

// GetDriverModel implements nvml.Device: only Windows has one.
func (d *Device) GetDriverModel() (nvml.DriverModel, nvml.DriverModel, nvml.Return) {
	p, ret := d.parts("GetDriverModel", "current", "pending")
	return nvml.DriverModel(p[0]), nvml.DriverModel(p[1]), ret
}

// GetRemappedRows implements nvml.Device.
func (d *Device) GetRemappedRows() (int, int, bool, bool, nvml.Return) {
	p, ret := d.parts("GetRemappedRows", "corrected", "uncorrected", "pending", "failed")
	return int(p[0]), int(p[1]), p[2] != 0, p[3] != 0, ret
}

// GetRowRemapperHistogram implements nvml.Device.
func (d *Device) GetRowRemapperHistogram() (nvml.RowRemapperHistogramValues, nvml.Return) {
	p, ret := d.parts("GetRowRemapperHistogram", "max", "high", "partial", "low", "none")
	return nvml.RowRemapperHistogramValues{
		Max: uint32(p[0]), High: uint32(p[1]), Partial: uint32(p[2]), Low: uint32(p[3]), None: uint32(p[4]),
	}, ret
}

// GetRetiredPages implements nvml.Device.
func (d *Device) GetRetiredPages(cause nvml.PageRetirementCause) ([]uint64, nvml.Return) {
	n, ret := d.integer("GetRetiredPages", named([]string{"single", "double"}, cause))
	return make([]uint64, n), ret
}

// GetSramEccErrorStatus implements nvml.Device.
func (d *Device) GetSramEccErrorStatus() (nvml.EccSramErrorStatus, nvml.Return) {
	n, ret := d.u32("GetSramEccErrorStatus", "")
	return nvml.EccSramErrorStatus{BThresholdExceeded: n}, ret
}

// GetUnrepairableMemoryFlag_v1 implements nvml.Device.
func (d *Device) GetUnrepairableMemoryFlag_v1() (nvml.UnrepairableMemoryStatus_v1, nvml.Return) {
	n, ret := d.u32("GetUnrepairableMemoryFlag_v1", "")
	return nvml.UnrepairableMemoryStatus_v1{BUnrepairableMemory: n}, ret
}

// GetViolationStatus implements nvml.Device.
func (d *Device) GetViolationStatus(policy nvml.PerfPolicyType) (nvml.ViolationTime, nvml.Return) {
	n, ret := d.u64("GetViolationStatus", named(policyNames, policy))
	return nvml.ViolationTime{ReferenceTime: uint64(d.m.now().UnixMicro()), ViolationTime: n}, ret
}

// GetGpuFabricInfo implements nvml.Device.
func (d *Device) GetGpuFabricInfo() (nvml.GpuFabricInfo, nvml.Return) {
	p, ret := d.parts("GetGpuFabricInfo", "state", "status", "clique")
	return nvml.GpuFabricInfo{State: uint8(p[0]), Status: uint32(p[1]), CliqueId: uint32(p[2])}, ret
}

// GetCudaComputeCapability implements nvml.Device.
func (d *Device) GetCudaComputeCapability() (int, int, nvml.Return) {
	p, ret := d.parts("GetCudaComputeCapability", "major", "minor")
	return int(p[0]), int(p[1]), ret
}

// GetAddressingMode implements nvml.Device.
func (d *Device) GetAddressingMode() (nvml.DeviceAddressingMode, nvml.Return) {
	n, ret := d.u32("GetAddressingMode", "")
	return nvml.DeviceAddressingMode{Value: n}, ret
}

// GetRepairStatus implements nvml.Device.
func (d *Device) GetRepairStatus() (nvml.RepairStatus, nvml.Return) {
	p, ret := d.parts("GetRepairStatus", "channel", "tpc")
	return nvml.RepairStatus{BChannelRepairPending: uint32(p[0]), BTpcRepairPending: uint32(p[1])}, ret
}
