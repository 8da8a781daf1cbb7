// Package history answers from Prometheus-compatible servers: canonical metrics of whatever exporter there is, in
// canonical units and one series per device; PromQL; and which devices and agents there are. Several servers may hold
// the same cluster, each other's replicas or shards. As long as one of them answers the answer is what it has and a
// notice for each that failed.
package history

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// Defaults of Endpoint and Options.
const (
	DefaultTimeout        = 30 * time.Second
	DefaultMaxAnswerBytes = 256 << 20
	DefaultConcurrency    = 20
)

// answersAtOnce is how many answers of the largest size may be read at the same time.
const answersAtOnce = 2

const (
	vocabularyTTL = time.Minute      // which series and labels a server has
	inventoryTTL  = 30 * time.Second // which devices and agents there are
)

// Options of a History. The zero value is usable.
type Options struct {
	// MaxAnswerBytes bounds what one answer may be, after decompression; 0 for DefaultMaxAnswerBytes.
	MaxAnswerBytes int64
	// ScrapeInterval of the servers, for rates; 0 for query.DefaultScrapeInterval.
	ScrapeInterval time.Duration
	// Tenant tells callers apart who may see different data through the same endpoints, by the credentials that are
	// forwarded for them. What one tenant's servers said is never shown to another. nil when all see the same.
	Tenant func(context.Context) string
	// FailedEndpoint is the severity of the notice that an endpoint failed while others answered; nil for gpu.Warning.
	FailedEndpoint *gpu.Severity
	// CacheBytes is the memory that answers of range queries may take which are kept for the next one; 0 for
	// DefaultCacheBytes, negative to keep none.
	CacheBytes int64
	// CacheFreshness is how late samples may reach the servers. What is newer is asked for again every time; what comes
	// later than that is seen after as long as it was late, at least a quarter of an hour. 0 for the longest of two steps, a minute
	// and four scrape intervals.
	CacheFreshness time.Duration
	// CacheRemote is a cache that several processes share, behind the one in memory; nil for none. CacheNamespace tells the
	// data source, and its credentials, apart from others that use it; it is required then.
	CacheRemote    Remote
	CacheNamespace string
	// CacheMetrics counts what the cache does; nil when nobody reads it.
	CacheMetrics *CacheMetrics

	now     func() time.Time
	reading *budget
}

// History asks the endpoints of a data source. It is safe for concurrent use and holds no goroutines but those of requests
// that somebody waits for, and of what Agents asked for and did not wait for; Close ends these.
type History struct {
	endpoints  []*endpoint
	extents    *extents
	catalog    *catalog.Catalog
	options    Options
	background *background
}

// Result is the answer to one query.
type Result struct {
	Series  []gpu.Series
	Notices []gpu.Notice
	// Lines hold the series in place of Series. See [History.Lines].
	Lines []Line
	// Instant holds the series in place of Series, if it is not nil. See [History.PromQLTable].
	Instant *gpu.Instant
	// Histograms are the native histograms of a PromQL query, which have no one value.
	Histograms []gpu.Histogram
	// Exemplars of the series that a PromQL query reads, when it asks for them.
	Exemplars []gpu.Exemplar
	// Absent are devices that are in the scope now and that there is nothing of, though there is of others: see
	// [AbsentNotice]. They are not known for scopes of owners.
	Absent []gpu.Device
	// Holes are parts of the range that an answer from recording rules has nothing or only a part of, and Devices how many
	// devices each of its Series is of at its end. See [History.Rollup].
	Holes   []Stretch
	Devices []int
	// Partial is whether there may be more series or samples of a metric: a server did not answer, or said that it left out some.
	Partial bool
	// Err is set when no endpoint answered; it is or wraps an *Error for each.
	Err error
	// Step is the distance of samples, 0 for an instant query.
	Step time.Duration
	// Executed is what the servers were asked, for people who want to look.
	Executed string
}

// New checks the endpoints' settings; an error names the endpoint and says what to change. Without endpoints every
// answer is empty.
func New(endpoints []Endpoint, c *catalog.Catalog, o Options) (*History, error) {
	if o.MaxAnswerBytes <= 0 {
		o.MaxAnswerBytes = DefaultMaxAnswerBytes
	}
	o.reading = &budget{size: answersAtOnce * o.MaxAnswerBytes}
	if o.ScrapeInterval <= 0 {
		o.ScrapeInterval = query.DefaultScrapeInterval
	}
	if o.Tenant == nil {
		o.Tenant = func(context.Context) string { return "" }
	}
	if o.now == nil {
		o.now = time.Now
	}
	cached, err := newExtents(o)
	if err != nil {
		return nil, err
	}
	h := &History{extents: cached, catalog: c, options: o, background: newBackground()}
	seen := map[string]bool{}
	for _, spec := range endpoints {
		if seen[spec.ID] {
			return nil, fmt.Errorf("endpoint %q is listed twice; give each an id of its own", spec.ID)
		}
		seen[spec.ID] = true
		e, err := newEndpoint(spec, o)
		if err != nil {
			return nil, err
		}
		e.cached, e.background = cached, h.background
		h.endpoints = append(h.endpoints, e)
	}
	return h, nil
}

// Close ends what goes on in the background, and gives back the memory of the cache.
func (h *History) Close() {
	h.background.close()
	h.extents.close()
}

// inScope are the endpoints whose cluster the scope selects. When there are none but could be, the notice says so.
func (h *History) inScope(s query.Scope) ([]*endpoint, []gpu.Notice) {
	var selected []*endpoint
	clusters := map[string]bool{}
	for _, e := range h.endpoints {
		clusters[e.Cluster] = true
		if s.MatchesCluster(e.Cluster) {
			selected = append(selected, e)
		}
	}
	if len(selected) > 0 || len(h.endpoints) == 0 {
		return selected, nil
	}
	known := make([]string, 0, len(clusters))
	for name := range clusters {
		known = append(known, name)
	}
	sort.Strings(known)
	return nil, []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
		"No Prometheus serves the selected clusters (%s); the data source knows %s.", strings.Join(s.Clusters, ", "), strings.Join(known, ", "))}}
}

// several reports whether the endpoints are of more than one cluster.
func several(endpoints []*endpoint) bool {
	for _, e := range endpoints {
		if e.Cluster != endpoints[0].Cluster {
			return true
		}
	}
	return false
}

// question is what one endpoint was asked.
type question struct{ endpoint, text string }

// executed lists what was asked, once where all endpoints were asked the same.
func executed(asked []question) string {
	var lines []string
	same := true
	for _, q := range asked {
		same = same && q.text == asked[0].text
		if q.text != "" {
			lines = append(lines, q.endpoint+": "+q.text)
		}
	}
	if same && len(asked) > 0 {
		return asked[0].text
	}
	return strings.Join(lines, "\n")
}
