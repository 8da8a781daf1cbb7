package history

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

const exemplarsBody = `{"status":"success","data":[
	{"seriesLabels":{"__name__":"serve_ttft_bucket","le":"1","replica":"r0"},"exemplars":[
		{"labels":{"trace_id":"b"},"value":"0.75","timestamp":1793400060.5},{"labels":{"trace_id":"a"},"value":0.5,"timestamp":"1793400000"}]},
	{"seriesLabels":{"__name__":"serve_ttft_bucket","le":"1","replica":"r1"},"exemplars":[{"labels":{"trace_id":"b"},"value":"0.75","timestamp":1793400060.5}]}]}`

func exemplars(t *testing.T, h *History, q string) ([]gpu.Exemplar, []gpu.Notice) {
	t.Helper()
	parsed, err := query.Parse([]byte(q), query.TypePromQL)
	require.NoError(t, err)
	return h.Exemplars(context.Background(), parsed, window(600, time.Minute))
}

func TestExemplars(t *testing.T) {
	var asked string
	url := promtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != exemplarsPath {
			t.Errorf("asked %s", r.URL.Path)
		}
		asked = r.FormValue("query") + " " + r.FormValue("start") + " " + r.FormValue("end")
		if _, err := w.Write([]byte(exemplarsBody)); err != nil {
			t.Error(err)
		}
	}))
	h := openAt(t, Endpoint{ID: "p", URL: url, ReplicaLabels: []string{"replica"}})
	got, notices := exemplars(t, h, `{"expr":"rate(serve_ttft_bucket[$__range])","exemplars":true,"adhocFilters":[{"key":"model","value":"m"}]}`)
	require.Empty(t, notices)
	series := map[string]string{"__name__": "serve_ttft_bucket", "le": "1"}
	require.Equal(t, []gpu.Exemplar{
		{Series: series, Labels: map[string]string{"trace_id": "a"}, Time: 1793400000000, Value: 0.5},
		{Series: series, Labels: map[string]string{"trace_id": "b"}, Time: 1793400060500, Value: 0.75},
	}, got)
	w := window(600, time.Minute)
	require.Equal(t, fmt.Sprintf(`rate(serve_ttft_bucket{model="m"}[10m]) %d %d`, w.From.Unix(), w.To.Unix()), asked)
}

func TestFailedExemplarsAreANotice(t *testing.T) {
	h := openAt(t, Endpoint{ID: "p", URL: oneAnswer(t, 404, []byte("404 page not found"))})
	got, notices := exemplars(t, h, `{"expr":"up","exemplars":true}`)
	require.Empty(t, got)
	require.Len(t, notices, 1)
	require.Contains(t, notices[0].Text, "No exemplars: p: ")
	for _, body := range []string{`{"status":"success","data":[{"exemplars":[{"value":"x"}]}]}`, `{"status":"error","errorType":"bad_data","error":"no"}`, `<html>`} {
		h := openAt(t, Endpoint{ID: "p", URL: oneAnswer(t, 200, []byte(body))})
		got, notices := exemplars(t, h, `{"expr":"up","exemplars":true}`)
		require.Empty(t, got)
		require.Len(t, notices, 1, body)
	}
}

func TestOfManyExemplarsTheLargestAreKept(t *testing.T) {
	w := window(600, time.Minute)
	var b strings.Builder
	b.WriteString(`{"status":"success","data":[{"seriesLabels":{"a":"b"},"exemplars":[`)
	for i := range 5000 {
		if i > 0 {
			b.WriteByte(',')
		}
		at := w.From.Add(w.Length() * time.Duration(i) / 5000)
		fmt.Fprintf(&b, `{"labels":{"trace_id":"%d"},"value":"%d","timestamp":%s}`, i, i%5, timestamp(at))
	}
	b.WriteString(`]}]}`)
	h := openAt(t, Endpoint{ID: "p", URL: oneAnswer(t, 200, []byte(b.String()))})
	got, notices := exemplars(t, h, `{"expr":"up","exemplars":true}`)
	require.Len(t, got, MaxExemplars)
	for _, x := range got {
		require.InDelta(t, 4, x.Value, 0)
	}
	wantNotice(t, notices, "Showing 1000 of 5000 exemplars, the largest of their time.")
}
