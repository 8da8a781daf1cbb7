// Package textfile reads a folder of *.prom files, as node_exporter's textfile collector does, so that any script can add
// numbers. It reads on its own schedule, never during a scrape. A file is taken whole or not at all.
package textfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/warpwatch/warpwatch/node-agent/internal/workload"
)

// Options are what a reader needs. Zero numbers are defaults.
type Options struct {
	Dir      string
	Store    *workload.Store
	Interval time.Duration // 15 s
	MaxBytes int64         // of a file, 1 MiB
	MaxFiles int           // 256
	Logger   *slog.Logger
}

// Reader keeps a store up to date with a folder.
type Reader struct {
	o Options

	mu    sync.Mutex
	files map[string]*file
	dir   string // what is wrong with the folder
}

// file is what is known about one.
type file struct {
	stamp   stamp
	taken   bool   // its series are in the store
	problem string // why it is not, or what of it is not
	failed  bool   // it did not parse when it was read last
	retry   bool   // it must be read again even if nobody writes it
}

// stamp tells whether a file was written since.
type stamp struct {
	modified time.Time
	size     int64
}

// Status is what became of a file.
type Status struct {
	Name     string
	Modified time.Time
	Taken    bool
	Problem  string // "" is none
}

// New prepares a reader.
func New(o Options) (*Reader, error) {
	if o.Dir == "" || o.Store == nil {
		return nil, errors.New("a textfile reader needs a folder and a store")
	}
	o.Interval = cmp.Or(o.Interval, 15*time.Second)
	o.MaxBytes = cmp.Or(o.MaxBytes, 1<<20)
	o.MaxFiles = cmp.Or(o.MaxFiles, 256)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Reader{o: o, files: map[string]*file{}}, nil
}

// Run reads the folder now, and at every interval until ctx ends. Its series go with it.
func (r *Reader) Run(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	defer r.leave()
	tick := time.NewTicker(r.o.Interval)
	defer tick.Stop()
	for {
		r.Scan()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// leave takes everything out of the store.
func (r *Reader) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.files {
		r.forget(name)
	}
}

// Scan reads what changed since it was called last.
func (r *Reader) Scan() {
	r.mu.Lock()
	defer r.mu.Unlock()
	root, names, err := r.open()
	if err != nil {
		r.noteDir(err.Error() + ": create the folder, and let the agent's user read it")
		for name := range r.files {
			r.forget(name)
		}
		return
	}
	defer func() { _ = root.Close() }()
	r.noteDir("")
	if over := len(names) - r.o.MaxFiles; over > 0 {
		r.noteDir(fmt.Sprintf("%s has %d files named *.prom, and the last %d by name are not read: remove some, or write one file for several",
			r.o.Dir, len(names), over))
		names = names[:r.o.MaxFiles]
	}
	for name := range r.files {
		if !slices.Contains(names, name) {
			r.forget(name)
		}
	}
	for _, name := range names {
		r.update(root, name)
	}
}

// open lists the files that are meant for the agent. The root keeps links from leading out of the folder.
func (r *Reader) open() (*os.Root, []string, error) {
	root, err := os.OpenRoot(r.o.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("read the textfile folder: %w", err)
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		_ = root.Close()
		return nil, nil, fmt.Errorf("read the textfile folder %s: %w", r.o.Dir, err)
	}
	var names []string
	for _, e := range entries {
		if n := e.Name(); strings.HasSuffix(n, ".prom") && !strings.HasPrefix(n, ".") && utf8.ValidString(n) {
			names = append(names, n)
		}
	}
	return root, names, nil
}

// update reads one file, if it changed.
func (r *Reader) update(root *os.Root, name string) {
	f := r.files[name]
	if f == nil {
		f = &file{}
		r.files[name] = f
	}
	families, now, err := read(root, name, r.o.MaxBytes, f.known())
	if errors.Is(err, errUnchanged) {
		return
	}
	if err != nil {
		r.refuse(name, f, now, err)
		return
	}
	report := r.o.Store.Replace(input(name), families)
	was := f.problem
	*f = file{stamp: now, taken: true}
	if report.Refused == 0 {
		return
	}
	f.problem = report.Messages[0].Text
	for _, m := range report.Messages {
		switch m.Reason {
		case workload.Conflict, workload.Duplicate, workload.TooMany:
			f.retry = true // others are in the way, and may leave
		}
		if f.problem != was {
			r.o.Logger.Warn("Part of a textfile was refused", "reason", m.Text)
		}
	}
}

// known is the stamp of what needs no reading again.
func (f *file) known() stamp {
	if f.retry {
		return stamp{}
	}
	return f.stamp
}

// refuse takes a file's series away. One that does not parse may be half written: it is left alone, with what it had
// before, until it is read a second time.
func (r *Reader) refuse(name string, f *file, now stamp, err error) {
	var why *refusal
	if !errors.As(err, &why) {
		why = &refusal{reason: workload.Unreadable, text: err.Error()}
	}
	if why.reason == workload.Syntax && !f.failed {
		f.failed, f.retry = true, true
		return
	}
	text := input(name) + ": " + why.text
	if text != f.problem {
		r.o.Logger.Warn("A textfile was refused", "reason", text)
	}
	if text != f.problem || now != f.stamp {
		r.o.Store.Refuse(input(name), why.reason, 1)
	}
	*f = file{stamp: now, problem: text, failed: why.reason == workload.Syntax}
	r.o.Store.Clear(input(name))
}

func (r *Reader) forget(name string) {
	delete(r.files, name)
	r.o.Store.Drop(input(name))
}

// noteDir logs what is wrong with the folder once.
func (r *Reader) noteDir(problem string) {
	if problem != "" && problem != r.dir {
		r.o.Logger.Warn("The textfile folder is not read whole", "reason", problem)
	}
	r.dir = problem
}

// Status says what became of each file, by name, and what is wrong with the folder, if anything.
func (r *Reader) Status() (files []Status, problem string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, f := range r.files {
		files = append(files, Status{Name: name, Modified: f.stamp.modified, Taken: f.taken, Problem: f.problem})
	}
	slices.SortFunc(files, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return files, r.dir
}

// input is a file's name in the store.
func input(name string) string { return "textfile/" + name }
