package plugin

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/health"
	"github.com/warpwatch/warpwatch/pkg/insight/runbook"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// How much is looked at to say how a GPU is now: faults last, and some limits look back for hours.
const (
	healthLeast = 2 * time.Hour
	healthMost  = 24 * time.Hour
)

// healthOptions are the options of a query of type health.
type healthOptions struct {
	health.Options

	Show  string `json:"show"`  // "gpus", "incidents", "" for both; "counts" for how many have each severity
	Value string `json:"value"` // what an alert rule or expression reads: "severity" (the default), "count", "risk" or "incidents"
}

func healthValues() []string { return []string{"severity", "count", "risk", "incidents"} }

// healthLimits are the limits of the settings over the defaults.
func (d *Datasource) healthLimits() (health.Limits, error) {
	return limitsOver(health.DefaultLimits(), d.settings, query.TypeHealth)
}

// health answers what is wrong with each GPU and node, the worst first.
func (d *Datasource) health(ctx context.Context, r request) (data.Frames, error) {
	limits, err := d.healthLimits()
	if err != nil {
		return nil, badInput(err)
	}
	var o healthOptions
	if err := r.query.DecodeOptions(&o); err != nil {
		return nil, badInput(err)
	}
	if limits, err = o.Resolve(limits); err == nil {
		err = oneOfThese("value", o.Value, healthValues()...)
	}
	if err != nil {
		return nil, badOptions(err)
	}
	asked := r
	asked.window.From = r.window.To.Add(-min(max(r.window.To.Sub(r.window.From), healthLeast), healthMost))
	span := r.window.To.Sub(asked.window.From)
	j, err := d.judged(ctx, asked, wanted{
		fields: health.Fields(), events: true, since: max(0, time.Duration(limits.XIDHours*float64(time.Hour))-span),
	})
	if err != nil {
		return nil, err
	}
	result, places, notices := j.diagnose(ctx, limits)
	rows := j.patients(result, places, o.least())
	missing := tallied{}
	for _, v := range result.Verdicts {
		missing.add(v.Missing)
	}
	if len(rows) == 0 && len(result.Verdicts) > 0 {
		notices = append(notices, gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf("All %d GPUs and MIG instances are better than %s.", len(result.Verdicts), o.Least)})
	}
	if r.static {
		return data.Frames{j.healthNumbers(result, rows, o.Value, j.options(ctx, missing, notices...))}, nil
	}
	rows, cut := cutRows(rows, r.query.Rows(), "GPUs, MIG instances and nodes")
	custom, silent := j.goesOnJudging(ctx, o, len(rows))
	said := j.options(ctx, missing, slices.Concat(notices, cut, silent)...)
	said.Custom = custom
	told := func() frames.Options {
		now := said
		said.Notices, said.Executed, said.Custom = nil, "", nil
		return now
	}
	return shownOf(o.Show, map[string]func() *data.Frame{
		"gpus":      func() *data.Frame { return healthTable(rows, told()) },
		"incidents": func() *data.Frame { return j.incidents(result, r.query.Rows(), told()) },
		"counts":    func() *data.Frame { return severityRow(result, told()) },
	}, healthFrames(o.Show)...)
}

// diagnose judges what was gathered, with what else is known of boards and nodes; and it tells where nodes are.
func (j *judgement) diagnose(ctx context.Context, limits health.Limits) (health.Result, map[nodeName]health.NodeState, []gpu.Notice) {
	subjects, states := j.gathered.devices.Subjects, nodeStates(j.gathered)
	around, notices := j.surroundings(ctx)
	work, more := j.maintenance(ctx, j.request.window.To, subjects, states)
	states = nodesWith(states, around.nodes, work.nodes)
	return health.Judge(health.Input{
		Grid: j.gathered.devices, Events: namedEvents(j.gathered.events, subjects), Whole: j.wholeNodes(), EventsKnown: j.gathered.eventsKnown,
		Nodes: states, VBIOS: around.vbios, Maintenance: work.boards,
	}, limits), around.nodes, append(notices, more...)
}

// nodesWith adds to what is known of nodes where they are and whether somebody works on them.
func nodesWith(states []health.NodeState, places map[nodeName]health.NodeState, work map[nodeName]health.Maintenance) []health.NodeState {
	at := make(map[nodeName]int, len(states))
	for i, s := range states {
		at[nodeName{s.Cluster, s.Node}] = i
	}
	of := func(n nodeName) *health.NodeState {
		i, known := at[n]
		if !known {
			i = len(states)
			at[n] = i
			states = append(states, health.NodeState{Cluster: n.cluster, Node: n.node})
		}
		return &states[i]
	}
	for n, place := range places {
		s := of(n)
		s.Rack, s.Feed, s.Fabric, s.Leaf = place.Rack, place.Feed, place.Fabric, place.Leaf
	}
	for n, m := range work {
		of(n).Maintenance = &m
	}
	slices.SortStableFunc(states, func(a, b health.NodeState) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Node, b.Node))
	})
	return states
}

// healthFrames are the frames of an answer; counts are shown only when a query names them.
func healthFrames(show string) []string {
	all := []string{"gpus", "incidents", "counts"}
	if show == "" {
		return all[:2]
	}
	return all
}

// severities in the order in which they are shown, the worst first.
func severities() []string {
	var names []string
	for _, s := range []insight.Severity{insight.Critical, insight.Warning, insight.Unknown, insight.Info, insight.OK} {
		names = append(names, s.String())
	}
	return names
}

// least is the rank from which on rows are shown.
func (o healthOptions) least() int {
	if o.Least == "" {
		return 0
	}
	return len(severities()) - 1 - slices.Index(severities(), o.Least)
}

// nodeStates are what is known of nodes besides the values of their GPUs.
func nodeStates(g *gathered) []health.NodeState {
	at := map[nodeName]int{}
	var states []health.NodeState
	of := func(cluster, node string) *health.NodeState {
		key := nodeName{cluster, node}
		i, known := at[key]
		if !known {
			i = len(states)
			at[key] = i
			states = append(states, health.NodeState{Cluster: cluster, Node: node})
		}
		return &states[i]
	}
	for _, row := range g.rows {
		if row.State == frames.StatePresent && strings.Contains(row.Source, query.SourceHistory) {
			of(row.Device.Cluster, row.Device.Node).Exporter = health.Up
		}
	}
	for _, e := range g.down {
		if e.Node != "" {
			of(e.Cluster, e.Node).Exporter = health.Down
		}
	}
	for _, n := range g.nodes {
		if n.Node == "" {
			continue // nobody knows which node it is
		}
		s := of(n.Cluster, n.Node)
		switch n.State {
		case live.Refused:
			s.Agent = health.Refused
		case live.Stale, live.Unreachable:
			s.Agent = health.Down
		case live.Idle, live.Connecting:
		default:
			s.Agent = health.Up
		}
		if n.Err != nil {
			s.AgentDetail = n.Err.Error()
		}
	}
	return states
}

// patient is a row of the table: a GPU, a MIG instance or a node.
type patient struct {
	device     gpu.Device
	owners     []gpu.Owner
	severity   insight.Severity
	confidence insight.Confidence
	reasons    []insight.Reason
	missing    []string
	risk       health.Risk
	node       bool
	place      health.NodeState    // with what its node shares with others alone
	work       *health.Maintenance // nil where somebody has to act on what is wrong
}

// first is the worst reason, an empty one when there is none.
func (p patient) first() insight.Reason {
	if len(p.reasons) == 0 {
		return insight.Reason{Severity: p.severity}
	}
	return p.reasons[0]
}

// patients are the rows from a rank on, the worst first. What is in maintenance is worth knowing, whatever is wrong with it.
func (j *judgement) patients(result health.Result, places map[nodeName]health.NodeState, least int) []patient {
	rows := make([]patient, 0, len(result.Verdicts))
	for _, n := range result.Nodes {
		rows = append(rows, patient{
			device:   gpu.Device{Identity: gpu.Identity{Cluster: n.Cluster, Node: n.Node}, Index: -1},
			severity: n.Severity, confidence: insight.High, reasons: n.Reasons, work: n.Maintenance, node: true,
		})
	}
	for _, v := range result.Verdicts {
		s := j.gathered.devices.Subjects[v.Subject]
		rows = append(rows, patient{
			device: s.Device, owners: s.Owners, severity: v.Severity, confidence: v.Confidence, reasons: v.Reasons, missing: v.Missing, risk: v.Risk,
			work: v.Maintenance,
		})
	}
	for i := range rows {
		rows[i].place = places[nodeName{rows[i].device.Cluster, rows[i].device.Node}]
		if m := rows[i].work; m != nil {
			rows[i].severity, rows[i].reasons = insight.Info, slices.Insert(slices.Clone(rows[i].reasons), 0, inMaintenance(m))
		}
	}
	rows = slices.DeleteFunc(rows, func(p patient) bool { return p.severity.Rank() < least })
	slices.SortStableFunc(rows, func(a, b patient) int {
		return cmp.Or(b.severity.Rank()-a.severity.Rank(), order(a.work != nil)-order(b.work != nil),
			cmp.Compare(b.risk.Score, a.risk.Score), frames.CompareDevices(a.device, b.device))
	})
	return rows
}

// inMaintenance is the reason to leave something to whoever works on it.
func inMaintenance(m *health.Maintenance) insight.Reason {
	return insight.Reason{
		ID: "maintenance", Severity: insight.Info, Text: "In maintenance " + m.String() + ".",
		Action: insight.Action{Text: "Leave it to whoever works on it; end the silence when the work is done.", Who: gpu.XIDInformational, Runbook: "maintenance"},
	}
}

// maintenanceColumns say by which silence, by whom, and until when nobody has to act.
func maintenanceColumns[R any](t *frames.Sheet[R], of func(R) *health.Maintenance) {
	text := func(name string, part func(*health.Maintenance) string) {
		t.Text(name, func(r R) string {
			if m := of(r); m != nil {
				return part(m)
			}
			return ""
		})
	}
	text("silenced", func(m *health.Maintenance) string { return "maintenance: " + m.String() })
	text("silence", func(m *health.Maintenance) string { return m.ID })
	text("silenced_by", func(m *health.Maintenance) string { return m.By })
	t.At("silenced_until", func(r R) time.Time {
		if m := of(r); m != nil {
			return timeOf(m.Until)
		}
		return time.Time{}
	})
}

func healthTable(rows []patient, o frames.Options) *data.Frame {
	t := frames.SheetOf(rows)
	t.Device(func(p patient) gpu.Device { return p.device })
	t.Owners(func(p patient) []gpu.Owner { return p.owners })
	t.Text("of", func(p patient) string {
		switch {
		case p.node:
			return "node"
		case p.device.IsMIG():
			return "mig"
		}
		return "gpu"
	})
	t.Text("rack", func(p patient) string { return p.place.Rack })
	t.Text("nvlink_domain", func(p patient) string { return p.place.Fabric })
	t.Text("verdict", func(p patient) string { return cmp.Or(p.first().ID, p.severity.String()) })
	reasonColumns(t, func(p patient) insight.Reason {
		why := p.first()
		why.Severity = p.severity
		return why
	})
	confidenceColumn(t, func(p patient) insight.Confidence { return p.confidence })
	t.Code("xid", func(p patient) uint64 { return xidOf(p.reasons) })
	t.At("since", func(p patient) time.Time { return timeOf(p.first().Since) })
	t.Number("risk", gpu.Ratio, "How many precursors of a failure there are, and how strong. It is a risk, not a prediction.",
		func(p patient) gpu.Reading {
			if p.node {
				return gpu.Absent(gpu.NoData)
			}
			return gpu.Read(p.risk.Score)
		})
	t.Text("risk_parts", func(p patient) string {
		var parts []string
		for _, part := range p.risk.Parts {
			parts = append(parts, fmt.Sprintf("%s (%.0f %%)", part.Text(), 100*part.Share))
		}
		return strings.Join(parts, "; ")
	})
	t.Text("more", func(p patient) string { return otherReasons(p.reasons) })
	maintenanceColumns(t, func(p patient) *health.Maintenance { return p.work })
	t.Text("missing", func(p patient) string { return strings.Join(p.missing, ", ") })
	return t.Table("health", o)
}

// xidOf is the code of the worst XID error among reasons, 0 for none.
func xidOf(reasons []insight.Reason) uint64 {
	for _, r := range reasons {
		if text, is := strings.CutPrefix(r.ID, "xid-"); is {
			if code, err := strconv.ParseUint(text, 10, 32); err == nil {
				return code
			}
		}
	}
	return 0
}

// incidents is a row for each thing that somebody has to see to.
func (j *judgement) incidents(result health.Result, most int, o frames.Options) *data.Frame {
	nothing := "No fault is known that somebody has to see to."
	if len(result.Verdicts) == 0 {
		nothing = "There is nothing here to judge, so that no incident does not mean that all is well."
	}
	all, cut := cutOrNothing(result.Incidents, most, "incidents", nothing)
	o.Notices = append(slices.Clip(o.Notices), cut...)
	t := frames.SheetOf(all)
	t.Text("incident", func(i health.Incident) string { return i.ID })
	t.Text("scope", func(i health.Incident) string { return string(i.Scope) })
	t.Text("cluster", func(i health.Incident) string { return i.Cluster })
	t.Text("node", func(i health.Incident) string { return i.Node })
	t.Text("rack", func(i health.Incident) string { return i.Rack })
	t.Text("domain", func(i health.Incident) string { return i.Domain })
	t.Text("verdict", func(i health.Incident) string { return i.Root.ID })
	reasonColumns(t, func(i health.Incident) insight.Reason {
		why := i.Root
		why.Severity = i.Severity
		return why
	})
	t.Number("gpus", gpu.Count, "How many GPUs and MIG instances it touches.", func(i health.Incident) gpu.Reading { return gpu.Read(float64(len(i.Subjects))) })
	t.Text("devices", func(i health.Incident) string {
		var names []string
		for _, at := range i.Subjects[:min(len(i.Subjects), namedDevices)] {
			names = append(names, j.gathered.devices.Subjects[at].Name())
		}
		if more := len(i.Subjects) - namedDevices; more > 0 {
			names = append(names, fmt.Sprintf("and %d more", more))
		}
		return strings.Join(names, ", ")
	})
	t.Text("explains", func(i health.Incident) string { return runbook.AllCalled(i.Silences) })
	t.At("since", func(i health.Incident) time.Time { return timeOf(i.Since) })
	maintenanceColumns(t, func(i health.Incident) *health.Maintenance { return i.Maintenance })
	return t.Table("health_incidents", o)
}

// namedDevices is how many devices of an incident are named.
const namedDevices = 8

// healthNumbers is what an alert rule reads. A severity is 0 ok, 1 unknown, 2 info, 3 warning, 4 critical; what is in maintenance
// is 2, whatever is wrong with it.
func (j *judgement) healthNumbers(result health.Result, rows []patient, value string, o frames.Options) *data.Frame {
	switch value {
	case "count":
		return severityCounts(rows, len(result.Verdicts)+len(result.Nodes) > 0, o)
	case "incidents":
		t := frames.SheetOf(result.Incidents)
		t.Text("incident", func(i health.Incident) string { return i.ID })
		t.Text("cluster", func(i health.Incident) string { return i.Cluster })
		t.Text("node", func(i health.Incident) string { return i.Node })
		t.Text("verdict", func(i health.Incident) string { return i.Root.ID })
		t.Text("runbook", func(i health.Incident) string { return i.Root.Action.Runbook })
		t.Number("severity", gpu.Code, "", func(i health.Incident) gpu.Reading { return severityNumber(i.Severity, i.Maintenance != nil) })
		return t.Numbers("health_incidents", o)
	case "risk":
		rows = slices.DeleteFunc(slices.Clone(rows), func(p patient) bool { return p.node })
	}
	t := frames.SheetOf(rows)
	t.Device(func(p patient) gpu.Device { return p.device })
	if value == "risk" {
		t.Number("risk", gpu.Ratio, "", func(p patient) gpu.Reading { return gpu.Read(p.risk.Score) })
	} else {
		t.Number("severity", gpu.Code, "", func(p patient) gpu.Reading { return severityNumber(p.severity, p.work != nil) })
	}
	return t.Numbers("health", o)
}

func severityNumber(s insight.Severity, maintenance bool) gpu.Reading {
	if maintenance {
		s = insight.Info
	}
	return gpu.Read(float64(s))
}

// severityCounts is how many rows have each severity; nothing at all where nobody could be judged.
func severityCounts(rows []patient, judged bool, o frames.Options) *data.Frame {
	type counted struct {
		name string
		n    float64
	}
	var all []counted
	for _, name := range severities() {
		if judged {
			all = append(all, counted{name: name})
		}
	}
	for _, p := range rows {
		for i := range all {
			if all[i].name == p.severity.String() && p.work == nil {
				all[i].n++
			}
		}
	}
	t := frames.SheetOf(all)
	t.Text("severity", func(c counted) string { return c.name })
	t.Number("count", gpu.Count, "GPUs, MIG instances and nodes, without what is silenced.", func(c counted) gpu.Reading { return gpu.Read(math.Round(c.n)) })
	return t.Numbers("health", o)
}
