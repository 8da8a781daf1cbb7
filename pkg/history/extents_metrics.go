package history

import "github.com/prometheus/client_golang/prometheus"

// CacheMetrics count what the caches of all histories of a process do.
type CacheMetrics struct {
	requests *prometheus.CounterVec
	samples  *prometheus.CounterVec
	remote   *prometheus.CounterVec
	shared   prometheus.Counter
	evicted  prometheus.Counter
	refused  prometheus.Counter
	bytes    prometheus.Gauge
}

// Results of range queries, as CacheMetrics count them.
const (
	cacheHit     = "hit"
	cachePartial = "partial"
	cacheMiss    = "miss"
	cacheBypass  = "bypass"
)

// NewCacheMetrics makes the metrics and registers them, once for a process. Without a registerer they only count.
func NewCacheMetrics(r prometheus.Registerer) (*CacheMetrics, error) {
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: "warpwatch", Subsystem: "history", Name: name, Help: help}
	}
	m := &CacheMetrics{
		requests: prometheus.NewCounterVec(counter("cache_requests_total",
			"Range queries by how much of them was cached: hit (all), partial, miss (nothing), or bypass (not asked)."), []string{"result"}),
		samples: prometheus.NewCounterVec(counter("samples_total", "Samples of range queries, by whether a server sent them or the cache had them."),
			[]string{"source"}),
		remote: prometheus.NewCounterVec(counter("cache_remote_total",
			"Blocks that the shared cache was asked for, by result: hit, miss, or garbage that was ignored; and requests that it "+
				"did not answer: failed, or skipped because it had failed again and again."), []string{"result"}),
		shared:  prometheus.NewCounter(counter("shared_requests_total", "Queries that got the answer of an identical one that was under way.")),
		evicted: prometheus.NewCounter(counter("cache_evictions_total", "Blocks dropped to stay within the cache's budget of bytes.")),
		refused: prometheus.NewCounter(counter("cache_refusals_total", "Blocks not cached because they are too large for the budget.")),
		bytes: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "warpwatch", Subsystem: "history", Name: "cache_bytes", Help: "Memory that cached blocks take.",
		}),
	}
	for _, result := range []string{cacheHit, cachePartial, cacheMiss, cacheBypass} {
		m.requests.WithLabelValues(result)
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.requests, m.samples, m.remote, m.shared, m.evicted, m.refused, m.bytes} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// CountRemote counts a request that the shared cache did not answer: "failed", or "skipped". It may be called on nil.
func (m *CacheMetrics) CountRemote(result string) {
	if m != nil {
		m.remote.WithLabelValues(result).Inc()
	}
}
