package dashboards

const notScraped = "no server is scraped"

func served(title string, q Query, help Help, changes ...change) Panel {
	help.SMI = "none: it is a number of the server, not of the GPU"
	return number(title, q, help, append([]change{otherwise(notScraped)}, changes...)...)
}

func ttft() Panel {
	return served("First token, p95", metric("serve_ttft_seconds").by("cluster", "p95"), Help{
		Shows:   "the time to the first token that 95 of 100 requests stay below, over all servers of each cluster.",
		Matters: "because it is what a user waits before anything moves.",
		Do:      "above a second: look at the queue. Queue empty: prompts are long, or prefill and decode get in each other's way.",
	}, rising(1, 3), rounded(2))
}

func endToEnd() Panel {
	return served("Whole request, p95", metric("serve_e2e_seconds").by("cluster", "p95"), Help{
		Shows:   "the time that 95 of 100 requests take from start to end.",
		Matters: "because clients give up by it.",
		Do:      "long answers take long: compare with the time per token before you blame the GPU.",
	}, rounded(1))
}

func waiting() Panel {
	return served("Requests waiting", metric("serve_requests_waiting").by("cluster", "sum"), Help{
		Shows:   "requests that wait for a server, over all servers of each cluster.",
		Matters: "because a queue that grows does not come back without more servers or less work.",
		Do:      "growing with the cache full: more replicas. Growing with the cache empty: raise the server's limit of sequences.",
	}, rising(10, 50), rounded(0))
}

func kvCache() Panel {
	return served("Fullest KV cache", metric("serve_kv_cache_ratio").by("cluster", "max"), Help{
		Shows:   "how full the cache of keys and values of the fullest server is.",
		Matters: "because a full cache puts requests back into the queue, and work is done twice.",
		Do:      "above 0.95: more replicas, shorter contexts, or a cache of smaller precision.",
	}, between(0, 1), rising(0.85, 0.95), rounded(0))
}

func tokens() Panel {
	return served("Tokens a second", metric("serve_generation_tokens_total").by("cluster", "sum"), Help{
		Shows:   "tokens that all servers of each cluster generate in a second.",
		Matters: "because it is what the GPUs are paid for.",
		Do:      "falling while requests wait: see what holds the GPUs back.",
	}, rounded(0), in("cps"))
}

func failures() Panel {
	return served("Requests that fail", metric("serve_request_failures_total").by("cluster", "sum"), Help{
		Shows:   "requests a second that fail, over all servers of each cluster.",
		Matters: "because fast failures make every latency look better.",
		Do:      "look at the server's log; after an XID all servers on the GPU fail.",
	}, rising(0.01, 1), rounded(2), in("cps"))
}

func latency(title, name string, help Help) Panel {
	help.SMI = "none: it is a number of the server, not of the GPU"
	return chart(title, help, []Query{metric(name).by("model", "p50").legend("{{model}} p50"), metric(name).by("model", "p95").legend("{{model}} p95"), metric(name).by("model", "p99").legend("{{model}} p99")}, positive, otherwise("No selected server exports it"))
}

func trained(title string, q Query, help Help, changes ...change) Panel {
	help.SMI = "none: it is a number of the job, not of the GPU"
	return number(title, q, help, append([]change{otherwise("no job exports it")}, changes...)...)
}

func stepTime() Panel {
	return trained("Step", metric("train_step_seconds").by("job", "max"), Help{
		Shows:   "how long the newest step of the slowest rank of each job took.",
		Matters: "because it times the number of steps is the bill.",
		Do:      "longer than yesterday at the same batch: see what holds the job back. Jobs must export it; the agent's Python helper does.",
	}, rounded(2))
}

func trainingChart(title string, help Help, queries []Query, changes ...change) Panel {
	help.SMI = "none: it is a number of the job, not of the GPU"
	return chart(title, help, queries, append([]change{otherwise("No selected job exports it")}, changes...)...)
}

func stepParts() Panel {
	q := func(name, label string) Query { return metric(name).by("job", "max").legend("{{job}} " + label) }
	return trainingChart("Parts of a step", Help{
		Shows:   "how long the slowest rank of each job waits for data, computes forwards and backwards, is in collectives, and in the optimizer.",
		Matters: "because each part has another cure: storage and CPU, kernels, links, memory.",
		Do:      "waiting for data: more loaders. Collectives: look at Interconnect, and for a rank that is slower than the others.",
	}, []Query{q("train_data_load_seconds", "data"), q("train_forward_seconds", "forward"), q("train_backward_seconds", "backward"), q("train_allreduce_seconds", "collectives"), q("train_optimizer_seconds", "optimizer")}, positive)
}

func trainTokens() Panel {
	return trainingChart("Tokens a second", Help{
		Shows:   "tokens that each job trains on in a second, over all its ranks.",
		Matters: "because it is the speed of the job, whatever the GPUs say.",
		Do:      "a fall that stays: look at the events and at what holds it back at that time. Short falls are checkpoints.",
	}, []Query{metric("train_tokens_per_second").by("job", "sum")}, positive)
}

func loss() Panel {
	return trainingChart("Loss and norm of the gradient", Help{
		Shows:   "the loss of each job, and the norm of its gradients.",
		Matters: "because a job that diverges wastes all GPUs it has, at full utilization.",
		Do:      "a jump: go back to the checkpoint before it. A jump right after an ECC error or XID 94 or 95: suspect the GPU.",
	}, []Query{metric("train_loss").by("job", "avg").legend("{{job}} loss"), metric("train_grad_norm").by("job", "max").legend("{{job}} norm")})
}

func checkpoints() Panel {
	return trainingChart("Time in checkpoints", Help{
		Shows:   "the share of time that each job spends in writing checkpoints.",
		Matters: "because GPUs wait for the storage meanwhile.",
		Do:      "above 0.05: write in the background, less often, or to faster storage.",
	}, []Query{metric("train_checkpoint_seconds_total").by("job", "max")}, between(0, 1))
}

func trainMemory() Panel {
	return trainingChart("Memory of the framework", Help{
		Shows:   "the memory that tensors take, and what the allocator of the fullest rank holds.",
		Matters: "because the space between the two is fragmentation: memory that is held and cannot be used.",
		Do:      "a wide space: `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`. Both rising over steps: a leak.",
	}, []Query{metric("train_memory_allocated_bytes").by("job", "max").legend("{{job}} tensors"), metric("train_memory_reserved_bytes").by("job", "max").legend("{{job}} held")}, positive)
}
