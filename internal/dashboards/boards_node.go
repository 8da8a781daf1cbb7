package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/warpwatch/warpwatch/pkg/query"
)

func nodeLive() Board {
	nodeStat := func(title string, q Query, help Help, changes ...change) Panel {
		return number(title, q, help, changes...)
	}
	return Board{
		File: "gpu-node-live", Title: "GPU node live", Role: "sre",
		Question: "What do the GPUs of this node do right now?",
		Answer:   "History from Prometheus that goes on live from the node's agent; the numbers on top are the node as a whole.",
		Needs:    "SM active is not among the default fields of dcgm-exporter; utilization is.", Variables: []string{"cluster", "node", "gpu", "mig"}, OneNode: true, From: "now-15m", Refresh: "10s", Window: "1h",
		Sections: []Section{
			{Panels: []Panel{
				panel("GPUs reporting", third, statHeight, Help{
					Shows:   "how many of the selected GPUs report a temperature, the one reading that every GPU has.",
					Matters: "because a GPU that fell off the bus is absent everywhere else, and the averages look better for it.",
					Do:      "compare with how many the node has; when one is missing, look for XID 79 in the kernel log (`dmesg | grep -i xid`).",
					SMI:     "`nvidia-smi -L | wc -l`",
				}, look{kind: "stat", colour: "blue", field: "/^gpu_temperature_celsius$/"}, []Query{metric("gpu_temperature_celsius").now()}, []change{counted, otherwise("none")}),
				nodeStat("SM active", metric("gpu_sm_active_ratio").by("node", "avg"), Help{
					Shows:   "the share of time in which the streaming multiprocessors had work, averaged over SMs and over the node's GPUs.",
					Matters: "because it says how full the GPUs are; utilization only says that something ran.",
					Do:      "below 0.5 on a node that is paid for: look at input pipeline, batch size and CPU; above 0.8 it is well used.",
				}, between(0, 1), rounded(0), otherwise("not exported")),
				nodeStat("Utilization", metric("gpu_utilization_ratio").by("node", "avg"), Help{
					Shows:   "the share of time in which at least one kernel ran, averaged over the node's GPUs. GPUs split into MIG instances have none.",
					Matters: "because it tells an idle GPU from one in use, and nothing more: one small kernel that never ends reads as 100 %.",
					Do:      "zero while a job holds the GPUs: find out what the job waits for. High while SM active is low: the kernels are too small.",
				}, between(0, 1), rounded(0), otherwise("not measured with MIG")),
				nodeStat("Fullest memory", metric("gpu_memory_used_bytes").by("node", "max"), Help{
					Shows:   "the device memory in use on the selected GPU that uses most.",
					Matters: "because the fullest GPU is where a job runs out of memory first.",
					Do:      "close to the board's memory: smaller batches or activation checkpointing, before the job dies.",
				}, positive, rounded(1)),
				nodeStat("Power", metric("gpu_power_watts").by("node", "sum"), Help{
					Shows:   "the power that the selected GPUs draw together.",
					Matters: "because it is what the rack must supply and cool, and it falls at once when a job stalls.",
					Do:      "compare with the limits below; a node at its limit is slowed down by power.",
				}, positive, rounded(1)),
				nodeStat("Hottest GPU", metric("gpu_temperature_celsius").by("node", "max"), Help{
					Shows:   "the temperature of the hottest selected GPU.",
					Matters: "because GPUs slow down as they approach their limit, and a job on several GPUs waits for the slowest.",
					Do:      "above 83 °C look at fans and airflow; above 90 °C move the work away.",
				}, positive, rising(83, 90), rounded(0)),
			}},
			{Title: "Work", Panels: []Panel{smActive(), tensorActive(), memoryUsed(), powerAndLimit()}},
			{Title: "Condition", Panels: []Panel{temperature(), smClock(), throttledByHeat(), pcieTraffic(), nvlinkTraffic().sized(full, chartHeight)}},
			{Title: "MIG instances", Panels: []Panel{instanceSM(), instanceMemory()}},
			{Title: "How it is wired", Collapsed: true, Panels: []Panel{wiring()}},
			{Title: "What is usual", Collapsed: true, Panels: []Panel{powerBands()}},
			{Title: "Now", Panels: []Panel{gpusNow(), processes()}},
			{Title: "Health", Panels: []Panel{healthTable().sized(full, 7), eventsTable("Events").sized(full, 7)}},
		},
	}
}

func instanceSM() Panel {
	return chart("SM active by instance", Help{
		Shows:   "the share of time in which the instance's own streaming multiprocessors had work.",
		Matters: "because an instance is what a tenant pays for; the whole board's number averages tenants.",
		Do:      "an instance that is always full needs a larger profile, one that is never used a smaller one.",
	}, []Query{metric("gpu_sm_active_ratio").instances()}, between(0, 1), otherwise("The selected GPUs have no MIG instances"))
}

func instanceMemory() Panel {
	return chart("Memory used by instance", Help{
		Shows:   "device memory in use in each instance.",
		Matters: "because memory is what the profile divides, and an instance cannot borrow any.",
		Do:      "full: a larger profile or a smaller model; the neighbours are not affected.",
		SMI:     "`nvidia-smi` (the table of MIG devices)",
	}, []Query{metric("gpu_memory_used_bytes").instances()}, positive, otherwise("The selected GPUs have no MIG instances"))
}

func processes() Panel {
	return grid("Processes", ask(query.TypeProcesses).rows(200), Help{
		Shows:   "the processes that use the GPUs now, with their owners. Only agents know them.",
		Matters: "because memory that no job has belongs to a process that somebody forgot.",
		Do:      "a process without an owner: ask its user before you end it.",
		SMI:     "`nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory --format=csv`",
	}, []column{
		{field: "cluster", title: "Cluster", width: 90}, {field: "node", title: "Node", width: 140}, {field: "gpu", title: "GPU", width: 65}, {field: "mig_id", title: "Instance", width: 95}, {field: "pid", title: "PID", width: 90},
		{field: "name", title: "Name", width: 180}, {field: "user", title: "User", width: 110}, {field: "owner", title: "Owner"}, {field: "kind", title: "Kind", width: 100}, {field: "memory", title: "Memory", width: 110},
		{field: "sm", title: "SM", width: 90},
	}, otherwise("No process uses the selected GPUs, or no agent tells: see the notice"))
}

func tenants() Panel {
	return grid("GPUs and instances, with their owners", ask(query.TypeInventory).rows(1000), Help{
		Shows:   "each GPU and MIG instance: its profile, who has it, and how busy and full it is.",
		Matters: "because a slice without an owner is room, and a slice that is always full is too small.",
		Do:      "an owner that is empty where pods run: give dcgm-exporter the pods' labels, or use the agent.",
		SMI:     "`nvidia-smi -L` and `nvidia-smi mig -lgi`",
	}, []column{
		{field: "cluster", title: "Cluster", width: 90}, {field: "node", title: "Node", width: 140, link: "gpu-node-live"}, {field: "gpu", title: "GPU", width: 60}, {field: "model", title: "Model", width: 160},
		{field: "mig_profile", title: "MIG profile", width: 110}, {field: "mig_id", title: "Instance", width: 85}, {field: "namespace", title: "Namespace", width: 130}, {field: "owner", title: "Owner"}, {field: "state", title: "State", width: 100, cell: "text"},
		{field: "sm_active", title: "SM active", width: 130, cell: "gauge"}, {field: "memory_used", title: "Memory used", width: 110}, {field: "memory_total", title: "Memory", width: 100}, {field: "source", title: "From", width: 100},
	}, otherwise("No GPU is known")).sized(full, 12)
}

// gpusNow is a row for each device, put together from a query for each metric.
func gpusNow() Panel {
	columns := []struct {
		metric string
		column
	}{
		{"gpu_sm_active_ratio", column{title: "SM active", width: 130, cell: "gauge"}}, {"gpu_tensor_active_ratio", column{title: "Tensor active", width: 130, cell: "gauge"}},
		{"gpu_memory_used_bytes", column{title: "Memory used", width: 120}}, {"gpu_memory_total_bytes", column{title: "Memory", width: 95}}, {"gpu_power_watts", column{title: "Power", width: 90}},
		{"gpu_temperature_celsius", column{title: "Temperature", width: 115, cell: "text", colour: "green", steps: []step{{83, "orange"}, {90, "red"}}}}, {"gpu_sm_clock_hertz", column{title: "SM clock", width: 105}},
		{"gpu_xid_last", column{title: "Last XID", width: 95}},
	}
	p := grid("GPUs now", Query{}, Help{
		Shows:   "a row for each selected GPU and MIG instance, with its newest readings.",
		Matters: "because it names the GPU behind a line above.",
		Do:      "sort by a column to find the hottest, the emptiest or the idle one; an XID other than 0 is the newest error that the driver reported (0 and empty: none).",
		SMI:     "`nvidia-smi`",
	}, nil, otherwise("No selected GPU reports anything"))
	p.H, p.Queries = 11, nil
	order, titles := map[string]int{}, map[string]string{}
	for i, d := range []column{{field: "cluster", title: "Cluster", width: 90}, {field: "node", title: "Node", width: 140}, {field: "gpu", title: "GPU", width: 65}, {field: "model", title: "Model"}, {field: "mig_profile", title: "MIG profile", width: 110}, {field: "mig_id", title: "Instance", width: 95}} {
		order[d.field], titles[d.field] = i, d.title
		if d.width > 0 {
			p.look.overrides = append(p.look.overrides, override{"byName", d.title, d.properties()})
		}
	}
	for _, c := range columns {
		p.Queries = append(p.Queries, metric(c.metric).now())
		order[c.metric], titles[c.metric] = len(order), c.title
		p.look.overrides = append(p.look.overrides, override{"byName", c.title, c.properties()})
	}
	p.look.transforms = []dashboard.DataTransformerConfig{
		{Id: "merge", Options: map[string]any{}},
		{Id: "organize", Options: map[string]any{"excludeByName": map[string]bool{"gpu_uuid": true}, "indexByName": order, "renameByName": titles}},
	}
	return p
}

func job() Board {
	return Board{
		File: "gpu-job", Title: "GPU job", Role: "ml", Axis: "efficiency",
		Question: "Is my job healthy, is it fast, and does it use what it has?",
		Answer:   "The numbers on top are the job's GPUs as they are; the timeline below says what held each of them back, and the tables what is wrong with any.",
		Needs:    "GPUs are found by the labels of pods or by the agent's owners; without either a job has none, and a notice says so.", Variables: []string{"cluster", "namespace", "job", "node"}, From: "now-3h", Refresh: "30s", Window: "3h",
		Sections: []Section{
			{Panels: []Panel{gpusPresent(), busyShare(), tensorShare(), fullest(), usedWell(), hottest()}},
			{Title: "What holds it back", Panels: []Panel{bottlenecks(""), bottleneckSummary("")}},
			{Title: "Who slows it down", Panels: []Panel{slowJobs(), suspects(), skew(), jobBands()}},
			{Title: "Health of its GPUs", Panels: []Panel{healthTable().sized(full, 7), eventsTable("Events").sized(full, 7)}},
			{Title: "Its GPUs", Panels: []Panel{smActive(), tensorActive(), memoryUsed(), powerAndLimit(), smClock(), temperature(), pcieTraffic(), nvlinkTraffic()}},
			{Title: "Its memory", Panels: []Panel{memoryTable(), memoryAhead()}},
			{Title: "Its own numbers", Panels: []Panel{stepTime().sized(6, statHeight), waiting().sized(6, statHeight), tokens().sized(6, statHeight), kvCache().sized(6, statHeight), stepParts(), trainTokens(), loss(), trainMemory()}},
			{Title: "Cost", Panels: []Panel{jobEfficiency().sized(full, 6), groups("GPU hours", "namespace", "job", "pod")}},
		},
	}
}
