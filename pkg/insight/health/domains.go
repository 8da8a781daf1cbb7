package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// domain is something that several nodes share and that may fail for all of them.
type domain struct{ cluster, kind, name string }

// String is how people name it: "rack r1".
func (d domain) String() string { return d.kind + " " + d.name }

// Kinds of domains.
const (
	rack   = "rack"
	feed   = "power feed"
	nvlink = "NVLink domain"
	leaf   = "switch"
)

// first is the nearest domain that is known of a node, of kind and name by turns.
func (n *nodeState) first(kindsAndNames ...string) (domain, bool) {
	for i := 0; i < len(kindsAndNames); i += 2 {
		if name := kindsAndNames[i+1]; name != "" {
			return domain{n.Cluster, kindsAndNames[i], name}, true
		}
	}
	return domain{}, false
}

// sharing is a kind of fault that nodes of a domain may have together.
type sharing struct {
	id, text, action, runbook string
	severity                  insight.Severity
	scope                     Scope
	of                        func(*nodeState) (domain, bool)
	rows                      func(*nodeState) []int // of the GPUs that have the fault; none when the node has not
	is                        func(id string) bool   // reasons that it explains
}

func sharings(boards [][]int) []sharing {
	return []sharing{
		{
			id: "fabric", text: "GPUs of %d nodes of %s have faults of NVLink.", severity: insight.Warning, scope: OfFabric,
			action: "Look at the NVLink switches and the fabric manager before the GPUs.", runbook: "fabric",
			of:   func(n *nodeState) (domain, bool) { return n.first(nvlink, n.Fabric, rack, n.Rack) },
			rows: func(n *nodeState) []int { return n.linked }, is: ofFabric,
		},
		{
			id: "rack-power", text: "The power supply slows down GPUs of %d nodes of %s.", severity: insight.Critical, scope: OfRack,
			action: "Look at what feeds all of them before the power supplies of each.", runbook: "rack-power",
			of: func(n *nodeState) (domain, bool) { return n.first(feed, n.Feed, rack, n.Rack) },
			rows: func(n *nodeState) []int {
				if n.Power != "" {
					return nil // there is an alarm, which says more
				}
				return n.braked
			},
			is: ofPower,
		},
		{
			id: "rack-cooling", text: "Most GPUs of %d nodes of %s are too hot.", severity: insight.Critical, scope: OfRack,
			action: "Look at the coolant or the air of all of them before the fans of each.", runbook: "coolant",
			of: func(n *nodeState) (domain, bool) { return n.first(rack, n.Rack) },
			rows: func(n *nodeState) []int {
				if n.Coolant != "" || 2*len(n.hot) < len(n.boards) {
					return nil
				}
				return n.hot
			},
			is: ofHeat,
		},
		{
			id: "nodes-unheard", text: "Nothing is received of %d nodes of %s.", severity: insight.Critical, scope: OfRack,
			action: "Look at the network and the power of all of them before the exporter of each.", runbook: "exporter-down",
			of: func(n *nodeState) (domain, bool) { return n.first(leaf, n.Leaf, rack, n.Rack) },
			rows: func(n *nodeState) []int {
				if n.down == nil {
					return nil
				}
				var rows []int
				for _, at := range n.boards {
					rows = append(rows, boards[at][0])
				}
				return rows
			},
			is: func(id string) bool { return id == unseenID },
		},
	}
}

func ofPower(id string) bool { return id == "power-brake" }

// domains finds faults that several nodes of a domain began to have at about the same time. Those of nodes in maintenance say nothing.
func (g *grouping) domains(nodes *nodeStates, boards [][]int) {
	for _, what := range sharings(boards) {
		groups := make(map[domain][]*nodeState)
		var order []domain
		for _, n := range nodes.list {
			d, known := what.of(n)
			if !known || n.Maintenance != nil || len(what.rows(n)) == 0 {
				continue
			}
			if groups[d] == nil {
				order = append(order, d)
			}
			groups[d] = append(groups[d], n)
		}
		for _, d := range order {
			for _, group := range g.atOnce(what, groups[d]) {
				g.shared(what, d, group)
			}
		}
	}
}

// atOnce parts nodes by when their faults began, and leaves out those that are alone.
func (g *grouping) atOnce(what sharing, nodes []*nodeState) [][]*nodeState {
	began := make(map[*nodeState]int64, len(nodes))
	for _, n := range nodes {
		began[n] = g.began(what, n)
	}
	slices.SortStableFunc(nodes, func(a, b *nodeState) int { return cmp.Compare(began[a], began[b]) })
	// What a step of the grid has in common may have begun a step apart.
	apart := max(minutes(g.limits.TogetherMinutes), g.step).Milliseconds()
	var groups [][]*nodeState
	for from := 0; from < len(nodes); {
		to := from + 1
		for to < len(nodes) && began[nodes[to]]-began[nodes[to-1]] <= apart {
			to++
		}
		if to-from > 1 {
			groups = append(groups, nodes[from:to])
		}
		from = to
	}
	return groups
}

// began is when a node's fault began: the end of the grid where that is not known.
func (g *grouping) began(what sharing, n *nodeState) int64 {
	first := int64(0)
	note := func(since int64) {
		if since > 0 && (first == 0 || since < first) {
			first = since
		}
	}
	if n.down != nil {
		note(n.down.Since)
	}
	for _, row := range what.rows(n) {
		for _, r := range g.verdicts[row].Reasons {
			if what.is(r.ID) {
				note(r.Since)
			}
		}
	}
	if first == 0 {
		return g.end()
	}
	return first
}

// shared makes an incident of a fault of several nodes.
func (g *grouping) shared(what sharing, d domain, group []*nodeState) {
	in := Incident{Scope: what.scope, Cluster: d.cluster, Severity: what.severity, Domain: d.String()}
	in.Rack = group[0].Rack
	in.Root = insight.Reason{ID: what.id, Text: fmt.Sprintf(what.text, len(group), d), Action: operator(what.action, what.runbook)}
	for _, n := range group {
		g.take(&in, what.rows(n), what.is)
		if n.Rack != in.Rack {
			in.Rack = ""
		}
		if what.id == "nodes-unheard" {
			n.explained = true
			if n.down.Since > 0 && (in.Since == 0 || n.down.Since < in.Since) {
				in.Since = n.down.Since
			}
		}
	}
	in.Root.Severity, in.Root.Since = in.Severity, in.Since
	in.ID = strings.Join([]string{string(in.Scope), d.name, what.id}, "/")
	if in.Since > 0 { // another one of the same domain is another incident
		same := slices.ContainsFunc(g.list, func(other Incident) bool { return other.ID == in.ID && other.Cluster == in.Cluster })
		if same {
			in.ID += "@" + time.UnixMilli(in.Since).UTC().Format("15:04")
		}
	}
	g.list = append(g.list, in)
}
