package plugin

import (
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

func TestHealthStreams(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1", Metrics: []string{power, "gpu_pcie_replay_errors_total"}})
		const q = `{"queryType":"health","source":"live","options":{"show":"gpus"}}`
		f.frames(t, 10*time.Minute, q) // connects
		time.Sleep(10 * time.Minute)
		path, raw := channelOf(t, f.frames(t, 10*time.Minute, q)[0])
		var got tables
		stop := f.runTable(t, path, raw, &got)
		time.Sleep(5 * time.Second)
		for _, p := range got.snapshot() {
			if texts := cellTexts(t, p.frame, "gpu", "severity"); len(texts) != 2 || texts[0] == "1|critical" {
				t.Errorf("before anything happened: %q", texts)
			}
		}
		happened := time.Now()
		f.agents[0].Event(gpu.Event{Kind: gpu.KindXID, XID: 48, Device: boards("n1", 2)[1]})
		time.Sleep(5 * time.Second)
		told := time.Duration(0)
		for _, p := range got.snapshot() {
			if texts := cellTexts(t, p.frame, "gpu", "verdict", "severity"); len(texts) == 2 && texts[0] == "1|xid-48|critical" {
				told = p.at.Sub(happened)
				break
			}
		}
		if told <= 0 || told > 2*time.Second {
			t.Errorf("the error was told %s after it happened; packets: %d", told, len(got.snapshot()))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestOnlyTheTableOfHealthStreams(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1", Metrics: []string{power}})
		f.frames(t, 10*time.Minute, `{"queryType":"health"}`) // connects
		time.Sleep(time.Minute)
		for q, want := range map[string][]bool{
			`{"queryType":"health"}`:                                {true, false},
			`{"queryType":"health","options":{"show":"gpus"}}`:      {true},
			`{"queryType":"health","options":{"show":"incidents"}}`: {false},
			`{"queryType":"health","options":{"show":"counts"}}`:    {false},
			`{"queryType":"health","live":false}`:                   {false, false},
			`{"queryType":"health","source":"history"}`:             {false, false},
		} {
			all := f.frames(t, 10*time.Minute, q)
			if len(all) != len(want) {
				t.Fatalf("%s: %d frames", q, len(all))
			}
			for i, frame := range all {
				if streams := frame.Meta.Custom != nil; streams != want[i] {
					t.Errorf("%s: frame %d streams: %v", q, i, streams)
				}
			}
		}
	})
}
