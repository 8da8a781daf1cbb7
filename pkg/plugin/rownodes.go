package plugin

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// resumeSpan is how far back a stream begins where nobody remembers what was shown last: as long as a plugin, or another
// server of Grafana, may take to go on. Browsers have most of it and keep theirs.
const resumeSpan = 30 * time.Second

// streamNode is one agent's part in a stream.
type streamNode struct {
	columns  columns // of the devices that have a part in a column
	others   columns // of the other devices in the query's scope
	owned    owned   // of a scope of owners: nil until the agent told
	expected bool    // rows wait for it
}

// start lays out the rows and fills in what came since the last row that was shown, or else what came lately.
func (s *rowFeed) start(ctx context.Context) {
	fields := s.channel.fields()
	s.boards, s.groups = map[board]bool{}, map[string]bool{}
	s.nodes = map[string]*streamNode{}
	for _, f := range fields {
		if s.spread != nil {
			break
		}
		if s.plan.By == timeline.ByIdentity {
			s.boards[boardOf(f.Device)] = true
		} else {
			s.groups[groupOf(groupDevice(f.Labels), s.plan.By)] = true
		}
	}
	if s.after == 0 {
		// After a restart viewers have what was shown until then, and agents what came since.
		step := s.plan.Step.Milliseconds()
		s.after = s.now().Add(-max(2*s.plan.Step+s.plan.Period, resumeSpan)).UnixMilli() / step * step
	}
	s.rows = timeline.NewRows(timeline.RowPlan{Plan: s.plan, Fields: fields, After: s.after, Spread: s.spread})

	since := time.UnixMilli(s.after)
	if s.plan.Counter {
		since = since.Add(-2 * s.plan.RateWindow())
	}
	got := window(ctx, s.live, s.selection, since)
	ticks := ticksOf(slices.DeleteFunc(got.Series, func(l gpu.Series) bool { return !s.keeps(l.Device) }))
	measured := map[string]bool{}
	for _, tick := range ticks {
		measured[tick.Node] = true
	}
	for _, status := range got.Nodes {
		s.status(status)
		if key := nodeKey(status.Target); measured[key] && status.State.Streams() {
			s.expect(key, s.node(key), status.Period)
		}
	}
	for _, tick := range ticks {
		// By the clock of then: a row waits for what the other nodes measured at its time.
		s.add(s.rows.Add(time.UnixMilli(tick.Time), tick))
	}
	s.losses.begin(s.rows.Dropped()) // what was shown already is no loss
	s.refill.begin(s.rows.Dropped().Late)
}

// groupDevice is a device that is in the group with the labels.
func groupDevice(labels map[string]string) gpu.Device {
	return gpu.Device{Identity: gpu.Identity{Cluster: labels["cluster"], Node: labels["node"]}, Model: labels["model"]}
}

// keeps reports whether a device of the scope has a part in a column.
func (s *rowFeed) keeps(d gpu.Device) bool {
	if s.spread != nil {
		return true
	}
	if s.plan.By != timeline.ByIdentity {
		return s.groups[groupOf(d, s.plan.By)]
	}
	return s.boards[boardOf(d)]
}

// ticksOf takes series apart into what each node measured at each time, in the order of time.
func ticksOf(series []gpu.Series) []timeline.Tick {
	nodes := map[string][]gpu.Series{}
	for _, l := range series {
		key := nodeKey(live.Target{Cluster: l.Device.Cluster, Node: l.Device.Node})
		nodes[key] = append(nodes[key], l)
	}
	var ticks []timeline.Tick
	for key, lines := range nodes {
		devices := make([]gpu.Device, len(lines))
		at := map[int64][]float64{}
		for i, l := range lines {
			devices[i] = l.Device
			for j, t := range l.Times {
				if at[t] == nil {
					at[t] = slices.Repeat([]float64{math.NaN()}, len(lines))
				}
				at[t][i] = l.Values[j]
			}
		}
		for t, values := range at {
			ticks = append(ticks, timeline.Tick{Node: key, Time: t, Devices: devices, Values: values})
		}
	}
	slices.SortFunc(ticks, func(a, b timeline.Tick) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), strings.Compare(a.Node, b.Node))
	})
	return ticks
}

// nodeKey is how rows know a node.
func nodeKey(t live.Target) string { return t.Cluster + groupSeparator + t.Node }

// take is told what an agent sent, or what became of it.
func (s *rowFeed) take(u live.Update) {
	if u.Status != nil {
		s.status(*u.Status)
	}
	if u.Owners != nil {
		s.owners(u)
	}
	if u.Schema == nil {
		return
	}
	key := nodeKey(u.Target)
	n := s.node(key)
	s.losses.samples += u.Dropped
	delete(s.troubles, u.Target.Address)
	if n.columns.schema != u.Schema {
		s.layOut(n, u.Schema)
		n.expected = false // which is told anew, with the period that the agent has now
	}
	s.grow(n, u)
	if len(n.columns.devices) == 0 {
		return
	}
	s.expect(key, n, u.Schema.Period())
	s.add(s.rows.Add(s.now(), timeline.Tick{
		Node: key, Time: u.Sample.Time.UnixMilli(), Devices: n.columns.devices, Values: n.columns.values(u.Sample),
	}))
}

func (s *rowFeed) layOut(n *streamNode, schema *live.Schema) {
	n.columns = s.selection.columns(schema, func(d gpu.Device) bool { return s.keeps(d) && n.owned.is(d, true) })
	n.others = s.selection.columns(schema, func(d gpu.Device) bool { return !s.keeps(d) && n.owned.is(d, !s.selection.scope.ByOwner()) })
}

// owners takes the list of who owns a node's devices where the query selects by owner: those of others then no longer count.
func (s *rowFeed) owners(u live.Update) {
	n := s.node(nodeKey(u.Target))
	owned := ownedOf(s.selection.scope, u.Owners.List)
	if !maps.Equal(owned, n.owned) || n.owned == nil {
		n.owned, n.columns.schema = owned, nil
	}
}

// owned are the devices of a node that a scope of owners selects; nil where that is not known.
type owned map[board]bool

func ownedOf(scope query.Scope, list []gpu.Ownership) owned {
	o := owned{}
	for _, l := range list {
		if scope.MatchesOwner(l.Owner.Namespace, l.Owner.Pod, l.Owner.SlurmJob) {
			o[boardOf(l.Device)] = true
		}
	}
	return o
}

// is reports whether a device is among them, or unknown when that is not known. Whoever owns a GPU owns its instances.
func (o owned) is(d gpu.Device, unknown bool) bool {
	if o == nil {
		return unknown
	}
	whole := d
	whole.Identity = d.Parent()
	return o[boardOf(d)] || o[boardOf(whole)]
}

// grow gives a device that appeared since the panel was opened a column of its own. Aggregates keep their devices, and so
// do scopes of owners where the agent does not know them: whether a new one belongs to them is for history to say.
func (s *rowFeed) grow(n *streamNode, u live.Update) {
	if s.plan.By != timeline.ByIdentity || s.channel.Fixed || len(n.others.devices) == 0 || s.selection.scope.ByOwner() && n.owned == nil {
		return
	}
	grown := false
	for i, v := range n.others.values(u.Sample) {
		if !math.IsNaN(v) && len(s.boards) < frames.MaxSeries {
			s.boards[boardOf(n.others.devices[i])] = true
			grown = true
		}
	}
	if grown {
		s.layOut(n, u.Schema)
	}
}

func (s *rowFeed) node(key string) *streamNode {
	n, ok := s.nodes[key]
	if !ok {
		n = &streamNode{}
		s.nodes[key] = n
	}
	return n
}

// status lets rows no longer wait for a node that is not connected.
func (s *rowFeed) status(status live.NodeStatus) {
	s.troubles.status(status)
	if !status.State.Streams() {
		key := nodeKey(status.Target)
		s.node(key).expected = false
		s.rows.Forget(key)
	}
}

func (s *rowFeed) expect(key string, n *streamNode, period time.Duration) {
	if !n.expected {
		n.expected = true
		s.rows.Expect(key, period)
	}
}
