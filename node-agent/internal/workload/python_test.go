package workload_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/workload"
	"github.com/warpwatch/warpwatch/node-agent/internal/workload/otlp"
	"github.com/warpwatch/warpwatch/node-agent/internal/workload/textfile"
)

const pythonFolder = "../../python"

// python runs python3 in the folder of the callback, or skips the test.
func python(t *testing.T, env []string, args ...string) string {
	t.Helper()
	name, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("needs python3: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), name, append([]string{"-B"}, args...)...)
	cmd.Dir = pythonFolder
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1"}, env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

func TestTheCallbacksOwnTests(t *testing.T) {
	python(t, nil, "-m", "unittest", "-q")
}

const loop = `
import math, warpwatch
report = warpwatch.Reporter(labels={"gpu": 0})
report.model(parameters=7e9, gpus=8)
report.pipeline(4, 8)
for _ in report.data(range(3)):
    report.step(loss=math.nan, grad_norm=1.5, tokens=4096, seconds=2)
report.add("train_checkpoint_seconds_total", 12)
report.set("gpu_secret", 1)
`

// sent is what loop reports, in the agent's text.
func sent(labels string) []string {
	return []string{
		"train_loss" + labels + " NaN\n", "train_grad_norm" + labels + " 1.5\n", "train_step_total" + labels + " 3\n",
		"train_tokens_per_second" + labels + " 2048\n", "train_model_parameters" + labels + " 7e+09\n", "train_gpus" + labels + " 8\n",
		"train_pipeline_bubble_ratio" + labels + " 0.2727272727272727\n", "# TYPE train_checkpoint_seconds_total counter\n",
		"# HELP train_loss Loss of the newest step.\n# TYPE train_loss gauge\n",
	}
}

const labels = `{gpu="0",gpu_uuid="GPU-0",job_id="42",node="n1",rank="3"}`

func newStore() *workload.Store {
	return workload.New(workload.Options{Node: "n1", GPU: func(index string) (string, bool) { return "GPU-" + index, true }})
}

func TestTheCallbackPushes(t *testing.T) {
	store := newStore()
	receiver, err := otlp.New(otlp.Options{Store: store})
	require.NoError(t, err)
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("secret\n"), 0o600))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		receiver.ServeHTTP(w, r)
	}))
	defer server.Close()
	out := python(t, []string{
		"WARPWATCH_URL=" + server.URL + "/v1/metrics", "WARPWATCH_TOKEN_FILE=" + token, "SLURM_JOB_ID=42", "RANK=3",
	}, "-c", loop)
	text := string(store.Append(nil))
	for _, want := range sent(labels) {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "gpu_secret")
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
	assert.Contains(t, out, "gpu_secret: names that begin with gpu_ are kept", "the job's log says why")
}

func TestTheCallbackWritesAFile(t *testing.T) {
	store := newStore()
	folder := t.TempDir()
	reader, err := textfile.New(textfile.Options{Dir: folder, Store: store})
	require.NoError(t, err)
	// At the end the file is taken away: look before.
	python(t, []string{"WARPWATCH_TEXTFILE_DIR=" + folder, "SLURM_JOB_ID=42", "RANK=3"}, "-c", loop+`
report._publish()
report._sink.close = lambda: None
`)
	reader.Scan()
	text := string(store.Append(nil))
	for _, want := range sent(labels) {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "gpu_secret")
	files, problem := reader.Status()
	assert.Empty(t, problem)
	require.Len(t, files, 1)
	assert.Contains(t, files[0].Problem, "gpu_secret: names that begin with gpu_")
}

func TestTheExampleOfARESTServiceAndADatabase(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write([]byte(`{"models": [{"name": "a \"quoted\" one", "waiting": 3}, {"name": "b", "waiting": null}]}`))
		assert.NoError(t, err)
	}))
	defer server.Close()
	folder, database := t.TempDir(), filepath.Join(t.TempDir(), "jobs.sqlite")
	python(t, nil, "-c", `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("CREATE TABLE jobs (state, queue)")
db.executemany("INSERT INTO jobs VALUES (?, ?)", [("run", "gpu"), ("run", "gpu"), ("wait", "gpu")])
db.commit()
`, database)
	python(t, nil, "example_textfile.py", "--out", filepath.Join(folder, "queue.prom"), "--rest", server.URL, "--database", database)
	store := newStore()
	reader, err := textfile.New(textfile.Options{Dir: folder, Store: store})
	require.NoError(t, err)
	reader.Scan()
	assert.Equal(t, `# HELP cluster_jobs Jobs by queue and state.
# TYPE cluster_jobs gauge
cluster_jobs{node="n1",queue="gpu",state="run"} 2
cluster_jobs{node="n1",queue="gpu",state="wait"} 1
# HELP serve_requests_waiting Requests in the queue.
# TYPE serve_requests_waiting gauge
serve_requests_waiting{model="a \"quoted\" one",node="n1"} 3
`, string(store.Append(nil)))
}
