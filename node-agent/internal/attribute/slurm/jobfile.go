package slurm

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Job is what a prolog wrote about a job.
type Job struct {
	ID    string
	SLUID string   // the id that control groups are named for since Slurm 26.05, "" when not told
	Step  string   // "" for the job as a whole
	User  string   // "" when not told
	GPUs  []string // numbers or UUIDs, as Slurm writes them; empty for a job without GPUs

	// Mapping says that GPUs hold indices of nvidia-smi, as files of dcgm-exporter's format do: "0", or "0.7" for a MIG
	// instance.
	Mapping bool
}

// Limits of what a file may hold.
const (
	maxFile  = 64 << 10
	maxValue = 128
	maxGPUs  = 256
)

// errPartial says that a file is still being written.
var errPartial = errors.New("the last line has no end: the file is being written")

// parseJob reads a file of lines "key=value", blank lines and lines that begin with #. The keys are job, sluid, step,
// user and gpus; job and gpus are required. An error names the line.
func parseJob(text []byte) (Job, error) {
	if len(text) > maxFile {
		return Job{}, fmt.Errorf("more than %d bytes", maxFile)
	}
	if len(text) == 0 || text[len(text)-1] != '\n' {
		return Job{}, errPartial
	}
	var job Job
	seen := map[string]bool{}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		content := strings.TrimSpace(string(line))
		if content == "" || content[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(content, "=")
		if !ok {
			return Job{}, fmt.Errorf("line %d: expected key=value, found %q", number, shorten(content))
		}
		if seen[key] {
			return Job{}, fmt.Errorf("line %d: %q was set before", number, shorten(key))
		}
		seen[key] = true
		if err := job.set(key, value); err != nil {
			return Job{}, fmt.Errorf("line %d: %w", number, err)
		}
	}
	for _, key := range []string{"job", "gpus"} {
		if !seen[key] {
			return Job{}, fmt.Errorf("there is no line %s=…", key)
		}
	}
	return job, nil
}

// set takes one line.
func (j *Job) set(key, value string) error {
	field := map[string]*string{"job": &j.ID, "sluid": &j.SLUID, "step": &j.Step, "user": &j.User}[key]
	switch {
	case key == "gpus":
		return j.setGPUs(value)
	case field == nil:
		return fmt.Errorf("unknown key %q: the keys are job, sluid, step, user and gpus", shorten(key))
	case value == "" && key != "job":
		return nil
	case !isWord(value):
		return fmt.Errorf("%s=%q: expected at most %d letters, digits and . _ - + @", key, shorten(value), maxValue)
	}
	*field = value
	return nil
}

func (j *Job) setGPUs(value string) error {
	if value == "" {
		return nil
	}
	gpus := strings.Split(value, ",")
	if len(gpus) > maxGPUs {
		return fmt.Errorf("gpus=…: %d GPUs, at most %d are expected", len(gpus), maxGPUs)
	}
	for _, g := range gpus {
		if g == "" || len(g) > maxValue {
			return fmt.Errorf("gpus=…: expected numbers or UUIDs with commas between, found %q", shorten(g))
		}
	}
	j.GPUs = gpus
	return nil
}

// parseMapping reads the ids of the jobs on one GPU, one a line. Whoever adds a line may not have finished it.
func parseMapping(text []byte) (jobs []string, err error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("more than %d bytes", maxFile)
	}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		id := strings.TrimSpace(string(line))
		if id == "" {
			continue
		}
		if !isWord(id) {
			return nil, fmt.Errorf("line %d: expected the id of a job, found %q", number, shorten(id))
		}
		jobs = append(jobs, id)
	}
	return jobs, nil
}

// isWord reports whether text is short and plain enough for a label.
func isWord(text string) bool {
	for _, c := range []byte(text) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("._-+@", c) >= 0) {
			return false
		}
	}
	return text != "" && len(text) <= maxValue
}

// shorten keeps messages short.
func shorten(text string) string {
	if len(text) > 40 {
		return text[:40] + "…"
	}
	return text
}
