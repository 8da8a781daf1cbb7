package plugin

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
)

// More that servers, proxies and what stands in their place answer with: the message says what it is and what to do, with the
// status that it has, in panels of both kinds.
func TestCaseAnswersOfEveryKind(t *testing.T) {
	whole := fmt.Sprintf(oneSeries, recordedAt.Unix())
	broken := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			connection, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(connection, text)
			if tcp, ok := connection.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // the other side is reset
			}
			_ = connection.Close()
		}
	}
	redirect := func(code int, to string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(code)
		}
	}
	const page = "<html><body>Sorry</body></html>"
	for name, test := range map[string]struct {
		answer  http.HandlerFunc
		status  backend.Status
		message string
	}{
		"404":                              {status(404, "text/plain", "404 page not found"), 502, "there is no Prometheus API at this URL (404)"},
		"413":                              {status(413, "text/html", page), 400, "the selection is too long for the server or a proxy (413)"},
		"500":                              {status(500, "application/json", `{"status":"error","errorType":"internal","error":"boom"}`), 500, "500 Internal Server Error; try again later; it says: boom"},
		"502 without a word":               {status(502, "", ""), 502, "the server answered 502 Bad Gateway"},
		"503 of a proxy":                   {status(503, "text/html", page), 503, "answered 503 Service Unavailable with a web page"},
		"504 of a proxy":                   {status(504, "text/html", page), 504, "answered 504 Gateway Timeout with a web page"},
		"504 of a mesh":                    {status(504, "text/plain", "upstream request timeout"), 504, "the server answered 504 Gateway Timeout"},
		"520":                              {status(520, "text/html", page), 520, "answered 520 with a web page instead of JSON"},
		"503 cut off":                      {broken("HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<html>"), 503, "answered 503 Service Unavailable with a web page"},
		"login on the same host":           {redirect(302, "/login?next=/graph"), 401, "redirects (302) to a login page, /login; "},
		"oauth2 proxy":                     {redirect(302, "/oauth2/start?rd=x"), 401, "redirects (302) to a login page, /oauth2/start; "},
		"another path":                     {redirect(307, "/prometheus/api/v1/query"), 502, "/prometheus/api/v1/query; use that address"},
		"https":                            {redirect(301, "https://127.0.0.1/x?token=secret"), 502, "redirects (301) to https://127.0.0.1; begin the endpoint's URL like that"},
		"an error without a text":          {status(200, "application/json", `{"status":"error"}`), 400, "the server refused the query and does not say why"},
		"success without data":             {status(200, "application/json", `{"status":"success","data":{}}`), 502, "the answer is JSON, but not what Prometheus sends"},
		"Loki":                             {status(200, "application/json", `{"status":"success","data":{"resultType":"streams","result":[{"stream":{"a":"b"},"values":[["1700000000000000000","x"]]}]}}`), 502, "this is Loki, not Prometheus"},
		"Graphite":                         {status(200, "application/json", `[{"target":"a","datapoints":[[1,2]]}]`), 502, "the answer is not what Prometheus sends"},
		"OpenMetrics":                      {status(200, "application/openmetrics-text; version=1.0.0", "up 1\n# EOF\n"), 502, "this is an exporter, not Prometheus"},
		"metrics without help":             {status(200, "text/plain; version=0.0.4", "DCGM_FI_DEV_GPU_UTIL 3\n"), 502, "this is an exporter, not Prometheus"},
		"reset":                            {broken(""), 502, "ended the connection without an answer"},
		"reset in the middle":              {broken("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"status\":"), 502, "the answer is incomplete"},
		"not HTTP":                         {broken("SSH-2.0-OpenSSH_9.0\r\n"), 502, "does not speak HTTP; check the host and the port"},
		"two answers":                      {status(200, "application/json", whole+whole), 502, "the answer is not what Prometheus sends"},
		"a packed answer that says not so": {status(200, "application/json", "\x1f\x8b\x08\x00\x00\x00"), 502, "the answer is not what Prometheus sends"},
	} {
		t.Run(name, func(t *testing.T) {
			d := openScripted(t, &scripted{instead: func(w http.ResponseWriter, r *http.Request) bool {
				test.answer(w, r)
				return true
			}}, nil)
			for _, q := range []string{`{"queryType":"promql","expr":"up"}`, metricQuery()} {
				if name == "success without data" && q == metricQuery() {
					continue // of a list that is none
				}
				answer := responseTo(t.Context(), t, d, q)
				if answer.Error == nil {
					t.Fatalf("%s: no error", q)
				}
				text := answer.Error.Error()
				if !strings.HasPrefix(text, "a: ") || !strings.Contains(text, test.message) && !strings.Contains(q, "metric") {
					t.Errorf("%s: %q, want %q", q, text, test.message)
				}
				if strings.ContainsAny(text, "<>") || strings.Contains(text, "json:") || strings.Contains(text, "struct") || strings.Contains(text, "secret") || strings.Contains(text, "  ") {
					t.Errorf("%s: %q", q, text)
				}
				if answer.Status != test.status || answer.ErrorSource != backend.ErrorSourceDownstream {
					t.Errorf("%s: %d from %s, want %d: %s", q, answer.Status, answer.ErrorSource, test.status, text)
				}
			}
		})
	}
}
