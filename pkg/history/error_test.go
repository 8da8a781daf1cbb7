package history

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

func TestMain(m *testing.M) {
	code := m.Run()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines are left behind:", err)
		code = 1
	}
	os.Exit(code)
}

// replay serves a recorded response, status line and headers included.
func replay(t *testing.T, name string) http.HandlerFunc {
	t.Helper()
	text := bytes.ReplaceAll(fixture(t, name), []byte("\n"), []byte("\r\n"))
	head, body, _ := bytes.Cut(text, []byte("\r\n\r\n"))
	reader := bufio.NewReader(io.MultiReader(bytes.NewReader(head), strings.NewReader("\r\nConnection: close\r\n\r\n"), bytes.NewReader(body)))
	resp, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return func(w http.ResponseWriter, _ *http.Request) {
		for name := range resp.Header {
			if name != "Content-Length" && name != "Connection" {
				w.Header().Set(name, resp.Header.Get(name))
			}
		}
		w.WriteHeader(resp.StatusCode)
		if _, err := w.Write(body); err != nil {
			t.Error(err)
		}
	}
}

func status(code int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// failure is the error of a PromQL query to a server that answers so.
func failure(t *testing.T, handler http.Handler) *Error {
	t.Helper()
	return failureAt(t, Endpoint{ID: "north-a", URL: promtest.Serve(t, handler), Timeout: 5 * time.Second})
}

func failureAt(t *testing.T, e Endpoint) *Error {
	t.Helper()
	result := promQL(t, openAt(t, e), `{"expr":"up"}`)
	var failed *Error
	if !errors.As(result.Err, &failed) {
		t.Fatalf("no error: %+v", result)
	}
	if strings.Contains(failed.Error(), "<") || !strings.HasPrefix(failed.Error(), "north-a: ") {
		t.Errorf("message %q", failed.Error())
	}
	return failed
}

func wantError(t *testing.T, got *Error, kind Kind, code int, text string) {
	t.Helper()
	if got.Kind != kind || got.Status != code || !strings.Contains(got.Message, text) {
		t.Errorf("got %s %d: %s\nwant %s %d: %s", got.Kind, got.Status, got.Message, kind, code, text)
	}
}

func TestErrorsNameTheRemedy(t *testing.T) {
	for _, tc := range []struct {
		handler http.Handler
		kind    Kind
		status  int
		text    string
	}{
		{replay(t, "html_502.txt"), KindUnavailable, 502, "answered 502 Bad Gateway with a web page instead of JSON, so a proxy answers in the server's place"},
		{replay(t, "exporter_root_200.txt"), KindNotPrometheus, 200, "this is an exporter, not Prometheus; use the URL of the Prometheus server that scrapes it"},
		{replay(t, "login_302.txt"), KindUnauthorized, 302, "redirects to another host, sso.example.net, probably a login page"},
		{replay(t, "throttled_429.txt"), KindThrottled, 429, "the server limits requests (429); try again in 20s; it says: the request has been throttled: tenant team-a exceeded 30 concurrent queries"},
		{replay(t, "unavailable_503.txt"), KindUnavailable, 503, "the server answered 503 Service Unavailable; try again later; it says: query timed out in expression evaluation"},
		{status(422, "application/json", string(fixture(t, "error_422.json"))), KindBadQuery, 422, "many-to-many matching not allowed: matching labels must be unique on one side (aggregate the right-hand side first"},
		{status(400, "application/json", `{"status":"error","errorType":"bad_data","error":"exceeded maximum resolution of 11,000 points per timeseries."}`), KindBadQuery, 400, "(raise the minimum step of the query)"},
		{status(400, "text/plain", "bad"), KindBadQuery, 400, "the server refused the query with 400 Bad Request"},
		{status(401, "text/html", "<html>login</html>"), KindUnauthorized, 401, "the server refused the credentials (401); check the endpoint's user, password or token"},
		{status(403, "application/json", `{"message":"tenant not allowed"}`), KindUnauthorized, 403, "access is denied (403); the endpoint's credentials are not allowed to read here; it says: tenant not allowed"},
		{status(407, "text/plain", ""), KindUnauthorized, 407, "a proxy on the way asks for credentials (407)"},
		{status(404, "text/plain", "404 page not found"), KindNotPrometheus, 404, "there is no Prometheus API at this URL (404); check the endpoint's URL and its path"},
		{status(404, "text/html", "<h1>Not here</h1>"), KindNotPrometheus, 404, "answered 404 Not Found with a web page instead of JSON; check the endpoint's URL"},
		{status(405, "text/plain", ""), KindNotPrometheus, 405, "neither POST nor GET is allowed here (405)"},
		{status(431, "text/plain", ""), KindBadQuery, 431, "the selection is too long for the server or a proxy (431)"},
		{status(413, "text/plain", ""), KindBadQuery, 413, "the selection is too long for the server or a proxy (413)"},
		{status(500, "application/json", `{"status":"error","errorType":"internal","error":"disk\nfull"}`), KindUnavailable, 500, "the server answered 500 Internal Server Error; try again later; it says: disk full"},
		{status(200, "text/html", "<!doctype html><title>Sign in</title>"), KindUnauthorized, 200, "answered with a login page instead of JSON"},
		{status(200, "text/html", "<p>Welcome</p>"), KindNotPrometheus, 200, "answered 200 with a web page instead of JSON"},
		{status(200, "text/plain", "# HELP up x\n"), KindNotPrometheus, 200, "this is an exporter, not Prometheus"},
		{status(200, "application/json", ""), KindNotPrometheus, 200, "answered with nothing"},
		{status(204, "application/json", ""), KindNotPrometheus, 204, "answered with nothing"},
		{status(200, "application/json", `{"hello":"world"}`), KindNotPrometheus, 200, "the answer is JSON, but not what Prometheus sends"},
		{status(200, "application/json", `[1,2]`), KindNotPrometheus, 200, "the answer is not what Prometheus sends (byte 0 is '[' where { is expected)"},
		{status(200, "application/json", `{"status":"error","errorType":"execution","error":"boom"}`), KindBadQuery, 200, "boom"},
		{status(200, "application/json", `{"status":"success","data":{"resultType":"matrix","resu`), KindIncomplete, 200, "the answer is incomplete"},
	} {
		wantError(t, failure(t, tc.handler), tc.kind, tc.status, tc.text)
	}
}

// A gzip stream that stops, and a body shorter than announced, must not pass for a whole answer, and are tried once more.
func TestAnswerThatBreaksOff(t *testing.T) {
	body := rangeBody(20, 50)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(http.ResponseWriter){
		"gzip": func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zipped.Bytes()[:zipped.Len()*6/10])
		},
		"length": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", strconv.Itoa(2*len(body)))
			_, _ = w.Write(body)
		},
		"cut": func(w http.ResponseWriter) { _, _ = w.Write(body[:len(body)/2]) },
	} {
		var asked atomic.Int32
		failed := failure(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			write(w)
		}))
		if failed.Kind != KindIncomplete || asked.Load() != 2 {
			t.Errorf("%s: %s after %d requests: %v", name, failed.Kind, asked.Load(), failed)
		}
	}
	var once atomic.Bool
	h := openAt(t, Endpoint{ID: "p", URL: promtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if once.CompareAndSwap(false, true) {
			_, _ = w.Write(body[:100])
			return
		}
		_, _ = w.Write(body)
	}))})
	if result := promQL(t, h, `{"expr":"up"}`); result.Err != nil || len(result.Series) != 20 {
		t.Errorf("the second try: %v", result.Err)
	}
}

func TestThrottledServerIsLeftAlone(t *testing.T) {
	var asked atomic.Int32
	throttled := replay(t, "throttled_429.txt")
	url := promtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		throttled(w, r)
	}))
	now := time.Now()
	h, err := New([]Endpoint{{ID: "p", URL: url}}, mustCatalog(t), Options{now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		promQL(t, h, `{"expr":"up"}`)
	}
	if asked.Load() != 1 {
		t.Errorf("%d requests within Retry-After", asked.Load())
	}
	now = now.Add(21 * time.Second)
	promQL(t, h, `{"expr":"up"}`)
	if asked.Load() != 2 {
		t.Errorf("%d requests after Retry-After", asked.Load())
	}
}

// One user has asked too much: that must not take the server from everybody else.
func TestOneThrottledTenantIsLeftAlone(t *testing.T) {
	for status, want := range map[int]int{http.StatusTooManyRequests: 2, http.StatusServiceUnavailable: 1} {
		var asked atomic.Int32
		url := promtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Retry-After", "20")
			w.WriteHeader(status)
		}))
		now := time.Unix(1_800_003_600, 0) // so that the range is asked for in one piece
		h, err := New([]Endpoint{{ID: "p", URL: url}}, mustCatalog(t), Options{
			now: func() time.Time { return now }, Tenant: func(ctx context.Context) string { name, _ := ctx.Value(who{}).(string); return name },
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			for _, name := range []string{"ada", "bob"} {
				rangeIn(context.WithValue(context.Background(), who{}, name), t, h, "up", windowOf(now.Add(-time.Hour), now, time.Minute))
			}
		}
		if int(asked.Load()) != want {
			t.Errorf("%d: %d requests, want %d", status, asked.Load(), want)
		}
		for i := range 2 * mostWaits {
			h.endpoints[0].waits.ask(fmt.Sprint(i), http.StatusTooManyRequests, now, time.Minute)
		}
		if n := len(h.endpoints[0].waits.of); n > mostWaits {
			t.Errorf("%d tenants are remembered", n)
		}
	}
}

// What a server said with Retry-After is what those hear who are turned away in its name.
func TestStatusIsKeptWhileAServerIsLeftAlone(t *testing.T) {
	h := openAt(t, Endpoint{ID: "p", URL: promtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))})
	for _, want := range []string{"the server answered 503 Service Unavailable; try again in 30s", "the server asked with its last answer (503) to wait before the next request; try again in "} {
		var failed *Error
		if !errors.As(promQL(t, h, `{"expr":"up"}`).Err, &failed) {
			t.Fatal("no error")
		}
		wantError(t, failed, KindUnavailable, 503, want)
	}
}

func TestServerThatForbidsPOST(t *testing.T) {
	s := &promtest.Store{}
	s.Constant(map[string]string{"__name__": "up"}, 1)
	var posts atomic.Int32
	h := openAt(t, Endpoint{ID: "p", URL: promtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			posts.Add(1)
			http.Error(w, "no", http.StatusMethodNotAllowed)
			return
		}
		if len(r.URL.RawQuery) > 8<<10 {
			http.Error(w, "too long", http.StatusRequestURITooLong)
			return
		}
		s.ServeHTTP(w, r)
	}))})
	for range 3 {
		if result := promQL(t, h, `{"expr":"up"}`); result.Err != nil || len(result.Series) != 1 {
			t.Errorf("%+v", result)
		}
	}
	if posts.Load() != 1 {
		t.Errorf("%d POSTs", posts.Load())
	}
	long := promQL(t, h, `{"expr":"up{job=\"`+strings.Repeat("x", 9000)+`\"}"}`)
	if long.Err == nil || !strings.Contains(long.Err.Error(), "the selection is too long for the server or a proxy (414)") {
		t.Errorf("got %v", long.Err)
	}
}

func TestCredentialsStayOnTheirServer(t *testing.T) {
	var elsewhere atomic.Int32
	other := promtest.Serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	url := promtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	followed := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
	failed := failureAt(t, Endpoint{ID: "north-a", URL: strings.Replace(url, "http://", "http://ada:s3cret@", 1), HTTP: followed})
	wantError(t, failed, KindUnauthorized, 307, "redirects to another host")
	if elsewhere.Load() > 0 || strings.Contains(failed.Error(), "s3cret") {
		t.Errorf("followed %d times; %v", elsewhere.Load(), failed)
	}
	same := failure(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/prometheus"+r.URL.Path+"?token=s3cret")
		w.WriteHeader(http.StatusMovedPermanently)
	}))
	if same.Kind != KindNotPrometheus || !strings.Contains(same.Message, "/prometheus/api/v1/query_range; use that address as the endpoint's URL, up to /api/v1") ||
		strings.Contains(same.Message, "s3cret") {
		t.Errorf("%v", same)
	}
}

func TestServersThatCannotBeReached(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	refused := failureAt(t, Endpoint{ID: "north-a", URL: "http://ada:s3cret@" + address})
	wantError(t, refused, KindUnreachable, 0, "nothing listens at "+address+" (connection refused)")
	secure := httptest.NewTLSServer(&promtest.Store{})
	secure.Config.ErrorLog = nil
	t.Cleanup(secure.Close)
	wantError(t, failureAt(t, Endpoint{ID: "north-a", URL: secure.URL}), KindUnreachable, 0, "is signed by an unknown authority; give its CA certificate")
	plain := promtest.Serve(t, &promtest.Store{})
	wantError(t, failureAt(t, Endpoint{ID: "north-a", URL: strings.Replace(plain, "http:", "https:", 1)}), KindUnreachable, 0, "does not speak TLS; use http:// in the endpoint's URL")
	nowhere := failureAt(t, Endpoint{ID: "north-a", URL: "http://prometheus.invalid:9090", HTTP: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "prometheus.invalid", IsNotFound: true}}
	})}})
	wantError(t, nowhere, KindUnreachable, 0, "the host prometheus.invalid is not known")
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// hanging answers when the request is given up, and tells that it was.
func hanging(t *testing.T) (url string, gaveUp <-chan struct{}) {
	t.Helper()
	done := make(chan struct{}, 16)
	return promtest.Serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server watch the connection
		<-r.Context().Done()
		done <- struct{}{}
	})), done
}

func TestSlowServer(t *testing.T) {
	url, gaveUp := hanging(t)
	failed := failureAt(t, Endpoint{ID: "north-a", URL: url, Timeout: 50 * time.Millisecond})
	wantError(t, failed, KindTimeout, 0, "no answer within 50ms; narrow the time range or the scope, or raise the endpoint's timeout")
	<-gaveUp
}

func TestCancelledQueryEndsUpstream(t *testing.T) {
	url, gaveUp := hanging(t)
	h := openAt(t, Endpoint{ID: "north-a", URL: url})
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	q, err := query.Parse([]byte(`{"expr":"up"}`), query.TypePromQL)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	result := h.PromQL(ctx, q, window(60, time.Minute))
	var failed *Error
	if !errors.As(result.Err, &failed) || failed.Kind != KindCanceled || time.Since(start) > time.Second {
		t.Errorf("%v after %s", result.Err, time.Since(start))
	}
	select {
	case <-gaveUp:
	case <-time.After(time.Second):
		t.Error("the request goes on upstream")
	}
}

func TestLargeAnswerIsRefused(t *testing.T) {
	h, err := New([]Endpoint{{ID: "north-a", URL: oneAnswer(t, 200, rangeBody(100, 100))}}, mustCatalog(t), Options{MaxAnswerBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	result := promQL(t, h, `{"expr":"up"}`)
	if result.Err == nil || !strings.Contains(result.Err.Error(), "the answer is larger than") {
		t.Errorf("got %v", result.Err)
	}
}

func TestPartIsAnAnswer(t *testing.T) {
	good := exposition(t, "exporter_4_8.prom")
	h := openAt(t, Endpoint{ID: "good", Cluster: "north", URL: promtest.Serve(t, good)},
		Endpoint{ID: "bad", Cluster: "north", URL: promtest.Serve(t, replay(t, "html_502.txt"))})
	result := ask(t, h, "gpu_power_watts", "")
	if len(result.Series) != 2 {
		t.Errorf("got %+v", result.Series)
	}
	wantNotice(t, result.Notices, "Part of the history is missing: bad: answered 502 Bad Gateway with a web page")
	if promql := promQL(t, h, `{"expr":"DCGM_FI_DEV_POWER_USAGE"}`); promql.Err != nil || len(promql.Series) != 2 || len(promql.Notices) != 1 {
		t.Errorf("%+v", promql)
	}
	devices, notices := h.Devices(context.Background())
	if len(devices) != 2 || len(notices) != 1 {
		t.Errorf("%v %v", devices, notices)
	}
}

func TestAllFailingNamesAll(t *testing.T) {
	h := openAt(t, Endpoint{ID: "a", URL: promtest.Serve(t, status(401, "", ""))}, Endpoint{ID: "b", URL: promtest.Serve(t, status(503, "", ""))})
	q, err := query.Parse([]byte(`{"metric":"gpu_power_watts"}`), "")
	if err != nil {
		t.Fatal(err)
	}
	m, err := q.MetricIn(mustCatalog(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []error{h.Metric(context.Background(), q, m, window(60, time.Minute)).Err, promQL(t, h, `{"expr":"up"}`).Err} {
		var one *Error
		if got == nil || !errors.As(got, &one) || !strings.HasPrefix(got.Error(), "none of 2 servers answered: a: the server refused the credentials (401)") ||
			!strings.Contains(got.Error(), "; b: the server answered 503") {
			t.Errorf("got %v", got)
		}
	}
	devices, notices := h.Devices(context.Background())
	if len(devices) > 0 || len(notices) != 1 {
		t.Errorf("%v %v", devices, notices)
	}
	if agents, notices := h.Agents(context.Background()); len(agents) > 0 || len(notices) != 1 {
		t.Errorf("%v %v", agents, notices)
	}
}
