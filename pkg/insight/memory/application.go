package memory

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Allocator is what the ranks of an owner say of their memory: of the worst of them each. What is nil is not known.
type Allocator struct {
	Ranks int
	// Fragmentation is the share of what the allocator holds that was not in tensors even when most was.
	Fragmentation *float64
	InactiveSplit *float64 // share of what it holds in split blocks that cannot be given back
	Retries       *float64 // within the time that is looked back on for growth
	OOMs          *float64 // within the range
	// PeakBytes and LeastBytes are the most and the least in tensors of the rank with the most, HeldBytes what that rank's
	// allocator held at most.
	PeakBytes, LeastBytes, HeldBytes *float64

	firstOOM int // step, counted from 1; 0 for none
}

// Cache is what the servers of an owner say of their cache of keys and values: of the fullest of them. What is nil is not
// known.
type Cache struct {
	Servers     int
	Ratio       *float64 // now
	Waiting     *float64 // requests, of all of them
	Preemptions *float64 // requests put back, of all of them, within the time that is looked back on for growth
}

func (c *Cache) text() string {
	text := "The server's cache is " + percent(*c.Ratio) + " full"
	if c.Waiting != nil && *c.Waiting >= 0.5 {
		return text + fmt.Sprintf("; the %.0f requests that wait do not wait for memory.", *c.Waiting)
	}
	return text + " and nobody waits for it."
}

// look reads what the workloads of a group say, once.
func (g *group) look(p *pass) {
	if g.looked {
		return
	}
	g.looked = true
	slices.SortFunc(g.rows, func(a, b int) int { return compareWorkload(p.in.Workloads.Subjects[a], p.in.Workloads.Subjects[b]) })
	var a Allocator
	var c Cache
	for _, row := range g.rows {
		if a.add(p, row) {
			a.Ranks++
		}
		if c.add(p, row) {
			c.Servers++
		}
	}
	if a.Ranks > 0 {
		g.allocator = &a
	}
	if c.Servers > 0 {
		g.cache = &c
	}
}

// compareWorkload is an order that does not depend on the grid's, so that sums are the same to the last digit.
func compareWorkload(a, b insight.Workload) int {
	return cmp.Or(
		cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod),
		cmp.Compare(a.Job, b.Job), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Instance, b.Instance),
	)
}

// highest keeps the larger of two figures.
func highest(kept **float64, v float64) {
	if *kept == nil || v > **kept {
		*kept = pointer(v)
	}
}

func add(kept **float64, v float64) {
	if *kept != nil {
		v += **kept
	}
	*kept = pointer(v)
}

// add takes a rank's figures and reports whether it has any.
func (a *Allocator) add(p *pass, row int) bool {
	window := p.back(p.limits.TrendMinutes)
	peak := summarize(p.work.first(row, allocated, insight.Max, insight.Mean), 0)
	least := summarize(p.work.first(row, allocated, insight.Min, insight.Mean), 0)
	keeps := summarize(p.work.first(row, held, insight.Mean, insight.Max), window)
	found := peak.count > 0 || keeps.count > 0
	if peak.count > 0 && (a.PeakBytes == nil || peak.highest > *a.PeakBytes) {
		a.PeakBytes, a.LeastBytes, a.HeldBytes = pointer(peak.highest), nil, nil
		if least.count > 0 {
			a.LeastBytes = pointer(least.least)
		}
		if all := summarize(p.work.first(row, held, insight.Max, insight.Mean), 0); all.count > 0 {
			a.HeldBytes = pointer(all.highest)
		}
	}
	if lately := summarize(p.work.first(row, allocated, insight.Max, insight.Mean), window); keeps.count > 0 && lately.count > 0 && keeps.mean() >= 1 {
		highest(&a.Fragmentation, max(1-lately.highest/keeps.mean(), 0))
	}
	if split := summarize(p.work.values(row, inactiveSplit, insight.Mean), window); keeps.count > 0 && split.count > 0 && keeps.mean() >= 1 {
		highest(&a.InactiveSplit, min(split.mean()/keeps.mean(), 1))
		found = true
	}
	if n, _, known := p.rise(row, retries, window); known {
		add(&a.Retries, n)
		found = true
	}
	if n, first, known := p.rise(row, ooms, 0); known {
		if n > 0 && (a.firstOOM == 0 || first+1 < a.firstOOM) {
			a.firstOOM = first + 1
		}
		add(&a.OOMs, n)
		found = true
	}
	return found
}

// add takes a server's figures and reports whether it is one.
func (c *Cache) add(p *pass, row int) bool {
	full := p.work.values(row, cacheRatio, insight.Mean)
	if full == nil {
		return false
	}
	from := p.back(p.limits.CacheMinutes)
	if s := summarize(full, from); s.count > 0 {
		highest(&c.Ratio, s.mean())
	}
	if s := summarize(p.work.values(row, waiting, insight.Mean), from); s.count > 0 {
		add(&c.Waiting, s.mean())
	}
	if n, _, known := p.rise(row, preemptions, p.back(p.limits.TrendMinutes)); known {
		add(&c.Preemptions, n)
	}
	return true
}

// rise is how much a counter of a workload rose from a step on, and in which step it did so first.
func (p *pass) rise(row int, metric string, from int) (n float64, first int, known bool) {
	values, factor := p.work.values(row, metric, insight.Rise), 1.0
	if values == nil {
		values, factor = p.work.values(row, metric, insight.Mean), p.step.Seconds()
	}
	first = -1
	for i := max(from, 0); i < len(values); i++ {
		v := values[i] * factor
		if !plausible(v) {
			continue
		}
		known = true
		if n += v; v > 0 && first < 0 {
			first = i
		}
	}
	return min(n, most), max(first, 0), known
}
