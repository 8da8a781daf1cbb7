package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// One stream too many is refused with a reason that the panel shows, and begins when another one ends.
func TestStreamLimits(t *testing.T) {
	for name, limit := range map[string]func(*gate){
		"already, which is the most for one user (live.maxStreamsPerUser of the data source's settings)": func(g *gate) { g.limits.MaxUserStreams = 1 },
		"this data source has 1 live streams already, which is the most (live.maxStreams of":             func(g *gate) { g.limits.MaxStreams = 1 },
	} {
		bubble(t, func(t *testing.T) {
			f := newFleet(t, agenttest.Options{Node: "n1"})
			limit(&f.gate)
			time.Sleep(2 * time.Second)
			path, raw := channelOf(t, f.frames(t, 5*time.Minute, metricQuery())[0])
			_, stopFirst := f.runStream(t, path, raw)
			time.Sleep(2 * time.Second)

			path, raw = channelOf(t, f.frames(t, 5*time.Minute, metricQuery(`"legend":"other"`))[0])
			response, err := f.SubscribeStream(t.Context(), &backend.SubscribeStreamRequest{PluginContext: viewer(), Path: path, Data: raw})
			if err != nil || response.Status != backend.SubscribeStreamStatusOK || !strings.Contains(string(response.InitialData.Data()), name) {
				t.Errorf("%v, %s", err, response.InitialData.Data())
			}
			received, stop := f.runStream(t, path, raw)
			time.Sleep(10 * time.Second)
			if got := received.snapshot(); len(got) != 1 || got[0].Data != nil || got[0].Schema == nil {
				t.Errorf("%d packets while it is refused", len(got))
			}
			if err := stopFirst(); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * time.Second)
			if got := received.snapshot(); got[1].Schema == nil {
				t.Error("the refusal is not taken back")
			}
			if times, _ := received.rows(0); len(times) < 2 {
				t.Errorf("%d rows after", len(times))
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			if len(f.gate.runs)+len(f.gate.byUser)+len(f.gate.waiting) != 0 {
				t.Errorf("%d streams of %d users are left, %d wait", len(f.gate.runs), len(f.gate.byUser), len(f.gate.waiting))
			}
		})
	}
}

// A stream that waits for a place ends with its last viewer.
func TestRefusedStreamEnds(t *testing.T) {
	g := gate{limits: settings.Live{MaxStreams: 1}}
	first, err := g.enter(t.Context(), "q/1", "ada", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, refusal := g.look("q/1", "bob"); refusal != "" {
		t.Errorf("who joins is refused: %s", refusal)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = g.enter(ctx, "q/2", "bob", func(string) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	broken := errors.New("gone")
	if _, err = g.enter(t.Context(), "q/2", "bob", func(string) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	g.leave("q/1", first)
	if _, refusal := g.look("q/2", "bob"); refusal != "" || len(g.byUser) != 0 || len(g.waiting) != 0 {
		t.Errorf("refused: %q; %v; %v", refusal, g.byUser, g.waiting)
	}
}

// Who joins a stream that waits for a place of another user's is told so: it has no rows for anybody.
func TestWhoJoinsAWaitingStreamIsTold(t *testing.T) {
	g := gate{limits: settings.Live{MaxUserStreams: 1}}
	first, err := g.enter(t.Context(), "q/1", "ada", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waits, entered := make(chan struct{}), make(chan *run, 1)
	go func() {
		r, _ := g.enter(ctx, "q/2", "ada", func(string) error { close(waits); return nil })
		entered <- r
	}()
	<-waits
	if _, refusal := g.look("q/2", "bob"); !strings.Contains(refusal, "has 1 live streams already") {
		t.Errorf("bob is told %q", refusal)
	}
	if _, refusal := g.look("q/3", "bob"); refusal != "" {
		t.Errorf("bob's own is refused: %s", refusal)
	}
	g.leave("q/1", first)
	second := <-entered
	if _, refusal := g.look("q/2", "bob"); refusal != "" {
		t.Errorf("bob is told %q of a stream that runs", refusal)
	}
	g.leave("q/2", second)
	cancel()
}

// C07, C08, C16: who joins a stream later gets its columns and troubles of now, whatever came when.
func TestWhoJoinsLaterKnowsAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		a := agenttest.New(t, agenttest.Options{Network: f.network, Cluster: "north", Node: "n1"})
		f.use(a)
		a.Start(func(int) []gpu.Reading { return readings(3) })
		lost := agenttest.New(t, agenttest.Options{Network: f.network, Cluster: "north", Node: "n2"})
		f.use(lost)
		lost.Start(func(int) []gpu.Reading { return readings(2) })
		time.Sleep(3 * time.Second)
		path, raw := channelOf(t, f.frames(t, 5*time.Minute, metricQuery())[0])
		_, stop := f.runStream(t, path, raw)
		time.Sleep(2 * time.Second)
		a.ChangeDevices(agenttest.Devices("n1", 3))
		lost.Stop()
		time.Sleep(5 * time.Second)
		response, err := f.SubscribeStream(t.Context(), &backend.SubscribeStreamRequest{PluginContext: viewer(), Path: path, Data: raw})
		initial := string(response.InitialData.Data())
		if err != nil || strings.Count(initial, `"float64"`) != 5 || !strings.Contains(initial, "Live data is interrupted") || strings.Contains(initial, `"data":`) {
			t.Errorf("%v, %s", err, initial)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// C14: what a stream left out is told, and the newest is shown.
func TestLossesAreTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1", Period: 100 * time.Millisecond})
		time.Sleep(2 * time.Second)
		path, raw := channelOf(t, f.frames(t, time.Minute, metricQuery())[0])
		slow := &slowPackets{pause: time.Minute}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if err := f.RunStream(ctx, &backend.RunStreamRequest{PluginContext: viewer(), Path: path, Data: raw}, backend.NewStreamSender(slow)); err != nil {
			t.Error(err)
		}
		told := ""
		for _, p := range slow.snapshot() {
			if p.Schema != nil {
				told += fmt.Sprint(p.Schema.Meta.Notices)
			}
		}
		if !strings.Contains(told, "samples because they were read too slowly") || !strings.Contains(told, "The newest are shown.") {
			t.Errorf("told %q", told)
		}
	})
}

// C24: every Grafana server runs the stream of its own viewers. What they send is the same rows, so that a browser that
// hears two of them shows each once, and an agent is read once for each server.
func TestSeveralServersSendTheSameRows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"}, agenttest.Options{Node: "n2"})
		other := newFleet(t)
		other.network, other.targets = f.network, f.targets
		other.live.Close()
		other.Datasource.live = f.sameAgents(t)
		time.Sleep(3 * time.Second)
		path, raw := channelOf(t, f.frames(t, 5*time.Minute, metricQuery())[0])
		a, stopA := f.runStream(t, path, raw)
		time.Sleep(300 * time.Millisecond)
		b, stopB := other.runStream(t, path, raw)
		for range 5 { // panels of five viewers
			f.subscribe(t, path, raw, "n1 · GPU 0 · H200", 5)
		}
		time.Sleep(10 * time.Second)
		for _, stop := range []func() error{stopA, stopB} {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		rows := map[int64]float64{}
		times, values := a.rows(0)
		for i, at := range times {
			rows[at] = *values[i]
		}
		times, values = b.rows(0)
		both := 0
		for i, at := range times {
			if v, ok := rows[at]; ok {
				both++
				if v != *values[i] {
					t.Errorf("at %d one sends %v, the other %v", at, v, *values[i])
				}
			}
		}
		if both < 9 {
			t.Errorf("%d rows in common", both)
		}
		for _, agent := range f.agents {
			if n := agent.Accepted(); n != 2 {
				t.Errorf("%d connections to an agent for 2 servers", n)
			}
		}
	})
}

// sameAgents is another server's hub for the agents of the fleet.
func (f *fleet) sameAgents(t *testing.T) *live.Hub {
	t.Helper()
	allow, err := live.ParseAllowList([]string{"*"})
	if err != nil {
		t.Fatal(err)
	}
	hub := live.NewHub(live.Config{
		Targets: func(context.Context) ([]live.Target, []gpu.Notice, error) { return f.targets, nil, nil },
		Allow:   allow, DialContext: f.network.DialContext,
	})
	t.Cleanup(hub.Close)
	return hub
}
