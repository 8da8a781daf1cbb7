package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// FuzzRunChannel writes channels with the right path, as everybody can who may see the data source, and runs the feeds of those
// that are accepted: no panic, and packets that are JSON with as many columns as the schema in force.
func FuzzRunChannel(f *testing.F) {
	raw, _, err := sampleChannel(f).plain()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw, uint64(1))
	metric := `{"queryType":"metric","schemaVersion":1,"metric":"gpu_power_watts"`
	for i, text := range []string{
		`{"query":` + metric + `},"stepMs":1}`,
		`{"query":` + metric + `,"aggregateBy":"node"},"stepMs":100,"periodMs":100,"groups":[{"node":"n1"},null,{}]}`,
		`{"query":` + metric + `,"reduce":{"mode":"bands"}},"stepMs":1000,"spread":"bands"}`,
		`{"query":` + metric + `,"reduce":{"mode":"heatmap"}},"stepMs":1000,"spread":"heatmap","edges":[0,1e300,1.7e308]}`,
		`{"query":` + metric + `,"format":"matrix"},"stepMs":1000}`,
		`{"query":{"queryType":"metric","schemaVersion":1,"metric":"gpu_energy_joules_total"},"stepMs":5000,"periodMs":31622400000,"measuredMs":31622400000}`,
		`{"query":{"queryType":"metric","schemaVersion":1,"metric":"gpu_power_watts","namespaces":["a"]},"stepMs":1000}`,
		`{"query":{"queryType":"events","schemaVersion":1},"stepMs":1000}`,
		`{"query":{"queryType":"processes","schemaVersion":1},"stepMs":1000,"rangeMs":0}`,
		`{"query":{"queryType":"inventory","schemaVersion":1},"stepMs":1000,"rangeMs":3162240000000}`,
	} {
		f.Add([]byte(text), uint64(i))
	}
	known, err := catalog.Load()
	if err != nil {
		f.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64) {
		var c channel
		if json.Unmarshal(raw, &c) != nil {
			return
		}
		if c, err = c.unpack(); err != nil {
			return
		}
		raw, path, err := c.plain()
		if err != nil {
			return
		}
		agents := told{ringed{result: live.WindowResult{Period: time.Second}}}
		for i, d := range boards("n1", 3) {
			s := gpu.Series{Device: d}
			for back := range int64(30) {
				s.Times, s.Values = append(s.Times, now.UnixMilli()-(30-back)*777), append(s.Values, float64(back*int64(i)))
			}
			agents.result.Series = append(agents.result.Series, s)
		}
		d := &Datasource{
			settings: settings.Settings{ScrapeInterval: 15 * time.Second}, catalog: known, history: &fakePast{}, live: agents,
			handovers: newHandovers(), logger: backend.Logger, now: func() time.Time { return now },
		}
		s, err := d.stream(path, raw)
		if err != nil {
			return
		}
		random := rand.New(rand.NewPCG(seed, 1))
		width := len(s.feed.schema().Fields)
		s.feed.start(t.Context())
		at := now
		for range 8 {
			target := live.Target{Cluster: "north", Node: "n1", Address: "n1:9847"}
			switch random.IntN(3) {
			case 0:
				s.feed.take(live.Update{Target: target, Owners: &live.Owners{List: []gpu.Ownership{{}}}})
			case 1:
				s.feed.take(live.Update{Target: target, Status: &live.NodeStatus{Target: target, Err: errGone}})
			default:
				s.feed.take(live.Update{Target: target, Events: []gpu.Event{{Kind: gpu.KindXID, XID: 79, Time: at}}, Processes: &live.Processes{}})
			}
			at = at.Add(time.Duration(random.IntN(20_000)) * time.Millisecond)
			p, ok := s.feed.packet(at)
			if !ok {
				continue
			}
			if width, err = checkPacket(p, width); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// told is agents that have samples and nothing else.
type told struct{ ringed }

func (told) Now(context.Context, live.Select) live.NowResult { return live.NowResult{} }

// checkPacket gives the width that is in force after a packet.
func checkPacket(d delivery, width int) (int, error) {
	raw := d.raw
	var err error
	switch {
	case raw != nil:
	case d.rows != nil:
		raw, err = frames.AppendPacket(nil, d.frame, d.times, d.rows)
	default:
		raw, err = data.FrameToJSON(d.frame, d.include)
	}
	if err != nil {
		return width, err
	}
	var packet struct {
		Schema *struct{ Fields []any }
		Data   *struct{ Values [][]any }
	}
	if err := json.Unmarshal(raw, &packet); err != nil {
		return width, fmt.Errorf("%w: %s", err, raw)
	}
	if packet.Schema != nil {
		width = len(packet.Schema.Fields)
	}
	if packet.Data != nil && len(packet.Data.Values) != width {
		return width, fmt.Errorf("%d columns after a schema of %d: %s", len(packet.Data.Values), width, raw)
	}
	return width, nil
}
