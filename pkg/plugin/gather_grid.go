package plugin

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// withUnlisted adds a row for each device that no list has and that there are values of.
func (g *gathering) withUnlisted(rows []frames.InventoryRow) []frames.InventoryRow {
	if g.request.query.Scope.ByOwner() {
		return rows // nobody knows whose they are
	}
	known := make(map[board]bool, len(rows))
	for _, row := range rows {
		known[boardOf(row.Device)] = true
	}
	listed := len(rows)
	for _, device := range g.seen.list {
		if b := boardOf(*device); !known[b] && g.request.query.Scope.Matches(*device) {
			known[b] = true
			rows = append(rows, frames.InventoryRow{Device: *device, State: frames.StatePresent})
		}
	}
	if len(rows) > listed {
		slices.SortStableFunc(rows, func(a, b frames.InventoryRow) int { return frames.CompareDevices(a.Device, b.Device) })
	}
	return rows
}

// deviceGrid puts all fields of devices on the grid. What is measured on boards counts for their MIG instances too.
func (g *gathering) deviceGrid(out *gathered) *insight.Devices {
	subjects := make([]insight.Subject, len(out.rows))
	classes := g.classes(out.workloads)
	for i, row := range out.rows {
		subjects[i] = insight.Subject{Device: row.Device, Owners: row.Owners, Class: classes.of(row.Owners)}
	}
	from, to := g.span()
	grid := insight.NewGrid(from, to, g.window.Step, subjects)
	places := placesOn(subjects, g.seen.list)
	out.whole = true
	for n := range g.fields {
		f := &g.fields[n]
		out.say(*f)
		out.whole = out.whole && f.failed == nil && !f.partial
		places.fill(grid, f)
		if !grid.Has(f.field) {
			out.lacks(f.field.Metric)
		}
	}
	return grid
}

// places tell which rows of a grid the values of a device are on.
type places struct {
	rows  []int   // by the number of the device; -1 for none
	parts [][]int // of its MIG instances
}

// placesOn are the places of numbered devices among the subjects of a grid.
func placesOn(subjects []insight.Subject, devices []*gpu.Device) places {
	at := make(map[board]int, len(subjects))
	var instances map[board][]int
	for i := range subjects {
		b := boardOf(subjects[i].Device)
		at[b] = i
		if subjects[i].IsMIG() {
			if instances == nil {
				instances = map[board][]int{}
			}
			b.instance = ""
			instances[b] = append(instances[b], i)
		}
	}
	p := places{rows: make([]int, len(devices))}
	if instances != nil {
		p.parts = make([][]int, len(devices))
	}
	for n := range devices {
		b := boardOf(*devices[n])
		p.rows[n] = -1
		if i, ok := at[b]; ok {
			p.rows[n] = i
		}
		if instances != nil && !devices[n].IsMIG() {
			p.parts[n] = instances[b]
		}
	}
	return p
}

// fill gives a grid the values of a field. What is measured on boards counts for their MIG instances too.
func (p places) fill(grid *insight.Devices, f *fieldSeries) {
	for _, l := range f.lines {
		if i := p.rows[l.device]; i >= 0 {
			grid.Set(f.field, i, l.values)
		}
		if f.instance || p.parts == nil {
			continue
		}
		for _, i := range p.parts[l.device] {
			grid.Set(f.field, i, l.values)
		}
	}
	f.lines = nil // the grid has them
}

// onGrid lays series on a grid.
type onGrid struct {
	times []int64
	step  int64
	whole []int64 // times that are known to be those of the grid

	flat map[uint64][]float64 // rows of one value, by its bits
	room []float64            // for rows to come
}

// mostFlat is how many rows of one value are kept for all devices that have it.
const mostFlat = 64

// rowsAtOnce is how many rows are made at a time.
const rowsAtOnce = 64

// same is the one row of a value for all devices.
func (g *onGrid) same(v float64) []float64 {
	row, known := g.flat[math.Float64bits(v)]
	if known {
		return row
	}
	if len(g.flat) >= mostFlat {
		return nil
	}
	if g.flat == nil {
		g.flat = make(map[uint64][]float64)
	}
	row = slices.Repeat([]float64{v}, len(g.times))
	g.flat[math.Float64bits(v)] = row
	return row
}

// row is a new row without values.
func (g *onGrid) row() []float64 {
	n := len(g.times)
	if len(g.room) < n {
		g.room = make([]float64, rowsAtOnce*n)
		for i := range g.room {
			g.room[i] = math.NaN()
		}
	}
	row := g.room[:n:n]
	g.room = g.room[n:]
	return row
}

// laid is a series on the grid, nil when nothing of it is within. Values that fit as they are are not copied.
func (g *onGrid) laid(times []int64, of []float64) []float64 {
	if sameSlice(times, g.whole) || slices.Equal(times, g.times) {
		g.whole = times
		if usable, some := asTheyAre(of); usable {
			if !some {
				return nil
			}
			if flat(of) {
				if row := g.same(of[0]); row != nil {
					return row
				}
			}
			return of
		}
	}
	var values []float64
	for j, t := range times {
		if len(g.times) == 0 || t < g.times[0] || math.IsNaN(of[j]) {
			continue
		}
		i := int((t - g.times[0]) / g.step)
		if i >= len(g.times) {
			break
		}
		if values == nil {
			values = g.row()
		}
		values[i] = of[j]
	}
	return values
}

// flat reports whether all values are the same number.
func flat(values []float64) bool {
	for _, v := range values {
		if v != values[0] {
			return false
		}
	}
	return len(values) > 0
}

// asTheyAre reports whether a grid may have the slice, into which it writes where something is infinite, and whether there is
// any value.
func asTheyAre(values []float64) (usable, some bool) {
	for _, v := range values {
		if math.IsInf(v, 0) {
			return false, true
		}
		some = some || !math.IsNaN(v)
	}
	return true, some
}

// workloadGrid puts all fields of ranks and servers on the grid.
func (g *gathering) workloadGrid(out *gathered) *insight.Workloads {
	at := map[insight.Workload]int{}
	var subjects []insight.Workload
	left := 0
	for _, f := range g.workloads {
		for _, s := range f.series {
			w := workloadOf(s)
			if _, known := at[w]; known {
				continue
			}
			if len(subjects) == gatherWorkers {
				left++
				continue
			}
			at[w] = len(subjects)
			subjects = append(subjects, w)
		}
	}
	if left > 0 {
		out.notices = append(out.notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
			"Only %d ranks and servers are looked at, others are left out: narrow the query.", gatherWorkers)})
	}
	from, to := g.span()
	grid := insight.NewGrid(from, to, g.window.Step, subjects)
	asked := len(g.workloads) - len(classFields())
	for n := range g.workloads {
		f := &g.workloads[n]
		out.say(*f)
		on := onGrid{times: grid.Times, step: g.window.Step.Milliseconds()}
		for _, s := range f.series {
			if i, ok := at[workloadOf(s)]; ok {
				if values := on.laid(s.Times, s.Values); values != nil {
					grid.Set(f.field, i, values)
				}
			}
		}
		f.series = nil
		if n < asked && !grid.Has(f.field) && len(subjects) > 0 && sameFamily(f.field, subjects, grid) {
			out.lacks(f.field.Metric)
		}
	}
	return grid
}

// sameFamily reports whether something of a metric's kind, of training or of serving, is there at all: where nothing trains,
// no metric of training is missing.
func sameFamily(f insight.Field, _ []insight.Workload, grid *insight.Workloads) bool {
	for _, other := range classFields() {
		if familyOf(other.Metric) == familyOf(f.Metric) && grid.Has(other) {
			return true
		}
	}
	return false
}

// familyOf is "train" or "serve".
func familyOf(metric string) string {
	family, _, _ := strings.Cut(metric, "_")
	return family
}

func workloadOf(s gpu.Series) insight.Workload {
	l := s.Labels
	return insight.Workload{
		Cluster: l["cluster"], Node: l["node"], Namespace: l["namespace"], Pod: l["pod"], Job: l["job"], Model: l["model"], Rank: l["rank"],
		Instance: l["instance"],
	}
}

// classFields tell training from serving, whatever is asked for beside them.
func classFields() []insight.Field {
	return []insight.Field{{Metric: "train_step_seconds"}, {Metric: "train_loss"}, {Metric: "serve_requests_running"}}
}
