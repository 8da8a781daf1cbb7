package topology

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Kind is what a vertex stands for.
type Kind string

// The kinds of vertices.
const (
	Host     Kind = "host"
	GPU      Kind = "gpu"
	Instance Kind = "instance" // of MIG
	Room     Kind = "room"     // what is left of a GPU that is split
	Switch   Kind = "nvswitch"
	Wiring   Kind = "nvlink" // links between GPUs, of which nobody reports which leads where
	CPU      Kind = "cpu"    // of a superchip
	Net      Kind = "network"
)

// Fragmented is the state of room that no instance of its size can have.
const Fragmented State = "fragmented"

// Vertex is a circle of the graph.
type Vertex struct {
	ID              string
	Kind            Kind
	Title, Subtitle string
	Main, Secondary string
	Subject         int // in the grid, -1 for what is in none
	Device          gpu.Device
	Arcs            Arcs
	State           State
	Why             string
	Assumed         string // what is concluded and not measured
	Fits            string // of Room: each of them alone
	Marked          bool   // it has surely room for the profile of the options
}

// Arcs are the parts of a vertex's circle. They add up to 1, or are all 0 where nothing is known.
type Arcs struct{ Active, Idle, Allocated, Free, Stranded float64 }

// Edge is a line between two vertices.
type Edge struct {
	ID, Source, Target string
	Main, Secondary    string
	Link               Link
	Measured           bool // something of the link was
}

// Graph is all of them.
type Graph struct {
	Vertices []Vertex
	Edges    []Edge
	Boards   []Board // all GPUs, also those that are not drawn
	LeftOut  int     // GPUs that are not drawn
	Notes    []string
}

// Draw draws the GPUs of a grid as of its end, at most so many of them: whole nodes, those with trouble first. Limits and options
// must be valid; those of the options have been put over the others by Options.Resolve.
func Draw(grid *insight.Devices, limits Limits, options Options, most int) *Graph {
	d := &drawing{grid: grid, limits: limits, options: options, reader: readerOf(grid, limits.Minutes)}
	d.Boards = boards(grid, limits)
	d.networks = map[string][]string{}
	for _, group := range d.drawn(most) {
		d.host(group)
	}
	d.network()
	d.notes()
	return &d.Graph
}

type drawing struct {
	Graph

	grid     *insight.Devices
	reader   reader
	limits   Limits
	options  Options
	networks map[string][]string // hosts by cluster
	inferred bool                // a switch was concluded
	wired    bool                // links lead nobody knows where
}

// drawn are the boards of each node that is drawn.
func (d *drawing) drawn(most int) [][]*Board {
	var groups [][]*Board
	for i := range d.Boards {
		b := &d.Boards[i]
		if n := len(groups); n > 0 && groups[n-1][0].Device.Cluster == b.Device.Cluster && groups[n-1][0].Device.Node == b.Device.Node {
			groups[n-1] = append(groups[n-1], b)
			continue
		}
		groups = append(groups, []*Board{b})
	}
	if len(d.Boards) <= most {
		return groups
	}
	worst := func(group []*Board) int {
		at := 0
		for _, b := range group {
			at = max(at, rank(b.State))
		}
		return at
	}
	order := slices.Clone(groups)
	slices.SortStableFunc(order, func(a, b []*Board) int { return worst(b) - worst(a) })
	kept := map[*Board]bool{}
	room := most
	for _, group := range order {
		if len(group) > room {
			d.LeftOut += len(group)
			continue
		}
		room -= len(group)
		kept[group[0]] = true
	}
	return slices.DeleteFunc(groups, func(group []*Board) bool { return !kept[group[0]] })
}

func place(parts ...string) string { return strings.Join(parts, "/") }

// host draws a node with its GPUs.
func (d *drawing) host(group []*Board) {
	at := group[0].Device
	id := place("host", at.Cluster, at.Node)
	v := Vertex{
		ID: id, Kind: Host, Title: cmp.Or(at.Node, "node not known"), Subtitle: at.Cluster, Main: counted(len(group), "GPU"), Subject: -1, State: OK,
		Device: gpu.Device{Identity: gpu.Identity{Cluster: at.Cluster, Node: at.Node}, Index: -1},
	}
	trouble := 0
	for _, b := range group {
		if b.State != OK {
			trouble++
		}
		if rank(b.State) > rank(v.State) {
			v.State, v.Why = b.State, b.Why
		}
	}
	if trouble > 0 {
		v.Secondary = fmt.Sprintf("%d with a link in trouble", trouble)
	}
	d.Vertices = append(d.Vertices, v)
	d.networks[at.Cluster] = append(d.networks[at.Cluster], id)
	for _, b := range group {
		d.board(id, b)
	}
	if d.options.draws(NVLink) {
		d.nvlinks(id, group)
	}
}

func boardID(d gpu.Device) string { return place("gpu", d.Cluster, d.Node, d.UUID) }

// board draws a GPU, its link to the host and its instances.
func (d *drawing) board(host string, b *Board) {
	v := Vertex{ID: boardID(b.Device), Kind: GPU, Title: boardName(b.Device), Subtitle: gpu.ShortModel(b.Device.Model), Subject: -1, Device: b.Device, State: b.State, Why: b.Why}
	if b.own {
		v.Subject = b.Subjects[0]
	}
	switch {
	case b.Split != nil:
		v.Main = counted(len(b.Split.Instances), "instance")
		if sure, _, known := b.Room(d.options.Profile); known {
			v.Marked = sure > 0
		}
		v.Arcs = b.Split.arcs()
	case !math.IsNaN(b.Activity):
		active := min(max(b.Activity, 0), 1)
		v.Main, v.Arcs = percent(active), Arcs{Active: active, Idle: 1 - active}
	default:
		v.Main = "not measured"
		if v.State == OK {
			v.State = Unknown
		}
	}
	if b.NVLink != nil {
		v.Secondary = rate("NVLink", b.NVLink.Carries())
	}
	if v.State == Degraded || v.State == Down {
		v.Arcs = Arcs{} // the colour of the state is seen instead
	}
	d.Vertices = append(d.Vertices, v)
	if d.options.draws(PCIe) {
		d.toHost(host, b, v.ID)
	} else {
		d.Edges = append(d.Edges, Edge{ID: place("in", v.ID), Source: host, Target: v.ID, Link: unmeasured()})
	}
	if b.Split != nil && d.options.draws(MIG) {
		d.instances(b, v)
	}
}

func boardName(d gpu.Device) string {
	if d.Index >= 0 {
		return fmt.Sprintf("GPU %d", d.Index)
	}
	d.Node, d.Model = "", ""
	return cmp.Or(d.Name(), "GPU")
}

func unmeasured() Link {
	return Link{State: Unknown, Receive: math.NaN(), Transmit: math.NaN(), Both: math.NaN(), Capacity: math.NaN()}
}

// toHost draws how a GPU is joined to its host: by PCIe, or on a superchip by the CPU's own links.
func (d *drawing) toHost(host string, b *Board, id string) {
	if b.C2C == nil {
		d.edge(place("pcie", id), host, id, b.PCIe)
		return
	}
	cpu := place("cpu", id)
	d.Vertices = append(d.Vertices, Vertex{
		ID: cpu, Kind: CPU, Title: "CPU", Subtitle: "of the superchip", Subject: -1, State: b.C2C.State, Why: b.C2C.Why,
		Device: gpu.Device{Identity: gpu.Identity{Cluster: b.Device.Cluster, Node: b.Device.Node}, Index: -1}, Assumed: "That each GPU has a CPU of its own is not measured.",
	})
	d.edge(place("host", cpu), host, cpu, unmeasured())
	d.edge(place("c2c", id), cpu, id, *b.C2C)
}

// edge draws a link.
func (d *drawing) edge(id, from, to string, l Link) {
	e := Edge{ID: id, Source: from, Target: to, Link: l, Main: l.Is, Measured: l.State != Unknown || !math.IsNaN(l.Carries())}
	switch {
	case !math.IsNaN(l.Receive) && !math.IsNaN(l.Transmit):
		e.Secondary = "↓ " + bytesPerSecond(l.Receive) + " ↑ " + bytesPerSecond(l.Transmit)
	default:
		e.Secondary = rate("", l.Carries())
	}
	d.Edges = append(d.Edges, e)
}

// nvlinks draws what the GPUs of a node are joined by. That it is a switch is concluded from the fabric's state; which GPU is
// wired to which otherwise, nobody reports.
func (d *drawing) nvlinks(host string, group []*Board) {
	var linked []*Board
	joined := 0
	for _, b := range group {
		if b.NVLink != nil {
			linked = append(linked, b)
			if b.fabric {
				joined++
			}
		}
	}
	if len(linked) == 0 {
		return
	}
	v := Vertex{
		ID: place("nvlink", host), Kind: Wiring, Title: "NVLink", Subtitle: "wiring not reported", Main: counted(len(linked), "GPU"), Subject: -1,
		State: OK, Device: gpu.Device{Identity: gpu.Identity{Cluster: group[0].Device.Cluster, Node: group[0].Device.Node}, Index: -1},
		Assumed: "Which GPU is wired to which is not reported.",
	}
	if joined >= 2 {
		v.Kind, v.Title, v.Subtitle = Switch, "NVSwitch", "inferred"
		v.Assumed = "Concluded from GPUs that have joined a fabric; boards that are wired directly may say the same, and a fabric may reach other nodes."
		d.inferred = true
	} else {
		d.wired = true
	}
	total, some := 0.0, false
	for _, b := range linked {
		if c := b.NVLink.Carries(); !math.IsNaN(c) {
			total, some = total+c, true
		}
		if rank(b.NVLink.State) > rank(v.State) && (b.NVLink.State == Degraded || b.NVLink.State == Down) {
			v.State, v.Why = Degraded, b.NVLink.Why
		}
		d.edge(place("nvlink", boardID(b.Device)), boardID(b.Device), v.ID, *b.NVLink)
	}
	if some {
		v.Secondary = bytesPerSecond(total / 2) // what one sends, another receives
	}
	d.Vertices = append(d.Vertices, v)
}

// network draws what several nodes of a cluster are joined by, of which nothing is measured.
func (d *drawing) network() {
	if !d.options.draws(Network) {
		return
	}
	for _, cluster := range sortedKeys(d.networks) {
		hosts := d.networks[cluster]
		if len(hosts) < 2 {
			continue
		}
		id := place("network", cluster)
		d.Vertices = append(d.Vertices, Vertex{
			ID: id, Kind: Net, Title: "network", Subtitle: "not measured", Subject: -1, State: Unknown, Why: "Network cards are not measured.",
			Device: gpu.Device{Identity: gpu.Identity{Cluster: cluster}, Index: -1}, Assumed: "That these nodes share a network is taken for granted.",
		})
		for _, host := range hosts {
			l := unmeasured()
			l.Is = "not measured"
			d.edge(place("network", host), host, id, l)
		}
	}
}

func sortedKeys(m map[string][]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (d *drawing) notes() {
	if len(d.Boards) == 0 {
		return
	}
	if d.options.draws(Network) {
		d.Notes = append(d.Notes, "Network cards are not measured, so that what leaves the nodes is not shown.")
	}
	if d.inferred {
		d.Notes = append(d.Notes, "NVSwitches are inferred from GPUs that have joined a fabric; they are not measured themselves.")
	}
	if d.wired {
		d.Notes = append(d.Notes, "Which GPU is wired to which by NVLink is not reported: their links meet in one point.")
	}
}
