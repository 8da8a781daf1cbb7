package nvmltest

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// GetUUID implements nvml.Device.
func (d *Device) GetUUID() (string, nvml.Return) {
	ret, _ := d.m.enter("GetUUID", d, "")
	if ret != nvml.SUCCESS {
		return "", ret
	}
	if d.mig != nil {
		if text := d.mig.spec.Answers["GetUUID"].Text; text != "" {
			return text, nvml.SUCCESS
		}
		return fmt.Sprintf("MIG-5eed0000-0000-4000-%04d-%06d%06d", d.mig.spec.CI, d.gpu.index, d.mig.spec.GI), nvml.SUCCESS
	}
	a := d.gpu.spec.Answers["GetUUID"]
	return a.uuid(d.gpu.index), a.Ret
}

// GetName implements nvml.Device.
func (d *Device) GetName() (string, nvml.Return) {
	ret, _ := d.m.enter("GetName", d, "")
	a := d.gpu.spec.Answers["GetName"]
	name := a.Text
	switch {
	case ret != nvml.SUCCESS:
		return "", ret
	case a.Ret != nvml.SUCCESS:
		return "", a.Ret
	case d.mig != nil && !d.mig.spec.Nameless:
		name += " MIG " + d.mig.spec.Profile
	}
	return name, nvml.SUCCESS
}

// GetIndex implements nvml.Device.
func (d *Device) GetIndex() (int, nvml.Return) {
	ret, _ := d.m.enter("GetIndex", d, "")
	if d.mig != nil {
		return d.mig.place, ret
	}
	return d.gpu.index, ret
}

// GetMinorNumber implements nvml.Device.
func (d *Device) GetMinorNumber() (int, nvml.Return) {
	ret, _ := d.m.enter("GetMinorNumber", d, "")
	if ret == nvml.SUCCESS && d.mig != nil {
		ret = nvml.ERROR_NOT_SUPPORTED
	}
	return d.gpu.index, ret
}

// GetPciInfo implements nvml.Device.
func (d *Device) GetPciInfo() (nvml.PciInfo, nvml.Return) {
	ret, _ := d.m.enter("GetPciInfo", d, "")
	if ret != nvml.SUCCESS {
		return nvml.PciInfo{}, ret
	}
	var info nvml.PciInfo
	id := d.gpu.spec.Answers["GetPciInfo"].busID(d.gpu.index)
	for i, c := range []byte(id) {
		info.BusId[i] = int8(c)
	}
	for i, c := range []byte(id[4:]) {
		info.BusIdLegacy[i] = int8(c)
	}
	_, _ = fmt.Sscanf(id, "%x:%x:%x", &info.Domain, &info.Bus, &info.Device) // as far as it is a bus id
	return info, nvml.SUCCESS
}

// GetMigMode implements nvml.Device. Boards that cannot be split say so.
func (d *Device) GetMigMode() (int, int, nvml.Return) {
	ret, _ := d.m.enter("GetMigMode", d, "")
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	_, can := d.gpu.spec.Answers["GetMaxMigDeviceCount"]
	switch {
	case ret != nvml.SUCCESS:
		return 0, 0, ret
	case d.mig != nil || !can:
		return 0, 0, nvml.ERROR_NOT_SUPPORTED
	case len(d.gpu.mig) > 0 || d.gpu.spec.Answers["GetMigMode"].Base != 0:
		return nvml.DEVICE_MIG_ENABLE, nvml.DEVICE_MIG_ENABLE, nvml.SUCCESS
	}
	return nvml.DEVICE_MIG_DISABLE, nvml.DEVICE_MIG_DISABLE, nvml.SUCCESS
}
