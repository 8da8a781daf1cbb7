package nvml

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// allLinks asks for the sum over all NVLinks.
const allLinks = math.MaxUint32

// field is one of NVML's numbered values. Several are read with one call.
type field struct {
	id     uint32
	scope  uint32
	metric device.Metric
	unit   float64 // what one of the field's units is in the metric's
	// uint32Only: the field holds 32 bits whatever its type says. Some r545 drivers announce the wrong type for it.
	uint32Only bool
	// zeroIsNone: boards without the sensor answer 0.
	zeroIsNone bool
	// rate: the field counts, the metric is what it grows by in a second.
	rate bool
}

var fastFields = []field{
	{id: nvml.FI_DEV_POWER_INSTANT, metric: device.PowerInstant, unit: 1e-3},
	{id: nvml.FI_DEV_TOTAL_ENERGY_CONSUMPTION, metric: device.Energy, unit: 1e-3},
	{id: nvml.FI_DEV_MEMORY_TEMP, metric: device.MemoryTemperature, unit: 1, uint32Only: true, zeroIsNone: true},
	{id: nvml.FI_DEV_PERF_POLICY_POWER, metric: device.ThrottlePower, unit: 1e-9},
	{id: nvml.FI_DEV_PERF_POLICY_THERMAL, metric: device.ThrottleThermal, unit: 1e-9},
}

// linkFields are asked for only where GPM does not tell.
var linkFields = []field{
	{id: nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX, scope: allLinks, metric: device.NVLinkTransmit, unit: 1024, rate: true},
	{id: nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_RX, scope: allLinks, metric: device.NVLinkReceive, unit: 1024, rate: true},
}

var slowFields = []field{
	{id: nvml.FI_DEV_PCIE_REPLAY_COUNTER, metric: device.PCIeReplayErrors, unit: 1},
	{id: nvml.FI_DEV_ECC_SBE_VOL_TOTAL, metric: device.ECCCorrected, unit: 1},
	{id: nvml.FI_DEV_ECC_DBE_VOL_TOTAL, metric: device.ECCUncorrected, unit: 1},
	{id: nvml.FI_DEV_REMAPPED_COR, metric: device.RemappedRowsCorrectable, unit: 1},
	{id: nvml.FI_DEV_REMAPPED_UNC, metric: device.RemappedRowsUncorrectable, unit: 1},
	{id: nvml.FI_DEV_REMAPPED_PENDING, metric: device.RowRemapPending, unit: 1},
	{id: nvml.FI_DEV_REMAPPED_FAILURE, metric: device.RowRemapFailure, unit: 1},
	{id: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION, metric: device.RecoveryAction, unit: 1},
}

// batch reads a set of fields of one board, and remembers which of them it does not support.
type batch struct {
	fields []field
	values []nvml.FieldValue
	last   []fieldCount // for rates
}

type fieldCount struct {
	value float64
	at    time.Time
}

func newBatch(fields []field) *batch {
	return &batch{
		fields: append([]field(nil), fields...), values: make([]nvml.FieldValue, len(fields)),
		last: make([]fieldCount, len(fields)),
	}
}

// drop takes a field out for good.
func (f *batch) drop(i int) {
	f.fields = append(f.fields[:i], f.fields[i+1:]...)
	f.last = append(f.last[:i], f.last[i+1:]...)
	f.values = f.values[:len(f.fields)]
}

// read asks for all fields at once, through ask. It reports what each answered to tally.
func (f *batch) read(now time.Time, v *device.Values, ask func([]nvml.FieldValue) gpu.State, tally func(nvml.Return)) {
	if len(f.fields) == 0 {
		return
	}
	for i, spec := range f.fields {
		f.values[i] = nvml.FieldValue{FieldId: spec.id, ScopeId: spec.scope}
	}
	if state := ask(f.values); state != gpu.OK {
		for _, spec := range f.fields {
			v[spec.metric] = gpu.Absent(state)
		}
		return
	}
	for i := len(f.fields) - 1; i >= 0; i-- {
		spec, ret := f.fields[i], nvml.Return(f.values[i].NvmlReturn)
		tally(ret)
		if ret != nvml.SUCCESS {
			v[spec.metric] = gpu.Absent(stateOf(ret))
			if isFinal(ret) {
				f.drop(i)
			}
			continue
		}
		value, ok := decode(f.values[i], spec.uint32Only)
		switch {
		case !ok:
			v[spec.metric] = gpu.Absent(gpu.NoData)
		case spec.zeroIsNone && value == 0:
			v[spec.metric] = gpu.Absent(gpu.NotSupported)
		case spec.rate:
			v[spec.metric] = f.rate(i, value*spec.unit, now)
		default:
			v.Set(spec.metric, value*spec.unit)
		}
	}
}

// rate is by how much a count grew in a second. A count that fell was reset, and says nothing.
func (f *batch) rate(i int, value float64, now time.Time) gpu.Reading {
	before := f.last[i]
	f.last[i] = fieldCount{value: value, at: now}
	elapsed := now.Sub(before.at).Seconds()
	if before.at.IsZero() || value < before.value || elapsed <= 0 {
		return gpu.Absent(gpu.NoData)
	}
	return gpu.Read((value - before.value) / elapsed)
}

// decode is a field's value; false when it holds NVML's "not available", or a type that is not known.
func decode(v nvml.FieldValue, uint32Only bool) (float64, bool) {
	bits := binary.NativeEndian.Uint64(v.Value[:])
	low := binary.NativeEndian.Uint32(v.Value[:4])
	if uint32Only {
		return float64(low), low != math.MaxUint32
	}
	switch nvml.ValueType(v.ValueType) {
	case nvml.VALUE_TYPE_DOUBLE:
		x := math.Float64frombits(bits)
		return x, !math.IsNaN(x) && !math.IsInf(x, 0)
	case nvml.VALUE_TYPE_UNSIGNED_INT:
		return float64(low), low != math.MaxUint32
	case nvml.VALUE_TYPE_UNSIGNED_LONG, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG:
		return float64(bits), bits != math.MaxUint64
	case nvml.VALUE_TYPE_SIGNED_LONG_LONG:
		return float64(int64(bits)), int64(bits) != -1
	case nvml.VALUE_TYPE_SIGNED_INT:
		return float64(int32(low)), true
	case nvml.VALUE_TYPE_UNSIGNED_SHORT:
		short := binary.NativeEndian.Uint16(v.Value[:2])
		return float64(short), short != math.MaxUint16
	}
	return 0, false
}
