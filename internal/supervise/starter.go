package supervise

import (
	"os/exec"
	"runtime"
	"sync"
)

// starter starts processes from one operating system thread that lives as long as the supervisor. Linux ends a child
// with its parent *thread* when it was asked to end it with its parent, and Go ends threads as it likes.
type starter struct {
	requests chan startRequest
	once     sync.Once
	quit     chan struct{}
}

type startRequest struct {
	cmd    *exec.Cmd
	result chan<- error
}

func newStarter() *starter {
	s := &starter{requests: make(chan startRequest), quit: make(chan struct{})}
	go s.run()
	return s
}

func (s *starter) run() {
	runtime.LockOSThread()
	for {
		select {
		case r := <-s.requests:
			r.result <- r.cmd.Start()
		case <-s.quit:
			return
		}
	}
}

func (s *starter) start(cmd *exec.Cmd) error {
	result := make(chan error, 1)
	s.requests <- startRequest{cmd, result}
	return <-result
}

func (s *starter) stop() { s.once.Do(func() { close(s.quit) }) }
