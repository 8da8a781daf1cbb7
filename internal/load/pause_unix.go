//go:build unix

package load

import "syscall"

func pause(pid int) error { return syscall.Kill(pid, syscall.SIGSTOP) }

func resume(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }
