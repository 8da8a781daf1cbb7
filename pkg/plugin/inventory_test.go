package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

func (f *fakePast) Inventory(_ context.Context, scope query.Scope, _ query.Window, _ []catalog.Metric) history.Inventory {
	inv := f.inventory
	inv.Err = f.err
	inv.Rows = slices.DeleteFunc(slices.Clone(inv.Rows), func(row history.InventoryRow) bool {
		return !scope.Matches(row.Device) || !scope.MatchesOwners(row.Owners)
	})
	return inv
}

func (f *fakePast) Events(_ context.Context, q query.Query, _ query.Window) history.Events {
	got := f.events
	got.Err = f.err
	got.List = slices.DeleteFunc(slices.Clone(got.List), func(e gpu.Event) bool { return !q.WantsKind(e.Kind) })
	return got
}

// cellTexts are a table's rows, each the texts of some columns; a null is "–".
func cellTexts(t *testing.T, frame *data.Frame, columns ...string) []string {
	t.Helper()
	var rows []string
	for i := range frame.Rows() {
		var texts []string
		for _, name := range columns {
			field, at := frame.FieldByName(name)
			if at < 0 {
				t.Fatalf("no column %q", name)
			}
			v, ok := field.ConcreteAt(i)
			switch v := v.(type) {
			case time.Time:
				texts = append(texts, v.UTC().Format("15:04:05"))
			default:
				texts = append(texts, fmt.Sprint(v))
			}
			if !ok {
				texts[len(texts)-1] = "–"
			}
		}
		rows = append(rows, strings.Join(texts, "|"))
	}
	return rows
}

func wantCells(t *testing.T, frame *data.Frame, columns string, want ...string) {
	t.Helper()
	if got := cellTexts(t, frame, strings.Split(columns, ",")...); !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s\nnotices %s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"), noticeTexts(data.Frames{frame}))
	}
}

func boards(node string, n int) []gpu.Device {
	devices := agenttest.Devices(node, n)
	for i := range devices {
		devices[i].Cluster = "north"
	}
	return devices
}

// Both sides know the first board, by other node names: it is one row. History alone knows one that is gone and one of a
// node without an agent.
func TestInventoryOfBothSides(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "gpu01", Metrics: []string{power, "gpu_sm_active_ratio", "gpu_memory_used_bytes"}})
		known := boards("gpu01", 3)
		known[0].Node, known[0].Driver, known[0].Index = "gpu01.example.net", "590.48.01", 0
		other := boards("gpu09", 1)[0]
		f.past.inventory.Rows = []history.InventoryRow{
			{Device: known[0], Sampled: time.Now().Add(-20 * time.Second), Values: map[string]float64{power: 1, "gpu_temperature_celsius": 55},
				Owners: []gpu.Owner{{Namespace: "ml", Pod: "train-0", Source: "exporter"}}},
			{Device: known[2], Gone: true, Last: time.Now().Add(-10 * time.Minute)},
			{Device: other, Sampled: time.Now().Add(-30 * time.Second), Values: map[string]float64{"gpu_clock_event_reasons": 0x41}},
		}
		f.past.events.List = []gpu.Event{{Time: time.Now().Add(-5 * time.Minute), Kind: gpu.KindXID, XID: 31, Device: other}}
		f.agents[0].SetOwners(
			gpu.Ownership{Device: known[0], Owner: gpu.Owner{Namespace: "ml", Pod: "train-0", Container: "main", Source: "kubelet"}},
			gpu.Ownership{Device: known[0], Owner: gpu.Owner{SlurmJob: "4711", User: "ada", Source: "slurm"}})
		f.agents[0].Event(gpu.Event{Kind: gpu.KindXID, XID: 79, Device: known[1]})
		time.Sleep(3 * time.Second)

		all := f.frames(t, time.Hour, `{"queryType":"inventory"}`)
		wantCells(t, all[0], "node,gpu,driver,state,owner,user,power,temperature,sm_active,memory_used,xid,throttle,agent,sample_age,source",
			"gpu01|1|590.48.01|present|||103|–|104|105|79||connected|0|live",
			"gpu01|2||gone since 2000-01-01 00:50:00 UTC|||–|–|–|–|–||connected|603|history",
			"gpu01.example.net|0|590.48.01|present|ml/train-0, job 4711|ada|100|55|101|102|–||connected|0|live, history",
			"gpu09|0||present|||–|–|–|–|31|hw_thermal_slowdown|none|33|history")
		if meta := all[0].Meta; meta.Type != data.FrameTypeTable || meta.TypeVersion != (data.FrameTypeVersion{0, 1}) {
			t.Errorf("got %+v", meta)
		}
		if _, raw := channelOf(t, all[0]); !json.Valid(raw) {
			t.Error("no channel")
		}
		// Owners that either side knows select the row.
		for _, scope := range []string{`"jobs":["4711"]`, `"pods":["train-0"]`} {
			wantCells(t, f.frames(t, time.Hour, `{"queryType":"inventory",`+scope+`}`)[0], "gpu,pod,slurm_job", "0|train-0|4711")
		}
		wantCells(t, f.frames(t, time.Hour, `{"queryType":"inventory","source":"live"}`)[0], "gpu,source", "0|live", "1|live")
		wantCells(t, f.frames(t, time.Hour, `{"queryType":"inventory","source":"history"}`)[0], "gpu,agent,power", "2||–", "0||1", "0||–")
	})
}

// An alert rule reads one number for each device.
func TestInventoryForAlertRules(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		f.past.inventory.Rows = []history.InventoryRow{{Device: boards("n1", 3)[2], Gone: true, Last: time.Now()}}
		time.Sleep(2 * time.Second)
		answer := f.ask(t, time.Hour, map[string]string{"FromAlert": "true"}, map[string]string{"A": `{"queryType":"inventory"}`})["A"]
		if answer.Error != nil {
			t.Fatal(answer.Error)
		}
		wantCells(t, answer.Frames[0], "gpu,present", "0|1", "1|1", "2|0")
		if meta := answer.Frames[0].Meta; meta.Type != data.FrameTypeNumericLong || meta.Custom != nil {
			t.Errorf("got %+v", meta)
		}
	})
}

// A fleet is more than a table shows: those that need a look come first, and the answer says what it lacks.
func TestInventoryIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		for n := range 50 {
			for _, d := range boards(fmt.Sprintf("n%02d", n), 8) {
				row := history.InventoryRow{Device: d, Sampled: time.Now()}
				row.Gone = n == 49 && d.Index == 7
				f.past.inventory.Rows = append(f.past.inventory.Rows, row)
			}
		}
		all := f.frames(t, time.Hour, `{"queryType":"inventory","maxRows":3}`)
		wantCells(t, all[0], "node,gpu,state", "n00|0|present", "n00|1|present", "n49|7|gone")
		if got := noticeTexts(all); !strings.Contains(got, "Showing 3 of 400 devices, those that need a look among them") {
			t.Error(got)
		}
		if rows := f.frames(t, time.Hour, `{"queryType":"inventory","maxRows":400}`)[0].Rows(); rows != 400 {
			t.Errorf("%d rows", rows)
		}
	})
}

// Neither side is needed, and an empty table says why it is.
func TestInventoryWithTrouble(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		f.past.err = errors.New("prometheus \"p0\" is down")
		time.Sleep(2 * time.Second)
		all := f.frames(t, time.Hour, `{"queryType":"inventory"}`)
		wantCells(t, all[0], "gpu,source", "0|live", "1|live")
		if got := noticeTexts(all); !strings.Contains(got, `No history, only live data: prometheus "p0" is down`) {
			t.Error(got)
		}
		if got := noticeTexts(f.frames(t, time.Hour, `{"queryType":"inventory","nodes":["n7"],"source":"live"}`)); !strings.Contains(got, "No GPU or MIG instance of the selection is known: no agent was found. Selected: ") {
			t.Error(got)
		}
		f.agents[0].Stop()
		f.targets = nil
		answer := f.ask(t, time.Hour, nil, map[string]string{"A": `{"queryType":"inventory","nodes":["n7"]}`})["A"]
		if answer.Error == nil || !strings.Contains(answer.Error.Error(), "is down") {
			t.Errorf("got %v", answer.Error)
		}
	})
}

// The table goes on live, and is sent again when something changed.
func TestInventoryGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		f.past.inventory.Rows = []history.InventoryRow{{Device: boards("n9", 1)[0], Sampled: time.Now()}}
		time.Sleep(2 * time.Second)
		path, raw := channelOf(t, f.frames(t, time.Hour, `{"queryType":"inventory"}`)[0])
		got := &tables{}
		stop := f.runTable(t, path, raw, got)
		time.Sleep(10 * time.Second)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		all := got.snapshot()
		if len(all) < 8 || len(all) > 12 {
			t.Errorf("%d packets in 10 s", len(all))
		}
		last := all[len(all)-1]
		wantCells(t, last.frame, "node,gpu,power,agent,source", "n1|0|100|connected|live", "n1|1|101|connected|live", "n9|0|–|none|history")
	})
}

// What public reports show of MIG comes as rows of boards and instances out of Prometheus alone.
func TestInventoryOfReports(t *testing.T) {
	d := exported(t, func(s *promtest.Store) { exposed(t, s, "mig_sum.prom", "10.9.0.11:9400") })
	frame := answerTo(t, d, `{"queryType":"inventory"}`)[0]
	migs := 0
	for _, row := range cellTexts(t, frame, "mig_id", "mig_profile", "node") {
		if !strings.HasPrefix(row, "|") {
			migs++
		}
	}
	if migs == 0 || migs == frame.Rows() {
		t.Errorf("%d of %d rows are of instances", migs, frame.Rows())
	}
}
