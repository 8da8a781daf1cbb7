package history

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// shelf is a shared cache in memory.
type shelf struct {
	mu     sync.Mutex
	values map[string][]byte
	sets   int
}

func (s *shelf) GetMulti(_ context.Context, keys []string) map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string][]byte{}
	for _, key := range keys {
		if value, ok := s.values[key]; ok {
			found[key] = value
		}
	}
	return found
}

func (s *shelf) SetAsync(key string, value []byte, _ time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sets++
	s.values[key] = value
}

func TestServersShareARemoteCache(t *testing.T) {
	u := &upstream{Handler: steady(3, noon, 24*time.Hour)}
	now := noon
	shared := &shelf{values: map[string][]byte{}}
	w := windowOf(noon.Add(-12*time.Hour), noon, time.Minute)
	o := Options{CacheRemote: shared, CacheNamespace: "1/abc"}
	want := rangeOf(t, cachedAt(t, u, &now, o), "gauge", w)
	if _, samples, _ := u.reset(); samples != 3*721 {
		t.Errorf("%d samples", samples)
	}
	got := rangeOf(t, cachedAt(t, u, &now, o), "gauge", w)
	// The newest block is stored when it has grown by a quarter.
	if _, samples, _ := u.reset(); samples > 3*(remoteEvery+5) || !same(t, got, want) {
		t.Errorf("%d samples", samples)
	}
	o.CacheNamespace = "1/other"
	rangeOf(t, cachedAt(t, u, &now, o), "gauge", w)
	if _, samples, _ := u.reset(); samples != 3*721 {
		t.Errorf("another data source: %d samples", samples)
	}
}

func TestABlockIsNotStoredWithEveryPoint(t *testing.T) {
	u := &upstream{Handler: steady(1, noon.Add(5*time.Hour), 24*time.Hour)}
	now := noon
	remote := &shelf{values: map[string][]byte{}}
	h := cachedAt(t, u, &now, Options{CacheRemote: remote, CacheNamespace: "a"})
	for range 240 {
		rangeOf(t, h, "gauge", windowOf(now.Add(-time.Hour), now, time.Minute))
		now = now.Add(time.Minute)
	}
	// 240 refreshes of a point each; blocks that are no longer trusted are stored again too.
	if remote.sets > 40 {
		t.Errorf("stored %d times", remote.sets)
	}
}

func TestGarbageInTheRemoteCacheIsIgnored(t *testing.T) {
	u := &upstream{Handler: steady(3, noon, 24*time.Hour)}
	now := noon
	w := windowOf(noon.Add(-12*time.Hour), noon.Add(-time.Hour), time.Minute)
	remote := &shelf{values: map[string][]byte{}}
	o := Options{CacheRemote: remote, CacheNamespace: "a"}
	want := rangeOf(t, cachedAt(t, u, &now, o), "gauge", w)
	var names []string
	for name := range remote.values {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) < 5 {
		t.Fatalf("%d blocks", len(names))
	}
	good := remote.values[names[1]]
	for i, bad := range [][]byte{nil, []byte("garbage"), good, append(slices.Clone(good), 0), slices.Clone(good[:len(good)/2])} {
		remote.values[names[i%len(names)]] = bad
	}
	remote.values[names[1]] = remote.values[names[5]] // of another block
	var err error
	if o.CacheMetrics, err = NewCacheMetrics(nil); err != nil {
		t.Fatal(err)
	}
	if got := rangeOf(t, cachedAt(t, u, &now, o), "gauge", w); !same(t, got, want) {
		t.Errorf("got %s", show(got))
	}
	if n := testutil.ToFloat64(o.CacheMetrics.remote.WithLabelValues("garbage")); n != 5 {
		t.Errorf("%v are garbage", n)
	}
}

func sampleSlab(key blockKey) *slab {
	e := &slab{from: key.block * blockTicks, to: key.block*blockTicks + 99, until: 1793448000000}
	add := func(labels labelSet, first int, at []uint16, values ...float64) {
		r := run{first: first, at: at, values: values}
		r.id, _ = identify(labels, nil)
		e.runs = append(e.runs, r)
	}
	add(labelSet{own: []label{{"__name__", "a"}, {"b", "ü\x00\xc3"}}}, 3, nil, 1, 1.5, math.NaN(), math.Inf(1), math.Copysign(0, -1), 5e-324)
	add(labelSet{}, 0, []uint16{0, 7, 99}, 1, 2, 3)
	add(labelSet{own: []label{{"z", ""}}}, 99, nil, math.MaxFloat64)
	return e
}

func TestBlocksSurviveTheirEncoding(t *testing.T) {
	key := blockKey{block: -3}
	key.cacheKey[5] = 9
	want := sampleSlab(key)
	data := encodeSlab(want, key)
	got, err := decodeSlab(data, key, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if got.from != want.from || got.to != want.to || got.until != want.until || len(got.runs) != len(want.runs) || got.sent != 100 {
		t.Errorf("got %+v", got)
	}
	for i, r := range got.runs {
		w := want.runs[i]
		if r.id != w.id || r.first != w.first || !slices.Equal(r.at, w.at) || !slices.EqualFunc(r.values, w.values, sameBits) {
			t.Errorf("got %+v, want %+v", r, w)
		}
	}
	other := key
	other.block++
	if _, err := decodeSlab(data, other, 1<<20); err == nil {
		t.Error("another block's value was read")
	}
	other = key
	other.cacheKey[0]++
	if _, err := decodeSlab(data, other, 1<<20); err == nil {
		t.Error("another key's value was read")
	}
	if _, err := decodeSlab(data, key, 100); err == nil {
		t.Error("a block larger than the limit was read")
	}
	if name := key.remote(); len(name) > 250 || strings.ContainsAny(name, " \n") {
		t.Errorf("memcached does not take the key %q", name)
	}
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

func FuzzDecodeSlab(f *testing.F) {
	key := blockKey{block: 3}
	f.Add(plainSlab(sampleSlab(key), key))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, plain []byte) {
		e, err := decodeSlab(sealed(plain), key, 1<<16)
		if err != nil {
			return
		}
		if e.bytes() > 1<<17 {
			t.Errorf("%d bytes", e.bytes())
		}
		// What was read can be used: it does not panic and gives times within the block.
		for _, s := range join([]stretch{{e, e.from, e.to}}).answer(axis{step: 1000}).Series {
			if !rising(s.Times) || len(s.Times) != len(s.Values) || len(s.Times) == 0 || s.Times[0] < e.from*1000 || s.Times[len(s.Times)-1] > e.to*1000 {
				t.Errorf("times %v", s.Times)
			}
		}
		again, err := decodeSlab(encodeSlab(e, key), key, 1<<16)
		if err != nil || len(again.runs) != len(e.runs) {
			t.Errorf("written again: %v", err)
		}
	})
}
