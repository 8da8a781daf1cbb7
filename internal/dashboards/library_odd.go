package dashboards

import (
	"github.com/warpwatch/warpwatch/pkg/query"
)

// bandLines is how many lines a panel of bands has at most: those of two devices, each with its band.
const bandLines = 10

// bands are the values of the devices that are oddest, with what is usual: against its own "history", or the others of its "job" or "model".
func bands(title, name, against string, help Help) Panel {
	q := judge(query.TypeAnomaly, "lines", map[string]any{"metric": name, "against": against}).with("maxSeries", bandLines)
	p := chart(title, help, []Query{q}, otherwise("Nothing to compare with yet: see the notice"))
	p.look.overrides = append(p.look.overrides,
		override{"byRegexp", "/ (lower|upper)$/", properties("custom.lineStyle", map[string]any{"fill": "dash", "dash": []int{4, 4}}, "color", map[string]any{"mode": "fixed", "fixedColor": "#808080"}, "custom.hideFrom", map[string]any{"legend": true, "tooltip": false, "viz": false})},
		override{"byRegexp", "/ expected$/", properties("color", map[string]any{"mode": "fixed", "fixedColor": "light-blue"}, "custom.hideFrom", map[string]any{"legend": true, "tooltip": false, "viz": false})},
		// 1 where it is odd: a mark in red above the others, on an axis of its own.
		override{"byRegexp", "/ odd$/", properties("custom.axisPlacement", "hidden", "custom.drawStyle", "bars", "custom.fillOpacity", 25, "custom.lineWidth", 0, "min", 0, "max", 1,
			"color", map[string]any{"mode": "fixed", "fixedColor": "red"}, "custom.hideFrom", map[string]any{"legend": true, "tooltip": true, "viz": false})})
	return p.sized(full, chartHeight)
}

func heatBands() Panel {
	return bands("Temperature, and that of its peers", "gpu_temperature_celsius", "model", Help{
		Shows:   "the temperature of the two GPUs that are least like the others of their model, with the band that those are in (dashed). Red: outside of it.",
		Matters: "because a GPU that leaves the band alone has a cooling problem of its own, long before its limit.",
		Do:      "hotter than the band at the same work: fan, cold plate or filter of that node. The list of spells beside has the others.",
		SMI:     "none; compare `nvidia-smi --query-gpu=temperature.gpu --format=csv` of several nodes",
	})
}

func powerBands() Panel {
	return bands("Power, and what is usual", "gpu_power_watts", "history", Help{
		Shows:   "the power of the two GPUs that are least as they were at this hour in the two weeks before, with the band that is usual (dashed). Red: outside of it.",
		Matters: "because power follows work: a job that stalled or hangs leaves its band at once, whatever utilization says.",
		Do:      "below the band: see what holds the work back. A new job is unusual, too, and no fault.",
		SMI:     "none; it is compared with two weeks of the past",
	})
}

func jobBands() Panel {
	return bands("SM active, and that of the other GPUs of the job", "gpu_sm_active_ratio", "job", Help{
		Shows:   "the activity of the two GPUs that are least like the others of their job, with the band that those are in (dashed). Red: outside of it.",
		Matters: "because the ranks of a job do the same work: one that differs waits, or makes the others wait.",
		Do:      "see the suspects for who slows the job down; the one that is more active is not always the healthy one.",
		SMI:     "none; compare `nvidia-smi dmon -s u` on the nodes of the job",
	})
}
