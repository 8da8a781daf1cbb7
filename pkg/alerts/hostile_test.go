package alerts

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/internal/hostile"
)

// Whatever answers in an Alertmanager's place, it is an error that says what to do, within its time and within bounds of memory.
func TestHostileServers(t *testing.T) {
	for kind, want := range map[hostile.Kind]string{
		hostile.Gigabyte: "larger than 16 MiB", hostile.Endless: "larger than 16 MiB", hostile.Bomb: "larger than 16 MiB", hostile.Unasked: "larger than 16 MiB",
		hostile.Tiny: "what answers is no Alertmanager", hostile.Deep: "what answers is no Alertmanager", hostile.Cut: "what answers is no Alertmanager",
		hostile.WebPage: "what answers is no Alertmanager", hostile.Picture: "what answers is no Alertmanager",
		hostile.SlowHeader: "does not answer in time", hostile.SlowBody: "does not answer in time", hostile.Silent: "does not answer in time",
		hostile.Elsewhere: "redirects (HTTP 302)", hostile.Loopback: "redirects (HTTP 307)", hostile.Metadata: "redirects (HTTP 308)", hostile.Loop: "redirects (HTTP 307)",
		hostile.TooShort: "cannot be reached", hostile.Nonsense: "cannot be reached", hostile.ManyHeaders: "cannot be reached",
	} {
		t.Run(string(kind), func(t *testing.T) {
			s := hostile.Serve(t, kind, "", nil, nil)
			limit := 20 * time.Second // far more than is needed, for machines that are busy
			if kind.IsSlow() {
				limit = 300 * time.Millisecond
			}
			transport := &http.Transport{MaxResponseHeaderBytes: 1 << 20}
			defer transport.CloseIdleConnections()
			var got Answer
			peak := hostile.Peak(func() {
				got = Ask(t.Context(), []Manager{{ID: "m", URL: s.URL, HTTP: &http.Client{Transport: transport}, Timeout: limit}})
			})
			require.Len(t, got.Failed, 1)
			require.ErrorContains(t, got.Failed[0], want)
			assert.NotContains(t, got.Failed[0].Error(), "hostile-page")
			assert.Empty(t, s.Strayed())
			assert.Less(t, peak>>20, uint64(128), "MiB are held")
		})
	}
}

// A great many tiny entries cost no more than their text.
func TestTinyEntriesAreCheap(t *testing.T) {
	body := []byte("[" + strings.Repeat("{},", maxBody/48) + "{}]")
	for what, decode := range map[string]func() error{
		"alerts":   func() error { _, _, err := decodeAlerts(body); return err },
		"silences": func() error { _, _, err := decodeSilences(body); return err },
	} {
		peak := hostile.Peak(func() { require.NoError(t, decode()) })
		assert.Less(t, peak>>20, uint64(32), "MiB are held for "+what)
	}
}
