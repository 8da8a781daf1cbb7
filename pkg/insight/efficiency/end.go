package efficiency

import (
	"cmp"
	"math"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// free are the free GPUs of a cluster, by node.
type free struct{ nodes map[string]int }

// atTheEnd looks at what a holding was at the end of the range: idle, or free. What was last known more than a window ago
// says nothing of the end.
func (r *run) atTheEnd(h holding, device gpu.Device, activity []float64) {
	s := &r.buffer
	if h.board.to < len(r.times) {
		return // another board is in its place
	}
	last := len(r.times) - 1
	earliest := max(0, last-int(r.limits.window()/r.grid.Step))
	for last > earliest && (s.state[last] == absent || s.state[last] == gone) {
		last--
	}
	switch {
	case s.state[last] == unallocated && !h.instance && len(h.board.units) == 0 && !device.MIGEnabled:
		f := r.free[device.Cluster]
		if f == nil {
			f = &free{nodes: make(map[string]int)}
			r.free[device.Cluster] = f
		}
		f.nodes[device.Node]++
	case s.state[last] == idle:
		r.idle(device, s.tenancies, last, s.weight[last], activity)
	}
}

func (r *run) idle(device gpu.Device, tenancies []tenancy, last int, weight float64, activity []float64) {
	held := tenancies[len(tenancies)-1]
	for _, t := range tenancies {
		if t.from <= last && last < t.to {
			held = t
		}
	}
	start := last
	for i := last; i >= held.from && (r.buffer.state[i] == idle || r.buffer.state[i] == absent); i-- {
		if r.buffer.state[i] == idle {
			start = i
		}
	}
	var sum float64
	n := 0
	for i := start; i <= last; i++ {
		if v := activity[i]; !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	p := r.price(device)
	found := IdleGPU{
		Device: device, Owners: slices.Clone(held.shares), Since: r.times[start], Open: start == 0, Activity: ratio(sum, float64(n)),
		Weight: weight, PerHour: math.NaN(),
	}
	if p.known {
		found.PerHour, found.Currency = weight*p.perHour, p.currency
		r.groups.total.cost(p.currency).WastePerHour += found.PerHour
		if len(r.groups.by) > 0 {
			held.each(func(owner *gpu.Owner, factor float64) {
				r.groups.of(device, p.short, owner).cost(p.currency).WastePerHour += found.PerHour * factor
			})
		}
	}
	r.result.Idle = append(r.result.Idle, found)
}

// Fragmentation is how many of the free GPUs of nodes jobs can have that take k GPUs of one node, and the share of the free
// that they cannot, NaN when none is free or k is not positive: 8 and 4 free leave 4 of 12 to jobs of 8.
func Fragmentation(free []int, k int) (usable int, ratio float64) {
	if k <= 0 {
		return 0, math.NaN()
	}
	all := 0
	for _, n := range free {
		if n > 0 {
			all += n
			usable += n / k * k
		}
	}
	if all == 0 {
		return 0, math.NaN()
	}
	return usable, 1 - float64(usable)/float64(all)
}

// finish computes what can only be said of the whole.
func (r *run) finish() {
	result := r.result
	result.By, result.Total, result.Groups = r.groups.by, r.groups.total, r.groups.order
	r.settleTimeline()
	r.settle(result.Total)
	for _, g := range result.Groups {
		r.settle(g)
	}
	slices.SortFunc(result.Groups, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(b.Hours.Allocated(), a.Hours.Allocated()), cmp.Compare(b.Hours.Total(), a.Hours.Total()), slices.Compare(a.Values, b.Values))
	})
	slices.SortFunc(result.Idle, func(a, b IdleGPU) int {
		return cmp.Or(
			cmp.Compare(zeroIfNaN(b.PerHour), zeroIfNaN(a.PerHour)), cmp.Compare(b.Weight, a.Weight),
			cmp.Compare(a.Since, b.Since), a.Device.Compare(b.Device.Identity),
		)
	})
	slices.SortFunc(result.Unpriced, func(a, b Unpriced) int {
		return cmp.Or(cmp.Compare(b.Hours, a.Hours), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Cluster, b.Cluster))
	})
	clusters := make(map[string]bool)
	for i := range r.grid.Subjects {
		clusters[r.grid.Subjects[i].Cluster] = true
	}
	for cluster := range clusters {
		f := Fragment{Cluster: cluster, JobGPUs: r.options.JobGPUs}
		var counts []int
		if at := r.free[cluster]; at != nil {
			for _, n := range at.nodes {
				counts = append(counts, n)
				f.Free += n
			}
		}
		f.Usable, f.Ratio = Fragmentation(counts, f.JobGPUs)
		result.Fragments = append(result.Fragments, f)
	}
	slices.SortFunc(result.Fragments, func(a, b Fragment) int { return cmp.Compare(a.Cluster, b.Cluster) })
	result.Jobs = r.jobs.finish(r)
	r.confess()
}

func zeroIfNaN(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// confess says what was missing and what was assumed.
func (r *run) confess() {
	result := r.result
	note := func(severity gpu.Severity, text string) {
		result.Notices = append(result.Notices, gpu.Notice{Severity: severity, Text: text})
	}
	missing := func(is bool, names ...string) {
		if is {
			result.Missing = append(result.Missing, names...)
		}
	}
	c := r.columns
	missing(c.sm == nil, smActive)
	missing(!r.seen.energy, energyTotal)
	missing(!r.seen.energy && !r.seen.power, power)
	missing(!r.seen.memory, memoryUsed)
	missing(c.tensor == nil, tensorActive)
	missing(c.clock == nil, smClock)
	missing(c.clockMax == nil, smClockMax)
	switch {
	case result.Total.Hours.Total() == result.Total.Hours.Absent:
		result.Confidence = insight.NoConfidence
	case r.seen.utilization || !r.seen.profiling:
		result.Confidence = insight.Low
	default:
		result.Confidence = insight.Medium
	}
	if !r.seen.owners && r.tenures == nil {
		note(gpu.Warning, "No owner of any GPU is known: a GPU counts as allocated only while it works or has processes. Give the agent or the exporter access to the kubelet or to Slurm.")
		result.Confidence = min(result.Confidence, insight.Low)
	} else if r.tenures == nil {
		note(gpu.Info, "Owners are those at the end of the range: hours before a change of owner are counted for the new one, those of owners that are gone for nobody.")
	}
	if text := result.unpricedText(); text != "" {
		severity := gpu.Warning
		if len(r.tariff.Prices) == 0 {
			severity = gpu.Info // nobody asked for money
		}
		note(severity, text)
	}
	if r.seen.unattributed && r.seen.owners {
		note(gpu.Info, "Some GPUs work although nobody is known to have them; they are under "+Unattributed+".")
	}
	if r.seen.shared {
		note(gpu.Info, "GPUs that several workloads share are divided equally among them.")
	}
	if r.seen.unknownPart {
		note(gpu.Warning, "The profile of some MIG instances is not known; they count as the smallest.")
	}
	if r.seen.estimated {
		note(gpu.Info, "The energy of MIG instances is an estimate: that of their GPU, by slices and activity.")
	}
	if r.seen.utilization {
		note(gpu.Info, "Some activity is the share of time in which any kernel ran, which is more than the share of SMs that worked.")
	}
}
