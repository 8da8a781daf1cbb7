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
	Conflict    Conflict
}

// Conflict says that the processes on the GPUs tell otherwise than whoever gave them away. It is the same word on /metrics,
// in answers and in the stream.
type Conflict string

// The conflicts. Who uses the GPU is the owner that is not NotUsed.
const (
	NoConflict Conflict = ""
	NotGiven   Conflict = "not_given" // the workload runs on this GPU, which it was not given
	NotUsed    Conflict = "not_used"  // it was given this GPU, and runs on others instead
)
