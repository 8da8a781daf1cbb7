package supervise

import "syscall"

// A group that is already gone is what was wanted, so the error of kill says nothing.
func terminateGroup(pgid int) { _ = syscall.Kill(-pgid, syscall.SIGTERM) }

func killGroup(pgid int) { _ = syscall.Kill(-pgid, syscall.SIGKILL) }

// Kill ends a stray at once.
func (s Stray) Kill() error { return syscall.Kill(s.PID, syscall.SIGKILL) }
