package gpu

// Owner is a workload that was given a device, or uses it. It is known beside the readings and never a label of them.
type Owner struct {
	Namespace, Pod, Container string // of Kubernetes

	SlurmJob, SlurmStep string
	User                string // on whose behalf a Slurm job or a process runs

	ContainerID string
	// Replica tells apart the shares of a GPU that several workloads were given; "" where it is not shared.
	Replica string
	Source  string // who says so: "kubelet", "slurm", "cgroup", or an exporter's labels: "exporter"
	// Conflict says that processes tell otherwise than whoever gave the device away: "not_given" for a workload that runs on a
	// device that it was not given, "not_used" for one that was given it and runs on others; "" where nothing contradicts.
	Conflict string
}

// Known reports whether the owner names anybody.
func (o Owner) Known() bool {
	return o.Pod != "" || o.SlurmJob != "" || o.ContainerID != "" || o.User != "" || o.Namespace != ""
}

// Name is how people see the owner: "namespace/pod", "job 4711", a user, or the first part of a container's id.
func (o Owner) Name() string {
	const shownID = 12
	switch {
	case o.Pod != "" && o.Namespace != "":
		return o.Namespace + "/" + o.Pod
	case o.Pod != "":
		return o.Pod
	case o.SlurmJob != "":
		return "job " + o.SlurmJob
	case o.User != "":
		return o.User
	case o.Container != "":
		return o.Container
	case o.Namespace != "":
		return o.Namespace
	}
	return o.ContainerID[:min(shownID, len(o.ContainerID))]
}

// Ownership is a device and one of its owners.
type Ownership struct {
	Device Device
	Owner  Owner
}
