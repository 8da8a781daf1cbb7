package agentbench

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// However many ask, the driver is not asked more often.
func TestAScrapeMakesNoCallOfNVML(t *testing.T) {
	r := start(t, device.Deep, 100*time.Millisecond, false)
	address := r.listen(t)
	r.stop()
	before := r.machine.Calls()
	require.NotZero(t, before["GetFieldValues"])
	for _, path := range []string{"/metrics", "/api/v1/inventory", "/api/v1/ring", "/api/v1/processes", "/-/ready", "/-/healthy"} {
		for range 20 {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
			require.NoError(t, err)
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
		}
	}
	http.DefaultClient.CloseIdleConnections()
	answer := httptest.NewRecorder()
	r.metrics.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	assert.Contains(t, answer.Body.String(), "gpu_power_watts{")
	assert.Equal(t, before, r.machine.Calls())
	assert.Empty(t, r.machine.Violations())
}
