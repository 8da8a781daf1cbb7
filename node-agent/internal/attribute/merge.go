package attribute

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// process is a process on a device, with what its control groups tell.
type process struct {
	uuid, instance string
	pid            int
	work           Workload
}

// allocation is what a scheduler says. It becomes part of the owners that processes tell, or an owner of its own.
type allocation struct {
	owner   Owner
	matched bool // a process of the workload was seen on the device
	wrong   bool // processes of the workload were seen only elsewhere
}

// merge makes owners of what schedulers and processes tell. Notices are about what does not fit together.
func merge(pods, jobs []*allocation, processes []process) (owners []Owner, notices []string) {
	m := merger{pods: pods, jobs: jobs, conflicts: map[string][2]map[string]bool{}}
	m.nameJobs(processes)
	for _, p := range processes {
		for _, o := range m.inPods(p) {
			owners = append(owners, m.inJob(o))
		}
	}
	m.mark(pods)
	m.mark(jobs)
	for _, a := range slices.Concat(pods, jobs) {
		if !a.matched {
			a.owner.Conflict = a.wrong
			owners = append(owners, a.owner)
		}
	}
	return settle(owners), m.notices()
}

// merger holds what one merge is about.
type merger struct {
	pods, jobs []*allocation
	// conflicts are the GPUs that a workload was given and those that it runs on instead.
	conflicts map[string][2]map[string]bool
}

// inPods is a process as owner: once for each share of the device that its container was given, else once.
func (m *merger) inPods(p process) []Owner {
	base := Owner{UUID: p.uuid, GPUInstance: p.instance, Workload: p.work, Source: sourceOf(p.work), Running: true}
	if base.Pod == "" {
		return []Owner{base}
	}
	var owners []Owner
	elsewhere := false
	for _, a := range m.pods {
		if !samePod(a.owner.Workload, p.work) {
			continue
		}
		if !onDevice(a.owner, p) {
			elsewhere = elsewhere || a.owner.UUID != p.uuid
			continue
		}
		a.matched = true
		o := a.owner
		o.Running = true
		o.Workload = p.work
		o.Container = a.owner.Container
		if p.work.SlurmJob != "" || p.work.SlurmSLUID != "" {
			o.Source = FromSlurmCgroup
		}
		owners = append(owners, o)
	}
	if owners == nil {
		if elsewhere {
			base.Conflict = true
			m.disagree(m.pods, func(w Workload) bool { return samePod(w, p.work) }, fmt.Sprintf("pod %s/%s", base.Namespace, base.Pod), p.uuid)
		}
		return []Owner{base}
	}
	return owners
}

// inJob adds what Slurm's prolog tells of the job that the owner is.
func (m *merger) inJob(o Owner) Owner {
	if o.SlurmJob == "" {
		return o
	}
	found, elsewhere := false, false
	for _, a := range m.jobs {
		if a.owner.SlurmJob != o.SlurmJob {
			continue
		}
		if a.owner.User != "" {
			o.User = a.owner.User
		}
		if !onDevice(a.owner, process{uuid: o.UUID, instance: o.GPUInstance}) {
			elsewhere = elsewhere || a.owner.UUID != o.UUID
			continue
		}
		a.matched, found = true, true
		o.Allocated = true
	}
	if !found && elsewhere {
		o.Conflict = true
		m.disagree(m.jobs, func(w Workload) bool { return w.SlurmJob == o.SlurmJob }, "Slurm job "+o.SlurmJob, o.UUID)
	}
	return o
}

// disagree notes that a workload runs on a GPU that it was not given.
func (m *merger) disagree(given []*allocation, same func(Workload) bool, who, runsOn string) {
	c, known := m.conflicts[who]
	if !known {
		c = [2]map[string]bool{{}, {}}
		m.conflicts[who] = c
	}
	c[1][runsOn] = true
	for _, a := range given {
		if same(a.owner.Workload) {
			a.wrong = true
			c[0][a.owner.UUID] = true
		}
	}
}

// mark takes it for no conflict on a device when the workload runs there too.
func (m *merger) mark(allocations []*allocation) {
	for _, a := range allocations {
		a.wrong = a.wrong && !a.matched
	}
}

func (m *merger) notices() []string {
	var notices []string
	for _, who := range slices.Sorted(maps.Keys(m.conflicts)) {
		c := m.conflicts[who]
		notices = append(notices, fmt.Sprintf("%s was given %s, but its processes run on %s: the processes are believed",
			who, names(c[0]), names(c[1])))
	}
	return notices
}

// names lists a few GPUs.
func names(uuids map[string]bool) string {
	const most = 4
	all := slices.Sorted(maps.Keys(uuids))
	if len(all) > most {
		return strings.Join(all[:most], ", ") + fmt.Sprintf(" and %d more", len(all)-most)
	}
	return strings.Join(all, ", ")
}

// nameJobs finds the number of jobs of which processes tell only the SLUID: by the prolog's word, or because one job alone
// was given the device.
func (m *merger) nameJobs(processes []process) {
	bySLUID := map[string]string{}
	for _, a := range m.jobs {
		if a.owner.SlurmSLUID != "" {
			bySLUID[a.owner.SlurmSLUID] = a.owner.SlurmJob
		}
	}
	for i := range processes {
		w := &processes[i].work
		if w.SlurmJob != "" || w.SlurmSLUID == "" {
			continue
		}
		if w.SlurmJob = bySLUID[w.SlurmSLUID]; w.SlurmJob == "" {
			w.SlurmJob = m.onlyJob(processes[i])
		}
		if w.SlurmJob != "" {
			w.SlurmSLUID = ""
		}
	}
	// Of a job that was found, the number is enough.
	for _, a := range m.jobs {
		a.owner.SlurmSLUID = ""
	}
}

// onlyJob is the job that was given the process's device, "" when there are several or its SLUID is another one.
func (m *merger) onlyJob(p process) string {
	job := ""
	for _, a := range m.jobs {
		switch {
		case !onDevice(a.owner, p):
		case a.owner.SlurmSLUID != "", job != "" && job != a.owner.SlurmJob:
			return ""
		default:
			job = a.owner.SlurmJob
		}
	}
	return job
}

// samePod reports whether two workloads are of one container, as far as it is known.
func samePod(given, runs Workload) bool {
	return runs.Pod != "" && given.Namespace == runs.Namespace && given.Pod == runs.Pod &&
		(runs.Container == "" || given.Container == runs.Container)
}

// onDevice reports whether a process is on the device of an owner. Older drivers do not tell the MIG instance of a process.
func onDevice(o Owner, p process) bool {
	return o.UUID == p.uuid && (o.GPUInstance == p.instance || p.instance == "")
}

// sourceOf says what told of a workload that a process has.
func sourceOf(w Workload) string {
	switch {
	case w.SlurmJob != "" || w.SlurmSLUID != "":
		return FromSlurmCgroup
	case w.PodUID != "" || w.ContainerID != "":
		return FromCgroup
	}
	return FromProcess
}
