package agentbench

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

const (
	readers    = 50
	scrapeRate = 20 // a second
)

// BenchmarkAgentJitter is how late samples begin at 10 Hz on eight GPUs, while 50 readers follow the stream and /metrics is
// scraped 20 times a second. Readers and scrapers are in the same process, and take their part of the processors too. An
// operation is a tick.
func BenchmarkAgentJitter(b *testing.B) {
	const period = 100 * time.Millisecond
	r := start(b, device.Standard, period, true)
	address := r.listen(b)
	ctx, cancel := context.WithCancel(context.Background())
	var load sync.WaitGroup
	for range readers {
		conn := subscribe(b, address)
		load.Go(func() {
			for {
				if _, _, err := conn.Read(ctx); err != nil {
					_ = conn.CloseNow()
					return
				}
			}
		})
	}
	scrapes := 0
	load.Go(func() { scrapes = scrape(ctx, address) })
	time.Sleep(time.Second)

	first := r.store.Newest().Seq
	r.lateness.begin()
	b.ResetTimer()
	for range b.N {
		time.Sleep(period)
	}
	b.StopTimer()
	late := r.lateness.noted()
	published := r.store.Newest().Seq - first
	cancel()
	load.Wait()
	require.NotEmpty(b, late)
	require.Positive(b, scrapes)
	p99 := percentile(late, 0.99)
	b.ReportMetric(float64(p99)/float64(time.Millisecond), "p99-ms")
	b.ReportMetric(float64(percentile(late, 0.5))/float64(time.Millisecond), "p50-ms")
	b.ReportMetric(float64(published)/float64(b.N), "ticks/op")
	// A processor that is given to others for long can bring two samples of GPM too close together.
	b.ReportMetric(float64(len(r.machine.Violations())), "violations")
}

func subscribe(tb testing.TB, address string) *websocket.Conn {
	tb.Helper()
	conn, _, err := websocket.Dial(tb.Context(), "ws://"+address+"/api/v1/stream", nil)
	require.NoError(tb, err)
	conn.SetReadLimit(1 << 22)
	request, err := proto.Marshal(&wire.Request{Reader: "bench"})
	require.NoError(tb, err)
	require.NoError(tb, conn.Write(tb.Context(), websocket.MessageBinary, request))
	return conn
}

// scrape asks for /metrics again and again until ctx ends, and returns how often there was an answer.
func scrape(ctx context.Context, address string) int {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ticker := time.NewTicker(time.Second / scrapeRate)
	defer ticker.Stop()
	answers := 0
	for {
		select {
		case <-ctx.Done():
			return answers
		case <-ticker.C:
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
		if err != nil {
			return answers
		}
		request.Header.Set("Accept-Encoding", "gzip")
		response, err := client.Do(request)
		if err != nil {
			continue
		}
		if _, err := io.Copy(io.Discard, response.Body); err == nil && response.StatusCode == http.StatusOK {
			answers++
		}
		_ = response.Body.Close()
	}
}
