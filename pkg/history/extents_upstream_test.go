package history

import (
	"bytes"
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// upstream is a server without a network. It answers from a store that can be replaced, counts what it sends for range
// queries, and can be in a bad mood.
type upstream struct {
	http.Handler
	mu       sync.Mutex
	mood     string // "", or what is put beside "success"; "down" for errors
	requests int    // of ranges
	samples  int
	spans    [][2]string
	gate     chan struct{} // when not nil range queries wait for it to close
	entered  atomic.Int32
}

const (
	warns    = `"warnings":["a store did not answer"]`
	hints    = `"infos":["metric might not be a counter"]`
	partly   = `"isPartial":true`
	downMood = "down"
)

func (u *upstream) RoundTrip(req *http.Request) (*http.Response, error) {
	over := req.URL.Path == rangePath
	if over {
		u.entered.Add(1)
		if u.gate != nil {
			select {
			case <-u.gate:
			case <-req.Context().Done():
				return nil, req.Context().Err()
			}
		}
	}
	if err := req.ParseForm(); err != nil {
		return nil, err
	}
	recorder := httptest.NewRecorder()
	u.ServeHTTP(recorder, req)
	body := recorder.Body.Bytes()
	u.mu.Lock()
	defer u.mu.Unlock()
	if !over {
		return recorder.Result(), nil
	}
	if u.mood == downMood {
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Header: http.Header{}, Request: req}, nil
	}
	a, err := decode(windowOn(body), nil)
	if err != nil {
		return nil, err
	}
	u.requests++
	u.samples += a.samples()
	u.spans = append(u.spans, [2]string{req.Form.Get("start"), req.Form.Get("end")})
	if u.mood != "" {
		changed := bytes.Replace(body, []byte(`"status":"success"`), []byte(`"status":"success",`+u.mood), 1)
		recorder.Body = bytes.NewBuffer(changed)
	}
	response := recorder.Result()
	response.ContentLength = -1
	return response, nil
}

func (u *upstream) set(mood string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mood = mood
}

// reset returns and forgets what was counted.
func (u *upstream) reset() (requests, samples int, spans [][2]string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	requests, samples, spans = u.requests, u.samples, u.spans
	u.requests, u.samples, u.spans = 0, 0, nil
	return requests, samples, spans
}

// cachedAt is a history of one server at a time that the test sets.
func cachedAt(t testing.TB, u http.RoundTripper, now *time.Time, o Options) *History {
	t.Helper()
	o.now = func() time.Time { return *now }
	h, err := New([]Endpoint{{ID: "p0", Cluster: "north", URL: "http://prometheus", HTTP: &http.Client{Transport: u}}}, mustCatalog(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func windowOf(from, to time.Time, step time.Duration) query.Window {
	return query.NewWindow(query.WindowOptions{From: from, To: to, MaxDataPoints: 11000, MinStep: step})
}

func rangeOf(t testing.TB, h *History, expr string, w query.Window) Result {
	t.Helper()
	return rangeIn(context.Background(), t, h, expr, w)
}

func rangeIn(ctx context.Context, t testing.TB, h *History, expr string, w query.Window) Result {
	t.Helper()
	return h.PromQL(ctx, query.Query{Expr: expr}, w)
}

// same compares answers as the frames that users get, byte for byte, with their notices.
func same(t testing.TB, got, want Result) bool {
	t.Helper()
	if (got.Err == nil) != (want.Err == nil) || got.Err != nil && got.Err.Error() != want.Err.Error() {
		return false
	}
	return bytes.Equal(arrow(t, got), arrow(t, want))
}

func arrow(t testing.TB, r Result) []byte {
	t.Helper()
	series := slices.Clone(r.Series)
	frames.Sort(series)
	all := frames.Multi(series, frames.Options{Step: r.Step, Executed: r.Executed, Notices: r.Notices})
	var out []byte
	for _, frame := range all {
		body, err := frame.MarshalArrow()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, body...)
	}
	return out
}

// arriving is a point and when the server has it.
type arriving struct {
	promtest.Point
	at int64 // Unix milliseconds
}

// arrivals are series whose points arrive some time.
type arrivals []struct {
	labels map[string]string
	points []arriving
}

// until is the server's store at a time.
func (a arrivals) until(now int64) *promtest.Store {
	s := &promtest.Store{}
	for _, one := range a {
		var points []promtest.Point
		for _, p := range one.points {
			if p.at <= now {
				points = append(points, p.Point)
			}
		}
		if len(points) > 0 {
			s.Add(one.labels, points...)
		}
	}
	return s
}

// steady is a store with gauges that have a sample every 15 seconds of some hours before an end.
func steady(series int, end time.Time, length time.Duration) *promtest.Store {
	s := &promtest.Store{}
	for i := range series {
		var points []promtest.Point
		for at := end.Add(-length).UnixMilli(); at <= end.UnixMilli(); at += 15_000 {
			points = append(points, promtest.Point{Time: at, Value: math.Mod(float64(at/15_000*int64(i+7)), 101)})
		}
		s.Add(map[string]string{"__name__": "gauge", "gpu": string(rune('a' + i)), "node": "n1"}, points...)
	}
	return s
}

// answering says the same to everybody.
func answering(body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
}

func instantIn(ctx context.Context, h *History, expr string, w query.Window) Result {
	return h.PromQL(ctx, query.Query{Expr: expr, Instant: true}, w)
}
