package bottleneck

import (
	"cmp"
	"math"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Job is GPUs that work together: those of a Slurm job, of the pods whose processes report one training job, or of a pod.
type Job struct {
	Cluster, Namespace, Name string
	Slurm                    bool
	Devices                  []int // in the grid of devices, by identity
	Workloads                []int // in the grid of workloads, by labels
}

// place is where a process is found: a pod, or a job on a node.
type place struct{ cluster, namespace, pod, job, node string }

// group is the workloads of one place or one job.
type group struct {
	workloads []int
	at        []app // for each step
	suspects  []int // for each step: the workload that waits least, -1
}

// jobKey is what makes two devices one job's.
type jobKey struct {
	cluster, namespace, name string
	slurm                    bool
}

// placement tells to which job and to which application each device belongs.
type placement struct {
	jobs    []Job
	jobOf   []int // by device, -1
	placeOf []int // by device, -1
	places  []*group
	ofJob   []*group
}

// place puts devices and workloads together by owners.
func placeAll(devices *insight.Devices, workloads *insight.Workloads) *placement {
	p := &placement{jobOf: make([]int, len(devices.Subjects)), placeOf: make([]int, len(devices.Subjects))}
	at, named := placesOf(workloads, p)
	jobAt, sizes := map[jobKey]int{}, []int(nil)
	for d := range devices.Subjects {
		s := &devices.Subjects[d]
		p.jobOf[d], p.placeOf[d] = -1, -1
		if len(s.Owners) == 0 {
			continue
		}
		owner := &s.Owners[0]
		pod, slurm := place{cluster: s.Cluster, namespace: owner.Namespace, pod: owner.Pod}, place{}
		var key jobKey
		switch {
		case owner.SlurmJob != "":
			slurm = place{cluster: s.Cluster, job: owner.SlurmJob, node: s.Node}
			key = jobKey{cluster: s.Cluster, name: owner.SlurmJob, slurm: true}
		case owner.Pod != "":
			key = jobKey{cluster: s.Cluster, namespace: owner.Namespace, name: owner.Pod}
			if job := named[pod]; job != "" {
				key.name = job
			}
		default:
			continue
		}
		if len(at) > 0 {
			found, ok := at[pod]
			if !ok || owner.Pod == "" {
				if found, ok = at[slurm]; !ok {
					slurm.node = ""
					found, ok = at[slurm]
				}
			}
			if ok {
				p.placeOf[d] = found
			}
		}
		j, known := jobAt[key]
		if !known {
			j = len(p.jobs)
			jobAt[key] = j
			p.jobs = append(p.jobs, Job{Cluster: key.cluster, Namespace: key.namespace, Name: key.name, Slurm: key.slurm})
			sizes = append(sizes, 0)
		}
		p.jobOf[d] = j
		sizes[j]++
	}
	all := make([]int, 0, len(devices.Subjects))
	for j, size := range sizes {
		p.jobs[j].Devices, all = all[:0:size], all[size:size:cap(all)]
	}
	for d, j := range p.jobOf {
		if j >= 0 {
			p.jobs[j].Devices = append(p.jobs[j].Devices, d)
		}
	}
	p.gather(devices, workloads)
	return p
}

// placesOf finds where workloads are. named is the job that the processes of a pod say they are of.
func placesOf(workloads *insight.Workloads, p *placement) (at map[place]int, named map[place]string) {
	if workloads == nil || len(workloads.Subjects) == 0 {
		return nil, nil
	}
	at, named = map[place]int{}, map[place]string{}
	put := func(where place, w int) {
		g, known := at[where]
		if !known {
			g = len(p.places)
			at[where] = g
			p.places = append(p.places, &group{})
		}
		p.places[g].workloads = append(p.places[g].workloads, w)
	}
	for w, s := range workloads.Subjects {
		if s.Pod != "" {
			where := place{cluster: s.Cluster, namespace: s.Namespace, pod: s.Pod}
			put(where, w)
			if before := named[where]; s.Job != "" && (before == "" || s.Job < before) {
				named[where] = s.Job
			}
		} else if s.Job != "" {
			put(place{cluster: s.Cluster, job: s.Job, node: s.Node}, w)
		}
	}
	return at, named
}

// gather gives each job the workloads of its devices' places, and puts all in an order that is not that of the grids.
func (p *placement) gather(devices *insight.Devices, workloads *insight.Workloads) {
	slices.SortFunc(p.jobs, func(a, b Job) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
			cmp.Compare(btoi(a.Slurm), btoi(b.Slurm)))
	})
	for j := range p.jobs {
		for _, d := range p.jobs[j].Devices {
			p.jobOf[d] = j
		}
	}
	for j := range p.jobs {
		job := &p.jobs[j]
		slices.SortFunc(job.Devices, func(a, b int) int {
			return devices.Subjects[a].Compare(devices.Subjects[b].Identity)
		})
		var places []int
		for _, d := range job.Devices {
			if at := p.placeOf[d]; at >= 0 && !slices.Contains(places, at) {
				places = append(places, at)
				job.Workloads = append(job.Workloads, p.places[at].workloads...)
			}
		}
		if len(places) == 1 {
			p.ofJob = append(p.ofJob, p.places[places[0]])
			continue
		}
		sortWorkloads(workloads, job.Workloads)
		p.ofJob = append(p.ofJob, &group{workloads: job.Workloads})
	}
	for _, g := range p.places {
		sortWorkloads(workloads, g.workloads)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func sortWorkloads(workloads *insight.Workloads, of []int) {
	slices.SortFunc(of, func(a, b int) int { return compareWorkloads(workloads.Subjects[a], workloads.Subjects[b]) })
}

func compareWorkloads(a, b insight.Workload) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Job, b.Job),
		cmp.Compare(len(a.Rank), len(b.Rank)), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Pod, b.Pod),
		cmp.Compare(a.Model, b.Model), cmp.Compare(a.Instance, b.Instance))
}

// nothing is the application that nobody reports.
func nothing() app {
	nan := math.NaN()
	return app{data: nan, comm: nan, commMedian: nan, retries: nan, kv: nan, preempts: nan}
}

// read fills in what the group says of each window.
func (g *group) read(r *reader, workloads *insight.Workloads, rows *[workColumns][][]float64, limits *numbers) {
	steps := len(r.grid.Times)
	g.at, g.suspects = make([]app, steps), make([]int, steps)
	most := [workColumns]float64{}
	for c, s := range workSources() {
		most[c] = s.most
	}
	shares := make([]float64, 0, len(g.workloads))
	for t := range steps {
		from, to := r.span(t)
		a := nothing()
		g.suspects[t] = -1
		mean := func(c workColumn, w int) float64 {
			if rows[c] == nil || rows[c][w] == nil {
				return math.NaN()
			}
			sum, n := 0.0, 0.0
			for _, v := range rows[c][w][from:to] {
				if v >= 0 && v <= most[c] {
					sum += v
					n++
				}
			}
			return sum / n
		}
		shares = shares[:0]
		data, withData, trains, withStep, least := 0.0, 0, 0, 0, -1
		for _, w := range g.workloads {
			step, load, comm := mean(stepSeconds, w), mean(dataSeconds, w), mean(commSeconds, w)
			a.kv = larger(a.kv, mean(kvCacheUsed, w))
			a.preempts = larger(a.preempts, mean(preemptions, w))
			a.retries = larger(a.retries, plus(mean(allocRetries, w), mean(oomKills, w)))
			if workloads.Subjects[w].Rank != "" || !math.IsNaN(plus(step, plus(load, comm))) {
				trains++
			}
			if !(step > 0) {
				continue
			}
			withStep++
			if share := load / step; share >= 0 {
				data += min(share, 1)
				withData++
			}
			if share := comm / step; share >= 0 {
				share = min(share, 1)
				if least < 0 || share < a.comm {
					a.comm, least = share, w
				}
				shares = append(shares, share)
			}
		}
		if withData > 0 {
			a.data = data / float64(withData)
		}
		if len(shares) > 0 {
			slices.Sort(shares)
			a.commMedian = shares[len(shares)/2]
		}
		withComm := len(shares)
		if withComm < trains {
			// The one that says nothing may be the one that waits least.
			a.comm, a.commMedian, shares = math.NaN(), math.NaN(), shares[:0]
		}
		a.some = withStep > 0
		a.stepped = withStep > 0
		a.complete = trains > 0 && withComm == trains && withData == trains
		if trains > 0 {
			for _, want := range []struct {
				need needs
				n    int
			}{{needStep, withStep}, {needData, withData}, {needComm, withComm}} {
				if want.n < trains {
					a.missing |= want.need
				}
			}
		}
		if len(shares) > 1 && a.commMedian-a.comm > limits[waitSpread] && a.comm < a.commMedian/2 {
			g.suspects[t] = least
		}
		g.at[t] = a
	}
}
