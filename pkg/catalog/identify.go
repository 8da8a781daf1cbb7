package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Labels gives the value of a label, "" when it is not set.
type Labels interface {
	Get(name string) string
}

// LabelMap is Labels in a map.
type LabelMap map[string]string

// Get implements Labels.
func (m LabelMap) Get(name string) string { return m[name] }

// Owner is the workload a GPU was given to. The zero value is "unassigned".
type Owner struct {
	Namespace string
	Pod       string
	Container string
	Job       string // of Slurm or another batch system
}

// Identified is what a series' labels say about the device it describes.
type Identified struct {
	Device gpu.Device // Cluster is left empty; Index is -1 when not known
	Owner  Owner
	// NodeLabel is the label the node's name was taken from, "" when there is none.
	NodeLabel string
	// Useless is a host label's value that was passed over, like "localhost"; "" when none was.
	Useless string
}

// Identify reads a device and its owner out of a series' labels. A MIG instance is named by its GPU instance; series do
// not tell compute instances apart. It reports false when the labels do not hold a GPU's UUID, because nothing else names
// a GPU for its whole life.
func (c *Catalog) Identify(labels Labels) (gpu.Device, Owner, bool) {
	id, ok := c.Resolve(labels)
	return id.Device, id.Owner, ok
}

// Resolve is Identify with the reasons: which label gave the node's name, and which host label was of no use.
func (c *Catalog) Resolve(labels Labels) (Identified, bool) {
	uuid, mig := canonicalUUID(first(labels, c.labels.UUID))
	if uuid == "" {
		return Identified{}, false
	}
	id := Identified{Device: gpu.Device{
		Identity: gpu.Identity{
			UUID: uuid, GPUInstance: first(labels, c.labels.MIGID),
		},
		Index:      firstIndex(labels, c.labels.Index),
		Model:      firstModel(labels, c.labels.Model),
		PCIBusID:   known(first(labels, c.labels.PCIBusID)),
		Driver:     known(first(labels, c.labels.Driver)),
		MIGUUID:    first(labels, c.labels.MIGUUID),
		MIGEnabled: first(labels, c.labels.MIGEnabled) == "true",
	}}
	if mig != "" {
		id.Device.MIGUUID = mig
	}
	if id.Device.IsMIG() {
		id.Device.MIGProfile = first(labels, c.labels.MIGProfile)
		id.Device.MIGEnabled = true
	}
	id.Device.Node, id.NodeLabel, id.Useless = c.node(labels)
	if uuid == nilUUID || len(uuid) < shortestUnique && !strings.HasPrefix(uuid, "GPU-") {
		// Others on other nodes have the same, so it names a GPU only together with its node.
		id.Device.UUID += NodeMark + id.Device.Node
	}
	id.Owner = c.owner(labels)
	return id, true
}

// node picks the host's name. A host label that says nothing is used only when there is no other.
func (c *Catalog) node(labels Labels) (name, label, useless string) {
	var lastName, lastLabel string
	for _, candidate := range c.labels.Node {
		value := labels.Get(candidate)
		if candidate == "instance" {
			value = withoutPort(value)
		}
		switch {
		case value == "":
		case c.useless.MatchString(value) || c.exporters.MatchString(value) || candidate != "instance" && c.isPod(labels, value):
			if useless == "" {
				useless, lastName, lastLabel = value, value, candidate
			}
		default:
			return value, candidate, useless
		}
	}
	return lastName, lastLabel, useless
}

// UselessHosts is a regular expression for the host labels that name no node.
func (c *Catalog) UselessHosts() string { return c.useless.String() + "|" + c.exporters.String() }

// Node is the name of the node that labels of any series tell, "" when they tell none.
func (c *Catalog) Node(labels Labels) string {
	name, _, _ := c.node(labels)
	return name
}

// IsExporterJob reports whether a scrape job is, by its name, one of exporters of GPU metrics.
func (c *Catalog) IsExporterJob(job string) bool { return c.exporterJobs.MatchString(job) }

// isPod reports whether a host's name is that of the pod the series are scraped from: without NODE_NAME in its environment
// an exporter takes its own for the host's.
func (c *Catalog) isPod(labels Labels, host string) bool {
	for _, family := range c.labels.Owner {
		if labels.Get(family.Pod) == host {
			return true
		}
	}
	return false
}

// isHost reports whether a pod is what the series call their host.
func (c *Catalog) isHost(labels Labels, pod string) bool {
	for _, name := range c.labels.Node {
		if labels.Get(name) == pod {
			return true
		}
	}
	return false
}

// owner is the workload of the first family of labels that names a pod which is not an exporter.
func (c *Catalog) owner(labels Labels) Owner {
	owner := Owner{Job: first(labels, c.labels.Job)}
	for _, family := range c.labels.Owner {
		pod, container := known(labels.Get(family.Pod)), labels.Get(family.Container)
		if pod == "" || c.exporters.MatchString(pod) || c.exporterContainers.MatchString(container) || c.isHost(labels, pod) {
			continue
		}
		owner.Pod, owner.Namespace, owner.Container = pod, labels.Get(family.Namespace), container
		return owner
	}
	return owner
}

// NodeLabels are the labels a node's name may be in, the most trusted first. The slice is shared and must not be changed.
func (c *Catalog) NodeLabels() []string { return c.labels.Node }

// PodLabels are the labels an owner's pod may be in.
func (c *Catalog) PodLabels() []string {
	var labels []string
	for _, family := range c.labels.Owner {
		labels = append(labels, family.Pod)
	}
	return labels
}

// UUIDLabels are the labels a GPU's UUID may be in. The slice is shared and must not be changed.
func (c *Catalog) UUIDLabels() []string { return c.labels.UUID }

// InstanceLabels are the labels of which one names the MIG instance that a series is of. The slice is shared and must not be
// changed.
func (c *Catalog) InstanceLabels() []string { return c.labels.MIGID }

// IdentityLabels are all labels that Identify reads, without duplicates: what a query must keep to name devices.
func (c *Catalog) IdentityLabels() []string {
	l := c.labels
	lists := [][]string{c.DeviceLabels(), l.Job}
	for _, family := range l.Owner {
		lists = append(lists, []string{family.Pod, family.Namespace, family.Container})
	}
	return unique(lists...)
}

// unique joins lists, each name once.
func unique(lists ...[]string) []string {
	var names []string
	seen := map[string]bool{}
	for _, list := range lists {
		for _, name := range list {
			if name != "" && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}

// DeviceLabels are the labels that Identify reads a device from, without those of its owner.
func (c *Catalog) DeviceLabels() []string {
	l := c.labels
	return slices.Concat(l.Node, l.UUID, l.Index, l.Model, l.MIGID, l.MIGProfile, l.MIGUUID, l.PCIBusID, l.Driver, l.MIGEnabled)
}

// first is the value of the first label that is set.
func first(labels Labels, names []string) string {
	for _, name := range names {
		if value := labels.Get(name); value != "" {
			return value
		}
	}
	return ""
}

// nilUUID is what some virtual machines, and people who hide their data, have in place of a UUID.
const nilUUID = "GPU-00000000-0000-0000-0000-000000000000"

// shortestUnique is the length from which an identifier that is no UUID is taken to be unique in the world: hw.id of
// OpenTelemetry need only be so on its host.
const shortestUnique = 12

// NodeMark stands between a UUID that is not unique and the node it is on.
const NodeMark = "@"

// canonicalUUID gives a GPU's UUID the prefix that NVML writes and nvidia_gpu_exporter strips. The UUID of a MIG device
// is not its parent's, so it names no GPU.
func canonicalUUID(text string) (uuid, mig string) {
	switch {
	case text == "" || strings.HasPrefix(text, "MIG-"):
		return "", text
	case strings.HasPrefix(text, "GPU-"):
		return text, ""
	case isUUID(text):
		return "GPU-" + text, ""
	}
	return text, ""
}

// isUUID reports whether text looks like 5e1f0000-0a00-4a00-8b00-000000000000.
func isUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i := range len(text) {
		c := text[i]
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
		default:
			return false
		}
	}
	return true
}

// firstIndex is the first label that is a GPU's number, -1 when none is: some exporters write its model there. A MIG
// device of nvitop is "3:0".
func firstIndex(labels Labels, names []string) int {
	for _, name := range names {
		text, _, _ := strings.Cut(labels.Get(name), ":")
		if !isNumber(text) {
			continue
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 0 {
			return n
		}
	}
	return -1
}

// firstModel is the first label that says something and is no number.
func firstModel(labels Labels, names []string) string {
	for _, name := range names {
		value := known(labels.Get(name))
		if value == "" {
			continue
		}
		if !isNumber(value) {
			return value
		}
	}
	return ""
}

// isNumber reports whether strconv.Atoi reads a text. It is asked of so many texts that are none that the errors would cost.
func isNumber(text string) bool {
	digits := text
	if len(text) > 1 && (text[0] == '-' || text[0] == '+') {
		digits = text[1:]
	}
	if digits == "" || strings.ContainsFunc(digits, func(c rune) bool { return c < '0' || c > '9' }) {
		return false
	}
	_, err := strconv.Atoi(text)
	return err == nil
}

// known drops nvidia-smi's ways of saying that there is no value.
func known(text string) string {
	if strings.HasPrefix(text, "[") || text == "N/A" {
		return ""
	}
	return text
}

// withoutPort turns "10.0.0.1:9400" into "10.0.0.1" and "[::1]:9400" into "::1".
func withoutPort(instance string) string {
	if end := strings.IndexByte(instance, ']'); strings.HasPrefix(instance, "[") && end > 0 {
		return instance[1:end]
	}
	if strings.Count(instance, ":") != 1 {
		return instance
	}
	host, _, _ := strings.Cut(instance, ":")
	return host
}
