// Package attribute says who uses which GPU: pods, Slurm jobs, containers and users.
//
// Two kinds of sources tell. Schedulers say who was given a GPU: the kubelet and Slurm's prolog. Processes say who uses
// it: the driver lists them, and their control groups tell whose they are. Where both know a workload it is told once;
// where they disagree, both are told and marked.
package attribute

import (
	"cmp"
	"slices"
)

// Sources of an Owner.
const (
	FromKubelet     = "kubelet"      // the kubelet gave the device to a container
	FromSlurmCgroup = "slurm_cgroup" // a process on the device is in a job's control group
	FromSlurmFile   = "slurm_file"   // Slurm's prolog wrote so
	FromCgroup      = "cgroup"       // a process on the device is in a container
	FromProcess     = "process"      // a process on the device is in neither
)

// Workload is who uses GPUs. Fields are "" where they do not apply or are not known.
type Workload struct {
	Namespace, Pod, PodUID, Container string

	SlurmJob   string // number of the job
	SlurmSLUID string // where only this id is known
	SlurmStep  string // a number, "batch", "extern" or "interactive"
	Rank       string // number of the task in the step
	User       string // of a Slurm job, or of a process outside of containers

	ContainerID, Runtime string
}

// Owner is one workload on one GPU or MIG instance. It is comparable: equal owners are the same.
type Owner struct {
	UUID        string // of the physical GPU
	GPUInstance string // "" for a whole GPU
	Workload

	Replica string // which share of a GPU that several containers share, "" otherwise
	Claim   string // "namespace/name" of the DRA claim, "" otherwise
	Source  string

	Allocated bool // a scheduler gave it the device
	Running   bool // it has a process there; never set where the host's processes cannot be seen
	// Conflict marks that a scheduler says otherwise than processes do: the workload runs on a GPU that it was not given,
	// or it was given this one and runs on others. Who uses the GPU is told by Running.
	Conflict bool
}

// Compare orders owners by device, then by workload.
func (o Owner) Compare(other Owner) int {
	return cmp.Or(
		cmp.Compare(o.UUID, other.UUID),
		cmp.Compare(len(o.GPUInstance), len(other.GPUInstance)), cmp.Compare(o.GPUInstance, other.GPUInstance),
		cmp.Compare(o.Namespace, other.Namespace), cmp.Compare(o.Pod, other.Pod), cmp.Compare(o.Container, other.Container),
		cmp.Compare(o.SlurmJob, other.SlurmJob), cmp.Compare(o.SlurmSLUID, other.SlurmSLUID),
		cmp.Compare(o.SlurmStep, other.SlurmStep),
		cmp.Compare(len(o.Rank), len(other.Rank)), cmp.Compare(o.Rank, other.Rank),
		cmp.Compare(o.Replica, other.Replica), cmp.Compare(o.Claim, other.Claim), cmp.Compare(o.User, other.User),
		cmp.Compare(o.PodUID, other.PodUID), cmp.Compare(o.ContainerID, other.ContainerID), cmp.Compare(o.Runtime, other.Runtime),
		cmp.Compare(o.Source, other.Source),
		compareBool(o.Allocated, other.Allocated), compareBool(o.Running, other.Running), compareBool(o.Conflict, other.Conflict),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// settle sorts owners and drops those that are told twice.
func settle(owners []Owner) []Owner {
	slices.SortFunc(owners, Owner.Compare)
	return slices.Compact(owners)
}
