package plugin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// fleetOf has as many nodes of two GPUs.
func fleetOf(t *testing.T, nodes int) *fleet {
	t.Helper()
	options := make([]agenttest.Options, nodes)
	for i := range options {
		options[i].Node = fmt.Sprintf("n%02d", i)
	}
	return newFleet(t, options...)
}

// Bands of more lines than are shown go on live, over all of them, in the columns that the answer has.
func TestBandsGoOnLive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := fleetOf(t, 20)
		time.Sleep(3 * time.Second)
		answer := f.frames(t, 5*time.Minute, metricQuery(`"maxSeries":39`))
		path, raw := channelOf(t, answer[0])
		f.subscribe(t, path, raw, "min", 9)
		received, stop := f.runStream(t, path, raw)
		time.Sleep(5 * time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		times, low := received.rows(0)
		_, high := received.rows(6)
		_, count := received.rows(7)
		if len(times) < 5 {
			t.Fatalf("%d rows", len(times))
		}
		for i := range times {
			if *low[i] != 100 || *high[i] != 101 || *count[i] != 40 || i > 0 && times[i] != times[i-1]+1000 {
				t.Errorf("at %d: from %v to %v of %v lines", times[i], *low[i], *high[i], *count[i])
			}
		}
		shown, _ := column(answer[0], 1)
		if last := shown[len(shown)-1]; times[0] > last+1000 || times[0] < last {
			t.Errorf("the answer ends at %d, the stream begins at %d", last, times[0])
		}
		for _, p := range received.snapshot()[1:] {
			if p.Schema != nil {
				t.Errorf("a packet repeats the schema: %v", p.Schema.Meta)
			}
		}
	})
}

// A heatmap's bins stay; values that leave them are counted in the outermost, and the panel is told.
func TestHeatmapGoesOnLive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		a := agenttest.New(t, agenttest.Options{Network: f.network, Cluster: "north", Node: "n1"})
		f.use(a)
		var watts atomic.Int64
		watts.Store(100)
		a.Start(func(int) []gpu.Reading { return []gpu.Reading{gpu.Read(float64(watts.Load())), gpu.Read(100)} })
		time.Sleep(5 * time.Second)
		answer := f.frames(t, 5*time.Minute, metricQuery(`"reduce":{"mode":"heatmap"}`))
		path, raw := channelOf(t, answer[0])
		received, stop := f.runStream(t, path, raw)
		time.Sleep(2 * time.Second)
		watts.Store(700)
		time.Sleep(3 * time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		text := ""
		for _, p := range received.snapshot() {
			if len(p.Data.Values) != len(answer[0].Fields) {
				t.Errorf("%d columns, the answer has %d", len(p.Data.Values), len(answer[0].Fields))
			}
			for row := range p.Data.Values[0] {
				sum := 0.0
				for _, column := range p.Data.Values[1:] {
					sum += *column[row]
				}
				if sum != 2 {
					t.Errorf("%v lines", sum)
				}
			}
			if p.Schema != nil {
				text += fmt.Sprint(p.Schema.Meta.Notices)
			}
		}
		if !strings.Contains(text, "outside the heatmap's bins") {
			t.Errorf("told %q", text)
		}
	})
}

// The highest lines go on live and stay the same until they are asked for again.
func TestHighestLinesGoOnLive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := fleetOf(t, 3)
		time.Sleep(3 * time.Second)
		answer := f.frames(t, 5*time.Minute, metricQuery(`"reduce":{"mode":"topk","k":2,"by":"last"}`))
		path, raw := channelOf(t, answer[0])
		received, stop := f.runStream(t, path, raw)
		time.Sleep(3 * time.Second)
		f.agents[0].ChangeDevices(agenttest.Devices("n00", 3))
		time.Sleep(3 * time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		for n, p := range received.snapshot() {
			if len(p.Data.Values) != 3 || n > 0 && p.Schema != nil {
				t.Errorf("%d columns", len(p.Data.Values))
			}
		}
	})
}

// Devices that are gone, or that only history knows, are few: the rest goes on. Many are not passed over in silence.
func TestSpreadOfAFleetWithoutSomeAgents(t *testing.T) {
	for missing, want := range map[int]string{
		1: "Goes on live with the 40 of 41 lines that agents know.",
		9: "This does not go on live, because agents know only 40 of 49 lines",
	} {
		bubble(t, func(t *testing.T) {
			f := fleetOf(t, 20)
			for i := range missing {
				f.past.devices = append(f.past.devices, gpu.Device{Identity: gpu.Identity{Cluster: "north", Node: "old", UUID: fmt.Sprint("GPU-old-", i)}})
			}
			time.Sleep(3 * time.Second)
			answer := f.frames(t, 5*time.Minute, metricQuery(`"reduce":{"mode":"bands"}`))
			if text := noticeTexts(answer); !strings.Contains(text, want) || (answer[0].Meta.Custom != nil) != (missing == 1) {
				t.Errorf("%d missing: custom %v, notices %q", missing, answer[0].Meta.Custom, text)
			}
		})
	}
}

// cellPacket is a packet of cells as a browser sees it.
type cellPacket struct {
	layout        string
	values        []float64
	absent, stale int
	told          string
}

type cellPackets struct{ all []cellPacket }

func (p *cellPackets) Send(sent *backend.StreamPacket) error {
	var received struct {
		Schema *struct {
			Meta struct{ Notices []struct{ Text string } }
		}
		Data struct{ Values [][]any }
	}
	if err := json.Unmarshal(sent.Data, &received); err != nil {
		return err
	}
	v := received.Data.Values
	cells, err := base64.StdEncoding.DecodeString(v[4][0].(string))
	if err != nil {
		return err
	}
	c := frames.Cells{Min: v[2][0].(float64), Max: v[3][0].(float64)}
	got := cellPacket{layout: v[1][0].(string), absent: int(v[5][0].(float64)), stale: int(v[6][0].(float64))}
	for _, cell := range cells {
		got.values = append(got.values, c.Value(cell))
	}
	if received.Schema != nil && len(received.Schema.Meta.Notices) > 0 {
		got.told = fmt.Sprint(received.Schema.Meta.Notices)
	}
	p.all = append(p.all, got)
	return nil
}

func (f *fleet) runCells(t *testing.T, path string, raw json.RawMessage, watch func()) []cellPacket {
	t.Helper()
	received := &cellPackets{}
	ended := make(chan error, 1)
	ctx, cancel := contextOf(t)
	go func() {
		ended <- f.RunStream(ctx, &backend.RunStreamRequest{PluginContext: viewer(), Path: path, Data: raw}, backend.NewStreamSender(received))
	}()
	watch()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return received.all
}

const matrixQuery = `"format":"matrix"`

// matrixOf is what the panel of a matrix knows: the layout and how many of the rows are cells.
func matrixOf(t *testing.T, frame *data.Frame) matrixMeta {
	t.Helper()
	custom, ok := frame.Meta.Custom.(map[string]any)
	if !ok {
		t.Fatal("no matrix")
	}
	return custom["matrix"].(matrixMeta)
}

// A matrix is a table, and its channel sends the value of each of its rows about once a second.
func TestMatrix(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := fleetOf(t, 4)
		f.past.devices = append(f.past.devices, gpu.Device{Identity: gpu.Identity{Cluster: "north", Node: "a-without-agent", UUID: "GPU-old"}})
		time.Sleep(3 * time.Second)
		answer := f.frames(t, 5*time.Minute, metricQuery(matrixQuery))
		m := matrixOf(t, answer[0])
		if len(answer) != 1 || answer[0].Rows() != 9 || m.Cells != 8 || len(m.Layout) != 16 {
			t.Fatalf("%d rows, %+v", answer[0].Rows(), m)
		}
		uuids := answer[0].Fields[3]
		if last := uuids.At(8).(string); last != "GPU-old" {
			t.Errorf("last is %s, which no agent knows", last)
		}
		path, raw := channelOf(t, answer[0])
		response, err := f.SubscribeStream(t.Context(), &backend.SubscribeStreamRequest{PluginContext: viewer(), Path: path, Data: raw})
		if err != nil || !strings.Contains(string(response.InitialData.Data()), `"name":"cells","type":"string"`) {
			t.Errorf("%v, %s", err, response.InitialData.Data())
		}
		got := f.runCells(t, path, raw, func() { time.Sleep(5*time.Second + 500*time.Millisecond) })
		if len(got) < 5 || len(got) > 7 {
			t.Errorf("%d packets in 5.5 s", len(got))
		}
		for _, p := range got {
			if p.layout != m.Layout || len(p.values) != 8 || p.absent != 0 || p.told != "" {
				t.Errorf("%+v", p)
			}
			for i, v := range p.values {
				if v != 100+float64(i%2) {
					t.Errorf("cell %d is %v", i, v)
				}
			}
		}
	})
}

// A GPU that appears changes the layout, which the panel sees by its name, and not with every packet. One that falls silent is
// absent, and counted as stale.
func TestMatrixOfAChangingFleet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := fleetOf(t, 2)
		time.Sleep(3 * time.Second)
		answer := f.frames(t, 5*time.Minute, metricQuery(matrixQuery))
		m := matrixOf(t, answer[0])
		path, raw := channelOf(t, answer[0])
		got := f.runCells(t, path, raw, func() {
			time.Sleep(3 * time.Second)
			added := agenttest.New(t, agenttest.Options{Network: f.network, Cluster: "north", Node: "n00a"})
			f.use(added)
			added.Start(func(int) []gpu.Reading { return readings(2) })
			time.Sleep(2 * time.Minute)
			added.Stop()
			time.Sleep(time.Minute)
		})
		layouts := map[string]bool{}
		for _, p := range got {
			layouts[p.layout] = true
		}
		first, last := got[0], got[len(got)-1]
		if first.layout != m.Layout || len(first.values) != 4 || len(layouts) != 2 {
			t.Errorf("%d layouts, the first %+v", len(layouts), first)
		}
		if len(last.values) != 6 || last.stale != 2 || last.absent != 2 || !math.IsNaN(last.values[2]) {
			t.Errorf("at the end %+v", last)
		}
		again := matrixOf(t, f.frames(t, 5*time.Minute, metricQuery(matrixQuery))[0])
		if again.Layout != last.layout || again.Cells != 6 {
			t.Errorf("the table is %+v, the stream ended with %s", again, last.layout)
		}
		time.Sleep(layoutAge)
		if again = matrixOf(t, f.frames(t, 5*time.Minute, metricQuery(matrixQuery))[0]); again.Layout != m.Layout {
			t.Error("what is gone for long keeps its place")
		}
	})
}

// After a restart of the plugin nothing is remembered, and the same devices have the same layout.
func TestMatrixAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := fleetOf(t, 3)
		time.Sleep(3 * time.Second)
		answer := f.frames(t, 5*time.Minute, metricQuery(matrixQuery))
		m := matrixOf(t, answer[0])
		path, raw := channelOf(t, answer[0])
		f.layouts.kept = nil
		got := f.runCells(t, path, raw, func() { time.Sleep(2 * time.Second) })
		if len(got) == 0 || got[0].layout != m.Layout || got[0].absent != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// A counter's cells are rates.
func TestMatrixOfACounter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		a := agenttest.New(t, agenttest.Options{Network: f.network, Cluster: "north", Node: "n1", Metrics: []string{"gpu_energy_joules_total"}})
		f.use(a)
		n := 0.0
		a.Start(func(int) []gpu.Reading { n += 250; return []gpu.Reading{gpu.Read(n), gpu.Read(2 * n)} })
		time.Sleep(20 * time.Second)
		answer := f.frames(t, 5*time.Minute, `{"queryType":"metric","metric":"gpu_energy_joules_total",`+matrixQuery+`}`)
		path, raw := channelOf(t, answer[0])
		got := f.runCells(t, path, raw, func() { time.Sleep(5 * time.Second) })
		if len(got) == 0 {
			t.Fatal("no packet")
		}
		if last := got[len(got)-1]; last.values[0] != 250 || last.values[1] != 500 {
			t.Errorf("%+v", last)
		}
	})
}

func TestLayoutsAreBounded(t *testing.T) {
	var l layouts
	now := time.Unix(0, 0)
	for i := range 3 * maxLayouts {
		l.put(fmt.Sprint(i), newLayout(nil), now.Add(time.Duration(i)))
		if i > 0 {
			l.get("0", now.Add(time.Duration(i)))
		}
	}
	if len(l.kept) != maxLayouts || l.get("0", now) == nil || l.get("1", now) != nil {
		t.Errorf("%d are kept", len(l.kept))
	}
}

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithCancel(t.Context())
}
