package device

import "github.com/warpwatch/warpwatch/pkg/gpu"

// Metric is one of the canonical metrics that are measured per device. The catalogue (pkg/catalog) says what each means.
type Metric uint8

// The metrics, in the order in which the agent publishes them.
const (
	Utilization Metric = iota
	MemoryUtilization
	EncoderUtilization
	DecoderUtilization

	GraphicsEngineActive
	SMActive
	SMOccupancy
	TensorActive
	DRAMActive

	MemoryTotal
	MemoryUsed
	MemoryFree
	MemoryReserved

	Power
	PowerInstant
	PowerLimit
	Energy

	Temperature
	MemoryTemperature
	TemperatureMargin

	SMClock
	MemoryClock
	SMClockMax
	ClockEventReasons
	PerformanceState

	ThrottlePower
	ThrottleThermal

	PCIeTransmit
	PCIeReceive
	NVLinkTransmit
	NVLinkReceive
	PCIeReplayErrors
	PCIeLinkGeneration
	PCIeLinkWidth

	ECCCorrected
	ECCUncorrected
	RemappedRowsCorrectable
	RemappedRowsUncorrectable
	RowRemapPending
	RowRemapFailure
	RecoveryAction
	XIDLast

	FanSpeed

	NumMetrics
)

var metricNames = [NumMetrics]string{
	Utilization: "gpu_utilization_ratio", MemoryUtilization: "gpu_memory_utilization_ratio",
	EncoderUtilization: "gpu_encoder_utilization_ratio", DecoderUtilization: "gpu_decoder_utilization_ratio",

	GraphicsEngineActive: "gpu_graphics_engine_active_ratio", SMActive: "gpu_sm_active_ratio",
	SMOccupancy: "gpu_sm_occupancy_ratio", TensorActive: "gpu_tensor_active_ratio", DRAMActive: "gpu_dram_active_ratio",

	MemoryTotal: "gpu_memory_total_bytes", MemoryUsed: "gpu_memory_used_bytes", MemoryFree: "gpu_memory_free_bytes",
	MemoryReserved: "gpu_memory_reserved_bytes",

	Power: "gpu_power_watts", PowerInstant: "gpu_power_instant_watts", PowerLimit: "gpu_power_limit_watts",
	Energy: "gpu_energy_joules_total",

	Temperature: "gpu_temperature_celsius", MemoryTemperature: "gpu_memory_temperature_celsius",
	TemperatureMargin: "gpu_temperature_margin_celsius",

	SMClock: "gpu_sm_clock_hertz", MemoryClock: "gpu_memory_clock_hertz", SMClockMax: "gpu_sm_clock_max_hertz",
	ClockEventReasons: "gpu_clock_event_reasons", PerformanceState: "gpu_performance_state",

	ThrottlePower: "gpu_throttle_power_seconds_total", ThrottleThermal: "gpu_throttle_thermal_seconds_total",

	PCIeTransmit: "gpu_pcie_transmit_bytes_per_second", PCIeReceive: "gpu_pcie_receive_bytes_per_second",
	NVLinkTransmit: "gpu_nvlink_transmit_bytes_per_second", NVLinkReceive: "gpu_nvlink_receive_bytes_per_second",
	PCIeReplayErrors: "gpu_pcie_replay_errors_total", PCIeLinkGeneration: "gpu_pcie_link_generation",
	PCIeLinkWidth: "gpu_pcie_link_width",

	ECCCorrected: "gpu_ecc_corrected_errors_total", ECCUncorrected: "gpu_ecc_uncorrected_errors_total",
	RemappedRowsCorrectable:   "gpu_remapped_rows_correctable_total",
	RemappedRowsUncorrectable: "gpu_remapped_rows_uncorrectable_total",
	RowRemapPending:           "gpu_row_remap_pending", RowRemapFailure: "gpu_row_remap_failure",
	RecoveryAction: "gpu_recovery_action", XIDLast: "gpu_xid_last",

	FanSpeed: "gpu_fan_speed_ratio",
}

// String is the canonical name.
func (m Metric) String() string {
	if m >= NumMetrics {
		return "unknown metric"
	}
	return metricNames[m]
}

// PerInstance reports whether the metric is measured on a MIG instance too. The others are facts of the board.
func (m Metric) PerInstance() bool { return m >= GraphicsEngineActive && m <= MemoryReserved }

// Values are the readings of one device, indexed by Metric, in canonical units.
type Values [NumMetrics]gpu.Reading

// Fill sets every reading to absent, for one reason.
func (v *Values) Fill(why gpu.State) {
	for i := range v {
		v[i] = gpu.Absent(why)
	}
}

// Set stores a value that was measured.
func (v *Values) Set(m Metric, value float64) { v[m] = gpu.Read(value) }
