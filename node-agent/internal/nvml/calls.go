package nvml

import (
	"math"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// slot is what a board may turn out not to support: a call, or a call with one of its arguments.
type slot uint16

// The slots after those of whole calls: one for each argument.
const (
	slotClock     = slot(numCalls)
	slotMaxClock  = slotClock + slot(nvml.CLOCK_COUNT)
	slotAppClock  = slotMaxClock + slot(nvml.CLOCK_COUNT)
	slotThreshold = slotAppClock + slot(nvml.CLOCK_COUNT)
	slotViolation = slotThreshold + slot(nvml.TEMPERATURE_THRESHOLD_COUNT)
	slotSamples   = slotViolation + slot(nvml.PERF_POLICY_COUNT)
	slotLinkState = slotSamples + slot(len(samplings))
	slotECCTotal  = slotLinkState + maxLinks
	slotECC       = slotECCTotal + numECCCounts
	numSlots      = slotECC + numECCCounts*slot(nvml.MEMORY_LOCATION_COUNT)
)

// unsupported is what is known not to be supported. Asking again would be in vain as long as the driver stays open.
type unsupported [numSlots]bool

// try makes a call, unless it is known to be pointless. The value that f stores counts only when the state is OK.
func (b *board) try(c call, s slot, known *unsupported, f func() nvml.Return) gpu.State {
	switch {
	case b.lost != nvml.SUCCESS:
		return gpu.Lost
	case known[s]:
		return gpu.NotSupported
	case !b.lib.has(c):
		known[s] = true
		return gpu.NotSupported
	}
	ret := f()
	b.tally(ret)
	if isFinal(ret) {
		known[s] = true
		b.lib.log.Debug("The GPU does not support a call; it is not asked again", "gpu", b.name, "call", symbols[c][0],
			"answer", codeName(ret))
	}
	return stateOf(ret)
}

// call is try for a call of the board without arguments of its own.
func (b *board) call(c call, f func() nvml.Return) gpu.State {
	return b.try(c, slot(c), &b.unsupported, f)
}

// number reads one unsigned number, of which one unit is unit in the metric's. The largest number is NVML's way to say
// that there is none.
func number[T uint32 | uint64](b *board, c call, s slot, unit float64, f func() (T, nvml.Return)) gpu.Reading {
	var value T
	state := b.try(c, s, &b.unsupported, func() (ret nvml.Return) {
		value, ret = f()
		return ret
	})
	switch {
	case state != gpu.OK:
		return gpu.Absent(state)
	case value == ^T(0):
		return gpu.Absent(gpu.NoData)
	}
	return gpu.Read(scaled(float64(value), unit))
}

// scaled is a value in a metric's unit. Dividing by a whole number keeps 41 % from becoming 0.41000000000000003.
func scaled(value, unit float64) float64 {
	if unit < 1 {
		return value / math.Round(1/unit)
	}
	return value * unit
}

// enum reads one of NVML's enumerations, or a number that go-nvml gives as an int.
func enum[T ~int | ~int32](b *board, c call, f func() (T, nvml.Return)) gpu.Reading {
	return number(b, c, slot(c), 1, func() (uint32, nvml.Return) {
		value, ret := f()
		return uint32(value), ret
	})
}

// tally notes what an answer says about the whole board.
func (b *board) tally(ret nvml.Return) {
	switch {
	case isLost(ret):
		b.lost = ret
	case ret == nvml.ERROR_UNKNOWN:
		b.unknown++
	case ret == nvml.SUCCESS:
		b.answered++
	}
}
