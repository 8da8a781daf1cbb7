package slurm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
}

func TestParseJob(t *testing.T) {
	got, err := parseJob([]byte("# from a prolog\njob=123\n\nsluid=s5K1KKYAYG5D00\nstep=0\nuser=ana.b@lab\ngpus=0,GPU-1,MIG-GPU-2/3/0\n"))
	require.NoError(t, err)
	assert.Equal(t, Job{ID: "123", SLUID: "s5K1KKYAYG5D00", Step: "0", User: "ana.b@lab", GPUs: []string{"0", "GPU-1", "MIG-GPU-2/3/0"}}, got)
	got, err = parseJob([]byte("job=1\ngpus=\nuser=\n"))
	require.NoError(t, err)
	assert.Equal(t, Job{ID: "1"}, got)

	for text, want := range map[string]string{
		"":                   "the last line has no end: the file is being written",
		"job=1\ngpus=0":      "the last line has no end: the file is being written",
		"\n":                 "there is no line job=…",
		"job=1\n":            "there is no line gpus=…",
		"job=\ngpus=0\n":     `line 1: job="": expected at most 128 letters, digits and . _ - + @`,
		"job=../x\ngpus=0\n": `line 1: job="../x": expected at most 128 letters, digits and . _ - + @`,
		"job=1\njob=2\n":     `line 2: "job" was set before`,
		"job=1\nJOB=2\n":     `line 2: unknown key "JOB": the keys are job, sluid, step, user and gpus`,
		"job=1\nnonsense\n":  `line 2: expected key=value, found "nonsense"`,
		"job=1\ngpus=0,,1\n": `line 2: gpus=…: expected numbers or UUIDs with commas between, found ""`,
		"job=1\nuser=a b\n":  `line 2: user="a b": expected at most 128 letters, digits and . _ - + @`,
		"job=1\nuser=" + strings.Repeat("a", 200) + "\n":  `line 2: user="` + strings.Repeat("a", 40) + `…": expected at most 128 letters, digits and . _ - + @`,
		"job=1\ngpus=" + strings.Repeat("0,", 300) + "\n": "line 2: gpus=…: 301 GPUs, at most 256 are expected",
		strings.Repeat("#", maxFile) + "\n":               "more than 65536 bytes",
	} {
		_, err := parseJob([]byte(text))
		assert.EqualError(t, err, want)
	}
}

func TestReadJobs(t *testing.T) {
	folder := t.TempDir()
	r := New(Options{Jobs: folder})
	jobs, problems, err := r.Read()
	require.NoError(t, err)
	assert.Empty(t, jobs)
	assert.Empty(t, problems)

	write(t, folder, "12.job", "job=12\ngpus=0\n")
	write(t, folder, ".13.99", "job=13\ngpus=1\n")
	write(t, folder, ".13.job", "job=13\ngpus=1\n")
	write(t, folder, "notes.txt", "hello")
	write(t, folder, "14.job", "job=15\ngpus=1\n")
	write(t, folder, "16.job", "job=16\nwhat\n")
	require.NoError(t, os.Mkdir(filepath.Join(folder, "17.job"), 0o755))
	require.NoError(t, os.Symlink("12.job", filepath.Join(folder, "18.job")))
	jobs, problems, err = r.Read()
	require.NoError(t, err)
	assert.Equal(t, []Job{{ID: "12", GPUs: []string{"0"}}}, jobs)
	assert.Equal(t, []string{
		"read " + filepath.Join(folder, "14.job") + ": it tells of job 15: a file must be named for its job, 15.job",
		"read " + filepath.Join(folder, "16.job") + `: line 2: expected key=value, found "what"`,
	}, problems)
	again, same, err := r.Read()
	require.NoError(t, err)
	assert.Equal(t, jobs, again)
	assert.Equal(t, problems, same, "problems last as long as the files")

	require.NoError(t, os.Remove(filepath.Join(folder, "12.job")))
	jobs, _, err = r.Read()
	require.NoError(t, err)
	assert.Empty(t, jobs)
}

// Somebody else's prolog may write in place.
func TestAFileThatIsBeingWritten(t *testing.T) {
	folder := t.TempDir()
	r := New(Options{Jobs: folder})
	write(t, folder, "1.job", "job=1\ngpus=0\n")
	before, _, err := r.Read()
	require.NoError(t, err)
	write(t, folder, "1.job", "job=1\ngpus=0,")
	write(t, folder, "2.job", "job=2\ng")
	during, problems, err := r.Read()
	require.NoError(t, err)
	assert.Equal(t, before, during)
	assert.Empty(t, problems)
	write(t, folder, "1.job", "job=1\ngpus=0,1\n")
	write(t, folder, "2.job", "job=2\ngpus=2\n")
	after, _, err := r.Read()
	require.NoError(t, err)
	assert.Equal(t, []Job{{ID: "1", GPUs: []string{"0", "1"}}, {ID: "2", GPUs: []string{"2"}}}, after)
}

func TestMapping(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "0", "118342\n118343\n\n")
	write(t, folder, "1.7", "118344")
	write(t, folder, "README", "not a GPU")
	write(t, folder, "2", "bad line here\n")
	jobs, problems, err := New(Options{Mapping: folder}).Read()
	require.NoError(t, err)
	assert.Equal(t, []Job{
		{ID: "118342", GPUs: []string{"0"}, Mapping: true}, {ID: "118343", GPUs: []string{"0"}, Mapping: true},
		{ID: "118344", GPUs: []string{"1.7"}, Mapping: true},
	}, jobs)
	assert.Equal(t, []string{"read " + filepath.Join(folder, "2") + `: line 1: expected the id of a job, found "bad line here"`}, problems)
}

func TestNoFolder(t *testing.T) {
	_, _, err := New(Options{}).Read()
	assert.ErrorIs(t, err, ErrAbsent)
	_, _, err = New(Options{Jobs: filepath.Join(t.TempDir(), "none")}).Read()
	assert.ErrorIs(t, err, ErrAbsent)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, _, err = New(Options{Jobs: file}).Read()
	assert.ErrorContains(t, err, "list the jobs of Slurm")
}

func TestJobsOfAnEarlierBoot(t *testing.T) {
	folder := t.TempDir()
	boot := time.Now()
	write(t, folder, "1.job", "job=1\ngpus=0\n")
	write(t, folder, "2.job", "job=2\ngpus=1\n")
	require.NoError(t, os.Chtimes(filepath.Join(folder, "1.job"), boot, boot.Add(-time.Hour)))
	require.NoError(t, os.Chtimes(filepath.Join(folder, "2.job"), boot, boot.Add(time.Hour)))
	jobs, problems, err := New(Options{Jobs: folder, Boot: boot}).Read()
	require.NoError(t, err)
	assert.Equal(t, []Job{{ID: "2", GPUs: []string{"1"}}}, jobs)
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "older than the start of this machine")
}

func TestTooManyFiles(t *testing.T) {
	folder := t.TempDir()
	for i := range maxFiles + 3 {
		write(t, folder, fmt.Sprintf("%d.job", i), "nonsense\n")
	}
	jobs, problems, err := New(Options{Jobs: folder}).Read()
	require.NoError(t, err)
	assert.Empty(t, jobs)
	assert.Len(t, problems, maxProblems+2)
	assert.Contains(t, problems[0], "more than 4096 files")
	assert.Equal(t, fmt.Sprintf("%d more files of Slurm jobs cannot be read", maxFiles-maxProblems), problems[len(problems)-1])
}

func FuzzJobFile(f *testing.F) {
	f.Add("job=123\nuser=ana\ngpus=0,1\n")
	f.Add("# x\njob=1\nsluid=s5K1KKYAYG5D00\ngpus=MIG-GPU-2/3/0\n")
	f.Add("118342\n118343\n")
	f.Fuzz(func(t *testing.T, text string) {
		if job, err := parseJob([]byte(text)); err == nil {
			if !isWord(job.ID) || len(job.GPUs) > maxGPUs || job.User != "" && !isWord(job.User) {
				t.Errorf("%q is %+v", text, job)
			}
		}
		if ids, err := parseMapping([]byte(text)); err == nil {
			for _, id := range ids {
				if !isWord(id) {
					t.Errorf("%q is %q", text, ids)
				}
			}
		}
	})
}
