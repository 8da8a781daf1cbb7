// Package build makes what the demo and the tests run: the plugin, the agent, the preview, and the tools beside them.
// Every step says how far it is, keeps its output in a log file, and is skipped while its inputs are what they were.
package build

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/internal/console"
	"github.com/warpwatch/warpwatch/internal/stamp"
	"github.com/warpwatch/warpwatch/internal/supervise"
)

// Builder makes the artefacts of one checkout.
type Builder struct {
	Root    string // the checkout
	Console *console.Console
}

// Cache is the folder for everything that is built but not shipped.
func (b Builder) Cache() string { return filepath.Join(b.Root, ".cache") }

// Bin is the path of an executable that is built but not shipped.
func (b Builder) Bin(name string) string { return filepath.Join(b.Cache(), "bin", name) }

// step runs do when the stamp says so.
func (b Builder) step(name string, s stamp.Stamp, do func(*console.Progress) error) error {
	s.File = filepath.Join(b.Cache(), "stamps", fileName(name))
	for i, in := range s.Inputs {
		s.Inputs[i] = filepath.Join(b.Root, in)
	}
	due, hash, err := s.Due()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if !due {
		return nil
	}
	return b.Console.Step(name, func(p *console.Progress) error {
		p.Note("done")
		if err := do(p); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return s.Done(hash)
	})
}

func fileName(step string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '/' {
			return '-'
		}
		return r
	}, step)
}

// command is one run of a tool.
type command struct {
	dir    string   // below the checkout
	env    []string // added to ours
	argv   []string
	onLine func(string) // is given every line of output as it comes
}

// run runs a tool with its output in a log file, whose end is in the error when the tool fails. A tool that is silent
// for long still shows that it is running.
func (b Builder) run(ctx context.Context, step string, p *console.Progress, c command) error {
	path := filepath.Join(b.Cache(), "logs", fileName(step)+".log")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	log, err := os.Create(path)
	if err != nil {
		return err
	}
	defer log.Close()

	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir = filepath.Join(b.Root, c.dir)
	cmd.Env = append(os.Environ(), c.env...)
	cmd.WaitDelay = 5 * time.Second
	output, feed := io.Pipe()
	cmd.Stdout, cmd.Stderr = feed, feed
	var reading sync.WaitGroup
	reading.Go(func() { readLines(output, log, c.onLine) })
	stop := keepAlive(p)
	err = cmd.Run()
	stop()
	_ = feed.Close() // never fails
	reading.Wait()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(c.argv, " "), err, supervise.Tail(path, 25))
	}
	return nil
}

func readLines(in io.Reader, log io.Writer, onLine func(string)) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		// What cannot be logged is lost to the log only.
		_, _ = io.WriteString(log, line)
		if onLine != nil && line != "" {
			onLine(strings.TrimSuffix(line, "\n"))
		}
		if err != nil {
			return
		}
	}
}

// keepAlive shows that a step is still running until the returned function is called.
func keepAlive(p *console.Progress) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.Alive()
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
