package slurm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// script runs one of the deployed scripts as Slurm does: with hardly an environment.
func script(t *testing.T, name, folder string, env ...string) (stderr string) {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("needs a shell")
	}
	cmd := exec.Command(shell, "-eu", filepath.Join("..", "..", "..", "deploy", "slurm", name))
	cmd.Env = append(env, "WARPWATCH_SLURM_DIR="+folder)
	var said strings.Builder
	cmd.Stderr = &said
	require.NoError(t, cmd.Run(), "a failing script takes the node out of service: %s", &said)
	return said.String()
}

func TestScripts(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run", "slurm")
	r := New(Options{Jobs: folder})
	for _, tc := range []struct {
		env  []string
		want Job
	}{
		{[]string{"SLURM_JOB_USER=ana", "SLURM_JOB_GPUS=0,1", "CUDA_VISIBLE_DEVICES=0,1"}, Job{User: "ana", GPUs: []string{"0", "1"}}},
		{[]string{"SLURM_JOB_USER=ana", "CUDA_VISIBLE_DEVICES=3"}, Job{User: "ana", GPUs: []string{"3"}}},
		{[]string{"SLURM_JOB_SLUID=s5K1KKYAYG5D00", "SLURM_JOB_GPUS=0", "CUDA_VISIBLE_DEVICES=MIG-1,MIG-GPU-2/3/0"},
			Job{SLUID: "s5K1KKYAYG5D00", GPUs: []string{"MIG-1", "MIG-GPU-2/3/0"}}},
		{[]string{"SLURM_JOB_USER=a b\ngpus=9", "SLURM_JOB_GPUS=4"}, Job{GPUs: []string{"4"}}},
	} {
		assert.Empty(t, script(t, "prolog.sh", folder, append(tc.env, "SLURM_JOB_ID=77")...))
		jobs, problems, err := r.Read()
		require.NoError(t, err)
		assert.Empty(t, problems)
		tc.want.ID = "77"
		assert.Equal(t, []Job{tc.want}, jobs)
		assert.Empty(t, script(t, "epilog.sh", folder, "SLURM_JOB_ID=77"))
		left, err := os.ReadDir(folder)
		require.NoError(t, err)
		assert.Empty(t, left, "nothing stays behind")
	}
}

func TestScriptsThatHaveNothingToDo(t *testing.T) {
	folder := t.TempDir()
	assert.Empty(t, script(t, "prolog.sh", folder, "SLURM_JOB_ID=1"), "a job without GPUs")
	assert.Empty(t, script(t, "prolog.sh", folder, "SLURM_JOB_ID=1", "CUDA_VISIBLE_DEVICES=NoDevFiles"))
	assert.Contains(t, script(t, "prolog.sh", folder, "SLURM_JOB_ID=1", "SLURM_JOB_GPUS=0;rm -rf /"), "is no list of GPUs")
	assert.Contains(t, script(t, "prolog.sh", folder, "SLURM_JOB_ID=../x", "SLURM_JOB_GPUS=0"), "not the number of a job")
	assert.Contains(t, script(t, "epilog.sh", folder, "SLURM_JOB_ID=../x"), "not the number of a job")
	assert.Contains(t, script(t, "epilog.sh", folder), "not the number of a job")
	assert.Empty(t, script(t, "epilog.sh", folder, "SLURM_JOB_ID=2"), "a job that left no file")
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestPrologThatCannotWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.Contains(t, script(t, "prolog.sh", file, "SLURM_JOB_ID=5", "SLURM_JOB_GPUS=0"), "job 5: cannot write "+file+"/5.job")
}
