package agentbench

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// BenchmarkAgentCPU is what the agent takes of one processor while it samples eight GPUs once a second, standard profile,
// and is scraped every 15 seconds. An operation is a second.
//
// A driver's own time is not the agent's. Calls wait in the kernel as long as drivers were seen to take, which costs a
// little of the processor itself: that is measured, thread by thread, and left out. Everything else that the fake does
// counts as the agent's, and so do the Go runtime's hand-overs around calls that block.
func BenchmarkAgentCPU(b *testing.B) { agentCPU(b, time.Second) }

// BenchmarkAgentTenHertz is the same while a reader wishes for ten samples a second.
func BenchmarkAgentTenHertz(b *testing.B) { agentCPU(b, 100*time.Millisecond) }

func agentCPU(b *testing.B, tick time.Duration) {
	b.Helper()
	r := start(b, device.Standard, tick, true)
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "/metrics", nil)
	require.NoError(b, err)
	request.Header.Set("Accept-Encoding", "gzip")
	began, used, driver := time.Now(), processorTime(b), r.machine.Spent()
	b.ResetTimer()
	for i := range b.N {
		time.Sleep(time.Second)
		if i%15 == 0 {
			r.metrics.ServeHTTP(&discard{header: http.Header{}}, request)
		}
	}
	b.StopTimer()
	elapsed := time.Since(began)
	driver = r.machine.Spent() - driver
	used = processorTime(b) - used
	b.ReportMetric(100*(used-driver).Seconds()/elapsed.Seconds(), "cpu-percent")
	b.ReportMetric(100*driver.Seconds()/elapsed.Seconds(), "driver-cpu-percent")
	// A processor that is given to others for long can bring two samples of GPM too close together at ten a second.
	if b.ReportMetric(float64(len(r.machine.Violations())), "violations"); tick >= time.Second {
		require.Empty(b, r.machine.Violations())
	}
}

// BenchmarkAgentCollection is one collection of eight GPUs, everything that can be measured, and the text of it: what one
// scrape costs an exporter that reads the driver when it is asked. The fake's time is not left out.
func BenchmarkAgentCollection(b *testing.B) {
	c := newCollection(b)
	text := c.take(b, nil)
	series := 0
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if len(line) > 0 && line[0] != '#' {
			series++
		}
	}
	require.Greater(b, series, 1120, "the exporter that this is compared with has so many")
	require.Contains(b, string(text), "gpu_nvlink_link_active", "everything is measured")
	b.ReportAllocs()
	for b.Loop() {
		text = c.take(b, text[:0])
	}
	b.ReportMetric(float64(series), "series")
}
