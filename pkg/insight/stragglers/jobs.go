package stragglers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// jobKey is what makes ranks and devices one job's.
type jobKey struct{ cluster, namespace, name string }

// place is a pod.
type place struct{ cluster, namespace, pod string }

// team is a job's members.
type team struct {
	key     jobKey
	ranks   []int // in the grid of workloads, by labels
	devices []int // in the grid of devices, by identity
}

// teams puts ranks and devices together by job: that which ranks say they are of, a Slurm job, or pods that differ by their
// number alone.
func (p *pass) teams() []*team {
	at := make(map[jobKey]*team)
	get := func(key jobKey) *team {
		t := at[key]
		if t == nil {
			t = &team{key: key}
			at[key] = t
		}
		return t
	}
	ofPod := make(map[place]jobKey)
	named := make(map[jobKey]jobKey) // by cluster and name alone
	if p.workloads != nil {
		for row, w := range p.workloads.Subjects {
			if !p.trains(row) {
				continue
			}
			key := jobKey{w.Cluster, w.Namespace, w.Job}
			if w.Job == "" {
				key.name = podBase(w.Pod)
			}
			if key.name == "" {
				continue
			}
			get(key).ranks = append(get(key).ranks, row)
			if w.Pod != "" {
				ofPod[place{w.Cluster, w.Namespace, w.Pod}] = key
			}
			if loose := (jobKey{w.Cluster, "", w.Job}); w.Job != "" {
				if before, known := named[loose]; !known || key.namespace < before.namespace {
					named[loose] = key
				}
			}
		}
	}
	for row, s := range p.devices.Subjects {
		if s.MIGEnabled && !s.IsMIG() {
			continue
		}
		if key, known := jobOf(s, ofPod, named); known {
			get(key).devices = append(get(key).devices, row)
		}
	}
	all := make([]*team, 0, len(at))
	for _, t := range at {
		if len(t.ranks) == 0 && len(t.devices) < 2 {
			continue // nothing to compare, nothing said
		}
		slices.SortFunc(t.devices, func(a, b int) int {
			return compareIdentity(p.devices.Subjects[a].Identity, p.devices.Subjects[b].Identity)
		})
		slices.SortFunc(t.ranks, func(a, b int) int { return compareRank(p.workloads.Subjects[a], p.workloads.Subjects[b]) })
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *team) int {
		return cmp.Or(cmp.Compare(a.key.cluster, b.key.cluster), cmp.Compare(a.key.namespace, b.key.namespace), cmp.Compare(a.key.name, b.key.name))
	})
	return all
}

// trains reports whether a workload reports anything of a training job.
func (p *pass) trains(row int) bool {
	for _, column := range p.work {
		if column[row] != nil {
			return true
		}
	}
	return false
}

// jobOf is the job of a device's first owner. Ranks without a cluster or namespace are those of any.
func jobOf(s insight.Subject, ofPod map[place]jobKey, named map[jobKey]jobKey) (jobKey, bool) {
	if s.Class == insight.Inference {
		return jobKey{}, false
	}
	for _, o := range s.Owners {
		for _, cluster := range [...]string{s.Cluster, ""} {
			if o.Pod != "" {
				for _, namespace := range [...]string{o.Namespace, ""} {
					if key, known := ofPod[place{cluster, namespace, o.Pod}]; known {
						return key, true
					}
				}
			}
			if o.SlurmJob != "" {
				if key, known := named[jobKey{cluster, "", o.SlurmJob}]; known {
					return key, true
				}
			}
		}
		switch {
		case o.SlurmJob != "":
			return jobKey{s.Cluster, "", o.SlurmJob}, true
		case o.Pod != "":
			return jobKey{s.Cluster, o.Namespace, podBase(o.Pod)}, true
		}
	}
	return jobKey{}, false
}

// podBase is what the pods of one job have in common: "train" of "train-0", of "train-worker-3" and of "train-0-x7k2p".
func podBase(pod string) string {
	base := pod
	if at := strings.LastIndexByte(base, '-'); at > 0 && generated(base[at+1:]) {
		if before := strings.LastIndexByte(base[:at], '-'); before > 0 && number(base[before+1:at]) {
			base = base[:at]
		}
	}
	for {
		at := strings.LastIndexByte(base, '-')
		if at <= 0 || !number(base[at+1:]) {
			break
		}
		base = base[:at]
	}
	if base == pod {
		return pod
	}
	for _, role := range [...]string{"-worker", "-master", "-launcher"} {
		base = strings.TrimSuffix(base, role)
	}
	return base
}

func number(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// generated reports whether Kubernetes may have made the end of a name.
func generated(text string) bool {
	const length, letters = 5, "bcdfghjklmnpqrstvwxz2456789"
	return len(text) == length && strings.Trim(text, letters) == ""
}

func compareIdentity(a, b gpu.Identity) int {
	return cmp.Or(
		cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Node, b.Node), cmp.Compare(a.UUID, b.UUID),
		cmp.Compare(a.GPUInstance, b.GPUInstance), cmp.Compare(a.ComputeInstance, b.ComputeInstance),
	)
}

// compareRank puts rank 2 before rank 10.
func compareRank(a, b insight.Workload) int {
	return cmp.Or(
		cmp.Compare(len(a.Rank), len(b.Rank)), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Node, b.Node),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Model, b.Model),
	)
}
