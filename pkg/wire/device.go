package wire

import (
	"strconv"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// FromDevice is the message for a device.
func FromDevice(d gpu.Device) *Device {
	m := &Device{
		Uuid: d.UUID, Index: int32(d.Index), Model: d.Model, PciBusId: d.PCIBusID,
		MigProfile: d.MIGProfile, MigUuid: d.MIGUUID, MigEnabled: d.MIGEnabled,
	}
	m.GpuInstance = instanceID(d.GPUInstance)
	m.ComputeInstance = instanceID(d.ComputeInstance)
	return m
}

func instanceID(text string) *uint32 {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return nil
	}
	id := uint32(n)
	return &id
}

// ToDevices are the schema's devices, with the schema's cluster, node and driver version.
func ToDevices(s *Schema) []gpu.Device {
	devices := make([]gpu.Device, 0, len(s.GetDevices()))
	for _, m := range s.GetDevices() {
		d := gpu.Device{
			Identity: gpu.Identity{Cluster: s.GetCluster(), Node: s.GetNode(), UUID: m.GetUuid()},
			Index:    int(m.GetIndex()), Model: m.GetModel(), PCIBusID: m.GetPciBusId(), MIGProfile: m.GetMigProfile(),
			MIGUUID: m.GetMigUuid(), MIGEnabled: m.GetMigEnabled(), Driver: s.GetDriverVersion(),
		}
		if m.GpuInstance != nil {
			d.GPUInstance = strconv.FormatUint(uint64(m.GetGpuInstance()), 10)
		}
		if m.ComputeInstance != nil {
			d.ComputeInstance = strconv.FormatUint(uint64(m.GetComputeInstance()), 10)
		}
		devices = append(devices, d)
	}
	return devices
}
