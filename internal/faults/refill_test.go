package faults

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/plugin"
)

// browser is a panel of several nodes as the front end keeps it: rows by their time, columns by their name. It asks again when the
// stream says that samples came too late for their rows.
type browser struct {
	mu      sync.Mutex
	columns []string // of packets
	cells   map[int64]map[string]float64
	newest  int64
	refill  int64 // when the stream told last that something was late
	asked   int64 // when the last answer was made
	answers int
}

// Send implements the SDK's sender of packets.
func (b *browser) Send(packet *backend.StreamPacket) error {
	var p struct {
		Schema *struct {
			Fields []struct{ Name string }
			Meta   struct{ Custom struct{ Refill int64 } }
		}
		Data *struct{ Values [][]*float64 }
	}
	if err := json.Unmarshal(packet.Data, &p); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.Schema != nil {
		b.columns = nil
		for _, f := range p.Schema.Fields {
			b.columns = append(b.columns, f.Name)
		}
		b.refill = p.Schema.Meta.Custom.Refill
	}
	if p.Data == nil {
		return nil
	}
	for row, at := range p.Data.Values[0] {
		for i, name := range b.columns {
			if i > 0 && !strings.HasPrefix(name, frames.StampPrefix) {
				b.put(int64(*at), name, p.Data.Values[i][row])
			}
		}
	}
	return nil
}

// put lays one value over what is there; none takes nothing away. The caller holds mu.
func (b *browser) put(at int64, column string, v *float64) {
	if b.cells[at] == nil {
		b.cells[at] = map[string]float64{}
	}
	b.newest = max(b.newest, at)
	if v != nil {
		b.cells[at][column] = *v
	}
}

// answer takes an answer in the place of what was there.
func (b *browser) answer(frame *data.Frame, at int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked, b.answers, b.cells = at, b.answers+1, map[int64]map[string]float64{}
	for row := range frame.Rows() {
		for _, f := range frame.Fields[1:] {
			v, _ := f.At(row).(*float64)
			b.put(frame.Fields[0].At(row).(time.Time).UnixMilli(), f.Name, v)
		}
	}
}

// late reports whether there is something that only an answer has.
func (b *browser) late() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refill > b.asked
}

func (b *browser) end() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.newest
}

// continuation is what an answer says of its stream.
type continuation struct {
	Path string
	Data json.RawMessage
	AtMs int64
}

// ask puts the panel's question. It is false as long as not all lines are live.
func ask(t *testing.T, d *plugin.Datasource, who backend.PluginContext, lines int) (frame *data.Frame, live continuation, ok bool) {
	t.Helper()
	now := time.Now()
	answer, err := d.QueryData(t.Context(), &backend.QueryDataRequest{PluginContext: who, Queries: []backend.DataQuery{{
		RefID: "A", QueryType: "metric", JSON: json.RawMessage(`{"queryType":"metric","metric":"` + power + `"}`), Interval: time.Second,
		MaxDataPoints: 500, TimeRange: backend.TimeRange{From: now.Add(-5 * time.Minute), To: now},
	}}})
	require.NoError(t, err)
	require.NoError(t, answer.Responses["A"].Error)
	for _, frame := range answer.Responses["A"].Frames {
		if len(frame.Fields) != lines+1 || frame.Rows() == 0 {
			continue
		}
		custom, err := json.Marshal(frame.Meta.Custom)
		require.NoError(t, err)
		var meta struct{ Live continuation }
		require.NoError(t, json.Unmarshal(custom, &meta))
		return frame, meta.Live, meta.Live.Path != ""
	}
	return nil, continuation{}, false
}

// Two nodes are in one panel, and one is away for a while. Its samples of that time come late, when the rows of the other have
// been sent: the panel has all of them soon after, without anybody's doing.
func TestAnOpenPanelGetsWhatCameLate(t *testing.T) {
	near := startAgent(t, "--node-name=n1", "--simulate.gpus=1", "--collect.interval=200ms")
	far := startAgent(t, "--node-name=n2", "--simulate.gpus=1", "--collect.interval=200ms")
	for _, fault := range []struct {
		name string
		mode mode
	}{{"outage", refusing}, {"partition", frozen}} {
		t.Run(fault.name, func(t *testing.T) {
			p := newProxy(t, far.address)
			d := newInstance(t, near.address, p.address())
			who := backend.PluginContext{User: &backend.User{Login: "ada"}}
			shown := &browser{cells: map[int64]map[string]float64{}}
			var live continuation
			eventually(t, func() bool {
				frame, found, ok := ask(t, d, who, 2)
				if ok {
					live = found
					shown.answer(frame, live.AtMs)
				}
				return ok
			})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- d.RunStream(ctx, &backend.RunStreamRequest{PluginContext: who, Path: live.Path, Data: live.Data}, backend.NewStreamSender(shown))
			}()
			start := shown.end()
			eventually(t, func() bool { return shown.end() > start+2000 })
			p.become(fault.mode)
			away := shown.end()
			eventually(t, func() bool { return shown.end() > away+5000 })
			p.become(passing)

			eventually(t, shown.late)
			eventually(t, func() bool {
				frame, found, ok := ask(t, d, who, 2)
				if ok {
					shown.answer(frame, found.AtMs)
				}
				return ok && !shown.late()
			})
			back := shown.end()
			eventually(t, func() bool { return shown.end() > back+4000 })
			cancel()
			require.NoError(t, <-ended)
			require.False(t, shown.late(), "the answer had everything")

			fresh := newInstance(t, near.address, far.address) // with nothing but what the agents remember
			var truth *data.Frame
			eventually(t, func() bool {
				frame, _, ok := ask(t, fresh, who, 2)
				truth = frame
				return ok && frame.Fields[0].At(0).(time.Time).UnixMilli() <= start
			})
			shown.holds(t, truth, start, back+2000)
			d.Dispose()
			fresh.Dispose()
			p.close()
		})
	}
}

// holds compares the rows between two times with the truth: each second has one, with a value of each node.
func (b *browser) holds(t *testing.T, truth *data.Frame, from, to int64) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var times []int64
	for at := range b.cells {
		if at >= from && at <= to {
			times = append(times, at)
		}
	}
	slices.Sort(times)
	require.Len(t, times, int((to-from)/1000)+1)
	compared := 0
	for row := range truth.Rows() {
		at := truth.Fields[0].At(row).(time.Time).UnixMilli()
		if at < from || at > to {
			continue
		}
		for _, f := range truth.Fields[1:] {
			want := f.At(row).(*float64)
			require.NotNil(t, want, "at %d", at)
			got, ok := b.cells[at][f.Name]
			require.True(t, ok && !math.IsNaN(got), "%s has no value at %d", f.Name, at)
			require.InDelta(t, *want, got, 1e-9, "%s at %d", f.Name, at)
			compared++
		}
	}
	require.Equal(t, 2*len(times), compared)
}
