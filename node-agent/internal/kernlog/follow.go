package kernlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

const (
	// maxTail is how much of a file from before the agent is read.
	maxTail = 1 << 20
	// maxLine is how long a line may be. No message of the driver comes near it.
	maxLine = 8192
	// pollFile is how often a file is looked at. Unlike inotify it works on every file system, and takes nothing from a
	// small budget that all of a node share.
	pollFile = time.Second
)

// follower reads a file that somebody appends to, and goes on with the new one when it is rotated.
//
// It is not nxadm/tail because that ends the whole process when the file cannot be looked at.
type follower struct {
	path    string
	figures *figures

	file *os.File
	last os.FileInfo // of the file that was open
	read int64       // how many bytes of it are done with
	live bool        // everything from before the agent was read

	buf      []byte // read, but not yet a line
	skipping bool   // to the end of a line
}

func newFollower(path string, figures *figures) *follower {
	return &follower{path: path, figures: figures, buf: make([]byte, 0, maxLine)}
}

// open begins near the end of the file; after a close, where it left off.
func (f *follower) open() error {
	file, err := os.Open(f.path)
	if err != nil {
		return openFailure(f.path, err, grantFile)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return fmt.Errorf("open %s: %w", f.path, err)
	}
	from, inLine := int64(0), false
	switch {
	case f.last == nil:
		from = max(0, info.Size()-maxTail)
		inLine = from > 0
	case os.SameFile(f.last, info) && info.Size() >= f.read:
		from = f.read
	}
	return f.start(file, info, from, inLine)
}

// start reads a file from a place on, which may be within a line.
func (f *follower) start(file *os.File, info os.FileInfo, from int64, inLine bool) error {
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		file.Close()
		return fmt.Errorf("read %s: %w", f.path, err)
	}
	f.file, f.last, f.read, f.skipping, f.buf = file, info, from, inLine, f.buf[:0]
	return nil
}

func (f *follower) close() error { return f.file.Close() }

// next implements source.
func (f *follower) next(ctx context.Context) (entry, error) {
	for {
		line, err := f.line(ctx)
		if err != nil {
			return entry{}, err
		}
		f.figures.records.Inc()
		if at, text, ok := syslogLine(line, time.Now().Round(0), f.live); ok {
			return entry{at: at, text: text, old: !f.live}, nil
		}
	}
}

// line waits for the next whole line.
func (f *follower) line(ctx context.Context) (string, error) {
	rotated := false
	for {
		if line, found := f.take(); found {
			return line, nil
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := f.file.Read(f.buf[len(f.buf):cap(f.buf)])
		f.buf = f.buf[:len(f.buf)+n]
		switch {
		case n > 0:
		case err != nil && !errors.Is(err, io.EOF):
			return "", fmt.Errorf("read %s: %w", f.path, err)
		case rotated:
			// Nothing came between the look at the name and the last look into the file.
			if err := f.reopen(); err != nil {
				return "", err
			}
			rotated = false
		default:
			f.live = true
			if rotated = f.rotated(); !rotated && !sleep(ctx, pollFile) {
				return "", ctx.Err()
			}
		}
	}
}

// take cuts the first whole line off what was read.
func (f *follower) take() (string, bool) {
	for {
		end := bytes.IndexByte(f.buf, '\n')
		if end < 0 {
			break
		}
		line := string(f.buf[:end])
		f.drop(end + 1)
		if !f.skipping {
			return line, true
		}
		f.skipping = false
	}
	if len(f.buf) == cap(f.buf) {
		if !f.skipping {
			f.figures.lost.Inc()
		}
		f.drop(len(f.buf))
		f.skipping = true
	}
	return "", false
}

func (f *follower) drop(n int) {
	f.buf = f.buf[:copy(f.buf, f.buf[n:])]
	f.read += int64(n)
}

// rotated reports whether the name stands for another file now, or the file was emptied. While there is none, the old one
// is read on.
func (f *follower) rotated() bool {
	info, err := os.Stat(f.path)
	return err == nil && (!os.SameFile(f.last, info) || info.Size() < f.read+int64(len(f.buf)))
}

// reopen goes on with the file that has the name now, from its start. It keeps the old one when there is none again.
func (f *follower) reopen() error {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return openFailure(f.path, err, grantFile)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return fmt.Errorf("read %s: %w", f.path, err)
	}
	old := f.file
	if err := f.start(file, info, 0, false); err != nil {
		return err
	}
	old.Close()
	return nil
}

// sleep waits, and reports whether ctx still goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
