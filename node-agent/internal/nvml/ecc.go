package nvml

import (
	"context"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// numECCCounts is how many kinds of counts there are: of eccCounts.
const numECCCounts = 4

// eccCounts are the kinds of errors that are counted, in total and by place.
var eccCounts = [numECCCounts]struct {
	total, place device.Metric
	kind         nvml.MemoryErrorType
	since        nvml.EccCounterType
}{
	{device.ECCCorrected, device.ECCCorrectedAt, nvml.MEMORY_ERROR_TYPE_CORRECTED, nvml.VOLATILE_ECC},
	{device.ECCUncorrected, device.ECCUncorrectedAt, nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC},
	{device.ECCCorrectedLifetime, device.ECCCorrectedLifetimeAt, nvml.MEMORY_ERROR_TYPE_CORRECTED, nvml.AGGREGATE_ECC},
	{device.ECCUncorrectedLifetime, device.ECCUncorrectedLifetimeAt, nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.AGGREGATE_ECC},
}

// eccPlaces are NVML's names for device.ECCLocations, which are in the same order.
var eccPlaces = [len(device.ECCLocations)]nvml.MemoryLocation{
	nvml.MEMORY_LOCATION_L1_CACHE, nvml.MEMORY_LOCATION_L2_CACHE, nvml.MEMORY_LOCATION_DEVICE_MEMORY,
	nvml.MEMORY_LOCATION_REGISTER_FILE, nvml.MEMORY_LOCATION_TEXTURE_MEMORY, nvml.MEMORY_LOCATION_TEXTURE_SHM,
	nvml.MEMORY_LOCATION_CBU, nvml.MEMORY_LOCATION_SRAM,
}

// readECC reads the counts that no field told.
func (b *board) readECC(_ context.Context, groups device.Groups, into *device.Sample) {
	v := &into.Values[0]
	if groups.Has(device.GroupECC) {
		for i, c := range eccCounts {
			if v[c.total].State == gpu.NotSupported {
				v[c.total] = number(b, callECCTotal, slotECCTotal+slot(i), 1, func() (uint64, nvml.Return) {
					return b.handle.GetTotalEccErrors(c.kind, c.since)
				})
			}
		}
	}
	if !groups.Has(device.GroupECCLocations) {
		return
	}
	b.readSRAM(v)
	for i, c := range eccCounts {
		for j, place := range eccPlaces {
			m := c.place.At(j)
			if v[m].State == gpu.NotSupported {
				v[m] = number(b, callECCLocation, slotECC+slot(i*len(eccPlaces)+j), 1, func() (uint64, nvml.Return) {
					return b.handle.GetMemoryErrorCounter(c.kind, c.since, place)
				})
			}
		}
	}
}

// readSRAM reads the errors of the SRAM, which newer boards tell apart by how they were found.
func (b *board) readSRAM(v *device.Values) {
	const sram = len(device.ECCLocations) - 1
	var s nvml.EccSramErrorStatus
	state := b.call(callSRAM, func() (ret nvml.Return) {
		s, ret = b.handle.GetSramEccErrorStatus()
		return ret
	})
	counts := [numECCCounts]uint64{
		s.VolatileCor, s.VolatileUncParity + s.VolatileUncSecDed, s.AggregateCor, s.AggregateUncParity + s.AggregateUncSecDed,
	}
	for i, c := range eccCounts {
		if m := c.place.At(sram); state == gpu.OK {
			v.Set(m, float64(counts[i]))
		} else {
			v[m] = gpu.Absent(state)
		}
	}
}
