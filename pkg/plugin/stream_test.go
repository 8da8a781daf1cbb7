package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	sdklive "github.com/grafana/grafana-plugin-sdk-go/live"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// What a panel shows and what its stream then brings are one line: no row is missing and the columns are the same. Only
// a row that was not complete yet may come again.
func TestStreamContinuesTheAnswer(t *testing.T) {
	for _, delay := range []time.Duration{0, 300 * time.Millisecond, 2700 * time.Millisecond, 20 * time.Second} {
		bubble(t, func(t *testing.T) {
			f := newFleet(t, agenttest.Options{Node: "n1"}, agenttest.Options{Node: "n2"})
			f.frames(t, 5*time.Minute, metricQuery())
			time.Sleep(40*time.Second + 400*time.Millisecond)
			got := f.frames(t, 5*time.Minute, metricQuery())
			path, raw := channelOf(t, got[0])
			shown, _ := column(got[0], 1)
			time.Sleep(delay)
			f.subscribe(t, path, raw, got[0].Fields[1].Name, len(got[0].Fields))
			received, stop := f.runStream(t, path, raw)
			time.Sleep(10 * time.Second)
			if err := stop(); err != nil {
				t.Errorf("ended with %v", err)
			}
			times, values := received.rows(3)
			if len(times) < 9 {
				t.Fatalf("%d rows in 10 s", len(times))
			}
			last := shown[len(shown)-1]
			if times[0] == last {
				last -= 1000
			}
			for i, at := range times {
				if at != last+1000 {
					t.Errorf("delay %s: row %d at %d, after %d", delay, i, at, last)
				}
				last = at
				if values[i] == nil || *values[i] != 101 {
					t.Errorf("row %d is %v", i, values[i])
				}
			}
			if late := time.Now().UnixMilli() - last; late > 2000 {
				t.Errorf("the newest row is %d ms old", late)
			}
			for _, p := range received.snapshot()[1:] {
				if p.Schema != nil {
					t.Errorf("a packet repeats the schema: %v", p.Schema.Meta)
				}
			}
		})
	}
}

// subscribe checks that a viewer is let in and gets the schema, without rows (GridProtectionAlliance/osisoftpi-grafana#205).
func (f *fleet) subscribe(t *testing.T, path string, raw json.RawMessage, field string, fields int) {
	t.Helper()
	response, err := f.SubscribeStream(t.Context(), &backend.SubscribeStreamRequest{PluginContext: viewer(), Path: path, Data: raw})
	if err != nil || response.Status != backend.SubscribeStreamStatusOK {
		t.Fatalf("not let in: %v, %v", response, err)
	}
	var initial packet
	if err := json.Unmarshal(response.InitialData.Data(), &initial); err != nil {
		t.Fatal(err)
	}
	if err := initial.unstamped(); err != nil {
		t.Error(err)
	}
	if initial.Schema == nil || initial.Data != nil || len(initial.Schema.Fields) != fields {
		t.Fatalf("initial data %s", response.InitialData.Data())
	}
	if got := initial.Schema.Fields[1].Name; got != field || initial.Schema.Fields[0].Config.Interval != 15_000 {
		t.Errorf("first column %q, want %q; interval %v", got, field, initial.Schema.Fields[0].Config.Interval)
	}
}

// A stream on another replica or after a restart knows nothing of the answer: it begins at once, with what came while nobody
// streamed (grafana/mqtt-datasource#99).
func TestStreamAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		time.Sleep(time.Minute)
		path, raw := channelOf(t, f.frames(t, 5*time.Minute, metricQuery())[0])
		received, stop := f.runStream(t, path, raw)
		time.Sleep(10 * time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		before, _ := received.rows(0)

		time.Sleep(15 * time.Second) // as long as a restart takes
		restarted := newFleet(t)
		restarted.network, restarted.targets = f.network, f.targets
		restarted.live.Close()
		restarted.Datasource.live = f.sameAgents(t)
		began := time.Now()
		received, stop = restarted.runStream(t, path, raw)
		time.Sleep(1500 * time.Millisecond)
		if err := stop(); err != nil {
			t.Error(err)
		}
		packets := received.snapshot()
		if len(packets) == 0 || packets[0].at.Sub(began) > time.Second {
			t.Fatalf("%d packets", len(packets))
		}
		after, values := received.rows(0)
		last := before[len(before)-1]
		if after[0] > last+1000 || len(after) > 33 {
			t.Errorf("it goes on at %d after %d, with %d rows", after[0], last, len(after))
		}
		for i, at := range after {
			if i > 0 && at != after[i-1]+1000 || values[i] == nil {
				t.Errorf("row at %d is %v", at, values[i])
			}
		}
	})
}

// Only who has the query that a channel was made from gets its data.
func TestSubscribeRefuses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		time.Sleep(2 * time.Second)
		path, raw := channelOf(t, f.frames(t, 5*time.Minute, metricQuery())[0])
		otherPath, other := channelOf(t, f.frames(t, 5*time.Minute, metricQuery(`"legend":"{{gpu}}"`))[0])
		if path == otherPath {
			t.Error("two queries share a channel")
		}
		for name, test := range map[string]struct {
			path   string
			raw    json.RawMessage
			who    backend.PluginContext
			status backend.SubscribeStreamStatus
		}{
			"own":            {path, raw, viewer(), backend.SubscribeStreamStatusOK},
			"another's data": {path, other, viewer(), backend.SubscribeStreamStatusPermissionDenied},
			"no data":        {path, nil, viewer(), backend.SubscribeStreamStatusNotFound},
			"not JSON":       {path, json.RawMessage(`{"query":`), viewer(), backend.SubscribeStreamStatusNotFound},
			"null":           {path, json.RawMessage(`null`), viewer(), backend.SubscribeStreamStatusNotFound},
			"other path":     {"gpu/0", raw, viewer(), backend.SubscribeStreamStatusNotFound},
			"nobody":         {path, raw, backend.PluginContext{}, backend.SubscribeStreamStatusPermissionDenied},
		} {
			response, err := f.SubscribeStream(t.Context(), &backend.SubscribeStreamRequest{PluginContext: test.who, Path: test.path, Data: test.raw})
			if err != nil || response.Status != test.status {
				t.Errorf("%s: %v, %v; want status %v", name, response, err, test.status)
			}
		}
		published, err := f.PublishStream(t.Context(), &backend.PublishStreamRequest{PluginContext: viewer(), Path: path, Data: raw})
		if err != nil || published.Status != backend.PublishStreamStatusPermissionDenied {
			t.Errorf("publishing: %v, %v", published, err)
		}
	})
}

// Whatever devices, nodes and labels are called, the channel is one that Grafana accepts, and each selection has its
// own (grafana/grafana-plugin-sdk-go#349).
func TestChannelPaths(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		f.past.devices[0].MIGProfile = "1g.10gb+me"
		f.past.devices[0].PCIBusID = "00000000:3B:00.0"
		time.Sleep(2 * time.Second)
		seen := map[string]string{}
		for _, q := range []string{
			metricQuery(), metricQuery(`"legend":"größe {{node}}"`), metricQuery(`"legend":"<a href=\"x\">&"`), metricQuery(`"nodes":["n1","rack 1/größe:9400","[fe80::1]"]`),
			metricQuery(`"gpus":["GPU-n1-0"]`), metricQuery(`"gpus":["GPU-n1-1"]`), metricQuery(`"nodes":["/n.*|q\\/+ =~#%2F/"]`), metricQuery(`"aggregateBy":"node"`),
		} {
			path, raw := channelOf(t, f.frames(t, 5*time.Minute, q)[0])
			if _, err := sdklive.ParseChannel("ds/ae1b2c3d4e5f6g/" + path); err != nil {
				t.Errorf("%s: path %q: %v", q, path, err)
			}
			if other, taken := seen[path]; taken {
				t.Errorf("%s and %s share a channel", q, other)
			}
			seen[path] = q
			if again, _ := channelOf(t, f.frames(t, 5*time.Minute, q)[0]); again != path {
				t.Errorf("%s: %q and then %q", q, path, again)
			}
			if _, err := f.stream(path, raw); err != nil {
				t.Errorf("%s: what comes back is refused: %v", q, err)
			}
		}
	})
}

// Trouble with agents never ends a stream, is not hammered at, and is told (grafana/grafana#40408).
func TestStreamOutlivesItsAgents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"}, agenttest.Options{Node: "n2"})
		time.Sleep(3 * time.Second)
		path, raw := channelOf(t, f.frames(t, 5*time.Minute, metricQuery())[0])
		received, stop := f.runStream(t, path, raw)
		time.Sleep(2 * time.Second)
		f.agents[0].Stop()
		dials := f.network.Dials()
		time.Sleep(time.Minute)
		if n := f.network.Dials() - dials; n >= 10 {
			t.Errorf("dialled %d times in a minute", n)
		}
		var told string
		for _, p := range received.snapshot() {
			if p.Schema != nil && len(p.Schema.Meta.Notices) > 0 {
				told = p.Schema.Meta.Notices[0].Text
			}
		}
		if !strings.Contains(told, "n1 (n1:9847)") {
			t.Errorf("told %q", told)
		}
		times, gone := received.rows(0)
		_, there := received.rows(2)
		if gone[len(gone)-1] != nil || there[len(there)-1] == nil || time.Now().UnixMilli()-times[len(times)-1] > 5000 {
			t.Errorf("the last row, %d ms old, has %v and %v", time.Now().UnixMilli()-times[len(times)-1], gone[len(gone)-1], there[len(there)-1])
		}
		f.agents[1].Stop()
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Errorf("ended with %v", err)
		}
	})
}

// Columns keep their places. A GPU that appears gets one at the end, from then on with the schema, so that whoever
// joins is not told less than the rows have; a GPU that goes leaves nulls (grafana/grafana#36890).
func TestStreamWhenDevicesComeAndGo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		a := agenttest.New(t, agenttest.Options{Network: f.network, Cluster: "north", Node: "n1"})
		f.use(a)
		var n atomic.Int32
		n.Store(2)
		a.Start(func(int) []gpu.Reading { return readings(int(n.Load())) })
		time.Sleep(3 * time.Second)
		path, raw := channelOf(t, f.frames(t, 5*time.Minute, metricQuery())[0])
		received, stop := f.runStream(t, path, raw)
		time.Sleep(3*time.Second + 500*time.Millisecond)
		n.Store(3)
		a.ChangeDevices(agenttest.Devices("n1", 3))
		time.Sleep(3 * time.Second)
		n.Store(1)
		a.ChangeDevices(agenttest.Devices("n1", 1))
		time.Sleep(3 * time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		grown := false
		last := int64(0)
		for n, p := range received.snapshot() {
			switch width := len(p.Data.Values); {
			case width == 3 && !grown:
				if n > 0 && p.Schema != nil {
					t.Error("a schema without need")
				}
			case width == 4 && p.Schema != nil && len(p.Schema.Fields) == 4:
				grown = true
			default:
				t.Errorf("a packet of %d columns, schema %v, after it grew: %v", width, p.Schema != nil, grown)
			}
			for i, at := range p.Data.Values[0] {
				if last != 0 && int64(*at) != last+1000 {
					t.Errorf("row at %v after %d", *at, last)
				}
				last = int64(*at)
				if first := p.Data.Values[1][i]; first == nil || *first != 100 {
					t.Errorf("the first column is %v", first)
				}
			}
		}
		final := received.all[len(received.all)-1].Data.Values
		if !grown || final[2][0] != nil || final[3][0] != nil {
			t.Errorf("grown %v, last row ends with %v, %v", grown, final[2][0], final[3][0])
		}
	})
}

// Panels that are opened and closed leave nothing behind (grafana/grafana#70049).
func TestStreamsLeaveNothingBehind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		time.Sleep(2 * time.Second)
		for panel := range 30 {
			path, raw := channelOf(t, f.frames(t, 5*time.Minute, metricQuery(fmt.Sprintf(`"legend":"%d"`, panel)))[0])
			_, stop := f.runStream(t, path, raw)
			time.Sleep(time.Second)
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		if n := f.agents[0].Accepted(); n != 1 {
			t.Errorf("%d connections for 30 panels", n)
		}
		time.Sleep(time.Minute)
		if n := f.agents[0].Connections(); n != 0 {
			t.Errorf("%d connections a minute after", n)
		}
	})
}

// When the data source was changed its streams end with an error, for Grafana to run them with the new settings (grafana/grafana#34332).
func TestStreamEndsWithItsDatasource(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		time.Sleep(2 * time.Second)
		path, raw := channelOf(t, f.frames(t, 5*time.Minute, metricQuery())[0])
		ended := make(chan error, 1)
		go func() {
			ended <- f.RunStream(t.Context(), &backend.RunStreamRequest{PluginContext: viewer(), Path: path, Data: raw}, backend.NewStreamSender(&packets{}))
		}()
		time.Sleep(2 * time.Second)
		f.Dispose()
		if err := <-ended; !errors.Is(err, live.ErrClosed) {
			t.Errorf("ended with %v", err)
		}
		synctest.Wait()
		if n := f.agents[0].Connections(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
}

// A stream whose query cannot be read waits for its end: Grafana would run it again and again.
func TestRunStreamWithoutQueryWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		err := f.RunStream(ctx, &backend.RunStreamRequest{Path: "q/0"}, backend.NewStreamSender(&packets{}))
		if err != nil || time.Since(began) < time.Minute {
			t.Errorf("ended after %s with %v", time.Since(began), err)
		}
	})
}

// A Grafana that does not take packets loses the oldest rows and nothing else waits.
func TestStreamToASlowGrafana(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		time.Sleep(2 * time.Second)
		path, raw := channelOf(t, f.frames(t, 5*time.Minute, metricQuery())[0])
		slow := &slowPackets{pause: 10 * time.Second}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		if err := f.RunStream(ctx, &backend.RunStreamRequest{PluginContext: viewer(), Path: path, Data: raw}, backend.NewStreamSender(slow)); err != nil {
			t.Error(err)
		}
		times, _ := slow.rows(0)
		for i := 1; i < len(times); i++ {
			if times[i] <= times[i-1] {
				t.Errorf("row at %d after %d", times[i], times[i-1])
			}
		}
		if len(times) < 100 {
			t.Errorf("%d rows", len(times))
		}
	})
}

type slowPackets struct {
	packets
	pause time.Duration
}

func (p *slowPackets) Send(sent *backend.StreamPacket) error {
	time.Sleep(p.pause)
	return p.packets.Send(sent)
}
