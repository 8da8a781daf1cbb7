package plugin

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

const (
	emptyVector = `{"status":"success","data":{"resultType":"vector","result":[]}}`
	oneSeries   = `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"up","job":"run \"final\""},"values":[[%d,"1"]]}]}}`
)

// goodPrometheus answers every query.
func goodPrometheus(t *testing.T) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.Contains(r.URL.Path, "/label"):
			_, _ = io.WriteString(w, `{"status":"success","data":[]}`)
		case strings.HasSuffix(r.URL.Path, "/query_range"):
			_, _ = fmt.Fprintf(w, oneSeries, time.Now().Unix())
		default:
			_, _ = io.WriteString(w, emptyVector)
		}
	})
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// recorded answers everything with a response that was written down as it came over the wire.
func recorded(file string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		raw, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			panic(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), r)
		if err != nil {
			panic(err)
		}
		defer func() { _ = response.Body.Close() }()
		body, _ := io.ReadAll(response.Body)
		for name, values := range response.Header {
			if name != "Content-Length" {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(response.StatusCode)
		_, _ = w.Write(body)
	}
}

func status(code int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// Whatever a Prometheus does, its queries get a message that names it and says what to do, with the status that the
// trouble has, and the queries to other servers in the same request are answered.
func TestBadPrometheus(t *testing.T) {
	body422, err := os.ReadFile("testdata/error_422.json")
	if err != nil {
		t.Fatal(err)
	}
	half := fmt.Sprintf(oneSeries, time.Now().Unix())[:60]
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		status  backend.Status
		message []string // all of them
	}{
		"401":           {status(401, "text/plain", "Unauthorized"), 401, []string{"401"}},
		"403":           {status(403, "application/json", `{"status":"error","errorType":"forbidden","error":"tenant team-a may not"}`), 403, []string{"403"}},
		"422":           {status(422, "application/json", string(body422)), 400, []string{"many-to-many matching not allowed"}},
		"429":           {recorded("throttled_429.txt"), 429, []string{"try again in 20s"}},
		"503":           {recorded("unavailable_503.txt"), 0, []string{"query timed out in expression evaluation"}},
		"HTML 502":      {recorded("html_502.txt"), 502, []string{"502"}},
		"exporter":      {recorded("exporter_root_200.txt"), 502, []string{"exporter"}},
		"login":         {recorded("login_302.txt"), 401, []string{"sso.example.net", "login page"}},
		"half a body":   {cutOff(half), 502, []string{"incomplete"}},
		"empty body":    {status(200, "application/json", ""), 502, nil},
		"not an answer": {status(200, "application/json", `{"status":"success","data":[1,2`), 502, nil},
		"other JSON":    {status(200, "application/json", `{"hello":"world"}`), 502, nil},
	} {
		t.Run(name, func(t *testing.T) {
			checkBadPrometheus(t, serve(t, test.handler), test.status, test.message)
		})
	}
	t.Run("nothing listens", func(t *testing.T) {
		server := httptest.NewServer(http.NotFoundHandler())
		server.Close()
		checkBadPrometheus(t, server.URL, 502, []string{"connection refused"})
	})
	t.Run("silence", func(t *testing.T) {
		release := make(chan struct{})
		url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-release:
			}
		})
		t.Cleanup(func() { close(release) })
		checkBadPrometheus(t, url, 504, []string{"no answer within 1s"})
	})
}

// cutOff announces more than it sends, and breaks off.
func cutOff(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", fmt.Sprint(2*len(body)))
		_, _ = io.WriteString(w, body)
	}
}

func checkBadPrometheus(t *testing.T, bad string, status backend.Status, message []string) {
	t.Helper()
	f := &fleet{Datasource: openDatasource(t, backend.DataSourceInstanceSettings{JSONData: mustJSON(t, map[string]any{
		"agents": map[string]any{"discovery": "off"},
		"clusters": []any{
			map[string]any{"name": "north", "endpoints": []any{map[string]any{"id": "north-a", "url": bad, "timeout": "1s"}}},
			map[string]any{"name": "south", "endpoints": []any{map[string]any{"id": "south-a", "url": goodPrometheus(t)}}},
		},
	})})}
	answers := f.ask(t, 5*time.Minute, nil, map[string]string{
		"promql": `{"queryType":"promql","expr":"up","clusters":["north"]}`,
		"metric": metricQuery(`"clusters":["north"]`),
		"south":  `{"queryType":"promql","expr":"up{job=\"run \\\"final\\\"\"}","clusters":["south"]}`,
		"both":   `{"queryType":"promql","expr":"up"}`,
		"typo":   `{"queryType":"nothing"}`,
	})
	for _, ref := range []string{"promql", "metric"} {
		answer := answers[ref]
		if answer.Error == nil {
			t.Errorf("%s: no error", ref)
			continue
		}
		text := answer.Error.Error()
		for _, part := range append([]string{"north-a: "}, message...) {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q does not say %q", ref, text, part)
			}
		}
		if strings.ContainsAny(text, "<>") {
			t.Errorf("%s: %q holds markup", ref, text)
		}
		if answer.ErrorSource != backend.ErrorSourceDownstream || status != 0 && answer.Status != status {
			t.Errorf("%s: status %d from %s, want %d: %s", ref, answer.Status, answer.ErrorSource, status, text)
		}
		if answer.Status < 400 {
			t.Errorf("%s: status %d", ref, answer.Status)
		}
	}
	if south := answers["south"]; south.Error != nil || len(south.Frames) != 1 || south.Frames[0].Fields[1].Labels["job"] != `run "final"` {
		t.Errorf("the other server's query: %v", south.Error)
	}
	if both := answers["both"]; both.Error != nil || !strings.Contains(noticeTexts(both.Frames), "north-a: ") {
		t.Errorf("both servers' query: %v, notices %q", both.Error, noticeTexts(both.Frames))
	}
	if answers["typo"].Status != backend.StatusBadRequest {
		t.Errorf("the misspelt query: %d", answers["typo"].Status)
	}
}

// Whatever an agent does, the answer says which one and what to do, and history is there.
func TestBadAgent(t *testing.T) {
	for name, test := range map[string]struct {
		answer  agenttest.Answer
		version uint32
		message string
	}{
		"garbage":           {answer: agenttest.Garbage, message: "check that the address is a warpwatch-agent's"},
		"web page":          {answer: agenttest.HTML, message: "check that the address is a warpwatch-agent's"},
		"text":              {answer: agenttest.Text, message: "check that the address is a warpwatch-agent's"},
		"another exporter":  {answer: agenttest.NotFound, message: "check that the address is a warpwatch-agent's"},
		"wrong credentials": {answer: agenttest.Unauthorized, message: "set user and password or token of the agents"},
		"no schema":         {answer: agenttest.Headless, message: "check that the address"},
		"wrong schema":      {answer: agenttest.Inconsistent, message: "check that the address"},
		"newer schema":      {version: 99, message: "upgrade the plugin"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFleet(t, agenttest.Options{Node: "n1"}, agenttest.Options{Node: "n2"})
				f.agents[0].Answer(test.answer)
				if test.version != 0 {
					f.agents[0].SchemaVersion(test.version)
				}
				time.Sleep(3 * time.Second)
				got := f.ask(t, 5*time.Minute, nil, map[string]string{"A": metricQuery(), "B": `{"queryType":"promql","expr":"up"}`})
				if got["A"].Error != nil || got["B"].Error != nil {
					t.Fatal(got["A"].Error, got["B"].Error)
				}
				text := noticeTexts(got["A"].Frames)
				if !strings.Contains(text, "n1 (n1:9847)") || !strings.Contains(text, test.message) {
					t.Errorf("notices %q, want %q", text, test.message)
				}
				// n2 is live, n1 on history.
				if len(got["A"].Frames) != 2 || len(got["A"].Frames[0].Fields) != 3 || len(got["A"].Frames[1].Fields) != 3 {
					t.Errorf("%d frames", len(got["A"].Frames))
				}
			})
		})
	}
}
