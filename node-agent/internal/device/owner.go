package device

// Owner is a workload, and a GPU or MIG instance that it was given or uses. What does not apply is "".
type Owner struct {
	UUID        string // of the physical GPU
	GPUInstance string // of a MIG instance

	Namespace, Pod, PodUID, Container string
	// Replica tells apart the shares of a GPU that is given to several containers.
	Replica string
	Claim   string // DRA resource claim, "namespace/name"

	SlurmJob, SlurmStep string
	User                string

	ContainerID string
	Runtime     string // "docker", "containerd", …
	Source      string // who says so: "kubelet", "slurm" or "cgroup"
}
