package plugin

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/anomaly"
)

// Bounds of what a data source remembers of the past of devices.
const (
	baselineBytes     = 24 << 10  // of one baseline
	mostBaselineBytes = 256 << 20 // of all
	mostBaselines     = mostBaselineBytes / baselineBytes
	mostBaselineSets  = 64
)

// baselineKey tells apart what must not be mixed: what one user may see from what another may, and values that mean different things.
type baselineKey struct {
	tenant, source string
	field          insight.Field
	step           time.Duration
}

// baselines are the pasts that judgements against history have learned, so that each learns only what is new. The zero value
// is ready. They go with the data source.
type baselines struct {
	most int // baselines of all sets; 0 for mostBaselines

	mu    sync.Mutex
	sets  map[baselineKey]*baselineSet
	clock uint64
	count *baselineCounts
}

// baselineSet is what is kept under a key. Its lock is held while the set is read, too: baselines compute on reading.
type baselineSet struct {
	mu  sync.Mutex
	set *anomaly.Set

	used     uint64 // under the lock of all
	reserved int
}

// of is the set of a key, which may be new. The one that was used longest ago makes room for it.
func (b *baselines) of(k baselineKey) *baselineSet {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sets[k]
	if s == nil {
		if b.sets == nil {
			b.sets = make(map[baselineKey]*baselineSet)
		}
		if len(b.sets) >= mostBaselineSets {
			b.forgetOldest(nil)
		}
		s = &baselineSet{set: anomaly.NewSet(b.limit())}
		b.sets[k] = s
	}
	b.clock++
	s.used = b.clock
	return s
}

func (b *baselines) limit() int {
	if b.most > 0 {
		return b.most
	}
	return mostBaselines
}

// reserve makes room for so many baselines in a set, at the cost of others. It is false when there is not so much room at all.
func (b *baselines) reserve(s *baselineSet, n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.limit() {
		return false
	}
	s.reserved = max(s.reserved, n)
	for b.all() > b.limit() && b.forgetOldest(s) {
	}
	return true
}

// settle notes how many baselines a set has.
func (b *baselines) settle(s *baselineSet, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.reserved = n
}

func (b *baselines) all() int {
	n := 0
	for _, s := range b.sets {
		n += s.reserved
	}
	return n
}

// forgetOldest drops the set that was used longest ago, but not one. It is false when there is no other.
func (b *baselines) forgetOldest(not *baselineSet) bool {
	var oldest baselineKey
	found := uint64(math.MaxUint64)
	for k, s := range b.sets {
		if s != not && s.used < found {
			oldest, found = k, s.used
		}
	}
	if found == math.MaxUint64 {
		return false
	}
	delete(b.sets, oldest)
	b.count.add(baselineForgotten, 1)
	return true
}

// unlearned is what a set does not know of the devices of a grid: those that it knows nothing of, by their rows, and since when
// it lacks values of others, Unix milliseconds, math.MaxInt64 where it lacks none that the grid does not have itself.
type unlearned struct {
	rows  []int
	since int64
	ahead bool // it knows what was after the grid, which then cannot be judged by it
	known int
}

// lacks compares a set with a grid. What was before oldest, Unix milliseconds, does not matter.
func (s *baselineSet) lacks(grid *insight.Devices, f insight.Field, oldest int64) unlearned {
	out := unlearned{since: math.MaxInt64}
	first, last := grid.Times[0], grid.Times[len(grid.Times)-1]
	column := grid.Column(f)
	for i := range grid.Subjects {
		if column == nil || column[i] == nil {
			continue
		}
		at, known := s.set.Known(grid.Subjects[i].Identity, f)
		switch next := at + grid.Step.Milliseconds(); {
		case !known || at < oldest:
			out.rows = append(out.rows, i)
		case at > last+time.Hour.Milliseconds():
			out.ahead = true
		default:
			out.known++
			if next < first {
				out.since = min(out.since, next)
			}
		}
	}
	return out
}

// baselineCounts count how much of what judgements needed was known.
type baselineCounts struct{ devices *prometheus.CounterVec }

// Results of looking for the past of a device.
const (
	baselineHit       = "hit"       // it was known, but for what is new
	baselineMiss      = "miss"      // it was learned
	baselineBypass    = "bypass"    // it was read and not kept: there was no room, or the range ended long ago
	baselineForgotten = "forgotten" // a whole set made room for another
)

// newBaselineCounts registers them, once for a process.
func newBaselineCounts(r prometheus.Registerer) (*baselineCounts, error) {
	c := &baselineCounts{devices: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "warpwatch", Subsystem: "insight", Name: "baselines_total",
		Help: "Devices that were compared with their past, by whether that was known: hit (but for what is new), miss (it was learned), or bypass " +
			"(read and not kept); and sets of one metric that made room for others: forgotten.",
	}, []string{"result"})}
	for _, result := range []string{baselineHit, baselineMiss, baselineBypass, baselineForgotten} {
		c.devices.WithLabelValues(result)
	}
	if r == nil {
		return c, nil
	}
	return c, r.Register(c.devices)
}

func (c *baselineCounts) add(result string, n int) {
	if c != nil && n > 0 {
		c.devices.WithLabelValues(result).Add(float64(n))
	}
}

// uuidsOf are the GPUs of some rows of a grid, each once.
func uuidsOf(grid *insight.Devices, rows []int) []string {
	var uuids []string
	for _, i := range rows {
		if uuid := grid.Subjects[i].UUID; uuid != "" {
			uuids = append(uuids, uuid)
		}
	}
	slices.Sort(uuids)
	return slices.Compact(uuids)
}
