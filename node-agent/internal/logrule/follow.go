package logrule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// Bounds of what is followed.
const (
	maxFiles  = 256
	maxPaths  = 4096 // of one pattern
	chunk     = 64 << 10
	maxRead   = 4 << 20 // of one file, before the others have their turn
	findEvery = time.Second
	keepGone  = 30 * time.Second // how long a file that is not selected any more is still read
)

// follower reads what is appended to files.
//
// It looks at all of them once in a while instead of being told by inotify: logs of jobs lie on network file systems, where
// inotify does not see what other machines write. A file is known by its identity, not by its name: renamed by a rotation
// it is read to its end, and the new one of that name from its beginning. All memory is bounded, whatever the logs hold.
type follower struct {
	rules []*active
	own   *selfMetrics
	log   *slog.Logger
	now   func() time.Time

	files   map[fileID]*followed
	started bool            // files that are there at the start are followed from their end
	found   time.Time       // when the files were looked for
	said    map[string]bool // paths that could not be read, and the log says so
	buffer  []byte
}

type fileID struct{ device, inode any }

type followed struct {
	file   *os.File
	offset int64
	lines  splitter
	rules  []*active
	gone   time.Time // when it was not selected any more, zero while it is
}

// candidate is a file that rules select.
type candidate struct {
	path  string
	info  fs.FileInfo
	rules []*active
}

func newFollower(rules []*active, own *selfMetrics, log *slog.Logger) *follower {
	return &follower{
		rules: rules, own: own, log: log, now: time.Now, files: map[fileID]*followed{}, said: map[string]bool{}, buffer: make([]byte, chunk),
	}
}

// run looks at the files until ctx ends.
func (f *follower) run(ctx context.Context, every time.Duration) error {
	defer f.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		next := every
		if f.round(ctx) {
			next = 0 // there is more to read
		}
		timer.Reset(next)
	}
}

func (f *follower) close() {
	for id, file := range f.files {
		file.file.Close()
		delete(f.files, id)
	}
}

// round finds the files and reads each on. It reports whether one has more to read.
func (f *follower) round(ctx context.Context) (more bool) {
	if now := f.now(); !f.started || now.Sub(f.found) >= findEvery {
		f.found = now
		f.find(now)
	}
	f.started = true
	for id, file := range f.files {
		again, err := f.read(ctx, file)
		more = more || again
		if err != nil {
			f.complain(file.file.Name(), err)
		}
		if err != nil || (!again && !file.gone.IsZero() && f.now().Sub(file.gone) >= keepGone) {
			file.file.Close()
			delete(f.files, id)
		}
	}
	f.own.files.WithLabelValues("followed").Set(float64(len(f.files)))
	return more
}

// find opens the files that rules select and that are not open yet, the newest first.
func (f *follower) find(now time.Time) {
	for _, file := range f.files {
		if file.gone.IsZero() {
			file.gone = now
		}
	}
	tooMany, unreadable := 0, 0
	for _, c := range f.candidates() {
		if id, ok := identity(c.info); ok && f.files[id] != nil {
			f.files[id].gone, f.files[id].rules = time.Time{}, c.rules
			continue
		}
		if len(f.files) >= maxFiles {
			tooMany++
			continue
		}
		if err := f.open(c); err != nil {
			unreadable++
			f.complain(c.path, err)
			continue
		}
		delete(f.said, c.path)
	}
	f.own.files.WithLabelValues("too_many").Set(float64(tooMany))
	f.own.files.WithLabelValues("unreadable").Set(float64(unreadable))
}

// candidates are all files that rules select, each once.
func (f *follower) candidates() []*candidate {
	found := map[fileID]*candidate{}
	for _, rule := range f.rules {
		for _, pattern := range rule.Files {
			paths, err := filepath.Glob(pattern)
			if err != nil {
				continue // the pattern was checked
			}
			for _, path := range paths[:min(len(paths), maxPaths)] {
				info, err := os.Stat(path)
				if err != nil || !info.Mode().IsRegular() {
					continue
				}
				id, ok := identity(info)
				if !ok {
					continue
				}
				if found[id] == nil {
					found[id] = &candidate{path: path, info: info}
				}
				if !slices.Contains(found[id].rules, rule) {
					found[id].rules = append(found[id].rules, rule)
				}
			}
		}
	}
	all := make([]*candidate, 0, len(found))
	for _, c := range found {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *candidate) int {
		return cmp.Or(b.info.ModTime().Compare(a.info.ModTime()), cmp.Compare(a.path, b.path))
	})
	return all
}

func identity(info fs.FileInfo) (fileID, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false
	}
	return fileID{s.Dev, s.Ino}, true
}

func (f *follower) open(c *candidate) error {
	// A pipe put there meanwhile must not block.
	file, err := os.OpenFile(c.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		file.Close()
		return errors.Join(err, errors.New("is no regular file"))
	}
	id, ok := identity(info)
	if !ok || f.files[id] != nil {
		file.Close() // it was replaced by one that is known
		return nil
	}
	opened := &followed{file: file, rules: c.rules}
	for _, r := range f.rules {
		opened.lines.limit = max(opened.lines.limit, r.MaxLine)
	}
	opened.lines.tooLong = f.own.tooLong.WithLabelValues(fromFile).Inc
	lines := f.own.lines.WithLabelValues(fromFile)
	opened.lines.line = func(line []byte) {
		lines.Inc()
		now := f.now()
		for _, r := range opened.rules {
			r.apply(line, now)
		}
	}
	if !f.started {
		opened.offset = info.Size()
		// What follows in the middle of a line is no line.
		last := []byte{'\n'}
		if opened.offset > 0 {
			if _, err := file.ReadAt(last, opened.offset-1); err != nil && !errors.Is(err, io.EOF) {
				file.Close()
				return fmt.Errorf("read: %w", err)
			}
		}
		opened.lines.skip = last[0] != '\n' && last[0] != '\r'
	}
	f.files[id] = opened
	return nil
}

// read takes what was appended. It reports whether there is more.
func (f *follower) read(ctx context.Context, file *followed) (more bool, err error) {
	info, err := file.file.Stat()
	if err != nil {
		return false, err
	}
	if info.Size() < file.offset { // it was cut and is written anew
		file.offset = 0
		file.lines.reset()
	}
	for until := file.offset + maxRead; file.offset < until && ctx.Err() == nil; {
		n, err := file.file.ReadAt(f.buffer, file.offset)
		file.offset += int64(n)
		file.lines.write(f.buffer[:n])
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// complain says once that a file cannot be read.
func (f *follower) complain(path string, err error) {
	if f.said[path] || len(f.said) >= maxFiles {
		return
	}
	f.said[path] = true
	f.log.Warn("A file of the log rules cannot be read", "path", path, "reason", err)
}
