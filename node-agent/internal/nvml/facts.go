package nvml

import (
	"fmt"
	"strconv"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// brands are NVML's, as nvidia-smi shows them.
var brands = map[nvml.BrandType]string{
	nvml.BRAND_QUADRO: "Quadro", nvml.BRAND_TESLA: "Tesla", nvml.BRAND_NVS: "NVS", nvml.BRAND_GRID: "GRID",
	nvml.BRAND_GEFORCE: "GeForce", nvml.BRAND_TITAN: "Titan", nvml.BRAND_NVIDIA_VAPPS: "NVIDIA Virtual Applications",
	nvml.BRAND_NVIDIA_VPC: "NVIDIA Virtual PC", nvml.BRAND_NVIDIA_VCS: "NVIDIA Virtual Compute Server",
	nvml.BRAND_NVIDIA_VWS: "NVIDIA RTX Virtual Workstation", nvml.BRAND_NVIDIA_CLOUD_GAMING: "NVIDIA Cloud Gaming",
	nvml.BRAND_QUADRO_RTX: "Quadro RTX", nvml.BRAND_NVIDIA_RTX: "NVIDIA RTX", nvml.BRAND_NVIDIA: "NVIDIA",
	nvml.BRAND_GEFORCE_RTX: "GeForce RTX", nvml.BRAND_TITAN_RTX: "Titan RTX",
}

var architectures = map[nvml.DeviceArchitecture]string{
	nvml.DEVICE_ARCH_KEPLER: "Kepler", nvml.DEVICE_ARCH_MAXWELL: "Maxwell", nvml.DEVICE_ARCH_PASCAL: "Pascal",
	nvml.DEVICE_ARCH_VOLTA: "Volta", nvml.DEVICE_ARCH_TURING: "Turing", nvml.DEVICE_ARCH_AMPERE: "Ampere",
	nvml.DEVICE_ARCH_ADA: "Ada", nvml.DEVICE_ARCH_HOPPER: "Hopper", nvml.DEVICE_ARCH_BLACKWELL: "Blackwell",
	nvml.DEVICE_ARCH_RUBIN: "Rubin",
}

// readFacts reads what does not change. What the driver does not tell is left out.
func (b *board) readFacts() device.Facts {
	d := b.handle
	text := func(c call, f func() (string, nvml.Return)) string {
		if !b.lib.has(c) {
			return ""
		}
		s, ret := f()
		if ret != nvml.SUCCESS {
			return ""
		}
		return s
	}
	count := func(c call, f func() (int, nvml.Return)) int {
		if !b.lib.has(c) {
			return -1
		}
		n, ret := f()
		if ret != nvml.SUCCESS {
			return -1
		}
		return n
	}
	return device.Facts{
		Serial: text(callSerial, d.GetSerial),
		Brand: text(callBrand, func() (string, nvml.Return) {
			brand, ret := d.GetBrand()
			if brand == nvml.BRAND_UNKNOWN {
				return "", ret
			}
			return named(brands, brand), ret
		}),
		Architecture: text(callArchitecture, func() (string, nvml.Return) {
			arch, ret := d.GetArchitecture()
			if arch == nvml.DEVICE_ARCH_UNKNOWN {
				return "", ret
			}
			return named(architectures, arch), ret
		}),
		ComputeCapability: text(callComputeCapability, func() (string, nvml.Return) {
			major, minor, ret := d.GetCudaComputeCapability()
			return fmt.Sprintf("%d.%d", major, minor), ret
		}),
		VBIOS:     text(callVBIOS, d.GetVbiosVersion),
		InfoROM:   text(callInfoROM, d.GetInforomImageVersion),
		BoardPart: text(callBoardPart, d.GetBoardPartNumber),
		Minor:     count(callMinor, d.GetMinorNumber),
		MemoryBusBits: count(callBusWidth, func() (int, nvml.Return) {
			bits, ret := d.GetMemoryBusWidth()
			return int(bits), ret
		}),
		Cores:        count(callCores, d.GetNumGpuCores),
		Placements:   b.placements(),
		SharedMemory: b.sharesMemory(),
	}
}

// named is the name of a value, or its number when a newer driver knows more of them.
func named[T ~int32 | ~uint32](names map[T]string, value T) string {
	if name, ok := names[value]; ok {
		return name
	}
	return strconv.FormatInt(int64(value), 10)
}

// placements are where the instances lie. The driver tells it only to those who may create instances.
func (b *board) placements() map[string]device.Placement {
	if len(b.instances) == 0 || !b.lib.has(callInstanceByID) {
		return nil
	}
	found := map[string]device.Placement{}
	for _, in := range b.instances {
		instance, ret := b.handle.GetGpuInstanceById(in.id)
		if ret != nvml.SUCCESS {
			continue
		}
		if info, ret := instance.GetInfo(); ret == nvml.SUCCESS {
			found[strconv.Itoa(in.id)] = device.Placement{Start: int(info.Placement.Start), Size: int(info.Placement.Size)}
		}
	}
	return found
}

// versions are those of the driver's parts.
func (l *library) versions() device.Versions {
	var v device.Versions
	if l.has(callNVMLVersion) {
		if text, ret := l.api.SystemGetNVMLVersion(); ret == nvml.SUCCESS {
			v.NVML = text
		}
	}
	cuda, ret := 0, nvml.ERROR_NOT_SUPPORTED
	switch {
	case l.has(callCUDAVersion2):
		cuda, ret = l.api.SystemGetCudaDriverVersion_v2()
	case l.has(callCUDAVersion):
		cuda, ret = l.api.SystemGetCudaDriverVersion()
	}
	if ret == nvml.SUCCESS && cuda > 0 {
		v.CUDA = fmt.Sprintf("%d.%d", cuda/1000, cuda%1000/10)
	}
	return v
}
