// Package export writes what the agent knows as Prometheus text. It reads snapshots only: a scrape never reaches the
// driver, and costs the same whatever the number of GPUs that hang.
package export

import (
	"strconv"
	"strings"

	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// layout is everything about a schema's text but the values, prepared once.
type layout struct {
	schema   *snapshot.Schema
	families []family
	info     []byte            // the info series, whole
	labels   map[string]string // of boards, by UUID
}

// family is a metric with its series.
type family struct {
	header []byte
	series []series
}

type series struct {
	column int
	prefix []byte // name and labels, up to the blank before the value
}

func newLayout(s *snapshot.Schema) *layout {
	l := &layout{schema: s, labels: map[string]string{}}
	// Columns come device by device, text goes metric by metric.
	byMetric := map[string]int{}
	for i, c := range s.Columns {
		at, ok := byMetric[c.Row.Name]
		if !ok {
			at = len(l.families)
			byMetric[c.Row.Name] = at
			l.families = append(l.families, family{header: header(c.Row.Name, c.Row.Help, string(c.Row.Kind))})
		}
		prefix := c.Row.Name + "{" + labels(s.Devices[c.Device])
		if name, value := c.Metric.Label(); name != "" {
			prefix += label(name, value)
		}
		prefix += "} "
		l.families[at].series = append(l.families[at].series, series{column: i, prefix: []byte(prefix)})
	}
	var boards, instances strings.Builder
	for _, d := range s.Devices {
		if d.IsMIG() {
			instances.WriteString("gpu_mig_info{" + labels(d) + label("mig_uuid", d.MIGUUID) +
				label("compute_instance_id", d.ComputeInstance) + "} 1\n")
			continue
		}
		l.labels[d.UUID] = labels(d)
		boards.WriteString("gpu_info{" + labels(d) + label("pci_bus_id", d.PCIBusID) + label("driver_version", d.Driver) +
			label("mig_enabled", strconv.FormatBool(d.MIGEnabled)) + "} 1\n")
	}
	if boards.Len() > 0 {
		l.info = append(header("gpu_info", "What a GPU is; always 1.", "gauge"), boards.String()...)
	}
	if instances.Len() > 0 {
		l.info = append(append(l.info, header("gpu_mig_info", "What a MIG instance is; always 1.", "gauge")...), instances.String()...)
	}
	return l
}

// labels are the labels of every series of a device.
func labels(d gpu.Device) string {
	var b strings.Builder
	if d.Cluster != "" {
		b.WriteString(label("cluster", d.Cluster))
	}
	b.WriteString(label("node", d.Node) + label("gpu", strconv.Itoa(d.Index)) + label("gpu_uuid", d.UUID) + label("model", d.Model))
	if d.IsMIG() {
		b.WriteString(label("mig_id", d.GPUInstance) + label("mig_profile", d.MIGProfile))
	}
	return b.String()[1:]
}

// nodeLabels are the labels of a series of the node as a whole.
func nodeLabels(n snapshot.Node) string {
	text := label("node", n.Name)
	if n.Cluster != "" {
		text = label("cluster", n.Cluster) + text
	}
	return text[1:]
}

var escapeLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
var escapeHelp = strings.NewReplacer(`\`, `\\`, "\n", `\n`)

// label is a label with the comma before it. Text that is not UTF-8 would make the whole answer unreadable.
func label(name, value string) string {
	return "," + name + `="` + escapeLabel.Replace(strings.ToValidUTF8(value, "\uFFFD")) + `"`
}

func header(name, help, kind string) []byte {
	return []byte("# HELP " + name + " " + escapeHelp.Replace(help) + "\n# TYPE " + name + " " + kind + "\n")
}

// xidRow is the catalogue's row for XID errors, which are counted by code and therefore no column.
func xidRow(c *catalog.Catalog) (catalog.Metric, bool) { return c.Metric("gpu_xid_errors_total") }
