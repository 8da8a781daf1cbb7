package plugin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// alertingPast is a Prometheus whose alerts begin and end.
type alertingPast struct {
	past

	asked atomic.Int32
	mu    sync.Mutex
	since map[string]time.Time // since when alerts fire, by name
	err   error
}

func (p *alertingPast) set(name string, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if since.IsZero() {
		delete(p.since, name)
		return
	}
	p.since[name] = since
}

func (p *alertingPast) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

func (p *alertingPast) Alerts(_ context.Context, _ query.Scope, w query.Window) history.Alerts {
	p.asked.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return history.Alerts{Err: p.err}
	}
	var out history.Alerts
	for name, since := range p.since {
		out.List = append(out.List, history.Alert{
			Cluster: "north", Labels: map[string]string{"alertname": name, "node": "n1", "severity": "critical"},
			From: since, Until: w.To, Ongoing: true,
		})
	}
	return out
}

// newAlertingFleet is a fleet of one agent under a Prometheus with alerts.
func newAlertingFleet(t *testing.T) (*fleet, *alertingPast) {
	t.Helper()
	f := newFleet(t, agenttest.Options{Node: "n1"})
	f.agents[0].SetOwners()
	p := &alertingPast{past: f.history, since: map[string]time.Time{}}
	f.history = p
	return f, p
}

// titles are what a browser has shown of a stream, each row once, and the notices told.
func (p *tables) titles(t *testing.T) (rows []string, notices string) {
	t.Helper()
	for _, packet := range p.snapshot() {
		for _, text := range cellTexts(t, packet.frame, "title", "detail") {
			if !slices.Contains(rows, text) {
				rows = append(rows, text)
			}
		}
		for _, n := range packet.frame.Meta.Notices {
			notices += n.Text + "\n"
		}
	}
	return rows, notices
}

// An alert that begins while a dashboard is open is told within the time between two looks, and so is its end, each once. What the
// answer had is not repeated, and a Prometheus that does not answer ends nothing.
func TestAlertsGoOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f, past := newAlertingFleet(t)
		past.set("GpuHot", time.Now())
		time.Sleep(2 * time.Second)
		const q = `{"queryType":"events"}`
		answered := f.frames(t, time.Hour, q)[0]
		if got := cellTexts(t, answered, "title"); !slices.Equal(got, []string{"Alert GpuHot"}) {
			t.Fatalf("the answer has %q", got)
		}
		path, raw := channelOf(t, answered)
		got := &tables{}
		stop := f.runTable(t, path, raw, got)
		time.Sleep(10 * time.Second)
		past.set("GpuXid", time.Now())
		time.Sleep(alertsEvery + time.Second)
		if rows, _ := got.titles(t); !slices.Equal(rows, []string{"Alert GpuXid|GpuXid: critical; fires"}) {
			t.Errorf("after it began: %q", rows)
		}
		past.fail(errors.New("prometheus is down"))
		past.set("GpuHot", time.Time{})
		time.Sleep(2 * alertsEvery)
		rows, notices := got.titles(t)
		if len(rows) != 1 || !strings.Contains(notices, "prometheus is down") {
			t.Errorf("without Prometheus: %q, told %q", rows, notices)
		}
		past.fail(nil)
		time.Sleep(2 * alertsEvery)
		rows, _ = got.titles(t)
		if len(rows) != 2 || !strings.HasPrefix(rows[1], "Alert GpuHot|GpuHot: critical; resolved after 1m") {
			t.Errorf("after one ended: %q", rows)
		}
		if last := got.snapshot(); len(last[len(last)-1].frame.Meta.Notices) != 0 {
			t.Errorf("still told %v", last[len(last)-1].frame.Meta.Notices)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// However many streams want alerts, Prometheus is asked once.
func TestAlertsAreAskedForOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f, past := newAlertingFleet(t)
		time.Sleep(2 * time.Second)
		for _, kinds := range []string{`["alert","xid"]`, `["alert","lost"]`, `["alert"]`, `[]`} {
			path, raw := channelOf(t, f.frames(t, time.Hour, `{"queryType":"events","kinds":`+kinds+`}`)[0])
			f.runTable(t, path, raw, &tables{})
		}
		before := past.asked.Load()
		time.Sleep(60*time.Second + 500*time.Millisecond)
		if n := past.asked.Load() - before; n < 4 || n > 6 {
			t.Errorf("asked %d times in a minute for four streams", n)
		}
	})
}

// A stream that ends while it asks on behalf of all leaves no answer behind.
func TestAlertsOfAStreamThatEnds(t *testing.T) {
	var polls alertPolls
	ended, end := context.WithCancel(t.Context())
	_, err := polls.get(ended, time.Now(), func(context.Context) alertAnswers {
		end()
		return alertAnswers{}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	want := alertAnswers{known: []gpu.Device{{Model: "H200"}}}
	got, err := polls.get(t.Context(), time.Now(), func(context.Context) alertAnswers { return want })
	if err != nil || len(got.known) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Streams of queries that name other kinds ask for no alerts.
func TestAlertsAreAskedForWhereTheyAreWanted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f, past := newAlertingFleet(t)
		time.Sleep(2 * time.Second)
		path, raw := channelOf(t, f.frames(t, time.Hour, `{"queryType":"events","kinds":["xid"]}`)[0])
		f.runTable(t, path, raw, &tables{})
		time.Sleep(time.Minute)
		if n := past.asked.Load(); n != 0 {
			t.Errorf("asked %d times", n)
		}
	})
}

// Groups are formed anew soon after something happened, with alerts among them.
func TestGroupedEventsGoOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f, past := newAlertingFleet(t)
		d := boards("n1", 1)[0]
		f.agents[0].Event(gpu.Event{Kind: gpu.KindXID, XID: 31, Device: d})
		time.Sleep(2 * time.Second)
		answered := f.frames(t, time.Hour, `{"queryType":"events","options":{"group":true}}`)[0]
		wantCells(t, answered, "xid,events", "31|1")
		path, raw := channelOf(t, answered)
		got := &tables{}
		stop := f.runTable(t, path, raw, got)
		time.Sleep(20 * time.Minute)
		happened := time.Now()
		f.agents[0].Event(gpu.Event{Kind: gpu.KindXID, XID: 79, Device: d})
		time.Sleep(4 * time.Second)
		all := got.snapshot()
		wantCells(t, all[len(all)-1].frame, "xid,events", "31|1", "79|1")
		for _, p := range all {
			if p.frame.Rows() == 2 {
				if after := p.at.Sub(happened); after > 2*time.Second {
					t.Errorf("told after %s", after)
				}
				break
			}
		}
		past.set("GpuXid", time.Now())
		time.Sleep(judgedSlow + 2*time.Second)
		all = got.snapshot()
		wantCells(t, all[len(all)-1].frame, "xid,events", "31|1", "79|2")
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
