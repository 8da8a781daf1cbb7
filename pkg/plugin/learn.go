package plugin

import (
	"context"
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// learnedFor is how far back a baseline goes: whole hours of 16 days, and those that have begun at both ends.
const learnedFor = 16*24*time.Hour + 2*time.Hour

// lateSamples is how long ago something must be, at least, for its samples to have arrived.
const lateSamples = time.Minute

// learned is the baselines of the devices of a judgement, up to date and locked until release. It is false where they cannot
// be kept, or what is missing cannot be read: then the judgement has to read all of the past itself.
func (j *judgement) learned(ctx context.Context, f insight.Field) (kept *baselineSet, release func(), ok bool) {
	grid := j.gathered.devices
	if len(grid.Times) == 0 || !grid.Has(f) {
		return nil, nil, false
	}
	b := &j.baselines
	kept = b.of(baselineKey{tenantOf(ctx), j.request.query.Source, f, grid.Step})
	oldest := grid.Times[len(grid.Times)-1] - learnedFor.Milliseconds()
	kept.mu.Lock()
	lacks := kept.lacks(grid, f, oldest)
	held := kept.set.Len()
	kept.mu.Unlock()
	devices := lacks.known + len(lacks.rows)
	if lacks.ahead || !b.reserve(kept, held+len(lacks.rows)) {
		b.count.add(baselineBypass, devices)
		return nil, nil, false
	}
	until := j.now().Add(-max(lateSamples, j.settings.Cache.Freshness, 2*j.settings.ScrapeInterval)).UnixMilli()
	for _, part := range j.toLearn(lacks, oldest) {
		for from := part.from; from.Before(part.to); {
			to := part.to
			if room := gatherCells / max(1, devices); int(to.Sub(from)/grid.Step) > room {
				to = from.Add(time.Duration(max(1, room)) * grid.Step)
			}
			old, whole := j.before(ctx, f, part.scope, from, to)
			if !whole {
				b.count.add(baselineBypass, devices)
				return nil, nil, false
			}
			kept.mu.Lock()
			kept.set.UpdateUntil(old, f, until)
			kept.mu.Unlock()
			from = to
		}
	}
	kept.mu.Lock()
	if j.gathered.whole {
		kept.set.UpdateUntil(grid, f, until)
	}
	kept.set.Forget(oldest)
	b.settle(kept, kept.set.Len())
	b.count.add(baselineHit, lacks.known)
	b.count.add(baselineMiss, len(lacks.rows))
	return kept, kept.mu.Unlock, true
}

// stretch is a part of the past of some devices.
type stretch struct {
	scope    query.Scope
	from, to time.Time
}

// toLearn is what has to be read of the past, in the order of time for each device.
func (j *judgement) toLearn(lacks unlearned, oldest int64) []stretch {
	grid := j.gathered.devices
	step := grid.Step.Milliseconds()
	first := time.UnixMilli(grid.Times[0])
	begin := time.UnixMilli(oldest - oldest%step)
	var parts []stretch
	all := stretch{scope: j.gathered.scope, from: first, to: first}
	if lacks.since != math.MaxInt64 {
		all.from = time.UnixMilli(max(lacks.since, begin.UnixMilli()))
	}
	if len(lacks.rows) > 0 {
		uuids := uuidsOf(grid, lacks.rows)
		some, err := all.scope.OfGPUs(uuids)
		if lacks.known > 0 && len(uuids) <= mostNamed && err == nil {
			parts = append(parts, stretch{some, begin, first})
		} else {
			all.from = begin
		}
	}
	if all.from.Before(all.to) {
		parts = append(parts, all)
	}
	return parts
}

// before is a field of the devices of a judgement in an earlier range, and whether all of it could be read.
func (j *judgement) before(ctx context.Context, f insight.Field, scope query.Scope, from, to time.Time) (*insight.Devices, bool) {
	step := j.gathered.devices.Step
	w := query.Window{From: from.Add(step), To: to, Step: step, ScrapeInterval: query.NewWindow(j.request.window).ScrapeInterval}
	g := &gathering{
		Datasource: j.Datasource, request: j.request, scope: scope, want: wanted{fields: []insight.Field{f}}, window: w, from: from,
		times: insight.NewGrid[insight.Subject](from, to, step, nil).Times,
	}
	got := g.field(ctx, f)
	if got.failed != nil || got.partial || ctx.Err() != nil {
		return nil, false
	}
	grid := insight.NewGrid(from, to, step, j.gathered.devices.Subjects)
	placesOn(grid.Subjects, g.seen.list).fill(grid, &got)
	return grid, true
}
