package load

import (
	"context"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/internal/demo"
)

// How long an agent is paused, which is longer than the plugin waits for a heartbeat, and how long all run before the next.
const (
	paused  = 20 * time.Second
	between = 10 * time.Second
)

// pauseAgents pauses the stack's agents in turn until ctx ends, and leaves all of them running.
func pauseAgents(ctx context.Context, state demo.State, tally *tally) {
	var agents []int
	for _, p := range state.Processes {
		if strings.HasPrefix(p.Name, "agent-") {
			agents = append(agents, p.PID)
		}
	}
	for i := 0; len(agents) > 0; i++ {
		pid := agents[i%len(agents)]
		for _, step := range []struct {
			do    func(pid int) error
			after time.Duration
		}{{pause, paused}, {resume, between}} {
			if err := step.do(pid); err != nil {
				tally.fail(ctx, "pause an agent: "+err.Error())
				return
			}
			select {
			case <-time.After(step.after):
			case <-ctx.Done():
				_ = resume(pid) // one that ended needs none
				return
			}
		}
	}
}
