package history

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/query"
)

// modelled is a server that makes up its answers: some series with DCGM's labels for every expression, with values that
// depend on the time alone. It counts, and can take as long as PromQL would.
type modelled struct {
	series   int
	cost     func(samples int) time.Duration
	cores    chan struct{} // nil for any number
	requests atomic.Int64
	upstream atomic.Int64
}

func (m *modelled) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseFloat(form.Get(name), 64)
		return int64(n)
	}
	answer, samples := modelAnswer(m.series, number("start"), number("end"), number("step"))
	m.requests.Add(1)
	m.upstream.Add(int64(samples))
	if m.cores != nil {
		m.cores <- struct{}{}
		defer func() { <-m.cores }()
	}
	if m.cost != nil {
		time.Sleep(m.cost(samples))
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(answer)), Request: req}, nil
}

func modelAnswer(series int, start, end, step int64) (body []byte, samples int) {
	b := []byte(`{"status":"success","data":{"resultType":"matrix","result":[`)
	for i := range series {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL","DCGM_FI_DRIVER_VERSION":"550.54.15","Hostname":"node-%04d",`+
			`"UUID":"GPU-%08x-0a00-4a00-8b00-%012x","device":"nvidia%d","gpu":"%d","instance":"10.9.%d.%d:9400","job":"dcgm-exporter",`+
			`"modelName":"NVIDIA H100 80GB HBM3","namespace":"gpu","pci_bus_id":"00000000:%02x:00.0"},"values":[`,
			i/8, i, i, i%8, i%8, i/8/250, i/8%250, 16+i%8)
		for t := start; t <= end; t += step {
			if t > start {
				b = append(b, ',')
			}
			b = append(b, '[')
			b = strconv.AppendInt(b, t, 10)
			b = append(b, ',', '"')
			b = strconv.AppendInt(b, (t/15*int64(i+7))%101, 10)
			b = append(b, '"', ']')
			samples++
		}
		b = append(b, ']', '}')
	}
	return append(b, `]}}`...), samples
}

const (
	benchPanels  = 50
	benchViewers = 20
)

func panel(i int) query.Query {
	return query.Query{Expr: fmt.Sprintf("avg_over_time(panel_%d[1m])", i)}
}

// BenchmarkCacheRefresh is what one refresh of 50 panels over 6 hours by 20 viewers takes from the server, when each
// viewer refreshes every 30 s at a moment of their own, so that no two ask at the same time. Viewers have no cache, each
// their own that asks for the last ten minutes again, or ours. The first answer is not counted.
func BenchmarkCacheRefresh(b *testing.B) {
	const length, every = 6 * time.Hour, 30 * time.Second
	for _, kind := range []string{"none", "overlap", "ours"} {
		b.Run(kind, func(b *testing.B) {
			server := &modelled{series: 2}
			now := noon
			o := Options{CacheBytes: -1}
			if kind == "ours" {
				o.CacheBytes = 0
			}
			h := cachedAt(b, server, &now, o)
			plain := cachedAt(b, &modelled{series: 2}, &now, Options{CacheBytes: -1})
			ask := func(from time.Duration, q query.Query) Result {
				r := h.PromQL(context.Background(), q, windowOf(now.Add(-from), now, every))
				if r.Err != nil || len(r.Series) != 2 {
					b.Fatal(r.Err)
				}
				return r
			}
			for i := range benchPanels {
				ask(length, panel(i))
			}
			server.upstream.Store(0)
			for b.Loop() {
				for range benchViewers {
					now = now.Add(every / benchViewers)
					for i := range benchPanels {
						from := length
						if kind == "overlap" {
							from = 10*time.Minute + every
						}
						ask(from, panel(i))
					}
				}
				if kind == "ours" {
					b.StopTimer()
					w := windowOf(now.Add(-length), now, every)
					if got := h.PromQL(context.Background(), panel(3), w); !same(b, got, plain.PromQL(context.Background(), panel(3), w)) {
						b.Fatal("the cached answer is not the uncached")
					}
					b.StartTimer()
				}
			}
			b.ReportMetric(float64(server.upstream.Load())/float64(b.N), "samples")
		})
	}
}

// BenchmarkCacheTogether is how many requests reach the server for a panel that 20 viewers refresh at the same moment.
func BenchmarkCacheTogether(b *testing.B) {
	server := &modelled{series: 2, cost: func(int) time.Duration { return 20 * time.Millisecond }}
	now := noon
	h := cachedAt(b, server, &now, Options{})
	for b.Loop() {
		now = now.Add(30 * time.Second)
		w := windowOf(now.Add(-6*time.Hour), now, 30*time.Second)
		for i := range benchPanels {
			var wg sync.WaitGroup
			for range benchViewers {
				wg.Go(func() {
					if r := h.PromQL(context.Background(), panel(i), w); r.Err != nil {
						b.Error(r.Err)
					}
				})
			}
			wg.Wait()
		}
	}
	b.ReportMetric(float64(server.requests.Load())/float64(b.N)/benchPanels, "requests")
}

// BenchmarkRefreshWeek is the time of one refresh of 20 panels over 7 days, asked for together as a browser does, by a
// server with four processors that takes a millisecond and 100 ns for each of the 20 samples that an expression reads at
// each step of each of 16 series, which is what Prometheus' engine was measured to take.
func BenchmarkRefreshWeek(b *testing.B) {
	cost := func(samples int) time.Duration {
		return time.Millisecond + time.Duration(samples)*20*100*time.Nanosecond
	}
	for _, kind := range []string{"none", "ours"} {
		b.Run(kind, func(b *testing.B) {
			now := noon
			o := Options{}
			if kind == "none" {
				o.CacheBytes = -1
			}
			h := cachedAt(b, &modelled{series: 16, cost: cost, cores: make(chan struct{}, 4)}, &now, o)
			refresh := func() {
				w := windowOf(now.Add(-7*24*time.Hour), now, 15*time.Minute)
				var wg sync.WaitGroup
				for i := range 20 {
					wg.Go(func() {
						if r := h.PromQL(context.Background(), panel(i), w); r.Err != nil {
							b.Error(r.Err)
						}
					})
				}
				wg.Wait()
			}
			refresh()
			for b.Loop() {
				now = now.Add(time.Minute)
				refresh()
			}
		})
	}
}

// BenchmarkCacheMemory is the most memory that the cache took for each sample that it held, while 10 panels of 1,000
// series were filled and refreshed. What one answer takes while it is read is not held.
func BenchmarkCacheMemory(b *testing.B) {
	var worst float64
	for b.Loop() {
		now := noon
		server := &modelled{series: 1000}
		h := cachedAt(b, server, &now, Options{CacheBytes: 1 << 30})
		before := heap()
		for i := range 10 {
			r := h.PromQL(context.Background(), panel(i%5), windowOf(now.Add(-4*time.Hour), now, 15*time.Second))
			if r.Err != nil {
				b.Fatal(r.Err)
			}
			now = now.Add(time.Minute)

			taken := heap() - before
			held := 0
			for _, e := range h.extents.memory.lru.Values() {
				held += e.samples()
			}
			worst = max(worst, float64(taken)/float64(held))
		}
		if counted := float64(h.extents.memory.bytes); counted < 0.8*float64(heap()-before) {
			b.Errorf("the cache counts %v bytes and takes %d", counted, heap()-before)
		}
		runtime.KeepAlive(h)
	}
	b.ReportMetric(worst, "B/sample")
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
