package textfile

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/warpwatch/warpwatch/node-agent/internal/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder is a reader over a folder of its own.
type folder struct {
	*Reader
	t     *testing.T
	dir   string
	store *workload.Store
	log   bytes.Buffer
}

func newFolder(t *testing.T, o Options) *folder {
	t.Helper()
	f := &folder{t: t, dir: t.TempDir(), store: workload.New(workload.Options{Node: "n1"})}
	o.Dir, o.Store, o.Logger = f.dir, f.store, slog.New(slog.NewTextHandler(&f.log, nil))
	r, err := New(o)
	require.NoError(t, err)
	f.Reader = r
	return f
}

func (f *folder) write(name, text string) {
	f.t.Helper()
	require.NoError(f.t, os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o644))
}

func (f *folder) text() string { return string(f.store.Append(nil)) }

// problem is what is wrong with a file.
func (f *folder) problem(name string) string {
	files, _ := f.Status()
	for _, s := range files {
		if s.Name == name {
			return s.Problem
		}
	}
	return "no such file"
}

func TestFilesComeChangeAndGo(t *testing.T) {
	f := newFolder(t, Options{})
	f.write("a.prom", "# TYPE jobs gauge\njobs 1\n")
	f.write("notes.txt", "jobs 7\n")
	f.write(".hidden.prom", "jobs 8\n")
	f.Scan()
	assert.Contains(t, f.text(), "jobs{node=\"n1\"} 1\n")
	f.write("a.prom", "# TYPE jobs gauge\njobs 22\n")
	f.Scan()
	assert.Contains(t, f.text(), "jobs{node=\"n1\"} 22\n")
	require.NoError(t, os.Remove(filepath.Join(f.dir, "a.prom")))
	f.Scan()
	assert.Empty(t, f.text())
	files, problem := f.Status()
	assert.Empty(t, files)
	assert.Empty(t, problem)
}

// A28, A33, A34: read directly, such a text is refused whole, with the line and what to do.
func TestBrokenFilesAreRefusedWhole(t *testing.T) {
	for name, want := range map[string]string{
		"words_for_numbers.prom": `textfile/words_for_numbers.prom: line 3: expected float as value, got "N/A": leave a line out when there is no reading; no word and no 0 stands for one`,
		"unescaped_label.prom":   `textfile/unescaped_label.prom: line 3: `,
		"type_twice.prom":        `textfile/type_twice.prom: line 5: second TYPE line for metric name "dcgm_sm_clock"`,
		"smi_query.txt":          `textfile/smi_query.txt.prom: line 2: `,
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", name))
			require.NoError(t, err)
			if !strings.HasSuffix(name, ".prom") {
				name += ".prom"
			}
			f := newFolder(t, Options{})
			f.write(name, string(text))
			f.write("good.prom", "# HELP good Of a good file.\n# TYPE good gauge\ngood 1\n")
			f.Scan()
			f.Scan()
			assert.True(t, strings.HasPrefix(f.problem(name), want), f.problem(name))
			assert.Equal(t, "# HELP good Of a good file.\n# TYPE good gauge\ngood{node=\"n1\"} 1\n", f.text())
			assert.Equal(t, 1, strings.Count(f.log.String(), "refused"))
		})
	}
}

func TestAHalfWrittenFileKeepsWhatItHad(t *testing.T) {
	f := newFolder(t, Options{})
	f.write("a.prom", "jobs 1\n")
	f.Scan()
	f.write("a.prom", "jobs 2\nother{na")
	f.Scan()
	assert.Contains(t, f.text(), "} 1\n")
	assert.Empty(t, f.problem("a.prom"))
	f.write("a.prom", "jobs 2\nother{name=\"x\"} 3\n")
	f.Scan()
	assert.Contains(t, f.text(), "} 2\n")
	assert.Empty(t, f.problem("a.prom"))
	assert.Empty(t, f.log.String())

	f.write("a.prom", "jobs 3\nother{na")
	f.Scan()
	f.write("a.prom", "jobs 4\nother{nam")
	f.Scan()
	assert.Empty(t, f.text(), "a script that always writes half is not waited for")
	assert.Contains(t, f.problem("a.prom"), "line 2")
	f.write("a.prom", "jobs 5\n")
	f.Scan()
	assert.Contains(t, f.text(), "} 5\n")
	assert.Empty(t, f.problem("a.prom"))
}

func TestTimestampsAreRefused(t *testing.T) {
	f := newFolder(t, Options{})
	f.write("a.prom", "jobs 1 1395066363000\nother 1\n")
	f.Scan()
	assert.Contains(t, f.problem("a.prom"), "jobs has a time after its value: leave it out")
	assert.Empty(t, f.text())
}

func TestOnlySmallFilesOfTheFolder(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret 1\n"), 0o644))
	f := newFolder(t, Options{MaxBytes: 100})
	f.write("large.prom", strings.Repeat("# a comment\n", 10))
	f.write("data", "linked 1\n")
	require.NoError(t, os.Symlink("data", filepath.Join(f.dir, "link.prom")))
	require.NoError(t, os.Symlink(outside, filepath.Join(f.dir, "escape.prom")))
	require.NoError(t, os.Symlink("nothing", filepath.Join(f.dir, "dangling.prom")))
	require.NoError(t, os.Mkdir(filepath.Join(f.dir, "dir.prom"), 0o755))
	require.NoError(t, syscall.Mkfifo(filepath.Join(f.dir, "pipe.prom"), 0o644))
	f.Scan()
	f.Scan()
	assert.Contains(t, f.text(), "linked{")
	assert.NotContains(t, f.text(), "secret")
	for name, want := range map[string]string{
		"large.prom": "it is larger than 100 bytes", "escape.prom": "in this folder", "dangling.prom": "in this folder",
		"dir.prom": "it is a folder", "pipe.prom": "it is a pipe", "link.prom": "",
	} {
		if want == "" {
			assert.Empty(t, f.problem(name), name)
			continue
		}
		assert.Contains(t, f.problem(name), want, name)
		assert.Equal(t, 1, strings.Count(f.log.String(), "textfile/"+name+":"), "%s is reported once", name)
	}
}

func TestAFileWithoutPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	f := newFolder(t, Options{})
	f.write("a.prom", "jobs 1\n")
	require.NoError(t, os.Chmod(filepath.Join(f.dir, "a.prom"), 0))
	f.Scan()
	assert.Contains(t, f.problem("a.prom"), "permission denied")
}

func TestNoFolderIsSaidAndMendsItself(t *testing.T) {
	f := newFolder(t, Options{MaxFiles: 2})
	f.write("a.prom", "jobs 1\n")
	f.Scan()
	moved := f.dir + ".moved"
	require.NoError(t, os.Rename(f.dir, moved))
	f.Scan()
	_, problem := f.Status()
	assert.Contains(t, problem, "create the folder")
	assert.Empty(t, f.text())
	require.NoError(t, os.Rename(moved, f.dir))
	f.write("b.prom", "b 1\n")
	f.write("c.prom", "c 1\n")
	f.Scan()
	_, problem = f.Status()
	assert.Contains(t, problem, "has 3 files")
	assert.Contains(t, f.text(), "jobs{")
	assert.NotContains(t, f.text(), "c{")
}

func TestAPartRefusedBecauseOfAnotherFileIsTriedAgain(t *testing.T) {
	f := newFolder(t, Options{})
	f.write("a.prom", "# TYPE jobs gauge\njobs 1\n")
	f.write("b.prom", "# TYPE jobs counter\njobs 2\nother 1\n")
	f.Scan()
	f.Scan()
	assert.Contains(t, f.problem("b.prom"), "a counter is in the way of jobs, which textfile/a.prom sent before as gauge")
	assert.Contains(t, f.text(), "other{")
	assert.Equal(t, 1, strings.Count(f.log.String(), "in the way"))
	require.NoError(t, os.Remove(filepath.Join(f.dir, "a.prom")))
	f.Scan()
	assert.Empty(t, f.problem("b.prom"))
	assert.Contains(t, f.text(), "# TYPE jobs counter\njobs{node=\"n1\"} 2\n")
}

func TestCollector(t *testing.T) {
	f := newFolder(t, Options{})
	f.write("a.prom", "jobs 1\n")
	f.write("b.prom", "gpu_power_watts 1\n")
	for _, n := range []string{"a.prom", "b.prom"} {
		at := time.Unix(1_800_000_000, 500_000_000)
		require.NoError(t, os.Chtimes(filepath.Join(f.dir, n), at, at))
	}
	f.Scan()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewCollector(f.Reader))
	assert.Equal(t, `# HELP warpwatch_agent_textfile_folder_refused Whether the textfile folder could not be read whole; the agent's log says why.
# TYPE warpwatch_agent_textfile_folder_refused gauge
warpwatch_agent_textfile_folder_refused 0
# HELP warpwatch_agent_textfile_mtime_seconds When a textfile was written last, as the agent last saw it.
# TYPE warpwatch_agent_textfile_mtime_seconds gauge
warpwatch_agent_textfile_mtime_seconds{file="a.prom"} 1.8000000005e+09
warpwatch_agent_textfile_mtime_seconds{file="b.prom"} 1.8000000005e+09
# HELP warpwatch_agent_textfile_refused Whether a textfile, or part of it, was refused; the agent's log says why.
# TYPE warpwatch_agent_textfile_refused gauge
warpwatch_agent_textfile_refused{file="a.prom"} 0
warpwatch_agent_textfile_refused{file="b.prom"} 1
`, gathered(t, registry))
}

func TestRunReadsAtEveryInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFolder(t, Options{Interval: time.Minute})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- f.Run(ctx) }()
		for i := range 3 {
			f.write("a.prom", fmt.Sprintf("jobs 1%s\n", strings.Repeat("0", i)))
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Contains(t, f.text(), fmt.Sprintf("} 1%s\n", strings.Repeat("0", i)))
		}
		cancel()
		assert.NoError(t, <-done)
	})
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"words_for_numbers.prom", "unescaped_label.prom", "type_twice.prom"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte("# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_count 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		families, err := parse(text)
		if err != nil {
			return
		}
		s := workload.New(workload.Options{Node: "n"})
		s.Replace("in", families)
		_, err = parse(s.Append(nil))
		require.NoError(t, err)
	})
}

// gathered is what a registry shows, as text.
func gathered(t *testing.T, g prometheus.Gatherer) string {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	var text strings.Builder
	for _, f := range families {
		_, err := expfmt.MetricFamilyToText(&text, f)
		require.NoError(t, err)
	}
	return text.String()
}
