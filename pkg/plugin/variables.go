package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// maxVariableValues bounds a variable's drop-down; a longer one is of no use and slows the page down.
const maxVariableValues = 5000

// variable is one choice of a dashboard variable.
type variable struct {
	Value string `json:"value"`
	Text  string `json:"text"`
}

// variableKinds are what variables can list.
func variableKinds() []string { return []string{"cluster", "node", "gpu", "mig", "model"} }

func unknownKind(kind string) error {
	return fmt.Errorf("kind %q is not known: use one of %s", kind, strings.Join(variableKinds(), ", "))
}

// variableValues lists the devices of a scope as choices of a kind, each once, in the order of the devices.
func variableValues(devices []gpu.Device, kind string, scope query.Scope) ([]variable, []gpu.Notice) {
	devices = slices.DeleteFunc(slices.Clone(devices), func(d gpu.Device) bool { return !scope.Matches(d) })
	slices.SortStableFunc(devices, byPlace)
	clusters := slices.ContainsFunc(devices, func(d gpu.Device) bool { return d.Cluster != devices[0].Cluster })
	values, seen := []variable{}, map[string]bool{}
	for _, d := range devices {
		v, ok := choice(d, kind, clusters)
		key := v.Value
		if kind == "model" {
			key = v.Text // the spellings of one model select the same
		}
		if !ok || seen[key] {
			continue
		}
		seen[key] = true
		values = append(values, v)
	}
	if kind == "cluster" || kind == "model" {
		slices.SortFunc(values, func(a, b variable) int { return strings.Compare(a.Text, b.Text) })
	}
	if len(values) > maxVariableValues {
		return values[:maxVariableValues], []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
			"Showing %d of %d choices: choose a cluster or a node first.", maxVariableValues, len(values))}}
	}
	return values, nil
}

// byPlace orders devices as people look for them: by index within a node.
func byPlace(a, b gpu.Device) int {
	if c := cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Node, b.Node), a.Index-b.Index); c != 0 {
		return c
	}
	return a.Compare(b.Identity)
}

// choice is a device as a choice of the kind, false when it is none.
func choice(d gpu.Device, kind string, clusters bool) (variable, bool) {
	name := d.Name()
	if clusters && d.Cluster != "" {
		name = d.Cluster + " · " + name
	}
	switch kind {
	case "cluster":
		return variable{d.Cluster, d.Cluster}, d.Cluster != ""
	case "node":
		return variable{d.Node, d.Node}, d.Node != ""
	case "gpu":
		return variable{d.UUID, name}, d.UUID != "" && !d.IsMIG()
	case "mig":
		return variable{query.MIGKey(d.Identity), name}, d.IsMIG()
	default:
		return variable{d.Model, gpu.ShortModel(d.Model)}, d.Model != ""
	}
}
