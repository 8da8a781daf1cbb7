package history

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

func TestManyViewersAreOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{Handler: steady(2, noon, 7*time.Hour), gate: make(chan struct{})}
		now := noon
		h := cachedAt(t, u, &now, Options{})
		w := windowOf(noon.Add(-6*time.Hour), noon, 30*time.Second)
		results := make([]Result, 20)
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() { results[i] = rangeOf(t, h, "gauge", w) })
		}
		synctest.Wait()
		close(u.gate)
		wg.Wait()
		if requests, _, _ := u.reset(); requests != 1 {
			t.Errorf("%d requests", requests)
		}
		want := arrow(t, results[0])
		results[0].Series[0].Values[0] = math.Inf(1) // the caller's own
		for _, r := range results[1:] {
			if !slices.Equal(arrow(t, r), want) {
				t.Error("viewers see different things")
			}
		}
	})
}

func TestOneWhoGivesUpDoesNotFailOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{Handler: steady(2, noon, 7*time.Hour), gate: make(chan struct{})}
		now := noon
		h := cachedAt(t, u, &now, Options{})
		w := windowOf(noon.Add(-6*time.Hour), noon, 30*time.Second)
		ctx, cancel := context.WithCancel(context.Background())
		var first, second Result
		var wg sync.WaitGroup
		wg.Go(func() { first = rangeIn(ctx, t, h, "gauge", w) })
		synctest.Wait()
		wg.Go(func() { second = rangeOf(t, h, "gauge", w) })
		synctest.Wait()
		cancel()
		synctest.Wait()
		var failed *Error
		if !errors.As(first.Err, &failed) || failed.Kind != KindCanceled {
			t.Errorf("got %v", first.Err)
		}
		close(u.gate)
		wg.Wait()
		if requests, _, _ := u.reset(); second.Err != nil || len(second.Series) != 2 || requests != 1 {
			t.Errorf("%d requests, %v", requests, second.Err)
		}
	})
}

// When all give up the server's work ends too, and who comes later asks anew.
func TestWhenAllGiveUpTheRequestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{Handler: steady(2, noon, 7*time.Hour), gate: make(chan struct{})}
		now := noon
		h := cachedAt(t, u, &now, Options{})
		w := windowOf(noon.Add(-6*time.Hour), noon, 30*time.Second)
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { rangeIn(ctx, t, h, "gauge", w) })
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		if len(h.extents.parts.running)+len(h.extents.whole.running) != 0 {
			t.Error("a request goes on")
		}
		close(u.gate)
		if r := rangeOf(t, h, "gauge", w); r.Err != nil || u.entered.Load() != 2 {
			t.Errorf("%v after %d requests", r.Err, u.entered.Load())
		}
	})
}

// Settings are changed while a query is under way: the metric of all caches must not count for ever what nobody can reach.
func TestNothingIsKeptAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{Handler: steady(2, noon, 7*time.Hour), gate: make(chan struct{})}
		now := noon
		metrics, err := NewCacheMetrics(nil)
		if err != nil {
			t.Fatal(err)
		}
		h := cachedAt(t, u, &now, Options{CacheMetrics: metrics})
		var r Result
		var wg sync.WaitGroup
		wg.Go(func() { r = rangeOf(t, h, "gauge", windowOf(noon.Add(-6*time.Hour), noon, 30*time.Second)) })
		synctest.Wait()
		h.Close()
		close(u.gate)
		wg.Wait()
		if got := testutil.ToFloat64(metrics.bytes); got != 0 || r.Err != nil || len(r.Series) != 2 {
			t.Errorf("%v bytes are held; %v", got, r.Err)
		}
	})
}

type who struct{}

// byTenant answers each tenant from their own store.
type byTenant map[string]http.Handler

func (b byTenant) RoundTrip(req *http.Request) (*http.Response, error) {
	name, _ := req.Context().Value(who{}).(string)
	return (&upstream{Handler: b[name]}).RoundTrip(req)
}

func TestTenantsNeverSeeEachOthersData(t *testing.T) {
	tenants := map[string]http.Handler{}
	for i, name := range []string{"ada", "bob", ""} {
		s := &promtest.Store{}
		s.Constant(map[string]string{"__name__": "gauge", "of": name}, float64(i))
		tenants[name] = s
	}
	now := noon
	remote := &shelf{values: map[string][]byte{}}
	o := Options{
		Tenant:      func(ctx context.Context) string { name, _ := ctx.Value(who{}).(string); return name },
		CacheRemote: remote, CacheNamespace: "a",
	}
	w := windowOf(noon.Add(-6*time.Hour), noon.Add(-time.Hour), 30*time.Second)
	for range 2 { // the second has only the remote cache in common with the first
		h := cachedAt(t, byTenant(tenants), &now, o)
		for range 3 {
			var wg sync.WaitGroup
			for name := range tenants {
				for _, instant := range []bool{false, true} {
					wg.Go(func() {
						ctx := context.WithValue(context.Background(), who{}, name)
						r := rangeIn(ctx, t, h, "gauge", w)
						if instant {
							r = instantIn(ctx, h, "gauge", w)
						}
						if r.Err != nil || len(r.Series) != 1 || r.Series[0].Labels["of"] != name {
							t.Errorf("%q sees %v %v", name, r.Series, r.Err)
						}
					})
				}
			}
			wg.Wait()
		}
	}
	if len(remote.values) == 0 {
		t.Error("nothing was shared")
	}
}

func TestKeysTellAllApart(t *testing.T) {
	now := noon
	h := cachedAt(t, &upstream{Handler: &promtest.Store{}}, &now, Options{CacheNamespace: "a"})
	e := h.endpoints[0]
	form := map[string][]string{"query": {"up"}, "step": {"15"}}
	base := h.extents.keyOf("ada", e, form, 0, false)
	other := &endpoint{Endpoint: Endpoint{ID: e.ID, Cluster: e.Cluster, URL: "http://elsewhere"}}
	named := &endpoint{Endpoint: Endpoint{ID: "p", Cluster: "0north", URL: e.URL}}
	elsewhere := cachedAt(t, &upstream{Handler: &promtest.Store{}}, &now, Options{CacheNamespace: "b"})
	for what, key := range map[string]cacheKey{
		"tenant":    h.extents.keyOf("bob", e, form, 0, false),
		"phase":     h.extents.keyOf("ada", e, form, 5, false),
		"hints":     h.extents.keyOf("ada", e, form, 0, true),
		"server":    h.extents.keyOf("ada", other, form, 0, false),
		"names":     h.extents.keyOf("ada", named, form, 0, false),
		"query":     h.extents.keyOf("ada", e, map[string][]string{"query": {"up "}, "step": {"15"}}, 0, false),
		"step":      h.extents.keyOf("ada", e, map[string][]string{"query": {"up"}, "step": {"30"}}, 0, false),
		"parameter": h.extents.keyOf("ada", e, map[string][]string{"query": {"up"}, "step": {"15"}, "dedup": {"false"}}, 0, false),
		"namespace": elsewhere.extents.keyOf("ada", e, form, 0, false),
	} {
		if key == base {
			t.Errorf("the %s does not count", what)
		}
	}
	ranged := map[string][]string{"query": {"up"}, "step": {"15"}, "start": {"1"}, "end": {"2"}, "timeout": {"3s"}}
	if h.extents.keyOf("ada", e, ranged, 0, false) != base {
		t.Error("the range counts")
	}
	if _, err := New(nil, mustCatalog(t), Options{CacheRemote: &shelf{}}); err == nil {
		t.Error("a shared cache without a namespace was accepted")
	}
}
