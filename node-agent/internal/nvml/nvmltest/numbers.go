package nvmltest

import (
	"strconv"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// The calls with one number or text. Each implements nvml.Device.

// GetSerial implements nvml.Device.
func (d *Device) GetSerial() (string, nvml.Return) { return d.words("GetSerial") }

// GetVbiosVersion implements nvml.Device.
func (d *Device) GetVbiosVersion() (string, nvml.Return) { return d.words("GetVbiosVersion") }

// GetInforomImageVersion implements nvml.Device.
func (d *Device) GetInforomImageVersion() (string, nvml.Return) {
	return d.words("GetInforomImageVersion")
}

// GetBoardPartNumber implements nvml.Device.
func (d *Device) GetBoardPartNumber() (string, nvml.Return) { return d.words("GetBoardPartNumber") }

// GetGspFirmwareVersion implements nvml.Device.
func (d *Device) GetGspFirmwareVersion() (string, nvml.Return) {
	return d.words("GetGspFirmwareVersion")
}

// GetPowerUsage implements nvml.Device.
func (d *Device) GetPowerUsage() (uint32, nvml.Return) { return d.u32("GetPowerUsage", "") }

// GetEnforcedPowerLimit implements nvml.Device.
func (d *Device) GetEnforcedPowerLimit() (uint32, nvml.Return) {
	return d.u32("GetEnforcedPowerLimit", "")
}

// GetPowerManagementLimit implements nvml.Device.
func (d *Device) GetPowerManagementLimit() (uint32, nvml.Return) {
	return d.u32("GetPowerManagementLimit", "")
}

// GetPowerManagementDefaultLimit implements nvml.Device.
func (d *Device) GetPowerManagementDefaultLimit() (uint32, nvml.Return) {
	return d.u32("GetPowerManagementDefaultLimit", "")
}

// GetFanSpeed implements nvml.Device.
func (d *Device) GetFanSpeed() (uint32, nvml.Return) { return d.u32("GetFanSpeed", "") }

// GetMemoryBusWidth implements nvml.Device.
func (d *Device) GetMemoryBusWidth() (uint32, nvml.Return) { return d.u32("GetMemoryBusWidth", "") }

// GetPcieLinkMaxSpeed implements nvml.Device.
func (d *Device) GetPcieLinkMaxSpeed() (uint32, nvml.Return) { return d.u32("GetPcieLinkMaxSpeed", "") }

// GetBoardId implements nvml.Device.
func (d *Device) GetBoardId() (uint32, nvml.Return) { return d.u32("GetBoardId", "") }

// GetTotalEnergyConsumption implements nvml.Device.
func (d *Device) GetTotalEnergyConsumption() (uint64, nvml.Return) {
	return d.u64("GetTotalEnergyConsumption", "")
}

// GetCurrentClocksEventReasons implements nvml.Device.
func (d *Device) GetCurrentClocksEventReasons() (uint64, nvml.Return) {
	return d.u64("GetCurrentClocksEventReasons", "")
}

// GetCurrentClocksThrottleReasons implements nvml.Device.
func (d *Device) GetCurrentClocksThrottleReasons() (uint64, nvml.Return) {
	return d.u64("GetCurrentClocksThrottleReasons", "")
}

// GetSupportedClocksEventReasons implements nvml.Device.
func (d *Device) GetSupportedClocksEventReasons() (uint64, nvml.Return) {
	return d.u64("GetSupportedClocksEventReasons", "")
}

// GetSupportedClocksThrottleReasons implements nvml.Device.
func (d *Device) GetSupportedClocksThrottleReasons() (uint64, nvml.Return) {
	return d.u64("GetSupportedClocksThrottleReasons", "")
}

// GetSupportedEventTypes implements nvml.Device.
func (d *Device) GetSupportedEventTypes() (uint64, nvml.Return) {
	return d.u64("GetSupportedEventTypes", "")
}

// GetCurrPcieLinkGeneration implements nvml.Device.
func (d *Device) GetCurrPcieLinkGeneration() (int, nvml.Return) {
	return d.integer("GetCurrPcieLinkGeneration", "")
}

// GetCurrPcieLinkWidth implements nvml.Device.
func (d *Device) GetCurrPcieLinkWidth() (int, nvml.Return) {
	return d.integer("GetCurrPcieLinkWidth", "")
}

// GetMaxPcieLinkGeneration implements nvml.Device.
func (d *Device) GetMaxPcieLinkGeneration() (int, nvml.Return) {
	return d.integer("GetMaxPcieLinkGeneration", "")
}

// GetMaxPcieLinkWidth implements nvml.Device.
func (d *Device) GetMaxPcieLinkWidth() (int, nvml.Return) {
	return d.integer("GetMaxPcieLinkWidth", "")
}

// GetGpuMaxPcieLinkGeneration implements nvml.Device.
func (d *Device) GetGpuMaxPcieLinkGeneration() (int, nvml.Return) {
	return d.integer("GetGpuMaxPcieLinkGeneration", "")
}

// GetPcieReplayCounter implements nvml.Device.
func (d *Device) GetPcieReplayCounter() (int, nvml.Return) {
	return d.integer("GetPcieReplayCounter", "")
}

// GetPcieSpeed implements nvml.Device.
func (d *Device) GetPcieSpeed() (int, nvml.Return) { return d.integer("GetPcieSpeed", "") }

// GetNumFans implements nvml.Device.
func (d *Device) GetNumFans() (int, nvml.Return) { return d.integer("GetNumFans", "") }

// GetMaxMigDeviceCount implements nvml.Device.
func (d *Device) GetMaxMigDeviceCount() (int, nvml.Return) {
	return d.integer("GetMaxMigDeviceCount", "")
}

// GetNumGpuCores implements nvml.Device.
func (d *Device) GetNumGpuCores() (int, nvml.Return) { return d.integer("GetNumGpuCores", "") }

// GetModuleId implements nvml.Device.
func (d *Device) GetModuleId() (int, nvml.Return) { return d.integer("GetModuleId", "") }

// GetMultiGpuBoard implements nvml.Device.
func (d *Device) GetMultiGpuBoard() (int, nvml.Return) { return d.integer("GetMultiGpuBoard", "") }

// GetNumaNodeId implements nvml.Device.
func (d *Device) GetNumaNodeId() (int, nvml.Return) { return d.integer("GetNumaNodeId", "") }

// GetPerformanceState implements nvml.Device.
func (d *Device) GetPerformanceState() (nvml.Pstates, nvml.Return) {
	n, ret := d.integer("GetPerformanceState", "")
	return nvml.Pstates(n), ret
}

// GetPersistenceMode implements nvml.Device.
func (d *Device) GetPersistenceMode() (nvml.EnableState, nvml.Return) {
	n, ret := d.integer("GetPersistenceMode", "")
	return nvml.EnableState(n), ret
}

// GetComputeMode implements nvml.Device.
func (d *Device) GetComputeMode() (nvml.ComputeMode, nvml.Return) {
	n, ret := d.integer("GetComputeMode", "")
	return nvml.ComputeMode(n), ret
}

// GetBrand implements nvml.Device.
func (d *Device) GetBrand() (nvml.BrandType, nvml.Return) {
	n, ret := d.integer("GetBrand", "")
	return nvml.BrandType(n), ret
}

// GetArchitecture implements nvml.Device.
func (d *Device) GetArchitecture() (nvml.DeviceArchitecture, nvml.Return) {
	n, ret := d.integer("GetArchitecture", "")
	return nvml.DeviceArchitecture(n), ret
}

// GetRetiredPagesPendingStatus implements nvml.Device.
func (d *Device) GetRetiredPagesPendingStatus() (nvml.EnableState, nvml.Return) {
	n, ret := d.integer("GetRetiredPagesPendingStatus", "")
	return nvml.EnableState(n), ret
}

// GetVirtualizationMode implements nvml.Device.
func (d *Device) GetVirtualizationMode() (nvml.GpuVirtualizationMode, nvml.Return) {
	n, ret := d.integer("GetVirtualizationMode", "")
	return nvml.GpuVirtualizationMode(n), ret
}

// GetPowerSource implements nvml.Device.
func (d *Device) GetPowerSource() (nvml.PowerSource, nvml.Return) {
	n, ret := d.integer("GetPowerSource", "")
	return nvml.PowerSource(n), ret
}

// GetDisplayActive implements nvml.Device.
func (d *Device) GetDisplayActive() (nvml.EnableState, nvml.Return) {
	n, ret := d.integer("GetDisplayActive", "")
	return nvml.EnableState(n), ret
}

// GetDisplayMode implements nvml.Device.
func (d *Device) GetDisplayMode() (nvml.EnableState, nvml.Return) {
	n, ret := d.integer("GetDisplayMode", "")
	return nvml.EnableState(n), ret
}

// GetHostVgpuMode implements nvml.Device.
func (d *Device) GetHostVgpuMode() (nvml.HostVgpuMode, nvml.Return) {
	n, ret := d.integer("GetHostVgpuMode", "")
	return nvml.HostVgpuMode(n), ret
}

// GetTemperature implements nvml.Device.
func (d *Device) GetTemperature(s nvml.TemperatureSensors) (uint32, nvml.Return) {
	return d.u32("GetTemperature", named(nil, s))
}

// GetTemperatureThreshold implements nvml.Device.
func (d *Device) GetTemperatureThreshold(t nvml.TemperatureThresholds) (uint32, nvml.Return) {
	return d.u32("GetTemperatureThreshold", named(thresholdNames, t))
}

// GetClockInfo implements nvml.Device.
func (d *Device) GetClockInfo(c nvml.ClockType) (uint32, nvml.Return) {
	return d.u32("GetClockInfo", named(clockNames, c))
}

// GetMaxClockInfo implements nvml.Device.
func (d *Device) GetMaxClockInfo(c nvml.ClockType) (uint32, nvml.Return) {
	return d.u32("GetMaxClockInfo", named(clockNames, c))
}

// GetApplicationsClock implements nvml.Device.
func (d *Device) GetApplicationsClock(c nvml.ClockType) (uint32, nvml.Return) {
	return d.u32("GetApplicationsClock", named(clockNames, c))
}

// GetDefaultApplicationsClock implements nvml.Device.
func (d *Device) GetDefaultApplicationsClock(c nvml.ClockType) (uint32, nvml.Return) {
	return d.u32("GetDefaultApplicationsClock", named(clockNames, c))
}

// GetMaxCustomerBoostClock implements nvml.Device.
func (d *Device) GetMaxCustomerBoostClock(c nvml.ClockType) (uint32, nvml.Return) {
	return d.u32("GetMaxCustomerBoostClock", named(clockNames, c))
}

// GetFanSpeed_v2 implements nvml.Device.
func (d *Device) GetFanSpeed_v2(fan int) (uint32, nvml.Return) {
	return d.u32("GetFanSpeed_v2", strconv.Itoa(fan))
}

// GetPcieThroughput implements nvml.Device.
func (d *Device) GetPcieThroughput(c nvml.PcieUtilCounter) (uint32, nvml.Return) {
	return d.u32("GetPcieThroughput", named(directionNames, c))
}

// GetTotalEccErrors implements nvml.Device.
func (d *Device) GetTotalEccErrors(e nvml.MemoryErrorType, c nvml.EccCounterType) (uint64, nvml.Return) {
	return d.u64("GetTotalEccErrors", named(errorNames, e)+" "+named(counterNames, c))
}

// GetMemoryErrorCounter implements nvml.Device.
func (d *Device) GetMemoryErrorCounter(e nvml.MemoryErrorType, c nvml.EccCounterType, l nvml.MemoryLocation) (uint64, nvml.Return) {
	return d.u64("GetMemoryErrorCounter", named(errorNames, e)+" "+named(counterNames, c)+" "+named(nil, l))
}
