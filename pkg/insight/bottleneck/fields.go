package bottleneck

import "github.com/warpwatch/warpwatch/pkg/insight"

// column is one of the fields that gates read.
type column int

const (
	smActive column = iota
	graphicsActive
	utilization
	tensorActive
	dramActive
	occupancy
	smClock
	smClockMax
	reasons
	thermalSeconds
	softThermalSeconds
	hardThermalSeconds
	brakeSeconds
	capSeconds
	memUsed
	memFree
	memTotal
	memReserved
	memRatio
	pcieReceive
	pcieReceiveTotal
	pcieTransmit
	pcieTransmitTotal
	linkGenerationMax
	linkWidthMax
	nvlinkTransmit
	nvlinkReceive
	nvlinkThroughput
	power
	powerLimit
	smLowest
	smHighest
	columns
)

// source is where a column comes from, and the largest value that can be. Larger and negative ones are sentinels and count
// as absent.
type source struct {
	field insight.Field
	most  float64
}

func sources() [columns]source {
	ratio := func(name string) source { return source{insight.Field{Metric: name}, 1.1} }
	rate := func(name string) source { return source{insight.Field{Metric: name}, 2} }
	number := func(name string, most float64) source { return source{insight.Field{Metric: name}, most} }
	const bytes, perSecond, hertz, watts = 1.8e13, 1e13, 1e11, 1e5
	return [columns]source{
		smActive:           ratio("gpu_sm_active_ratio"),
		graphicsActive:     ratio("gpu_graphics_engine_active_ratio"),
		utilization:        ratio("gpu_utilization_ratio"),
		tensorActive:       ratio("gpu_tensor_active_ratio"),
		dramActive:         ratio("gpu_dram_active_ratio"),
		occupancy:          ratio("gpu_sm_occupancy_ratio"),
		smClock:            number("gpu_sm_clock_hertz", hertz),
		smClockMax:         number("gpu_sm_clock_max_hertz", hertz),
		reasons:            number("gpu_clock_event_reasons", 0x7fffffee),
		thermalSeconds:     rate("gpu_throttle_thermal_seconds_total"),
		softThermalSeconds: rate("gpu_throttle_software_thermal_seconds_total"),
		hardThermalSeconds: rate("gpu_throttle_hardware_thermal_seconds_total"),
		brakeSeconds:       rate("gpu_throttle_power_brake_seconds_total"),
		capSeconds:         rate("gpu_throttle_power_seconds_total"),
		memUsed:            number("gpu_memory_used_bytes", bytes),
		memFree:            number("gpu_memory_free_bytes", bytes),
		memTotal:           number("gpu_memory_total_bytes", bytes),
		memReserved:        number("gpu_memory_reserved_bytes", bytes),
		memRatio:           ratio("gpu_memory_used_ratio"),
		pcieReceive:        number("gpu_pcie_receive_bytes_per_second", perSecond),
		pcieReceiveTotal:   number("gpu_pcie_receive_bytes_total", perSecond),
		pcieTransmit:       number("gpu_pcie_transmit_bytes_per_second", perSecond),
		pcieTransmitTotal:  number("gpu_pcie_transmit_bytes_total", perSecond),
		linkGenerationMax:  number("gpu_pcie_link_generation_max", 10),
		linkWidthMax:       number("gpu_pcie_link_width_max", 32),
		nvlinkTransmit:     number("gpu_nvlink_transmit_bytes_per_second", perSecond),
		nvlinkReceive:      number("gpu_nvlink_receive_bytes_per_second", perSecond),
		nvlinkThroughput:   number("gpu_nvlink_throughput_bytes_per_second", perSecond),
		power:              number("gpu_power_watts", watts),
		powerLimit:         number("gpu_power_limit_watts", watts),
		smLowest:           {insight.Field{Metric: "gpu_sm_active_ratio", Of: insight.Min}, 1.1},
		smHighest:          {insight.Field{Metric: "gpu_sm_active_ratio", Of: insight.Max}, 1.1},
	}
}

// Fields are what Judge reads of devices, those that matter most first.
func Fields() []insight.Field {
	var fields []insight.Field
	for _, s := range sources() {
		fields = append(fields, s.field)
	}
	return fields
}

// workColumn is one of the fields that gates read of workloads.
type workColumn int

const (
	stepSeconds workColumn = iota
	dataSeconds
	commSeconds
	allocRetries
	oomKills
	kvCacheUsed
	preemptions
	workColumns
)

func workSources() [workColumns]source {
	number := func(name string) source { return source{insight.Field{Metric: name}, 1e9} }
	return [workColumns]source{
		stepSeconds:  number("train_step_seconds"),
		dataSeconds:  number("train_data_load_seconds"),
		commSeconds:  number("train_allreduce_seconds"),
		allocRetries: number("train_alloc_retries_total"),
		oomKills:     number("train_ooms_total"),
		kvCacheUsed:  {insight.Field{Metric: "serve_kv_cache_ratio"}, 1.1},
		preemptions:  number("serve_preemptions_total"),
	}
}

// WorkloadFields are what Judge reads of workloads.
func WorkloadFields() []insight.Field {
	var fields []insight.Field
	for _, s := range workSources() {
		fields = append(fields, s.field)
	}
	return fields
}

// needs are the metrics that a judgement would have liked, a bit each.
type needs uint32

const (
	needSM needs = 1 << iota
	needGraphics
	needTensor
	needDRAM
	needOccupancy
	needClock
	needClockMax
	needReasons
	needMemory
	needPCIe
	needNVLink
	needPower
	needStep
	needData
	needComm
)

func (n needs) names() []string {
	all := [...]string{
		"gpu_sm_active_ratio", "gpu_graphics_engine_active_ratio", "gpu_tensor_active_ratio", "gpu_dram_active_ratio",
		"gpu_sm_occupancy_ratio", "gpu_sm_clock_hertz", "gpu_sm_clock_max_hertz", "gpu_clock_event_reasons",
		"gpu_memory_used_bytes", "gpu_pcie_receive_bytes_per_second", "gpu_nvlink_receive_bytes_per_second", "gpu_power_watts",
		"train_step_seconds", "train_data_load_seconds", "train_allreduce_seconds",
	}
	var missing []string
	for i, name := range all {
		if n&(1<<i) != 0 {
			missing = append(missing, name)
		}
	}
	return missing
}
