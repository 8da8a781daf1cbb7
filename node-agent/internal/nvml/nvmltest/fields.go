package nvmltest

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// GetFieldValues implements nvml.Device. A field that no data describes is not supported; each field has its own answer.
func (d *Device) GetFieldValues(values []nvml.FieldValue) nvml.Return {
	if ret, _ := d.m.enter("GetFieldValues", d, ""); ret != nvml.SUCCESS {
		return ret
	}
	if len(values) == 0 {
		d.m.violate("GetFieldValues was called without fields")
		return nvml.ERROR_INVALID_ARGUMENT
	}
	defer d.m.account()()
	now := d.m.now()
	for i := range values {
		values[i].Timestamp = now.UnixMicro()
		d.field(&values[i])
	}
	return nvml.SUCCESS
}

// field answers one field. Fields of NVLinks have the link as scope; all links together are the field itself.
func (d *Device) field(f *nvml.FieldValue) {
	f.Value = [8]byte{}
	f.ValueType = uint32(nvml.VALUE_TYPE_UNSIGNED_INT)
	v, ok := d.gpu.spec.Fields[f.FieldId]
	if f.ScopeId != math.MaxUint32 {
		if links, known := d.gpu.spec.Links[strconv.Itoa(int(f.ScopeId))]; known {
			if of, has := links["field "+strconv.Itoa(int(f.FieldId))]; has {
				v, ok = of, true
			}
		}
	}
	d.m.mu.Lock()
	split := len(d.gpu.mig) > 0
	d.m.mu.Unlock()
	switch {
	case !ok, d.mig != nil, split && linkField[f.FieldId]:
		f.NvmlReturn = uint32(nvml.ERROR_NOT_SUPPORTED)
		return
	case v.Ret != nvml.SUCCESS:
		f.NvmlReturn = uint32(v.Ret)
		return
	}
	f.NvmlReturn = uint32(nvml.SUCCESS)
	n := d.value(&v)
	switch kind := v.Type; {
	case kind == "double":
		f.ValueType = uint32(nvml.VALUE_TYPE_DOUBLE)
		binary.NativeEndian.PutUint64(f.Value[:], math.Float64bits(n))
	case kind == "garbage":
		// r545 announces 64 bits for the memory's temperature and fills 32.
		f.ValueType = uint32(nvml.VALUE_TYPE_UNSIGNED_LONG_LONG)
		binary.NativeEndian.PutUint64(f.Value[:], 0xdeadbeef<<32|uint64(n))
	case n < 0:
		f.ValueType = uint32(nvml.VALUE_TYPE_SIGNED_INT)
		binary.NativeEndian.PutUint32(f.Value[:4], uint32(int32(n)))
	case kind == "ulonglong" || n > math.MaxUint32 || v.Rate != 0 || v.Integral != "":
		f.ValueType = uint32(nvml.VALUE_TYPE_UNSIGNED_LONG_LONG)
		binary.NativeEndian.PutUint64(f.Value[:], uint64(n))
	default:
		binary.NativeEndian.PutUint32(f.Value[:4], uint32(n))
	}
}

// linkField are the NVLink fields, which boards in MIG mode do not answer.
var linkField = map[uint32]bool{
	nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX: true, nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_RX: true,
	nvml.FI_DEV_NVLINK_THROUGHPUT_RAW_TX: true, nvml.FI_DEV_NVLINK_THROUGHPUT_RAW_RX: true,
	nvml.FI_DEV_NVLINK_ERROR_DL_CRC: true, nvml.FI_DEV_NVLINK_ERROR_DL_RECOVERY: true, nvml.FI_DEV_NVLINK_ERROR_DL_REPLAY: true,
	nvml.FI_DEV_NVLINK_GET_STATE: true, nvml.FI_DEV_NVLINK_LINK_COUNT: true,
}

// link is a value of an NVLink.
func (d *Device) link(call string, link int, part string) (float64, nvml.Return) {
	if ret, _ := d.m.enter(call, d, strconv.Itoa(link)); ret != nvml.SUCCESS {
		return 0, ret
	}
	if d.mig != nil || len(d.gpu.spec.Links) == 0 {
		return 0, nvml.ERROR_NOT_SUPPORTED
	}
	values, ok := d.gpu.spec.Links[strconv.Itoa(link)]
	if !ok {
		return 0, nvml.ERROR_INVALID_ARGUMENT
	}
	v, ok := values[part]
	if !ok {
		return 0, nvml.ERROR_NOT_SUPPORTED
	}
	return d.value(&v), v.Ret
}

// GetNvLinkState implements nvml.Device.
func (d *Device) GetNvLinkState(link int) (nvml.EnableState, nvml.Return) {
	n, ret := d.link("GetNvLinkState", link, "state")
	return nvml.EnableState(n), ret
}

// GetNvLinkVersion implements nvml.Device.
func (d *Device) GetNvLinkVersion(link int) (uint32, nvml.Return) {
	n, ret := d.link("GetNvLinkVersion", link, "version")
	return uint32(n), ret
}

// GetNvLinkErrorCounter implements nvml.Device.
func (d *Device) GetNvLinkErrorCounter(link int, c nvml.NvLinkErrorCounter) (uint64, nvml.Return) {
	n, ret := d.link("GetNvLinkErrorCounter", link, named([]string{"replay", "recovery", "crc_flit", "crc_data", "ecc"}, c))
	return uint64(n), ret
}
