package faults

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/warpwatch/warpwatch/pkg/plugin"
)

// panel is a browser's: the answer of its query, and the rows that its channel brings.
type panel struct {
	mu    sync.Mutex
	times []int64
	runs  []int             // where in times the runs of the channel begin
	rows  map[int64]float64 // NaN where there is no value
}

// Send implements the SDK's sender of packets.
func (p *panel) Send(packet *backend.StreamPacket) error {
	var frame struct {
		Data *struct {
			Values []json.RawMessage
		}
	}
	if err := json.Unmarshal(packet.Data, &frame); err != nil || frame.Data == nil {
		return err
	}
	var times []int64
	var values []*float64
	if err := json.Unmarshal(frame.Data.Values[0], &times); err != nil {
		return err
	}
	if err := json.Unmarshal(frame.Data.Values[1], &values); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, at := range times {
		p.times, p.rows[at] = append(p.times, at), math.NaN()
		if values[i] != nil {
			p.rows[at] = *values[i]
		}
	}
	return nil
}

func (p *panel) newest() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.times) == 0 {
		return 0
	}
	return p.times[len(p.times)-1]
}

func newInstance(t *testing.T, addresses ...string) *plugin.Datasource {
	t.Helper()
	var static []any
	for _, address := range addresses {
		static = append(static, map[string]any{"address": address})
	}
	stored, err := json.Marshal(map[string]any{"agents": map[string]any{
		"discovery": "static", "allow": []string{"127.0.0.0/8"}, "static": static,
	}})
	require.NoError(t, err)
	instance, err := plugin.NewDatasource(t.Context(), backend.DataSourceInstanceSettings{JSONData: stored})
	require.NoError(t, err)
	return instance.(*plugin.Datasource)
}

// A panel's line goes on through a broken connection, an agent that is killed, and an instance of the data source that is
// replaced: nobody ends the stream but Grafana, rows come in order, and the hole that a broken connection leaves is filled.
func TestAPanelsStreamGoesOn(t *testing.T) {
	a := startAgent(t, "--node-name=n1", "--simulate.gpus=2", "--collect.interval=200ms")
	leaks := goleak.IgnoreCurrent()
	p := newProxy(t, a.address)
	d := newInstance(t, p.address())
	who := backend.PluginContext{User: &backend.User{Login: "ada"}}

	var path string
	var raw json.RawMessage
	eventually(t, func() bool { return channel(t, d, who, &path, &raw) })
	subscribed, err := d.SubscribeStream(t.Context(), &backend.SubscribeStreamRequest{PluginContext: who, Path: path, Data: raw})
	require.NoError(t, err)
	require.Equal(t, backend.SubscribeStreamStatusOK, subscribed.Status)

	shown := &panel{rows: map[int64]float64{}}
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	run := func(d *plugin.Datasource) {
		shown.mu.Lock()
		shown.runs = append(shown.runs, len(shown.times))
		shown.mu.Unlock()
		go func() {
			ended <- d.RunStream(ctx, &backend.RunStreamRequest{PluginContext: who, Path: path, Data: raw}, backend.NewStreamSender(shown))
		}()
	}
	grows := func() {
		t.Helper()
		from := max(shown.newest(), time.Now().UnixMilli())
		eventually(t, func() bool { return shown.newest() > from+1000 })
	}
	run(d)
	grows()
	p.become(refusing)
	time.Sleep(time.Second)
	p.become(passing)
	grows()
	shown.rises(t, true)

	a.stop(syscall.SIGKILL)
	a.start()
	grows()

	d.Dispose()
	require.Error(t, <-ended, "Grafana runs it again")
	d = newInstance(t, p.address())
	run(d)
	grows()
	require.Empty(t, ended)
	cancel()
	require.NoError(t, <-ended)
	shown.rises(t, false)
	d.Dispose()
	p.close()
	eventually(t, func() bool { return goleak.Find(leaks) == nil })
}

// rises checks the order of rows; only the newest may come again, completed, and in a new run some before it, which the
// browser tells apart by their time. whole is whether none may be missing or empty.
func (p *panel) rises(t *testing.T, whole bool) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := 1; i < len(p.times); i++ {
		if slices.Contains(p.runs, i) {
			continue
		}
		step := p.times[i] - p.times[i-1]
		require.GreaterOrEqual(t, step, int64(0))
		if whole {
			require.LessOrEqual(t, step, int64(1000))
			require.False(t, math.IsNaN(p.rows[p.times[i]]), "row %d of %d", i, len(p.times))
		}
	}
}

func eventually(t *testing.T, what func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !what(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never happened")
		}
	}
}

// channel asks for the panel's line. It is false as long as there is no live part.
func channel(t *testing.T, d *plugin.Datasource, who backend.PluginContext, path *string, raw *json.RawMessage) bool {
	t.Helper()
	now := time.Now()
	answer, err := d.QueryData(t.Context(), &backend.QueryDataRequest{PluginContext: who, Queries: []backend.DataQuery{{
		RefID: "A", QueryType: "metric", JSON: json.RawMessage(`{"queryType":"metric","metric":"` + power + `"}`), Interval: time.Second,
		MaxDataPoints: 500, TimeRange: backend.TimeRange{From: now.Add(-5 * time.Minute), To: now},
	}}})
	require.NoError(t, err)
	require.NoError(t, answer.Responses["A"].Error)
	for _, frame := range answer.Responses["A"].Frames {
		if frame.Meta == nil || frame.Rows() == 0 {
			continue
		}
		custom, err := json.Marshal(frame.Meta.Custom)
		require.NoError(t, err)
		var meta struct {
			Live *struct {
				Path string
				Data json.RawMessage
			}
		}
		require.NoError(t, json.Unmarshal(custom, &meta))
		if meta.Live != nil {
			*path, *raw = meta.Live.Path, meta.Live.Data
			return true
		}
	}
	return false
}
