package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// Any is the name of no exporter in particular: the rules as they are shipped.
const Any = "any"

// exporter is one that the rules can be made for.
type exporter struct {
	name    string
	dialect catalog.Dialect
	// generations of names that it writes, besides those that all of its versions write.
	generations []string
}

func exporters() []exporter {
	return []exporter{
		{name: "warpwatch", dialect: catalog.Warpwatch},
		{name: "dcgm-4.8", dialect: catalog.DCGM, generations: []string{"3.x", "4.6"}},
		{name: "dcgm-4.9", dialect: catalog.DCGM, generations: []string{"4.6", "4.9"}},
		{name: "nvidia_smi", dialect: catalog.NvidiaSMI},
	}
}

// Exporters lists the names that For takes.
func Exporters() []string {
	names := []string{Any}
	for _, e := range exporters() {
		names = append(names, e.name)
	}
	return names
}

// For are the shipped rules for one exporter: what its series cannot give is left out of expressions, and rules that nothing is
// left of are left out. Metrics of servers and of Kubernetes stay, whatever exporter GPUs have.
func For(c *catalog.Catalog, name string) ([]Group, error) {
	groups, err := Shipped()
	if err != nil || name == Any {
		return groups, err
	}
	all := exporters()
	at := slices.IndexFunc(all, func(e exporter) bool { return e.name == name })
	if at < 0 {
		return nil, fmt.Errorf("there are no rules for the exporter %q, but for %s", name, strings.Join(Exporters(), ", "))
	}
	return reduce(groups, newNames(c, all[at]))
}

// names knows which series an exporter writes.
type names struct {
	catalog  *catalog.Catalog
	exporter exporter
	// devices are all series of the catalogue that are facts of GPUs, of any exporter.
	devices []string
}

func newNames(c *catalog.Catalog, e exporter) names {
	n := names{catalog: c, exporter: e}
	for _, m := range c.Metrics() {
		if m.Subject != catalog.SubjectDevice {
			continue
		}
		for _, s := range m.Sources {
			n.devices = append(n.devices, s.Series)
		}
	}
	slices.Sort(n.devices)
	n.devices = slices.Compact(n.devices)
	return n
}

// foreign reports whether only other exporters write a series.
func (n names) foreign(series string) bool {
	for _, prefix := range []string{"gpu_", "warpwatch_agent_", "coolant_"} {
		if strings.HasPrefix(series, prefix) {
			return n.exporter.dialect != catalog.Warpwatch
		}
	}
	if sources := n.catalog.Lookup(series); len(sources) > 0 {
		return !slices.ContainsFunc(sources, n.writes)
	}
	return false
}

func (n names) writes(s catalog.Source) bool {
	if m, ok := n.catalog.Metric(s.Metric); ok && m.Subject == catalog.SubjectWorkload {
		return true
	}
	return s.Dialect == n.exporter.dialect && (s.Generation == "" || slices.Contains(n.exporter.generations, s.Generation))
}
