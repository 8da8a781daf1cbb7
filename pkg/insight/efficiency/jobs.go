package efficiency

import (
	"cmp"
	"math"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/mig"
	"github.com/warpwatch/warpwatch/pkg/insight/sku"
)

// jobs are the training jobs and servers that tell of themselves.
type jobs struct {
	grid *insight.Workloads
	list []*job
	// owned finds the rows of workloads by what an owner and a workload both name.
	owned map[ownerKey]*ownedRows
	peaks map[string]peak
}

// ownerKey is a pod, or a job of Slurm; cluster and namespace are empty where a workload does not name them.
type ownerKey struct{ cluster, namespace, pod, job string }

type ownedRows struct {
	rows    []int
	jobs    []*job // that have a row here
	matched bool
}

// job is one of them, with what its GPUs did in each step.
type job struct {
	name    jobName
	rows    []int
	owned   []*ownedRows // of each row, by pod and by job
	of      []int        // the row that owned is of
	devices *series      // nil until a device of it is met

	energyUnknown            []bool
	ceiling, ceilingKnown    float64
	unpriced, mixed, unrated bool
	shared                   bool // a pod of it tells of other jobs as well
	currency                 string
}

type jobName struct {
	kind                     insight.Class
	cluster, namespace, name string
}

// series are sums over the devices of a job in each step.
type series struct{ hours, joules, cost, peak, reach []float64 }

// peak is what a model can compute in a second; zeros where it is not known.
type peak struct{ flops, reachable float64 }

// share of a job in a device.
type working struct {
	job    *job
	factor float64
}

// newJobs groups the rows of workloads: training by its job, serving by its model.
func newJobs(grid *insight.Workloads, times []int64) *jobs {
	j := &jobs{owned: make(map[ownerKey]*ownedRows), peaks: make(map[string]peak)}
	if grid == nil || !slices.Equal(grid.Times, times) {
		return j
	}
	j.grid = grid
	at := make(map[jobName]*job)
	for i := range grid.Subjects {
		name, judged := j.nameOf(i)
		if !judged {
			continue
		}
		mine := at[name]
		if mine == nil {
			mine = &job{name: name}
			at[name] = mine
			j.list = append(j.list, mine)
		}
		mine.rows = append(mine.rows, i)
		w := grid.Subjects[i]
		if w.Pod != "" {
			j.link(mine, i, ownerKey{w.Cluster, w.Namespace, w.Pod, ""})
		}
		if w.Job != "" {
			j.link(mine, i, ownerKey{w.Cluster, "", "", w.Job})
		}
	}
	return j
}

func (j *jobs) link(mine *job, rowAt int, k ownerKey) {
	o := j.owned[k]
	if o == nil {
		o = &ownedRows{}
		j.owned[k] = o
	}
	o.rows = append(o.rows, rowAt)
	if !slices.Contains(o.jobs, mine) {
		o.jobs = append(o.jobs, mine)
	}
	mine.owned, mine.of = append(mine.owned, o), append(mine.of, rowAt)
}

func (j *jobs) has(rowAt int, names ...string) bool {
	for _, name := range names {
		if j.grid.Values(insight.Field{Metric: name}, rowAt) != nil {
			return true
		}
	}
	return false
}

// nameOf says what a row is a part of; false for one without any metric that matters here.
func (j *jobs) nameOf(i int) (jobName, bool) {
	w := j.grid.Subjects[i]
	switch {
	case j.has(i, serveTokens, serveTokensNow, serveFlops):
		return jobName{insight.Inference, w.Cluster, w.Namespace, cmp.Or(w.Model, w.Job, w.Pod, w.Instance)}, true
	case j.has(i, trainTokens, trainFlops, trainMFU):
		return jobName{insight.Training, w.Cluster, w.Namespace, cmp.Or(w.Job, w.Pod, w.Model, w.Instance)}, true
	}
	return jobName{}, false
}

// of are the jobs of those that share a device.
func (j *jobs) of(cluster string, shares []gpu.Owner) []working {
	if len(j.list) == 0 || len(shares) == 0 {
		return nil
	}
	var all []working
	for i := range shares {
		o := j.find(cluster, &shares[i])
		if o == nil {
			continue
		}
		o.matched = true
		for _, mine := range o.jobs {
			mine.shared = mine.shared || len(o.jobs) > 1
			all = append(all, working{mine, 1 / float64(len(shares)*len(o.jobs))})
		}
	}
	return all
}

// find is what an owner is among the workloads. Workloads name their cluster and namespace or do not.
func (j *jobs) find(cluster string, o *gpu.Owner) *ownedRows {
	for _, c := range [...]string{cluster, ""} {
		if o.Pod != "" {
			for _, namespace := range [...]string{o.Namespace, ""} {
				if found := j.owned[ownerKey{c, namespace, o.Pod, ""}]; found != nil {
					return found
				}
			}
		}
		if o.SlurmJob != "" {
			if found := j.owned[ownerKey{c, "", "", o.SlurmJob}]; found != nil {
				return found
			}
		}
		if cluster == "" {
			break
		}
	}
	return nil
}

// peakOf is what a device, or the part of one that an instance is, can compute; nothing when no job works on it.
func peakOf(j *jobs, working []working, device gpu.Device, part mig.Part) peak {
	if len(working) == 0 {
		return peak{}
	}
	p, known := j.peaks[device.Model]
	if !known {
		if s, found := sku.Lookup(device.Model); found {
			p = peak{s.BF16FlopsPerSecond, s.ReachableFlopsPerSecond}
		}
		j.peaks[device.Model] = p
	}
	return peak{p.flops * part.Compute, p.reachable * part.Compute}
}

// add adds a step of a device to the jobs that work on it.
func (j *jobs) add(all []working, i int, hours, joules, ceiling float64, can peak, p price) {
	steps := len(j.grid.Times)
	for _, w := range all {
		mine := w.job
		if mine.devices == nil {
			row := func() []float64 { return make([]float64, steps) }
			mine.devices = &series{row(), row(), row(), row(), row()}
			mine.energyUnknown = make([]bool, steps)
		}
		d, h := mine.devices, hours*w.factor
		d.hours[i] += h
		if math.IsNaN(joules) {
			mine.energyUnknown[i] = true
		} else {
			d.joules[i] += joules * w.factor
		}
		switch {
		case !p.known:
			mine.unpriced = true
		case mine.currency != "" && mine.currency != p.currency:
			mine.mixed = true
		default:
			mine.currency = p.currency
			d.cost[i] += h * p.perHour
		}
		mine.unrated = mine.unrated || can.flops == 0
		d.peak[i] += can.flops * w.factor
		d.reach[i] += can.reachable * w.factor
		if !math.IsNaN(ceiling) {
			mine.ceiling += h * ceiling
			mine.ceilingKnown += h
		}
	}
}
