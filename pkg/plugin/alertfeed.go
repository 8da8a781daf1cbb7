package plugin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

const (
	// alertsEvery is how far apart a data source asks for alerts while streams want them, however many these are.
	alertsEvery = 15 * time.Second
	// alertsSpan is how far back it asks.
	alertsSpan = 2 * time.Minute
	// alertsMost is how long one answer may take.
	alertsMost = 30 * time.Second
)

// alertPolls asks for the alerts of all clusters on behalf of all streams. The zero value has asked nobody.
type alertPolls struct {
	mu   sync.Mutex
	turn chan struct{} // holds one token while somebody asks
	at   time.Time
	said alertAnswers
}

// get is what was said within the last alertsEvery, or else what ask says now. Of several at the same time one asks.
func (p *alertPolls) get(ctx context.Context, now time.Time, ask func(context.Context) alertAnswers) (alertAnswers, error) {
	p.mu.Lock()
	if p.turn == nil {
		p.turn = make(chan struct{}, 1)
	}
	turn := p.turn
	p.mu.Unlock()
	select {
	case <-ctx.Done():
		return alertAnswers{}, ctx.Err()
	case turn <- struct{}{}:
	}
	defer func() { <-turn }()
	p.mu.Lock()
	said, fresh := p.said, !p.at.IsZero() && now.Sub(p.at) < alertsEvery-time.Second
	p.mu.Unlock()
	if fresh {
		return said, nil
	}
	said = ask(ctx)
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return alertAnswers{}, err // that its stream ended is no answer to the others
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said, p.at = said, now
	return said, nil
}

// firingNow is what a stream's query wants of the alerts that fire now.
func (d *Datasource) firingNow(ctx context.Context, q query.Query) (firings, error) {
	now := d.now()
	r := request{query: q, now: now, window: query.WindowOptions{
		From: now.Add(-alertsSpan), To: now, MinStep: alertsEvery, ScrapeInterval: d.settings.ScrapeInterval,
	}}
	said, err := d.alertPolls.get(ctx, now, func(ctx context.Context) alertAnswers {
		all := r
		all.query.Scope, all.query.Source, all.query.Kinds = query.Scope{}, query.SourceAuto, []string{gpu.KindAlert}
		return d.askAlerts(ctx, all)
	})
	if err != nil {
		return firings{}, err
	}
	if q.Source == query.SourceLive {
		said.past.List, said.past.Err = nil, nil
	}
	return d.placed(ctx, r, said), nil
}

// alertWatch finds out which alerts began and which ended, from one answer to the next. Its methods are called by the goroutine of
// the stream, which never waits for an answer.
type alertWatch struct {
	ask   func(context.Context) (firings, error)
	shown map[string]bool // alerts that the panel's answer had; nil where that is not known

	ctx     context.Context // of the stream
	answers chan alertAnswer
	asking  bool
	asked   time.Time // when the last answer was asked for
	firing  map[string]gpu.Event
	notices []gpu.Notice // of the last answer
}

type alertAnswer struct {
	firings

	err error
}

func (w *alertWatch) start(ctx context.Context) { w.ctx, w.answers = ctx, make(chan alertAnswer, 1) }

// look is what began and what ended by the last answer, once for each. It has another one made when it is time.
func (w *alertWatch) look(now time.Time) []gpu.Event {
	var events []gpu.Event
	select {
	case said := <-w.answers:
		w.asking = false
		events = w.compare(said, now)
	default:
	}
	if !w.asking && now.Sub(w.asked) >= alertsEvery {
		w.asking, w.asked = true, now
		go func() { // ends with the stream: there is room for its one answer
			ctx, cancel := context.WithTimeout(w.ctx, alertsMost)
			defer cancel()
			said, err := w.ask(ctx)
			w.answers <- alertAnswer{said, err}
		}()
	}
	return events
}

// compare takes an answer. By one that lacks a part nothing has ended.
func (w *alertWatch) compare(said alertAnswer, now time.Time) []gpu.Event {
	whole := said.err == nil && len(said.failed) == 0
	w.notices = said.failed
	if said.err != nil {
		w.notices = []gpu.Notice{{Severity: gpu.Warning, Text: "What fires now is not known: " + said.err.Error() + "."}}
	}
	first := w.firing == nil
	if first {
		w.firing = map[string]gpu.Event{}
	}
	ongoing := map[string]bool{}
	var events []gpu.Event
	for _, a := range said.alerts {
		key := a.key()
		if !a.ongoing || ongoing[key] {
			continue
		}
		ongoing[key] = true
		if _, known := w.firing[key]; known {
			continue
		}
		e := a.Event
		e.Detail = a.stem
		w.firing[key] = e
		if first && (w.shown == nil || w.shown[key]) {
			continue // the panel has it
		}
		begun := e
		begun.Until, begun.Detail = time.Time{}, e.Detail+"; fires"
		events = append(events, begun)
	}
	for key, e := range w.firing {
		if !whole || ongoing[key] {
			continue
		}
		delete(w.firing, key)
		e.Until = now
		e.Detail += "; resolved after " + now.Sub(e.Time).Round(time.Second).String()
		events = append(events, e)
	}
	slices.SortFunc(events, func(a, b gpu.Event) int { return strings.Compare(a.Detail, b.Detail) })
	return events
}
