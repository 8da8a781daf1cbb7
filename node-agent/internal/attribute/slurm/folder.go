// Package slurm reads which job was given which GPUs, from the files that a Slurm prolog writes when a job starts and an
// epilog removes when it ends.
package slurm

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// DefaultJobs is where the prolog that comes with the agent writes. It is in memory: no job outlives the machine there.
const DefaultJobs = "/run/warpwatch/slurm"

// ErrAbsent says that no prolog has written here.
var ErrAbsent = errors.New("no folder of Slurm jobs is here")

const (
	jobEnding   = ".job"
	maxFiles    = 4096
	maxProblems = 32
)

// Options of a Reader.
type Options struct {
	Jobs    string // folder of files <job>.job, "" for none
	Mapping string // folder in the format of dcgm-exporter's --hpc-job-mapping-dir, "" for none
	// Boot is when the machine started: older files are of jobs that it took along. Zero when not known.
	Boot time.Time
}

// Reader reads folders again and again. It is used by one goroutine.
type Reader struct {
	o     Options
	files map[string]file // by path
}

// file is what was read of a file, until it changes.
type file struct {
	changed time.Time
	size    int64
	jobs    []Job
	problem string // "" when it could be read
}

// New prepares a reader.
func New(o Options) *Reader { return &Reader{o: o, files: map[string]file{}} }

// Read lists the jobs. problems tell about single files, as sentences. The error is ErrAbsent when no folder is there.
func (r *Reader) Read() (jobs []Job, problems []string, err error) {
	kept := map[string]file{}
	found := false
	for _, folder := range []struct {
		path string
		take func(name string) (parser, bool)
	}{{r.o.Jobs, jobFile}, {r.o.Mapping, mappingFile}} {
		if folder.path == "" {
			continue
		}
		entries, more, err := list(folder.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("list the jobs of Slurm: %w", err)
		}
		found = true
		if more {
			problems = append(problems, fmt.Sprintf("%s holds more than %d files: the others are not read", folder.path, maxFiles))
		}
		for _, entry := range entries {
			if parse, ok := folder.take(entry.Name()); ok {
				r.read(filepath.Join(folder.path, entry.Name()), entry, parse, kept)
			}
		}
	}
	r.files = kept
	if !found {
		return nil, nil, ErrAbsent
	}
	jobs, more := r.result()
	return jobs, append(problems, more...), nil
}

// result adds up what is known of all files, in their order.
func (r *Reader) result() (jobs []Job, problems []string) {
	paths := make([]string, 0, len(r.files))
	for path := range r.files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	left := 0
	for _, path := range paths {
		f := r.files[path]
		jobs = append(jobs, f.jobs...)
		switch {
		case f.problem == "":
		case len(problems) < maxProblems:
			problems = append(problems, f.problem)
		default:
			left++
		}
	}
	if left > 0 {
		problems = append(problems, fmt.Sprintf("%d more files of Slurm jobs cannot be read", left))
	}
	return jobs, problems
}

// read takes a file that changed, and what is known of one that did not. While a file is being written, what it held
// before counts.
func (r *Reader) read(path string, entry fs.DirEntry, parse parser, kept map[string]file) {
	info, err := entry.Info()
	if err != nil || !info.Mode().IsRegular() {
		return // it was removed in between, or is no file
	}
	before, known := r.files[path]
	if known && before.changed.Equal(info.ModTime()) && before.size == info.Size() {
		kept[path] = before
		return
	}
	now := file{changed: info.ModTime(), size: info.Size()}
	if !r.o.Boot.IsZero() && info.ModTime().Before(r.o.Boot) {
		now.problem = fmt.Sprintf("%s is older than the start of this machine, so that its job is not running any more: remove it", path)
		kept[path] = now
		return
	}
	text, err := readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err == nil:
		now.jobs, err = parse(text)
	}
	if errors.Is(err, errPartial) {
		before.changed = time.Time{} // look again
		kept[path] = before
		return
	}
	if err != nil {
		now.problem = fmt.Sprintf("read %s: %v", path, err)
	}
	kept[path] = now
}

// parser reads the text of a file.
type parser func(text []byte) ([]Job, error)

// jobFile takes "123.job". A name with a dot in front is one that is being written.
func jobFile(name string) (parser, bool) {
	id, ok := strings.CutSuffix(name, jobEnding)
	if !ok || strings.HasPrefix(name, ".") {
		return nil, false
	}
	return func(text []byte) ([]Job, error) {
		job, err := parseJob(text)
		if err != nil {
			return nil, err
		}
		if job.ID != id {
			return nil, fmt.Errorf("it tells of job %s: a file must be named for its job, %s%s", job.ID, job.ID, jobEnding)
		}
		return []Job{job}, nil
	}, true
}

// mappingFile takes "3" and "3.7": an index, or a MIG instance of it.
func mappingFile(name string) (parser, bool) {
	index, instance, split := strings.Cut(name, ".")
	if !isNumber(index) || split && !isNumber(instance) {
		return nil, false
	}
	return func(text []byte) ([]Job, error) {
		ids, err := parseMapping(text)
		if err != nil {
			return nil, err
		}
		jobs := make([]Job, len(ids))
		for i, id := range ids {
			jobs[i] = Job{ID: id, GPUs: []string{name}, Mapping: true}
		}
		return jobs, nil
	}, true
}

func isNumber(text string) bool {
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return text != "" && len(text) <= 6
}

// list reads the first entries of a folder, in the order of their names.
func list(folder string) (entries []fs.DirEntry, more bool, err error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	entries, err = f.ReadDir(maxFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	if len(entries) > maxFiles {
		entries, more = entries[:maxFiles], true
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, more, nil
}

// readFile reads a file up to just above the limit, so that a parser sees that it is too long.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}
