package export

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

// BenchmarkScrape is of a node with eight GPUs and every group, with windows.
func BenchmarkScrape(b *testing.B) {
	n := node()
	e, store, rows := setup(b, n)
	first := simulated(b, n, rows, false)
	frames := make([]snapshot.Frame, 1<<12)
	require.NoError(b, store.Append(first))
	next := 0
	publish := func() {
		f := &frames[next%len(frames)]
		*f = *first
		next++
		f.Time = first.Time.Add(time.Duration(next) * 100 * time.Millisecond)
		require.NoError(b, store.Append(f))
	}
	b.Run("same frame", func(b *testing.B) {
		var text []byte
		b.ReportAllocs()
		for b.Loop() {
			text = e.Append(text[:0], first.Time)
		}
		b.SetBytes(int64(len(text)))
	})
	b.Run("new frame", func(b *testing.B) {
		var text []byte
		b.ReportAllocs()
		for b.Loop() {
			publish()
			text = e.Append(text[:0], first.Time)
		}
		b.SetBytes(int64(len(text)))
	})
	b.Run("gzip", func(b *testing.B) {
		h := Handler(HandlerOptions{Exporter: e, Own: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler)})
		request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		request.Header.Set("Accept-Encoding", "gzip")
		size := 0
		b.ReportAllocs()
		for b.Loop() {
			publish()
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, request)
			size = answer.Body.Len()
		}
		b.ReportMetric(float64(size), "B/answer")
	})
}
