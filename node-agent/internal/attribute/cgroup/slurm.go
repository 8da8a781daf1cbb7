package cgroup

import "strings"

// Slurm is where in a job a process is.
type Slurm struct {
	Job   string // number of the job, "" where only its SLUID is known
	SLUID string // what the groups of Slurm 26.05 and later are named for, "s5K1KKYAYG5D00"
	Step  string // a number, "batch", "extern" or "interactive"
	Task  string // number of the task in the step
	UID   string // number of the user, which version 2 of control groups does not tell
}

// Found reports whether the process belongs to a job.
func (s Slurm) Found() bool { return s.Job != "" || s.SLUID != "" }

// fill takes what s lacks from more, if that is the same job.
func (s *Slurm) fill(more Slurm) {
	if s.Found() && (s.Job != more.Job || s.SLUID != more.SLUID) {
		return
	}
	for _, pair := range []struct {
		have *string
		more string
	}{{&s.Job, more.Job}, {&s.SLUID, more.SLUID}, {&s.Step, more.Step}, {&s.Task, more.Task}, {&s.UID, more.UID}} {
		if *pair.have == "" {
			*pair.have = pair.more
		}
	}
}

// reader follows a path part by part.
type reader struct {
	job  Slurm
	root bool // a part before said that what follows is Slurm's
}

// read takes the next part of paths like these, node being the node's name:
//
//	/slurm/uid_1000/job_123/step_0/task_0               version 1; also /slurm_<node>/…
//	/system.slice/slurmstepd.scope/job_123/step_batch/user/task_0   version 2; also <node>_slurmstepd.scope
//	/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_1   Slurm 26.05
func (r *reader) read(part string) {
	if part == "slurm" && !r.job.Found() || strings.HasPrefix(part, "slurm_") || part == "slurmstepd.scope" || strings.HasSuffix(part, "_slurmstepd.scope") {
		r.job, r.root = Slurm{}, true
		return
	}
	if !r.root {
		return
	}
	key, value, keyed := strings.Cut(part, "_")
	switch {
	case !r.job.Found() && isSLUID(part):
		r.job.SLUID = part
	case !keyed || !isWord(value):
	case key == "uid" && isNumber(value):
		r.job.UID = value
	case key == "job" && isNumber(value):
		r.job.Job = value
	case key == "job" && !r.job.Found():
		r.job.SLUID = value
	case key == "step" && r.job.Found():
		r.job.Step = value
	case key == "task" && r.job.Found() && isNumber(value):
		r.job.Task = value
	}
}

// isSLUID reports whether text is a job's sortable id: "s" and 13 digits or capital letters.
func isSLUID(text string) bool {
	if len(text) != 14 || text[0] != 's' {
		return false
	}
	for _, c := range []byte(text[1:]) {
		if !(c >= '0' && c <= '9' || c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return true
}

func isNumber(text string) bool {
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return text != "" && len(text) <= 20
}

// isWord reports whether text is short and plain enough for a label.
func isWord(text string) bool {
	for _, c := range []byte(text) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '+' || c == '.' || c == '-' || c == '_') {
			return false
		}
	}
	return text != "" && len(text) <= 64
}
