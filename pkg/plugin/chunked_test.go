package plugin

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/grafana/grafana-plugin-sdk-go/genproto/pluginv2"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// chunks is what Grafana receives of a chunked answer.
type chunks struct {
	mu  sync.Mutex
	all []*pluginv2.QueryChunkedDataResponse
}

func (c *chunks) take(chunk *pluginv2.QueryChunkedDataResponse) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, chunk)
	return nil
}

// frames puts the chunks of a query together.
func (c *chunks) frames(t *testing.T, ref string) (frames data.Frames, number int) {
	t.Helper()
	at := map[string]*data.Frame{}
	for _, chunk := range c.all {
		if chunk.RefId != ref {
			continue
		}
		if chunk.Error != "" {
			t.Fatal(chunk.Error)
		}
		number++
		frame, err := data.UnmarshalArrowFrame(chunk.Frame)
		if err != nil {
			t.Fatal(err)
		}
		whole, known := at[chunk.FrameId]
		if !known {
			at[chunk.FrameId] = frame
			frames = append(frames, frame)
			continue
		}
		for i, field := range frame.Fields {
			whole.Fields[i].AppendAll(field)
		}
	}
	return frames, number
}

func chunkedRequest(format backend.DataFrameFormat, length time.Duration, queries ...string) *backend.QueryChunkedDataRequest {
	to := time.Now()
	req := &backend.QueryChunkedDataRequest{Format: format}
	for i, raw := range queries {
		req.Queries = append(req.Queries, backend.DataQuery{
			RefID: string(rune('A' + i)), JSON: json.RawMessage(raw), QueryType: queryTypeIn(raw), MaxDataPoints: 1000,
			TimeRange: backend.TimeRange{From: to.Add(-length), To: to},
		})
	}
	return req
}

// The chunks put together are what QueryData answers, and one bad query does not take the others with it.
func TestChunkedIsWhatQueryDataAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		time.Sleep(5 * time.Second)
		q := metricQuery(`"source":"history"`)
		whole := f.frames(t, 5*time.Minute, q)
		var got chunks
		req := chunkedRequest(backend.DataFrameFormat_ARROW, 5*time.Minute, q, `{"queryType":"nonsense"}`, metricQuery(`"nodes":["none"]`))
		if err := f.QueryChunkedData(t.Context(), req, backend.NewChunkedDataWriter(req.Format, got.take)); err != nil {
			t.Fatal(err)
		}
		frames, _ := got.frames(t, "A")
		want, _ := json.Marshal(whole)
		if have, _ := json.Marshal(frames); strings.ReplaceAll(string(have), `"refId":"A",`, "") != string(want) {
			t.Errorf("got  %s\nwant %s", have, want)
		}
		empty, _ := got.frames(t, "C")
		if len(empty) != 1 || empty[0].Meta == nil || empty[0].Meta.Type != data.FrameTypeTimeSeriesWide || len(empty[0].Meta.Notices) == 0 {
			t.Errorf("an empty answer is %v", empty)
		}
		failed := 0
		for _, chunk := range got.all {
			if chunk.RefId == "B" {
				failed++
				if chunk.Status != http.StatusBadRequest || !strings.Contains(chunk.Error, `"nonsense" is not known`) {
					t.Errorf("status %d, error %q", chunk.Status, chunk.Error)
				}
			}
		}
		if failed != 1 {
			t.Errorf("%d answers to the bad query", failed)
		}
	})
}

// A large answer comes in parts that together are all rows, each part with all columns.
func TestLargeAnswersComeInParts(t *testing.T) {
	d, q := large(t)
	d.history.(*fakePast).devices = nil
	past := d.history.(*fakePast)
	for i := range 60_000 {
		past.series = append(past.series, gpu.Series{
			Labels: map[string]string{"gpu": "g" + strings.Repeat("x", i%7), "n": string(rune('a' + i%26))}, Times: []int64{1000}, Values: []float64{float64(i)},
		})
	}
	raw := json.RawMessage(`{"queryType":"promql","expr":"x","instant":true}`)
	for _, format := range []backend.DataFrameFormat{backend.DataFrameFormat_ARROW, backend.DataFrameFormat_JSON} {
		var got chunks
		req := &backend.QueryChunkedDataRequest{
			Format: format, Headers: map[string]string{"FromAlert": "true"},
			Queries: []backend.DataQuery{{RefID: "A", JSON: raw, QueryType: "promql", TimeRange: q.TimeRange}},
		}
		if err := d.QueryChunkedData(t.Context(), req, backend.NewChunkedDataWriter(format, got.take)); err != nil {
			t.Fatal(err)
		}
		if len(got.all) < 2 {
			t.Fatalf("%d chunks", len(got.all))
		}
		if format == backend.DataFrameFormat_JSON {
			if !strings.Contains(string(got.all[0].Frame), `"schema"`) || strings.Contains(string(got.all[1].Frame), `"schema"`) {
				t.Error("the schema comes once, first")
			}
			continue
		}
		frames, _ := got.frames(t, "A")
		if len(frames) != 1 || frames[0].Rows() != 60_000 {
			t.Fatalf("%d frames, %d rows", len(frames), frames[0].Rows())
		}
	}
}

// When nobody takes the answer any more the request ends, with the reason.
func TestChunkedEndsWithItsReader(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		gone := errors.New("the reader has gone")
		req := chunkedRequest(backend.DataFrameFormat_JSON, time.Minute, metricQuery(`"source":"history"`))
		err := f.QueryChunkedData(t.Context(), req, backend.NewChunkedDataWriter(req.Format, func(*pluginv2.QueryChunkedDataResponse) error { return gone }))
		if !errors.Is(err, gone) {
			t.Errorf("got %v", err)
		}
	})
}
