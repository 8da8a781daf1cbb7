package ports

import (
	"fmt"
	"strings"

	"github.com/prometheus/procfs"
)

// listening is TCP_LISTEN of the kernel's include/net/tcp_states.h.
const listening = 10

// Holder describes the process that listens on a port: "grafana (pid 812)".
func Holder(port int) string {
	inode, found := socket(port)
	if !found {
		return "a process that has just ended"
	}
	processes, err := procfs.AllProcs()
	if err != nil {
		return "a process that cannot be looked up: " + err.Error()
	}
	target := fmt.Sprintf("socket:[%d]", inode)
	for _, p := range processes {
		files, err := p.FileDescriptorTargets()
		if err != nil {
			continue // ended meanwhile, or another user's
		}
		for _, f := range files {
			if f == target {
				return describe(p)
			}
		}
	}
	return "a process of another user"
}

func socket(port int) (inode uint64, found bool) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, false
	}
	for _, table := range []func() (procfs.NetTCP, error){fs.NetTCP, fs.NetTCP6} {
		lines, err := table()
		if err != nil {
			continue // a kernel without IPv6 has no tcp6
		}
		for _, line := range lines {
			if line.LocalPort == uint64(port) && line.St == listening {
				return line.Inode, true
			}
		}
	}
	return 0, false
}

func describe(p procfs.Proc) string {
	command, err := p.CmdLine()
	if err != nil || len(command) == 0 {
		return fmt.Sprintf("pid %d", p.PID)
	}
	text := strings.Join(command, " ")
	if len(text) > 100 {
		text = text[:100] + "…"
	}
	return fmt.Sprintf("pid %d: %s", p.PID, text)
}
