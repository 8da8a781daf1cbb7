//go:build unix && !linux

package supervise

import "syscall"

// groupLeader puts a process at the head of a group of its own.
func groupLeader() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
