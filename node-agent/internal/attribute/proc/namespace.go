package proc

import (
	"os"
	"path/filepath"
)

// HostPIDHint is what to do where the driver's pids mean nothing.
const HostPIDHint = "the driver tells pids of the host, but the agent sees only those of its own container: set hostPID: true (Kubernetes) or --pid=host (Docker) to learn names and owners of processes"

// initialNamespace is the namespace that the kernel starts with; its number is fixed in the kernel.
const initialNamespace = "pid:[4026531836]"

// kernelThread is the flag of a process that runs in the kernel (PF_KTHREAD).
const kernelThread = 0x00200000

// HostPIDs reports whether the tree's pids are those of the host, as the driver's are: either the agent is in the host's
// namespace, or the tree was mounted from it. The host alone has kernel threads, the first of which is process 2.
func (r *Reader) HostPIDs() bool {
	if target, err := os.Readlink(filepath.Join(r.root, "self", "ns", "pid")); err == nil && target == initialNamespace {
		return true
	}
	p, err := r.fs.Proc(2)
	if err != nil {
		return false
	}
	stat, err := p.Stat()
	return err == nil && stat.PPID == 0 && stat.Flags&kernelThread != 0
}
