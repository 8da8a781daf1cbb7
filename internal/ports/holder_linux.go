package ports

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// listening is TCP_LISTEN of the kernel's include/net/tcp_states.h, as /proc writes it.
const listening = "0A"

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

// socket is the inode of the socket that listens on a port.
func socket(port int) (inode uint64, found bool) {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue // a kernel without IPv6 has no tcp6
		}
		if inode, found = listener(string(text), port); found {
			return inode, true
		}
	}
	return 0, false
}

// listener looks for a listening port in the text of /proc/net/tcp, whose columns proc_net_tcp.rst of the kernel lists:
// sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode …
func listener(text string, port int) (inode uint64, found bool) {
	for line := range strings.Lines(text) {
		columns := strings.Fields(line)
		if len(columns) < 10 || columns[3] != listening {
			continue
		}
		_, hex, _ := strings.Cut(columns[1], ":")
		if n, err := strconv.ParseUint(hex, 16, 16); err != nil || n != uint64(port) {
			continue
		}
		inode, err := strconv.ParseUint(columns[9], 10, 64)
		return inode, err == nil
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
