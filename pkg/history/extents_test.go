package history

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

// noon is the end of the range in most tests, on all the grids that they use.
var noon = time.Unix(1793448000, 0)

func TestOnlyTheTailIsAskedFor(t *testing.T) {
	u := &upstream{Handler: steady(3, noon.Add(time.Hour), 8*time.Hour)}
	now := noon.Add(7 * time.Second)
	metrics, err := NewCacheMetrics(prometheus.NewPedanticRegistry())
	if err != nil {
		t.Fatal(err)
	}
	h := cachedAt(t, u, &now, Options{ScrapeInterval: 15 * time.Second, CacheMetrics: metrics})
	ask := func() Result {
		return rangeOf(t, h, "gauge", windowOf(now.Add(-6*time.Hour), now, 30*time.Second))
	}
	if r := ask(); r.Err != nil || len(r.Series) != 3 || len(r.Series[0].Values) != 721 {
		t.Fatalf("%+v", r.Err)
	}
	if requests, samples, _ := u.reset(); requests != 1 || samples != 3*721 {
		t.Errorf("first: %d requests, %d samples", requests, samples)
	}
	now = now.Add(30 * time.Second)
	r := ask()
	requests, samples, spans := u.reset()
	// Of the last minute two steps are too new to be kept, and one is new.
	if requests != 1 || samples != 3*3 || len(r.Series[0].Values) != 721 {
		t.Errorf("a refresh: %d requests, %d samples over %v", requests, samples, spans)
	}
	// The past is all there, and nobody is asked.
	w := windowOf(noon.Add(-5*time.Hour), noon.Add(-4*time.Hour), 30*time.Second)
	u.set(downMood)
	if r := rangeOf(t, h, "gauge", w); r.Err != nil || len(r.Series) != 3 || len(r.Series[0].Values) != 121 {
		t.Errorf("the past: %v", r.Err)
	}
	if got := testutil.ToFloat64(metrics.requests.WithLabelValues(cacheHit)); got != 1 {
		t.Errorf("%v hits", got)
	}
	if got := testutil.ToFloat64(metrics.samples.WithLabelValues("upstream")); got != 3*(721+3) {
		t.Errorf("%v samples of the server", got)
	}
	if got := testutil.ToFloat64(metrics.bytes); got < 3*719*8 || got > 3*719*20 {
		t.Errorf("%v bytes", got)
	}
	h.Close()
	if got := testutil.ToFloat64(metrics.bytes); got != 0 {
		t.Errorf("%v bytes after the end", got)
	}
}

func TestRangesWithHolesAreFilled(t *testing.T) {
	u := &upstream{Handler: steady(2, noon, 30*time.Hour)}
	now := noon
	h := cachedAt(t, u, &now, Options{})
	plain := cachedAt(t, u, &now, Options{CacheBytes: -1})
	over := func(h *History, from, to int) Result {
		return rangeOf(t, h, "gauge", windowOf(noon.Add(time.Duration(-from)*time.Hour), noon.Add(time.Duration(-to)*time.Hour), time.Minute))
	}
	over(h, 20, 18)
	over(h, 12, 10)
	u.reset()
	got := over(h, 22, 8)
	if requests, samples, spans := u.reset(); requests < 3 || samples > 2*(14*60-4*60+10) {
		t.Errorf("%d requests, %d samples, %v", requests, samples, spans)
	}
	if !same(t, got, over(plain, 22, 8)) {
		t.Errorf("got %s", show(got))
	}
}

func TestLongRangesAreAskedByTheDay(t *testing.T) {
	u := &upstream{Handler: steady(1, noon, 8*24*time.Hour)}
	now := noon
	h := cachedAt(t, u, &now, Options{})
	plain := cachedAt(t, u, &now, Options{CacheBytes: -1})
	w := windowOf(noon.Add(-7*24*time.Hour), noon, 15*time.Minute)
	got := rangeOf(t, h, "gauge", w)
	requests, samples, spans := u.reset()
	if requests != 8 || samples != 7*96+1 {
		t.Errorf("%d requests, %d samples: %v", requests, samples, spans)
	}
	days := 0
	for _, s := range spans {
		start, err := seconds(s[0])
		if err != nil {
			t.Fatal(err)
		}
		if start%86400 == 0 {
			days++
		}
	}
	if days != 7 {
		t.Errorf("pieces begin at %v", spans)
	}
	if !same(t, got, rangeOf(t, plain, "gauge", w)) {
		t.Error("the pieces are not the whole")
	}
	if cut := pieces([]span{{0, 90 * 24}}, axis{step: 3600_000}); len(cut) > maxPieces+1 || cut[0].to-cut[0].from < 5*24 {
		t.Errorf("90 days are %d pieces", len(cut))
	}
}

func seconds(text string) (n int64, err error) {
	_, err = fmt.Sscan(text, &n)
	return n, err
}

func TestAnswersWithRemarksAreNotKept(t *testing.T) {
	for _, mood := range []string{warns, hints, partly} {
		u := &upstream{Handler: steady(1, noon, 2*time.Hour), mood: mood}
		now := noon
		h := cachedAt(t, u, &now, Options{})
		w := windowOf(noon.Add(-time.Hour), noon, time.Minute)
		for range 2 {
			if r := rangeOf(t, h, "gauge", w); len(r.Notices) != 1 || len(r.Series) != 1 {
				t.Errorf("%s: %v", mood, r.Notices)
			}
			if requests, samples, _ := u.reset(); requests != 1 || samples != 61 {
				t.Errorf("%s: %d requests, %d samples", mood, requests, samples)
			}
		}
		// When the server is well again that is noticed.
		u.set("")
		now = now.Add(soiledTTL + time.Second)
		rangeOf(t, h, "gauge", w)
		u.reset()
		rangeOf(t, h, "gauge", w)
		if requests, _, _ := u.reset(); requests != 0 {
			t.Errorf("%s: %d requests for what is past", mood, requests)
		}
	}
}

func TestARemarkOfTheTailIsOfTheWhole(t *testing.T) {
	u := &upstream{Handler: steady(1, noon.Add(time.Hour), 3*time.Hour)}
	now := noon
	h := cachedAt(t, u, &now, Options{})
	rangeOf(t, h, "gauge", windowOf(now.Add(-time.Hour), now, time.Minute))
	u.set(warns)
	now = now.Add(5 * time.Minute)
	u.reset()
	r := rangeOf(t, h, "gauge", windowOf(now.Add(-time.Hour), now, time.Minute))
	if requests, samples, _ := u.reset(); requests != 2 || samples != 61+8 {
		t.Errorf("%d requests, %d samples", requests, samples)
	}
	if len(r.Notices) != 1 || !strings.Contains(r.Notices[0].Text, "a store did not answer") || len(r.Series[0].Values) != 61 {
		t.Errorf("%+v", r)
	}
}

// What comes much later than the freshness allows is seen too, after as long as it was late.
func TestSamplesAfterAnOutage(t *testing.T) {
	whole, part := steady(1, noon, 2*time.Hour), steady(1, noon.Add(-40*time.Minute), 80*time.Minute)
	u := &upstream{Handler: part}
	now := noon
	h := cachedAt(t, u, &now, Options{})
	ask := func() int {
		r := rangeOf(t, h, "gauge", windowOf(noon.Add(-time.Hour), noon.Add(-10*time.Minute), time.Minute))
		return len(r.Series[0].Values)
	}
	before := ask()
	u.Handler = whole
	now = now.Add(5 * time.Minute)
	if n := ask(); n != before {
		t.Errorf("%d values, %d before", n, before)
	}
	now = now.Add(mostTrust)
	if n := ask(); n != 51 {
		t.Errorf("%d values after the outage", n)
	}
}

func TestNothingIsNotBelievedForLong(t *testing.T) {
	u := &upstream{Handler: &promtest.Store{}}
	now := noon
	h := cachedAt(t, u, &now, Options{})
	w := windowOf(noon.Add(-2*time.Hour), noon.Add(-time.Hour), time.Minute)
	if r := rangeOf(t, h, "gauge", w); len(r.Series) != 0 {
		t.Fatal(r)
	}
	u.Handler = steady(1, noon, 4*time.Hour)
	now = now.Add(emptyTrust + time.Second)
	if r := rangeOf(t, h, "gauge", w); len(r.Series) != 1 {
		t.Errorf("%+v", r)
	}
}

// Expressions that look at the ends of the range are asked for as they are.
func TestExpressionsOfTheRangeBypassTheCache(t *testing.T) {
	now := noon
	body := []byte(`{"status":"success","data":{"resultType":"matrix","result":[]}}`)
	for _, expr := range []string{"x @ end()", "max_over_time(x[1h:1m] @ start())", "limitk(2, x)", "x default 0", "x @ 99999999999"} {
		u := &upstream{Handler: answering(body)}
		h := cachedAt(t, u, &now, Options{})
		for range 2 {
			rangeOf(t, h, expr, windowOf(noon.Add(-48*time.Hour), noon.Add(-time.Hour), 10*time.Minute))
			if requests, _, _ := u.reset(); requests != 1 {
				t.Errorf("%s: %d requests", expr, requests)
			}
		}
	}
}

func TestOffsetsIntoTheFutureAreFreshForLonger(t *testing.T) {
	now := noon
	u := &upstream{Handler: answering([]byte(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[]}]}}`))}
	h := cachedAt(t, u, &now, Options{})
	w := windowOf(noon.Add(-time.Hour), noon, time.Minute)
	rangeOf(t, h, "x offset -10m", w)
	u.reset()
	rangeOf(t, h, "x offset -10m", w)
	_, _, spans := u.reset()
	if len(spans) != 1 || spans[0][0] != fmt.Sprint(noon.Add(-12*time.Minute).Unix()) {
		t.Errorf("asked for %v", spans)
	}
}

// A server whose clock is behind repeats its newest value in what is our past.
func TestWhatIsTheFutureForTheServerIsNotKept(t *testing.T) {
	now := noon
	const behind = 3 * time.Minute
	whole := steady(1, noon.Add(time.Hour), 3*time.Hour)
	served := steady(1, now.Add(-behind), 2*time.Hour)
	u := &upstream{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", now.Add(-behind).UTC().Format(http.TimeFormat))
		served.ServeHTTP(w, r)
	})}
	cached, plain := cachedAt(t, u, &now, Options{}), cachedAt(t, u, &now, Options{CacheBytes: -1})
	for range 20 {
		w := windowOf(now.Add(-30*time.Minute), now, 30*time.Second)
		if got, want := rangeOf(t, cached, "gauge", w), rangeOf(t, plain, "gauge", w); !same(t, got, want) {
			t.Fatalf("got %s\nwant %s", show(got), show(want))
		}
		now = now.Add(30 * time.Second)
		served = steady(1, now.Add(-behind), 2*time.Hour)
	}
	// When the clock is right again that counts.
	served = whole
	u.Handler = whole
	w := windowOf(now.Add(-30*time.Minute), now, 30*time.Second)
	rangeOf(t, cached, "gauge", w)
	u.reset()
	rangeOf(t, cached, "gauge", w)
	if _, samples, _ := u.reset(); samples == 0 || samples > 12 {
		t.Errorf("%d samples", samples)
	}
}

func TestOddAnswersAreNotKept(t *testing.T) {
	g := axisOf(1000, 1000)
	series := func(name string, times ...int64) rawSeries {
		return rawSeries{Labels: labelSet{own: []label{{"a", name}}}, Times: times, Values: make([]float64, len(times))}
	}
	for what, a := range map[string]*answer{
		"a vector":            {ResultType: "vector"},
		"histograms":          {ResultType: "matrix", Histograms: 1},
		"beside the grid":     {ResultType: "matrix", Series: []rawSeries{series("x", 1000, 2500, 3000)}},
		"beside the grid too": {ResultType: "matrix", Series: []rawSeries{series("x", 1000, 2500, 3000, 5000)}},
		"before the range":    {ResultType: "matrix", Series: []rawSeries{series("x", 0, 1000)}},
		"after the range":     {ResultType: "matrix", Series: []rawSeries{series("x", 9000, 10_000)}},
		"twice the same":      {ResultType: "matrix", Series: []rawSeries{series("x", 1000), series("x", 2000)}},
	} {
		if slabOf(a, g, 1, 9) != nil {
			t.Errorf("%s was taken", what)
		}
	}
	fine := &answer{ResultType: "matrix", Series: []rawSeries{series("x", 1000, 2000, 9000), series("y"), series("z", 3000)}}
	s := slabOf(fine, g, 1, 9)
	if s == nil || len(s.runs) != 2 || !slices.Equal(s.runs[0].at, []uint16{0, 1, 8}) {
		t.Errorf("%+v", s)
	}
}

func TestPhasesAndNegativeTimes(t *testing.T) {
	for _, start := range []int64{-7, -1, 0, 1, 999, 1000, 12_345} {
		g := axisOf(start, 1000)
		if !g.onGrid(start) || g.time(g.tick(start)) != start || g.tick(start+999) != g.tick(start) || g.tick(start-1) != g.tick(start)-1 {
			t.Errorf("%d: %+v, tick %d", start, g, g.tick(start))
		}
	}
	if blockOf(-1) != -1 || blockOf(-blockTicks) != -1 || blockOf(blockTicks) != 1 {
		t.Error("blocks before 1970 are wrong")
	}
}

func TestAnswersLargerThanTheLimitAreRefused(t *testing.T) {
	u := &upstream{Handler: steady(4, noon, 7*24*time.Hour)}
	now := noon
	h := cachedAt(t, u, &now, Options{MaxAnswerBytes: 20_000})
	var r Result
	for i := range 7 {
		from := noon.Add(time.Duration(-i-1) * 24 * time.Hour)
		if r = rangeOf(t, h, "gauge", windowOf(from, from.Add(24*time.Hour), 15*time.Minute)); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if r = rangeOf(t, h, "gauge", windowOf(noon.Add(-7*24*time.Hour), noon, 15*time.Minute)); r.Err == nil || !strings.Contains(r.Err.Error(), "larger than") {
		t.Errorf("got %v", r.Err)
	}
}

func TestTheBudgetHolds(t *testing.T) {
	metrics, err := NewCacheMetrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMemory(10_000, metrics)
	if err != nil {
		t.Fatal(err)
	}
	one := func(ticks int64) *slab {
		r := run{values: make([]float64, ticks)}
		r.id, _ = identify(labelSet{own: []label{{"a", "b"}}}, nil)
		return &slab{from: 0, to: ticks - 1, runs: []run{r}, until: 100}
	}
	for i := range int64(100) {
		m.put(blockKey{block: i}, one(100), 0)
		var held int64
		for _, e := range m.lru.Values() {
			held += e.bytes()
		}
		if m.bytes > m.budget || held != m.bytes || testutil.ToFloat64(metrics.bytes) != float64(held) {
			t.Fatalf("%d bytes, %d counted", held, m.bytes)
		}
		m.get(blockKey{block: 0}, 0)
	}
	if m.get(blockKey{block: 0}, 0) == nil || m.get(blockKey{block: 1}, 0) != nil || m.get(blockKey{block: 0}, 100) != nil {
		t.Error("the wrong blocks are gone")
	}
	if m.put(blockKey{block: 0}, one(1000), 0) != nil || testutil.ToFloat64(metrics.refused) != 1 {
		t.Error("a block larger than its share was taken")
	}
	if grown := m.put(blockKey{block: 0}, &slab{from: 100, to: 119, until: 90, runs: one(20).runs}, 0); grown.to != 119 || grown.from != 0 || grown.until != 90 || len(grown.runs) != 1 {
		t.Errorf("grown to %+v", grown)
	}
	if apart := m.put(blockKey{block: 0}, &slab{from: 126, to: 127, until: 90}, 0); apart.from != 0 {
		t.Error("much was given for little")
	}
	m.close()
	if m.put(blockKey{block: 2}, one(10), 0) != nil {
		t.Error("kept after the end")
	}
	if m.bytes != 0 || m.lru.Len() != 0 {
		t.Errorf("%d bytes are left", m.bytes)
	}
}

// What is too large to be kept is not taken to pieces at every refresh.
func TestWhatIsTooLargeIsLeftAlone(t *testing.T) {
	u := &upstream{Handler: steady(9, noon.Add(time.Hour), 8*time.Hour)}
	now := noon
	metrics, err := NewCacheMetrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	h := cachedAt(t, u, &now, Options{CacheBytes: 10_000, CacheMetrics: metrics})
	for i := range 10 {
		if r := rangeOf(t, h, "gauge", windowOf(now.Add(-6*time.Hour), now, 30*time.Second)); len(r.Series) != 9 || len(r.Series[0].Values) != 721 {
			t.Fatalf("%v", r.Err)
		}
		if requests, samples, _ := u.reset(); requests != 1 || samples != 9*721 {
			t.Errorf("%d: %d requests, %d samples", i, requests, samples)
		}
		now = now.Add(30 * time.Second)
	}
	if refused, bypassed := testutil.ToFloat64(metrics.refused), testutil.ToFloat64(metrics.requests.WithLabelValues(cacheBypass)); refused != 1 || bypassed != 9 {
		t.Errorf("%v refused, %v bypassed", refused, bypassed)
	}
}

func TestMetricsAreRegisteredOnce(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	if _, err := NewCacheMetrics(r); err != nil {
		t.Fatal(err)
	}
	if _, err := NewCacheMetrics(r); err == nil {
		t.Error("registered twice")
	}
	if problems, err := testutil.GatherAndLint(r); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

func TestAFailedPieceEndsTheOthers(t *testing.T) {
	u := &upstream{Handler: steady(1, noon, 8*24*time.Hour), mood: downMood}
	now := noon
	h := cachedAt(t, u, &now, Options{})
	r := rangeIn(context.Background(), t, h, "gauge", windowOf(noon.Add(-7*24*time.Hour), noon, 15*time.Minute))
	if r.Err == nil || !strings.Contains(r.Err.Error(), "503") {
		t.Errorf("got %v", r.Err)
	}
}
