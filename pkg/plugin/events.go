package plugin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/insight/events"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// events answers with what happened to the GPUs of the scope within the range: what agents saw, and what series show.
func (d *Datasource) events(ctx context.Context, r request) (data.Frames, error) {
	var options events.Options
	if err := r.query.DecodeOptions(&options); err != nil {
		return nil, badInput(err)
	}
	if err := options.Validate(); err != nil {
		return nil, badOptions(err)
	}
	reach := reachOf(r.query, r.window.From, r.window.To, r.now)
	withLive := r.query.Source != query.SourceHistory // agents remember longer than their samples
	var past history.Events
	var fired firings
	var owned stock
	var present live.NowResult
	var wg sync.WaitGroup
	if r.query.Source != query.SourceLive {
		wg.Go(func() { past = d.history.Events(ctx, r.query, eventWindow(r)) })
	}
	if r.wantsAlerts() {
		wg.Go(func() { fired = d.firings(ctx, r) })
	}
	if options.Group {
		wg.Go(func() { owned = d.ownersOfRange(ctx, r, reach.continues) })
	}
	if withLive {
		selected := selectEvents(r.query.Scope)
		selected.Since = r.window.From
		wg.Go(func() { present = d.live.Now(ctx, selected) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	told, notices := d.agentEvents(r, present)
	alerting := fired.events()
	if past.Err != nil && len(told)+len(alerting) == 0 && !anyConnected(present) {
		return nil, noSide(past.Err, live.WindowResult{Notices: present.Notices})
	}
	rows := timeline.MergeEvents(told, past.List, past.Precision)
	if len(alerting) > 0 {
		rows = append(rows, alerting...)
		slices.SortStableFunc(rows, timeline.CompareEvents)
	}
	notices = append(append(reach.notices, append(past.Notices, present.Notices...)...), notices...)
	notices = append(append(notices, fired.notices...), fired.failed...)
	if past.Err != nil {
		notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: "No history, only what agents remember: " + past.Err.Error()})
	}
	if len(rows) == 0 {
		notices = append(notices, d.nothingHappened(r, past, present))
	}
	o := frames.Options{Executed: strings.Trim(past.Executed+"\n"+fired.executed, "\n")}
	streams := r.query.Live && !r.static && reach.continues && withLive && len(present.Nodes) > 0
	if options.Group {
		groups := events.Correlate(rows, owned.jobs(r), options.Window())
		if streams {
			custom, notice := d.goesOn(ctx, r, len(groups), modeReplace, r.query.Source != query.SourceLive)
			o.Custom, notices = custom, append(notices, notice...)
		}
		o.Notices = notices
		return d.grouped(r, rows, groups, o)
	}
	if r.static {
		o.Notices = d.shown(notices)
		return data.Frames{frames.EventNumbers(rows, o)}, nil
	}
	if n, most := len(rows), r.query.Rows(); n > most {
		rows = rows[n-most:]
		notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
			"Showing the newest %d of %d events: shorten the range, choose kinds, or set maxRows (up to %d).", most, n, query.MaxRowsLimit)})
	}
	if streams {
		custom, notice := d.goesOn(ctx, r, len(rows), modeAppend, false)
		o.Custom, notices = custom, append(notices, notice...)
		if meta, ok := custom.(map[string]liveMeta); ok {
			d.toldEvents.put(meta["live"].Path, r.now, append(recentEvents(told, r.now), fired.keys()...))
		}
	}
	o.Notices = d.shown(notices)
	return data.Frames{frames.Events(rows, o)}, nil
}

// selectEvents also wants owners, for scopes of them, and because they come after all events that an agent remembers: whoever
// waits for them has both.
func selectEvents(scope query.Scope) live.Select {
	selected := selectNodes(scope)
	selected.Events, selected.Owners = true, true
	return selected
}

func anyConnected(present live.NowResult) bool {
	return slices.ContainsFunc(present.Nodes, func(n live.NodeNow) bool { return n.Status.State.Streams() })
}

// agentEvents are those of agents that the query wants.
func (d *Datasource) agentEvents(r request, present live.NowResult) ([]gpu.Event, []gpu.Notice) {
	var told []gpu.Event
	var forgotten uint64
	for _, n := range present.Nodes {
		forgotten += n.EventsDropped
		wanted := wantedEvents(r.query, n)
		for _, e := range n.Events {
			if wanted(e) && !e.Time.After(r.window.To.Add(time.Second)) {
				told = append(told, e)
			}
		}
	}
	if forgotten == 0 {
		return told, nil
	}
	return told, []gpu.Notice{{Severity: gpu.Info, Text: fmt.Sprintf(
		"%d events are gone from the memory of the agents; what series show of them is there.", forgotten)}}
}

// wantedEvents tells which events of a node a query wants.
func wantedEvents(q query.Query, n live.NodeNow) func(gpu.Event) bool {
	var owners map[gpu.Identity][]gpu.Owner
	if q.Scope.ByOwner() {
		owners = ownersOn(n)
	}
	return func(e gpu.Event) bool {
		if !q.WantsKind(e.Kind) || !e.Until.IsZero() && e.Until.Sub(e.Time) < q.Shortest() {
			return false
		}
		if e.Device.UUID == "" {
			// Of the node: nobody knows which GPU.
			return q.Scope.MatchesNode(e.Device.Cluster, e.Device.Node) && !q.Scope.ByOwner() && len(q.Scope.GPUs)+len(q.Scope.MIGs) == 0
		}
		return q.Scope.Matches(e.Device) && (!q.Scope.ByOwner() || q.Scope.MatchesOwners(ownersOfBoard(owners, e.Device)))
	}
}

// ownersOfBoard are the owners of a device and of its parts: what happens to a board happens to all of them.
func ownersOfBoard(owners map[gpu.Identity][]gpu.Owner, d gpu.Device) []gpu.Owner {
	var all []gpu.Owner
	for id, some := range owners {
		if id.UUID == d.UUID && (!d.IsMIG() || id.GPUInstance == d.GPUInstance) {
			all = append(all, some...)
		}
	}
	return all
}

// nothingHappened is for a table without events: it says who was asked, so that silence is not taken for health.
func (d *Datasource) nothingHappened(r request, past history.Events, present live.NowResult) gpu.Notice {
	connected := 0
	for _, n := range present.Nodes {
		if n.Status.State.Streams() {
			connected++
		}
	}
	looked := r.query.Source != query.SourceLive && past.Err == nil && len(d.settings.Clusters) > 0
	selected := ""
	if text := r.query.Scope.String(); text != "" {
		selected = " Selected: " + text + "."
	}
	switch {
	case connected == 0 && !looked:
		return gpu.Notice{Severity: gpu.Warning, Text: "Nobody could be asked for events: no agent is connected, and no Prometheus was asked." + selected}
	case connected == 0:
		return gpu.Notice{Severity: gpu.Info, Text: "No events in this range, as far as the series in Prometheus show; no agent was asked." + selected}
	case !looked:
		return gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf("No events in this range, say %d agents.%s", connected, selected)}
	}
	return gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf("No events in this range, say %d agents and the series in Prometheus.%s", connected, selected)}
}

// justNow is how late an event may come that happened before an answer and is not in it.
const justNow = 15 * time.Second

// recentEvents are the numbers of events of the last seconds.
func recentEvents(told []gpu.Event, now time.Time) []string {
	var ids []string
	for _, e := range told {
		if now.Sub(e.Time) <= justNow {
			ids = append(ids, eventID(e))
		}
	}
	return ids
}

// eventID names an event of an agent.
func eventID(e gpu.Event) string {
	return e.Device.Cluster + groupSeparator + e.Device.Node + groupSeparator + strconv.FormatUint(e.Seq, 10) + groupSeparator + strconv.FormatInt(e.Time.UnixMilli(), 10)
}

// toldEvents remember which events answers have shown just now, so that the stream that continues them begins with those that
// they lack. As with handovers nothing is lost but comfort when it is gone. The zero value is empty.
type toldEvents struct {
	mu sync.Mutex
	at map[string]shownEvents
}

type shownEvents struct {
	until time.Time
	ids   map[string]bool
}

func (t *toldEvents) put(path string, now time.Time, ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at == nil {
		t.at = map[string]shownEvents{}
	}
	for other, shown := range t.at {
		if len(t.at) >= maxHandovers && now.Sub(shown.until) > handoverAge {
			delete(t.at, other)
		}
	}
	if _, known := t.at[path]; !known && len(t.at) >= maxHandovers {
		return
	}
	shown := shownEvents{until: now, ids: make(map[string]bool, len(ids))}
	for _, id := range ids {
		shown.ids[id] = true
	}
	t.at[path] = shown
}

// get is what was shown, false when that is not known or long ago.
func (t *toldEvents) get(path string, now time.Time) (shownEvents, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	shown, ok := t.at[path]
	return shown, ok && now.Sub(shown.until) <= handoverAge
}
