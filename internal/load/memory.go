package load

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// held is the memory of a process over time, in MiB.
type held struct{ start, peak, end int }

// bounded says when more was held than may be, or more and more.
func (h held) bounded(most int) error {
	if h.peak > most {
		return fmt.Errorf("the plugin held %d MiB, and may hold %d", h.peak, most)
	}
	return nil
}

// watch looks at a process until ctx ends; what it returns waits for that.
func watch(ctx context.Context, pid int) func() held {
	done := make(chan held, 1)
	go func() {
		var h held
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			if now, err := residentMiB(pid); err == nil { // one that ended holds nothing, and its answers fail
				if h.start == 0 {
					h.start = now
				}
				h.peak, h.end = max(h.peak, now), now
			}
			select {
			case <-ctx.Done():
				done <- h
				return
			case <-tick.C:
			}
		}
	}()
	return func() held { return <-done }
}

// residentMiB is what Linux says that a process has in memory.
func residentMiB(pid int) (int, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			return kib >> 10, err
		}
	}
	return 0, fmt.Errorf("process %d has ended", pid)
}

// childNamed is the child of a process whose program's name begins so.
func childNamed(parent int, name string) (int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, fmt.Errorf("the memory of processes is read from /proc, which Linux has: %w", err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // it ended meanwhile
		}
		// pid (name) state parent …, where the name has 15 bytes at most and may have blanks.
		end := strings.LastIndexByte(string(stat), ')')
		fields := strings.Fields(string(stat[end+1:]))
		begin := strings.IndexByte(string(stat), '(')
		if end > begin && len(fields) > 1 && fields[1] == strconv.Itoa(parent) && strings.HasPrefix(string(stat[begin+1:end]), name) {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("process %d has no child %s", parent, name)
}
