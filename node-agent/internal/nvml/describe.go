package nvml

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// describe reads who a GPU is, and its MIG instances. Only what cannot be told makes it fail; everything but the UUID is
// left out when the driver does not say.
func describe(lib *library, handle nvml.Device, index int, driver string) ([]gpu.Device, error) {
	uuid, ret := handle.GetUUID()
	if ret != nvml.SUCCESS {
		return nil, failure(fmt.Sprintf("read the UUID of GPU %d", index), ret)
	}
	board := gpu.Device{Identity: gpu.Identity{UUID: uuid}, Index: index, Driver: driver}
	if lib.has(callName) {
		if name, ret := handle.GetName(); ret == nvml.SUCCESS {
			board.Model = name
		}
	}
	if lib.has(callPCI) {
		if pci, ret := handle.GetPciInfo(); ret == nvml.SUCCESS {
			board.PCIBusID = busID(pci)
		}
	}
	if lib.has(callMIGMode) {
		current, _, ret := handle.GetMigMode()
		if isLost(ret) {
			return nil, failure(fmt.Sprintf("read the MIG mode of GPU %d", index), ret)
		}
		board.MIGEnabled = ret == nvml.SUCCESS && current == nvml.DEVICE_MIG_ENABLE
	}
	devices := []gpu.Device{board}
	if !board.MIGEnabled {
		return devices, nil
	}
	instances, err := migInstances(lib, handle, board)
	return append(devices, instances...), err
}

// busID formats "00000000:1A:00.0". The legacy field holds four digits of the domain only.
func busID(pci nvml.PciInfo) string {
	text := make([]byte, 0, len(pci.BusId))
	for _, c := range pci.BusId {
		if c == 0 {
			break
		}
		text = append(text, byte(c))
	}
	if len(text) == 0 {
		return fmt.Sprintf("%08X:%02X:%02X.0", pci.Domain, pci.Bus, pci.Device)
	}
	return strings.ToUpper(string(text))
}

// migInstances lists the GPU instances of a board. Several compute instances may share one; memory and activity belong
// to the GPU instance as a whole, so that is what is listed, with the compute instance only when it is alone.
func migInstances(lib *library, handle nvml.Device, board gpu.Device) ([]gpu.Device, error) {
	if !lib.canSplit() {
		return nil, nil
	}
	count, ret := migSlots(handle)
	if ret != nvml.SUCCESS {
		return nil, failure(fmt.Sprintf("count the MIG instances of GPU %d", board.Index), ret)
	}
	var devices []gpu.Device
	at := map[string]int{}
	for i := range count {
		mig, ret := handle.GetMigDeviceHandleByIndex(i)
		if ret != nvml.SUCCESS {
			if isLost(ret) {
				return nil, failure(fmt.Sprintf("open MIG instance %d of GPU %d", i, board.Index), ret)
			}
			continue // the numbers of existing instances have gaps
		}
		d, ok := describeMIG(lib, mig, handle, board)
		if !ok {
			continue // destroyed since it was listed
		}
		if first, shared := at[d.GPUInstance]; shared {
			devices[first].ComputeInstance, devices[first].MIGUUID = "", ""
			devices[first].MIGProfile = wholeProfile(devices[first].MIGProfile)
			continue
		}
		at[d.GPUInstance] = len(devices)
		devices = append(devices, d)
	}
	return devices, nil
}

func describeMIG(lib *library, mig, parent nvml.Device, board gpu.Device) (gpu.Device, bool) {
	instance, ret := mig.GetGpuInstanceId()
	if ret != nvml.SUCCESS {
		return gpu.Device{}, false
	}
	compute, ret := mig.GetComputeInstanceId()
	if ret != nvml.SUCCESS {
		return gpu.Device{}, false
	}
	d := board
	d.GPUInstance, d.ComputeInstance = strconv.Itoa(instance), strconv.Itoa(compute)
	if uuid, ret := mig.GetUUID(); ret == nvml.SUCCESS {
		d.MIGUUID = uuid
	}
	d.MIGProfile = profile(lib, mig, parent)
	return d, true
}

// profile is the instance's profile, "" when the driver does not say enough. New drivers write it into the name, for old
// ones it is worked out the way nvidia-smi does.
func profile(lib *library, mig, parent nvml.Device) string {
	if lib.has(callName) {
		name, ret := mig.GetName()
		if _, p, ok := strings.Cut(name, " MIG "); ok && ret == nvml.SUCCESS {
			return strings.TrimSpace(p)
		}
	}
	if !lib.has(callAttributes) {
		return ""
	}
	a, ret := mig.GetAttributes()
	if ret != nvml.SUCCESS || !lib.has(callMemory) {
		return ""
	}
	total, ret := parent.GetMemoryInfo()
	if ret != nvml.SUCCESS || total.Total == 0 {
		return ""
	}
	return profileName(a, total.Total)
}

func profileName(a nvml.DeviceAttributes, boardBytes uint64) string {
	const mib, gib = 1 << 20, 1 << 30
	eighths := math.Ceil(float64(a.MemorySizeMB*mib) / float64(boardBytes) * 8)
	size := math.Round(eighths / 8 * float64((boardBytes+gib-1)/gib))
	name := fmt.Sprintf("%dg.%.0fgb", a.GpuInstanceSliceCount, size)
	if a.ComputeInstanceSliceCount != a.GpuInstanceSliceCount {
		name = fmt.Sprintf("%dc.%s", a.ComputeInstanceSliceCount, name)
	}
	return name
}

// wholeProfile is the GPU instance's profile in that of a compute instance: "1c.3g.71gb" lies in "3g.71gb".
func wholeProfile(p string) string {
	if compute, rest, ok := strings.Cut(p, "c."); ok && len(compute) == 1 {
		return rest
	}
	return p
}
