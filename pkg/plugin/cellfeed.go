package plugin

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// cellFeed keeps the newest value of every device of a fleet and sends all of them in one packet.
type cellFeed struct {
	path      string
	selection selection
	options   frames.Options
	window    time.Duration // of a counter's rate; 0 for what is no counter
	least     float64       // of the scale, where that is known
	most      float64

	layouts *layouts
	live    present
	now     func() time.Time
	shown   func([]gpu.Notice) []gpu.Notice

	layout  *layout
	laidOut time.Time
	fresh   map[board]gpu.Device // devices that are not in the layout yet

	// For each device of the layout.
	values []float64
	at     []int64 // when it was measured, 0 never
	period []int64 // how far apart, milliseconds
	rates  []*timeline.Follower

	nodes    map[string]*cellNode
	changed  bool // since the last packet
	troubles troubled
	losses   losses

	cells       frames.Cells
	current     []float64
	sentStale   int
	sentNotices []gpu.Notice
	began       bool // the schema was sent, which takes back what the run before told
}

// cellNode is one agent's part.
type cellNode struct {
	columns columns
	layout  *layout
	places  []int // of each of the columns' devices in the layout, -1 for one that is not in it
	owned   owned
}

func (f *cellFeed) schema() *data.Frame { return frames.CellSchema(f.options) }

func (f *cellFeed) wants() live.Select {
	return live.Select{Match: f.selection.matchesTarget, Owners: f.selection.scope.ByOwner()}
}

func (f *cellFeed) every() time.Duration { return cellsEvery }

// start lays out the devices as the table did, or else those there are, and fills in what is known of them.
func (f *cellFeed) start(ctx context.Context) {
	now := f.now()
	got := window(ctx, f.live, f.selection, now.Add(-max(instantAge, 2*f.window)))
	made := f.layouts.get(f.path, now)
	if made == nil && !f.selection.scope.ByOwner() {
		devices := make([]gpu.Device, len(got.Series))
		for i, s := range got.Series {
			devices[i] = s.Device
		}
		made = newLayout(devices)
		f.layouts.put(f.path, made, now)
	}
	if made == nil {
		made = newLayout(nil) // whose the devices are is for the agents to say
	}
	f.adopt(made, now)
	for _, status := range got.Nodes {
		f.troubles.status(status)
	}
	for _, s := range got.Series {
		place, ok := f.layout.at[boardOf(s.Device)]
		for i := range s.Times {
			if !ok {
				break
			}
			f.set(place, s.Times[i], s.Values[i], got.Period)
		}
	}
}

// adopt takes another layout; what is known of devices is kept.
func (f *cellFeed) adopt(made *layout, now time.Time) {
	n := len(made.devices)
	values, at, period, rates := make([]float64, n), make([]int64, n), make([]int64, n), make([]*timeline.Follower, n)
	for i, d := range made.devices {
		values[i] = math.NaN()
		if f.layout == nil {
			continue
		}
		if old, ok := f.layout.at[boardOf(d)]; ok {
			values[i], at[i], period[i], rates[i] = f.values[old], f.at[old], f.period[old], f.rates[old]
		}
	}
	f.layout, f.laidOut, f.values, f.at, f.period, f.rates = made, now, values, at, period, rates
	clear(f.fresh)
	f.changed = true
}

// set takes a device's reading.
func (f *cellFeed) set(place int, t int64, v float64, period time.Duration) {
	if f.window > 0 {
		if f.rates[place] == nil {
			f.rates[place] = timeline.NewFollower(f.window)
		}
		v = f.rates[place].Add(t, v)
	}
	if t < f.at[place] {
		return
	}
	f.values[place], f.at[place], f.period[place] = v, t, period.Milliseconds()
	f.changed = true
}

func (f *cellFeed) take(u live.Update) {
	if u.Status != nil {
		f.troubles.status(*u.Status)
	}
	if u.Owners == nil && u.Schema == nil {
		return
	}
	key := nodeKey(u.Target)
	n, ok := f.nodes[key]
	if !ok {
		n = &cellNode{}
		f.nodes[key] = n
	}
	if u.Owners != nil {
		n.owned, n.columns.schema = ownedOf(f.selection.scope, u.Owners.List), nil
	}
	if u.Schema == nil {
		return
	}
	f.losses.samples += u.Dropped
	delete(f.troubles, u.Target.Address)
	if n.columns.schema != u.Schema {
		n.columns, n.layout = f.selection.columns(u.Schema, func(d gpu.Device) bool { return n.owned.is(d, true) }), nil
	}
	if n.layout != f.layout {
		f.locate(n)
	}
	t := u.Sample.Time.UnixMilli()
	for i, v := range n.columns.values(u.Sample) {
		switch place := n.places[i]; {
		case place >= 0:
			f.set(place, t, v, u.Schema.Period())
		case !math.IsNaN(v) && len(f.fresh) < frames.MaxLatest && n.owned.is(n.columns.devices[i], !f.selection.scope.ByOwner()):
			f.fresh[boardOf(n.columns.devices[i])] = n.columns.devices[i]
		}
	}
}

// locate finds a node's devices in the layout.
func (f *cellFeed) locate(n *cellNode) {
	n.layout, n.places = f.layout, make([]int, len(n.columns.devices))
	for i, d := range n.columns.devices {
		place, ok := f.layout.at[boardOf(d)]
		if !ok {
			place = -1
		}
		n.places[i] = place
	}
}

// packet is all cells, as soon as one of them or what is told has changed. A value that is too old is absent: it would
// look as if all were well.
func (f *cellFeed) packet(now time.Time) (delivery, bool) {
	if made := f.layouts.get(f.path, now); made != nil && made != f.layout {
		f.adopt(made, now) // a table was laid out anew
	}
	if len(f.fresh) > 0 && now.Sub(f.laidOut) >= layoutEvery {
		made := newLayout(slices.AppendSeq(slices.Clone(f.layout.devices), maps.Values(f.fresh)))
		f.layouts.put(f.path, made, now)
		f.adopt(made, now)
	}
	stale := f.look(now)
	notices := f.shown(slices.Concat(f.troubles.notices(), f.losses.notices(now, timeline.Dropped{})))
	told := !slices.Equal(notices, f.sentNotices)
	if !f.changed && !told && stale == f.sentStale {
		return delivery{}, false
	}
	least, most := math.NaN(), math.NaN()
	if f.least < f.most {
		least, most = f.least, f.most
	}
	f.cells.Quantise(f.current, least, most)
	f.cells.Time, f.cells.Layout, f.cells.Stale = now.UnixMilli(), f.layout.hash, stale
	f.changed, f.sentStale, f.sentNotices = false, stale, notices
	if f.began && !told {
		return delivery{raw: f.cells.Append(nil)}, true
	}
	o := f.options
	o.Notices = notices
	schema := frames.CellSchema(o)
	stamped, err := frames.Stamped(schema)
	if err != nil {
		return delivery{raw: f.cells.Append(nil)}, true
	}
	raw, err := f.cells.AppendPacket(nil, stamped)
	if err != nil {
		return delivery{raw: f.cells.Append(nil)}, true
	}
	f.began = true
	return delivery{raw: raw, frame: schema}, true
}

// look fills the values that are young enough, and counts those that are not.
func (f *cellFeed) look(now time.Time) (stale int) {
	f.current = append(f.current[:0], f.values...)
	ms := now.UnixMilli()
	for i, at := range f.at {
		if at != 0 && ms-at > max(instantAge.Milliseconds(), 3*f.period[i]) && !math.IsNaN(f.current[i]) {
			f.current[i] = math.NaN()
			stale++
		}
	}
	return stale
}
