// Package console prints what a long command is doing: one line a step, with progress while it lasts and its duration
// when it is done.
package console

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// quietFor is how long progress stays unprinted where lines cannot be overwritten.
const quietFor = 10 * time.Second

// Console prints steps to one writer. Its methods are safe for concurrent use.
type Console struct {
	out      io.Writer
	terminal bool // a line can be overwritten
	mu       sync.Mutex
	open     bool // the cursor is at the end of a progress line
}

// New prints to a file, overwriting progress when it is a terminal.
func New(f *os.File) *Console {
	info, err := f.Stat()
	return &Console{out: f, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// NewPlain prints lines to a writer.
func NewPlain(out io.Writer) *Console { return &Console{out: out} }

// Print writes a line.
func (c *Console) Print(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeLine()
	fmt.Fprintf(c.out, format+"\n", args...)
}

// Heading writes a line that stands out.
func (c *Console) Heading(format string, args ...any) {
	c.Print("\n=== "+format, args...)
}

func (c *Console) closeLine() {
	if c.open {
		fmt.Fprint(c.out, "\r\033[K")
		c.open = false
	}
}

// Step runs do and prints its name, its progress, and how long it took. A step that says nothing and takes less than
// a second is not worth a line.
func (c *Console) Step(name string, do func(*Progress) error) error {
	p := &Progress{console: c, name: name, start: time.Now(), printed: time.Now()}
	err := do(p)
	took := time.Since(p.start)
	switch {
	case err != nil:
		c.Print("  %s: not done (after %s)", name, round(took))
		return err
	case p.note != "":
		c.Print("  %s: %s (%s)", name, p.note, round(took))
	case took >= time.Second:
		c.Print("  %s (%s)", name, round(took))
	}
	return nil
}

func round(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// Progress is how a step says where it is.
type Progress struct {
	console *Console
	name    string
	start   time.Time
	printed time.Time
	shown   string // the newest news, printed or not
	note    string
}

// Update shows where the step is. It may be called as often as there is news; only some of it is printed.
func (p *Progress) Update(format string, args ...any) {
	c := p.console
	c.mu.Lock()
	defer c.mu.Unlock()
	p.shown = fmt.Sprintf(format, args...)
	every := quietFor
	if c.terminal {
		every = 100 * time.Millisecond
	}
	if time.Since(p.printed) < every {
		return
	}
	p.printed = time.Now()
	line := fmt.Sprintf("  %s: %s (%s so far)", p.name, p.shown, time.Since(p.start).Round(time.Second))
	if c.terminal {
		fmt.Fprint(c.out, "\r\033[K"+line)
		c.open = true
		return
	}
	fmt.Fprintln(c.out, line)
}

// Note is said about the step when it is done.
func (p *Progress) Note(format string, args ...any) { p.note = fmt.Sprintf(format, args...) }

// Alive shows that the step is still running, where nothing was shown for a while.
func (p *Progress) Alive() {
	p.console.mu.Lock()
	recent, news := time.Since(p.printed) < time.Second, p.shown
	p.console.mu.Unlock()
	if news == "" {
		news = "running"
	}
	if !recent {
		p.Update("%s", news)
	}
}
