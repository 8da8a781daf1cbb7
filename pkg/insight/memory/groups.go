package memory

import (
	"slices"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// place names workloads in the way that owners of devices can be matched with: those of a pod, or of a Slurm job on a node.
type place struct {
	cluster, namespace, pod string
	job, node               string
}

// group is the workloads of one place.
type group struct {
	rows      []int
	looked    bool
	allocator *Allocator
	cache     *Cache
}

// groups are the workloads by place.
type groups struct {
	at     map[place]*group
	split  map[gpu.Identity]bool // GPUs of which instances are in the grid
	parted bool
}

func groupsOf(workloads []insight.Workload) groups {
	g := groups{at: make(map[place]*group)}
	add := func(at place, row int) {
		if g.at[at] == nil {
			g.at[at] = &group{}
		}
		g.at[at].rows = append(g.at[at].rows, row)
	}
	for row, w := range workloads {
		if w.Pod != "" {
			add(place{cluster: w.Cluster, namespace: w.Namespace, pod: w.Pod}, row)
		}
		if w.Job != "" {
			add(place{cluster: w.Cluster, job: w.Job, node: w.Node}, row)
		}
	}
	return g
}

// of are the groups of a device's owners; none when none of them reports anything. Where a label is not known of the
// workloads they count as those of any.
func (g groups) of(s insight.Subject) []*group {
	var all []*group
	for _, owner := range s.Owners {
		if found := g.ofOwner(s, owner); found != nil && !slices.Contains(all, found) {
			all = append(all, found)
		}
	}
	return all
}

func (g groups) ofOwner(s insight.Subject, owner gpu.Owner) *group {
	for _, cluster := range [...]string{s.Cluster, ""} {
		if owner.Pod != "" {
			for _, namespace := range [...]string{owner.Namespace, ""} {
				if found := g.at[place{cluster: cluster, namespace: namespace, pod: owner.Pod}]; found != nil {
					return found
				}
			}
		}
		if owner.SlurmJob != "" {
			for _, node := range [...]string{s.Node, ""} {
				if found := g.at[place{cluster: cluster, job: owner.SlurmJob, node: node}]; found != nil {
					return found
				}
			}
		}
	}
	return nil
}

// parents are the GPUs that have instances among the subjects.
func (g *groups) parents(subjects []insight.Subject) map[gpu.Identity]bool {
	if !g.parted {
		g.parted, g.split = true, make(map[gpu.Identity]bool)
		for _, s := range subjects {
			if s.IsMIG() {
				g.split[s.Parent()] = true
			}
		}
	}
	return g.split
}

// owned reports whether any owner names anybody.
func owned(s insight.Subject) bool {
	return slices.ContainsFunc(s.Owners, gpu.Owner.Known)
}
