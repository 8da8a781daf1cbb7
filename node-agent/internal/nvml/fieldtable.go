package nvml

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// maxLinks is how many NVLinks NVML knows at most. Only the first device.MaxNVLinks have metrics of their own.
const maxLinks = nvml.NVLINK_MAX_LINKS

// maxC2C bounds the links between GPU and CPU, whose number the driver says.
const maxC2C = 64

// one is the only alternative of an item, with one field of the whole board.
func one(id uint32) [][]fieldID { return [][]fieldID{{{id: id}}} }

// scoped is an item's fields in one scope, alternatives in order.
func scoped(scope uint32, ids ...uint32) [][]fieldID {
	from := make([][]fieldID, 0, len(ids))
	for _, id := range ids {
		from = append(from, []fieldID{{id: id, scope: scope}})
	}
	return from
}

// each is one field of every link.
func each(id uint32, links int) []fieldID {
	fields := make([]fieldID, 0, links)
	for link := range links {
		fields = append(fields, fieldID{id: id, scope: uint32(link)})
	}
	return fields
}

const (
	milli = 1e-3
	nano  = 1e-9
	mega  = 1e6
	kibi  = 1 << 10
	mebi  = 1 << 20
)

// boardItems are the fields that do not depend on how many links a board has.
var boardItems = []item{
	{metric: device.PowerInstant, unit: milli, from: scoped(nvml.POWER_SCOPE_GPU, nvml.FI_DEV_POWER_INSTANT)},
	{metric: device.Energy, unit: milli, from: one(nvml.FI_DEV_TOTAL_ENERGY_CONSUMPTION)},
	{metric: device.ModulePower, unit: milli, from: scoped(nvml.POWER_SCOPE_MODULE, nvml.FI_DEV_POWER_AVERAGE, nvml.FI_DEV_POWER_INSTANT)},
	{metric: device.MemoryPower, unit: milli, from: scoped(nvml.POWER_SCOPE_MEMORY, nvml.FI_DEV_POWER_AVERAGE, nvml.FI_DEV_POWER_INSTANT)},

	{metric: device.MemoryTemperature, unit: 1, how: low32 | zeroIsNone, from: one(nvml.FI_DEV_MEMORY_TEMP)},
	{metric: device.MarginShutdown, unit: 1, how: signed, from: one(nvml.FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT)},
	{metric: device.MarginSlowdown, unit: 1, how: signed, from: one(nvml.FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT)},
	{metric: device.MemoryMarginMaxOperating, unit: 1, how: signed, from: one(nvml.FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT)},
	{metric: device.MarginMaxOperating, unit: 1, how: signed, from: one(nvml.FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT)},

	{metric: device.ThrottlePower, unit: nano, from: one(nvml.FI_DEV_PERF_POLICY_POWER)},
	{metric: device.ThrottleThermal, unit: nano, from: one(nvml.FI_DEV_PERF_POLICY_THERMAL)},
	{metric: device.ThrottleSyncBoost, unit: nano, from: one(nvml.FI_DEV_PERF_POLICY_SYNC_BOOST)},
	{metric: device.ThrottleBoardLimit, unit: nano, from: one(nvml.FI_DEV_PERF_POLICY_BOARD_LIMIT)},
	{metric: device.ThrottleLowUtilization, unit: nano, from: one(nvml.FI_DEV_PERF_POLICY_LOW_UTILIZATION)},
	{metric: device.ThrottleReliability, unit: nano, from: one(nvml.FI_DEV_PERF_POLICY_RELIABILITY)},
	{metric: device.ThrottleApplicationClocks, unit: nano, from: one(nvml.FI_DEV_PERF_POLICY_TOTAL_APP_CLOCKS)},
	{metric: device.ThrottleBaseClocks, unit: nano, from: one(nvml.FI_DEV_PERF_POLICY_TOTAL_BASE_CLOCKS)},
	{metric: device.ThrottleSoftwareThermal, unit: nano, from: one(nvml.FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN)},
	{metric: device.ThrottleHardwareThermal, unit: nano, from: one(nvml.FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN)},
	{metric: device.ThrottlePowerBrake, unit: nano, from: one(nvml.FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN)},

	{metric: device.PCIeTransmit, unit: 1, how: perSecond | wraps, from: one(nvml.FI_DEV_PCIE_COUNT_TX_BYTES)},
	{metric: device.PCIeReceive, unit: 1, how: perSecond | wraps, from: one(nvml.FI_DEV_PCIE_COUNT_RX_BYTES)},
	{metric: device.PCIeReplayErrors, unit: 1, from: one(nvml.FI_DEV_PCIE_REPLAY_COUNTER)},
	{metric: device.PCIeCorrectableErrors, unit: 1, from: one(nvml.FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS)},
	{metric: device.PCIeNonFatalErrors, unit: 1, from: one(nvml.FI_DEV_PCIE_COUNT_NON_FATAL_ERROR)},
	{metric: device.PCIeFatalErrors, unit: 1, from: one(nvml.FI_DEV_PCIE_COUNT_FATAL_ERROR)},
	{metric: device.PCIeRecoveries, unit: 1, from: one(nvml.FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER)},

	{metric: device.ECCCorrected, unit: 1, from: one(nvml.FI_DEV_ECC_SBE_VOL_TOTAL)},
	{metric: device.ECCUncorrected, unit: 1, from: one(nvml.FI_DEV_ECC_DBE_VOL_TOTAL)},
	{metric: device.ECCCorrectedLifetime, unit: 1, from: one(nvml.FI_DEV_ECC_SBE_AGG_TOTAL)},
	{metric: device.ECCUncorrectedLifetime, unit: 1, from: one(nvml.FI_DEV_ECC_DBE_AGG_TOTAL)},

	{metric: device.RemappedRowsCorrectable, unit: 1, from: one(nvml.FI_DEV_REMAPPED_COR)},
	{metric: device.RemappedRowsUncorrectable, unit: 1, from: one(nvml.FI_DEV_REMAPPED_UNC)},
	{metric: device.RowRemapPending, unit: 1, from: one(nvml.FI_DEV_REMAPPED_PENDING)},
	{metric: device.RowRemapFailure, unit: 1, from: one(nvml.FI_DEV_REMAPPED_FAILURE)},
	{metric: device.RetiredPagesSingleBit, unit: 1, from: one(nvml.FI_DEV_RETIRED_SBE)},
	{metric: device.RetiredPagesDoubleBit, unit: 1, from: one(nvml.FI_DEV_RETIRED_DBE)},
	{metric: device.RetiredPagesPending, unit: 1, from: one(nvml.FI_DEV_RETIRED_PENDING)},

	{metric: device.RecoveryAction, unit: 1, from: one(nvml.FI_DEV_GET_GPU_RECOVERY_ACTION)},
}

// locationItems are the error counts by place that have fields. Shared memory and SRAM have not: see ecc.go.
func locationItems() []item {
	const l1, l2, memory, registers, texture, cbu = 0, 1, 2, 3, 4, 6
	var items []item
	add := func(first device.Metric, ids map[int]uint32) {
		for place := range device.ECCLocations {
			if id, ok := ids[place]; ok {
				items = append(items, item{metric: first.At(place), unit: 1, from: one(id)})
			}
		}
	}
	add(device.ECCCorrectedAt, map[int]uint32{
		l1: nvml.FI_DEV_ECC_SBE_VOL_L1, l2: nvml.FI_DEV_ECC_SBE_VOL_L2, memory: nvml.FI_DEV_ECC_SBE_VOL_DEV,
		registers: nvml.FI_DEV_ECC_SBE_VOL_REG, texture: nvml.FI_DEV_ECC_SBE_VOL_TEX,
	})
	add(device.ECCUncorrectedAt, map[int]uint32{
		l1: nvml.FI_DEV_ECC_DBE_VOL_L1, l2: nvml.FI_DEV_ECC_DBE_VOL_L2, memory: nvml.FI_DEV_ECC_DBE_VOL_DEV,
		registers: nvml.FI_DEV_ECC_DBE_VOL_REG, texture: nvml.FI_DEV_ECC_DBE_VOL_TEX, cbu: nvml.FI_DEV_ECC_DBE_VOL_CBU,
	})
	add(device.ECCCorrectedLifetimeAt, map[int]uint32{
		l1: nvml.FI_DEV_ECC_SBE_AGG_L1, l2: nvml.FI_DEV_ECC_SBE_AGG_L2, memory: nvml.FI_DEV_ECC_SBE_AGG_DEV,
		registers: nvml.FI_DEV_ECC_SBE_AGG_REG, texture: nvml.FI_DEV_ECC_SBE_AGG_TEX,
	})
	add(device.ECCUncorrectedLifetimeAt, map[int]uint32{
		l1: nvml.FI_DEV_ECC_DBE_AGG_L1, l2: nvml.FI_DEV_ECC_DBE_AGG_L2, memory: nvml.FI_DEV_ECC_DBE_AGG_DEV,
		registers: nvml.FI_DEV_ECC_DBE_AGG_REG, texture: nvml.FI_DEV_ECC_DBE_AGG_TEX, cbu: nvml.FI_DEV_ECC_DBE_AGG_CBU,
	})
	return items
}

// linkItems are the fields of a board with some NVLinks. Ampere and older have totals of their errors, Hopper a count for
// each link, NVLink 5 (Blackwell) others again, and counts bytes where the older ones count KiB.
func linkItems(links int) []item {
	all := func(id uint32) [][]fieldID { return [][]fieldID{each(id, links)} }
	total := func(metric device.Metric, old []uint32, link uint32) item {
		ids := make([]fieldID, 0, len(old))
		for _, id := range old {
			ids = append(ids, fieldID{id: id})
		}
		return item{metric: metric, unit: 1, from: [][]fieldID{ids, each(link, links)}}
	}
	items := []item{
		{metric: device.NVLinkLinksActive, unit: 1, how: linkUp, from: all(nvml.FI_DEV_NVLINK_GET_STATE)},
		{metric: device.NVLinkTransmit, unit: 1, how: perSecond, from: [][]fieldID{
			{{id: nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX, scope: allLinks, factor: kibi}}, each(nvml.FI_DEV_NVLINK_COUNT_XMIT_BYTES, links),
		}},
		{metric: device.NVLinkReceive, unit: 1, how: perSecond, from: [][]fieldID{
			{{id: nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_RX, scope: allLinks, factor: kibi}}, each(nvml.FI_DEV_NVLINK_COUNT_RCV_BYTES, links),
		}},
		total(device.NVLinkCRCErrors, []uint32{
			nvml.FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, nvml.FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL,
		}, nvml.FI_DEV_NVLINK_ERROR_DL_CRC),
		total(device.NVLinkReplayErrors, []uint32{nvml.FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL}, nvml.FI_DEV_NVLINK_ERROR_DL_REPLAY),
		total(device.NVLinkRecoveryErrors, []uint32{nvml.FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL}, nvml.FI_DEV_NVLINK_ERROR_DL_RECOVERY),
		{metric: device.NVLinkECCErrors, unit: 1, from: one(nvml.FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_TOTAL)},
	}
	for _, five := range [...]struct {
		metric device.Metric
		id     uint32
	}{
		{device.NVLinkMalformedPackets, nvml.FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS},
		{device.NVLinkReceiveErrors, nvml.FI_DEV_NVLINK_COUNT_RCV_ERRORS},
		{device.NVLinkTransmitDiscards, nvml.FI_DEV_NVLINK_COUNT_XMIT_DISCARDS},
		{device.NVLinkBufferOverruns, nvml.FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS},
		{device.NVLinkIntegrityErrors, nvml.FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS},
		{device.NVLinkRecoveries, nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS},
		{device.NVLinkRecoveryFailures, nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS},
		{device.NVLinkEffectiveErrors, nvml.FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS},
		{device.NVLinkSymbolErrors, nvml.FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS},
	} {
		items = append(items, item{metric: five.metric, unit: 1, from: all(five.id)})
	}
	for link := range min(links, device.MaxNVLinks) {
		items = append(items, oneLinkItems(link)...)
	}
	return items
}

// oneLinkItems are the fields of one link. The first twelve have older fields besides.
func oneLinkItems(link int) []item {
	scope := uint32(link)
	item1 := func(first device.Metric, unit float64, how how, from [][]fieldID) item {
		return item{metric: first.At(link), unit: unit, how: how, from: from}
	}
	// old is the field of a link in two runs of six.
	old := func(first, seventh uint32) fieldID {
		if link < 6 {
			return fieldID{id: first + scope}
		}
		return fieldID{id: seventh + scope - 6}
	}
	speed := scoped(scope, nvml.FI_DEV_NVLINK_GET_SPEED)
	crc, replay, recovery := scoped(scope, nvml.FI_DEV_NVLINK_ERROR_DL_CRC), scoped(scope, nvml.FI_DEV_NVLINK_ERROR_DL_REPLAY),
		scoped(scope, nvml.FI_DEV_NVLINK_ERROR_DL_RECOVERY)
	if link < 12 {
		speed = append(speed, []fieldID{old(nvml.FI_DEV_NVLINK_SPEED_MBPS_L0, nvml.FI_DEV_NVLINK_SPEED_MBPS_L6)})
		crc = append(crc, []fieldID{
			old(nvml.FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L0, nvml.FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L6),
			old(nvml.FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L0, nvml.FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L6),
		})
		replay = append(replay, []fieldID{old(nvml.FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L0, nvml.FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L6)})
		recovery = append(recovery, []fieldID{old(nvml.FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L0, nvml.FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L6)})
	}
	return []item{
		item1(device.LinkState, 1, linkUp, scoped(scope, nvml.FI_DEV_NVLINK_GET_STATE)),
		item1(device.LinkSpeed, mega, 0, speed),
		item1(device.LinkTransmit, 1, 0, [][]fieldID{
			{{id: nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX, scope: scope, factor: kibi}}, {{id: nvml.FI_DEV_NVLINK_COUNT_XMIT_BYTES, scope: scope}},
		}),
		item1(device.LinkReceive, 1, 0, [][]fieldID{
			{{id: nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_RX, scope: scope, factor: kibi}}, {{id: nvml.FI_DEV_NVLINK_COUNT_RCV_BYTES, scope: scope}},
		}),
		item1(device.LinkCRCErrors, 1, 0, crc),
		item1(device.LinkReplayErrors, 1, 0, replay),
		item1(device.LinkRecoveryErrors, 1, 0, recovery),
	}
}

// c2cItems are the fields of a superchip with some links between GPU and CPU.
func c2cItems(links int) []item {
	all := func(id uint32) [][]fieldID { return [][]fieldID{each(id, links)} }
	return []item{
		{metric: device.C2CLinksActive, unit: 1, how: linkUp, from: all(nvml.FI_DEV_C2C_LINK_GET_STATUS)},
		{metric: device.C2CBandwidthMax, unit: mega, from: all(nvml.FI_DEV_C2C_LINK_GET_MAX_BW)},
		{metric: device.C2CErrors, unit: 1, from: all(nvml.FI_DEV_C2C_LINK_ERROR_INTR)},
		{metric: device.C2CReplayErrors, unit: 1, from: all(nvml.FI_DEV_C2C_LINK_ERROR_REPLAY)},
	}
}
