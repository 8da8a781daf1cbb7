package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// ringed is agents whose samples are all at hand.
type ringed struct {
	present
	result live.WindowResult
}

func (r ringed) Nodes(context.Context) ([]live.NodeStatus, error) { return r.result.Nodes, nil }

func (r ringed) Window(context.Context, live.Select) live.WindowResult {
	result := r.result
	result.Series = append([]gpu.Series(nil), result.Series...)
	return result
}

// large is a data source of 125 nodes of 8 GPUs, with a quarter of an hour of live samples, and a query for all of them
// that has as much history before.
func large(t testing.TB) (*Datasource, backend.DataQuery) {
	t.Helper()
	known, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	end := time.Unix(1_800_000_000, 0)
	past := &fakePast{value: 50}
	agents := ringed{result: live.WindowResult{Period: time.Second}}
	for i := range 1000 {
		d := gpu.Device{Identity: gpu.Identity{Cluster: "north", Node: fmt.Sprintf("n%03d", i/8), UUID: fmt.Sprintf("GPU-5e1f%04d-0a00-4a00-8b00-000000000000", i)}, Index: i % 8}
		past.devices = append(past.devices, d)
		s := gpu.Series{Device: d}
		for t := end.Add(-15 * time.Minute); t.Before(end); t = t.Add(time.Second) {
			s.Times, s.Values = append(s.Times, t.UnixMilli()), append(s.Values, 100)
		}
		agents.result.Series = append(agents.result.Series, s)
	}
	d := &Datasource{
		settings: settings.Settings{ScrapeInterval: 15 * time.Second}, catalog: known, history: past, live: agents,
		handovers: newHandovers(), logger: backend.Logger, now: func() time.Time { return end },
	}
	return d, backend.DataQuery{
		RefID: "A", JSON: json.RawMessage(metricQuery()), MaxDataPoints: 2000, TimeRange: backend.TimeRange{From: end.Add(-30 * time.Minute), To: end},
	}
}

// A channel that a browser could not subscribe to is not offered, and the answer says why.
func TestTooManyLinesDoNotStream(t *testing.T) {
	d, q := large(t)
	got, err := d.answer(t.Context(), q, false)
	if err != nil || len(got[0].Fields) != 1001 {
		t.Fatal(err, len(got[0].Fields))
	}
	path, raw := channelOf(t, got[0])
	c, _, err := parseChannel(path, raw)
	if err != nil || len(raw) > maxChannelBytes || c.width() != 1000 {
		t.Errorf("%v, %d columns in %d bytes", err, c.width(), len(raw))
	}
	for i := range c.Nodes {
		for j := range 20 {
			c.Nodes[i].Devices = append(c.Nodes[i].Devices, channelDevice{UUID: query.HashOf(fmt.Append(nil, i, j))})
		}
	}
	if _, err := d.offer(c, 0, d.now()); err == nil || !strings.Contains(err.Error(), "3500 lines are too many for a live channel. Narrow the query") {
		t.Error(err)
	}

	names, err := json.Marshal(slices.Repeat([]string{"n001", "a-node-that-does-not-exist"}, 2000))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2000 { // distinct, as the canonical form leaves repetitions out
		names = bytes.Replace(names, []byte("exist\""), fmt.Appendf(nil, "exist%d\"", i), 1)
	}
	q.JSON = json.RawMessage(metricQuery(`"nodes":` + string(names)))
	got, err = d.answer(t.Context(), q, false)
	if err != nil || !strings.Contains(noticeTexts(got), "Not streaming: the query names too much for a live channel") {
		t.Errorf("%v, notices %q", err, noticeTexts(got))
	}
}

func BenchmarkMetric(b *testing.B) {
	d, q := large(b)
	for b.Loop() {
		got, err := d.answer(b.Context(), q, false)
		if err != nil || len(got[0].Fields) < 1000 {
			b.Fatal(err, len(got[0].Fields))
		}
	}
}
