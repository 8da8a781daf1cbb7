package plugin

import (
	"context"
	"slices"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight/events"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// eventEvery is how soon events are sent.
const eventEvery = 250 * time.Millisecond

// maxWaitingEvents bounds the events between two packets.
const maxWaitingEvents = 1000

// eventFeed appends the events that happen. Those of just now are sent again with the next heartbeat, for viewers who joined
// meanwhile; browsers know the ones that they have.
type eventFeed struct {
	d        *Datasource
	query    query.Query
	selected live.Select
	nodes    map[nodeName]live.NodeNow // with what is known of their owners
	shown    map[string]bool           // events that viewers have already
	waiting  []gpu.Event
	recent   []gpu.Event // sent since the last heartbeat
	lost     time.Time   // when some were left out last
	beat     time.Time
	alerts   *alertWatch // nil where nobody wants any
	told     []gpu.Notice
}

// eventFeedOf is the feed of an event query's channel.
func (d *Datasource) eventFeedOf(path string, c channel, q query.Query) (feed, error) {
	var o events.Options
	if err := q.DecodeOptions(&o); err != nil {
		return nil, err
	}
	if o.Group {
		return d.groupFeed(c, q), nil
	}
	f := &eventFeed{d: d, query: q, selected: selectEvents(q.Scope), nodes: map[nodeName]live.NodeNow{}, shown: map[string]bool{}}
	f.selected.Since = d.now().Add(-justNow)
	told, known := d.toldEvents.get(path, d.now())
	if known {
		f.selected.Since = told.until.Add(-justNow)
		f.shown = told.ids
	}
	if c.Alerts {
		f.alerts = &alertWatch{ask: func(ctx context.Context) (firings, error) { return d.firingNow(ctx, q) }}
		if known {
			f.alerts.shown = f.shown
		}
	}
	return f, nil
}

func (f *eventFeed) schema() *data.Frame  { return frames.Events(nil, frames.Options{}) }
func (f *eventFeed) wants() live.Select   { return f.selected }
func (f *eventFeed) every() time.Duration { return eventEvery }

func (f *eventFeed) start(ctx context.Context) {
	if f.alerts != nil {
		f.alerts.start(ctx)
	}
}

func (f *eventFeed) take(u live.Update) {
	at := nodeName{u.Target.Cluster, u.Target.Node}
	if u.Owners != nil {
		f.nodes[at] = live.NodeNow{Owners: u.Owners}
	}
	if len(u.Events) == 0 {
		return
	}
	wanted := wantedEvents(f.query, f.nodes[at])
	for _, e := range u.Events {
		switch {
		case !wanted(e) || f.shown[eventID(e)]:
		case len(f.waiting) >= maxWaitingEvents:
			f.lost = f.d.now()
		default:
			f.waiting = append(f.waiting, e)
		}
	}
}

func (f *eventFeed) packet(now time.Time) (delivery, bool) {
	notices := f.notices(now)
	told := !slices.Equal(notices, f.told)
	sent := f.waiting
	switch beats := now.Sub(f.beat) >= heartbeat; {
	case beats:
		sent = slices.Concat(f.recent, f.waiting)
		f.beat, f.recent = now, f.waiting
	case len(sent) == 0 && !told:
		return delivery{}, false
	default:
		f.recent = append(f.recent, sent...)
		f.recent = f.recent[max(0, len(f.recent)-maxWaitingEvents):]
	}
	f.waiting, f.told = nil, notices
	slices.SortStableFunc(sent, func(a, b gpu.Event) int { return a.Time.Compare(b.Time) })
	return delivery{frame: frames.Events(sent, frames.Options{Notices: notices}), include: data.IncludeDataOnly}, true
}

// notices are what is to be told, after what began or ended to fire was taken over.
func (f *eventFeed) notices(now time.Time) []gpu.Notice {
	var notices []gpu.Notice
	if f.alerts != nil {
		f.waiting = append(f.waiting, f.alerts.look(now)...)
		notices = f.alerts.notices
	}
	if !f.lost.IsZero() && now.Sub(f.lost) < lossEvery {
		notices = append(slices.Clip(notices), gpu.Notice{Severity: gpu.Warning, Text: "So much happened at once that some events are left out; a refresh shows them."})
	}
	return f.d.shown(notices)
}
