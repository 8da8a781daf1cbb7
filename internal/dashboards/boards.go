package dashboards

import (
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Boards are all dashboards, in the order of the gallery.
func Boards() []Board {
	all := []Board{executive(), sre(), healthAndXIDs(), training(), inference(), capacity(), cost(), mig(), thermals(), interconnect(), nodeLive(), job(), monitoring()}
	for i := range all {
		all[i].UID = "warpwatch-" + all[i].File
	}
	return all
}

func executive() Board {
	return Board{
		File: "gpu-executive", Title: "GPU executive overview", Role: "executive",
		Question: "Is the fleet well, is it used, and when is it full?",
		Answer:   "On top: how many GPUs need somebody, how many there are, how much of what was paid for worked, and what lay idle. Health and efficiency are two questions with two answers below.",
		Needs:    "Works with every exporter; costs need prices in the data source's settings.", Variables: []string{"cluster", "model"}, From: "now-7d", Refresh: "15m", Window: "7d",
		Sections: []Section{
			{Panels: []Panel{severityCount("Critical", "critical", "red"), severityCount("Warnings", "warning", "orange"), gpusPresent(), usedWell(), idleHours(), idleMoney()}},
			{Title: "Health", Panels: []Panel{verdictMap("cluster"), incidents()}},
			{Title: "Efficiency", Panels: []Panel{whereHoursWent(), groups("By namespace", "namespace")}},
			{Title: "Capacity", Panels: []Panel{capacityAhead(), capacityLines()}},
		},
	}
}

func sre() Board {
	return Board{
		File: "gpu-sre", Title: "GPU SRE operations", Role: "sre", Axis: "health",
		Question: "Which GPU needs me now, why, and what do I do?",
		Answer:   "The numbers on top count by severity; the table below it has the worst first, with the evidence, the next step and its runbook.",
		Needs:    "Works with every exporter; with the default fields of dcgm-exporter less is seen, and a notice says what.", Variables: []string{"cluster", "node", "model"}, From: "now-6h", Refresh: "30s", Window: "6h",
		Sections: []Section{
			{Panels: []Panel{severityCount("Critical", "critical", "red"), severityCount("Warnings", "warning", "orange"), severityCount("Unknown", "unknown", "purple"), severityCount("Well", "ok", "green"), gpusPresent(), hottest()}},
			{Title: "Who needs me", Panels: []Panel{healthTable(), incidents()}},
			{Title: "What happened", Panels: []Panel{eventsTable("Events")}},
			{Title: "The fleet", Panels: []Panel{verdictMap("node"), heat("Temperatures", "gpu_temperature_celsius", fleetHelp("temperature", "one cell far above the others is one GPU with a problem; the whole band rising is the room")),
				heat("Power", "gpu_power_watts", fleetHelp("power", "a second band far below is a job that stalled, or GPUs that nobody has")),
				bandsOf("Utilization of the fleet", "gpu_utilization_ratio", fleetHelp("utilization", "a median at zero while jobs run: something holds all of them, most often the storage or the network"), between(0, 1)), oddNow("gpu_temperature_celsius").sized(half, chartHeight)}},
			{Title: "GPUs that are gone", Panels: []Panel{lostGPUs()}},
		},
	}
}

func fleetHelp(what, do string) Help {
	return Help{
		Shows:   "how the " + what + " of all selected GPUs is spread, over time, whatever their number.",
		Matters: "because an average hides the one GPU that matters, and a thousand lines hide everything.",
		Do:      do + ".",
	}
}

func healthAndXIDs() Board {
	return Board{
		File: "gpu-health", Title: "GPU health and XIDs", Role: "sre", Axis: "health",
		Question: "Which boards have faults, and which must leave?",
		Answer:   "The numbers on top count by severity, and say whether a memory row could not be replaced; the table below names the boards and what NVIDIA says to do.",
		Needs:    "Row remapping is not among the default fields of older dcgm-exporters: \"not exported\" is not \"no\".", Variables: []string{"cluster", "node", "gpu", "model"}, From: "now-24h", Refresh: "1m", Window: "24h",
		Sections: []Section{
			{Panels: []Panel{severityCount("Critical", "critical", "red"), severityCount("Warnings", "warning", "orange"), severityCount("Unknown", "unknown", "purple"), severityCount("Well", "ok", "green"),
				remapState("Remap failed", "gpu_row_remap_failure"), remapState("Remap pending", "gpu_row_remap_pending")}},
			{Title: "Boards with faults", Panels: []Panel{healthTable()}},
			{Title: "XID errors", Panels: []Panel{eventsTable("Faults", faultKinds()...), xidRate(), lastXID()}},
			{Title: "Memory", Panels: []Panel{eccErrors(), remappedRows()}},
			{Title: "What is not as it was", Panels: []Panel{heatBands(), oddNow("gpu_temperature_celsius")}},
		},
	}
}

func training() Board {
	return Board{
		File: "gpu-training", Title: "GPU ML training", Role: "ml", Axis: "efficiency",
		Question: "Is my training fast, and if not, what holds it back?",
		Answer:   "On top: how busy the GPUs and their tensor cores are, how full memory is, and how long a step takes. The timeline below says for each job what held it back.",
		Needs:    "Steps are the job's own metrics; the other numbers work with the default fields of dcgm-exporter.", Variables: []string{"cluster", "node", "namespace", "job"}, From: "now-3h", Refresh: "30s", Window: "3h",
		Sections: []Section{
			{Panels: []Panel{busyShare(), tensorShare(), fullest(), hottest(), powerTotal(), stepTime()}},
			{Title: "What holds it back", Panels: []Panel{bottlenecks("jobs").titled("What holds jobs back"), bottlenecks("gpus").titled("What holds GPUs back"), bottleneckSummary("")}},
			{Title: "Stragglers", Panels: []Panel{slowJobs(), suspects(), skew(), jobBands()}},
			{Title: "The job's own numbers", Panels: []Panel{stepParts(), trainTokens(), loss(), checkpoints()}},
			{Title: "Memory", Panels: []Panel{memoryTable(), trainMemory(), memoryUsed(), memoryAhead()}},
			{Title: "GPUs", Panels: []Panel{smActive(), tensorActive(), dramActive(), nvlinkTotal()}},
			{Title: "Efficiency", Panels: []Panel{jobEfficiency()}},
		},
	}
}

func inference() Board {
	return Board{
		File: "gpu-inference", Title: "GPU inference serving", Role: "ml", Axis: "efficiency",
		Question: "Are requests answered in time, and do the GPUs keep up?",
		Answer:   "On top: what 95 of 100 users wait, how many requests queue or fail, and how full the cache is.",
		Needs:    "These are the servers' own metrics (vLLM, SGLang, TensorRT-LLM, TGI, Triton), which no GPU exporter has; the GPUs are further down.", Variables: []string{"cluster", "node", "namespace"}, From: "now-1h", Refresh: "30s", Window: "1h",
		Sections: []Section{
			{Panels: []Panel{ttft(), endToEnd(), waiting(), kvCache(), tokens(), failures()}},
			{Title: "Latency", Panels: []Panel{
				latency("Time to the first token", "serve_ttft_seconds", Help{Shows: "the time to the first token of each model: half of the requests, 95 and 99 of 100 stay below.", Matters: "because the slowest hundredth is a user too.", Do: "p99 far above p50: requests queue, or long prompts are computed before short ones."}),
				latency("Time per token", "serve_tpot_seconds", Help{Shows: "the time from token to token of each model.", Matters: "because above 0.1 s people read faster than the model writes.", Do: "rising with the batch: fewer sequences at once. Rising alone: look at clocks and heat of the GPU."}),
			}},
			{Title: "Load", Panels: []Panel{
				chart("Requests running and waiting", Help{Shows: "requests that each model's servers work on, and those that wait.", Matters: "because it says whether latency comes from load.", Do: "waiting while few run: the cache is full, or the limit of sequences is low.", SMI: "none: it is a number of the server, not of the GPU"},
					[]Query{metric("serve_requests_running").by("model", "sum").legend("{{model}} running"), metric("serve_requests_waiting").by("model", "sum").legend("{{model}} waiting")}, positive, otherwise("No selected server exports it")),
				chart("KV cache", Help{Shows: "how full the cache of the fullest server of each model is.", Matters: "because a full cache puts requests back.", Do: "always above 0.95: more replicas.", SMI: "none: it is a number of the server, not of the GPU"},
					[]Query{metric("serve_kv_cache_ratio").by("model", "max")}, between(0, 1), rising(0.85, 0.95), drawn, otherwise("No selected server exports it")),
			}},
			{Title: "GPUs", Panels: []Panel{busyShare().sized(6, statHeight), tensorShare().sized(6, statHeight), fullest().sized(6, statHeight), powerTotal().sized(6, statHeight), smActive(), dramActive(), memoryUsed(), powerAndLimit()}},
			{Title: "What holds it back", Panels: []Panel{bottlenecks("gpus"), jobEfficiency()}},
			{Title: "Memory", Panels: []Panel{memoryTable()}},
		},
	}
}

func capacity() Board {
	return Board{
		File: "gpu-capacity", Title: "GPU capacity planning", Role: "capacity", Axis: "efficiency",
		Question: "When do we run out of GPUs, and how much room is there now?",
		Answer:   "On top: how many GPUs there are, and what of the range was used, idle and free. The table below has the day on which each model is full.",
		Needs:    "Works with every exporter; who has a GPU is known with pods' labels or the agent.", Variables: []string{"cluster", "model"}, From: "now-14d", Refresh: "", Window: "14d",
		Sections: []Section{
			{Panels: []Panel{gpusPresent(), unallocatedHours(), idleHours(), usedWell(), powerTotal(), energy()}},
			{Title: "Ahead", Panels: []Panel{capacityAhead(), capacityLines()}},
			{Title: "Now and then", Panels: []Panel{busyMap("node"), whereHoursWent(), groups("By model and cluster", "model", "cluster"), groups("By node", "cluster", "node")}},
		},
	}
}

func cost() Board {
	return Board{
		File: "gpu-cost", Title: "GPU cost and efficiency", Role: "finops", Axis: "efficiency",
		Question: "What did we pay for that nobody used, and who had it?",
		Answer:   "On top: what GPUs cost, what lay idle in hours and money, and how well the rest was used. The tables below name owners.",
		Needs:    "Hours work with every exporter that tells owners; money needs prices in the data source's settings.", Variables: []string{"cluster", "model", "namespace"}, From: "now-7d", Refresh: "", Window: "7d",
		Sections: []Section{
			{Panels: []Panel{charge(), idleMoney(), idleHours(), unallocatedHours(), usedWell(), energy()}},
			{Title: "Who", Panels: []Panel{groups("By namespace", "namespace"), groups("By job", "cluster", "namespace", "job"), groups("By user", "user").sized(full, 6)}},
			{Title: "Idle now", Panels: []Panel{idleTable()}},
			{Title: "Over time", Panels: []Panel{whereHoursWent(), budgets()}},
			{Title: "Useful work", Panels: []Panel{jobEfficiency()}},
		},
	}
}

func mig() Board {
	none := otherwise("The selected GPUs have no MIG instances")
	return Board{
		File: "gpu-mig", Title: "GPU MIG and tenants", Role: "platform",
		Question: "Who has which slice, and is it used?",
		Answer:   "On top: how well slices are used, and what of them lay idle. The table below is every GPU and instance with its owner.",
		Needs:    "Utilization does not exist for MIG instances: the activity of graphics engine or SMs stands in.", Variables: []string{"cluster", "node", "gpu", "mig", "namespace"}, From: "now-6h", Refresh: "30s", Window: "6h",
		Sections: []Section{
			{Panels: []Panel{gpusPresent().sized(6, statHeight), usedWell().sized(6, statHeight), idleHours().sized(6, statHeight), fullest().sized(6, statHeight)}},
			{Title: "Who has what", Panels: []Panel{busyMap("node"), tenants(), groups("By namespace", "namespace"), memoryOwners()}},
			{Title: "Room", Panels: []Panel{migRoom()}},
			{Title: "Instances", Panels: []Panel{
				chart("Graphics engine active by instance", Help{Shows: "the share of time in which the instance's engine worked. dcgm-exporter exports it by default.", Matters: "because it is the nearest to utilization that MIG has.", Do: "always idle: ask its owner. Always full: a larger profile."},
					[]Query{metric("gpu_graphics_engine_active_ratio").instances()}, between(0, 1), none),
				instanceSM(), instanceMemory(),
				chart("Tensor cores by instance", Help{Shows: "the share of time in which the instance's tensor cores were busy.", Matters: "because slices are bought for it.", Do: "low beside a high SM active: not matrix-bound."},
					[]Query{metric("gpu_tensor_active_ratio").instances()}, between(0, 1), none),
			}},
			{Title: "Changes", Panels: []Panel{eventsTable("Changes of the layout", gpu.KindMIGLayoutChanged, gpu.KindOwnerChanged).sized(full, 7)}},
		},
	}
}

func thermals() Board {
	return Board{
		File: "gpu-thermals", Title: "GPU thermals, power and cooling", Role: "datacenter", Axis: "health",
		Question: "Is any GPU too hot or short of power, and will one be?",
		Answer:   "On top: the hottest GPU and how far it is from its own limit, what heat and the power cap cost, and the power of all.",
		Needs:    "Margin and throttling are not among the default fields of dcgm-exporter: \"not exported\" is not \"cool\".", Variables: []string{"cluster", "node", "model"}, From: "now-6h", Refresh: "30s", Window: "6h",
		Sections: []Section{
			{Panels: []Panel{hottest(), margin(),
				throttleShare("Lost to heat", "gpu_throttle_thermal_seconds_total", "heat", "above 0.02 look at airflow or coolant of the node; above 0.1 move the job."),
				throttleShare("At power cap", "gpu_throttle_power_seconds_total", "the power cap", "normal for training at full load. In inference: raise the cap where the room allows it."),
				powerTotal(), energy()}},
			{Title: "Models and their limits", Panels: []Panel{memoryByModel(), powerByModel(), bars("Hottest GPU, by model", metric("gpu_temperature_celsius").by("model", "max"), Help{Shows: "the temperature of the hottest GPU of each model.", Matters: "because it says which racks to look at.", Do: "one model alone: its fans or cold plates."}, rising(83, 90), between(20, 100), rounded(0), otherwise("not exported"))}},
			{Title: "Heat", Panels: []Panel{heat("Temperatures", "gpu_temperature_celsius", fleetHelp("temperature", "one cell far above the others is one GPU with a problem; the whole band rising is the room")), temperature().most().titled("Hottest GPUs"), throttleByCause(), fans()}},
			{Title: "Power", Panels: []Panel{powerByNode(), powerAndLimit().most().titled("Hungriest GPUs, and limits"), smClock(), throttledByHeat().most()}},
			{Title: "Air and liquid", Panels: []Panel{inlets(), coolant(), coolantFlow(), leaks()}},
			{Title: "Unlike its peers", Panels: []Panel{heatBands(), oddNow("gpu_temperature_celsius")}},
			{Title: "Ahead", Panels: []Panel{temperatureAhead()}},
		},
	}
}

func interconnect() Board {
	return Board{
		File: "gpu-interconnect", Title: "GPU interconnect", Role: "network", Axis: "health",
		Question: "Is a link slow, narrow or broken?",
		Answer:   "On top: replays on PCIe, the fewest NVLinks up, and the state of the fabric; then what the links carry.",
		Needs:    "dcgm-exporter's default fields have PCIe replays and NVLink throughput; links up and fabric are the agent's.", Variables: []string{"cluster", "node", "gpu", "model"}, From: "now-6h", Refresh: "30s",
		Sections: []Section{
			{Panels: []Panel{replays(), linksUp(), fabric()}},
			{Title: "The wiring", Panels: []Panel{wiring()}},
			{Title: "NVLink", Panels: []Panel{nvlinkTotal(), nvlinkErrors(), nvlinkTraffic().most().sized(full, chartHeight)}},
			{Title: "PCIe", Panels: []Panel{pcieTraffic(), pcieGeneration(), pcieWidth(), linkErrors("PCIe replays", Help{Shows: "PCIe replays a second, of the GPUs with the most.", Matters: "because each is a transfer that was repeated.", Do: "a steady rate on one board: reseat it or its riser."}, metric("gpu_pcie_replay_errors_total").top(10))}},
			{Title: "Chip-to-chip", Panels: []Panel{c2c()}},
		},
	}
}

func monitoring() Board {
	return Board{
		File: "gpu-monitoring", Title: "GPU monitoring the monitoring", Role: "platform",
		Question: "Is everything that should be measured measured, and is it fresh?",
		Answer:   "On top: targets that cannot be scraped, GPUs that are known, and GPUs that nothing is known of. The table below says which metric is missing where, and how to get it.",
		Needs:    "Targets and series are read from each cluster's Prometheus.", Variables: []string{"cluster", "node"}, From: "now-1h", Refresh: "1m", Window: "6h",
		Sections: []Section{
			{Panels: []Panel{targetsDown(), gpusPresent(), severityCount("Unknown", "unknown", "purple")}},
			{Title: "Coverage", Panels: []Panel{coverageTable()}},
			{Title: "Freshness", Panels: []Panel{agentsTable()}},
			{Title: "Agents and scrapes", Panels: []Panel{scrapeTime(), seriesCount(), agentsRefusing(), sampleCost(), pluginCache()}},
		},
	}
}
