package nvml

import (
	"reflect"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// versioned are the calls that go-nvml offers only through values of its own, which nothing else can stand in for.
type versioned interface {
	temperature(nvml.Device) (int32, nvml.Return)
	fabric(nvml.Device) (fabric, nvml.Return)
}

// fabric is what a board says about the NVLink fabric.
type fabric struct {
	state, status uint32
	health        uint32
	hasHealth     bool
}

// versionedOf is nil for anything but the real library: such a call would reach past a fake into it.
func versionedOf(api nvml.Interface) versioned {
	t := reflect.TypeOf(api)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.PkgPath() != reflect.TypeFor[nvml.FieldValue]().PkgPath() {
		return nil
	}
	return realCalls{}
}

// realCalls are those of the real library.
type realCalls struct{}

func (realCalls) temperature(d nvml.Device) (int32, nvml.Return) {
	t, ret := d.GetTemperatureV().V1()
	return t.Temperature, ret
}

// fabric asks for the newest layout first. Drivers refuse one that is newer than they are.
func (realCalls) fabric(d nvml.Device) (fabric, nvml.Return) {
	info, ret := d.GetGpuFabricInfoV().V3()
	if ret == nvml.ERROR_ARGUMENT_VERSION_MISMATCH || ret == nvml.ERROR_INVALID_ARGUMENT {
		old, ret := d.GetGpuFabricInfoV().V2()
		return fabric{state: uint32(old.State), status: old.Status, health: old.HealthMask, hasHealth: true}, ret
	}
	return fabric{state: uint32(info.State), status: info.Status, health: info.HealthMask, hasHealth: true}, ret
}
