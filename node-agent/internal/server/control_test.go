package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// withToken is access for whoever sends "s3cret".
func withToken(t *testing.T) *Access {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(path, []byte("s3cret"), 0o600))
	a, err := NewAccess(AccessOptions{TokenFile: path})
	require.NoError(t, err)
	return a
}

func (b *bench) do(method, path string, header http.Header) (int, string) {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, "http://agent:9847"+path, nil)
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	b.server.ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestControl(t *testing.T) {
	var asked, pending []string
	control := Control{
		Reload: func(context.Context) ([]string, error) { asked = append(asked, "reload"); return pending, nil },
		Release: func(_ context.Context, d time.Duration) error {
			asked = append(asked, "release "+d.String())
			return nil
		},
		Resume: func(context.Context) error { return errors.New("the driver is gone") },
	}
	b := newBench(t, func(o *Options) { o.Access, o.Control = withToken(t), control })
	token := http.Header{"Authorization": {"Bearer s3cret"}}
	with := func(name, value string) http.Header {
		h := token.Clone()
		h.Set(name, value)
		return h
	}
	for _, c := range []struct {
		method, path string
		header       http.Header
		status       int
		body         string
	}{
		{"POST", "/-/reload", token, 200, "ok"},
		{"POST", "/-/release", token, 200, "ok"},
		{"POST", "/-/release?for=90s", token, 200, "ok"},
		{"POST", "/-/release?for=tomorrow", token, 400, `for="tomorrow": must be like 90s or 2m, up to 1h0m0s`},
		{"POST", "/-/release?for=-1s", token, 400, "must be like"},
		{"POST", "/-/release?for=25h", token, 400, "must be like"},
		{"POST", "/-/resume", token, 500, "take the GPUs back: the driver is gone"},
		{"GET", "/-/reload", token, 405, "Method Not Allowed"},
		{"POST", "/-/reload", nil, 401, "wants credentials"},
		{"POST", "/-/reload", with("Origin", "https://evil.example"), 403, "another site's page"},
		{"POST", "/-/reload", with("Sec-Fetch-Site", "cross-site"), 403, "another site's page"},
		{"POST", "/-/reload", with("Origin", "http://agent:9847"), 200, "ok"},
	} {
		status, body := b.do(c.method, c.path, c.header)
		assert.Equal(t, c.status, status, "%s %s %v", c.method, c.path, c.header)
		assert.Contains(t, body, c.body, c.path)
	}
	assert.Equal(t, []string{"reload", "release 2m0s", "release 1m30s", "reload"}, asked)

	pending = []string{"ring", "events"}
	status, body := b.do("POST", "/-/reload", token)
	assert.Equal(t, 200, status)
	assert.Equal(t, "ok, but these take effect only when the agent is started again: ring, events", body)

	bare := newBench(t, func(o *Options) { o.Access = withToken(t) })
	status, body = bare.do("POST", "/-/release", token)
	assert.Equal(t, 404, status)
	assert.Equal(t, "this agent cannot let go of the GPUs", body)

	open := newBench(t, func(o *Options) { o.Control = control })
	for _, path := range []string{"/-/reload", "/-/release", "/-/resume"} {
		status, body := open.do("POST", path, nil)
		assert.Equal(t, 403, status)
		assert.Contains(t, body, "set basic_auth_users or client certificates in --web.config.file, or --web.bearer-token-file")
	}
}

func TestReceiving(t *testing.T) {
	receive := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	status, body := newBench(t, nil).do("POST", "/v1/metrics", nil)
	assert.Equal(t, 404, status)
	assert.Equal(t, "this agent takes no metrics over OTLP", body)

	open := newBench(t, func(o *Options) { o.Receive = receive })
	status, body = open.do("POST", "/v1/metrics", nil) // httptest's requests come from 192.0.2.1
	assert.Equal(t, 403, status)
	assert.Contains(t, body, "takes metrics from this node alone")
	response, err := open.http.Client().Post(open.http.URL+"/v1/metrics", "application/x-protobuf", nil)
	require.NoError(t, err)
	response.Body.Close()
	assert.Equal(t, http.StatusAccepted, response.StatusCode)
	status, _ = open.do("POST", "/v1/metrics", http.Header{"Origin": {"https://evil.example"}})
	assert.Equal(t, 403, status)

	closed := newBench(t, func(o *Options) { o.Receive, o.Access = receive, withToken(t) })
	status, _ = closed.do("POST", "/v1/metrics", nil)
	assert.Equal(t, 401, status)
	status, _ = closed.do("POST", "/v1/metrics", http.Header{"Authorization": {"Bearer s3cret"}})
	assert.Equal(t, http.StatusAccepted, status)
}

func TestRateLimit(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Limiter = rate.NewLimiter(rate.Every(time.Hour), 2) })
	for range 2 {
		status, _ := b.get("/metrics", nil)
		assert.Equal(t, 200, status)
	}
	status, body := b.get("/metrics", nil)
	assert.Equal(t, 429, status)
	assert.Contains(t, body, "rate_limit")
	status, _ = b.get("/-/healthy", nil)
	assert.Equal(t, 200, status, "liveness is never limited")
}

func TestRequestsAtOnce(t *testing.T) {
	arrived, leave := make(chan struct{}), make(chan struct{})
	b := newBench(t, func(o *Options) {
		o.MaxRequests = 1
		o.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			close(arrived)
			<-leave
		})
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil))
	}()
	<-arrived
	for _, path := range []string{"/metrics", "/api/v1/inventory"} {
		w := httptest.NewRecorder()
		b.server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		assert.Equal(t, 503, w.Code)
		assert.Equal(t, "1", w.Header().Get("Retry-After"))
		assert.Contains(t, w.Body.String(), "answers 1 such requests at once")
	}
	status, _ := b.get("/-/healthy", nil)
	assert.Equal(t, 200, status)
	close(leave)
	<-done
	status, _ = b.get("/api/v1/inventory", nil)
	assert.Equal(t, 200, status)
}

// An answer of megabytes is in memory until it is read: readers that do not read take the place of one another, and of
// nobody else.
func TestLargeAnswersAtOnce(t *testing.T) {
	arrived, leave := make(chan struct{}), make(chan struct{})
	b := newBench(t, func(o *Options) {
		o.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			arrived <- struct{}{}
			<-leave
		})
	})
	var reading sync.WaitGroup
	for range largeRequests {
		reading.Go(func() {
			b.server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil))
		})
		<-arrived
	}
	for path, want := range map[string]int{"/metrics": 503, "/api/v1/ring?metric=gpu_power_watts": 503, "/api/v1/inventory": 200} {
		status, _ := b.get(path, nil)
		assert.Equal(t, want, status, path)
	}
	close(leave)
	reading.Wait()
	status, _ := b.get("/api/v1/ring?metric=gpu_power_watts", nil)
	assert.Equal(t, 200, status)
}

// Guesses wait for their turn, but not any number of them.
func TestGuessesAreBounded(t *testing.T) {
	a, err := NewAccess(AccessOptions{Users: map[string]string{"ali": unknownUser}})
	require.NoError(t, err)
	a.waiting.Store(maxWaiting)
	b := newBench(t, func(o *Options) { o.Access = a })
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.SetBasicAuth("ali", "guess")
	w := httptest.NewRecorder()
	b.server.ServeHTTP(w, r)
	assert.Equal(t, 429, w.Code)
	assert.EqualValues(t, maxWaiting, a.waiting.Load())
}
