package supervise

import (
	"fmt"
	"slices"

	"github.com/prometheus/procfs"
)

// Stray is a process that outlived the supervisor that started it.
type Stray struct {
	PID  int
	Name string
}

// Strays are the running processes that carry mark ("NAME=value") in their environment. A process can lose its parent,
// its files and its group, but not the environment it was started with.
func Strays(mark string) ([]Stray, error) {
	processes, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	self, err := procfs.Self()
	if err != nil {
		return nil, fmt.Errorf("read own process: %w", err)
	}
	var strays []Stray
	for _, p := range processes {
		if p.PID == self.PID {
			continue
		}
		// Processes of other users, and those that end meanwhile, cannot be read and are not ours.
		env, err := p.Environ()
		if err != nil || !slices.Contains(env, mark) {
			continue
		}
		name, err := p.Comm()
		if err != nil {
			continue
		}
		strays = append(strays, Stray{PID: p.PID, Name: name})
	}
	return strays, nil
}
