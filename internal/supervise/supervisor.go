// Package supervise starts the processes of a local stack, keeps their output in files, waits until each of them
// answers, and ends all of them: every process leads a group of its own, and a group is ended as a whole.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Spec is one process to run.
type Spec struct {
	Name string // also the name of its log file
	Path string
	Args []string
	Env  []string // added to the environment of this process
	Dir  string

	// Ready is asked again and again until it returns nil. A nil Ready means that a started process is ready.
	Ready func(context.Context) error
	// Within bounds how long Ready may take; 0 is a minute.
	Within time.Duration
}

// Process is a started Spec.
type Process struct {
	Name string
	PID  int
	Log  string // path of the file with its output

	cmd  *exec.Cmd
	done chan struct{} // closed when it ended
	err  error         // how it ended; read after done
}

// Exit tells that a process ended before the supervisor was asked to stop.
type Exit struct {
	Name string
	Log  string
	Err  error // how it ended, exit status 0 too
}

// Supervisor owns the processes it started. Its methods are safe for concurrent use.
type Supervisor struct {
	logDir  string
	env     []string
	starter *starter
	exits   chan Exit

	mu        sync.Mutex
	processes []*Process
	stopping  bool
}

// New prepares a supervisor that logs into logDir and adds env to the environment of every process. The caller ends it
// with Stop.
func New(logDir string, env ...string) (*Supervisor, error) {
	if err := os.MkdirAll(logDir, 0o755); err != nil {
		return nil, fmt.Errorf("make log folder: %w", err)
	}
	return &Supervisor{logDir: logDir, env: env, starter: newStarter(), exits: make(chan Exit, 64)}, nil
}

// Exits delivers the processes that ended on their own after they were ready.
func (s *Supervisor) Exits() <-chan Exit { return s.exits }

// Processes are those started so far, in the order of their start.
func (s *Supervisor) Processes() []*Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.processes)
}

// Start runs a process and returns when it is ready. On failure the process is ended and the error carries the end of
// its log.
func (s *Supervisor) Start(ctx context.Context, spec Spec) (*Process, error) {
	p, err := s.launch(spec)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	if err := p.waitReady(ctx, spec); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("start %s: %w", spec.Name, ctx.Err())
		}
		return nil, fmt.Errorf("start %s: %w\n%s", spec.Name, err, Tail(p.Log, 15))
	}
	go s.report(p)
	return p, nil
}

func (s *Supervisor) launch(spec Spec) (*Process, error) {
	path := filepath.Join(s.logDir, spec.Name+".log")
	log, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer log.Close()

	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Dir = spec.Dir
	cmd.Env = append(append(os.Environ(), s.env...), spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = groupLeader()

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return nil, errors.New("the stack is being stopped")
	}
	if err := s.starter.start(cmd); err != nil {
		return nil, err
	}
	p := &Process{Name: spec.Name, PID: cmd.Process.Pid, Log: path, cmd: cmd, done: make(chan struct{})}
	s.processes = append(s.processes, p)
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// report hands the end of a process to whoever reads Exits, unless it was asked for.
func (s *Supervisor) report(p *Process) {
	<-p.done
	s.mu.Lock()
	stopping := s.stopping
	s.mu.Unlock()
	if !stopping {
		select {
		case s.exits <- Exit{Name: p.Name, Log: p.Log, Err: orExited(p.err)}:
		default: // 64 ended processes nobody asked about
		}
	}
}

func (p *Process) waitReady(ctx context.Context, spec Spec) error {
	if spec.Ready == nil {
		return nil
	}
	within := spec.Within
	if within == 0 {
		within = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		if last = spec.Ready(ctx); last == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("it ended: %w", orExited(p.err))
		case <-ctx.Done():
			return fmt.Errorf("not ready after %s: %w", within, last)
		case <-tick.C:
		}
	}
}

func orExited(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// Stop asks every process to end, waits at most grace, and kills what is left, children included. It returns when
// nothing is left, and may be called more than once.
func (s *Supervisor) Stop(grace time.Duration) {
	s.mu.Lock()
	s.stopping = true
	processes := slices.Clone(s.processes)
	s.mu.Unlock()

	for _, p := range processes {
		terminateGroup(p.PID)
	}
	waitAll(processes, grace)
	for _, p := range processes {
		killGroup(p.PID)
	}
	for _, p := range processes {
		<-p.done
	}
	s.starter.stop()
}

// waitAll returns when every process ended, or after the grace.
func waitAll(processes []*Process, grace time.Duration) {
	deadline := time.After(grace)
	for _, p := range processes {
		select {
		case <-p.done:
		case <-deadline:
			return
		}
	}
}
