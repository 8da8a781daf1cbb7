package history

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/internal/hostile"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// openHostile is a history of a server that misbehaves. Answers of more than 4 MiB are refused.
func openHostile(t *testing.T, s *hostile.Server, kind hostile.Kind) *History {
	t.Helper()
	limit := 20 * time.Second // far more than is needed, for machines that are busy
	if kind.IsSlow() {
		limit = 200 * time.Millisecond
	}
	h, err := New([]Endpoint{{
		ID: "north-a", Cluster: "north", URL: s.URL, Timeout: limit, HTTP: &http.Client{Transport: &http.Transport{MaxResponseHeaderBytes: 1 << 20}},
		Compression: map[bool]Compression{true: CompressOn, false: CompressOff}[kind == hostile.Bomb],
	}}, mustCatalog(t), Options{MaxAnswerBytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Close()
		h.endpoints[0].http.CloseIdleConnections()
	})
	return h
}

// Whatever a server does, a query ends with an error that says what is wrong, and costs no more memory than the limit allows.
func TestHostileServers(t *testing.T) {
	for kind, want := range map[hostile.Kind]string{
		hostile.Gigabyte: "the answer is larger than 4 MiB", hostile.Endless: "the answer is larger than 4 MiB",
		hostile.Bomb: "the answer is larger than 4 MiB", hostile.Unasked: "the answer is larger than 4 MiB", hostile.Tiny: "the answer is not what Prometheus sends (more series than its labels can tell apart)",
		hostile.SlowHeader: "no answer within 200ms", hostile.SlowBody: "no answer within 200ms", hostile.Silent: "no answer within 200ms",
		hostile.Elsewhere: "redirects to another host, 127.0.0.1:", hostile.Loopback: "redirects to another host, localhost:",
		hostile.Metadata: "redirects to another host, 169.254.169.254", hostile.Loop: "redirects (307) to http://127.0.0.1:",
		hostile.WebPage: "answered 200 with a web page instead of JSON", hostile.Picture: "the answer is not what Prometheus sends",
		hostile.Cut: "the answer is incomplete", hostile.TooShort: "the answer is incomplete", hostile.Deep: "the answer is not what Prometheus sends",
		hostile.Nonsense: "no connection to 127.0.0.1:", hostile.ManyHeaders: "no connection to 127.0.0.1:",
	} {
		t.Run(string(kind), func(t *testing.T) {
			s := hostile.Serve(t, kind, `{"status":"success","data":{"resultType":"vector","result":`, nil, nil)
			h := openHostile(t, s, kind)
			var err error
			took := hostile.Allocated(func() { err = promQL(t, h, `{"expr":"up","instant":true}`).Err })
			var failed *Error
			if !errors.As(err, &failed) || !strings.HasPrefix(failed.Message, want) || strings.Contains(err.Error(), "hostile-page") {
				t.Errorf("got %v, want %s", err, want)
			}
			if took > 128<<20 {
				t.Errorf("%d MiB were allocated", took>>20)
			}
			if strayed := s.Strayed(); len(strayed) > 0 {
				t.Errorf("a redirect was followed to %v", strayed)
			}
		})
	}
	if got := len(hostile.Kinds()); got != 19 {
		t.Errorf("%d ways to misbehave, of which 19 are tried here", got)
	}
}

// What is asked beside queries is bounded, too: names of series, what they mean, which there were, rules, exemplars, versions.
func TestHostileServersAreAskedAnything(t *testing.T) {
	ctx := t.Context()
	w := window(600, time.Minute)
	asked := map[string]func(*History) (notices []gpu.Notice, err error){
		"names":   func(h *History) ([]gpu.Notice, error) { _, err := h.words(ctx, h.endpoints[0]); return nil, err },
		"meaning": func(h *History) ([]gpu.Notice, error) { _, err := h.metadata(ctx, h.endpoints[0]); return nil, err },
		"meaning at targets": func(h *History) ([]gpu.Notice, error) {
			_, err := h.targetMetadata(ctx, h.endpoints[0], "up")
			return nil, err
		},
		"series": func(h *History) ([]gpu.Notice, error) {
			_, notices, err := h.Members(ctx, query.Scope{}, w.From, w.To)
			return notices, err
		},
		"alerts": func(h *History) ([]gpu.Notice, error) {
			got := h.Alerts(ctx, query.Scope{}, w)
			return got.Notices, got.Err
		},
		"exemplars": func(h *History) ([]gpu.Notice, error) {
			_, notices := h.Exemplars(ctx, query.Query{Expr: "up"}, w)
			return notices, nil
		},
		"health": func(h *History) ([]gpu.Notice, error) { return nil, h.Check(ctx)[0].Err },
	}
	for _, kind := range []hostile.Kind{
		hostile.Gigabyte, hostile.Bomb, hostile.Unasked, hostile.SlowBody, hostile.Elsewhere, hostile.WebPage, hostile.Deep, hostile.Tiny,
	} {
		s := hostile.Serve(t, kind, `{"status":"success","data":`, nil, nil)
		for what, ask := range asked {
			h := openHostile(t, s, kind)
			var notices []gpu.Notice
			var err error
			took := hostile.Allocated(func() { notices, err = ask(h) })
			told := fmt.Sprint(notices, err)
			// Lists that are too long are done without, as those of servers that have none are.
			without := kind.IsLarge() && (what == "names" || strings.HasPrefix(what, "meaning"))
			if len(notices) == 0 && err == nil && !without || strings.Contains(told, "hostile-page") || errors.Is(err, context.Canceled) {
				t.Errorf("%s, of %s: told %s", what, kind, told)
			}
			if took > 128<<20 {
				t.Errorf("%s, of %s: %d MiB were allocated", what, kind, took>>20)
			}
		}
		if strayed := s.Strayed(); len(strayed) > 0 {
			t.Errorf("%s was followed to %v", kind, strayed)
		}
	}
}
