package dashboards

import (
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// severityCount is how many GPUs, MIG instances and nodes have a severity.
func severityCount(title, severity, colour string) Panel {
	does := map[string]string{
		"critical": "open the table of health below: it names each, why, and what to do. Take the node out of service before you look further.",
		"warning":  "look at the table below within the day; it says what wears out or slows down.",
		"unknown":  "nothing is known of these, which is not the same as well: see which exporter or agent is silent on the dashboard Monitoring the monitoring.",
		"ok":       "nothing. Compare with the number of GPUs that there should be.",
	}
	return value(title, severity, judge(query.TypeHealth, "counts", nil), Help{
		Shows:   "how many GPUs, MIG instances and nodes are judged " + severity + " now, without what somebody silenced. The judgement looks at the last hours, so a fault that has just gone still counts.",
		Matters: "because this is the one number that says whether somebody has to act. Slow or idle GPUs are not in it: health and efficiency are kept apart.",
		Do:      does[severity],
		SMI:     "none; `nvidia-smi -q` and `dmesg -T | grep -i xid` on every node",
	}, anyIs(colour), rounded(0), in("none"), otherwise("not known"))
}

func healthTable() Panel {
	return grid("Health, the worst first", judge(query.TypeHealth, "gpus", map[string]any{"least": "info"}).rows(500), Help{
		Shows:   "each GPU, MIG instance and node that is not well, with the worst reason, the evidence for it, what to do, and who does it. Limits are those of the model.",
		Matters: "because a fault must be told from a busy or hot GPU that is as it should be; that is what the evidence is for.",
		Do:      "work from the top; click a runbook for the steps, a node for its live dashboard. An empty table says in a notice whether all are well or nobody could be judged.",
		SMI:     "`nvidia-smi -q`, and `dmesg -T | grep -i xid`",
	}, []column{
		{field: "severity", title: "Severity", width: 85, cell: "background"}, {field: "cluster", title: "Cluster", width: 75}, {field: "node", title: "Node", width: 120, link: "gpu-node-live"},
		{field: "gpu", title: "GPU", width: 55}, {field: "mig_id", title: "MIG", width: 55}, {field: "reason", title: "Reason", width: 300}, {field: "action", title: "Do", width: 340},
		{field: "runbook", title: "Runbook", width: 130}, {field: "evidence", title: "Evidence", width: 240}, {field: "since", title: "Since", width: 160}, {field: "who_acts", title: "Who", width: 100},
		{field: "risk", title: "Risk", width: 95, cell: "gauge"}, {field: "model", title: "Model"}, {field: "silenced", title: "Silenced", width: 110},
	}, otherwise("No GPU needs anybody, or none could be judged: see the notice"))
}

func incidents() Panel {
	return grid("Incidents", judge(query.TypeHealth, "incidents", nil).rows(100), Help{
		Shows:   "faults that belong together, one row for what is behind them: a node, a rack, a cable or one board.",
		Matters: "because eight GPUs with the same fault are one call, not eight.",
		Do:      "see to the cause; the GPUs that it touches come back with it.",
		SMI:     "none; it is put together from all GPUs of a node",
	}, []column{
		{field: "severity", title: "Severity", width: 85, cell: "background"}, {field: "scope", title: "Of", width: 65}, {field: "cluster", title: "Cluster", width: 75},
		{field: "node", title: "Node", width: 120, link: "gpu-node-live"}, {field: "reason", title: "Reason", width: 300}, {field: "gpus", title: "GPUs", width: 65},
		{field: "action", title: "Do", width: 340}, {field: "runbook", title: "Runbook", width: 130}, {field: "since", title: "Since", width: 160}, {field: "who_acts", title: "Who", width: 100}, {field: "rack", title: "Rack"},
	}, otherwise("No incident"))
}

func eventsTable(title string, kinds ...string) Panel {
	return grid(title, events(kinds...).rows(500), Help{
		Shows:   "what happened to the GPUs in the range, the newest first: XID errors, memory errors, throttling, MIG changes, GPUs that were lost or came back.",
		Matters: "because the first of several errors is the cause; the others follow from it.",
		Do:      "sort by time and read upwards from the first; the column says what NVIDIA advises. Without an agent events are read out of the exporters' counters, and two equal XIDs in a row may show as one.",
		SMI:     "none; `dmesg -T | grep -iE 'xid|nvrm'`",
	}, []column{
		{field: "time", title: "Time", width: 165}, {field: "kind", title: "Kind", width: 140}, {field: "cluster", title: "Cluster", width: 85}, {field: "node", title: "Node", width: 135, link: "gpu-node-live"},
		{field: "gpu", title: "GPU", width: 60}, {field: "xid", title: "XID", width: 60}, {field: "title", title: "What", width: 280}, {field: "text", title: "Detail"},
		{field: "who_acts", title: "Who", width: 110}, {field: "immediate_action", title: "NVIDIA says", width: 170}, {field: "origin", title: "From", width: 80},
	}, sorted("Time", true), otherwise("No event in the range"))
}

func xidRate() Panel {
	return chart("XID errors", Help{
		Shows:   "how many XID errors a second each GPU reports, of those with the most.",
		Matters: "because XIDs that come again on one GPU are its hardware; the same XID on many GPUs at once is the application.",
		Do:      "look the code up in the events, and follow its runbook. The default fields of dcgm-exporter have only the last code: enable `DCGM_EXP_XID_ERRORS_COUNT`, or use the agent.",
	}, []Query{metric("gpu_xid_errors_total").top(10)}, positive, otherwise("Not exported: see the notice"))
}

func lastXID() Panel {
	return grid("Last XID of each GPU", metric("gpu_xid_last").now().top(50), Help{
		Shows:   "the last XID that each GPU reported, which exporters repeat until the driver is loaded anew. It does not say when.",
		Matters: "because it is all that the default fields of dcgm-exporter tell of XIDs.",
		Do:      "a code other than 0 is old news or new: the table of events has the time at which it changed.",
	}, []column{
		{field: "cluster", title: "Cluster", width: 90}, {field: "node", title: "Node", width: 150, link: "gpu-node-live"}, {field: "gpu", title: "GPU", width: 60},
		{field: "model", title: "Model"}, {field: "gpu_xid_last", title: "XID", width: 80, cell: "text", colour: "text", steps: []step{{1, "orange"}}},
	}, sorted("XID", true)).sized(half, chartHeight)
}

func eccErrors() Panel {
	return chart("Memory errors, corrected and not", Help{
		Shows:   "ECC errors a second of the GPUs with the most: those that were corrected, and those that were not.",
		Matters: "because a corrected error costs nothing, many of them announce that a row wears out, and one that was not corrected ends the job.",
		Do:      "uncorrected: drain the GPU and reset it. Corrected by the thousand: plan the reset, so that the row is remapped.",
	}, []Query{metric("gpu_ecc_uncorrected_errors_total").top(10).legend("{{name}} uncorrected"), metric("gpu_ecc_corrected_errors_total").top(10).legend("{{name}} corrected")},
		positive, otherwise("Not exported: see the notice"))
}

func remappedRows() Panel {
	return grid("Row remapping", metric("gpu_remapped_rows_uncorrectable_total").now().top(50), Help{
		Shows:   "memory rows replaced since the board was made, the rate of new ones, and whether a remapping waits for a reset or failed.",
		Matters: "because a bank has few spare rows; when they are used up the board must go.",
		Do:      "pending: reset the GPU between two jobs. Failed: take the board out and ask for a replacement.",
	}, nil).sized(half, chartHeight)
}

func remapState(title, name string) Panel {
	return number(title, metric(name).worst("topk"), Help{
		Shows:   "1 when any GPU of the selection says so, 0 when all say no.",
		Matters: "because a remapping that failed is final, and one that is pending is only a reset away from repair.",
		Do:      "find the GPU in the table of health, and reset it or take it out.",
	}, anyIs("red"), rounded(0), otherwise("not exported"))
}

func lostGPUs() Panel {
	return grid("GPUs that are gone or do not answer", ask(query.TypeInventory).rows(200), Help{
		Shows:   "GPUs with their state; those that are gone, lost, slowed down or silent come first.",
		Matters: "because a GPU that fell off the bus is absent everywhere else, and averages look better for it.",
		Do:      "XID 79 in the events: power-cycle the node. No event: look for the exporter, then for the node.",
		SMI:     "`nvidia-smi -L`",
	}, []column{
		{field: "state", title: "State", width: 180, cell: "text"}, {field: "cluster", title: "Cluster", width: 90}, {field: "node", title: "Node", width: 140, link: "gpu-node-live"}, {field: "gpu", title: "GPU", width: 60},
		{field: "model", title: "Model", width: 140}, {field: "owner", title: "Owner"}, {field: "xid", title: "XID", width: 70}, {field: "throttle", title: "Slowed down by", width: 150},
		{field: "agent", title: "Agent", width: 110, cell: "text"}, {field: "sample_age", title: "Newest sample", width: 120}, {field: "source", title: "From", width: 100},
	}, otherwise("No GPU is known"))
}

func gpusPresent() Panel {
	return value("GPUs + MIG", "gpu_uuid", ask(query.TypeInventory), Help{
		Shows:   "how many GPUs and MIG instances there are, whether agents or exporters tell of them; also those that were there in the range and are gone.",
		Matters: "because every average is over these, and a rack that is not scraped is in no average.",
		Do:      "compare with what was bought. Fewer: see the table of GPUs that are gone, and Monitoring the monitoring.",
		SMI:     "`nvidia-smi -L | wc -l`",
	}, counted, func(l *look) { l.colour, l.steps = "red", []step{{1, "blue"}} })
}

func oddNow(name string) Panel {
	return grid("What is not as its peers are", judge(query.TypeAnomaly, "episodes", map[string]any{"metric": name, "against": "model"}).rows(100), Help{
		Shows:   "spells in which a GPU's temperature was far from that of the GPUs of its model beside it, the newest first.",
		Matters: "because one GPU that is hotter than its neighbours at the same work has a fan, a cold plate or a clogged filter of its own.",
		Do:      "compare the GPU with its neighbours on its live dashboard. Few peers, or a short past, are told in a notice.",
		SMI:     "none; compare `nvidia-smi --query-gpu=temperature.gpu --format=csv` of several nodes",
	}, []column{
		{field: "time", title: "From", width: 160}, {field: "timeEnd", title: "To", width: 160}, {field: "cluster", title: "Cluster", width: 75}, {field: "node", title: "Node", width: 125, link: "gpu-node-live"},
		{field: "gpu", title: "GPU", width: 55}, {field: "mig_id", title: "MIG", width: 55}, {field: "value", title: "Value", width: 85}, {field: "expected", title: "Expected", width: 90}, {field: "text", title: "In words"},
	}, otherwise("Nothing odd in the range"))
}

// faultKinds are the events of boards that have faults.
func faultKinds() []string {
	return []string{gpu.KindXID, gpu.KindLost, gpu.KindReturned, gpu.KindECCUncorrected, gpu.KindECCStorm, gpu.KindPageRetired, gpu.KindPageRetirementFailed,
		gpu.KindPoisonContained, gpu.KindPoisonUncontained, gpu.KindRecoveryAction, gpu.KindUnavailable}
}
