package plugin

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

const eventColumns = "time,timeEnd,title,text,tags,node,xid,who_acts,immediate_action,origin"

// What agents tell and what scrapes show of the same error is one event.
func TestEventsOfBothSides(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		f.agents[0].SetOwners()
		devices := boards("n1", 2)
		start := time.Now()
		f.past.events.Precision = 30 * time.Second
		f.past.events.List = []gpu.Event{
			{Time: start.Add(-10 * time.Minute), Until: start.Add(-8 * time.Minute), Kind: gpu.KindThrottle, Origin: "history", Device: devices[1], Detail: "heat, slowed down by hardware"},
			{Time: start.Add(-5 * time.Minute), Kind: gpu.KindXID, XID: 999, Origin: "history", Device: devices[0]},
			{Time: start.Add(20 * time.Second), Kind: gpu.KindXID, XID: 79, Origin: "history", Device: devices[0]},
		}
		f.agents[0].Event(gpu.Event{Kind: gpu.KindXID, XID: 79, Origin: "kernel", Device: devices[0], Detail: "GPU has fallen off the bus."})
		f.agents[0].Event(gpu.Event{Kind: "link_flapped", Origin: "agent", Device: devices[1]})
		time.Sleep(40 * time.Second)

		all := f.frames(t, time.Hour, `{"queryType":"events"}`)
		wantCells(t, all[0], eventColumns,
			"00:50:00|00:52:00|Throttled|n1 · GPU 1 · H200\nheat, slowed down by hardware|throttle,n1,north|n1|–|||history",
			"00:55:00|–|XID 999 (unknown)|n1 · GPU 0 · H200|xid,XID 999,n1,north|n1|999|||history",
			"01:00:00|–|XID 79: GPU has fallen off the bus|n1 · GPU 0 · H200\nGPU has fallen off the bus.\nNVIDIA says: RESTART_BM|xid,XID 79,n1,north|n1|79|operator|RESTART_BM|kernel",
			"01:00:00|–|Link flapped|n1 · GPU 1 · H200|link_flapped,n1,north|n1|–|||agent")
		for i, name := range []string{"time", "timeEnd", "title", "text", "tags"} {
			if all[0].Fields[i].Name != name {
				t.Errorf("column %d is %q", i, all[0].Fields[i].Name)
			}
		}
		wantCells(t, f.frames(t, time.Hour, `{"queryType":"events","kinds":["xid"],"gpus":["GPU-n1-0"]}`)[0], "kind,xid", "xid|999", "xid|79")

		answer := f.ask(t, time.Hour, map[string]string{"FromAlert": "true"}, map[string]string{
			"A": `{"queryType":"events"}`, "B": `{"queryType":"events","kinds":["ecc_storm"]}`,
		})
		wantCells(t, answer["A"].Frames[0], "gpu,kind,xid,events", "0|xid|79|1", "0|xid|999|1", "1|link_flapped||1", "1|throttle||1")
		if meta := answer["A"].Frames[0].Meta; meta.Type != data.FrameTypeNumericLong {
			t.Errorf("got %+v", meta)
		}
		wantCells(t, answer["B"].Frames[0], "events", "0") // quiet is not missing data
	})
}

// No events is not the same as nobody asked.
func TestNoEvents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		f.agents[0].SetOwners()
		time.Sleep(2 * time.Second)
		all := f.frames(t, time.Hour, `{"queryType":"events","source":"live"}`)
		if got := noticeTexts(all); len(all[0].Fields) == 0 || !strings.Contains(got, "info: No events in this range, say 1 agents.") {
			t.Error(got)
		}
		f.past.err = errors.New("prometheus is down")
		if got := noticeTexts(f.frames(t, time.Hour, `{"queryType":"events"}`)); !strings.Contains(got, "No history, only what agents remember: prometheus is down") {
			t.Error(got)
		}
		answer := f.ask(t, time.Hour, nil, map[string]string{"A": `{"queryType":"events","nodes":["n7"]}`})["A"]
		if answer.Error == nil || !strings.Contains(answer.Error.Error(), "prometheus is down") {
			t.Errorf("got %v", answer.Error)
		}
	})
}

func TestEventsAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		for i := range 30 {
			f.past.events.List = append(f.past.events.List, gpu.Event{Time: time.Now().Add(time.Duration(i-40) * time.Minute), Kind: gpu.KindXID, XID: uint64(i + 1)})
		}
		all := f.frames(t, time.Hour, `{"queryType":"events","maxRows":2}`)
		wantCells(t, all[0], "xid", "29", "30")
		if got := noticeTexts(all); !strings.Contains(got, "Showing the newest 2 of 30 events") {
			t.Error(got)
		}
	})
}

// An XID reaches an open dashboard within two seconds, once, also when it happened before the answer and came after it.
func TestEventsGoOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		f.agents[0].SetOwners()
		d := boards("n1", 1)[0]
		f.agents[0].Event(gpu.Event{Kind: gpu.KindXID, XID: 31, Device: d})
		time.Sleep(2 * time.Second)
		answered := f.frames(t, time.Hour, `{"queryType":"events","kinds":["xid"]}`)[0]
		wantCells(t, answered, "xid", "31")
		path, raw := channelOf(t, answered)
		f.agents[0].Event(gpu.Event{Kind: gpu.KindXID, XID: 43, Device: d, Time: time.Now().Add(-time.Second)})
		got := &tables{}
		stop := f.runTable(t, path, raw, got)
		time.Sleep(5 * time.Second)
		f.agents[0].Event(gpu.Event{Kind: "link_flapped", Device: d})
		f.agents[0].Event(gpu.Event{Kind: gpu.KindXID, XID: 79, Device: d})
		happened := time.Now()
		time.Sleep(5 * time.Second)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		// The browser tells rows apart by what they say; a heartbeat repeats those of just now.
		all := got.snapshot()
		var told []string
		var came time.Time
		for _, p := range all {
			for _, row := range cellTexts(t, p.frame, "xid", "title", "who_acts") {
				if !slices.Contains(told, row) {
					told, came = append(told, row), p.at
				}
			}
		}
		if want := []string{"43|XID 43: GPU stopped processing|user", "79|XID 79: GPU has fallen off the bus|operator"}; !slices.Equal(told, want) {
			t.Errorf("got %q, want %q", told, want)
		}
		if late := came.Sub(happened); late < 0 || late > 2*time.Second {
			t.Errorf("%s late", late)
		}
		for i, p := range all[1:] {
			if quiet := p.at.Sub(all[i].at); quiet > heartbeat+time.Second {
				t.Errorf("silent for %s", quiet)
			}
		}
	})
}

// A14 through a whole query: Prometheus alone.
func TestEventsOfReports(t *testing.T) {
	d := exported(t, func(s *promtest.Store) { exposed(t, s, "xid_sticky_range.json", "") })
	frame := answerTo(t, d, `{"queryType":"events"}`)[0]
	wantCells(t, frame, "time,title,node,gpu,who_acts,immediate_action", "22:45:00|XID 31: GPU memory page fault|rack1-gpu01|0|user|RESTART_APP")
}
