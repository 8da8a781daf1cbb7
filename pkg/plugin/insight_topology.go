package plugin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight/topology"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// Bounds of what is drawn at once: a graph of more is a ball of wool.
const (
	mostDrawn    = 1000 // GPUs
	mostJobNodes = 200
)

// topologyOptions are the options of a query of type topology.
type topologyOptions struct {
	topology.Options

	Value string `json:"value"` // what an alert rule or expression reads of each GPU; "trouble" when left out
}

func topologyValues() []string { return []string{"trouble", "pcie", "nvlink", "fragmentation", "room"} }

func (o topologyOptions) check() error {
	if err := oneOfThese("value", o.Value, topologyValues()...); err != nil {
		return err
	}
	if o.Value == "room" && o.Profile == "" {
		return fmt.Errorf("profile: name the one that room is counted for, such as 3g.40gb")
	}
	return nil
}

func (d *Datasource) topologyLimits() (topology.Limits, error) {
	return limitsOver(topology.DefaultLimits(), d.settings, query.TypeTopology)
}

// topology answers how the GPUs of nodes hang together. Of a job it draws the whole nodes that the job is on.
func (d *Datasource) topology(ctx context.Context, r request) (data.Frames, error) {
	limits, err := d.topologyLimits()
	if err != nil {
		return nil, badInput(err)
	}
	var o topologyOptions
	if err := r.query.DecodeOptions(&o); err != nil {
		return nil, badInput(err)
	}
	if limits, err = o.Resolve(limits); err == nil {
		err = o.check()
	}
	if err != nil {
		return nil, badOptions(err)
	}
	asked, chosen, notices, err := d.wholeNodes(ctx, atLeast(r, limits.Minutes))
	if err != nil {
		return nil, err
	}
	j, err := d.judged(ctx, asked, wanted{fields: topology.Fields()})
	if err != nil {
		return nil, err
	}
	graph := topology.Draw(j.gathered.devices, limits, o.Options, min(r.query.Rows(), mostDrawn))
	missing := tallied{}
	for _, b := range graph.Boards {
		missing.add(b.Missing)
	}
	if r.static {
		return data.Frames{boardNumbers(graph.Boards, o, j.options(ctx, missing, notices...))}, nil
	}
	for _, note := range graph.Notes {
		notices = append(notices, gpu.Notice{Severity: gpu.Info, Text: note})
	}
	if graph.LeftOut > 0 {
		notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
			"%d of %d GPUs are not drawn, nodes with trouble are drawn first: choose some nodes, or a job.", graph.LeftOut, len(graph.Boards))})
	}
	said := j.options(ctx, missing, notices...)
	nodes := j.vertices(graph.Vertices, chosen, o.Profile, said)
	said.Notices, said.Executed = nil, ""
	return data.Frames{nodes, edges(graph.Edges, said)}, nil
}

// wholeNodes turns a query of owners into one of the nodes that their GPUs are on, and tells which boards are theirs; nil when
// all that is asked for is.
func (d *Datasource) wholeNodes(ctx context.Context, r request) (request, map[board]bool, []gpu.Notice, error) {
	if !r.query.Scope.ByOwner() {
		return r, nil, nil, nil
	}
	g, err := d.gather(ctx, r, wanted{})
	if err != nil {
		return r, nil, nil, err
	}
	chosen, names := map[board]bool{}, map[string]bool{}
	for _, s := range g.devices.Subjects {
		chosen[boardOf(s.Device)] = true
		names[s.Node] = true
	}
	if len(names) == 0 {
		return r, nil, nil, nil // the answer says why there is nobody
	}
	var notices []gpu.Notice
	nodes := slices.Sorted(maps.Keys(names))
	if len(nodes) > mostJobNodes {
		notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf("Only the first %d of %d nodes are drawn.", mostJobNodes, len(nodes))})
		nodes = nodes[:mostJobNodes]
	}
	scope, err := r.query.Scope.WithoutOwners()
	if err == nil {
		scope, err = scope.OfNodes(nodes)
	}
	if err != nil {
		return r, nil, nil, badInput(err)
	}
	r.query.Scope = scope
	return r, chosen, notices, nil
}

// stateColours are the colours of states of vertices and edges.
func stateColours() map[string]string {
	return map[string]string{
		string(topology.OK): "green", string(topology.Idle): "blue", string(topology.Saturated): "yellow", string(topology.Degraded): "orange",
		string(topology.Down): "red", string(topology.Unknown): "purple", string(topology.Fragmented): "orange",
	}
}

// icons are those of Grafana.
func icons() map[topology.Kind]string {
	return map[topology.Kind]string{
		topology.Host: "database", topology.Switch: "code-branch", topology.Wiring: "link", topology.Net: "cloud", topology.CPU: "cog",
	}
}

// vertices is the frame of circles.
func (j *judgement) vertices(all []topology.Vertex, chosen map[board]bool, profile string, o frames.Options) *data.Frame {
	t := frames.SheetOf(all)
	text := func(name string, of func(topology.Vertex) string) *frames.Column { return t.Text(name, of) }
	text("id", func(v topology.Vertex) string { return v.ID })
	text("title", func(v topology.Vertex) string { return v.Title })
	text("subtitle", func(v topology.Vertex) string { return v.Subtitle })
	text("mainstat", func(v topology.Vertex) string { return v.Main })
	text("secondarystat", func(v topology.Vertex) string { return v.Secondary })
	for _, arc := range []struct {
		name, display, colour string
		of                    func(topology.Arcs) float64
	}{
		{"arc__active", "Active", "green", func(a topology.Arcs) float64 { return a.Active }},
		{"arc__idle", "Idle", "#808080", func(a topology.Arcs) float64 { return a.Idle }},
		{"arc__allocated", "Slices in instances", "blue", func(a topology.Arcs) float64 { return a.Allocated }},
		{"arc__free", "Free slices that one instance can have", "light-green", func(a topology.Arcs) float64 { return a.Free }},
		{"arc__stranded", "Free slices that it cannot have", "orange", func(a topology.Arcs) float64 { return a.Stranded }},
	} {
		t.Number(arc.name, gpu.Ratio, "", func(v topology.Vertex) gpu.Reading { return known(arc.of(v.Arcs)) }).Named(arc.display).Fixed(arc.colour)
	}
	text("color", func(v topology.Vertex) string { return stateColours()[string(v.State)] })
	text("icon", func(v topology.Vertex) string { return icons()[v.Kind] })
	t.Flag("highlighted", func(v topology.Vertex) bool {
		switch {
		case profile != "":
			return v.Marked
		case chosen != nil:
			return v.Device.UUID != "" && (chosen[boardOf(v.Device)] || v.Kind == topology.GPU && anyOf(chosen, v.Device))
		}
		return false
	})
	for _, detail := range []struct {
		name, display string
		of            func(topology.Vertex) string
	}{
		{"kind", "Kind", func(v topology.Vertex) string { return string(v.Kind) }},
		{"state", "State", func(v topology.Vertex) string { return string(v.State) }},
		{"why", "Why", func(v topology.Vertex) string { return v.Why }},
		{"assumed", "Not measured", func(v topology.Vertex) string { return v.Assumed }},
		{"fits", "What still fits (each alone)", func(v topology.Vertex) string { return v.Fits }},
		{"owner", "Owner", j.ownerOf},
		{"node", "Node", func(v topology.Vertex) string { return v.Device.Node }},
		{"gpu_uuid", "UUID", func(v topology.Vertex) string { return v.Device.UUID }},
		{"pci_bus_id", "PCI bus id", func(v topology.Vertex) string { return v.Device.PCIBusID }},
		{"mig_uuid", "MIG UUID", func(v topology.Vertex) string { return v.Device.MIGUUID }},
	} {
		text("detail__"+detail.name, detail.of).Named(detail.display)
	}
	return t.Graph("nodes", o)
}

// anyOf reports whether one of the instances of a GPU is chosen.
func anyOf(chosen map[board]bool, d gpu.Device) bool {
	whole := boardOf(d)
	for b := range chosen {
		if b.instance = ""; b == whole {
			return true
		}
	}
	return false
}

func (j *judgement) ownerOf(v topology.Vertex) string {
	if v.Subject < 0 {
		return ""
	}
	var names []string
	for _, owner := range j.gathered.devices.Subjects[v.Subject].Owners {
		names = append(names, owner.Name())
	}
	return strings.Join(names, ", ")
}

// edges is the frame of lines.
func edges(all []topology.Edge, o frames.Options) *data.Frame {
	t := frames.SheetOf(all)
	t.Text("id", func(e topology.Edge) string { return e.ID })
	t.Text("source", func(e topology.Edge) string { return e.Source })
	t.Text("target", func(e topology.Edge) string { return e.Target })
	t.Text("mainstat", func(e topology.Edge) string { return e.Main })
	t.Text("secondarystat", func(e topology.Edge) string { return e.Secondary })
	t.Number("thickness", gpu.Count, "", func(e topology.Edge) gpu.Reading { return gpu.Read(thickness(e.Link)) })
	t.Text("color", func(e topology.Edge) string { return stateColours()[string(e.Link.State)] })
	t.Text("strokeDasharray", func(e topology.Edge) string {
		if e.Measured {
			return ""
		}
		return "4 4"
	})
	t.Text("detail__state", func(e topology.Edge) string { return string(e.Link.State) }).Named("State")
	t.Text("detail__why", func(e topology.Edge) string { return e.Link.Why }).Named("Why")
	t.Text("detail__assumed", func(e topology.Edge) string { return e.Link.Assumed }).Named("Not measured")
	t.Number("detail__receive", gpu.BytesPerSecond, "", func(e topology.Edge) gpu.Reading { return known(e.Link.Receive) }).Named("The GPU receives")
	t.Number("detail__transmit", gpu.BytesPerSecond, "", func(e topology.Edge) gpu.Reading { return known(e.Link.Transmit) }).Named("The GPU sends")
	t.Number("detail__share", gpu.Ratio, "", func(e topology.Edge) gpu.Reading { return known(e.Link.Share()) }).Named("Share of what it can carry")
	return t.Graph("edges", o)
}

// thickness of a line is 1, and up to 6 for a link that carries all it can.
func thickness(l topology.Link) float64 {
	share := l.Share()
	if math.IsNaN(share) {
		return 1
	}
	return 1 + 5*min(max(share, 0), 1)
}

// boardNumbers is what an alert rule reads: one number for each GPU. What is not measured has no row; what is not split has no
// fragmentation and no room.
func boardNumbers(all []topology.Board, o topologyOptions, said frames.Options) *data.Frame {
	value := cmp.Or(o.Value, "trouble")
	unit, of := gpu.Ratio, func(topology.Board) float64 { return math.NaN() }
	switch value {
	case "trouble":
		unit, of = gpu.Code, func(b topology.Board) float64 { return trouble(b) }
	case "pcie":
		of = func(b topology.Board) float64 { return b.PCIe.Share() }
	case "nvlink":
		of = func(b topology.Board) float64 {
			if b.NVLink == nil {
				return math.NaN()
			}
			return b.NVLink.Share()
		}
	case "fragmentation":
		of = func(b topology.Board) float64 {
			if b.Split == nil || !b.Split.Layout.Known {
				return math.NaN()
			}
			return b.Split.Layout.Fragmentation
		}
	case "room":
		unit, of = gpu.Count, func(b topology.Board) float64 {
			if sure, _, known := b.Room(o.Profile); known {
				return float64(sure)
			}
			return math.NaN()
		}
	}
	rows := slices.DeleteFunc(slices.Clone(all), func(b topology.Board) bool { return math.IsNaN(of(b)) })
	t := frames.SheetOf(rows)
	t.Device(func(b topology.Board) gpu.Device { return b.Device })
	t.Number(value, unit, "", func(b topology.Board) gpu.Reading { return known(of(b)) })
	return t.Numbers("topology", said)
}

// trouble counts links that are degraded as 1 and links that are down as 2, the worst of a GPU's; NaN where none is measured.
func trouble(b topology.Board) float64 {
	worst := math.NaN()
	for _, l := range []*topology.Link{&b.PCIe, b.NVLink, b.C2C} {
		if l == nil || l.State == topology.Unknown {
			continue
		}
		v := 0.0
		switch l.State {
		case topology.Degraded:
			v = 1
		case topology.Down:
			v = 2
		default:
		}
		if !(v <= worst) {
			worst = v
		}
	}
	return worst
}
