package attribute

import (
	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/cgroup"
	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/kubelet"
	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/proc"
)

// ProcessInfo is what a process on a GPU is.
type ProcessInfo struct {
	PID   int
	Name  string // of the program, without arguments; "" when not known
	User  string // name, or number where there is no name; "" when not known
	Start uint64 // in clock ticks since the machine started; with PID it names the process for ever
	Workload

	// HostPID marks a pid of the host that cannot be looked up from here: nothing but PID is known. Hint says what helps.
	HostPID bool
	Hint    string
}

// known is a process that was looked up.
type known struct {
	info proc.Info
	work Workload
}

// know tells from its control groups whose a process is.
func know(info proc.Info, names kubelet.Names) known {
	place := cgroup.Parse(info.Cgroups)
	w := Workload{
		PodUID: place.PodUID, ContainerID: place.ContainerID, Runtime: place.Runtime, Container: names.Containers[place.ContainerID],
		SlurmJob: place.Slurm.Job, SlurmSLUID: place.Slurm.SLUID, SlurmStep: place.Slurm.Step, Rank: place.Slurm.Task,
	}
	if pod, ok := names.Pods[place.PodUID]; ok {
		w.Namespace, w.Pod = pod.Namespace, pod.Name
	}
	// In a container the number of a user means nothing outside of it.
	if place.ContainerID == "" && place.PodUID == "" {
		w.User = info.User
		if w.User == "" {
			w.User = place.Slurm.UID
		}
	}
	return known{info: info, work: w}
}

// Describe tells what a process is, false when it has ended. It may be called at any time by any goroutine.
func (a *Attributor) Describe(pid int) (ProcessInfo, bool) {
	if a.o.Proc == nil {
		return ProcessInfo{}, false
	}
	s := a.Snapshot()
	if !s.hostPIDs && !a.o.Proc.HostPIDs() {
		return ProcessInfo{PID: pid, HostPID: true, Hint: proc.HostPIDHint}, true
	}
	start, err := a.o.Proc.Start(pid)
	if err != nil {
		return ProcessInfo{}, false
	}
	k, ok := s.processes[pid]
	if !ok || k.info.Start != start { // it is new, or another one got its number
		info, err := a.o.Proc.Read(pid)
		if err != nil {
			return ProcessInfo{}, false
		}
		k = know(info, s.names)
	}
	return ProcessInfo{PID: pid, Name: k.info.Name, User: k.info.User, Start: k.info.Start, Workload: k.work}, true
}
