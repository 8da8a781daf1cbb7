package plugin

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// The metrics of an inventory.
const (
	smActive    = "gpu_sm_active_ratio"
	utilization = "gpu_utilization_ratio"
	memoryUsed  = "gpu_memory_used_bytes"
	memoryTotal = "gpu_memory_total_bytes"
	powerDrawn  = "gpu_power_watts"
	temperature = "gpu_temperature_celsius"
	throttling  = "gpu_clock_event_reasons"
)

func (d *Datasource) inventoryMetrics() []catalog.Metric {
	var metrics []catalog.Metric
	for _, name := range []string{smActive, utilization, memoryUsed, memoryTotal, powerDrawn, temperature, throttling} {
		if m, ok := d.catalog.Metric(name); ok {
			metrics = append(metrics, m)
		}
	}
	return metrics
}

// eventPoints is how many points events of a range are looked for at.
const eventPoints = 1500

// eventWindow is the grid on which events are looked for in history: it does not depend on a panel's width.
func eventWindow(r request) query.Window {
	o := r.window
	o.MaxDataPoints, o.MinStep = eventPoints, r.query.MinStep
	return query.NewWindow(o)
}

// stock is what both sides know of the devices of a scope.
type stock struct {
	past    history.Inventory
	errors  history.Events // XID errors that history shows
	present live.NowResult
	looked  bool // agents were asked
}

// selectNodes is the nodes of a scope, and what is wanted of them.
func selectNodes(scope query.Scope) live.Select {
	s := selection{scope: scope}
	return live.Select{Match: s.matchesTarget, Wait: liveWait}
}

// inventory answers with a row for each GPU and MIG instance.
func (d *Datasource) inventory(ctx context.Context, r request) (data.Frames, error) {
	reach := reachOf(r.query, r.window.From, r.window.To, r.now)
	s := d.stock(ctx, r, reach.continues, r.window.From)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rows := s.rows(r.query.Scope, r.window.To, r.now)
	if err := s.past.Err; err != nil && len(rows) == 0 {
		return nil, noSide(err, live.WindowResult{Notices: s.present.Notices})
	}
	notices := append(reach.notices, s.notices()...)
	o := frames.Options{Executed: s.past.Executed}
	if len(rows) == 0 {
		notices = append(notices, d.nobody(r.query, s))
	}
	if r.static {
		o.Notices = d.shown(notices)
		return data.Frames{frames.InventoryNumbers(rows, o)}, nil
	}
	rows, cut := limitInventory(rows, r.query.Rows())
	notices = append(notices, cut...)
	if r.query.Live && reach.continues && len(s.present.Nodes) > 0 {
		custom, notice := d.goesOn(ctx, r, len(rows), modeReplace, r.query.Source != query.SourceLive)
		o.Custom, notices = custom, append(notices, notice...)
	}
	o.Notices = d.shown(notices)
	return data.Frames{frames.Inventory(rows, o)}, nil
}

// stock asks both sides at the same time, agents for events since a time. Alert rules need no values.
func (d *Datasource) stock(ctx context.Context, r request, withLive bool, since time.Time) stock {
	s := stock{looked: withLive}
	var wg sync.WaitGroup
	if r.query.Source != query.SourceLive {
		var metrics []catalog.Metric
		if !r.static {
			metrics = d.inventoryMetrics()
			wg.Go(func() {
				asked := r.query
				asked.Type, asked.Kinds = query.TypeEvents, []string{gpu.KindXID}
				s.errors = d.history.Events(ctx, asked, eventWindow(r))
			})
		}
		wg.Go(func() { s.past = d.history.Inventory(ctx, r.query.Scope, query.NewWindow(r.window), metrics) })
	}
	if withLive {
		selected := selectNodes(r.query.Scope)
		selected.Owners, selected.Events, selected.Since = true, true, since
		wg.Go(func() { s.present = d.live.Now(ctx, selected) })
	}
	wg.Wait()
	return s
}

func (s stock) notices() []gpu.Notice {
	notices := append(append([]gpu.Notice(nil), s.past.Notices...), s.present.Notices...)
	if s.past.Err != nil {
		notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: "No history, only live data: " + s.past.Err.Error()})
	} else if s.errors.Err != nil {
		notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: "XID errors in Prometheus are not known: " + s.errors.Err.Error() + "."})
	}
	return notices
}

// nobody says why an inventory is empty: without a word that would look healthy.
func (d *Datasource) nobody(q query.Query, s stock) gpu.Notice {
	text := "No GPU is known"
	if selection := q.Scope.String(); selection != "" {
		text = "No GPU or MIG instance of the selection is known"
	}
	switch agents := len(s.present.Nodes); {
	case agents > 0:
		text += fmt.Sprintf(": none of the %d agents that were asked has one", agents)
	case s.looked:
		text += ": no agent was found"
	default:
		text += ": agents were not asked"
	}
	switch {
	case q.Source == query.SourceLive:
	case len(d.settings.Clusters) == 0:
		text += ", and no Prometheus is set up"
	default:
		text += ", and no exporter's series in Prometheus shows one in this range"
	}
	if selection := q.Scope.String(); selection != "" {
		text += ". Selected: " + selection
	}
	return gpu.Notice{Severity: gpu.Warning, Text: text + "."}
}

// xids are the errors that both sides know, in the order of time.
func (s stock) xids() []gpu.Event {
	var told []gpu.Event
	for _, n := range s.present.Nodes {
		for _, e := range n.Events {
			if e.Kind == gpu.KindXID {
				told = append(told, e)
			}
		}
	}
	return timeline.MergeEvents(told, s.errors.List, s.errors.Precision)
}

// maxStreamedRows is how many rows a table that is sent again and again may have: a browser's channel holds a few of them.
const maxStreamedRows = 1000

// goesOn is the channel that continues a table, as the frame's custom data, or a notice that says why there is none.
// ofHistory is whether the channel shows what Prometheus said, too.
func (d *Datasource) goesOn(ctx context.Context, r request, rows int, mode string, ofHistory bool) (any, []gpu.Notice) {
	because := func(why string) (any, []gpu.Notice) {
		return nil, []gpu.Notice{{Severity: gpu.Info, Text: "Not streaming: " + why + " A refresh shows what is new."}}
	}
	switch {
	case mode == modeReplace && rows > maxStreamedRows:
		return because(fmt.Sprintf("%d rows are too many to be sent every second, %d at most are; narrow the query.", rows, maxStreamedRows))
	case mode == modeReplace && ofHistory && tenantOf(ctx) != "":
		return because("what Prometheus shows depends on who asks, and a stream is the same for all.")
	}
	alerts := mode == modeAppend && tenantOf(ctx) == "" && r.wantsAlerts() && r.query.WantsKind(gpu.KindAlert)
	meta, err := tableChannel(r.query, mode, time.Second, r.window.To.Sub(r.window.From), alerts)
	if err != nil {
		return because(err.Error() + ".")
	}
	return map[string]liveMeta{"live": meta}, nil
}
