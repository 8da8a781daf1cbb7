package collect

import (
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// entry is a physical GPU that was seen since the agent started. One that is gone stays, as lost: a GPU that disappears
// from every chart is what nobody notices.
type entry struct {
	devices   []gpu.Device
	facts     device.Facts
	board     device.Board // nil when the driver does not list it any more
	worker    *worker      // nil without a board
	busySince time.Time    // zero when the worker is free
	awaited   bool         // the tick waits for the answer
	condition snapshot.Condition

	position int // among the boards
	offset   int // of its devices among all
	values   []device.Values
	changed  device.Groups                   // since the last frame
	extents  []device.Extent                 // since the last frame
	last     [device.NumGroups]time.Time     // when a group was measured, zero when nothing of it holds
	next     [device.NumGroups]int64         // when a group is due, Unix nanoseconds; 0 is at once
	took     time.Duration                   // the newest sample
	tellsXID bool                            // the board itself reads the last XID
	seen     seen                            // what events are made of
	heardAt  [device.NumEventKinds]time.Time // when an event came from outside
	madeAt   [device.NumEventKinds]time.Time // when the agent made one

	lastXID uint64
	xids    []snapshot.XIDCount
	events  []snapshot.EventCount

	fell         string    // what was said when it fell off the bus
	gone         bool      // an event said that it is lost, and none that it returned
	back         time.Time // since when it answers again, zero when it does not
	relaidAt     time.Time // when the driver said that the MIG instances changed, zero when nothing is open
	relaidOrigin device.Origin

	processes []snapshot.Process
	nameless  int
	dropped   int
	listErr   error
}

// fill makes all readings absent for one reason. Whatever is measured next, is measured whole.
func (e *entry) fill(why gpu.State) {
	for i := range e.values {
		e.values[i].Fill(why)
	}
	clear(e.last[:])
	clear(e.next[:])
	e.changed = device.AllGroups
	e.extents, e.tellsXID = e.extents[:0], false
}

// due is what is to be measured at a time. A clock that was set back makes everything due that would come too late.
func (e *entry) due(s *Schedule, each device.Groups, at time.Time) device.Groups {
	due, now := each, at.UnixNano()
	for g, next := range e.next {
		if (next <= now || next-now > 2*int64(s.Every[g])) && s.Groups.Has(device.Group(g)) {
			due |= device.GroupsOf(device.Group(g))
		}
	}
	return due
}

// planned notes that groups are asked for now, of those that are not on every tick.
func (e *entry) planned(s *Schedule, groups device.Groups, at time.Time) {
	for g := range device.NumGroups {
		if groups.Has(g) {
			e.next[g] = s.after(at, g, e.position)
		}
	}
}

// take keeps what was measured.
func (e *entry) take(r result, spans *[device.NumGroups][]span) {
	e.changed |= r.groups
	for g := range device.NumGroups {
		if !r.groups.Has(g) {
			continue
		}
		e.last[g] = r.at
		for _, s := range spans[g] {
			for i := range e.values {
				copy(e.values[i][s.from:s.to], r.sample.Values[i][s.from:s.to])
			}
		}
	}
	if r.groups.Has(device.GroupHealth) {
		e.tellsXID = e.values[0][device.XIDLast].OK()
	}
	e.extents = e.extents[:0]
	for _, x := range r.sample.Extents {
		if x.Device >= 0 && x.Device < len(e.devices) {
			e.extents = append(e.extents, x)
		}
	}
	e.took = r.took
}

// holds is how many intervals a reading stands for, when no newer one comes.
const holds = 3

// settle makes the values fit to be published: what is too old is not repeated, and the last XID is known whatever the
// board does.
func (e *entry) settle(s *Schedule, spans *[device.NumGroups][]span, at time.Time, heard bool) {
	for g, last := range e.last {
		if !last.IsZero() && at.Sub(last) >= holds*max(s.Every[g], e.took) {
			e.drop(device.Group(g), spans)
		}
	}
	last := &e.values[0][device.XIDLast]
	before := *last
	switch {
	case e.tellsXID:
	case heard || e.lastXID != 0:
		*last = gpu.Read(float64(e.lastXID))
	case last.OK() || last.State == gpu.NoData:
		*last = gpu.Absent(gpu.NotSupported)
	}
	if *last != before {
		e.changed |= device.GroupsOf(device.GroupHealth)
	}
}

// drop makes the readings of a group absent.
func (e *entry) drop(g device.Group, spans *[device.NumGroups][]span) {
	for i := range e.values {
		for _, s := range spans[g] {
			for m := s.from; m < s.to; m++ {
				e.values[i][m] = gpu.Absent(gpu.NoData)
			}
		}
	}
	e.last[g] = time.Time{}
	e.changed |= device.GroupsOf(g)
	e.tellsXID = e.tellsXID && g != device.GroupHealth
}

// readingState is the state of readings of a board that is not measured.
func readingState(s snapshot.State) gpu.State {
	switch s {
	case snapshot.StateLost, snapshot.StateHung:
		return gpu.Lost
	case snapshot.StateNoAccess:
		return gpu.NoPermission
	default:
		return gpu.NoData
	}
}

// retire lets the worker go. It ends once the call that it may be in comes back.
func (e *entry) retire() {
	if e.worker != nil {
		close(e.worker.jobs)
		e.worker = nil
	}
	e.board, e.busySince = nil, time.Time{}
}

// count notes an XID error.
func (e *entry) count(code uint64, at time.Time) {
	e.lastXID = code
	i, known := slices.BinarySearchFunc(e.xids, code, func(x snapshot.XIDCount, code uint64) int {
		switch {
		case x.Code < code:
			return -1
		case x.Code > code:
			return 1
		}
		return 0
	})
	if !known {
		e.xids = slices.Insert(e.xids, i, snapshot.XIDCount{Code: code})
	}
	e.xids[i].Count++
	e.xids[i].Last = at
}

// countKind notes an event that is no XID error.
func (e *entry) countKind(kind device.EventKind, at time.Time) {
	i := 0
	for i < len(e.events) && e.events[i].Kind < kind {
		i++
	}
	if i == len(e.events) || e.events[i].Kind != kind {
		e.events = slices.Insert(e.events, i, snapshot.EventCount{Kind: kind})
	}
	e.events[i].Count++
	e.events[i].Last = at
}
