package health

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Scope is what an incident is about.
type Scope string

// The scopes.
const (
	OfGPU    Scope = "gpu"
	OfNode   Scope = "node"
	OfFabric Scope = "fabric"
	OfRack   Scope = "rack"
)

// Incident is one thing that somebody has to see to: faults that belong together, under what is behind them.
type Incident struct {
	// ID stays the same as long as the incident lasts: "gpu/n1/GPU-1/xid-79", "node/n1/exporter-down".
	ID       string
	Scope    Scope
	Severity insight.Severity
	Root     insight.Reason
	Cluster  string
	Node     string // "" when it is about several
	Rack     string // "" when not known, or when it is about several
	Domain   string // what several nodes share that have it: "NVLink domain x", "rack r1", "power feed p"; "" otherwise
	Subjects []int  // indices in the grid's Subjects of the GPUs that it touches, in rising order
	// Silences are the ids of the reasons that it explains, each once. Nobody needs to hear of them apart.
	Silences []string
	Since    int64  // Unix milliseconds; 0 when not known
	Silenced string // why nobody has to act, as in verdicts
	// Maintenance is what silences it; nil without.
	Maintenance *Maintenance
}

// silence notes what keeps an incident from bothering anybody.
func (in *Incident) silence(m *Maintenance) { in.Maintenance, in.Silenced = m, m.silenced() }

func ofHeat(id string) bool {
	switch id {
	case "thermal-margin", "memory-temperature", "thermal-hardware", "thermal-software", "thermal-share", "hardware-slowdown":
		return true
	default:
		return false
	}
}

func ofFabric(id string) bool {
	switch id {
	case "nvlink-errors", "nvlink-inactive", "fabric-state", "fabric-status", "fabric-health",
		"xid-74", "xid-144", "xid-145", "xid-146", "xid-147", "xid-148", "xid-149", "xid-150", "xid-155":
		return true
	default:
		return false
	}
}

// grouping gathers incidents.
type grouping struct {
	*pass
	verdicts []Verdict
	list     []Incident
	taken    map[int]map[string]bool // by row, ids of reasons that an incident of more than one GPU explains
}

// incidents groups what is at least a warning: by what reaches several nodes, then by node, then by GPU.
func (p *pass) incidents(boards [][]int, verdicts []Verdict, nodes *nodeStates) []Incident {
	g := &grouping{pass: p, verdicts: verdicts, taken: make(map[int]map[string]bool)}
	g.alarms(nodes)
	g.domains(nodes, boards)
	for _, n := range nodes.list {
		g.node(n, boards)
	}
	for _, rows := range boards {
		g.board(rows)
	}
	slices.SortStableFunc(g.list, func(a, b Incident) int {
		return cmp.Or(b.Severity.Rank()-a.Severity.Rank(), len(b.Subjects)-len(a.Subjects))
	})
	return g.list
}

// take makes the reasons of some boards part of an incident.
func (g *grouping) take(in *Incident, rows []int, is func(string) bool) {
	for _, row := range rows {
		for _, r := range g.verdicts[row].Reasons {
			if !is(r.ID) || r.Severity.Rank() < insight.Unknown.Rank() || g.taken[row][r.ID] {
				continue
			}
			if g.taken[row] == nil {
				g.taken[row] = make(map[string]bool)
			}
			g.taken[row][r.ID] = true
			if !slices.Contains(in.Silences, r.ID) {
				in.Silences = append(in.Silences, r.ID)
			}
			if r.Severity.Rank() >= insight.Warning.Rank() {
				in.Severity = worse(in.Severity, r.Severity)
				if r.Since > 0 && (in.Since == 0 || r.Since < in.Since) {
					in.Since = r.Since
				}
			}
		}
	}
	in.Subjects = append(in.Subjects, rows...)
	slices.Sort(in.Subjects)
	in.Subjects = slices.Compact(in.Subjects)
	slices.Sort(in.Silences)
}

// alarms makes incidents of faults of coolant and power that somebody else told of. They may reach several nodes.
func (g *grouping) alarms(nodes *nodeStates) {
	type alarm struct{ cluster, rack, fault, id string }
	groups := make(map[alarm][]*nodeState)
	var order []alarm
	put := func(k alarm, n *nodeState) {
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], n)
	}
	for _, n := range nodes.list {
		if n.Coolant != "" {
			put(alarm{n.Cluster, n.Rack, n.Coolant, "coolant"}, n)
		}
		if n.Power != "" {
			put(alarm{n.Cluster, n.Rack, n.Power, "rack-power"}, n)
		}
	}
	for _, k := range order {
		group := groups[k]
		in := Incident{Scope: OfRack, Cluster: k.cluster, Rack: k.rack, Severity: insight.Critical}
		if len(group) == 1 {
			in.Node = group[0].Node
		}
		is := ofHeat
		if k.id == "rack-power" {
			is = ofPower
			in.Root = insight.Reason{ID: k.id, Severity: insight.Critical, Text: "Power: " + k.fault + ".",
				Action: operator("Follow the alarm of the power supply.", "rack-power")}
		} else {
			in.Root = insight.Reason{ID: k.id, Severity: insight.Critical, Text: "Coolant: " + k.fault + ".",
				Action: operator("Follow the coolant's alarm; drain what it cools.", "coolant")}
		}
		for _, n := range group {
			rows := n.hot
			if k.id == "rack-power" {
				rows = n.braked
			}
			g.take(&in, rows, is)
		}
		in.silence(inMaintenance(group))
		in.Root.Severity, in.Root.Since = in.Severity, in.Since
		in.ID = fmt.Sprintf("%s/%s/%s", in.Scope, cmp.Or(k.rack, group[0].Node), k.id)
		g.list = append(g.list, in)
	}
}

func fabricRoot(text string) insight.Reason {
	return insight.Reason{
		ID: "fabric", Severity: insight.Warning, Text: text,
		Action: operator("Look at the NVLink switches and the fabric manager before the GPUs.", "fabric"),
	}
}

// node makes incidents of what is wrong with a node as a whole, and of what several of its GPUs share.
func (g *grouping) node(n *nodeState, boards [][]int) {
	begin := func(scope Scope, root insight.Reason) Incident {
		in := Incident{
			ID: fmt.Sprintf("%s/%s/%s", scope, n.Node, root.ID), Scope: scope, Severity: root.Severity, Root: root, Cluster: n.Cluster,
			Node: n.Node, Rack: n.Rack, Since: root.Since,
		}
		in.silence(n.Maintenance)
		return in
	}
	for _, r := range n.reasons {
		if r.ID == "coolant" || r.ID == "rack-power" || r.Severity.Rank() < insight.Warning.Rank() {
			continue // of the rack, or nothing that somebody has to see to
		}
		if n.explained && n.down != nil && r.ID == n.down.ID {
			continue // by what several nodes share
		}
		in := begin(OfNode, r)
		if n.down != nil && r.ID == n.down.ID {
			var rows []int
			for _, at := range n.boards {
				rows = append(rows, boards[at][0])
			}
			g.take(&in, rows, func(id string) bool { return id == unseenID })
		}
		g.list = append(g.list, in)
	}
	share := func(rows []int, least int, scope Scope, root insight.Reason, is func(string) bool) {
		rows = slices.DeleteFunc(slices.Clone(rows), func(row int) bool {
			return !slices.ContainsFunc(g.verdicts[row].Reasons, func(r insight.Reason) bool {
				return is(r.ID) && r.Severity.Rank() >= insight.Warning.Rank() && !g.taken[row][r.ID]
			})
		})
		if len(rows) < least {
			return
		}
		root.Text = fmt.Sprintf(root.Text, len(rows), len(n.boards))
		in := begin(scope, root)
		g.take(&in, rows, is)
		in.Root.Severity, in.Root.Since = in.Severity, in.Since
		g.list = append(g.list, in)
	}
	share(n.hot, max(2, (len(n.boards)+1)/2), OfNode, insight.Reason{
		ID: "node-cooling", Severity: insight.Warning, Text: "%d of %d GPUs of the node are too hot.",
		Action: operator("Look at the fans, the inlet air or the coolant of the node, not at its GPUs.", "node-cooling"),
	}, ofHeat)
	share(n.braked, 2, OfNode, insight.Reason{
		ID: "node-power", Severity: insight.Warning, Text: "The power supply slows down %d of %d GPUs of the node.",
		Action: operator("Look at the node's power supplies and the rack's power.", "power-brake"),
	}, ofPower)
	share(n.linked, 2, OfFabric, fabricRoot("%d of %d GPUs of the node have faults of NVLink."), ofFabric)
}

// board makes an incident of what is left of a GPU's reasons.
func (g *grouping) board(rows []int) {
	v := &g.verdicts[rows[0]]
	if v.Severity.Rank() < insight.Warning.Rank() {
		return
	}
	var left []insight.Reason
	for _, r := range v.Reasons {
		if r.Severity.Rank() >= insight.Warning.Rank() && !g.taken[rows[0]][r.ID] {
			left = append(left, r)
		}
	}
	if len(left) == 0 {
		return
	}
	d := &g.grid.Subjects[rows[0]]
	root := left[rootOf(left)]
	in := Incident{
		ID: fmt.Sprintf("gpu/%s/%s/%s", d.Node, d.UUID, root.ID), Scope: OfGPU, Severity: severityOf(left), Root: root,
		Cluster: d.Cluster, Node: d.Node, Subjects: slices.Sorted(slices.Values(rows)), Since: root.Since,
	}
	in.silence(v.Maintenance)
	for _, r := range left {
		if r.ID != root.ID {
			in.Silences = append(in.Silences, r.ID)
		}
		if r.Since > 0 && (in.Since == 0 || r.Since < in.Since) {
			in.Since = r.Since
		}
	}
	slices.Sort(in.Silences)
	g.list = append(g.list, in)
}

// rootOf is the reason that explains most of the others: what the driver asks for is a consequence, so an XID comes before it,
// and what is broken before what it led to.
func rootOf(reasons []insight.Reason) int {
	weight := func(r insight.Reason) int {
		switch {
		case r.ID == "row-remap-failure" || r.ID == "memory-unrepairable" || r.ID == "sram-threshold" || r.ID == "retired-pages":
			return 6
		case r.ID == "xid-79" || r.ID == missingID:
			return 7
		case r.ID == "recovery-action":
			return 3
		case len(r.ID) > 4 && r.ID[:4] == "xid-":
			return 5
		case r.ID == "ecc-uncorrected":
			return 4
		default:
			return 2
		}
	}
	best := 0
	for i, r := range reasons {
		b := reasons[best]
		if r.Severity.Rank()*10+weight(r) > b.Severity.Rank()*10+weight(b) {
			best = i
		}
	}
	return best
}
