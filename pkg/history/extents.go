package history

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/prometheus/prometheus/promql/parser"
	"golang.org/x/sync/errgroup"
)

const (
	// DefaultCacheBytes is the memory that cached answers may take.
	DefaultCacheBytes = 128 << 20
	// leastFreshness is how long samples may take to arrive, at least.
	leastFreshness = time.Minute
	// traitsKept is of how many expressions it is remembered what is special about them, and soiledTTL for how long that
	// their answers carry remarks.
	traitsKept = 4096
	soiledTTL  = 5 * time.Minute
)

// extents is the cache of range queries. Answers are cut into blocks on the grid of the step, so that a range that moves
// on asks only for what it has not seen: its end, which is always asked for as far as late samples may change it, and
// parts that were dropped or are no longer trusted. Only whole, unambiguous answers without any remark are kept, and only
// of expressions whose value at a step does not depend on the range; everything else is asked for as it is.
type extents struct {
	options Options
	metrics *CacheMetrics
	memory  *memory // nil when nothing is cached
	parser  parser.Parser
	whole   flights[*answer]
	parts   flights[fetched]

	mu     sync.Mutex
	traits *simplelru.LRU[cacheKey, trait]
}

// trait is what is special about a key.
type trait struct {
	purity
	soiled int64 // Unix milliseconds up to which answers are not kept
}

// fetched is an answer of a server, and the same as a slab if it can be one.
type fetched struct {
	*slab
	raw    *answer
	shared bool // with others who ask
}

// own is the answer with values that are the caller's own.
func (f fetched) own() *answer {
	if f.shared {
		return f.raw.clone()
	}
	return f.raw
}

func newExtents(o Options) (*extents, error) {
	x := &extents{
		options: o, metrics: o.CacheMetrics,
		parser: parser.NewParser(parser.Options{EnableExperimentalFunctions: true, EnableBinopFillModifiers: true}),
	}
	var err error
	if x.metrics == nil {
		if x.metrics, err = NewCacheMetrics(nil); err != nil {
			return nil, fmt.Errorf("set up the cache's metrics: %w", err)
		}
	}
	if o.CacheRemote != nil && o.CacheNamespace == "" {
		return nil, fmt.Errorf("a shared cache needs a namespace of the data source's own, so that others do not read its answers")
	}
	if x.traits, err = simplelru.NewLRU[cacheKey, trait](traitsKept, nil); err != nil {
		return nil, fmt.Errorf("set up the cache: %w", err)
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	if o.CacheBytes > 0 {
		if x.memory, err = newMemory(o.CacheBytes, x.metrics); err != nil {
			return nil, fmt.Errorf("set up the cache: %w", err)
		}
	}
	return x, nil
}

// close forgets everything. Whoever is still waited for gets their answer, but nothing of it is kept.
func (x *extents) close() {
	if x.memory != nil {
		x.memory.close()
	}
}

// asking is a range query on its way through the cache.
type asking struct {
	*endpoint
	purity
	key   cacheKey
	grid  axis
	form  url.Values // without the range
	quiet bool       // hints do not matter
	now   int64
	// settled is the newest tick that does not change any more.
	settled int64
}

// instant asks for one time. Identical requests under way are one.
func (x *extents) instant(ctx context.Context, e *endpoint, form url.Values, quiet bool) (*answer, error) {
	a, err := x.once(ctx, e, instantPath, form)
	return quieted(a, quiet), err
}

// quieted drops hints.
func quieted(a *answer, quiet bool) *answer {
	if a != nil && quiet {
		a.Infos = nil
	}
	return a
}

// columns is instant with an answer in columns, where it fits in.
func (x *extents) columns(ctx context.Context, e *endpoint, form url.Values) (*answer, error) {
	return x.onceAs(ctx, e, instantPath+"\xffcolumns", form, func(ctx context.Context) (*answer, error) {
		return e.queryAs(ctx, instantPath, form, decodeInstant)
	})
}

// once asks a server, or waits for who asks it the same for the same tenant. The values are the caller's own.
func (x *extents) once(ctx context.Context, e *endpoint, path string, form url.Values) (*answer, error) {
	return x.onceAs(ctx, e, path, form, func(ctx context.Context) (*answer, error) {
		a, err := e.query(ctx, path, form)
		if err == nil && path == rangePath {
			x.metrics.samples.WithLabelValues("upstream").Add(float64(a.samples()))
		}
		return a, err
	})
}

// onceAs is once for a question of some kind, which ask puts to the server.
func (x *extents) onceAs(ctx context.Context, e *endpoint, kind string, form url.Values, ask func(context.Context) (*answer, error)) (*answer, error) {
	key := x.options.Tenant(ctx) + "\xff" + e.ID + "\xff" + kind + "\xff" + form.Encode()
	a, shared, err := x.whole.do(ctx, key, ask)
	if err != nil {
		return nil, err
	}
	if shared {
		x.metrics.shared.Inc()
		return a.clone(), nil
	}
	return a, nil
}

// overRange answers a range query. form is all that the server is told but the range, which is from start to end, Unix
// milliseconds on the grid of the step. quiet drops hints about how the expression is written.
func (x *extents) overRange(ctx context.Context, e *endpoint, form url.Values, start, end, step int64, quiet bool) (*answer, error) {
	q := asking{endpoint: e, grid: axisOf(start, step), form: form, quiet: quiet, now: x.options.now().UnixMilli()}
	from, to := q.grid.tick(start), q.grid.tick(end)
	countSteps(ctx, 0, to-from+1)
	q.key = x.keyOf(x.options.Tenant(ctx), e, form, q.grid.phase, quiet)
	if x.memory == nil || to-from >= maxTicks || !x.cacheable(&q) {
		x.metrics.requests.WithLabelValues(cacheBypass).Inc()
		return x.asIs(ctx, &q, start, end)
	}
	have := x.known(ctx, &q, from, to)
	gaps := missing(have, from, to)
	if len(gaps) > maxPieces/2 {
		gaps = []span{{gaps[0].from, gaps[len(gaps)-1].to}}
		have = slices.DeleteFunc(have, func(s stretch) bool { return s.high >= gaps[0].from && s.low <= gaps[0].to })
	}
	x.count(have, gaps)
	cached := int64(0)
	for _, s := range have {
		cached += s.high - s.low + 1
	}
	asked := pieces(gaps, q.grid)
	got := make([]fetched, len(asked))
	if err := x.fetchAll(ctx, &q, asked, got); err != nil {
		return nil, err
	}
	for i, part := range got {
		if part.slab == nil {
			x.soil(&q)
		}
		switch {
		case asked[i] == (span{from, to}):
			return part.own(), nil
		case part.slab == nil:
			return x.asIs(ctx, &q, start, end)
		}
		have = append(have, stretch{part.slab, part.from, part.to})
	}
	slices.SortFunc(have, func(a, b stretch) int { return compare(a.low, b.low) })
	whole := join(have)
	if int64(whole.samples())*leastSampleBytes > e.maxAnswer {
		return nil, e.transportError(ctx, errLarge)
	}
	countSteps(ctx, cached, 0)
	return whole.answer(q.grid), nil
}

// leastSampleBytes is the least that a sample takes in the text of an answer.
const leastSampleBytes = 16

// asIs asks for the range in one piece.
func (x *extents) asIs(ctx context.Context, q *asking, start, end int64) (*answer, error) {
	a, err := x.once(ctx, q.endpoint, rangePath, q.between(start, end))
	return quieted(a, q.quiet), err
}

// between is the form for a range.
func (q *asking) between(start, end int64) url.Values {
	form := make(url.Values, len(q.form)+2)
	for name, values := range q.form {
		form[name] = values
	}
	form.Set("start", timestamp(time.UnixMilli(start)))
	form.Set("end", timestamp(time.UnixMilli(end)))
	return form
}

// cacheable reports whether the expression's answers may be cached now, and settles up to which tick.
func (x *extents) cacheable(q *asking) bool {
	x.mu.Lock()
	known, ok := x.traits.Get(q.key)
	x.mu.Unlock()
	if !ok {
		known.purity = purityOf(x.parser, q.form.Get("query"))
		x.mu.Lock()
		x.traits.Add(q.key, known)
		x.mu.Unlock()
	}
	q.purity = known.purity
	var some bool
	q.settled, some = x.settled(q, q.now)
	return some && known.soiled <= q.now
}

// settled is the newest tick that does not change any more for a server at a time, false when there is none.
func (x *extents) settled(q *asking, now int64) (int64, bool) {
	settled, ok := q.purity.settled(now - x.freshness(q.grid.step).Milliseconds())
	// A sample that arrives just in time may have the time itself.
	return q.grid.tick(settled - 1), ok
}

// freshness is how long ago something must be for samples to have arrived.
func (x *extents) freshness(step int64) time.Duration {
	if x.options.CacheFreshness > 0 {
		return x.options.CacheFreshness
	}
	return max(2*time.Duration(step)*time.Millisecond, leastFreshness, 4*x.options.ScrapeInterval)
}

// soil notes that the key's answers cannot be kept for now, because they carry remarks or are too large, so that they are not
// taken to pieces in vain.
func (x *extents) soil(q *asking) {
	x.mu.Lock()
	defer x.mu.Unlock()
	known, ok := x.traits.Get(q.key)
	if ok {
		known.soiled = q.now + soiledTTL.Milliseconds()
		x.traits.Add(q.key, known)
	}
}

// known are the stretches between two ticks that are cached and settled, in the order of time.
func (x *extents) known(ctx context.Context, q *asking, from, to int64) []stretch {
	to = min(to, q.settled)
	if from > to {
		return nil
	}
	first := blockOf(from)
	blocks := make([]*slab, blockOf(to)-first+1)
	var absent []blockKey
	for i := range blocks {
		key := blockKey{q.key, first + int64(i)}
		if blocks[i] = x.memory.get(key, q.now); blocks[i] == nil {
			absent = append(absent, key)
		}
	}
	for key, e := range x.fromRemote(ctx, absent, q.now) {
		blocks[key.block-first] = e
		x.memory.put(key, e, q.now)
	}
	var have []stretch
	for _, e := range blocks {
		if e == nil {
			continue
		}
		if s := (stretch{e, max(e.from, from), min(e.to, to)}); s.low <= s.high {
			have = append(have, s)
		}
	}
	return have
}

// fetchAll asks for pieces, a few at the same time. One that fails ends the others.
func (x *extents) fetchAll(ctx context.Context, q *asking, asked []span, got []fetched) (err error) {
	if len(asked) == 1 {
		got[0], err = x.fetch(ctx, q, asked[0])
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(piecesAtOnce)
	for i, piece := range asked {
		group.Go(func() (err error) {
			got[i], err = x.fetch(ctx, q, piece)
			return err
		})
	}
	return group.Wait()
}

// fetch asks for one piece, or waits for who does, and keeps it.
func (x *extents) fetch(ctx context.Context, q *asking, piece span) (fetched, error) {
	key := string(q.key[:]) + strconv.FormatInt(piece.from, 36) + "," + strconv.FormatInt(piece.to, 36)
	part, shared, err := x.parts.do(ctx, key, func(ctx context.Context) (fetched, error) {
		a, err := q.query(ctx, rangePath, q.between(q.grid.time(piece.from), q.grid.time(piece.to)))
		if err != nil {
			return fetched{}, err
		}
		x.metrics.samples.WithLabelValues("upstream").Add(float64(a.samples()))
		a = quieted(a, q.quiet)
		part := fetched{slab: slabOf(a, q.grid, piece.from, piece.to), raw: a}
		if part.slab != nil {
			x.keep(q, part.slab)
		}
		return part, nil
	})
	if shared {
		x.metrics.shared.Inc()
		part.shared = true
	}
	return part, err
}

// keep caches what is settled of a slab.
func (x *extents) keep(q *asking, e *slab) {
	settled, some := x.settled(q, q.now-q.clock.behind.Load())
	if !some {
		return
	}
	for from := e.from; from <= min(e.to, settled); {
		key := blockKey{q.key, blockOf(from)}
		to := min((key.block+1)*blockTicks-1, e.to, settled)
		part := e.cut(from, to)
		age := time.Duration(q.now-q.grid.time(to)) * time.Millisecond
		trusted := trust(age)
		if len(part.runs) == 0 {
			trusted = emptyTrust
		}
		part.until = q.now + trusted.Milliseconds()
		kept := x.memory.put(key, part, q.now)
		if kept == nil {
			x.soil(q)
			return
		}
		x.toRemote(key, kept, q.now)
		from = to + 1
	}
}

func (x *extents) count(have []stretch, gaps []span) {
	result := cachePartial
	switch {
	case len(have) == 0:
		result = cacheMiss
	case len(gaps) == 0:
		result = cacheHit
	}
	x.metrics.requests.WithLabelValues(result).Inc()
	cached := 0
	for _, s := range have {
		for i := range s.runs {
			part := s.runs[i].within(int(s.low-s.from), int(s.high-s.from))
			cached += len(part.values)
		}
	}
	x.metrics.samples.WithLabelValues("cache").Add(float64(cached))
}
