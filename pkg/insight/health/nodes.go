package health

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Presence says whether something that looks at a node works.
type Presence string

// The presences.
const (
	NotLooked Presence = ""        // nobody asked
	Up        Presence = "up"      // it answers
	Down      Presence = "down"    // it does not answer
	Refused   Presence = "refused" // it answers, but not to us
)

// NodeState is what is known of a node besides the values of its GPUs. Every field may be left out.
type NodeState struct {
	Cluster, Node string
	Exporter      Presence // of the node's exporter, the scrape's "up"
	ExporterSince int64    // Unix milliseconds; 0 for not known, which counts as long ago
	Agent         Presence // of the node's own agent
	AgentDetail   string   // why it refuses
	GPUs          int      // that the node should have, 0 for not known: the most that were seen in the range then
	Maintenance   *Maintenance
	Rack          string // GPUs of a rack share coolant, power and, in large NVLink domains, the fabric
	Feed          string // of power, where it is not the rack's: a PDU
	Fabric        string // the NVLink domain, where it is known: nodes whose GPUs reach each other by NVLink
	Leaf          string // the network switch that the node is at
	Coolant       string // a fault of the coolant that reaches the node: "leak at CDU 3"
	Power         string // a fault of the power that reaches it
}

type nodeKey struct{ cluster, node string }

// nodeState is a node in a pass.
type nodeState struct {
	NodeState
	boards   []int           // indices in the boards of the pass
	down     *insight.Reason // why nothing was received of it, nil while something is
	complete bool            // as many GPUs are seen as should be
	seen     int             // GPUs seen at the end
	expected int
	reasons  []insight.Reason
	hot      []int // rows of boards that are too hot
	braked   []int // rows of boards that the power supply slows down
	linked   []int // rows of boards with faults of NVLink

	explained bool // an incident of several nodes says that it is not heard
}

type nodeStates struct {
	known map[nodeKey]*nodeState
	list  []*nodeState
	last  *nodeState // most grids have the GPUs of a node side by side
}

func (n *nodeStates) of(cluster, node string) *nodeState {
	if n.last != nil && n.last.Node == node && n.last.Cluster == cluster {
		return n.last
	}
	key := nodeKey{cluster, node}
	s, found := n.known[key]
	if !found {
		s = &nodeState{NodeState: NodeState{Cluster: cluster, Node: node}}
		n.known[key] = s
		n.list = append(n.list, s)
	}
	n.last = s
	return s
}

// nodes finds out of every node whether it is heard, and how many GPUs it has.
func (p *pass) nodes(boards [][]int, states []NodeState) *nodeStates {
	nodes := &nodeStates{known: make(map[nodeKey]*nodeState, len(boards)/8+len(states))}
	for _, s := range states {
		n := nodes.of(s.Cluster, s.Node)
		n.NodeState = s
	}
	for i, rows := range boards {
		d := &p.grid.Subjects[rows[0]]
		n := nodes.of(d.Cluster, d.Node)
		n.boards = append(n.boards, i)
	}
	ends := make([]int, 0, 16)
	starts := make([]int, 0, 16)
	for _, n := range nodes.list {
		ends, starts = ends[:0], starts[:0]
		for _, at := range n.boards {
			first, end := p.span(boards[at])
			if end >= 0 {
				starts, ends = append(starts, first), append(ends, end)
			}
		}
		p.census(n, starts, ends)
		p.judgeNode(n, ends)
	}
	return nodes
}

// span is the first and the last step in which anything was measured of a board, -1 for none.
func (p *pass) span(rows []int) (first, end int) {
	first, end = -1, -1
	for _, c := range p.alive {
		column := p.columns[c]
		if column == nil {
			continue
		}
		for _, row := range rows {
			_, at := last(column[row])
			if at < 0 {
				continue
			}
			end = max(end, at)
			for i := 0; first < 0 || i < first; i++ {
				if v := column[row][i]; !math.IsNaN(v) {
					first = i
					break
				}
			}
		}
		if first == 0 && end == len(p.times)-1 {
			break
		}
	}
	return first, end
}

// census counts GPUs: how many there are at the end, and how many there were at once.
func (p *pass) census(n *nodeState, starts, ends []int) {
	slices.Sort(starts)
	most, at := 0, 0
	sorted := slices.Clone(ends)
	slices.Sort(sorted)
	for i, s := range starts {
		for at < len(sorted) && sorted[at] < s {
			at++
		}
		most = max(most, i+1-at)
	}
	for _, e := range ends {
		if p.current(e) {
			n.seen++
		}
	}
	n.expected = max(n.GPUs, most)
	if n.GPUs > 0 {
		n.expected = n.GPUs
	}
	n.complete = n.expected > 0 && n.seen >= n.expected
}

func (p *pass) judgeNode(n *nodeState, ends []int) {
	lastStep := len(p.times) - 1
	newest := -1
	for _, e := range ends {
		newest = max(newest, e)
	}
	switch lasted := time.Duration(p.end()-n.ExporterSince) * time.Millisecond; {
	case n.Exporter == Down && n.seen == 0 && (n.ExporterSince == 0 || lasted >= minutes(p.limits.ExporterMinutes)):
		n.down = p.exporterDown(n, "The exporter does not answer", n.ExporterSince)
	case n.Exporter == Down && (n.ExporterSince == 0 || lasted >= minutes(p.limits.ExporterMinutes)):
		n.reasons = append(n.reasons, insight.Reason{
			ID: "exporter-down", Severity: insight.Warning, Text: "The exporter does not answer; what is known of the node comes from elsewhere.",
			Since: n.ExporterSince, Action: operator("Restart the exporter.", "exporter-down"),
		})
	case n.seen == 0 && newest >= 0 && n.Exporter != Up && time.Duration(lastStep-newest)*p.step >= minutes(p.limits.ExporterMinutes):
		n.down = p.exporterDown(n, "Nothing is received of the node's GPUs any more", p.times[newest]+p.step.Milliseconds())
	}
	if n.down != nil {
		n.reasons = append(n.reasons, *n.down)
	}
	if n.Agent == Refused {
		n.reasons = append(n.reasons, insight.Reason{
			ID: "agent-refused", Severity: insight.Warning, Text: "The node's agent refuses to answer: " + cmp.Or(n.AgentDetail, "it does not say why") + ".",
			Action: operator("Compare the token and the certificates of data source and agent.", "agent-refused"),
		})
	}
	// GPUs that vanished within the range have a verdict of their own; those that were never seen have none.
	if never := n.expected - max(len(ends), n.seen); n.down == nil && n.GPUs > 0 && never > 0 && len(p.times) > 0 && len(ends) > 0 {
		n.reasons = append(n.reasons, insight.Reason{
			ID: missingID, Severity: insight.Critical, Text: fmt.Sprintf("%d of the node's %d GPUs are not seen.", never, n.expected),
			Evidence: []insight.Evidence{{Metric: "gpu_temperature_celsius", Value: float64(n.seen), Unit: "count", Limit: float64(n.expected),
				Text: fmt.Sprintf("%d GPUs are seen, %d should be", n.seen, n.expected)}},
			Action: operator("Compare lspci and nvidia-smi on the node; look for XID 79 and reboot it.", "gpu-missing"),
		})
	}
	for _, fault := range []struct{ text, id, action string }{
		{n.Coolant, "coolant", "Follow the coolant's alarm; drain what it cools."}, {n.Power, "rack-power", "Follow the alarm of the power supply."},
	} {
		if fault.text != "" {
			n.reasons = append(n.reasons, insight.Reason{
				ID: fault.id, Severity: insight.Critical, Text: "The node is affected by a fault outside of it: " + fault.text + ".",
				Action: operator(fault.action, fault.id),
			})
		}
	}
}

// exporterDown is a warning while the node is heard in another way or nobody listened, and critical when it is not.
func (p *pass) exporterDown(n *nodeState, text string, since int64) *insight.Reason {
	severity := insight.Warning
	if n.Agent == Down {
		severity, text = insight.Critical, text+", nor does the agent"
	}
	return &insight.Reason{
		ID: "exporter-down", Severity: severity, Text: text + ". Nothing is known of the GPUs of the node.", Since: since,
		Action: operator("Look whether the node is up, then restart the exporter.", "exporter-down"),
	}
}

// unseen is the reason of a GPU whose node is not heard.
func unseen(n *nodeState) insight.Reason {
	return insight.Reason{
		ID: unseenID, Severity: insight.Unknown, Text: "Nothing is received of its node.", Since: n.down.Since, Action: n.down.Action,
	}
}

// note remembers what several GPUs of a node may share.
func (n *nodeState) note(rows []int, reasons []insight.Reason) {
	hot, braked, linked := false, false, false
	for _, r := range reasons {
		if r.Severity.Rank() < insight.Warning.Rank() {
			continue
		}
		hot = hot || ofHeat(r.ID)
		braked = braked || r.ID == "power-brake"
		linked = linked || ofFabric(r.ID)
	}
	if hot {
		n.hot = append(n.hot, rows[0])
	}
	if braked {
		n.braked = append(n.braked, rows[0])
	}
	if linked {
		n.linked = append(n.linked, rows[0])
	}
}

// verdicts are those about which there is something to say.
func (n *nodeStates) verdicts() []NodeVerdict {
	var list []NodeVerdict
	for _, s := range n.list {
		if len(s.reasons) == 0 {
			continue
		}
		v := NodeVerdict{Cluster: s.Cluster, Node: s.Node, Reasons: s.reasons}
		slices.SortStableFunc(v.Reasons, func(a, b insight.Reason) int { return b.Severity.Rank() - a.Severity.Rank() })
		v.Severity = v.Reasons[0].Severity
		v.Maintenance, v.Silenced = s.Maintenance, s.Maintenance.silenced()
		list = append(list, v)
	}
	slices.SortStableFunc(list, func(a, b NodeVerdict) int { return b.Severity.Rank() - a.Severity.Rank() })
	return list
}
