package dashboards

import (
	"github.com/warpwatch/warpwatch/pkg/query"
)

func coverageTable() Panel {
	return grid("What is measured, and what is not", ask(query.TypeCoverage), Help{
		Shows:   "each metric of the catalogue: which exporter gives it under which name, for how many GPUs, and what to do to get it where it is missing.",
		Matters: "because an empty panel is most often a field that the exporter leaves out.",
		Do:      "filter the status by `missing`, and put the line under `enable` into the exporter's configuration.",
		SMI:     "none",
	}, []column{
		{field: "status", title: "Status", width: 95}, {field: "cluster", title: "Cluster", width: 90}, {field: "metric", title: "Metric", width: 300}, {field: "covered", title: "Covered", width: 85}, {field: "total", title: "Of", width: 65},
		{field: "dialect", title: "Exporter", width: 110}, {field: "series", title: "Series", width: 300}, {field: "enable", title: "To get it"}, {field: "why", title: "How it is known", width: 220},
	}, otherwise("Nothing is known of the selection")).sized(full, 14)
}

func agentsTable() Panel {
	p := lostGPUs().titled("GPUs, by how fresh they are")
	p.Help = Help{
		Shows:   "each GPU with the state of the connection to its node's agent, the age of its newest sample, and whether it comes live or from Prometheus.",
		Matters: "because a value that is old looks like a value that is steady.",
		Do:      "stale or refused: see the agents in the app (Coverage). `none`: the node has no agent, history alone knows it.",
		SMI:     "none; `systemctl status warpwatch-agent` on the node",
	}
	p.look.sort = nil
	return p
}

func scrapes(title, expr, legend string, help Help, changes ...change) Panel {
	help.SMI = "none; it is a number of Prometheus"
	return chart(title, help, []Query{promql(expr).legend(legend)}, append([]change{positive}, changes...)...)
}

func targetsDown() Panel {
	return panel("Targets down", third, statHeight, Help{
		Shows:   "how many GPU exporters and agents the Prometheus of each cluster cannot scrape.",
		Matters: "because a node that is not scraped is in no average.",
		Do:      "see the targets in Prometheus; a node that is down has its exporter down too.",
		SMI:     "none",
	}, look{kind: "stat", colour: "blue"}, []Query{promql(`sum(up{job=~".*(dcgm|nvidia|gpu|warpwatch).*"} == bool 0)`).legend("{{cluster}}")}, []change{anyIs("red"), rounded(0), in("none"), otherwise("not scraped")})
}

func agentsRefusing() Panel {
	return scrapes("Agents that lose samples", "sum by (instance) (rate(warpwatch_agent_missed_periods_total[$__rate_interval]))", "{{instance}}", Help{
		Shows:   "how many sampling periods a second each agent missed.",
		Matters: "because gaps of a second hide spikes of a second.",
		Do:      "a node with all CPUs busy: give the agent a CPU reservation, or a longer period.",
	}, in("cps"), otherwise("Not exported: have Prometheus scrape warpwatch-agent on the nodes"))
}

func sampleCost() Panel {
	return scrapes("What sampling costs", "sum by (instance) (rate(warpwatch_agent_sample_duration_seconds_sum[$__rate_interval]))", "{{instance}}", Help{
		Shows:   "the share of time that each agent spends in asking the driver.",
		Matters: "because the agent must not be felt by the job beside it.",
		Do:      "above 0.2: choose a smaller profile of metrics, or a longer period.",
	}, between(0, 1), in("percentunit"), otherwise("Not exported: have Prometheus scrape warpwatch-agent on the nodes"))
}

func scrapeTime() Panel {
	return scrapes("Slowest scrapes", `topk(10, max by (job, instance) (scrape_duration_seconds{job=~".*(dcgm|nvidia|gpu|warpwatch).*"}))`, "{{job}} {{instance}}", Help{
		Shows:   "how long Prometheus takes to scrape the slowest GPU exporters and agents.",
		Matters: "because a scrape that takes as long as its interval leaves gaps.",
		Do:      "above a few seconds: the driver hangs on one GPU, or the exporter has too many series.",
	}, in("s"), otherwise("No GPU exporter is scraped"))
}

func seriesCount() Panel {
	return scrapes("Series by exporter", `sum by (job) (scrape_samples_post_metric_relabeling{job=~".*(dcgm|nvidia|gpu|warpwatch).*"})`, "{{job}}", Help{
		Shows:   "how many series each kind of exporter gives Prometheus.",
		Matters: "because series are what Prometheus is sized by.",
		Do:      "a jump: a label that changes all the time, such as a process id; drop it when scraping.",
	}, in("short"), otherwise("No GPU exporter is scraped"))
}

func pluginCache() Panel {
	return scrapes("What the data source remembers", "sum by (result) (rate(warpwatch_history_cache_requests_total[$__rate_interval]))", "{{result}}", Help{
		Shows:   "how many questions a second the data source answers from its memory, in part, or not at all.",
		Matters: "because what it remembers Prometheus is not asked.",
		Do:      "mostly misses: raise the cache in the data source's settings, or look for dashboards whose range is never the same.",
	}, in("reqps"), otherwise("Not exported: have Prometheus scrape Grafana's /metrics/plugins/warpwatch-gpu-datasource"))
}
