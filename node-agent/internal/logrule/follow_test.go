package logrule

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// logs is a folder of logs, and what a rule that matches every line has seen of them.
type logs struct {
	*testing.T
	dir    string
	f      *follower
	own    *selfMetrics
	now    time.Time
	events []string
}

func newLogs(t *testing.T, patterns ...string) *logs {
	l := &logs{T: t, dir: t.TempDir(), now: time.Unix(1_800_000_000, 0)}
	for i := range patterns {
		patterns[i] = filepath.Join(l.dir, patterns[i])
	}
	r := newTestReader(t, func(e device.Event) { l.events = append(l.events, strings.TrimPrefix(e.Detail, "all: ")) },
		Rule{Name: "all", Type: Event, Files: patterns, Match: "", MaxEventsPerMinute: maxEvents, MaxLine: 100}.anything())
	l.f, l.own = r.files, r.own
	l.f.now = func() time.Time { return l.now }
	t.Cleanup(l.f.close)
	return l
}

func (r Rule) anything() Rule {
	r.Match = "."
	return r
}

func (l *logs) append(name, text string) {
	l.Helper()
	f, err := os.OpenFile(filepath.Join(l.dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(l, err)
	_, err = f.WriteString(text)
	require.NoError(l, err)
	require.NoError(l, f.Close())
}

// round is one look at the files, a while after the last; it returns the lines that were new.
func (l *logs) round() []string {
	l.Helper()
	l.now = l.now.Add(findEvery)
	l.events = nil
	for l.f.round(l.Context()) {
	}
	return l.events
}

func TestFollow(t *testing.T) {
	l := newLogs(t, "*.log")
	l.append("old.log", "before\nhalf of a li")
	assert.Empty(t, l.round(), "what was there before the agent is not read")
	l.append("old.log", "ne\nfirst\nsec")
	assert.Equal(t, []string{"first"}, l.round())
	l.append("old.log", "ond\n")
	l.append("new.log", "beginning\n")
	assert.ElementsMatch(t, []string{"second", "beginning"}, l.round(), "a new file is read from its beginning")
	assert.Empty(t, l.round())
	assert.EqualValues(t, 2, testutil.ToFloat64(l.own.files.WithLabelValues("followed")))
}

func TestRotation(t *testing.T) {
	for name, pattern := range map[string]string{"to a name that is not followed": "*.log", "to one that is": "*.log*"} {
		t.Run(name, func(t *testing.T) {
			l := newLogs(t, pattern)
			l.append("a.log", "0\n")
			l.round()
			l.append("a.log", "1\n")
			require.NoError(t, os.Rename(filepath.Join(l.dir, "a.log"), filepath.Join(l.dir, "a.log.1")))
			l.append("a.log", "3\n")
			l.append("a.log.1", "2\n") // the writer notices late
			assert.ElementsMatch(t, []string{"1", "2", "3"}, l.round())
			l.append("a.log.1", "4\n")
			assert.Equal(t, []string{"4"}, l.round())
			require.NoError(t, os.Remove(filepath.Join(l.dir, "a.log.1")))
			l.round()
			l.now = l.now.Add(keepGone)
			l.round()
			assert.Len(t, l.f.files, 1, "a file that is gone is let go, so that its disk space is free")
		})
	}
}

func TestTruncation(t *testing.T) {
	l := newLogs(t, "a.log")
	l.append("a.log", "0\n")
	l.round()
	l.append("a.log", "1\nunfinished")
	assert.Equal(t, []string{"1"}, l.round())
	require.NoError(t, os.Truncate(filepath.Join(l.dir, "a.log"), 0))
	l.append("a.log", "2\n")
	assert.Equal(t, []string{"2"}, l.round())
}

func TestLinesThatAreTooLong(t *testing.T) {
	l := newLogs(t, "a.log")
	l.round()
	l.append("a.log", strings.Repeat("x", 1<<20)+"\nshort\n"+strings.Repeat("progress\r", 3))
	assert.Equal(t, []string{"short", "progress", "progress", "progress"}, l.round())
	assert.EqualValues(t, 1, testutil.ToFloat64(l.own.tooLong.WithLabelValues(fromFile)))
}

func TestMuchAtOnce(t *testing.T) {
	l := newLogs(t, "a.log")
	l.round()
	l.append("a.log", strings.Repeat(strings.Repeat("y", 99)+"\n", 100_000)) // more than is read in one turn
	l.round()
	assert.EqualValues(t, 100_000, testutil.ToFloat64(l.own.lines.WithLabelValues(fromFile)))
}

func TestTheNumberOfFilesIsBounded(t *testing.T) {
	l := newLogs(t, "*")
	l.round()
	for i := range maxFiles + 5 {
		l.append(fmt.Sprint(i), "")
	}
	l.round()
	assert.Len(t, l.f.files, maxFiles)
	assert.EqualValues(t, 5, testutil.ToFloat64(l.own.files.WithLabelValues("too_many")))
}

func TestWhatIsNoFile(t *testing.T) {
	l := newLogs(t, "*")
	require.NoError(t, os.Mkdir(filepath.Join(l.dir, "folder"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(l.dir, "pipe"), 0o600))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(l.dir, "dangling")))
	l.append("file", "x\n")
	require.NoError(t, os.Symlink("file", filepath.Join(l.dir, "link")))
	l.round()
	assert.Len(t, l.f.files, 1, "a link to a file is the file")
	l.append("file", "y\n")
	assert.Equal(t, []string{"y"}, l.round())
}
