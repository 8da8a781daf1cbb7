package health

import (
	"math"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// column is one of the fields that a judgement reads.
type column int

const (
	temperature column = iota
	power
	utilization
	graphicsActive
	smActive
	memoryUsed
	recovery
	xidLast
	xidRise
	uncorrected
	corrected
	remapPending
	remapFailure
	remappedUncorrectable
	remappedRise
	remappedCorrectableRise
	retiredSingle
	retiredDouble
	retiredPending
	sramThreshold
	unrepairable
	replay
	generation
	generationMax
	width
	widthMax
	nvlinkReplay
	nvlinkRecovery
	nvlinkCRC
	nvlinkMalformed
	nvlinkReceive
	nvlinkOverruns
	nvlinkIntegrity
	nvlinkRecovered
	nvlinkUnrecovered
	nvlinkEffective
	nvlinkECC
	nvlinks
	nvlinksActive
	fabricState
	fabricStatus
	fabricHealth
	margin
	memoryTemperature
	slowdownTemperature
	reasonBits
	reasonAnyBits
	thermalShare
	hardwareThermalShare
	softwareThermalShare
	powerShare
	licence
	dcgmHealth
	columns // how many there are
)

// fieldList are the fields in the order of column.
func fieldList() [columns]insight.Field {
	plain := func(metric string) insight.Field { return insight.Field{Metric: metric} }
	rise := func(metric string) insight.Field { return insight.Field{Metric: metric, Of: insight.Rise} }
	return [columns]insight.Field{
		temperature: plain("gpu_temperature_celsius"), power: plain("gpu_power_watts"),
		utilization: plain("gpu_utilization_ratio"), graphicsActive: plain("gpu_graphics_engine_active_ratio"),
		smActive: plain("gpu_sm_active_ratio"), memoryUsed: plain("gpu_memory_used_bytes"),
		recovery: plain("gpu_recovery_action"), xidLast: plain("gpu_xid_last"), xidRise: rise("gpu_xid_errors_total"),
		uncorrected: rise("gpu_ecc_uncorrected_errors_total"), corrected: rise("gpu_ecc_corrected_errors_total"),
		remapPending: plain("gpu_row_remap_pending"), remapFailure: plain("gpu_row_remap_failure"),
		remappedUncorrectable:   {Metric: "gpu_remapped_rows_uncorrectable_total", Of: insight.Total},
		remappedRise:            rise("gpu_remapped_rows_uncorrectable_total"),
		remappedCorrectableRise: rise("gpu_remapped_rows_correctable_total"),
		retiredSingle:           plain("gpu_retired_pages_single_bit"), retiredDouble: plain("gpu_retired_pages_double_bit"),
		retiredPending: plain("gpu_retired_pages_pending"), sramThreshold: plain("gpu_ecc_sram_threshold_exceeded"),
		unrepairable: plain("gpu_memory_unrepairable"),
		replay:       rise("gpu_pcie_replay_errors_total"), generation: {Metric: "gpu_pcie_link_generation", Of: insight.Max},
		generationMax: plain("gpu_pcie_link_generation_max"), width: plain("gpu_pcie_link_width"), widthMax: plain("gpu_pcie_link_width_max"),
		nvlinkReplay: rise("gpu_nvlink_replay_errors_total"), nvlinkRecovery: rise("gpu_nvlink_recovery_errors_total"),
		nvlinkCRC: plain("gpu_nvlink_crc_errors_total"), nvlinkMalformed: rise("gpu_nvlink_malformed_packets_total"),
		nvlinkReceive: rise("gpu_nvlink_receive_errors_total"), nvlinkOverruns: rise("gpu_nvlink_buffer_overruns_total"),
		nvlinkIntegrity: rise("gpu_nvlink_integrity_errors_total"), nvlinkRecovered: rise("gpu_nvlink_recoveries_total"),
		nvlinkUnrecovered: rise("gpu_nvlink_recovery_failures_total"), nvlinkEffective: rise("gpu_nvlink_effective_errors_total"),
		nvlinkECC: rise("gpu_nvlink_ecc_errors_total"),
		nvlinks:   plain("gpu_nvlink_links"), nvlinksActive: plain("gpu_nvlink_links_active"),
		fabricState: plain("gpu_fabric_state"), fabricStatus: plain("gpu_fabric_status"), fabricHealth: plain("gpu_fabric_health"),
		margin: plain("gpu_temperature_margin_celsius"), memoryTemperature: plain("gpu_memory_temperature_celsius"),
		slowdownTemperature: plain("gpu_temperature_slowdown_celsius"),
		reasonBits:          plain("gpu_clock_event_reasons"), reasonAnyBits: {Metric: "gpu_clock_event_reasons", Of: insight.AnyBits},
		thermalShare:         plain("gpu_throttle_thermal_seconds_total"),
		hardwareThermalShare: plain("gpu_throttle_hardware_thermal_seconds_total"),
		softwareThermalShare: plain("gpu_throttle_software_thermal_seconds_total"),
		powerShare:           plain("gpu_throttle_power_seconds_total"),
		licence:              plain("gpu_vgpu_license_status"), dcgmHealth: plain("gpu_health_status"),
	}
}

// Fields are what [Judge] reads of a grid, the ones that decide most first. Each may be absent.
func Fields() []insight.Field {
	all := fieldList()
	return all[:]
}

// needed are the metrics without which a kind of fault stays unseen, each with what may stand in for it. They are those
// that answers list as missing.
func needed() [][]column {
	return [][]column{
		{recovery}, {uncorrected}, {corrected}, {remapFailure, retiredDouble}, {remapPending, retiredPending},
		{replay}, {generation}, {width}, {nvlinksActive}, {nvlinkReplay, nvlinkMalformed}, {nvlinkCRC, nvlinkEffective}, {fabricState},
		{margin, slowdownTemperature}, {memoryTemperature}, {reasonBits, reasonAnyBits}, {thermalShare, hardwareThermalShare},
		{utilization, graphicsActive, smActive}, {temperature}, {power},
	}
}

// excused are those of needed that a model does not have: to miss them is no loss.
func excused(groups [][]column, m *ofModel, mig bool) uint64 {
	var mask uint64
	for i, group := range groups {
		switch group[0] {
		case nvlinksActive, nvlinkReplay, nvlinkCRC, fabricState:
			if mig || (m.known && m.nvlinks == 0) {
				mask |= 1 << i
			}
		case memoryTemperature:
			if !m.hasMemory {
				mask |= 1 << i
			}
		}
	}
	return mask
}

// alive are the columns that every GPU that answers has some of. Those that keep old values are not among them.
func alive() []column {
	return []column{temperature, power, utilization, memoryUsed, graphicsActive, smActive, reasonBits, margin}
}

// board is a physical GPU with its rows in the grid: its own, and those of its MIG instances.
type board struct {
	*pass
	rows   []int // its own first when it is there
	values [columns][]float64
	model  *ofModel
	seen   int // last step in which anything was measured, -1 for none
	busy   []float64

	reasons []insight.Reason
	xids    []occurrence
	known   uint64 // which of needed was measured
	id      gpu.Identity
}

// load looks up what was measured. Boards may share one struct, one after the other.
func (b *board) load(rows []int) {
	b.rows, b.reasons, b.xids, b.busy, b.seen, b.known = rows, nil, nil, nil, -1, 0
	for c := range columns {
		b.values[c] = nil
		for _, row := range rows {
			if column := b.columns[c]; column != nil && column[row] != nil {
				b.values[c] = column[row]
				break
			}
		}
	}
	for _, c := range b.alive {
		if _, at := last(b.values[c]); at > b.seen {
			b.seen = at
		}
	}
	for i, group := range b.needed {
		for _, c := range group {
			if b.values[c] != nil {
				b.known |= 1 << i
				break
			}
		}
	}
	b.busy = b.activity()
	b.model = b.pass.model(b.device().Model)
	b.id = b.device().Parent()
}

// device is the subject that stands for the board.
func (b *board) device() *insight.Subject { return &b.grid.Subjects[b.rows[0]] }

// activity is how busy the board was, the busiest of its MIG instances where there are several.
func (b *board) activity() []float64 {
	for _, c := range []column{smActive, graphicsActive, utilization} {
		column := b.columns[c]
		if column == nil {
			continue
		}
		var busiest []float64
		copied := false
		for _, row := range b.rows {
			switch values := column[row]; {
			case values == nil:
			case busiest == nil:
				busiest = values
			default:
				if !copied {
					busiest, copied = append([]float64(nil), busiest...), true
				}
				for i, v := range values {
					if v > busiest[i] || math.IsNaN(busiest[i]) {
						busiest[i] = v
					}
				}
			}
		}
		if busiest != nil {
			return busiest
		}
	}
	return nil
}

// at is the last value of a column.
func (b *board) at(c column) (float64, bool) {
	v, i := last(b.values[c])
	return v, i >= 0
}
