package device

import "github.com/warpwatch/warpwatch/pkg/gpu"

// Metric is one of the canonical metrics that are measured per device, or one label value of such a metric: see variant.go.
// The catalogue (pkg/catalog) says what each means.
type Metric uint16

// The metrics, in the order in which the agent publishes them. The metrics of a group stand together.
const (
	Utilization Metric = iota
	MemoryUtilization

	EncoderUtilization
	DecoderUtilization
	JPEGUtilization
	OFAUtilization

	GraphicsEngineActive
	SMActive
	SMOccupancy
	TensorActive
	DRAMActive

	TensorDFMAActive
	TensorHMMAActive
	TensorIMMAActive
	FP64Active
	FP32Active
	FP16Active
	IntegerActive

	MemoryTotal
	MemoryUsed
	MemoryFree
	MemoryReserved

	BAR1Total
	BAR1Used
	BAR1Free

	Processes

	Power
	PowerInstant
	Energy

	ModulePower
	MemoryPower

	PowerLimit
	PowerLimitRequested
	PowerLimitDefault
	PowerLimitMin
	PowerLimitMax

	Temperature
	MemoryTemperature
	TemperatureMargin

	TemperatureSlowdown
	TemperatureShutdown
	TemperatureMaxOperating
	MemoryTemperatureMaxOperating
	MarginSlowdown
	MarginShutdown
	MarginMaxOperating
	MemoryMarginMaxOperating

	SMClock
	MemoryClock
	GraphicsClock
	VideoClock
	ClockEventReasons
	PerformanceState

	SMClockMax
	MemoryClockMax
	GraphicsClockMax
	VideoClockMax
	SMClockApplication
	MemoryClockApplication
	ClockEventReasonsSupported

	ThrottlePower
	ThrottleThermal
	ThrottleSyncBoost
	ThrottleBoardLimit
	ThrottleLowUtilization
	ThrottleReliability
	ThrottleApplicationClocks
	ThrottleBaseClocks
	ThrottleSoftwareThermal
	ThrottleHardwareThermal
	ThrottlePowerBrake

	PCIeTransmit
	PCIeReceive

	PCIeLinkGeneration
	PCIeLinkWidth
	PCIeLinkGenerationMax
	PCIeLinkWidthMax
	PCIeReplayErrors
	PCIeCorrectableErrors
	PCIeNonFatalErrors
	PCIeFatalErrors
	PCIeRecoveries

	NVLinkTransmit
	NVLinkReceive

	NVLinkLinks
	NVLinkLinksActive
	NVLinkCRCErrors
	NVLinkReplayErrors
	NVLinkRecoveryErrors
	NVLinkECCErrors
	NVLinkMalformedPackets
	NVLinkReceiveErrors
	NVLinkTransmitDiscards
	NVLinkBufferOverruns
	NVLinkIntegrityErrors
	NVLinkRecoveries
	NVLinkRecoveryFailures
	NVLinkEffectiveErrors
	NVLinkSymbolErrors

	ECCCorrected
	ECCUncorrected
	ECCCorrectedLifetime
	ECCUncorrectedLifetime

	RemappedRowsCorrectable
	RemappedRowsUncorrectable
	RowRemapPending
	RowRemapFailure
	RetiredPagesSingleBit
	RetiredPagesDoubleBit
	RetiredPagesPending

	RecoveryAction
	SRAMThresholdExceeded
	MemoryUnrepairable
	XIDLast

	FabricState
	FabricStatus
	FabricHealth

	PersistenceMode
	ComputeMode
	ECCMode
	ECCModePending
	MIGMode
	MIGModePending
	ConfidentialCompute

	FanSpeed

	C2CLinks
	C2CLinksActive
	C2CBandwidthMax
	C2CErrors
	C2CReplayErrors

	numScalars
)

// scalars are the metrics without labels of their own.
var scalars = [numScalars]struct {
	name  string
	group Group
}{
	Utilization:       {"gpu_utilization_ratio", GroupUtilization},
	MemoryUtilization: {"gpu_memory_utilization_ratio", GroupUtilization},

	EncoderUtilization: {"gpu_encoder_utilization_ratio", GroupEngines},
	DecoderUtilization: {"gpu_decoder_utilization_ratio", GroupEngines},
	JPEGUtilization:    {"gpu_jpeg_utilization_ratio", GroupEngines},
	OFAUtilization:     {"gpu_ofa_utilization_ratio", GroupEngines},

	GraphicsEngineActive: {"gpu_graphics_engine_active_ratio", GroupProfiling},
	SMActive:             {"gpu_sm_active_ratio", GroupProfiling},
	SMOccupancy:          {"gpu_sm_occupancy_ratio", GroupProfiling},
	TensorActive:         {"gpu_tensor_active_ratio", GroupProfiling},
	DRAMActive:           {"gpu_dram_active_ratio", GroupProfiling},

	TensorDFMAActive: {"gpu_tensor_dfma_active_ratio", GroupPipes},
	TensorHMMAActive: {"gpu_tensor_hmma_active_ratio", GroupPipes},
	TensorIMMAActive: {"gpu_tensor_imma_active_ratio", GroupPipes},
	FP64Active:       {"gpu_fp64_active_ratio", GroupPipes},
	FP32Active:       {"gpu_fp32_active_ratio", GroupPipes},
	FP16Active:       {"gpu_fp16_active_ratio", GroupPipes},
	IntegerActive:    {"gpu_integer_active_ratio", GroupPipes},

	MemoryTotal:    {"gpu_memory_total_bytes", GroupMemory},
	MemoryUsed:     {"gpu_memory_used_bytes", GroupMemory},
	MemoryFree:     {"gpu_memory_free_bytes", GroupMemory},
	MemoryReserved: {"gpu_memory_reserved_bytes", GroupMemory},

	BAR1Total: {"gpu_bar1_total_bytes", GroupBAR1},
	BAR1Used:  {"gpu_bar1_used_bytes", GroupBAR1},
	BAR1Free:  {"gpu_bar1_free_bytes", GroupBAR1},

	Processes: {"gpu_processes", GroupProcesses},

	Power:        {"gpu_power_watts", GroupPower},
	PowerInstant: {"gpu_power_instant_watts", GroupPower},
	Energy:       {"gpu_energy_joules_total", GroupPower},

	ModulePower: {"gpu_module_power_watts", GroupModulePower},
	MemoryPower: {"gpu_memory_power_watts", GroupModulePower},

	PowerLimit:          {"gpu_power_limit_watts", GroupLimits},
	PowerLimitRequested: {"gpu_power_limit_requested_watts", GroupLimits},
	PowerLimitDefault:   {"gpu_power_limit_default_watts", GroupLimits},
	PowerLimitMin:       {"gpu_power_limit_min_watts", GroupLimits},
	PowerLimitMax:       {"gpu_power_limit_max_watts", GroupLimits},

	Temperature:       {"gpu_temperature_celsius", GroupTemperature},
	MemoryTemperature: {"gpu_memory_temperature_celsius", GroupTemperature},
	TemperatureMargin: {"gpu_temperature_margin_celsius", GroupTemperature},

	TemperatureSlowdown:           {"gpu_temperature_slowdown_celsius", GroupThresholds},
	TemperatureShutdown:           {"gpu_temperature_shutdown_celsius", GroupThresholds},
	TemperatureMaxOperating:       {"gpu_temperature_max_operating_celsius", GroupThresholds},
	MemoryTemperatureMaxOperating: {"gpu_memory_temperature_max_operating_celsius", GroupThresholds},
	MarginSlowdown:                {"gpu_temperature_margin_slowdown_celsius", GroupThresholds},
	MarginShutdown:                {"gpu_temperature_margin_shutdown_celsius", GroupThresholds},
	MarginMaxOperating:            {"gpu_temperature_margin_max_operating_celsius", GroupThresholds},
	MemoryMarginMaxOperating:      {"gpu_memory_temperature_margin_max_operating_celsius", GroupThresholds},

	SMClock:           {"gpu_sm_clock_hertz", GroupClocks},
	MemoryClock:       {"gpu_memory_clock_hertz", GroupClocks},
	GraphicsClock:     {"gpu_graphics_clock_hertz", GroupClocks},
	VideoClock:        {"gpu_video_clock_hertz", GroupClocks},
	ClockEventReasons: {"gpu_clock_event_reasons", GroupClocks},
	PerformanceState:  {"gpu_performance_state", GroupClocks},

	SMClockMax:                 {"gpu_sm_clock_max_hertz", GroupClockLimits},
	MemoryClockMax:             {"gpu_memory_clock_max_hertz", GroupClockLimits},
	GraphicsClockMax:           {"gpu_graphics_clock_max_hertz", GroupClockLimits},
	VideoClockMax:              {"gpu_video_clock_max_hertz", GroupClockLimits},
	SMClockApplication:         {"gpu_sm_clock_application_hertz", GroupClockLimits},
	MemoryClockApplication:     {"gpu_memory_clock_application_hertz", GroupClockLimits},
	ClockEventReasonsSupported: {"gpu_clock_event_reasons_supported", GroupClockLimits},

	ThrottlePower:             {"gpu_throttle_power_seconds_total", GroupThrottling},
	ThrottleThermal:           {"gpu_throttle_thermal_seconds_total", GroupThrottling},
	ThrottleSyncBoost:         {"gpu_throttle_sync_boost_seconds_total", GroupThrottling},
	ThrottleBoardLimit:        {"gpu_throttle_board_limit_seconds_total", GroupThrottling},
	ThrottleLowUtilization:    {"gpu_throttle_low_utilization_seconds_total", GroupThrottling},
	ThrottleReliability:       {"gpu_throttle_reliability_seconds_total", GroupThrottling},
	ThrottleApplicationClocks: {"gpu_throttle_application_clocks_seconds_total", GroupThrottling},
	ThrottleBaseClocks:        {"gpu_throttle_base_clocks_seconds_total", GroupThrottling},
	ThrottleSoftwareThermal:   {"gpu_throttle_software_thermal_seconds_total", GroupThrottling},
	ThrottleHardwareThermal:   {"gpu_throttle_hardware_thermal_seconds_total", GroupThrottling},
	ThrottlePowerBrake:        {"gpu_throttle_power_brake_seconds_total", GroupThrottling},

	PCIeTransmit: {"gpu_pcie_transmit_bytes_per_second", GroupPCIe},
	PCIeReceive:  {"gpu_pcie_receive_bytes_per_second", GroupPCIe},

	PCIeLinkGeneration:    {"gpu_pcie_link_generation", GroupPCIeLink},
	PCIeLinkWidth:         {"gpu_pcie_link_width", GroupPCIeLink},
	PCIeLinkGenerationMax: {"gpu_pcie_link_generation_max", GroupPCIeLink},
	PCIeLinkWidthMax:      {"gpu_pcie_link_width_max", GroupPCIeLink},
	PCIeReplayErrors:      {"gpu_pcie_replay_errors_total", GroupPCIeLink},
	PCIeCorrectableErrors: {"gpu_pcie_correctable_errors_total", GroupPCIeLink},
	PCIeNonFatalErrors:    {"gpu_pcie_non_fatal_errors_total", GroupPCIeLink},
	PCIeFatalErrors:       {"gpu_pcie_fatal_errors_total", GroupPCIeLink},
	PCIeRecoveries:        {"gpu_pcie_link_recoveries_total", GroupPCIeLink},

	NVLinkTransmit: {"gpu_nvlink_transmit_bytes_per_second", GroupNVLink},
	NVLinkReceive:  {"gpu_nvlink_receive_bytes_per_second", GroupNVLink},

	NVLinkLinks:            {"gpu_nvlink_links", GroupNVLinkState},
	NVLinkLinksActive:      {"gpu_nvlink_links_active", GroupNVLinkState},
	NVLinkCRCErrors:        {"gpu_nvlink_crc_errors_total", GroupNVLinkState},
	NVLinkReplayErrors:     {"gpu_nvlink_replay_errors_total", GroupNVLinkState},
	NVLinkRecoveryErrors:   {"gpu_nvlink_recovery_errors_total", GroupNVLinkState},
	NVLinkECCErrors:        {"gpu_nvlink_ecc_errors_total", GroupNVLinkState},
	NVLinkMalformedPackets: {"gpu_nvlink_malformed_packets_total", GroupNVLinkState},
	NVLinkReceiveErrors:    {"gpu_nvlink_receive_errors_total", GroupNVLinkState},
	NVLinkTransmitDiscards: {"gpu_nvlink_transmit_discards_total", GroupNVLinkState},
	NVLinkBufferOverruns:   {"gpu_nvlink_buffer_overruns_total", GroupNVLinkState},
	NVLinkIntegrityErrors:  {"gpu_nvlink_integrity_errors_total", GroupNVLinkState},
	NVLinkRecoveries:       {"gpu_nvlink_recoveries_total", GroupNVLinkState},
	NVLinkRecoveryFailures: {"gpu_nvlink_recovery_failures_total", GroupNVLinkState},
	NVLinkEffectiveErrors:  {"gpu_nvlink_effective_errors_total", GroupNVLinkState},
	NVLinkSymbolErrors:     {"gpu_nvlink_symbol_errors_total", GroupNVLinkState},

	ECCCorrected:           {"gpu_ecc_corrected_errors_total", GroupECC},
	ECCUncorrected:         {"gpu_ecc_uncorrected_errors_total", GroupECC},
	ECCCorrectedLifetime:   {"gpu_ecc_corrected_errors_lifetime_total", GroupECC},
	ECCUncorrectedLifetime: {"gpu_ecc_uncorrected_errors_lifetime_total", GroupECC},

	RemappedRowsCorrectable:   {"gpu_remapped_rows_correctable_total", GroupRemapping},
	RemappedRowsUncorrectable: {"gpu_remapped_rows_uncorrectable_total", GroupRemapping},
	RowRemapPending:           {"gpu_row_remap_pending", GroupRemapping},
	RowRemapFailure:           {"gpu_row_remap_failure", GroupRemapping},
	RetiredPagesSingleBit:     {"gpu_retired_pages_single_bit", GroupRemapping},
	RetiredPagesDoubleBit:     {"gpu_retired_pages_double_bit", GroupRemapping},
	RetiredPagesPending:       {"gpu_retired_pages_pending", GroupRemapping},

	RecoveryAction:        {"gpu_recovery_action", GroupHealth},
	SRAMThresholdExceeded: {"gpu_ecc_sram_threshold_exceeded", GroupHealth},
	MemoryUnrepairable:    {"gpu_memory_unrepairable", GroupHealth},
	XIDLast:               {"gpu_xid_last", GroupHealth},

	FabricState:  {"gpu_fabric_state", GroupFabric},
	FabricStatus: {"gpu_fabric_status", GroupFabric},
	FabricHealth: {"gpu_fabric_health", GroupFabric},

	PersistenceMode:     {"gpu_persistence_mode", GroupModes},
	ComputeMode:         {"gpu_compute_mode", GroupModes},
	ECCMode:             {"gpu_ecc_mode", GroupModes},
	ECCModePending:      {"gpu_ecc_mode_pending", GroupModes},
	MIGMode:             {"gpu_mig_mode", GroupModes},
	MIGModePending:      {"gpu_mig_mode_pending", GroupModes},
	ConfidentialCompute: {"gpu_confidential_compute", GroupModes},

	FanSpeed: {"gpu_fan_speed_ratio", GroupFan},

	C2CLinks:        {"gpu_c2c_links", GroupC2C},
	C2CLinksActive:  {"gpu_c2c_links_active", GroupC2C},
	C2CBandwidthMax: {"gpu_c2c_max_bytes_per_second", GroupC2C},
	C2CErrors:       {"gpu_c2c_errors_total", GroupC2C},
	C2CReplayErrors: {"gpu_c2c_replay_errors_total", GroupC2C},
}

// String is the canonical name, without the label of a variant.
func (m Metric) String() string {
	switch {
	case m < numScalars:
		return scalars[m].name
	case m < NumMetrics:
		return m.variants().name
	}
	return "unknown metric"
}

// Group is what the metric is selected and timed with.
func (m Metric) Group() Group {
	if m < numScalars {
		return scalars[m].group
	}
	return m.variants().group
}

// PerInstance reports whether the metric is measured on a MIG instance too. The others are facts of the board.
func (m Metric) PerInstance() bool { return m < NumMetrics && m.Group().PerInstance() }

// Values are the readings of one device, indexed by Metric, in canonical units.
type Values [NumMetrics]gpu.Reading

// Fill sets every reading to absent, for one reason.
func (v *Values) Fill(why gpu.State) {
	for i := range v {
		v[i] = gpu.Absent(why)
	}
}

// FillGroups sets the readings of some groups to absent, for one reason.
func (v *Values) FillGroups(groups Groups, why gpu.State) {
	for m := range NumMetrics {
		if groups.Has(m.Group()) {
			v[m] = gpu.Absent(why)
		}
	}
}

// Set stores a value that was measured.
func (v *Values) Set(m Metric, value float64) { v[m] = gpu.Read(value) }
