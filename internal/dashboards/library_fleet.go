package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/nodegraph"

	"github.com/warpwatch/warpwatch/pkg/query"
)

// fleetPanel is the app's own panel: a cell for each GPU and MIG instance.
const fleetPanel = "warpwatch-fleet-panel"

// fleetHeight is a map of some hundred nodes.
const fleetHeight = 9

// fleetOf makes a panel of the app. What it does not say are the panel's own defaults.
func fleetOf(l look) cog.Builder[dashboard.Panel] {
	return ownPanel{dashboard.Panel{Type: fleetPanel, Options: l.options}}
}

// ownPanel is a panel that the SDK has no builder of.
type ownPanel struct{ panel dashboard.Panel }

// Build returns the panel.
func (p ownPanel) Build() (dashboard.Panel, error) { return p.panel, nil }

// fleetBy is a map of the fleet, coloured by "value" or "verdict", in groups of a dimension.
func fleetBy(title, colour, group string, q Query, help Help, changes ...change) Panel {
	l := look{kind: fleetPanel, options: map[string]any{"version": 1, "colorBy": colour, "groupBy": group}}
	return panel(title, full, fleetHeight, help, l, []Query{q}, changes)
}

// verdictMap shows health.
func verdictMap(group string) Panel {
	return fleetBy("Health of every GPU", "verdict", group, judge(query.TypeHealth, "gpus", map[string]any{"least": "ok"}).rows(10_000).with("live", false), Help{
		Shows:   "each GPU and MIG instance as a cell, in the colour of its severity. Hatched: nobody tells.",
		Matters: "because where the red cells are says more than how many: one node, one rack or one model.",
		Do:      "hover to see which it is, click a cell for its dashboards. Cells of one node together are one fault.",
		SMI:     "none; `nvidia-smi -q` on every node",
	}, func(l *look) { l.unitless = true }, otherwise("No GPU is known"))
}

// valueMap shows a metric's newest values.
func valueMap(title, name, group string, help Help) Panel {
	return fleetBy(title, "value", group, metric(name).with("format", query.FormatMatrix), help, otherwise("not exported"))
}

// busyMap is who works now.
func busyMap(group string) Panel {
	p := valueMap("How busy every GPU is", "gpu_graphics_engine_active_ratio", group, Help{
		Shows:   "each GPU and MIG instance as a cell, coloured by the share of time in which its engine worked, now. Hatched: not measured, which is not idle.",
		Matters: "because dark blocks are room: whole nodes for large jobs, or holes that only small ones fit into.",
		Do:      "dark nodes with an owner: see who holds them idle. dcgm-exporter exports it by default where profiling is allowed.",
	})
	p.look.min, p.look.max = cog.ToPtr(0.0), cog.ToPtr(1.0)
	return p
}

func nodeGraphOf(look) cog.Builder[dashboard.Panel] { return nodegraph.NewPanelBuilder() }

// topologyGraph is how GPUs hang together.
func topologyGraph(title string, options map[string]any, help Help) Panel {
	q := Query{Type: query.TypeTopology}
	if len(options) > 0 {
		q = q.with("options", options)
	}
	return panel(title, full, 14, help, look{kind: "nodeGraph", unitless: true}, []Query{q}, []change{otherwise("No GPU is known")})
}

func wiring() Panel {
	return topologyGraph("How GPUs hang together", map[string]any{"parts": []string{"pcie", "nvlink"}}, Help{
		Shows:   "nodes, their GPUs, and the links between: PCIe with generation, width and what it carries, NVLink with the links that are up. Dashed: nobody measures it.",
		Matters: "because a link that is narrow, slow or down is seen as such only beside its neighbours.",
		Do:      "red edges are down, orange ones degraded: hover for why. At idle PCIe slows down by design. Choose one node to see it large.",
		SMI:     "`nvidia-smi topo -m`, `nvidia-smi nvlink -s` and `nvidia-smi -q -d PCIE`",
	})
}

func migRoom() Panel {
	return topologyGraph("What is split, and what still fits", map[string]any{"parts": []string{"mig"}}, Help{
		Shows:   "each GPU that is split with its instances, and the profiles that still fit on it. The ring is the slices in instances, free, and stranded.",
		Matters: "because free slices do not add up: where instances stand decides which profile still fits.",
		Do:      "much stranded (orange): move an instance when its owner lets you, or ask for the profile that fits.",
		SMI:     "`nvidia-smi mig -lgi` and `nvidia-smi mig -lgip`",
	})
}
