package memory

import (
	"fmt"
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

func (s *subject) outOfMemory() {
	a := s.allocated()
	if a == nil || a.OOMs == nil {
		if !s.isServer() {
			s.need(ooms)
		}
		return
	}
	if *a.OOMs < 0.5 {
		return
	}
	s.find(insight.Reason{
		ID: OutOfMemory, Severity: insight.Warning, Since: s.in.Workloads.Times[a.firstOOM-1],
		Text:     fmt.Sprintf("%s failed for want of memory.", counted(*a.OOMs, "allocation")),
		Evidence: []insight.Evidence{above(ooms, *a.OOMs, gpu.Count, 0, fmt.Sprintf("%.0f in the range", *a.OOMs))},
		Action: insight.Action{
			Text: "Make the batch smaller, accumulate gradients or recompute activations; a snapshot of the allocator shows what holds the memory.",
			Who:  gpu.XIDUser,
		},
	})
}

// risk projects the growth of the used share, except that of servers, which take their memory on purpose.
func (s *subject) risk() {
	if s.now.count == 0 || s.isServer() || s.now.latest <= s.limits.Risk {
		return
	}
	from := min(s.back(s.limits.TrendMinutes), max(s.steps-leastPoints, 0))
	t := growth(s.ratio, from, s.limits.TrendChance)
	rise := t.perStep * float64(s.steps-1-from)
	if !t.growing || rise < s.limits.Flat {
		return
	}
	until := time.Duration(min(t.untilOne*float64(s.step), float64(math.MaxInt64/2))).Round(time.Second)
	s.full = &until
	reason := insight.Reason{
		ID: Growing, Severity: insight.Info, Since: s.in.Devices.Times[from],
		Text: fmt.Sprintf("Memory grows and is full in %s, if it goes on.", short(until)),
		Evidence: []insight.Evidence{
			above(usedRatio, s.now.latest, gpu.Ratio, s.limits.Risk, percent(s.now.latest)+" of what is usable is used, above "+percent(s.limits.Risk)),
			free(usedRatio, rise, gpu.Ratio, fmt.Sprintf("it rose by %s in %s, which is no chance (p < %g)", percent(rise),
				short(time.Duration(s.steps-1-from)*s.step), s.limits.TrendChance)),
		},
		Action: insight.Action{Text: "Look for what is kept from step to step: losses with their graphs, caches, longer sequences.", Who: gpu.XIDUser},
	}
	if until.Minutes() <= s.limits.TrendMinutes {
		reason.ID, reason.Severity = OOMRisk, insight.Warning
		reason.Action.Text = "Write a checkpoint now; then make the batch smaller, or find what grows: losses kept with their graphs, caches, longer sequences."
	}
	s.find(reason)
}

// cache judges servers.
func (s *subject) cache() {
	if !s.isServer() {
		return
	}
	if s.group == nil || s.group.cache == nil || s.group.cache.Ratio == nil {
		s.need(cacheRatio)
		return
	}
	c := s.group.cache
	full := *c.Ratio > s.limits.CacheFull
	if c.Preemptions == nil {
		s.need(preemptions)
	}
	if c.Waiting == nil {
		s.need(waiting)
	}
	evidence := []insight.Evidence{{
		Metric: cacheRatio, Value: *c.Ratio, Unit: gpu.Ratio, Limit: s.limits.CacheFull, Above: full,
		Text: "the cache is " + percent(*c.Ratio) + " full, limit " + percent(s.limits.CacheFull),
	}}
	preempted := c.Preemptions != nil && *c.Preemptions >= 0.5
	queued := c.Waiting != nil && *c.Waiting >= s.limits.Waiting && *c.Waiting > 0
	if preempted {
		evidence = append(evidence, above(preemptions, *c.Preemptions, gpu.Count, 0, counted(*c.Preemptions, "request")+" put back"))
	}
	if queued {
		evidence = append(evidence, above(waiting, *c.Waiting, gpu.Count, s.limits.Waiting, fmt.Sprintf("%.0f requests wait", *c.Waiting)))
	}
	switch {
	case preempted:
		s.find(insight.Reason{
			ID: CacheFull, Severity: insight.Warning, Evidence: evidence,
			Text:   counted(*c.Preemptions, "request") + " lost the work done on them for want of cache.",
			Action: insight.Action{Text: "Add a replica, or let fewer requests run at once; a smaller or quantised model leaves more cache.", Who: gpu.XIDUser},
		})
	case full && queued:
		s.find(insight.Reason{
			ID: CacheFull, Severity: insight.Warning, Evidence: evidence,
			Text:   fmt.Sprintf("The cache is %s full and %.0f requests wait.", percent(*c.Ratio), *c.Waiting),
			Action: insight.Action{Text: "Add a replica, or give the cache more memory: quantise the model or the cache, shorten the longest context.", Who: gpu.XIDUser},
		})
	case full:
		s.find(insight.Reason{
			ID: CacheBusy, Severity: insight.Info, Evidence: evidence,
			Text:   "The cache is " + percent(*c.Ratio) + " full; more load will wait.",
			Action: insight.Action{Text: "Nothing yet; add a replica before the load grows.", Who: gpu.XIDUser},
		})
	}
}

func (s *subject) allocator() {
	a := s.allocated()
	if a == nil {
		if !s.isServer() {
			s.missing = append(s.missing, allocated, held, retries)
		}
		return
	}
	if a.Retries == nil {
		s.need(retries)
	} else if *a.Retries >= 0.5 {
		s.find(insight.Reason{
			ID: Retries, Severity: insight.Warning,
			Text:     counted(*a.Retries, "allocation") + " stalled until the allocator's cache was emptied.",
			Evidence: []insight.Evidence{above(retries, *a.Retries, gpu.Count, 0, fmt.Sprintf("%.0f in %g minutes", *a.Retries, s.limits.TrendMinutes))},
			Action:   insight.Action{Text: "Make the batch a little smaller; each retry stalls the step.", Who: gpu.XIDUser},
		})
	}
	if a.Fragmentation == nil {
		s.missing = append(s.missing, allocated, held)
	}
	var evidence []insight.Evidence
	if a.Fragmentation != nil && *a.Fragmentation > s.limits.Fragmented {
		evidence = append(evidence, above(held, *a.Fragmentation, gpu.Ratio, s.limits.Fragmented,
			percent(*a.Fragmentation)+" of what the allocator holds was in no tensor, not even when most was"))
	}
	if a.InactiveSplit != nil && *a.InactiveSplit > s.limits.InactiveSplit {
		evidence = append(evidence, above(inactiveSplit, *a.InactiveSplit, gpu.Ratio, s.limits.InactiveSplit,
			percent(*a.InactiveSplit)+" of it lies in split blocks"))
	}
	if len(evidence) == 0 {
		return
	}
	severity := insight.Info
	if s.usage.PeakRatio != nil && *s.usage.PeakRatio > s.limits.Risk {
		severity = insight.Warning // it is what the next allocation will be short of
	}
	s.find(insight.Reason{
		ID: Fragmented, Severity: severity, Evidence: evidence, Text: "The allocator holds much that it cannot use.",
		Action: insight.Action{Text: "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and let sizes of batches and sequences vary less.", Who: gpu.XIDUser},
	})
}

// zombie is memory held without owner and without activity. Both must be known.
func (s *subject) zombie() {
	if s.owned || s.used == nil {
		return
	}
	held := summarize(s.used, s.back(s.limits.ZombieMinutes))
	if !s.covers(s.limits.ZombieMinutes, held.count) || held.least <= s.limits.ZombieBytes || !s.fresh(held.at) {
		return
	}
	if !s.in.OwnersKnown && !s.ownersKnown() {
		s.need("gpu_owner_info")
		return
	}
	active := summarize(s.busy, s.back(s.limits.ZombieMinutes))
	if !s.covers(s.limits.ZombieMinutes, active.count) {
		s.need(utilization)
		return
	}
	if active.highest >= s.limits.NoActivity {
		return
	}
	reason := insight.Reason{
		ID: Zombie, Severity: insight.Warning, Text: size(held.latest) + " are held, by nobody and for nothing.",
		Evidence: []insight.Evidence{
			above(usedBytes, held.least, gpu.Bytes, s.limits.ZombieBytes, size(held.least)+" at least for "+fmt.Sprintf("%g minutes", s.limits.ZombieMinutes)),
			{
				Metric: s.busyOf, Value: active.highest, Unit: gpu.Ratio, Limit: s.limits.NoActivity,
				Text: "activity " + percent(active.highest) + " at most, below " + percent(s.limits.NoActivity),
			},
		},
		Action: insight.Action{Text: "List the processes on the GPU and end those that nobody owns.", Who: gpu.XIDOperator},
	}
	if n := summarize(s.devices.values(s.row, processes, insight.Mean), s.back(s.limits.ZombieMinutes)); n.count > 0 {
		reason.Evidence = append(reason.Evidence, free(processes, n.latest, gpu.Count, fmt.Sprintf("%.0f processes", n.latest)))
		if n.highest == 0 {
			reason.Action.Text = "No process holds it: look for one in another namespace that ended badly; if there is none, drain and reset the GPU."
		}
	}
	s.find(reason)
}

func (s *subject) ownersKnown() bool { return s.pass.owned[s.Cluster] }

// idle is memory that an owner holds and does next to nothing with.
func (s *subject) idle() {
	if !s.owned || s.isServer() || s.now.count == 0 {
		return
	}
	from := s.back(s.limits.IdleMinutes)
	active, share := summarize(s.busy, from), summarize(s.ratio, from)
	if !s.covers(s.limits.IdleMinutes, active.count) || !s.covers(s.limits.IdleMinutes, share.count) {
		return
	}
	if active.mean() >= s.limits.IdleActivity || share.least <= s.limits.IdleHeld {
		return
	}
	s.find(insight.Reason{
		ID: HeldIdle, Severity: insight.Info, Text: percent(share.latest) + " of the memory is held by an owner that does next to nothing.",
		Evidence: []insight.Evidence{
			{
				Metric: s.busyOf, Value: active.mean(), Unit: gpu.Ratio, Limit: s.limits.IdleActivity,
				Text: "activity " + percent(active.mean()) + ", below " + percent(s.limits.IdleActivity),
			},
			above(usedRatio, share.least, gpu.Ratio, s.limits.IdleHeld, percent(share.least)+" used at least, above "+percent(s.limits.IdleHeld)),
		},
		Action: insight.Action{Text: "Ask the owner whether the job still runs; a notebook that is left open holds its memory.", Who: gpu.XIDUser},
	})
}

// nearFull says that the peak leaves little, where a share of memory means anything.
func (s *subject) nearFull() {
	if s.isServer() || s.flat || s.usage.PeakRatio == nil || *s.usage.PeakRatio <= s.limits.NearFull || len(s.reasons) > 0 {
		return
	}
	s.find(insight.Reason{
		ID: NearFull, Severity: insight.Info, Since: s.usage.PeakAt, Text: "The peak is " + percent(*s.usage.PeakRatio) + " of what is usable; a larger batch will hardly fit.",
		Evidence: []insight.Evidence{above(usedRatio, *s.usage.PeakRatio, gpu.Ratio, s.limits.NearFull, "peak "+percent(*s.usage.PeakRatio)+", above "+percent(s.limits.NearFull))},
		Action:   insight.Action{Text: "Nothing while it stays so; before anything grows, recompute activations or use a smaller batch.", Who: gpu.XIDUser},
	})
}

func (s *subject) find(r insight.Reason) {
	r.Action.Runbook = runbookOf(r.ID)
	s.reasons = append(s.reasons, r)
}

// runbookOf is the page that says what to do about a reason.
func runbookOf(id string) string {
	switch id {
	case OOMRisk, Growing:
		return "oom-risk"
	case CacheFull, CacheBusy:
		return "kv-cache-full"
	case Zombie:
		return "zombie-memory"
	case HeldIdle:
		return "memory-held"
	default:
		return "memory-capacity"
	}
}

func (s *subject) allocated() *Allocator {
	if s.group == nil {
		return nil
	}
	return s.group.allocator
}
