package gpu

import (
	"strconv"
	"strings"
)

// ClockEvents is NVML's bit mask of reasons why the clocks are not at their maximum (nvmlClocksEventReasons).
type ClockEvents uint64

// Bits of ClockEvents, as nvml.h numbers them.
const (
	GPUIdle             ClockEvents = 0x1
	ApplicationsClocks  ClockEvents = 0x2
	SWPowerCap          ClockEvents = 0x4
	HWSlowdown          ClockEvents = 0x8
	SyncBoost           ClockEvents = 0x10
	SWThermalSlowdown   ClockEvents = 0x20
	HWThermalSlowdown   ClockEvents = 0x40
	HWPowerBrake        ClockEvents = 0x80
	DisplayClockSetting ClockEvents = 0x100
	BoardLimit          ClockEvents = 0x200
	Reliability         ClockEvents = 0x400
)

var clockEventNames = [...]struct {
	bit  ClockEvents
	name string
}{
	{GPUIdle, "gpu_idle"},
	{ApplicationsClocks, "applications_clocks_setting"},
	{SWPowerCap, "sw_power_cap"},
	{HWSlowdown, "hw_slowdown"},
	{SyncBoost, "sync_boost"},
	{SWThermalSlowdown, "sw_thermal_slowdown"},
	{HWThermalSlowdown, "hw_thermal_slowdown"},
	{HWPowerBrake, "hw_power_brake"},
	{DisplayClockSetting, "display_clock_setting"},
	{BoardLimit, "board_limit"},
	{Reliability, "reliability"},
}

// Has reports whether all bits of mask are set.
func (e ClockEvents) Has(mask ClockEvents) bool { return e&mask == mask }

// String lists the reasons that are set, "none" for an empty mask; bits that have no name are shown in hexadecimal.
func (e ClockEvents) String() string {
	if e == 0 {
		return "none"
	}
	var names []string
	for _, known := range clockEventNames {
		if e.Has(known.bit) {
			names = append(names, known.name)
			e &^= known.bit
		}
	}
	if e != 0 {
		names = append(names, "unknown 0x"+strconv.FormatUint(uint64(e), 16))
	}
	return strings.Join(names, ", ")
}
