package dashboards

import (
	"github.com/warpwatch/warpwatch/pkg/query"
)

func smActive() Panel {
	return chart("SM active", Help{
		Shows:   "for each GPU or MIG instance, the share of time in which its streaming multiprocessors had work, averaged over the SMs.",
		Matters: "because this is the first number to look at: training steps, stalls and stragglers show in it within a second.",
		Do:      "one line below the others is a straggler: compare its clock and temperature. All lines falling together wait for data or for the network.",
	}, []Query{metric("gpu_sm_active_ratio")}, between(0, 1))
}

func tensorActive() Panel {
	return chart("Tensor active", Help{
		Shows:   "the share of time in which the tensor cores were busy.",
		Matters: "because matrix work on tensor cores is most of what a training GPU is bought for.",
		Do:      "low beside a high SM active: the work is not matrix-bound, or runs in a precision that does not use tensor cores.",
	}, []Query{metric("gpu_tensor_active_ratio")}, between(0, 1))
}

func dramActive() Panel {
	return chart("Memory bandwidth in use", Help{
		Shows:   "the share of cycles in which device memory moved data.",
		Matters: "because decoding of language models, and much else, is bound by memory and not by arithmetic.",
		Do:      "near 0.8 with tensor cores idle: larger batches, or a smaller precision, get more out of each byte.",
	}, []Query{metric("gpu_dram_active_ratio")}, between(0, 1))
}

func memoryUsed() Panel {
	return chart("Memory used", Help{
		Shows:   "device memory in use, per GPU or MIG instance.",
		Matters: "because steps up that never come down are a leak; a full GPU ends the job.",
		Do:      "compare with the model's size; memory that is held while SM active is zero belongs to a job that hangs or to a forgotten process (`nvidia-smi` lists them).",
	}, []Query{metric("gpu_memory_used_bytes")}, positive)
}

func powerAndLimit() Panel {
	return chart("Power and limit", Help{
		Shows:   "the power of each GPU, averaged by the driver over a second, and the lowest enforced limit of each node (dashed).",
		Matters: "because power follows work at once; at the limit the clocks come down.",
		Do:      "a GPU that draws less than its neighbours at the same work is slowed down by heat; a node at the limit needs a higher limit or less work.",
	}, []Query{metric("gpu_power_watts"), metric("gpu_power_limit_watts").by("node", "min").legend("{{node}} limit")}, positive, dashed("B"))
}

func temperature() Panel {
	return chart("Temperature", Help{
		Shows:   "the temperature of each GPU's core.",
		Matters: "because heat costs clock speed, and then memory errors.",
		Do:      "one GPU hotter than its neighbours has blocked airflow or a failing fan; all rising together is the room. The dashed lines are where most boards slow down.",
	}, []Query{metric("gpu_temperature_celsius")}, rising(83, 90), drawn)
}

func smClock() Panel {
	return chart("SM clock", Help{
		Shows:   "the clock of the streaming multiprocessors.",
		Matters: "because a GPU whose clock is low under load is slowed down, whatever its utilization says.",
		Do:      "compare with temperature and power of the same GPU: at the power limit it is power, else heat. An idle GPU lowers its clock by design.",
	}, []Query{metric("gpu_sm_clock_hertz")}, positive)
}

func throttledByHeat() Panel {
	return chart("Throttled by heat", Help{
		Shows:   "the share of time in which heat held the clocks down.",
		Matters: "because it is lost speed, and one slow GPU slows down the whole job.",
		Do:      "above 0.05 for minutes: look at the node's cooling, and move the job.",
	}, []Query{metric("gpu_throttle_thermal_seconds_total")}, between(0, 1.1), rounded(0))
}

func pcieTraffic() Panel {
	return chart("PCIe traffic", Help{
		Shows:   "what each GPU receives and transmits over its PCIe link.",
		Matters: "because the link carries input data and checkpoints; when it is full, the GPU waits.",
		Do:      "near the link's limit (about 50 GB/s for Gen5 x16): pin memory, overlap copies with work, or move less.",
		SMI:     "`nvidia-smi dmon -s t`",
	}, []Query{metric("gpu_pcie_receive_bytes_per_second").legend("{{name}} receive"), metric("gpu_pcie_transmit_bytes_per_second").legend("{{name}} transmit")}, positive)
}

func nvlinkTraffic() Panel {
	return chart("NVLink traffic", Help{
		Shows:   "what each GPU exchanges with the others over NVLink.",
		Matters: "because gradients travel here; a GPU whose traffic stops while others go on has lost its links.",
		Do:      "no traffic in a job on several GPUs: check that NCCL uses NVLink (`NCCL_DEBUG=INFO`) and the links (`nvidia-smi nvlink -s`).",
	}, []Query{metric("gpu_nvlink_receive_bytes_per_second").legend("{{name}} receive"), metric("gpu_nvlink_transmit_bytes_per_second").legend("{{name}} transmit")}, positive)
}

func bottlenecks(of string) Panel {
	what := map[string]string{"": "GPU, MIG instance and job", "gpus": "GPU and MIG instance", "jobs": "job"}[of]
	options := map[string]any{}
	if of != "" {
		options["of"] = of
	}
	return states("What holds the work back", judge(query.TypeBottleneck, "timeline", options), Help{
		Shows:   "for each " + what + " what it waited for or was held by: input, memory, links, another rank, heat, power – or that it computed, or did nothing.",
		Matters: "because a high utilization does not say whether the money is well spent, and each of these has another cure.",
		Do:      "read the row of the worst in the summary below: it has the evidence and the cure. With the default fields of dcgm-exporter the confidence is low, and a notice names what to export.",
		SMI:     "none; the nearest are `nvidia-smi dmon -s pucvmet` and `nvidia-smi -q -d PERFORMANCE`",
	}, otherwise("No GPU or job could be judged: see the notice"))
}

func bottleneckSummary(of string) Panel {
	options := map[string]any{}
	if of != "" {
		options["of"] = of
	}
	return grid("Why, and what to do", judge(query.TypeBottleneck, "summary", options).rows(500), Help{
		Shows:   "each row of the timeline: its verdict now, the evidence, the cure, how sure it is, and what nobody measured.",
		Matters: "because a verdict without its evidence convinces nobody to change a job.",
		Do:      "start with the rows that have a warning; the owner of the job does most of it.",
		SMI:     "none; it is put together from all readings of a GPU",
	}, []column{
		{field: "verdict", title: "Verdict", width: 130, cell: "background"}, {field: "severity", title: "Severity", width: 90, cell: "text"}, {field: "cluster", title: "Cluster", width: 85},
		{field: "node", title: "Node", width: 135, link: "gpu-node-live"}, {field: "gpu", title: "GPU", width: 60}, {field: "job", title: "Job", width: 160}, {field: "owner", title: "Owner", width: 160},
		{field: "reason", title: "Reason", width: 280}, {field: "evidence", title: "Evidence", width: 280}, {field: "action", title: "Do"},
		{field: "confidence", title: "Confidence", width: 100, cell: "text"}, {field: "since", title: "Since", width: 160}, {field: "missing", title: "Not measured", width: 180},
	}, otherwise("No GPU or job could be judged"))
}

func busyShare() Panel {
	return number("Utilization", metric("gpu_utilization_ratio").by("cluster", "avg"), Help{
		Shows:   "the share of time in which at least one kernel ran, averaged over the selected GPUs of each cluster. Boards split into MIG instances have none.",
		Matters: "because it tells an idle fleet from one in use, and nothing more: one small kernel that never ends reads as 100 %.",
		Do:      "low while jobs hold the GPUs: see what holds the work back. High: look at the activity of tensor cores before you call it well used.",
	}, between(0, 1), rounded(0), otherwise("not exported"))
}

func tensorShare() Panel {
	return number("Tensor cores", metric("gpu_tensor_active_ratio").by("cluster", "avg"), Help{
		Shows:   "the share of time in which the tensor cores were busy, averaged over the selected GPUs of each cluster.",
		Matters: "because it bounds the useful work from above, which utilization does not. dcgm-exporter exports it by default, where profiling is allowed.",
		Do:      "below 0.2 in training: see what holds the work back.",
	}, between(0, 1), rounded(0), otherwise("not exported"))
}

func fullest() Panel {
	return number("Free memory", metric("gpu_memory_free_bytes").worst("bottomk"), Help{
		Shows:   "the memory that is left on the fullest selected GPU or instance.",
		Matters: "because that is where a job runs out of memory first.",
		Do:      "below 1 GB: smaller batches or activation checkpointing, before the job dies. Servers of models fill the memory on purpose.",
	}, positive, falling(1e9, 4e9), rounded(1), otherwise("not exported"))
}
