package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// maxVariableValues bounds a variable's drop-down; a longer one is of no use and slows the page down. What a search
// finds is looked for in all.
const maxVariableValues = 1000

// variable is one choice of a dashboard variable.
type variable struct {
	Value string `json:"value"`
	Text  string `json:"text"`
}

// variableKinds are what variables can list.
func variableKinds() []string {
	return []string{"cluster", "node", "gpu", "mig", "model", "profile", "namespace", "pod", "job"}
}

// ofOwners reports whether a kind is of workloads, which devices alone do not tell.
func ofOwners(kind string) bool { return kind == "namespace" || kind == "pod" || kind == "job" }

func unknownKind(kind string) error {
	return fmt.Errorf("kind %q is not known: use one of %s", kind, strings.Join(variableKinds(), ", "))
}

// variableValues lists the members of a scope as choices of a kind, each once, in the order of the devices or of their
// names. search keeps those whose text or value it is part of.
func variableValues(members []history.Member, kind string, scope query.Scope, search string) ([]variable, []gpu.Notice) {
	members = slices.DeleteFunc(slices.Clone(members), func(m history.Member) bool {
		return !scope.Matches(m.Device) || scope.ByOwner() && !scope.MatchesOwner(m.Owner.Namespace, m.Owner.Pod, m.Owner.Job)
	})
	slices.SortStableFunc(members, func(a, b history.Member) int { return byPlace(a.Device, b.Device) })
	several := severalOf(members)
	values, seen := []variable{}, map[string]bool{}
	search = strings.ToLower(search)
	for _, m := range members {
		v, ok := choice(m, kind, several)
		key := v.Value
		if kind == "model" {
			key = v.Text // the spellings of one model select the same
		}
		if !ok || seen[key] {
			continue
		}
		seen[key] = true
		if strings.Contains(strings.ToLower(v.Text), search) || strings.Contains(strings.ToLower(v.Value), search) {
			values = append(values, v)
		}
	}
	if kind != "node" && kind != "gpu" && kind != "mig" {
		slices.SortFunc(values, func(a, b variable) int {
			return cmp.Or(strings.Compare(a.Text, b.Text), strings.Compare(a.Value, b.Value))
		})
	}
	if len(values) > maxVariableValues {
		return values[:maxVariableValues], []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
			"Showing %d of %d choices: choose a cluster or a node first, or search for a part of the name.", maxVariableValues, len(values))}}
	}
	return values, nil
}

// several says of what there is more than one, so that texts name it.
type several struct{ clusters, namespaces bool }

func severalOf(members []history.Member) several {
	var s several
	namespace := ""
	for _, m := range members {
		s.clusters = s.clusters || m.Device.Cluster != members[0].Device.Cluster
		if m.Owner.Namespace != "" {
			s.namespaces = s.namespaces || namespace != "" && m.Owner.Namespace != namespace
			namespace = m.Owner.Namespace
		}
	}
	return s
}

// byPlace orders devices as people look for them: by index within a node.
func byPlace(a, b gpu.Device) int {
	if c := cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Node, b.Node), a.Index-b.Index); c != 0 {
		return c
	}
	return a.Compare(b.Identity)
}

// choice is a member as a choice of the kind, false when it is none.
func choice(m history.Member, kind string, more several) (variable, bool) {
	d := m.Device
	name := d.Name()
	if more.clusters && d.Cluster != "" {
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
	case "profile":
		return variable{d.MIGProfile, d.MIGProfile}, d.MIGProfile != ""
	case "namespace":
		return variable{m.Owner.Namespace, m.Owner.Namespace}, m.Owner.Namespace != ""
	case "pod":
		text := m.Owner.Pod
		if more.namespaces && m.Owner.Namespace != "" {
			text = m.Owner.Namespace + " / " + text
		}
		return variable{m.Owner.Pod, text}, m.Owner.Pod != ""
	case "job":
		return variable{m.Owner.Job, m.Owner.Job}, m.Owner.Job != ""
	default:
		return variable{d.Model, gpu.ShortModel(d.Model)}, d.Model != ""
	}
}
