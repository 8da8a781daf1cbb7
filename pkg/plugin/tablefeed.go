package plugin

import (
	"context"
	"slices"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// tableEvery is how often tables are sent at most.
const tableEvery = time.Second

// heartbeat is how far apart packets are at most: browsers take a longer silence for trouble.
const heartbeat = 5 * time.Second

// glance is how long the hub is waited for when a table is made: everything is there, or it is not part of this one.
const glance = 20 * time.Millisecond

// tableFeed sends a whole table whenever something of it changed, and now and then when nothing did.
type tableFeed struct {
	selected live.Select
	empty    *data.Frame
	begin    func(context.Context)       // what does not change while the stream runs
	table    func(time.Time) *data.Frame // of now
	matters  func(live.Update) bool      // whether the table may be another one after it
	changed  bool
	sent     time.Time
}

func (f *tableFeed) schema() *data.Frame  { return f.empty }
func (f *tableFeed) wants() live.Select   { return f.selected }
func (f *tableFeed) every() time.Duration { return tableEvery }

func (f *tableFeed) start(ctx context.Context) {
	f.begin(ctx)
	f.changed = true
}

func (f *tableFeed) take(u live.Update) { f.changed = f.changed || f.matters(u) }

func (f *tableFeed) packet(now time.Time) (delivery, bool) {
	if !f.changed && now.Sub(f.sent) < heartbeat {
		return delivery{}, false
	}
	f.changed, f.sent = false, now
	return delivery{frame: f.table(now), include: data.IncludeAll}, true
}

// now reads the hub without waiting for anybody.
func (d *Datasource) glance(selected live.Select) live.NowResult {
	selected.Wait = glance
	return d.live.Now(context.Background(), selected)
}

// inventoryFeed continues an inventory: what agents say now, and what Prometheus said when the stream began.
func (d *Datasource) inventoryFeed(c channel, q query.Query) feed {
	selected := selectNodes(q.Scope)
	selected.Owners, selected.Events = true, true
	span := time.Duration(c.RangeMs) * time.Millisecond
	var known stock
	var began time.Time
	return &tableFeed{
		selected: selected, empty: frames.Inventory(nil, frames.Options{}),
		begin: func(ctx context.Context) {
			began = d.now()
			r := request{query: q, now: began, window: query.WindowOptions{From: began.Add(-span), To: began, ScrapeInterval: d.settings.ScrapeInterval}}
			known = d.stock(ctx, r, true, r.window.From)
		},
		table: func(now time.Time) *data.Frame {
			looked := selected
			looked.Since = now.Add(-span)
			known.present = d.glance(looked)
			rows, cut := limitInventory(known.rows(q.Scope, now, now), min(q.Rows(), maxStreamedRows))
			notices := append(known.notices(), cut...)
			if len(rows) == 0 {
				notices = append(notices, d.nobody(q, known))
			}
			return frames.Inventory(rows, frames.Options{Notices: d.shown(notices)})
		},
		matters: func(u live.Update) bool {
			return u.Schema != nil || u.Status != nil || u.Owners != nil || len(u.Events) > 0
		},
	}
}

// processFeed continues a list of processes.
func (d *Datasource) processFeed(q query.Query) feed {
	selected := selectProcesses(q.Scope)
	return &tableFeed{
		selected: selected, empty: frames.Processes(nil, frames.Options{}),
		begin: func(ctx context.Context) { d.live.Now(ctx, selected) },
		table: func(time.Time) *data.Frame {
			got := d.glance(selected)
			rows, notices := processRows(got, q.Scope)
			if len(rows) == 0 {
				notices = append(notices, noProcesses(got, q.Scope))
			}
			rows, cut := limitProcesses(rows, min(q.Rows(), maxStreamedRows))
			return frames.Processes(rows, frames.Options{Notices: d.shown(slices.Concat(got.Notices, notices, cut))})
		},
		matters: func(u live.Update) bool { return u.Processes != nil || u.Status != nil },
	}
}
