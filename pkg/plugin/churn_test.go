package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// 1,000 streams of 40 channels begin and end in no order, and viewers join them. Each has its rows in order, every one once
// but those that it began with, and nothing is left behind.
func TestStreamsComeAndGo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := fleetOf(t, 3)
		time.Sleep(5 * time.Second)
		type open struct {
			path string
			raw  json.RawMessage
		}
		var channels []open
		for i := range 40 {
			q := metricQuery(fmt.Sprintf(`"legend":"%d"`, i))
			switch i % 8 {
			case 5:
				q = metricQuery(`"aggregateBy":"node"`, fmt.Sprintf(`"legend":"%d"`, i))
			case 6:
				q = metricQuery(`"reduce":{"mode":"bands"}`, fmt.Sprintf(`"legend":"%d"`, i))
			case 7:
				q = metricQuery(`"reduce":{"mode":"topk","k":2}`, fmt.Sprintf(`"legend":"%d"`, i))
			}
			path, raw := channelOf(t, f.frames(t, 5*time.Minute, q)[0])
			channels = append(channels, open{path, raw})
		}
		time.Sleep(time.Minute)
		before := runtime.NumGoroutine()
		random := rand.New(rand.NewPCG(1, 2))
		var all sync.WaitGroup
		for range 1000 {
			c := channels[random.IntN(len(channels))]
			wait, lasts := time.Duration(random.IntN(120_000))*time.Millisecond, time.Duration(random.IntN(20_000))*time.Millisecond
			all.Go(func() {
				time.Sleep(wait)
				response, err := f.SubscribeStream(t.Context(), &backend.SubscribeStreamRequest{PluginContext: viewer(), Path: c.path, Data: c.raw})
				if err != nil || response.Status != backend.SubscribeStreamStatusOK {
					t.Errorf("not let in: %v, %v", response, err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), lasts)
				defer cancel()
				received := &packets{}
				if err := f.RunStream(ctx, &backend.RunStreamRequest{PluginContext: viewer(), Path: c.path, Data: c.raw}, backend.NewStreamSender(received)); err != nil {
					t.Errorf("ended with %v", err)
				}
				times, _ := received.rows(0)
				for i := 1; i < len(times); i++ {
					if times[i] != times[i-1]+1000 {
						t.Errorf("a row at %d after %d", times[i], times[i-1])
					}
				}
				if want := int(lasts/time.Second) - 2; len(times) < want {
					t.Errorf("%d rows in %s", len(times), lasts)
				}
			})
		}
		all.Wait()
		synctest.Wait()
		if n := len(f.gate.runs) + len(f.gate.byUser) + len(f.gate.waiting); n != 0 {
			t.Errorf("%d entries are left in the gate", n)
		}
		time.Sleep(time.Minute)
		for _, a := range f.agents {
			if n := a.Connections(); n != 0 {
				t.Errorf("%d connections are left", n)
			}
		}
		if n := runtime.NumGoroutine(); n > before+20 {
			t.Errorf("%d goroutines, before there were %d", n, before)
		}
	})
}

// brokenSender fails from a packet on.
type brokenSender struct {
	packets
	after int
}

var errGone = errors.New("the browser is gone")

func (s *brokenSender) Send(p *backend.StreamPacket) error {
	if s.after--; s.after < 0 {
		return errGone
	}
	return s.packets.Send(p)
}

// A packet that Grafana does not take ends the stream, for Grafana to run it again; the next run has what the last one could not
// send.
func TestStreamGoesOnAfterAFailedPacket(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		time.Sleep(10 * time.Second)
		path, raw := channelOf(t, f.frames(t, 5*time.Minute, metricQuery())[0])
		rows := map[int64]bool{}
		var last int64
		for _, after := range []int{3, 0, 1, 5} {
			sender := &brokenSender{after: after}
			err := f.RunStream(t.Context(), &backend.RunStreamRequest{PluginContext: viewer(), Path: path, Data: raw}, backend.NewStreamSender(sender))
			if !errors.Is(err, errGone) {
				t.Fatalf("ended with %v", err)
			}
			times, _ := sender.rows(0)
			for _, at := range times {
				rows[at], last = true, max(last, at)
			}
		}
		first := last
		for at := range rows {
			first = min(first, at)
		}
		if want := int(last-first)/1000 + 1; len(rows) != want || want < 7 {
			t.Errorf("%d of %d rows", len(rows), want)
		}
		if len(f.gate.runs)+len(f.gate.byUser) != 0 {
			t.Error("the gate is not empty")
		}
	})
}

// A Grafana that takes a packet after half a minute only has all rows then, and the newest soon after.
func TestStreamAfterABlockedPacket(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		time.Sleep(10 * time.Second)
		path, raw := channelOf(t, f.frames(t, 5*time.Minute, metricQuery())[0])
		blocked := &slowPackets{pause: 30 * time.Second}
		ctx, cancel := context.WithTimeout(t.Context(), 95*time.Second)
		defer cancel()
		if err := f.RunStream(ctx, &backend.RunStreamRequest{PluginContext: viewer(), Path: path, Data: raw}, backend.NewStreamSender(blocked)); err != nil {
			t.Error(err)
		}
		times, _ := blocked.rows(0)
		for i := 1; i < len(times); i++ {
			if times[i] != times[i-1]+1000 {
				t.Errorf("a row at %d after %d", times[i], times[i-1])
			}
		}
		if len(times) < 60 {
			t.Errorf("%d rows", len(times))
		}
	})
}

// What a data source's streams do when it goes while they run, wait for a place, or are just being opened.
func TestStreamsOfADisposedDatasource(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		f.gate.limits = settings.Live{MaxStreams: 1}
		time.Sleep(2 * time.Second)
		ended := make(chan error, 10)
		run := func(q string) {
			path, raw := channelOf(t, f.frames(t, 5*time.Minute, q)[0])
			go func() {
				ended <- f.RunStream(t.Context(), &backend.RunStreamRequest{PluginContext: viewer(), Path: path, Data: raw}, backend.NewStreamSender(silentSender{}))
			}()
			synctest.Wait()
		}
		queries := []string{metricQuery(), metricQuery(matrixQuery), metricQuery(`"reduce":{"mode":"bands"}`), `{"queryType":"inventory"}`, `{"queryType":"events"}`}
		late, lateRaw := channelOf(t, f.frames(t, 5*time.Minute, metricQuery(`"legend":"late"`))[0])
		for _, q := range queries {
			run(q)
		}
		f.Dispose()
		for range queries {
			if err := <-ended; !errors.Is(err, live.ErrClosed) {
				t.Errorf("ended with %v", err)
			}
		}
		err := f.RunStream(t.Context(), &backend.RunStreamRequest{PluginContext: viewer(), Path: late, Data: lateRaw}, backend.NewStreamSender(silentSender{}))
		if !errors.Is(err, live.ErrClosed) {
			t.Errorf("ended with %v", err)
		}
		f.Dispose()
	})
}
