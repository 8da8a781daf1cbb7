package history

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// fromHistory is the origin of events that are read out of series.
const fromHistory = "history"

// Events are what series show to have happened.
type Events struct {
	List     []gpu.Event // in the order of time; a time is that of the first sample which shows it
	Notices  []gpu.Notice
	Executed string
	Err      error // set when no endpoint answered
	// Precision is how much earlier than its time an event may have happened.
	Precision time.Duration
	// Failed is whether some kind of event could not be looked for.
	Failed bool
}

// eventWindow is the window events are looked for in: it begins early enough to tell what was there before.
func eventWindow(w query.Window) query.Window {
	w.From = w.Start().Add(-2 * w.Step)
	return w
}

// Events finds what happened to the devices of a query's scope within the window: XID errors, memory errors, throttling of
// at least shortest, changes of MIG instances, and GPUs that went and came. Each is told once, however many scrapes, exporters
// and servers show it.
func (h *History) Events(ctx context.Context, q query.Query, w query.Window) Events {
	endpoints, notices := h.inScope(q.Scope)
	out := Events{Notices: notices, Precision: w.Step + w.ScrapeInterval}
	if len(endpoints) == 0 {
		return out
	}
	s := search{h: h, endpoints: endpoints, scope: q.Scope, w: eventWindow(w), shortest: q.Shortest()}
	if out.Err = s.restrict(ctx); out.Err != nil {
		return out
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var asked []string
	var errs []error
	looked := 0
	look := func(f func(context.Context) (findings, error)) {
		looked++
		wg.Go(func() {
			got, err := f(ctx)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return
			}
			out.List = append(out.List, got.events...)
			for _, n := range got.notices {
				if !slices.Contains(out.Notices, n) {
					out.Notices = append(out.Notices, n)
				}
			}
			asked = append(asked, got.asked...)
		})
	}
	if !s.nobody {
		// Who was there is asked first: what a series shows when a device is seen for the first time had happened before.
		presence, err := s.presence(ctx)
		if err != nil {
			out.Err = err
			return out
		}
		s.began = presence.began
		look(func(context.Context) (findings, error) { return presence.findings(s, q), nil })
		if q.WantsKind(gpu.KindXID) {
			look(s.xids)
		}
		if q.WantsKind(gpu.KindECCUncorrected) {
			look(s.uncorrected)
		}
		if q.WantsKind(gpu.KindThrottle) {
			look(s.throttled)
		}
	}
	wg.Wait()
	if len(errs) > 0 && len(errs) >= looked-1 && looked > 1 {
		out.Err = errs[0]
		return out
	}
	for _, err := range errs {
		out.Failed = true
		out.Notices = append(out.Notices, gpu.Notice{Severity: gpu.Warning, Text: "Some events are missing: " + err.Error() + "."})
	}
	slices.Sort(asked)
	out.Executed = strings.Join(slices.Compact(asked), "\n")
	from := w.From
	out.List = slices.DeleteFunc(out.List, func(e gpu.Event) bool { return e.Time.Before(from) && !e.Until.After(from) || e.Time.After(w.To) })
	slices.SortStableFunc(out.List, compareEvents)
	if n := len(out.List); n > maxFoundEvents {
		out.List = out.List[n-maxFoundEvents:]
		out.Notices = append(out.Notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
			"Prometheus shows %d events, and only the newest %d are kept: shorten the range or narrow the query.", n, maxFoundEvents)})
	}
	return out
}

// maxFoundEvents bounds the events of one answer.
const maxFoundEvents = 100_000

func compareEvents(a, b gpu.Event) int {
	return cmp.Or(a.Time.Compare(b.Time), compareDevices(a.Device, b.Device), strings.Compare(a.Kind, b.Kind), cmp.Compare(a.XID, b.XID))
}

// findings are the events of one kind of series.
type findings struct {
	events  []gpu.Event
	notices []gpu.Notice
	asked   []string
}

// search is what events are looked for in.
type search struct {
	h         *History
	endpoints []*endpoint
	scope     query.Scope // of devices only
	w         query.Window
	shortest  time.Duration
	nobody    bool              // no device is in the scope
	began     map[deviceKey]int // where on the grid a board was first seen, when that is not the beginning
}

// restrict turns a scope of owners into one of their devices: of most series only some exporters name owners.
func (s *search) restrict(ctx context.Context) error {
	if !s.scope.ByOwner() {
		return nil
	}
	inv := s.h.Inventory(ctx, s.scope, s.w, nil)
	if inv.Err != nil {
		return inv.Err
	}
	uuids := map[string]bool{}
	for _, row := range inv.Rows {
		uuids[row.Device.UUID] = true
	}
	s.nobody = len(uuids) == 0
	scope, err := s.scope.WithoutOwners()
	if err == nil && !s.nobody {
		scope, err = scope.OfGPUs(slices.Sorted(maps.Keys(uuids)))
	}
	s.scope = scope
	return err
}

// track is one value of one device as one dialect shows it, on the grid; NaN where there is nothing.
type track struct {
	device  gpu.Device
	key     deviceKey
	dialect catalog.Dialect
	extra   string // value of the metric's SumOver label
	values  []float64
}

// tracks asks all servers for the raw values of a metric. filter is as for collectAll. Dialects are kept apart: each counts
// from a beginning of its own.
func (s *search) tracks(ctx context.Context, m catalog.Metric, scope query.Scope, filter string) ([]track, grid, findings, error) {
	q := query.Query{Type: query.TypeMetric, Metric: m.Name, AggregateBy: query.ByIdentity, Scope: scope}
	all, asked, failed, err := s.h.collectAll(ctx, s.endpoints, q, m, s.w, filter)
	g := gridOf(false, s.w)
	if err != nil {
		return nil, g, findings{}, err
	}
	f := findings{notices: append(failed, all.notices...), asked: strings.Split(executed(asked), "\n")}
	f.notices = slices.DeleteFunc(f.notices, func(n gpu.Notice) bool { return n.Severity < gpu.Warning })
	candidates := all.candidates
	if m.Latched {
		candidates = newestFirst(candidates)
	}
	byDialect := map[catalog.Dialect][]candidate{}
	for _, c := range candidates {
		byDialect[c.want.source.Dialect] = append(byDialect[c.want.source.Dialect], c)
	}
	var found []track
	for _, dialect := range s.h.catalog.Dialects() {
		r := newReduction(m, scope, all.roster, g, len(byDialect[dialect]))
		for _, c := range byDialect[dialect] {
			r.add(c)
		}
		for _, key := range r.order {
			l := r.lines[key]
			for _, c := range l.sorted() {
				if c.part < 0 {
					found = append(found, track{device: r.device(key), key: key, dialect: dialect, extra: c.extra, values: c.values})
				}
			}
		}
	}
	return found, g, f, nil
}

// raw is the metric with a counter's values in place of its rate: a counter that appears with its first event has no rate.
func raw(m catalog.Metric) catalog.Metric {
	m.Kind = catalog.Gauge
	return m
}

// known reports whether a board was there, and looked at, right before a point of the grid.
func (s *search) known(key deviceKey, at int) bool {
	began, later := s.began[key.parent()]
	return at > 0 && (!later || at > began+1)
}

func (s *search) metric(name string) (catalog.Metric, error) {
	m, ok := s.h.catalog.Metric(name)
	if !ok {
		return m, fmt.Errorf("the catalogue has no %s", name)
	}
	return m, nil
}

func at(g grid, i int) time.Time { return time.UnixMilli(g.times[i]).UTC() }
