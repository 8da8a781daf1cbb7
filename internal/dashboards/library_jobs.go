package dashboards

import (
	"github.com/warpwatch/warpwatch/pkg/query"
)

func slowJobs() Panel {
	return grid("Jobs that somebody slows down", judge(query.TypeStragglers, "jobs", nil).rows(100), Help{
		Shows:   "each training job, the worst first: whether one rank or GPU slows it down, the GPU hours that the others waited for it, and where else its time goes.",
		Matters: "because in synchronous training every GPU waits for the slowest, and looks busy while it does.",
		Do:      "straggler: see the suspects for whom. Uneven: the data or the pipeline's stages. `compared_by` says whether step times or clocks were compared.",
		SMI:     "none; compare `nvidia-smi --query-gpu=clocks.sm,power.draw,temperature.gpu --format=csv` of the job's nodes",
	}, []column{
		{field: "severity", title: "Severity", width: 85, cell: "background"}, {field: "cluster", title: "Cluster", width: 75}, {field: "namespace", title: "Namespace", width: 110}, {field: "job", title: "Job", width: 170, link: "gpu-job"},
		{field: "verdict", title: "Verdict", width: 100}, {field: "reason", title: "Reason", width: 300}, {field: "action", title: "Do", width: 300}, {field: "skew", title: "Slowest", width: 85}, {field: "lost_gpu_hours", title: "Lost, GPU h", width: 105},
		{field: "exchange", title: "Collectives", width: 110, cell: "gauge"}, {field: "data", title: "Data", width: 100, cell: "gauge"}, {field: "checkpoint", title: "Checkpoints", width: 110, cell: "gauge"},
		{field: "goodput", title: "Goodput", width: 100, cell: "gauge"}, {field: "restarts", title: "Restarts", width: 85}, {field: "compared_by", title: "Compared by", width: 120}, {field: "confidence", title: "Confidence", width: 100, cell: "text"},
	}, otherwise("No training job is known: see the notice")).sized(full, 7)
}

func suspects() Panel {
	return grid("Who slows jobs down", judge(query.TypeStragglers, "suspects", nil).rows(100), Help{
		Shows:   "each rank, GPU or node that is slower than its peers of the same job, by how much, since when, and the evidence.",
		Matters: "because one of hundreds decides the speed of all.",
		Do:      "open the node: heat, the power cap or a lower clock beside it say why. Take it out of the job when it comes back.",
		SMI:     "`nvidia-smi -q -d PERFORMANCE,CLOCK` on the node",
	}, []column{
		{field: "kind", title: "Kind", width: 70}, {field: "job", title: "Job", width: 170}, {field: "rank", title: "Rank", width: 65}, {field: "cluster", title: "Cluster", width: 75}, {field: "node", title: "Node", width: 130, link: "gpu-node-live"},
		{field: "gpu", title: "GPU", width: 55}, {field: "ratio", title: "Times the median", width: 135}, {field: "since", title: "Since", width: 160}, {field: "until", title: "Until", width: 160}, {field: "evidence", title: "Evidence"},
	}, otherwise("Nobody is slower than its peers, or nothing could be compared: see the notice")).sized(full, 6)
}

func skew() Panel {
	return chart("Slowest of each job, times the median", Help{
		Shows:   "how many times as long as the median rank the slowest rank of each job took. 1 is a job whose ranks keep pace.",
		Matters: "because the distance from 1 is the share of the job that waits.",
		Do:      "above 1.1 for minutes: see who it is beside. Short peaks are checkpoints and garbage collection.",
		SMI:     "none: it is put together from the ranks of a job",
	}, []Query{judge(query.TypeStragglers, "skew", nil)}, rising(1.05, 1.1), drawn, rounded(2), otherwise("No job's ranks could be compared: see the notice")).sized(full, chartHeight)
}

func memoryTable() Panel {
	return grid("Memory, the fullest first", judge(query.TypeMemory, "gpus", nil).rows(200), Help{
		Shows:   "each GPU and MIG instance: how full it was at most, what is left, when it will be full if it goes on growing, and what is behind it – a leak, fragmentation, a forgotten process, or a server that takes all on purpose.",
		Matters: "because a job that runs out of memory loses everything since its last checkpoint.",
		Do:      "out-of-memory and oom-risk first: a smaller batch or activation checkpointing. Zombie memory: find the process on the node before you end it.",
		SMI:     "`nvidia-smi --query-gpu=memory.used,memory.total --format=csv`",
	}, []column{
		{field: "severity", title: "Severity", width: 85, cell: "background"}, {field: "verdict", title: "Verdict", width: 120}, {field: "cluster", title: "Cluster", width: 75}, {field: "node", title: "Node", width: 130, link: "gpu-node-live"},
		{field: "gpu", title: "GPU", width: 55}, {field: "mig_id", title: "MIG", width: 55}, {field: "owner", title: "Owner", width: 160}, {field: "peak_ratio", title: "Peak", width: 100, cell: "gauge"}, {field: "used", title: "Used", width: 90},
		{field: "headroom", title: "Never used", width: 100}, {field: "hours_to_full", title: "Full in, h", width: 90}, {field: "reason", title: "Reason", width: 280}, {field: "action", title: "Do"},
		{field: "confidence", title: "Confidence", width: 100, cell: "text"},
	}, otherwise("No GPU's memory could be judged: see the notice")).sized(full, chartHeight)
}

func memoryOwners() Panel {
	return grid("Memory by owner", judge(query.TypeMemory, "owners", nil).rows(200), Help{
		Shows:   "the memory of all GPUs and instances of each pod, job or user, and the fullest of them.",
		Matters: "because an owner that fills no part of a board could do with a smaller slice, and one that is always full needs a larger one.",
		Do:      "ask the owners with the lowest peak whether a smaller MIG profile would do.",
		SMI:     "`nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv`",
	}, []column{
		{field: "severity", title: "Severity", width: 85, cell: "background"}, {field: "cluster", title: "Cluster", width: 75}, {field: "namespace", title: "Namespace", width: 120}, {field: "owner", title: "Owner"}, {field: "gpus", title: "GPUs", width: 70},
		{field: "used", title: "Used", width: 100}, {field: "usable", title: "Has", width: 100}, {field: "peak_ratio", title: "Fullest", width: 110, cell: "gauge"}, {field: "headroom", title: "Least left", width: 100}, {field: "reason", title: "Reason", width: 320},
	}, otherwise("Nobody is known to have a GPU: see the notice")).sized(full, 7)
}

func memoryAhead() Panel {
	return grid("Which GPU runs out of memory", judge(query.TypeForecast, "summary", map[string]any{"of": "memory"}).rows(50), Help{
		Shows:   "GPUs and instances whose memory grows, and when it is full if the last hours go on, the first to get there at the top.",
		Matters: "because a leak of a few megabytes a step is seen hours before the job dies of it.",
		Do:      "make a checkpoint before the earliest time. Look at skill and method before you believe it: steps up are no trend.",
		SMI:     "none",
	}, forecastColumns(), otherwise("Nothing to look ahead from: see the notice")).sized(full, 7)
}
