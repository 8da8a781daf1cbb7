package supervise

import "syscall"

// groupLeader puts a process at the head of a group of its own, and has the kernel end it when the supervisor dies
// without a chance to stop it.
func groupLeader() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
