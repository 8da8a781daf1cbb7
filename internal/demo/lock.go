package demo

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/warpwatch/warpwatch/internal/supervise"
)

// markVariable is in the environment of every process of a stack. Its value is the stack's folder.
const markVariable = "WARPWATCH_DEMO_FOLDER"

// mark is how a stack's processes are recognised after it died.
func (f Folder) mark() string { return markVariable + "=" + string(f) }

// acquire makes this process the only one that runs a stack in the folder, until release is called or it ends.
func (f Folder) acquire() (release func(), err error) {
	if err := os.MkdirAll(string(f), 0o755); err != nil {
		return nil, fmt.Errorf("make demo folder: %w", err)
	}
	file, err := os.OpenFile(f.lock(), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock demo folder: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			who, rerr := os.ReadFile(f.lock())
			if rerr != nil || len(who) == 0 {
				who = []byte("another process")
			}
			return nil, fmt.Errorf("the demo in %s is already running: %s", f, strings.TrimSpace(string(who)))
		}
		return nil, fmt.Errorf("lock %s: %w", f.lock(), err)
	}
	if err := f.signLock(file, fmt.Sprintf("pid %d", os.Getpid())); err != nil {
		file.Close()
		return nil, err
	}
	return func() { file.Close() }, nil
}

func (f Folder) signLock(file *os.File, who string) error {
	if err := file.Truncate(0); err != nil {
		return fmt.Errorf("sign %s: %w", f.lock(), err)
	}
	if _, err := file.WriteAt([]byte(who+"\n"), 0); err != nil {
		return fmt.Errorf("sign %s: %w", f.lock(), err)
	}
	return nil
}

// sweep ends processes of an earlier stack in the folder that died without stopping them. The caller holds the lock,
// so none of them belongs to a stack that is running.
func (f Folder) sweep() (ended []supervise.Stray, err error) {
	strays, err := supervise.Strays(f.mark())
	if err != nil {
		return nil, fmt.Errorf("look for left-over processes: %w", err)
	}
	for _, s := range strays {
		if err := s.Kill(); err != nil && !errors.Is(err, syscall.ESRCH) {
			return ended, fmt.Errorf("end left-over process %d (%s): %w", s.PID, s.Name, err)
		}
		ended = append(ended, s)
	}
	return ended, nil
}
