package events

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Options are what a query may say.
type Options struct {
	// Group puts related events into one line.
	Group bool `json:"group,omitempty"`
	// WindowMinutes is how far apart related events may be; 0 for DefaultWindow.
	WindowMinutes float64 `json:"windowMinutes,omitempty"`
}

// DefaultWindow is how far apart related events may be when nobody says.
const DefaultWindow = 10 * time.Minute

// Validate says what makes no sense, by its key.
func (o Options) Validate() error {
	const day = 24 * 60
	if !(o.WindowMinutes >= 0 && o.WindowMinutes <= day) {
		return fmt.Errorf("windowMinutes: %g must be from 0 to %d", o.WindowMinutes, day)
	}
	if o.WindowMinutes > 0 && !o.Group {
		return errors.New("windowMinutes: it is of events that are put together: set group, too")
	}
	return nil
}

// Window is how far apart related events may be.
func (o Options) Window() time.Duration {
	if o.WindowMinutes == 0 {
		return DefaultWindow
	}
	return time.Duration(o.WindowMinutes * float64(time.Minute))
}

// Scope is what the events of a group have in common.
type Scope string

// The scopes.
const (
	OfGPU     Scope = "gpu"
	OfNode    Scope = "node"
	OfJob     Scope = "job"
	OfFabric  Scope = "fabric"
	OfCluster Scope = "cluster" // what names no node
)

// Group is events that belong together.
type Group struct {
	Root     int   // in the list
	Events   []int // in the list, in the order of time, the root among them
	Scope    Scope
	Severity insight.Severity
	From     time.Time
	Until    time.Time // the end of what ended last
	Job      string    // that the nodes have in common, of OfJob
	Nodes    []string  // in the order of their names
	GPUs     int
	// Text is what came with the root: "XID 45 ×3, lost"; "" for a root alone.
	Text string
}

// Correlate groups events. jobs tells the names of the workloads that a device is part of, of all its instances where it is a board
// that is split; it may be nil. The list need not be in order, and is not changed. Groups are in the order of their beginning.
func Correlate(list []gpu.Event, jobs func(gpu.Device) []string, window time.Duration) []Group {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return list[a].Time.Compare(list[b].Time) })
	c := correlation{list: list, window: window, parent: make([]int, len(list)), open: map[string]lately{}}
	for i := range c.parent {
		c.parent[i] = i
	}
	jobsOf := make([][]string, len(list))
	for _, i := range order {
		e := list[i]
		if jobs != nil && stopsWork(e) && e.Device.UUID != "" {
			jobsOf[i] = jobs(e.Device)
		}
		c.put(i, jobsOf[i])
	}
	members := map[int][]int{}
	var roots []int
	for _, i := range order {
		top := c.find(i)
		if members[top] == nil {
			roots = append(roots, top)
		}
		members[top] = append(members[top], i)
	}
	groups := make([]Group, 0, len(roots))
	for _, top := range roots {
		groups = append(groups, groupOf(list, members[top], jobsOf))
	}
	return groups
}

// correlation joins events as they come.
type correlation struct {
	list   []gpu.Event
	window time.Duration
	parent []int
	open   map[string]lately // by what events have in common
}

// lately is the newest event of a kind of relation, and until when it lasts.
type lately struct {
	event int
	until time.Time
}

func (c *correlation) find(i int) int {
	for c.parent[i] != i {
		c.parent[i] = c.parent[c.parent[i]]
		i = c.parent[i]
	}
	return i
}

// put joins an event with those that it shares something with and that are not over for longer than the window. What lasts for
// very long, as a silence of a week, relates nothing: it is looked at as of its beginning.
func (c *correlation) put(i int, jobs []string) {
	e := c.list[i]
	until := e.Time
	if lasts := e.Until.Sub(e.Time); lasts > 0 && lasts <= c.window && e.Kind != gpu.KindSilence {
		until = e.Until
	}
	for _, key := range keysOf(e, jobs) {
		before, known := c.open[key]
		if known && e.Time.Sub(before.until) <= c.window {
			c.parent[c.find(i)] = c.find(before.event)
			if before.until.After(until) {
				c.open[key] = lately{i, before.until}
				continue
			}
		}
		c.open[key] = lately{i, until}
	}
}

// keysOf are what an event may have in common with others. A device is on one node, so that the node is enough for what is on one.
func keysOf(e gpu.Event, jobs []string) []string {
	place := e.Device.Cluster + "\xff" + e.Device.Node
	var keys []string
	switch {
	case e.Kind == gpu.KindSilence:
		return nil // somebody made it: it explains nothing, and nothing explains it
	case e.Device.Node != "":
		keys = append(keys, "node\xff"+place)
	case e.Device.UUID != "":
		keys = append(keys, "gpu\xff"+e.Device.Cluster+"\xff"+e.Device.UUID)
	}
	for _, job := range jobs {
		keys = append(keys, "job\xff"+e.Device.Cluster+"\xff"+job)
	}
	return keys
}

// The order of what causes what.
const (
	tells     = iota // an alert: it is about something else
	follows          // processes that end, owners that change
	disturbs         // throttling, corrected errors, somebody changed something
	ends             // a GPU or node that is not seen any more
	hardware         // an error of the hardware, of which the rest comes
	ofNothing = -1   // a silence
)

func causeOf(e gpu.Event) int {
	switch e.Kind {
	case gpu.KindSilence:
		return ofNothing
	case gpu.KindAlert:
		return tells
	case gpu.KindOwnerChanged, gpu.KindReturned, gpu.KindRecoveryAction:
		return follows
	case gpu.KindXID:
		return causeOfXID(e.XID)
	case gpu.KindLost, gpu.KindUnavailable:
		return ends
	case gpu.KindECCUncorrected, gpu.KindECCStorm, gpu.KindPoisonContained, gpu.KindPoisonUncontained, gpu.KindPageRetirementFailed:
		return hardware
	}
	return disturbs
}

// causeOfXID orders codes: 43, 45 and 154 come with another one, and what an application does wrong is no error of the GPU.
func causeOfXID(code uint64) int {
	x, known := gpu.LookupXID(code)
	switch {
	case code == 43 || code == 45 || code == 154:
		return follows
	case known && (x.Application || x.Owner == gpu.XIDInformational):
		return disturbs
	}
	return hardware
}

// stopsWork reports whether an event ends the work of a GPU, and with it that of the job.
func stopsWork(e gpu.Event) bool {
	switch e.Kind {
	case gpu.KindXID, gpu.KindLost, gpu.KindUnavailable, gpu.KindECCUncorrected, gpu.KindPoisonUncontained:
		return true
	}
	return false
}

func ofFabric(e gpu.Event) bool {
	return e.Kind == gpu.KindXID && (e.XID == 74 || e.XID >= 144 && e.XID <= 150 || e.XID == 155)
}

func severityOf(e gpu.Event) insight.Severity {
	switch causeOf(e) {
	case hardware:
		if e.Kind == gpu.KindXID {
			if x, known := gpu.LookupXID(e.XID); known && !x.Serious() {
				return insight.Warning
			}
		}
		return insight.Critical
	case ends:
		return insight.Critical
	case disturbs, tells:
		if e.Kind == gpu.KindMIGLayoutChanged || e.Kind == gpu.KindClocksChanged {
			return insight.Info
		}
		return insight.Warning
	}
	return insight.Info
}

func groupOf(list []gpu.Event, members []int, jobsOf [][]string) Group {
	g := Group{Events: members, Root: members[0], From: list[members[0]].Time}
	nodes, boards := map[string]bool{}, map[string]bool{}
	fabric := true
	shared := map[string]int{}
	for _, i := range members {
		e := list[i]
		if causeOf(e) > causeOf(list[g.Root]) {
			g.Root = i
		}
		g.Severity = worse(g.Severity, severityOf(e))
		for _, t := range []time.Time{e.Time, e.Until} {
			if t.After(g.Until) {
				g.Until = t
			}
		}
		if e.Device.Node != "" {
			nodes[e.Device.Cluster+"\xff"+e.Device.Node] = true
		}
		if e.Device.UUID != "" {
			boards[e.Device.Cluster+"\xff"+e.Device.UUID] = true
			fabric = fabric && (ofFabric(e) || causeOf(e) < disturbs)
		}
		for _, job := range jobsOf[i] {
			shared[job]++
		}
	}
	for place := range nodes {
		_, name, _ := strings.Cut(place, "\xff")
		g.Nodes = append(g.Nodes, name)
	}
	slices.Sort(g.Nodes)
	g.GPUs = len(boards)
	switch {
	case ofFabric(list[g.Root]) && fabric && g.GPUs > 1:
		g.Scope = OfFabric
	case len(g.Nodes) > 1:
		g.Scope = OfJob
	case g.GPUs == 1:
		g.Scope = OfGPU
	case len(g.Nodes) == 1:
		g.Scope = OfNode
	default:
		g.Scope = OfCluster
	}
	if g.Scope == OfJob {
		most := 0
		for job, n := range shared {
			if n > most || n == most && job < g.Job {
				g.Job, most = job, n
			}
		}
	}
	g.Text = besides(list, members, g.Root)
	return g
}

// worse is the worse of two severities: Unknown is none of them here.
func worse(a, b insight.Severity) insight.Severity { return max(a, b) }

// besides counts what came with the root, what is most often first.
func besides(list []gpu.Event, members []int, root int) string {
	counts := map[string]int{}
	var names []string
	for _, i := range members {
		if i == root {
			continue
		}
		name := nameOf(list[i])
		if counts[name] == 0 {
			names = append(names, name)
		}
		counts[name]++
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	const shown = 8
	var texts []string
	for _, name := range names[:min(len(names), shown)] {
		if counts[name] > 1 {
			name = fmt.Sprintf("%s ×%d", name, counts[name])
		}
		texts = append(texts, name)
	}
	if more := len(names) - shown; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more kinds", more))
	}
	return strings.Join(texts, ", ")
}

func nameOf(e gpu.Event) string {
	switch e.Kind {
	case gpu.KindXID:
		return fmt.Sprintf("XID %d", e.XID)
	case gpu.KindAlert:
		name, _, _ := strings.Cut(e.Detail, ": ")
		return "alert " + name
	}
	return strings.ReplaceAll(e.Kind, "_", " ")
}
