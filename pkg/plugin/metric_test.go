package plugin

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// One series for each GPU: history up to the join, live samples after it, no time twice and no hole wider than the
// coarser of the two periods.
func TestMetricJoinsHistoryAndLive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"}, agenttest.Options{Node: "n2"})
		f.frames(t, time.Minute, metricQuery()) // connects
		time.Sleep(90 * time.Second)
		f.frames(t, time.Minute, metricQuery())
		time.Sleep(10 * time.Second)
		got := f.frames(t, 15*time.Minute, metricQuery())
		if len(got) != 1 || len(got[0].Fields) != 5 {
			t.Fatalf("%d frames, first with %d fields", len(got), len(got[0].Fields))
		}
		if got[0].Meta.Type != data.FrameTypeTimeSeriesWide {
			t.Errorf("type %s", got[0].Meta.Type)
		}
		if want := float64(15_000); got[0].Fields[0].Config.Interval != want {
			t.Errorf("interval %v, want %v", got[0].Fields[0].Config.Interval, want)
		}
		for field := 1; field <= 4; field++ {
			times, values := column(got[0], field)
			seam := -1
			for i, v := range values {
				if v == nil {
					// Only the newest row may still wait for a node.
					if i < len(values)-1 {
						t.Errorf("field %d: gap at row %d of %d", field, i, len(values))
					}
					continue
				}
				if *v != 50 && seam < 0 {
					seam = i
				}
				if i > 0 && (times[i] <= times[i-1] || times[i]-times[i-1] > 15_000) {
					t.Errorf("field %d: row %d at %d after %d", field, i, times[i], times[i-1])
				}
				if seam >= 0 && *v != float64(100+(field-1)%2) {
					t.Errorf("field %d: row %d is %v", field, i, *v)
				}
			}
			if live := len(values) - seam; seam < 40 || live < 90 {
				t.Errorf("field %d: %d rows of history, %d live", field, seam, live)
			}
		}
		if text := noticeTexts(got); text != "" {
			t.Errorf("notices %s", text)
		}
	})
}

// What only history knows is in a frame of its own, beside the one that streams.
func TestMetricKeepsWhatAgentsDoNotKnowApart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		f.past.devices = append(f.past.devices, gpu.Device{Identity: gpu.Identity{Cluster: "south", Node: "n9", UUID: "GPU-9"}, Model: "NVIDIA L40S"})
		time.Sleep(5 * time.Second)
		got := f.frames(t, 5*time.Minute, metricQuery())
		if len(got) != 2 || len(got[0].Fields) != 3 || len(got[1].Fields) != 2 {
			t.Fatalf("%d frames", len(got))
		}
		channelOf(t, got[0])
		if got[1].Meta.Custom != nil {
			t.Error("the second frame has a channel")
		}
		// Two clusters in one answer, so that both frames name theirs.
		if a, b := got[0].Fields[1].Name, got[1].Fields[1].Name; a != "north · n1 · GPU 0 · H200" || b != "south · n9 · GPU 0 · L40S" {
			t.Errorf("names %q, %q", a, b)
		}
	})
}

// Alert rules and expressions get no channel, and every line to its own end (they read the first wide frame only).
func TestMetricForAlertsIsStatic(t *testing.T) {
	for _, headers := range []map[string]string{{"FromAlert": "true"}, {"http_X-Grafana-From-Expr": "true"}} {
		bubble(t, func(t *testing.T) {
			f := newFleet(t, agenttest.Options{Node: "n1"})
			time.Sleep(5 * time.Second)
			got := f.ask(t, 5*time.Minute, headers, map[string]string{"A": metricQuery()})["A"]
			if got.Error != nil || len(got.Frames) != 2 || got.Frames[0].Meta.Custom != nil || got.Frames[0].Meta.Channel != "" {
				t.Fatalf("error %v, %d frames", got.Error, len(got.Frames))
			}
			f.past.devices = append(f.past.devices, gpu.Device{Identity: gpu.Identity{Cluster: "north", Node: "n9", UUID: "GPU-9"}})
			got = f.ask(t, 5*time.Minute, headers, map[string]string{"A": metricQuery()})["A"]
			if got.Error != nil || len(got.Frames) != 3 {
				t.Fatalf("error %v, %d frames", got.Error, len(got.Frames))
			}
			for _, frame := range got.Frames {
				if frame.Meta.Type != data.FrameTypeTimeSeriesMulti || frame.Meta.Custom != nil {
					t.Errorf("frame of type %s, custom %v", frame.Meta.Type, frame.Meta.Custom)
				}
				if last := frame.Fields[1].At(frame.Rows() - 1).(*float64); last == nil {
					t.Error("a line ends in a gap")
				}
			}
		})
	}
}

// One side that fails is a notice, both are an error that names both; the queries beside it are answered.
func TestMetricWithOneSideDown(t *testing.T) {
	down := errors.New("endpoint north-a: it refuses connections: check that Prometheus runs")
	t.Run("Prometheus", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newFleet(t, agenttest.Options{Node: "n1"})
			f.past.err = down
			time.Sleep(5 * time.Second)
			got := f.frames(t, 5*time.Minute, metricQuery())
			if _, values := column(got[0], 1); len(values) == 0 || *values[len(values)-1] != 100 {
				t.Errorf("no live data")
			}
			if text := noticeTexts(got); !strings.Contains(text, "warning: No history, only live data: endpoint north-a") {
				t.Errorf("notices %q", text)
			}
		})
	})
	t.Run("agent", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newFleet(t, agenttest.Options{Node: "n1"})
			f.agents[0].Stop()
			got := f.frames(t, 5*time.Minute, metricQuery())
			if len(got) != 1 || got[0].Meta.Custom != nil || len(got[0].Fields) != 3 || got[0].Rows() == 0 {
				t.Errorf("%d frames", len(got))
			}
			if text := noticeTexts(got); !strings.Contains(text, "n1 (n1:9847): it refuses connections") {
				t.Errorf("notices %q", text)
			}
		})
	})
	t.Run("both", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newFleet(t, agenttest.Options{Node: "n1"})
			f.past.err = down
			f.agents[0].Stop()
			got := f.ask(t, 5*time.Minute, nil, map[string]string{"A": metricQuery(), "B": `{"queryType":"nonsense"}`})
			a := got["A"]
			if a.Error == nil || a.ErrorSource != backend.ErrorSourceDownstream {
				t.Fatalf("error %v, source %s", a.Error, a.ErrorSource)
			}
			for _, part := range []string{"endpoint north-a: it refuses connections", "n1 (n1:9847): it refuses connections"} {
				if !strings.Contains(a.Error.Error(), part) {
					t.Errorf("%q does not name %q", a.Error, part)
				}
			}
		})
	})
}

// The source decides which side is asked.
func TestMetricSource(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		got := f.frames(t, 5*time.Minute, metricQuery(`"source":"history"`))
		if f.network.Dials() != 0 || len(got) != 1 || got[0].Meta.Custom != nil {
			t.Errorf("%d dials, %d frames", f.network.Dials(), len(got))
		}
		time.Sleep(3 * time.Second)
		got = f.frames(t, 5*time.Minute, metricQuery(`"source":"live"`))
		if _, values := column(got[0], 1); len(values) == 0 || values[0] == nil || *values[0] != 100 {
			t.Errorf("live holds %d rows", len(values))
		}
		f.agents[0].Stop()
		time.Sleep(5 * time.Minute)
		answer := f.ask(t, 5*time.Minute, nil, map[string]string{"A": metricQuery(`"source":"live"`)})["A"]
		if answer.Error == nil || !strings.Contains(answer.Error.Error(), "n1 (n1:9847)") {
			t.Errorf("error %v", answer.Error)
		}
	})
}

// The browser's clock decides which range is asked for; when it is off that is said (grafana/grafana#39110).
func TestMetricWhenTheBrowsersClockIsOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		time.Sleep(5 * time.Second)
		for off, want := range map[time.Duration]string{
			-5 * time.Minute: "info: The range ended 5m0s before the server's time",
			5 * time.Minute:  "warning: The range ends 5m0s after the server's time",
			0:                "",
			-2 * time.Hour:   "",
		} {
			to := time.Now().Add(off)
			got := f.askUntil(t, to, 15*time.Minute, nil, map[string]string{"A": metricQuery()})["A"]
			if got.Error != nil {
				t.Fatal(got.Error)
			}
			if end, limit := got.Frames[0].Fields[0].At(got.Frames[0].Rows()-1).(time.Time), to; off < 0 && end.After(limit) {
				t.Errorf("%s: drawn up to %s, past the end of the range", off, end.Sub(limit))
			}
			if text := noticeTexts(got.Frames); !strings.HasPrefix(text, want) || want == "" && text != "" {
				t.Errorf("%s: notices %q, want %q", off, text, want)
			}
			if live := got.Frames[0].Meta.Custom != nil; live != (off >= 0) {
				t.Errorf("%s: live %v", off, live)
			}
		}
	})
}

// An aggregate is live as a whole or not at all: its meaning must not change at the join.
func TestMetricAggregates(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"}, agenttest.Options{Node: "n2"})
		time.Sleep(5 * time.Second)
		sum := metricQuery(`"aggregateBy":"node"`, `"aggregation":"sum"`)
		got := f.frames(t, 5*time.Minute, sum)
		if len(got[0].Fields) != 3 || got[0].Fields[1].Name != "north · n1" {
			t.Fatalf("%d fields", len(got[0].Fields))
		}
		if _, values := column(got[0], 1); *values[0] != 100 || *values[len(values)-1] != 201 {
			t.Errorf("from %v to %v", *values[0], *values[len(values)-1])
		}
		// A GPU that only another exporter reports.
		f.past.devices = append(f.past.devices, gpu.Device{Identity: gpu.Identity{Cluster: "north", Node: "n1", UUID: "GPU-9"}})
		got = f.frames(t, 5*time.Minute, sum)
		if len(got) != 2 || len(got[0].Fields) != 2 || got[0].Fields[1].Name != "north · n2" || got[1].Fields[1].Name != "north · n1" {
			t.Fatalf("%d frames", len(got))
		}
		if _, values := column(got[1], 1); *values[len(values)-1] != 150 {
			t.Errorf("ends with %v", *values[len(values)-1])
		}
		if text := noticeTexts(got); !strings.Contains(text, "agents know only some of the GPUs: north n1") {
			t.Errorf("notices %q", text)
		}
	})
}

// A counter is answered as its rate, from the agents too: joules per second are watts.
func TestMetricCounterIsARate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		a := agenttest.New(t, agenttest.Options{Network: f.network, Cluster: "north", Node: "n1", Metrics: []string{"gpu_energy_joules_total"}})
		f.use(a)
		a.Start(func(n int) []gpu.Reading {
			return []gpu.Reading{gpu.Read(float64(300 * n)), gpu.Read(float64(400 * n))}
		})
		time.Sleep(30 * time.Second)
		got := f.frames(t, 5*time.Minute, `{"queryType":"metric","metric":"gpu_energy_joules_total"}`)
		if len(got) == 0 || len(got[0].Fields) != 3 {
			t.Fatalf("%d frames", len(got))
		}
		for field, want := range []float64{300, 400} {
			_, values := column(got[0], field+1)
			if last := values[len(values)-1]; last == nil || *last != want {
				t.Errorf("field %d ends with %v, want %v", field, last, want)
			}
		}
		if unit := got[0].Fields[1].Config.Unit; unit != "watt" {
			t.Errorf("unit %q", unit)
		}
		path, raw := channelOf(t, got[0])
		received, stop := f.runStream(t, path, raw)
		time.Sleep(5 * time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		_, values := received.rows(0)
		if len(values) < 4 {
			t.Fatalf("%d rows", len(values))
		}
		for i, v := range values {
			if v == nil || *v != 300 {
				t.Errorf("row %d is %v", i, v)
			}
		}
	})
}

// Where agents hold all of a range the answer is theirs from its first row on, at whatever moment it is asked for: the left
// edge must not change between what agents and what history says of it.
func TestLiveRangesAreLiveFromTheirFirstRow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		metrics := []string{"gpu_power_watts", "gpu_energy_joules_total"}
		a := agenttest.New(t, agenttest.Options{Network: f.network, Cluster: "north", Node: "n1", Metrics: metrics})
		f.use(a)
		a.Start(func(n int) []gpu.Reading {
			var row []gpu.Reading
			for range 2 {
				row = append(row, gpu.Read(300), gpu.Read(float64(300*n)))
			}
			return row
		})
		for _, d := range agenttest.Devices("n1", 2) {
			d.Cluster = "north"
			f.past.devices = append(f.past.devices, d)
		}
		f.frames(t, time.Minute, metricQuery()) // connects
		time.Sleep(4 * time.Minute)
		for range 4 {
			time.Sleep(7 * time.Second)
			for _, metric := range metrics {
				got := f.frames(t, time.Minute, `{"queryType":"metric","metric":"`+metric+`"}`)
				_, values := column(got[0], 1)
				for i, v := range values[:len(values)-1] {
					if v == nil || *v != 300 {
						t.Errorf("%s: row %d of %d is %v", metric, i, len(values), v)
					}
				}
			}
		}
	})
}

// A table has a row for each GPU with its newest value, live where there is one.
func TestMetricTable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		f.past.devices = append(f.past.devices, gpu.Device{Identity: gpu.Identity{Cluster: "north", Node: "n9", UUID: "GPU-9"}})
		time.Sleep(5 * time.Second)
		for _, q := range []string{metricQuery(`"format":"table"`), metricQuery(`"instant":true`)} {
			got := f.frames(t, 5*time.Minute, q)
			if len(got) != 1 || got[0].Meta.Type != data.FrameTypeNumericLong || got[0].Rows() != 3 || got[0].Meta.Custom != nil {
				t.Fatalf("%d frames, %d rows", len(got), got[0].Rows())
			}
			value, _ := got[0].FieldByName(power)
			for row, want := range []float64{100, 101, 50} {
				if v := value.At(row).(*float64); v == nil || *v != want {
					t.Errorf("row %d is %v, want %v", row, v, want)
				}
			}
		}
	})
}

// A hundred panels on one node are one connection (grafana/grafana#60570).
func TestOneConnectionForAllPanels(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		for range 20 {
			f.ask(t, 5*time.Minute, nil, map[string]string{"A": metricQuery(), "B": metricQuery(`"legend":"{{node}}"`), "C": metricQuery(`"instant":true`)})
		}
		synctest.Wait()
		if n := f.agents[0].Accepted(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

// MIG instances have no utilization of their own; what stands in for it does so in answers and streams alike.
func TestMetricOfMIGInstances(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		whole := agenttest.Devices("n1", 2)
		slice := whole[1]
		slice.GPUInstance, slice.ComputeInstance, slice.MIGProfile, slice.MIGEnabled = "7", "0", "1g.18gb", true
		a := agenttest.New(t, agenttest.Options{
			Network: f.network, Cluster: "north", Node: "n1", Devices: []gpu.Device{whole[0], slice},
			Metrics: []string{"gpu_utilization_ratio", "gpu_graphics_engine_active_ratio"},
		})
		f.use(a)
		a.Start(func(int) []gpu.Reading {
			return []gpu.Reading{gpu.Read(0.5), gpu.Read(0.1), gpu.Absent(gpu.NotSupported), gpu.Read(0.25)}
		})
		time.Sleep(5 * time.Second)
		got := f.frames(t, 5*time.Minute, `{"queryType":"metric","metric":"gpu_utilization_ratio"}`)
		if len(got[0].Fields) != 3 || got[0].Fields[2].Name != "n1 · GPU 1 · MIG 1g.18gb #7" {
			t.Fatalf("%d fields", len(got[0].Fields))
		}
		path, raw := channelOf(t, got[0])
		received, stop := f.runStream(t, path, raw)
		time.Sleep(3 * time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		for field, want := range []float64{0.5, 0.25} {
			_, shown := column(got[0], field+1)
			_, streamed := received.rows(field)
			if last := shown[len(shown)-1]; last == nil || *last != want {
				t.Errorf("column %d is %v", field, last)
			}
			if last := streamed[len(streamed)-1]; last == nil || *last != want {
				t.Errorf("column %d streams %v", field, last)
			}
		}
		for _, p := range received.snapshot()[1:] {
			if p.Schema != nil {
				t.Error("columns changed")
			}
		}
	})
}

// Agents do not know who owns a GPU. A scope of pods is what history finds, and its devices are live all the same.
func TestMetricOfOwners(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		f.past.devices = f.past.devices[:1]
		time.Sleep(5 * time.Second)
		got := f.frames(t, 5*time.Minute, metricQuery(`"pods":["train-0"]`))
		if len(got) != 1 || len(got[0].Fields) != 2 {
			t.Fatalf("%d frames, %d fields", len(got), len(got[0].Fields))
		}
		path, raw := channelOf(t, got[0])
		received, stop := f.runStream(t, path, raw)
		time.Sleep(3 * time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		for _, p := range received.snapshot() {
			if len(p.Data.Values) != 2 {
				t.Errorf("a packet of %d columns", len(p.Data.Values))
			}
		}
	})
}

// A range that ended a while ago still has the agents' resolution, as when somebody zooms into what they just saw.
func TestMetricOfTheRecentPast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		time.Sleep(10 * time.Minute)
		to := time.Now().Add(-5*time.Minute - 321*time.Millisecond)
		got := f.askUntil(t, to, 2*time.Minute+34*time.Second+5*time.Millisecond, nil, map[string]string{"A": metricQuery()})["A"]
		if got.Error != nil || len(got.Frames) != 1 || got.Frames[0].Meta.Custom != nil || noticeTexts(got.Frames) != "" {
			t.Fatalf("%v, %d frames, notices %q", got.Error, len(got.Frames), noticeTexts(got.Frames))
		}
		times, values := column(got.Frames[0], 1)
		if n := len(times); n < 150 || *values[n-1] != 100 || times[n-1] > to.UnixMilli() || to.UnixMilli()-times[n-1] > 1000 {
			t.Errorf("%d rows up to %d, the range ends at %d", n, times[n-1], to.UnixMilli())
		}
	})
}

// An answer that is empty although everybody answered says for what: a panel without a word would look healthy.
func TestMetricOfNothingSaysSo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		for _, q := range []string{
			metricQuery(`"nodes":["All"]`), metricQuery(`"nodes":["All"]`, `"format":"table"`),
			metricQuery(`"nodes":["All"]`, `"aggregateBy":"node"`), metricQuery(`"nodes":["All"]`, `"source":"live"`),
		} {
			got := noticeTexts(f.frames(t, 5*time.Minute, q))
			if want := "No GPU or MIG instance of the selection has gpu_power_watts in this range. Selected: nodes All."; !strings.Contains(got, want) {
				t.Errorf("%s: %q", q, got)
			}
		}
	})
}
