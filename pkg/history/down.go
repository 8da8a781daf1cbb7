package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// downTag marks, in the tag label, what Prometheus says of targets that it could not scrape.
const downTag = "down"

// downTarget is a target whose last scrape failed: its exporter is down, or what it sent could not be parsed.
type downTarget struct {
	cluster, node string
	from          target
	gpus          bool // its job is, by its name, one of exporters of GPU metrics
}

type downTargets []downTarget

func (h *History) downTarget(cluster string, labels labelSet) downTarget {
	from := h.targetOf(labels, "")
	return downTarget{cluster: cluster, node: h.catalog.Node(labels), from: from, gpus: h.catalog.IsExporterJob(from.job)}
}

// notices name the exporters of GPU metrics in the scope that are down: those whose job is called so, and those of a job
// that other series of the answer come from.
func (d downTargets) notices(scope query.Scope, all collected) []gpu.Notice {
	if len(d) == 0 {
		return nil
	}
	jobs := map[string]bool{}
	for _, c := range all.candidates {
		jobs[c.from.job] = c.from.job != ""
	}
	var names []string
	for _, t := range d {
		if !t.gpus && !jobs[t.from.job] || !t.inScope(scope, all.roster) {
			continue
		}
		name := fmt.Sprintf("%s (job %s)", t.from.instance, t.from.job)
		if t.node != "" && !strings.HasPrefix(t.from.instance, t.node) {
			name = fmt.Sprintf("%s (job %s, node %s)", t.from.instance, t.from.job, t.node)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
		"Prometheus cannot scrape %s of GPU metrics: %s. Each is down, or sends what does not parse; the Targets page of Prometheus says which.",
		plural(len(names), "exporter", "exporters"), listed(names))}}
}

// inScope reports whether the scope selects the target's node, under any name the node is known by.
func (t downTarget) inScope(scope query.Scope, known roll) bool {
	if scope.MatchesNode(t.cluster, t.node) {
		return true
	}
	for _, r := range known.all() {
		if r.device.Cluster == t.cluster && scope.MatchesNode(t.cluster, r.device.Node) &&
			slices.ContainsFunc(r.hosts, func(h hostLabel) bool { return h.value == t.node }) {
			return true
		}
	}
	return false
}

// listed joins names, and counts those after the third.
func listed(names []string) string {
	const shown = 3
	if len(names) > shown {
		return strings.Join(names[:shown], ", ") + fmt.Sprintf(" and %d more", len(names)-shown)
	}
	return strings.Join(names, ", ")
}

// DownExporter is an exporter of GPU metrics that Prometheus could not scrape.
type DownExporter struct {
	Cluster, Node string // as devices call their node, where one is known there
	Instance, Job string
}

// exporters are those in the scope whose job is, by its name, one of exporters of GPU metrics.
func (d downTargets) exporters(scope query.Scope, known roster) []DownExporter {
	if len(d) == 0 {
		return nil
	}
	type place struct{ cluster, host string }
	nodes := map[place]string{}
	for _, r := range known {
		for _, h := range r.hosts {
			if h.value == r.device.Node || nodes[place{r.device.Cluster, h.value}] == "" {
				nodes[place{r.device.Cluster, h.value}] = r.device.Node
			}
		}
	}
	var list []DownExporter
	for _, t := range d {
		if !t.gpus {
			continue
		}
		one := DownExporter{Cluster: t.cluster, Node: cmp.Or(nodes[place{t.cluster, t.node}], t.node), Instance: t.from.instance, Job: t.from.job}
		if scope.MatchesNode(one.Cluster, one.Node) && !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}
