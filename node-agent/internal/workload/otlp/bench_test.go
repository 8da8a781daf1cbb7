package otlp

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/workload"
)

// BenchmarkPush is one message of one rank, with 25 metrics.
func BenchmarkPush(b *testing.B) {
	a := newAgent(b, Options{}, workload.Limits{})
	var metrics []string
	for i := range 25 {
		metrics = append(metrics, fmt.Sprintf(`{"name":"train_number_%d","gauge":{"dataPoints":[{"asDouble":%d,"attributes":[%s]}]}}`,
			i, i, attribute("rank", "3")+","+attribute("job_id", "42")))
	}
	body := []byte(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[` + strings.Join(metrics, ",") + `]}]}]}`)
	b.ReportAllocs()
	for b.Loop() {
		require.Equal(b, http.StatusOK, a.post(body, "Content-Type", "application/json").Code)
	}
}

// The worst that a request may hold takes memory of the order of the limits, not of what it could unpack to.
func TestARequestsMemoryIsBounded(t *testing.T) {
	a := newAgent(t, Options{}, workload.Limits{})
	inner := bytes.Repeat([]byte{0x0a, 0x00}, 2<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w := a.post(zipped(t, inner), "Content-Type", "application/x-protobuf", "Content-Encoding", "gzip")
	runtime.ReadMemStats(&after)
	assert.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(48<<20))
}
