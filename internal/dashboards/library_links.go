package dashboards

func linkErrors(title string, help Help, queries ...Query) Panel {
	return chart(title, help, queries, positive, otherwise("Not exported: see the notice"))
}

func replays() Panel {
	return number("PCIe replays", metric("gpu_pcie_replay_errors_total").worst("topk"), Help{
		Shows:   "PCIe replays a second of the GPU that has most.",
		Matters: "because a link that repeats itself is slow, and will fail.",
		Do:      "more than half a replay a second on a Gen5 link: reseat the board or its riser. A few in a day are nothing.",
	}, rising(0.25, 0.5), rounded(3), otherwise("not exported"))
}

func pcieWidth() Panel {
	return grid("PCIe links", metric("gpu_pcie_link_width").now().bottom(50), Help{
		Shows:   "the width of each GPU's PCIe link now, the narrowest first.",
		Matters: "because a board on half of its lanes loads data at half the speed, and nothing else tells.",
		Do:      "narrower than its neighbours: reseat it. A lower generation at idle is by design. Not among the default fields of dcgm-exporter.",
	}, []column{
		{field: "cluster", title: "Cluster", width: 90}, {field: "node", title: "Node", width: 150, link: "gpu-node-live"}, {field: "gpu", title: "GPU", width: 60}, {field: "model", title: "Model"},
		{field: "gpu_pcie_link_width", title: "Lanes", width: 90, cell: "text", colour: "orange", steps: []step{{16, "green"}}},
	}, sorted("Lanes", false), otherwise("Not exported: see the notice")).sized(half, chartHeight)
}

func pcieGeneration() Panel {
	return chart("PCIe generation", Help{
		Shows:   "the generation at which each GPU's link runs, of those with the lowest, beside the generation that it can.",
		Matters: "because each generation halves or doubles what the link carries.",
		Do:      "below what it can while it works: reseat the board, look at the BIOS. At idle it is lower by design.",
	}, []Query{metric("gpu_pcie_link_generation").bottom(10), metric("gpu_pcie_link_generation_max").by("cluster", "max").legend("{{cluster}} can")}, positive, rounded(0), dashed("B"), otherwise("Not exported: see the notice"))
}

func nvlinkErrors() Panel {
	return linkErrors("NVLink errors", Help{
		Shows:   "replays, recoveries and CRC errors a second on the links of the GPUs with the most.",
		Matters: "because collectives wait for the worst link.",
		Do:      "recoveries: reset the GPUs that share the link; when they come again, the board or the switch. A few CRC errors are repaired by replays.",
	}, metric("gpu_nvlink_replay_errors_total").top(10).legend("{{name}} replay"), metric("gpu_nvlink_recovery_errors_total").top(10).legend("{{name}} recovery"), metric("gpu_nvlink_crc_errors_total").top(10).legend("{{name}} CRC"))
}

func nvlinkTotal() Panel {
	return chart("NVLink throughput", Help{
		Shows:   "what the GPUs exchange over NVLink, both ways together, as bands over the selection. dcgm-exporter exports it by default.",
		Matters: "because gradients and activations travel here; a wide band in one job is a GPU that lost links.",
		Do:      "no traffic in a job on several GPUs: check that NCCL uses NVLink (`NCCL_DEBUG=INFO`), and the links (`nvidia-smi nvlink -s`).",
	}, []Query{metric("gpu_nvlink_throughput_bytes_per_second").reduced("bands")}, positive, otherwise("Not exported, or the boards have no NVLink"))
}

func linksUp() Panel {
	return number("NVLinks up, fewest", metric("gpu_nvlink_links_active").worst("bottomk"), Help{
		Shows:   "how many NVLinks of the GPU with the fewest are up.",
		Matters: "because a GPU that lost a link slows down every collective of its job.",
		Do:      "fewer than the model has (H100 and H200: 18, A100: 12): `nvidia-smi nvlink -s`, then reset the GPUs of the baseboard. Only the agent has it.",
	}, rounded(0), otherwise("not exported"))
}

func fabric() Panel {
	return number("Fabric state, worst", metric("gpu_fabric_state").worst("bottomk"), Help{
		Shows:   "how far the GPU that is furthest behind has joined the NVLink fabric: 3 is completed, 0 not supported, 1 not started, 2 in progress.",
		Matters: "because a GPU that has not joined cannot be used by CUDA on NVSwitch systems.",
		Do:      "1 or 2 for minutes: look at the fabric manager (`journalctl -u nvidia-fabricmanager`). Only the agent has it.",
	}, rounded(0), otherwise("not exported"))
}

func c2c() Panel {
	return linkErrors("Chip-to-chip errors", Help{
		Shows:   "errors a second on the link between CPU and GPU of Grace Hopper and Grace Blackwell.",
		Matters: "because all memory of the CPU goes over it.",
		Do:      "anything that goes on: a case for the vendor. Other boards have no such link.",
	}, metric("gpu_c2c_errors_total").top(10), metric("gpu_c2c_replay_errors_total").top(10).legend("{{name}} replay"))
}
