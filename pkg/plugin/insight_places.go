package plugin

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/insight/health"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// surroundings are what labels in Prometheus say of boards and nodes besides what is measured.
type surroundings struct {
	vbios map[gpu.Identity]string
	nodes map[nodeName]health.NodeState // with the places alone
}

// firmwareLabels are where exporters write the version of a board's VBIOS.
func firmwareLabels() []string {
	return []string{"vbios_version", "DCGM_FI_DEV_VBIOS_VERSION"}
}

// surroundings asks Prometheus where nodes are and which firmware boards have. Nobody has to say: what no label tells is not known.
func (j *judgement) surroundings(ctx context.Context) (surroundings, []gpu.Notice) {
	out := surroundings{vbios: map[gpu.Identity]string{}, nodes: map[nodeName]health.NodeState{}}
	past, ok := j.history.(interface {
		PromQL(ctx context.Context, q query.Query, w query.Window) history.Result
	})
	if !ok || !j.gathered.history || len(j.gathered.devices.Subjects) == 0 {
		return out, nil
	}
	at := j.settings.Insight.Places
	wanted := slices.Concat(firmwareLabels(), at.Rack, at.Power, at.Fabric, at.Leaf)
	asked := query.Query{Type: query.TypePromQL, Expr: j.labelled(wanted), Instant: true, Format: query.FormatTimeSeries}
	asked.Scope.Clusters = j.request.query.Scope.Clusters
	found := past.PromQL(ctx, asked, j.gathered.window)
	if found.Err != nil {
		return out, []gpu.Notice{{Severity: gpu.Info, Text: "Racks, NVLink domains and versions of the VBIOS are not known: " + found.Err.Error() + "."}}
	}
	parents := map[board]gpu.Identity{}
	for _, s := range j.gathered.devices.Subjects {
		b := boardOf(s.Device)
		b.instance = ""
		parents[b] = s.Parent()
	}
	for _, s := range found.Series {
		id, known := j.catalog.Resolve(catalog.LabelMap(s.Labels))
		if !known {
			continue
		}
		if id.Device.Cluster = s.Labels["cluster"]; len(j.settings.Clusters) == 1 {
			id.Device.Cluster = j.settings.Clusters[0].Name // answers of one cluster do not name it
		}
		b := boardOf(id.Device)
		b.instance = ""
		parent, here := parents[b]
		if !here {
			continue
		}
		if version := firstLabel(s.Labels, firmwareLabels()); version != "" {
			out.vbios[parent] = version
		}
		node := nodeName{parent.Cluster, parent.Node}
		n := out.nodes[node]
		n.Rack = cmp.Or(n.Rack, firstLabel(s.Labels, at.Rack))
		n.Feed = cmp.Or(n.Feed, firstLabel(s.Labels, at.Power))
		n.Fabric = cmp.Or(n.Fabric, firstLabel(s.Labels, at.Fabric))
		n.Leaf = cmp.Or(n.Leaf, firstLabel(s.Labels, at.Leaf))
		out.nodes[node] = n
	}
	return out, nil
}

// labelled selects boards with any of some labels, by their devices and those.
func (j *judgement) labelled(labels []string) string {
	names := []string{"gpu_board_info"}
	for _, info := range j.catalog.Info() {
		names = append(names, info.Series)
	}
	if m, ok := j.catalog.Metric(temperature); ok {
		for _, source := range m.Sources {
			names = append(names, source.Series)
		}
	}
	for i, name := range names {
		names[i] = regexp.QuoteMeta(name)
	}
	slices.Sort(names)
	pattern := query.Quote(strings.Join(slices.Compact(names), "|"))
	var parts []string
	for _, label := range labels {
		parts = append(parts, "{__name__=~"+pattern+","+label+`!=""}`)
	}
	by := slices.DeleteFunc(slices.Concat([]string{"cluster"}, j.catalog.DeviceLabels(), labels), func(name string) bool { return strings.Contains(name, ".") })
	slices.Sort(by)
	return "group by (" + strings.Join(slices.Compact(by), ",") + ") (" + strings.Join(parts, " or ") + ")"
}

func firstLabel(labels map[string]string, names []string) string {
	for _, name := range names {
		if value := labels[name]; value != "" {
			return value
		}
	}
	return ""
}
