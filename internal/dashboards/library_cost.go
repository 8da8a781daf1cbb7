package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"

	"github.com/warpwatch/warpwatch/pkg/query"
)

func efficiencyOf(title, field, shows, matters, do string, changes ...change) Panel {
	return value(title, field, judge(query.TypeEfficiency, "groups", nil), Help{Shows: shows, Matters: matters, Do: do, SMI: "none; it is added up over the range"}, changes...)
}

func usedWell() Panel {
	return efficiencyOf("Efficiency", "efficiency",
		"the mean activity of the SMs of GPUs that somebody had, over the range. Where nobody exports it, utilization stands in, which is more; a notice says so.",
		"because this is what becomes of the money: allocation says who pays, activity what for.",
		"below 0.4: look at the groups below with the most idle hours. It says nothing about faults.",
		falling(0.25, 0.5), rounded(0), in("percentunit"), otherwise("not known"))
}

func idleHours() Panel {
	return efficiencyOf("Idle hours", "idle_hours",
		"GPU hours that somebody had, in which the GPU did nothing for half an hour or longer, over the range.",
		"because nobody else could use them, and they cost what busy ones cost.",
		"find the owners in the table of idle GPUs, and ask before you take one back: a debugger may be attached.",
		painted("orange"), rounded(0), in("locale"), otherwise("not known"))
}

func unallocatedHours() Panel {
	return efficiencyOf("Free hours", "unallocated_hours",
		"GPU hours that nobody had, over the range.",
		"because free GPUs are room for work, or too many GPUs.",
		"many while jobs wait: jobs do not fit, see the dashboard Capacity planning. Many always: buy later.",
		rounded(0), in("locale"), otherwise("not known"))
}

func idleMoney() Panel {
	return efficiencyOf("Idle cost", "cost_idle",
		"what the idle hours cost, by the prices in the data source's settings.",
		"because money is heard where hours are not.",
		"nothing here: enter a price for each model in the data source's settings (Insight, prices).",
		painted("orange"), rounded(0), in("locale"), otherwise("no price is set"))
}

func charge() Panel {
	return efficiencyOf("Cost", "cost_allocated",
		"what the GPUs cost that somebody had, over the range, by the prices in the data source's settings.",
		"because it is what the groups below share.",
		"nothing here: enter a price for each model in the data source's settings (Insight, prices).",
		rounded(0), in("locale"), otherwise("no price is set"))
}

func energy() Panel {
	return efficiencyOf("Energy", "energy_kwh",
		"the energy of the GPUs over the range, in kWh, without the nodes around them.",
		"because it is paid for twice: as power and as cooling.",
		"compare two weeks with the same work. Where boards do not count energy it is added up from their power.",
		rounded(0), in("suffix: kWh"), otherwise("not known"))
}

func whereHoursWent() Panel {
	return chart("What became of the GPUs", Help{
		Shows:   "how many GPUs were used, idle though somebody had them, free, broken, or not known of, at each time. A MIG instance counts by its part.",
		Matters: "because the heights add up to what was bought.",
		Do:      "a thick band of idle: see the table of idle GPUs. Broken: see GPU health and XIDs. Unmeasured: export `DCGM_FI_PROF_SM_ACTIVE`.",
		SMI:     "none; it is put together from all GPUs",
	}, []Query{judge(query.TypeEfficiency, "timeline", nil)}, stack, positive, rounded(0), in("short"), fixed("used", "green"), fixed("idle", "orange"), fixed("unmeasured", "purple"),
		fixed("unallocated", "blue"), fixed("broken", "red"), fixed("absent", "#808080"), otherwise("Nothing is known of the selection")).sized(full, chartHeight)
}

func groups(title string, by ...string) Panel {
	columns := []column{}
	for _, dimension := range by {
		c := column{field: dimension, title: map[string]string{"cluster": "Cluster", "node": "Node", "model": "Model", "namespace": "Namespace", "pod": "Pod", "job": "Job", "user": "User"}[dimension]}
		if dimension == "job" {
			c.link = "gpu-job"
		}
		columns = append(columns, c)
	}
	columns = append(columns,
		column{field: "gpus", title: "GPUs", width: 90, decimals: cog.ToPtr(2.0)}, column{field: "allocated_hours", title: "Had, h", width: 95}, column{field: "used_hours", title: "Used, h", width: 95},
		column{field: "idle_hours", title: "Idle, h", width: 115}, column{field: "unmeasured_hours", title: "Unmeasured, h", width: 150}, column{field: "unallocated_hours", title: "Free, h", width: 95},
		column{field: "efficiency", title: "Efficiency", width: 130, cell: "gauge"}, column{field: "energy_kwh", title: "kWh", width: 90}, column{field: "carbon_kg", title: "kg CO2", width: 90}, column{field: "cost_allocated", title: "Cost", width: 90},
		column{field: "cost_idle", title: "Cost of idle", width: 110}, column{field: "currency", title: "Currency", width: 85})
	return grid(title, judge(query.TypeEfficiency, "groups", map[string]any{"by": by}).rows(500), Help{
		Shows:   "for each group the GPU hours that it had, used, and left idle, its efficiency, energy and cost over the range.",
		Matters: "because side by side it shows who holds GPUs that others wait for.",
		Do:      "talk to the group with the most idle hours first. Owners are those at the end of the range. Without prices the costs are left out.",
		SMI:     "none; it is added up over the range",
	}, columns, sorted("Idle, h", true), otherwise("Nobody has GPUs in the selection, or nobody tells: see the notice"))
}

func idleTable() Panel {
	return grid("GPUs that are held and idle now", judge(query.TypeEfficiency, "idle", nil).rows(200), Help{
		Shows:   "each GPU and MIG instance that somebody has and that has done nothing for half an hour or longer, the dearest first.",
		Matters: "because these could be given to somebody who waits, today.",
		Do:      "ask the owner; `longer` says that it began before the range.",
		SMI:     "`nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv`",
	}, []column{
		{field: "cluster", title: "Cluster", width: 90}, {field: "node", title: "Node", width: 140, link: "gpu-node-live"}, {field: "gpu", title: "GPU", width: 60}, {field: "mig_profile", title: "MIG", width: 95},
		{field: "model", title: "Model", width: 150}, {field: "owner", title: "Owner"}, {field: "namespace", title: "Namespace", width: 120}, {field: "user", title: "User", width: 100}, {field: "since", title: "Since", width: 160},
		{field: "longer", title: "Longer", width: 90}, {field: "activity", title: "Activity", width: 90}, {field: "weight", title: "Part of a GPU", width: 110}, {field: "per_hour", title: "An hour", width: 90}, {field: "currency", title: "Currency", width: 85},
	}, otherwise("No GPU that somebody has is idle"))
}

func jobEfficiency() Panel {
	return grid("Efficiency of jobs", judge(query.TypeEfficiency, "jobs", nil).rows(200), Help{
		Shows:   "training jobs and servers that tell of themselves: model FLOPs utilization against the data sheet and against what anybody reached, tokens, tokens a joule, and cost of a million tokens.",
		Matters: "because MFU is the only number that compares two jobs on two kinds of GPUs.",
		Do:      "below 0.3 in training: see what holds the job back. Empty: no job exports `train_…` or `serve_…` metrics; see the documentation of workload metrics.",
		SMI:     "none: it is a number of the workload",
	}, []column{
		{field: "cluster", title: "Cluster", width: 90}, {field: "namespace", title: "Namespace", width: 120}, {field: "job", title: "Job", link: "gpu-job"}, {field: "class", title: "Class", width: 90}, {field: "gpus", title: "GPUs", width: 70},
		{field: "hours", title: "GPU h", width: 80}, {field: "mfu", title: "MFU", width: 110, cell: "gauge"}, {field: "reachable_mfu", title: "Of the reachable", width: 130}, {field: "reported_mfu", title: "As reported", width: 110},
		{field: "tensor_pipe_ceiling", title: "Ceiling", width: 90}, {field: "tokens_per_second", title: "Tokens/s", width: 100}, {field: "tokens_per_joule", title: "Tokens/J", width: 100},
		{field: "cost_per_million_tokens", title: "Per M tokens", width: 110}, {field: "confidence", title: "Confidence", width: 100, cell: "text"},
	}, otherwise("No job tells of itself: it exports no train_… or serve_… metrics"))
}

func budgets() Panel {
	return grid("Budgets", judge(query.TypeEfficiency, "budgets", nil), Help{
		Shows:   "each budget of the data source's settings: what is spent this month, what the month will cost, and when the budget is used up.",
		Matters: "because a budget that is used up on the 20th should be known on the 5th.",
		Do:      "choose a range of this month; enter budgets in the data source's settings (Insight, budgets).",
		SMI:     "none: it is about money",
	}, []column{
		{field: "budget", title: "Budget"}, {field: "currency", title: "Currency", width: 90}, {field: "month", title: "A month", width: 110}, {field: "month_to_date", title: "Spent", width: 110},
		{field: "known", title: "Known", width: 110, cell: "gauge"}, {field: "forecast", title: "Month will cost", width: 130}, {field: "forecast_low", title: "At least", width: 100}, {field: "forecast_high", title: "At most", width: 100}, {field: "used_up", title: "Used up", width: 160},
	}, otherwise("No budget is set")).sized(full, 6)
}

func capacityAhead() Panel {
	return grid("When do GPUs run out", judge(query.TypeForecast, "summary", map[string]any{"of": "capacity"}).rows(50), Help{
		Shows:   "for each model of GPU when all of them will be in use, when the last two weeks go on, with the earliest and the latest day.",
		Matters: "because GPUs take months to come.",
		Do:      "act by the earliest day where confidence is not low. `Reached` means now. Before you order, see the idle hours: taking back is faster.",
		SMI:     "none",
	}, forecastColumns(), otherwise("Nothing to look ahead from: see the notice"))
}

func capacityLines() Panel {
	return chart("GPUs in use, and what is expected", Help{
		Shows:   "how many GPUs of each model are in use, and what the method that did best on the past expects, with the interval that holds nine of ten values.",
		Matters: "because a wide interval says that nobody knows.",
		Do:      "choose a range that ends in the future to see the forecast, such as now-14d to now+14d.",
		SMI:     "none",
	}, []Query{judge(query.TypeForecast, "lines", map[string]any{"of": "capacity"})}, positive, rounded(0), otherwise("Nothing to look ahead from: see the notice")).sized(full, chartHeight)
}
