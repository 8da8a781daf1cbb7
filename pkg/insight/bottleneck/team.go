package bottleneck

import (
	"math"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// team is what the GPUs of one job do together. It is used for one job after the other.
type team struct {
	job     *Job
	app     *group
	dipped  []float64 // by step: the share of GPUs in a dip
	certain bool

	// Of the present step:
	windows []measured // by device of the job
	spin    []bool
	peers   peers
	guess   int // the device that is waited for by counters, -1
	blamed  *blamed
}

// blamed is who is waited for; -1 for nobody, or not known.
type blamed struct {
	device, rank int
	name         string
}

// begin takes the next job.
func (t *team) begin(r *reader, job *Job, app *group, models []*ofModel) {
	t.job, t.app = job, app
	t.dips(r, models)
	t.windows, t.spin = grown(t.windows, len(job.Devices)), grown(t.spin, len(job.Devices))
}

// grown is a slice of n, the old one where it is long enough.
func grown[E any](old []E, n int) []E {
	if cap(old) < n {
		return make([]E, n)
	}
	return old[:n]
}

// observe looks at all GPUs of the job at a step. A GPU that was not measured counts as one that does otherwise: it never makes
// a verdict more certain.
func (t *team) observe(r *reader, step int, models []*ofModel) {
	from, to := r.span(step)
	p := peers{devices: len(t.job.Devices), certain: t.certain}
	for _, share := range t.dipped[from:to] {
		p.dips = max(p.dips, share)
	}
	spinning := 0
	for i, d := range t.job.Devices {
		r.read(d, step, models[d], &t.windows[i])
		if t.spin[i] = spins(&t.windows[i], models[d]); t.spin[i] {
			spinning++
		}
	}
	t.guess, t.blamed = -1, nil
	if others := len(t.job.Devices) - spinning; spinning > 0 && others > 0 &&
		(others == 1 || float64(others) <= models[t.job.Devices[0]].numbers[waitOthers]*float64(len(t.job.Devices))) {
		t.guess = t.odd(models)
		p.waiting = t.guess >= 0
	}
	if t.app != nil && t.app.at != nil && t.app.suspects[step] >= 0 {
		p.waiting, p.byApp = true, true
	}
	t.peers = p
}

// odd is the GPU that clearly does otherwise than those that wait: of several the one with the lowest clock. -1 when there is
// none that was measured. GPUs with hardly any tensor activity and one with a little more are all alike.
func (t *team) odd(models []*ofModel) int {
	found, lowest := -1, math.Inf(1)
	for i := range t.windows {
		w, n := &t.windows[i], &models[t.job.Devices[i]].numbers
		clearly := w.mean[tensorActive] >= 2*n[waitTensor] || w.power >= n[waitPower] ||
			first(w.mean[graphicsActive], w.mean[utilization]) < n[waitActivity]
		if t.spin[i] || w.fresh == 0 || !clearly {
			continue
		}
		if clock := first(w.mean[smClock], math.MaxFloat64); clock < lowest {
			found, lowest = t.job.Devices[i], clock
		}
	}
	return found
}

// dips is the share of a job's GPUs that are in a dip at each step. Steps of a minute or less are single moments; of longer
// ones only the extremes tell, and not whether they came at once.
func (t *team) dips(r *reader, models []*ofModel) {
	const fewest = 5
	certain := r.window >= fewest
	t.certain, t.dipped = certain, grown(t.dipped, len(r.grid.Times))
	share := t.dipped
	clear(share)
	for _, d := range t.job.Devices {
		low, high := models[d].numbers[dipLow], models[d].numbers[dipHigh]
		row, lowest, highest := r.values(smActive, d), r.values(smLowest, d), r.values(smHighest, d)
		for i := range share {
			switch {
			case certain && row != nil && row[i] >= 0 && row[i] < low:
				share[i]++
			case !certain && lowest != nil && highest != nil && lowest[i] >= 0 && lowest[i] < low && highest[i] > high && highest[i] <= 1.1:
				share[i]++
			}
		}
	}
	for i := range share {
		share[i] /= float64(len(t.job.Devices))
	}
}

// of is what the job says of one of its GPUs. alone says that the rank that is waited for is the only one of the GPU's pod.
func (t *team) of(i int, alone bool) peers {
	p := t.peers
	p.spinning = t.spin[i]
	switch {
	case p.waiting && t.guess >= 0:
		// Those that neither spin nor are the suspect do something of their own.
		p.suspect = !p.spinning
	case p.byApp:
		p.suspect = alone
	}
	return p
}

// suspect is who is waited for: by rank when ranks' times tell, by GPU when counters tell; -1 for none.
func (t *team) suspect(step int) (device, workload int) {
	device, workload = -1, -1
	if t == nil || !t.peers.waiting {
		return device, workload
	}
	device = t.guess
	if t.app != nil && t.app.suspects != nil {
		workload = t.app.suspects[step]
	}
	return device, workload
}

// rankName is how people call a rank: "rank 3 on n1".
func rankName(w insight.Workload) string {
	name := "rank " + w.Rank
	switch {
	case w.Rank == "" && w.Pod != "":
		name = "pod " + w.Pod
	case w.Rank == "":
		name = "process " + w.Instance
	}
	if w.Node != "" {
		name += " on " + w.Node
	}
	return name
}
