package frames

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// metricName is the label that holds a PromQL series' name.
const metricName = "__name__"

// Labels of a device, in the order that tables show them.
const (
	labelCluster    = "cluster"
	labelNode       = "node"
	labelGPU        = "gpu"
	labelUUID       = "gpu_uuid"
	labelModel      = "model"
	labelMIG        = "mig_id"
	labelMIGProfile = "mig_profile"
)

// deviceLabels is that order.
func deviceLabels() []string {
	return []string{labelCluster, labelNode, labelGPU, labelUUID, labelModel, labelMIG, labelMIGProfile}
}

// Naming makes the names of series. The frames that make up one answer share it, so that a name does not depend on
// which of them a series is in.
type Naming struct {
	Legend   string // template such as "{{node}} {{gpu}}"; "" or "__auto" for the default
	Clusters bool   // devices of several clusters are shown, so names begin with the cluster

	workloads []string // labels that the names of workloads are made of, in their order; nil for devices
}

// OfWorkloads names series by what their labels say of a workload. What all have in common is left out, unless nothing is
// left then.
func (n Naming) OfWorkloads(series []gpu.Series) Naming {
	all := []string{labelCluster, "namespace", "pod", "job", labelModel, "rank", labelNode, "instance"}
	for _, name := range all {
		for _, s := range series {
			if s.Labels[name] != series[0].Labels[name] {
				n.workloads = append(n.workloads, name)
				break
			}
		}
	}
	if len(n.workloads) == 0 {
		n.workloads = all
	}
	return n
}

// workload is the name of a workload's series.
func (n Naming) workload(labels map[string]string) string {
	var parts []string
	for _, name := range n.workloads {
		switch value := labels[name]; {
		case value == "":
		case name == "rank":
			parts = append(parts, "rank "+value)
		default:
			parts = append(parts, value)
		}
	}
	return strings.Join(parts, " · ")
}

// NamingFor looks at the whole answer.
func NamingFor(series []gpu.Series, legend string) Naming {
	n := Naming{Legend: legend}
	for _, s := range series {
		if s.Device.Cluster != series[0].Device.Cluster {
			n.Clusters = true
			break
		}
	}
	return n
}

// isDevice tells a device's series from one that carries labels.
func isDevice(s gpu.Series) bool { return s.Device.Identity != gpu.Identity{} }

// Labels are the dimensions of a series: the identity of its device, or its own labels without the metric's name.
// Dimensions that do not apply are left out.
func Labels(s gpu.Series) map[string]string {
	labels := map[string]string{}
	if isDevice(s) {
		for _, name := range deviceLabels() {
			if value := deviceText(name)(s.Device); value != "" {
				labels[name] = value
			}
		}
	}
	for name, value := range s.Labels {
		if name != metricName && value != "" {
			labels[name] = value
		}
	}
	return labels
}

// deviceText reads one of the labels of a device, nil for a label that is none of them.
func deviceText(label string) func(gpu.Device) string {
	switch label {
	case labelCluster:
		return func(d gpu.Device) string { return d.Cluster }
	case labelNode:
		return func(d gpu.Device) string { return d.Node }
	case labelGPU:
		return func(d gpu.Device) string {
			if d.Index < 0 {
				return ""
			}
			return strconv.Itoa(d.Index)
		}
	case labelUUID:
		return func(d gpu.Device) string { return d.UUID }
	case labelModel:
		return func(d gpu.Device) string { return d.Model }
	case labelMIG:
		return func(d gpu.Device) string { return d.GPUInstance }
	case labelMIGProfile:
		return func(d gpu.Device) string { return d.MIGProfile }
	}
	return nil
}

// display is the name people see.
func (n Naming) display(s gpu.Series) string {
	if n.Legend == "" || n.Legend == "__auto" {
		return n.plain(s)
	}
	labels := Labels(s)
	return legendVariable.ReplaceAllStringFunc(n.Legend, func(found string) string {
		switch name := strings.TrimSpace(found[2 : len(found)-2]); name {
		case "name":
			if own := labels[name]; own != "" {
				return own
			}
			return n.plain(s)
		case metricName:
			return s.Labels[metricName]
		default:
			return labels[name]
		}
	})
}

var legendVariable = regexp.MustCompile(`\{\{[^{}]*\}\}`)

// plain is the default name: the device's, the members of an aggregate's group, or the series as PromQL writes it.
func (n Naming) plain(s gpu.Series) string {
	if isDevice(s) {
		if n.Clusters && s.Device.Cluster != "" {
			return s.Device.Cluster + " · " + s.Device.Name()
		}
		return s.Device.Name()
	}
	labels := Labels(s)
	if text := n.workload(labels); text != "" {
		return text
	}
	if name, ok := s.Labels[metricName]; ok || !isGroup(labels) {
		return name + selector(labels)
	}
	var parts []string
	for _, label := range deviceLabels() {
		if value := labels[label]; value != "" {
			parts = append(parts, value)
		}
	}
	return strings.Join(parts, " · ")
}

// isGroup reports whether the labels are those of an aggregate over devices.
func isGroup(labels map[string]string) bool {
	for name := range labels {
		if !slices.Contains(deviceLabels(), name) {
			return false
		}
	}
	return len(labels) > 0
}

func selector(labels map[string]string) string {
	names := sortedLabels(labels)
	for i, name := range names {
		names[i] = name + "=" + strconv.Quote(labels[name])
	}
	if len(names) == 0 {
		return ""
	}
	return "{" + strings.Join(names, ", ") + "}"
}

// sortedLabels puts a device's labels first, in their order, then the others by name.
func sortedLabels(labels map[string]string) []string {
	names := make([]string, 0, len(labels))
	for _, name := range deviceLabels() {
		if _, ok := labels[name]; ok {
			names = append(names, name)
		}
	}
	first := len(names)
	for name := range labels {
		if !slices.Contains(names[:first], name) {
			names = append(names, name)
		}
	}
	slices.Sort(names[first:])
	return names
}

// fieldNames are the default names, made distinct: Grafana's streaming frames find a field's earlier values by it.
// Names that occur twice, as when a GPU was replaced and its index reused, get the UUID or the labels added.
func (n Naming) fieldNames(series []gpu.Series) []string {
	names, count := make([]string, len(series)), map[string]int{}
	for i, s := range series {
		names[i] = n.plain(s)
		if names[i] == "" {
			names[i] = data.TimeSeriesValueFieldName
		}
		count[names[i]]++
	}
	used := map[string]int{}
	for i, s := range series {
		if count[names[i]] > 1 {
			names[i] += " " + selector(Labels(s))
		}
		used[names[i]]++
		if again := used[names[i]]; again > 1 {
			names[i] += " " + strconv.Itoa(again)
		}
	}
	return names
}
