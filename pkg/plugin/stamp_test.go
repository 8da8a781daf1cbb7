package plugin

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// grafanaBuffer is what Grafana's buffer makes of packets: panels are given the meta of a packet only where the names of columns
// are others than before.
type grafanaBuffer struct {
	t *testing.T

	mu      sync.Mutex
	columns []string
	told    []string // the meta that panels were given, without repetitions
}

func (b *grafanaBuffer) Send(sent *backend.StreamPacket) error { return b.take(sent.Data) }

func (b *grafanaBuffer) take(raw []byte) error {
	var p struct {
		Schema *struct {
			Fields []struct{ Name string }
			Meta   struct {
				Notices []struct{ Text string }
				Custom  map[string]any
			}
		}
		Data *struct{ Values []json.RawMessage }
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.Schema != nil {
		var columns []string
		for _, f := range p.Schema.Fields {
			columns = append(columns, f.Name)
		}
		if !slices.Equal(columns, b.columns) {
			b.columns = columns
			said, err := json.Marshal([]any{p.Schema.Meta.Notices, p.Schema.Meta.Custom})
			if err != nil {
				return err
			}
			b.told = append(b.told, string(said))
		}
	}
	if p.Data != nil && len(p.Data.Values) != len(b.columns) {
		b.t.Errorf("%d columns of values after a schema of %d: %s", len(p.Data.Values), len(b.columns), raw)
	}
	return nil
}

// watch subscribes and runs a channel as Grafana does, until stop is called.
func (b *grafanaBuffer) watch(f *fleet, path string, raw json.RawMessage) (stop func()) {
	b.t.Helper()
	response, err := f.SubscribeStream(b.t.Context(), &backend.SubscribeStreamRequest{PluginContext: viewer(), Path: path, Data: raw})
	if err != nil || response.Status != backend.SubscribeStreamStatusOK {
		b.t.Fatalf("got %+v, %v", response, err)
	}
	if err := b.take(response.InitialData.Data()); err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan error, 1)
	go func() {
		done <- f.RunStream(ctx, &backend.RunStreamRequest{PluginContext: viewer(), Path: path, Data: raw}, backend.NewStreamSender(b))
	}()
	return func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Error(err)
		}
	}
}

const nothingTold = "[null,null]"

// A notice, its end and an emptied table reach panels with the packet that says them, though the columns are the same.
func TestPanelsAreToldAtOnce(t *testing.T) {
	for name, q := range map[string]string{
		"rows":      metricQuery(),
		"cells":     metricQuery(matrixQuery),
		"inventory": `{"queryType":"inventory"}`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFleet(t, agenttest.Options{Node: "n1"}, agenttest.Options{Node: "n2"})
				f.frames(t, 5*time.Minute, q) // connects
				time.Sleep(3 * time.Second)
				path, raw := channelOf(t, f.frames(t, 5*time.Minute, q)[0])
				b := &grafanaBuffer{t: t}
				stop := b.watch(f, path, raw)
				time.Sleep(3 * time.Second)
				b.mu.Lock()
				before := len(b.told)
				b.mu.Unlock()
				f.agents[0].Stop()
				time.Sleep(3 * time.Second)
				stop()
				if len(b.told) == before || b.told[len(b.told)-1] == nothingTold {
					t.Errorf("told %q, and of an agent that went no more than %q", b.told[:before], b.told[before:])
				}
			})
		})
	}
	t.Run("emptied", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newFleet(t, agenttest.Options{Node: "n1"})
			const q = `{"queryType":"processes"}`
			f.frames(t, 5*time.Minute, q)
			time.Sleep(3 * time.Second)
			path, raw := channelOf(t, f.frames(t, 5*time.Minute, q)[0])
			b := &grafanaBuffer{t: t}
			stop := b.watch(f, path, raw)
			time.Sleep(3 * time.Second)
			stop()
			var last [2]any
			if err := json.Unmarshal([]byte(b.told[len(b.told)-1]), &last); err != nil {
				t.Fatal(err)
			}
			if custom, _ := last[1].(map[string]any); custom["rows"] != 0.0 {
				t.Errorf("told %q", b.told)
			}
		})
	})
}

// Why a stream waits reaches who joins and who is there, and is taken back when it begins.
func TestPanelsAreToldWhyAStreamWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		f.gate.limits = settings.Live{MaxStreams: 1}
		time.Sleep(3 * time.Second)
		first, firstRaw := channelOf(t, f.frames(t, 5*time.Minute, metricQuery())[0])
		other, otherRaw := channelOf(t, f.frames(t, 5*time.Minute, metricQuery(`"legend":"{{gpu}}"`))[0])
		running, waiting := &grafanaBuffer{t: t}, &grafanaBuffer{t: t}
		stop := running.watch(f, first, firstRaw)
		time.Sleep(time.Second)
		stopOther := waiting.watch(f, other, otherRaw)
		time.Sleep(time.Second)
		stop()
		time.Sleep(time.Second)
		stopOther()
		if len(waiting.told) != 2 || waiting.told[1] != nothingTold {
			t.Errorf("told %q", waiting.told)
		}
	})
}
