package bottleneck

import (
	"math"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// team is what the GPUs of one job do together, for each step.
type team struct {
	job   *Job
	app   *group
	at    []peers
	guess []int    // the device that is waited for by counters, -1
	spin  [][]bool // by device of the job
}

// observe looks at all GPUs of a job. A GPU that was not measured counts as one that does otherwise: it never makes a verdict
// more certain.
func (r *reader) observe(job *Job, app *group, models []*ofModel) *team {
	steps := len(r.grid.Times)
	t := &team{job: job, app: app, at: make([]peers, steps), guess: make([]int, steps), spin: make([][]bool, len(job.Devices))}
	dipped, certain := r.dips(job, models)
	for i := range t.spin {
		t.spin[i] = make([]bool, steps)
	}
	windows := make([]measured, len(job.Devices))
	for step := range steps {
		from, to := r.span(step)
		p := peers{devices: len(job.Devices), certain: certain}
		for _, share := range dipped[from:to] {
			p.dips = max(p.dips, share)
		}
		spinning := 0
		for i, d := range job.Devices {
			r.read(d, step, models[d], &windows[i])
			if t.spin[i][step] = spins(&windows[i], models[d]); t.spin[i][step] {
				spinning++
			}
		}
		t.guess[step] = -1
		if others := len(job.Devices) - spinning; spinning > 0 && others > 0 &&
			(others == 1 || float64(others) <= models[job.Devices[0]].numbers[waitOthers]*float64(len(job.Devices))) {
			t.guess[step] = t.odd(windows, step)
			p.waiting = t.guess[step] >= 0
		}
		if app != nil && app.at != nil && app.spread[step] {
			p.waiting, p.byApp = true, true
		}
		t.at[step] = p
	}
	return t
}

// odd is the GPU that does otherwise than those that wait: of several the one with the lowest clock. -1 when none of those was
// measured.
func (t *team) odd(windows []measured, step int) int {
	found, lowest := -1, math.Inf(1)
	for i := range windows {
		if t.spin[i][step] || windows[i].fresh == 0 {
			continue
		}
		if clock := first(windows[i].mean[smClock], math.MaxFloat64); clock < lowest {
			found, lowest = t.job.Devices[i], clock
		}
	}
	return found
}

// dips is the share of a job's GPUs that are in a dip at each step. Steps of a minute or less are single moments; of longer
// ones only the extremes tell, and not whether they came at once.
func (r *reader) dips(job *Job, models []*ofModel) (share []float64, certain bool) {
	share = make([]float64, len(r.grid.Times))
	const fewest = 5
	certain = r.window >= fewest
	for _, d := range job.Devices {
		low, high := models[d].numbers[dipLow], models[d].numbers[dipHigh]
		row, lowest, highest := r.values(smActive, d), r.values(smLowest, d), r.values(smHighest, d)
		for t := range share {
			switch {
			case certain && row != nil && row[t] >= 0 && row[t] < low:
				share[t]++
			case !certain && lowest != nil && highest != nil && lowest[t] >= 0 && lowest[t] < low && highest[t] > high && highest[t] <= 1.1:
				share[t]++
			}
		}
	}
	for t := range share {
		share[t] /= float64(len(job.Devices))
	}
	return share, certain
}

// of is what the job says of one of its GPUs.
func (t *team) of(i, step int, alone bool) peers {
	p := t.at[step]
	d := t.job.Devices[i]
	p.spinning = t.spin[i][step]
	switch {
	case p.waiting && t.guess[step] >= 0:
		// Those that neither spin nor are the suspect do something of their own.
		p.suspect = !p.spinning || t.guess[step] == d
	case p.byApp:
		p.suspect = alone
	}
	return p
}

// suspect names who is waited for: by rank when ranks' times tell, by GPU when counters tell; -1 for none.
func (t *team) suspect(step int) (device, workload int) {
	device, workload = -1, -1
	if t == nil || !t.at[step].waiting {
		return device, workload
	}
	device = t.guess[step]
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
