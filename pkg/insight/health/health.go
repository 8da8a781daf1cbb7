package health

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/runbook"
)

// Input is what there is to judge.
type Input struct {
	Grid *insight.Devices
	// Events are those within the range or some time before it, in any order. Those of kinds that are not about health are
	// left out.
	Events []gpu.Event
	// Whole says that the grid has every GPU that was seen on its nodes. Events of others are then of GPUs that are gone, and
	// are said of the node; they are left out otherwise.
	Whole bool
	// EventsKnown reports whether events were looked for: that there are none is then worth something.
	EventsKnown bool
	Nodes       []NodeState
	// VBIOS is the version of a physical GPU's firmware where it is known.
	VBIOS map[gpu.Identity]string
	// Maintenance is that of physical GPUs by themselves; that of whole nodes is theirs.
	Maintenance map[gpu.Identity]Maintenance
}

// Verdict is the health of one subject.
type Verdict struct {
	Subject    int // index in the grid's Subjects
	Severity   insight.Severity
	Confidence insight.Confidence
	// Reasons, the worst first. That of a subject that is well is empty. They must not be changed: a GPU's MIG instances
	// share those of the board.
	Reasons []insight.Reason
	// Missing are the canonical metrics without which some kind of fault would stay unseen.
	Missing []string
	Risk    Risk
	// Silenced says why nobody has to act on it, whether or not it is well: "maintenance: …", "" otherwise. Whoever shows it must
	// not call it healthy.
	Silenced    string
	Maintenance *Maintenance // nil without
}

// NodeVerdict is what is wrong with a node as a whole, or with what looks at it.
type NodeVerdict struct {
	Cluster, Node string
	Severity      insight.Severity
	Reasons       []insight.Reason
	Silenced      string
	Maintenance   *Maintenance
}

// Result is the health of all subjects.
type Result struct {
	Verdicts  []Verdict     // one for each subject, the worst first
	Nodes     []NodeVerdict // the worst first; only those about which there is something to say
	Incidents []Incident    // the worst first
}

// Worst is the severity of the worst that nobody has silenced, of GPUs and nodes.
func (r Result) Worst() insight.Severity {
	worst := insight.OK
	for _, v := range r.Verdicts {
		if v.Silenced == "" {
			worst = worse(worst, v.Severity)
		}
	}
	for _, n := range r.Nodes {
		if n.Silenced == "" {
			worst = worse(worst, n.Severity)
		}
	}
	return worst
}

func worse(a, b insight.Severity) insight.Severity {
	if b.Rank() > a.Rank() {
		return b
	}
	return a
}

// pass is one run of Judge.
type pass struct {
	clock

	fields  [columns]insight.Field
	grid    *insight.Devices
	limits  Limits
	columns [columns][][]float64
	alive   []column
	needed  [][]column
	models  map[string]*ofModel
	missing map[uint64][]string
	events  map[gpu.Identity][]gpu.Event
	shared  map[uint64][]sighting
	eventsK bool // somebody looked for events

	maintained map[gpu.Identity]Maintenance

	capTexts [101][2]string
}

// Judge looks at all subjects. Severities are as of the end of the grid. Limits must be valid.
func Judge(in Input, limits Limits) Result {
	if in.Grid == nil {
		in.Grid = insight.NewGrid[insight.Subject](time.Time{}, time.Time{}, time.Minute, nil)
	}
	p := &pass{
		clock: clock{times: in.Grid.Times, step: in.Grid.Step}, grid: in.Grid, fields: fieldList(), limits: limits, alive: alive(), needed: needed(),
		models: make(map[string]*ofModel), missing: make(map[uint64][]string), eventsK: in.EventsKnown || len(in.Events) > 0,
		maintained: in.Maintenance,
	}
	for c, field := range p.fields {
		p.columns[c] = in.Grid.Column(field)
	}
	p.sortEvents(in.Events)
	boards := p.boards()
	nodes := p.nodes(boards, in.Nodes)
	odd := p.oddFirmware(boards, in.VBIOS)

	verdicts := make([]Verdict, len(in.Grid.Subjects))
	b := &board{pass: p}
	for i, rows := range boards {
		b.load(rows)
		node := nodes.of(b.device().Cluster, b.device().Node)
		b.judge(node)
		b.reasons = append(b.reasons, odd[i]...)
		b.settle(node)
		if _, alone := p.maintained[b.id]; !alone {
			node.note(rows, b.reasons) // what is worked on says nothing of the node
		}
		p.answer(b, node, verdicts)
	}
	if in.Whole {
		p.strays(boards, nodes)
	}
	result := Result{Nodes: nodes.verdicts()}
	result.Incidents = p.incidents(boards, verdicts, nodes)
	slices.SortFunc(verdicts, func(a, b Verdict) int {
		return cmp.Or(b.Severity.Rank()-a.Severity.Rank(), cmp.Compare(b.Risk.Score, a.Risk.Score), a.Subject-b.Subject)
	})
	result.Verdicts = verdicts
	return result
}

// judge finds all reasons of a board.
func (b *board) judge(node *nodeState) {
	if len(b.times) > 0 {
		b.recoveryAction()
		b.memoryErrors()
		b.pcie()
		b.nvlink()
		b.fabric()
		b.heat()
		b.slowdowns()
		b.data()
	}
	b.findXIDs()
	b.xidReasons()
	b.presence(node)
}

// settle drops what others explain, and sorts.
func (b *board) settle(node *nodeState) {
	if gone := slices.IndexFunc(b.reasons, func(r insight.Reason) bool { return r.ID == "xid-79" && r.Severity == insight.Critical }); gone >= 0 {
		b.fold(gone, func(insight.Reason) bool { return true })
	}
	if lost := slices.IndexFunc(b.reasons, func(r insight.Reason) bool { return r.ID == missingID }); lost >= 0 {
		b.fold(lost, func(r insight.Reason) bool { return ofData(r.ID) })
	}
	if node.down != nil {
		b.reasons = slices.DeleteFunc(b.reasons, func(r insight.Reason) bool { return ofData(r.ID) })
		b.reasons = append(b.reasons, unseen(node))
	}
	if slices.ContainsFunc(b.reasons, func(r insight.Reason) bool { return r.ID == "ecc-uncorrected" }) {
		b.reasons = slices.DeleteFunc(b.reasons, func(r insight.Reason) bool { return r.ID == "ecc-corrected" })
	}
	slices.SortStableFunc(b.reasons, func(x, y insight.Reason) int { return y.Severity.Rank() - x.Severity.Rank() })
}

// fold removes reasons that another explains, and says so in it.
func (b *board) fold(root int, explained func(insight.Reason) bool) {
	kept := b.reasons[root]
	var rest []insight.Reason
	var explains []string
	for i, r := range b.reasons {
		switch {
		case i == root:
		case explained(r):
			if r.Severity != insight.Info {
				explains = append(explains, r.ID)
			}
		default:
			rest = append(rest, r)
		}
	}
	if len(explains) > 0 {
		kept.Text += " It explains: " + runbook.AllCalled(explains) + "."
	}
	b.reasons = append([]insight.Reason{kept}, rest...)
}

// answer writes the verdicts of a board's rows.
func (p *pass) answer(b *board, node *nodeState, verdicts []Verdict) {
	v := Verdict{Reasons: b.reasons, Missing: p.missingOf(b.known | excused(p.needed, b.model, b.device().MIGEnabled || b.device().IsMIG())), Confidence: b.confidence()}
	if len(b.reasons) > 0 {
		v.Severity = b.reasons[0].Severity
	}
	v.Maintenance = p.maintenanceOf(b.id, node)
	v.Silenced = v.Maintenance.silenced()
	v.Risk = b.risk()
	for _, row := range b.rows {
		v.Subject = row
		verdicts[row] = v
		if row != b.rows[0] && !p.grid.Subjects[b.rows[0]].IsMIG() {
			p.instance(b, row, &verdicts[row])
		}
	}
}

// confidence is low with the fields that every exporter has by default, and high when the driver's own opinion, the errors
// and the events were all there.
func (b *board) confidence() insight.Confidence {
	const byDefault = 3 // utilization, temperature and power stand at the end of needed
	faults := b.known & (1<<(len(b.needed)-byDefault) - 1)
	errors := b.values[uncorrected] != nil && (b.values[reasonBits] != nil || b.values[thermalShare] != nil)
	switch {
	case b.known == 0 && len(b.reasons) == 0:
		return insight.NoConfidence
	case b.values[recovery] != nil && errors && b.eventsK:
		return insight.High
	case errors && faults != 0:
		return insight.Medium
	default:
		return insight.Low
	}
}

// missingOf are the names of what was not measured; all boards that lack the same share a list.
func (p *pass) missingOf(known uint64) []string {
	list, found := p.missing[known]
	if !found {
		for i, group := range p.needed {
			if known&(1<<i) == 0 {
				list = append(list, p.fields[group[0]].Metric)
			}
		}
		p.missing[known] = list
	}
	return list
}

func (p *pass) model(name string) *ofModel {
	m, found := p.models[name]
	if !found {
		of := p.limits.of(name)
		m = &of
		p.models[name] = m
	}
	return m
}

// boards are the rows of each physical GPU, its own first, in the order of the grid.
func (p *pass) boards() [][]int {
	subjects := p.grid.Subjects
	backing := make([]int, len(subjects))
	boards := make([][]int, 0, len(subjects))
	var parents map[gpu.Identity]int
	for row := range subjects {
		if subjects[row].IsMIG() {
			parents = make(map[gpu.Identity]int)
			break
		}
	}
	for row := range subjects {
		if parents != nil {
			parent := subjects[row].Parent()
			if at, found := parents[parent]; found {
				boards[at] = append(boards[at], row)
				if last := len(boards[at]) - 1; !subjects[row].IsMIG() && subjects[boards[at][0]].IsMIG() {
					boards[at][0], boards[at][last] = row, boards[at][0]
				}
				continue
			}
			parents[parent] = len(boards)
		}
		backing[row] = row
		boards = append(boards, backing[row:row+1:row+1])
	}
	return boards
}

// add notes a reason. One that has not lasted long enough, because the range is shorter than that, is one degree less severe.
func (b *board) add(r insight.Reason, h hold) {
	if h.since != 0 {
		r.Since = h.since
	}
	if h.short {
		switch r.Severity {
		case insight.Critical:
			r.Severity = insight.Warning
		case insight.Warning:
			r.Severity = insight.Info
		}
		r.Text += " The range is too short to tell whether it lasts."
	}
	b.reasons = append(b.reasons, r)
}

// evidence is what was measured, with what it was held against.
func (p *pass) evidence(c column, unit gpu.Unit, value, limit float64, above bool, text string) insight.Evidence {
	if math.IsInf(value, 0) {
		value = math.Copysign(math.MaxFloat64, value)
	}
	return insight.Evidence{Metric: p.fields[c].Metric, Value: value, Unit: unit, Limit: limit, Above: above, Text: text}
}

// operator is what whoever runs the node has to do.
func operator(text, runbook string) insight.Action {
	return insight.Action{Text: text, Who: gpu.XIDOperator, Runbook: runbook}
}

func nobody(text, runbook string) insight.Action {
	return insight.Action{Text: text, Who: gpu.XIDInformational, Runbook: runbook}
}
