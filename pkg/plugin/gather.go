package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// Bounds of what is gathered for one judgement.
const (
	gatherPoints  = 360        // steps of a grid at most
	gatherCells   = 64_000_000 // values of a grid at most: 512 MB; most of what says that all is well is kept once for all devices
	gatherAtOnce  = 6          // metrics asked for at the same time
	gatherWorkers = 100_000    // ranks and servers at most
)

// goneFor is how long ago a device may have vanished to be listed, or the range where that is longer.
const goneFor = time.Hour

// wanted is what a judgement looks at.
type wanted struct {
	fields    []insight.Field // of devices, in the order of use
	workloads []insight.Field // of ranks and servers
	events    bool
	since     time.Duration // how much before the range events are looked for
	lead      time.Duration // how much before the range the grid begins
	points    int           // steps at most; 0 for gatherPoints
}

// gathered is what there is of it.
type gathered struct {
	from      time.Time // of what was asked for; the grids begin before it by the lead
	devices   *insight.Devices
	rows      []frames.InventoryRow // one for each subject of devices: how it is now, and since when it is gone
	workloads *insight.Workloads
	events    []gpu.Event       // in the order of time
	nodes     []live.NodeStatus // of agents
	down      []history.DownExporter
	known     map[nodeName]bool // nodes that an agent or an exporter says anything of at the end of the range

	missing  []string // metrics that were asked for and that no device, or no workload, has
	notices  []gpu.Notice
	executed string
	history  bool // Prometheus was asked, and answered

	window query.Window // its points are the ends of the grid's steps

	scope  query.Scope // that the fields of devices were asked for with
	listed bool        // nobody who knows devices failed to answer
	whole  bool        // nothing that a server has of these fields is missing

	eventsKnown bool // somebody who knows events was asked for them
	live        bool // there are agents
}

// gather asks both sides for all that a judgement needs. The error is set when neither side had anything and one failed.
func (d *Datasource) gather(ctx context.Context, r request, want wanted) (*gathered, error) {
	ctx = history.Together(ctx) // most answers are about the same devices
	reach := reachOf(r.query, r.window.From, r.window.To, r.now)
	want.workloads = append(slices.Clone(want.workloads), classFields()...)
	boards, err := r.query.Scope.WithoutInstances()
	if err != nil {
		return nil, badInput(err)
	}
	g := &gathering{Datasource: d, request: r, reach: reach, scope: boards, want: want}
	g.plan(ctx)
	leave, err := d.gathering.enter(ctx, g.cells, cellsAtOnce)
	if err != nil {
		return nil, err
	}
	defer leave()

	// Whose the devices are decides what to ask for, where the query selects by owner; else all is asked for at once.
	var wg sync.WaitGroup
	byOwner := boards.ByOwner()
	if !byOwner {
		wg.Go(func() { g.all(ctx) })
	}
	s := g.stock(ctx)
	wg.Wait()
	rows := distinctBoards(s.rows(r.query.Scope, r.window.To, r.now))
	if byOwner {
		if g.scope, err = ownedBoards(g.scope, rows); err != nil {
			return nil, badInput(err)
		}
		g.all(ctx)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.past.Err != nil && len(rows) == 0 {
		return nil, noSide(s.past.Err, live.WindowResult{Notices: s.present.Notices})
	}
	out := g.put(rows, s)
	if len(out.devices.Subjects) == 0 {
		out.notices = append(out.notices, d.nobody(r.query, s))
	}
	return out, nil
}

// gathering is one gather in progress.
type gathering struct {
	*Datasource
	request request
	reach   reach
	scope   query.Scope // of boards, and of the owners that history can tell
	want    wanted
	window  query.Window // its points are the ends of the grid's steps
	from    time.Time    // without the lead
	notices []gpu.Notice

	cells     int             // of the grid, at most
	times     []int64         // of the grid
	unheard   map[string]bool // metrics that no exporter reports
	seen      seenDevices
	fields    []fieldSeries // of want.fields
	workloads []fieldSeries // of want.workloads
	past      history.Events
}

// seenDevices numbers the devices of all fields, so that of each field little more than its values is kept.
type seenDevices struct {
	mu   sync.Mutex
	at   map[board]int
	list []*gpu.Device // must not be changed
}

// number is that of a device, which may be the one after another: fields have nearly the same devices in the same order.
func (k *seenDevices) number(d *gpu.Device, after int) int {
	next := after + 1
	if next < len(k.list) && k.list[next] == d {
		return next
	}
	b := boardOf(*d)
	if next < len(k.list) && boardOf(*k.list[next]) == b {
		return next
	}
	if k.at == nil {
		k.at = map[board]int{}
	}
	at, known := k.at[b]
	if !known {
		at = len(k.list)
		k.at[b] = at
		k.list = append(k.list, d)
	}
	return at
}

// lines are the series of a field on a grid, by the numbers of their devices.
func (k *seenDevices) lines(series []history.Line, on onGrid) []deviceLine {
	out := make([]deviceLine, 0, len(series))
	from := make([]int, 0, len(series))
	for i, s := range series {
		if values := on.laid(s.Times, s.Values); values != nil {
			out, from = append(out, deviceLine{values: values}), append(from, i)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	last := -1
	for i := range out {
		last = k.number(series[from[i]].Device, last)
		out[i].device = last
	}
	return out
}

// deviceLine is a device's values of a field, one for each step.
type deviceLine struct {
	device int
	values []float64
}

// fieldSeries is what there is of one field: values at the starts of the grid's steps.
type fieldSeries struct {
	field    insight.Field
	series   []gpu.Series // of workloads
	lines    []deviceLine // of devices
	instance bool         // it is measured on MIG instances
	failed   error
	partial  bool // there may be more
	notices  []gpu.Notice
	executed string
}

// plan lays the grid: whole steps, the last of which is over, and no more of them than there is room for.
func (g *gathering) plan(ctx context.Context) {
	o := g.request.window
	points := gatherPoints
	if g.want.points > 0 {
		points = g.want.points
	}
	if o.MaxDataPoints <= 0 || o.MaxDataPoints > int64(points) {
		o.MaxDataPoints = int64(points)
	}
	w := query.NewWindow(o)
	devices := g.count(ctx)
	rows := max(1, devices*g.look(ctx))
	if room := gatherCells / rows; int(w.Length()/w.Step) > max(1, room) {
		o.MaxDataPoints = int64(max(1, room))
		w = query.NewWindow(o)
		g.notices = append(g.notices, gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf(
			"Steps are %s long, because %d devices are judged at once; narrow the query or shorten the range for finer ones.", w.Step, devices)})
	}
	start, end := w.Start(), w.End()
	if !start.Before(end) {
		start = end.Add(-w.Step)
	}
	g.from = start
	// Whole steps more, so that the grid stays on the points that other queries have.
	lead := (g.want.lead + w.Step - 1).Truncate(w.Step)
	w.From, w.To = start.Add(w.Step-lead), end
	g.window = w
	first, last := g.span()
	g.times = insight.NewGrid[insight.Subject](first, last, w.Step, nil).Times
	g.cells = rows * len(g.times)
}

// look finds out which fields there may be anything of, and says how many: of the others history is not asked.
func (g *gathering) look(ctx context.Context) int {
	past, ok := g.history.(interface {
		Exist(ctx context.Context, scope query.Scope, metrics []catalog.Metric) []bool
	})
	if !ok {
		return len(g.want.fields)
	}
	metrics := make([]catalog.Metric, len(g.want.fields))
	for i, f := range g.want.fields {
		metrics[i], _ = g.catalog.Metric(f.Metric)
	}
	exist, n := past.Exist(ctx, g.scope, metrics), 0
	g.unheard = map[string]bool{}
	for i, m := range metrics {
		if !exist[i] {
			g.unheard[m.Name] = true
		}
		if exist[i] || g.reach.live && m.Agent {
			n++
		}
	}
	return n
}

// count is about how many devices the query selects.
func (g *gathering) count(ctx context.Context) int {
	known, _ := g.history.Devices(ctx)
	n := 0
	for _, list := range [][]gpu.Device{known, g.Datasource.live.Devices()} {
		here := 0
		for _, d := range list {
			if g.request.query.Scope.Matches(d) {
				here++
			}
		}
		n = max(n, here)
	}
	return n
}

// stock is the devices of the scope, with their owners, and the agents' events.
func (g *gathering) stock(ctx context.Context) stock {
	r := g.request
	r.static = true // values come from the fields
	// A GPU that vanished before a rule's short range is missed all the same.
	if hour := r.window.To.Add(-goneFor); r.window.From.After(hour) {
		r.window.From = hour
	}
	return g.Datasource.stock(ctx, r, g.reach.continues, g.earlier().window.From)
}

// earlier is the request for what may have happened before the range and still matters.
func (g *gathering) earlier() request {
	r := g.request
	r.window.From = r.window.From.Add(-g.want.since)
	return r
}

// ownedBoards is the scope for the metrics of devices whose owners are known by now: values come from other series than
// owners, and agents do not label them at all.
func ownedBoards(scope query.Scope, rows []frames.InventoryRow) (query.Scope, error) {
	scope, err := scope.WithoutOwners()
	if err != nil {
		return scope, err
	}
	var uuids []string
	for _, row := range rows {
		if uuid := row.Device.UUID; uuid != "" && !slices.Contains(uuids, uuid) {
			uuids = append(uuids, uuid)
		}
		if len(uuids) > mostNamed {
			return scope, nil // too many for a matcher: the rows are chosen afterwards
		}
	}
	return scope.OfGPUs(uuids)
}

// mostNamed is how many GPUs are named in a question.
const mostNamed = 500

// all asks for every field and for events, a few at a time.
func (g *gathering) all(ctx context.Context) {
	g.fields = make([]fieldSeries, len(g.want.fields))
	g.workloads = make([]fieldSeries, len(g.want.workloads))
	slots := make(chan struct{}, gatherAtOnce)
	var wg sync.WaitGroup
	do := func(work func()) {
		wg.Go(func() {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
				work()
			case <-ctx.Done():
			}
		})
	}
	if g.want.events && g.request.query.Source != query.SourceLive {
		do(func() {
			asked := g.request.query
			asked.Type, asked.Scope = query.TypeEvents, g.scope
			g.past = g.history.Events(ctx, asked, eventWindow(g.earlier()))
		})
	}
	for i, f := range g.want.workloads {
		do(func() { g.workloads[i] = g.workload(ctx, f) })
	}
	for _, list := range g.together(g.want.fields) {
		do(func() {
			fields := make([]insight.Field, len(list))
			for n, i := range list {
				fields[n] = g.want.fields[i]
			}
			for n, f := range g.fieldsOf(ctx, fields...) {
				g.fields[list[n]] = f
			}
		})
	}
	wg.Wait()
}

// distinctBoards is a row for each GPU and GPU instance: values are told apart no further.
func distinctBoards(rows []frames.InventoryRow) []frames.InventoryRow {
	seen := make(map[board]bool, len(rows))
	return slices.DeleteFunc(rows, func(row frames.InventoryRow) bool {
		b := boardOf(row.Device)
		again := seen[b]
		seen[b] = true
		return again
	})
}

// put makes grids of all that came.
func (g *gathering) put(rows []frames.InventoryRow, s stock) *gathered {
	out := &gathered{
		history: g.request.query.Source != query.SourceLive && s.past.Err == nil && len(g.settings.Clusters) > 0, live: len(s.present.Nodes) > 0,
		known: map[nodeName]bool{}, down: s.past.Down, from: g.from, scope: g.scope, window: g.window,
	}
	out.notices = append(append(out.notices, g.reach.notices...), g.notices...)
	out.notices = append(out.notices, s.notices()...)
	out.listed = s.past.Err == nil && !slices.ContainsFunc(s.past.Notices, func(n gpu.Notice) bool { return n.Severity >= gpu.Warning })
	if s.past.Executed != "" {
		out.executed = s.past.Executed
	}
	out.workloads = g.workloadGrid(out)
	out.rows = g.withUnlisted(rows)
	out.devices = g.deviceGrid(out)
	for _, n := range s.present.Nodes {
		out.nodes = append(out.nodes, n.Status)
		if n.Status.State.Streams() {
			out.known[nodeName{n.Status.Cluster, n.Status.Node}] = true
		}
	}
	for _, row := range out.rows {
		if row.State == frames.StatePresent {
			out.known[nodeName{row.Device.Cluster, row.Device.Node}] = true
		}
	}
	if g.want.events {
		asked := g.request
		asked.query.Scope = g.scope
		told, notices := g.agentEvents(asked, s.present)
		out.notices = append(out.notices, notices...)
		if g.past.Err != nil {
			out.notices = append(out.notices, gpu.Notice{Severity: gpu.Warning, Text: "Events in Prometheus are not known: " + g.past.Err.Error() + "."})
		}
		out.events = timeline.MergeEvents(told, g.past.List, g.past.Precision)
		out.eventsKnown = out.history && g.past.Err == nil && !g.past.Failed || anyConnected(s.present)
	}
	return out
}

// say takes over what was said of a field. What is not there is told once for all of them.
func (out *gathered) say(f fieldSeries) {
	for _, n := range f.notices {
		if n.Severity >= gpu.Warning && !slices.Contains(out.notices, n) {
			out.notices = append(out.notices, n)
		}
	}
	if f.failed != nil {
		n := gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf("%s is missing: %s.", f.field.Metric, f.failed)}
		if !slices.ContainsFunc(out.notices, func(known gpu.Notice) bool { return strings.HasSuffix(known.Text, f.failed.Error()+".") }) {
			out.notices = append(out.notices, n)
		}
	}
	if f.executed != "" {
		out.executed = strings.TrimPrefix(out.executed+"\n"+f.executed, "\n")
	}
}

// times are the starts of the steps that were asked for, Unix milliseconds.
func (out *gathered) times() []int64 {
	at, _ := slices.BinarySearch(out.devices.Times, out.from.UnixMilli())
	return out.devices.Times[at:]
}

// lacks notes a metric that nobody has.
func (out *gathered) lacks(metric string) {
	if !slices.Contains(out.missing, metric) {
		out.missing = append(out.missing, metric)
	}
}

// span is the range that the grid covers.
func (g *gathering) span() (from, to time.Time) {
	return g.window.From.Add(-g.window.Step), g.window.To
}
