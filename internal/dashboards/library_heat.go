package dashboards

import (
	"github.com/warpwatch/warpwatch/pkg/insight/sku"
	"github.com/warpwatch/warpwatch/pkg/query"
)

func hottest() Panel {
	return number("Hottest GPU", metric("gpu_temperature_celsius").worst("topk"), Help{
		Shows:   "the temperature of the hottest selected GPU, and which it is.",
		Matters: "because GPUs slow down as they approach their limit, and a job on several GPUs waits for the slowest.",
		Do:      "above 83 °C look at fans and airflow; above 90 °C move the work away. The margin beside it is the board's own limit.",
	}, rising(83, 90), rounded(0), otherwise("not exported"))
}

func margin() Panel {
	return number("Least margin", metric("gpu_temperature_margin_celsius").worst("bottomk"), Help{
		Shows:   "by how many degrees the GPU that is closest to its own slowdown stays below it.",
		Matters: "because each model has another limit, and the margin knows it; the temperature does not.",
		Do:      "below 3 °C the clocks come down next: cool or move the work. Not among the default fields of dcgm-exporter, and not on A100: then go by the temperature.",
	}, falling(3, 10), rounded(0), otherwise("not exported"))
}

// memoryByModel has the limits of each model's memory.
func memoryByModel() Panel {
	p := bars("Hottest memory, by model", metric("gpu_memory_temperature_celsius").by("model", "max"), Help{
		Shows:   "the temperature of the hottest memory of each model. Colours change at that model's own limits: 95 °C and 105 °C for HBM of Ampere and newer, 85 °C and 95 °C for V100.",
		Matters: "because memory that is too hot makes errors and slows down, while the core still looks cool.",
		Do:      "orange: airflow, then the thermal pads. Cards without a sensor are not listed, which does not say that they are cool.",
	}, rising(95, 105), between(20, 110), rounded(0), otherwise("No selected GPU has a sensor, or nobody exports it"))
	for _, s := range sku.All() {
		if s.MemoryWarnCelsius > 0 && s.MemoryWarnCelsius != 95 {
			p.look.overrides = append(p.look.overrides, override{"byRegexp", "/" + s.Words[0] + "/", properties("thresholds", thresholds("green", []step{{s.MemoryWarnCelsius, "orange"}, {s.MemoryCriticalCelsius, "red"}}))})
			break
		}
	}
	return p
}

// powerByModel has the power of each model's data sheet as its full scale.
func powerByModel() Panel {
	p := bars("Power of the hungriest GPU, by model", metric("gpu_power_watts").by("model", "max"), Help{
		Shows:   "the power of the GPU that draws most, of each model. A bar is full at the power of the model's data sheet.",
		Matters: "because a full bar is a GPU at its cap, which is normal for training, and costs clock speed.",
		Do:      "full bars in inference: lower the batch, or leave it. Far from full while busy: heat or a cap that somebody set.",
	}, positive, rounded(0), otherwise("not exported"))
	for _, s := range sku.All() {
		if len(s.Words) == 1 && s.PowerWatts > 0 {
			p.look.overrides = append(p.look.overrides, override{"byRegexp", "/" + s.Words[0] + "\\b/", properties("max", s.PowerWatts)})
		}
	}
	return p
}

func powerTotal() Panel {
	return number("Power", metric("gpu_power_watts").by("cluster", "sum"), Help{
		Shows:   "the power that the selected GPUs of each cluster draw together.",
		Matters: "because it is what racks must supply and cool, and it falls at once when a job stalls.",
		Do:      "compare with what the room can supply. The nodes around the GPUs take a quarter to a half more.",
	}, positive, rounded(1), otherwise("not exported"))
}

func powerByNode() Panel {
	return chart("Power by node", Help{
		Shows:   "the power of the GPUs of each node together.",
		Matters: "because power is bought and cooled by node and rack.",
		Do:      "a node that draws less than the others of its job is slowed down or idle.",
	}, []Query{metric("gpu_power_watts").by("node", "sum")}, positive)
}

func throttleShare(title, name, why, do string) Panel {
	return number(title, metric(name).worst("topk"), Help{
		Shows:   "the largest share of time in which " + why + " held the clocks of a selected GPU down.",
		Matters: "because it is lost speed, and one slow GPU slows down the whole job.",
		Do:      do,
	}, between(0, 1), rising(0.02, 0.1), rounded(0), otherwise("not exported"))
}

func throttleByCause() Panel {
	q := func(name, label string) Query {
		return metric(name).by("cluster", "max").legend("{{cluster}} " + label)
	}
	return chart("Slowed down, by cause", Help{
		Shows:   "the largest share of time in which a GPU of each cluster was held down by heat that the software saw, heat that the board itself saw, the power brake, and the power cap.",
		Matters: "because each has another owner: cooling, the board, the power supply, and nobody – the cap is normal under full load.",
		Do:      "hardware heat or power brake: call the data centre. Software heat: airflow. The causes apart are the agent's, or DCGM's `*_SLOWDOWN_NS` fields.",
	}, []Query{q("gpu_throttle_software_thermal_seconds_total", "heat"), q("gpu_throttle_hardware_thermal_seconds_total", "heat, by the board"),
		q("gpu_throttle_power_brake_seconds_total", "power brake"), q("gpu_throttle_power_seconds_total", "power cap")}, between(0, 1.1), rounded(0), otherwise("Not exported: see the notice"))
}

func fans() Panel {
	return chart("Fans", Help{
		Shows:   "how fast the fans of boards run that have fans of their own, as a share of the most.",
		Matters: "because a fan at full speed has nothing left for a hotter day.",
		Do:      "full speed on one GPU alone: clean or replace it. Boards without fans, as in most servers, have no line.",
	}, []Query{metric("gpu_fan_speed_ratio").top(20)}, between(0, 1), otherwise("No selected GPU has fans of its own, or nobody exports them"))
}

func temperatureAhead() Panel {
	return grid("Which GPU gets too hot", judge(query.TypeForecast, "summary", map[string]any{"of": "temperature"}).rows(50), Help{
		Shows:   "GPUs whose temperature is on its way to their slowdown, when the trend and the time of day are followed for six hours, the first to get there at the top.",
		Matters: "because filters clog over weeks and rooms warm up at noon; both can be seen coming.",
		Do:      "have the cooling looked at before the time that is likely; look at skill and error before you believe it.",
		SMI:     "none",
	}, forecastColumns(), otherwise("Nothing to look ahead from: see the notice"))
}

func forecastColumns() []column {
	return []column{
		{field: "name", title: "Of", width: 190}, {field: "outlook", title: "Outlook", width: 120, cell: "text"}, {field: "text", title: "In words", width: 420}, {field: "limit", title: "Limit", width: 100},
		{field: "earliest", title: "Earliest", width: 175}, {field: "likely", title: "Likely", width: 175}, {field: "latest", title: "Latest", width: 175}, {field: "per_day", title: "A day", width: 100},
		{field: "method", title: "Method", width: 120}, {field: "skill", title: "Skill", width: 80},
	}
}
