package plugin

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

func answerOf(t *testing.T, d *Datasource, q backend.DataQuery, static bool, more ...string) data.Frames {
	t.Helper()
	q.JSON = json.RawMessage(metricQuery(more...))
	got, err := d.answer(t.Context(), q, static)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// More lines than the limit are bands, with a notice that says so and how to have every line.
func TestTooManyLinesAreBands(t *testing.T) {
	d, q := large(t)
	d.settings.MaxSeries = 999
	got := answerOf(t, d, q, false)
	if len(got) != 1 || len(got[0].Fields) != 9 || got[0].Meta.Type != data.FrameTypeTimeSeriesWide {
		t.Fatalf("%d frames, first with %d fields", len(got), len(got[0].Fields))
	}
	names := ""
	for _, field := range got[0].Fields {
		names += field.Name + " "
	}
	if names != "Time min p5 p25 p50 p75 p95 max count " {
		t.Errorf("fields %s", names)
	}
	// History is 50 every 15 s, live samples 100 every second: on one grid, so that all lines are in every point.
	times, count := column(got[0], 8)
	for i := range times {
		if *count[i] != 1000 || i > 0 && times[i]-times[i-1] != 15_000 {
			t.Fatalf("%v lines at %d after %d", *count[i], times[i], times[max(i-1, 0)])
		}
	}
	if _, low := column(got[0], 1); *low[0] != 50 || *low[len(low)-1] != 100 {
		t.Errorf("from %v to %v", *low[0], *low[len(low)-1])
	}
	for _, want := range []string{
		"info: Showing bands over 1000 lines", "at most 999 are shown one by one", `set "reduce" to "all"`,
	} {
		if text := noticeTexts(got); !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	channelOf(t, got[0])
	got = answerOf(t, d, q, false, `"live":false`)
	if text := noticeTexts(got); got[0].Meta.Custom != nil || strings.Contains(text, "live") {
		t.Errorf("a panel that was not to stream says %q", text)
	}

	// The query's limit comes before the data source's.
	if got := answerOf(t, d, q, false, `"maxSeries":1000`); len(got[0].Fields) != 1001 {
		t.Errorf("%d fields", len(got[0].Fields))
	}
	got = answerOf(t, d, q, false, `"reduce":{"mode":"all"}`)
	if len(got[0].Fields) != 1001 || strings.Contains(noticeTexts(got), "Showing") {
		t.Errorf("all: %d fields, %s", len(got[0].Fields), noticeTexts(got))
	}
	if got := answerOf(t, d, q, false, `"format":"table"`); len(got) != 1 || got[0].Rows() != 1000 {
		t.Errorf("a table has %d rows", got[0].Rows())
	}
}

// Alert rules and expressions see every line, whatever the limit and the query say.
func TestAlertsSeeEveryLine(t *testing.T) {
	d, q := large(t)
	d.settings.MaxSeries = 10
	for _, more := range []string{`"live":true`, `"maxSeries":3`, `"reduce":{"mode":"bands"}`, `"reduce":{"mode":"topk","k":2}`} {
		got := answerOf(t, d, q, true, more)
		if len(got) != 1000 || got[0].Meta.Type != data.FrameTypeTimeSeriesMulti {
			t.Errorf("%s: %d frames", more, len(got))
		}
		if explained := strings.Contains(noticeTexts(got), "Alert rules and expressions see every line"); explained != strings.Contains(more, "reduce") {
			t.Errorf("%s: notices %q", more, noticeTexts(got))
		}
	}
	got := answerOf(t, d, q, true, `"source":"history"`)
	if len(got) != 1 || len(got[0].Fields) != 1001 {
		t.Errorf("history: %d frames, %d fields", len(got), len(got[0].Fields))
	}
}

func TestReductionsThatWereAskedFor(t *testing.T) {
	d, q := large(t)
	agents := d.live.(ringed)
	for i := range 3 {
		s := agents.result.Series[500+i]
		s.Values = append([]float64(nil), s.Values...)
		s.Values[100] = float64(900 - i)
		agents.result.Series[500+i] = s
	}
	got := answerOf(t, d, q, false, `"reduce":{"mode":"topk","k":2,"by":"max"}`)
	if len(got) != 2 || len(got[0].Fields) != 3 || len(got[1].Fields) != 0 {
		t.Fatalf("%d frames, first with %d fields", len(got), len(got[0].Fields))
	}
	if a, b := got[0].Fields[1].Name, got[0].Fields[2].Name; a != "n062 · GPU 4" || b != "n062 · GPU 5" {
		t.Errorf("first %q, second %q", a, b)
	}
	if text := noticeTexts(got); !strings.Contains(text, "Showing the 2 of 1000 lines with the highest maximum") ||
		!strings.Contains(text, "The lines go on live; which ones they are is decided anew with each refresh.") {
		t.Errorf("notices %q", text)
	}
	again := answerOf(t, d, q, false, `"reduce":{"mode":"topk","k":2,"by":"max"}`)
	if again[0].Fields[1].Name != got[0].Fields[1].Name || again[0].Fields[2].Name != got[0].Fields[2].Name {
		t.Error("the same question has two answers")
	}
	if got = answerOf(t, d, q, false, `"format":"table","reduce":{"mode":"bottomk","k":7}`); got[0].Rows() != 7 {
		t.Errorf("a table has %d rows", got[0].Rows())
	}
	if got = answerOf(t, d, q, false, `"instant":true,"reduce":{"mode":"bands"}`); got[0].Rows() != 1 || got[0].Meta.Type != data.FrameTypeNumericWide {
		t.Errorf("bands of now have %d rows, type %s", got[0].Rows(), got[0].Meta.Type)
	}
	got = answerOf(t, d, q, false, `"reduce":{"mode":"heatmap"}`)
	if got[0].Meta.Type != "heatmap-rows" || got[0].Fields[1].Labels["le"] != got[0].Fields[1].Name {
		t.Errorf("a heatmap is %s, its first bin %s", got[0].Meta.Type, got[0].Fields[1].Name)
	}
	for row := range got[0].Rows() {
		sum := 0.0
		for _, field := range got[0].Fields[1:] {
			sum += *field.At(row).(*float64)
		}
		if sum != 1000 {
			t.Fatalf("row %d counts %v lines", row, sum)
		}
	}
}

// No more times than the panel has room for, and what was hot for one sample is still to be seen.
func TestNoMorePointsThanPixels(t *testing.T) {
	d, q := large(t)
	d.live = ringed{}
	past := fine{fakePast: d.history.(*fakePast)}
	past.devices = past.devices[:2]
	d.history, q.MaxDataPoints = past, 100
	for metric, want := range map[string]float64{"gpu_temperature_celsius": 104, power: 52.7} {
		q.JSON = json.RawMessage(strings.ReplaceAll(metricQuery(), power, metric))
		got, err := d.answer(t.Context(), q, false)
		if err != nil {
			t.Fatal(err)
		}
		if rows := got[0].Rows(); rows > 101 || rows < 50 {
			t.Errorf("%s: %d rows", metric, rows)
		}
		_, values := column(got[0], 1)
		most := 0.0
		for _, v := range values {
			most = max(most, *v)
		}
		if most != want {
			t.Errorf("%s: the highest is %v, want %v", metric, most, want)
		}
		if text := noticeTexts(got); !strings.Contains(text, "because the panel has room for 100 points") {
			t.Errorf("notices %q", text)
		}
	}
	if keepOf(mustMetric(t, d, "gpu_temperature_celsius"), "avg") != timeline.KeepMax || keepOf(mustMetric(t, d, power), "min") != timeline.KeepMin {
		t.Error("extremes are not kept")
	}
}

// fine is a server that answers with a sample every second, whatever the step: 50, and once 104.
type fine struct{ *fakePast }

func (f fine) Metric(_ context.Context, _ query.Query, _ catalog.Metric, w query.Window) history.Result {
	result := history.Result{Step: time.Second}
	for _, d := range f.devices {
		s := gpu.Series{Device: d}
		for t := w.Start(); !t.After(w.End()); t = t.Add(time.Second) {
			s.Times, s.Values = append(s.Times, t.UnixMilli()), append(s.Values, 50)
		}
		s.Values[777] = 104
		result.Series = append(result.Series, s)
	}
	return result
}

func mustMetric(t *testing.T, d *Datasource, name string) catalog.Metric {
	t.Helper()
	m, ok := d.catalog.Metric(name)
	if !ok {
		t.Fatalf("no metric %s", name)
	}
	return m
}
