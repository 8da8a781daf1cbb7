package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tree is a fake /proc.
type tree struct {
	t    *testing.T
	root string
}

func newTree(t *testing.T, namespace string) tree {
	t.Helper()
	tr := tree{t, t.TempDir()}
	require.NoError(t, os.MkdirAll(filepath.Join(tr.root, "self", "ns"), 0o755))
	require.NoError(t, os.Symlink(namespace, filepath.Join(tr.root, "self", "ns", "pid")))
	tr.file("stat", "cpu  1 2 3 4 5 6 7 8 9 10\nbtime 1793000000\n")
	return tr
}

func (tr tree) file(name, text string) {
	tr.t.Helper()
	path := filepath.Join(tr.root, name)
	require.NoError(tr.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(tr.t, os.WriteFile(path, []byte(text), 0o644))
}

func (tr tree) process(pid, ppid int, comm, cmdline string, flags, start uint64, cgroup string) {
	tr.file(fmt.Sprintf("%d/stat", pid), fmt.Sprintf("%d (%s) S %d 1 1 0 -1 %d 1 0 0 0 1 1 0 0 20 0 1 0 %d 1000 10 %s\n",
		pid, comm, ppid, flags, start, strings.Repeat("0 ", 28)))
	tr.file(fmt.Sprintf("%d/cmdline", pid), cmdline)
	tr.file(fmt.Sprintf("%d/status", pid), "Name:\tx\nUid:\t1000\t1000\t1000\t1000\n")
	tr.file(fmt.Sprintf("%d/cgroup", pid), cgroup)
}

func (tr tree) reader(passwd string) *Reader {
	tr.t.Helper()
	r, err := New(Options{Root: tr.root, Passwd: passwd})
	require.NoError(tr.t, err)
	return r
}

const container = "pid:[4026532198]"

func TestAProcess(t *testing.T) {
	tr := newTree(t, initialNamespace)
	tr.process(4242, 1, "python3", "python3\x00train.py\x00--token=hunter2\x00", 0, 777, "12:devices:/docker/abc\n0::/x:y\n")
	passwd := filepath.Join(t.TempDir(), "passwd")
	require.NoError(t, os.WriteFile(passwd, []byte("root:x:0:0:::\n# comment\nana:x:1000:1000:Ana:/a:/bin/sh\nother:x:1000:1:::\n"), 0o600))
	r := tr.reader(passwd)
	require.True(t, r.HostPIDs())
	info, err := r.Read(4242)
	require.NoError(t, err)
	assert.Equal(t, Info{PID: 4242, Name: "python3", UID: "1000", User: "ana", Start: 777, Cgroups: []string{"/docker/abc", "/x:y"}}, info)

	require.NoError(t, os.WriteFile(passwd, []byte("renamed:x:1000:1000:Ana:/a:/bin/sh\n"), 0o600))
	info, err = r.Read(4242)
	require.NoError(t, err)
	assert.Equal(t, "renamed", info.User)
	require.NoError(t, os.Remove(passwd))
	info, err = r.Read(4242)
	require.NoError(t, err)
	assert.Equal(t, "renamed", info.User, "what was known stays")

	boot, err := r.Boot()
	require.NoError(t, err)
	assert.Equal(t, time.Unix(1793000000, 0), boot)
}

func TestWithoutPasswdUsersAreNumbers(t *testing.T) {
	tr := newTree(t, initialNamespace)
	tr.process(7, 1, "a", "", 0, 1, "0::/\n")
	info, err := tr.reader("").Read(7)
	require.NoError(t, err)
	assert.Equal(t, "1000", info.User)
}

func TestNames(t *testing.T) {
	tr := newTree(t, initialNamespace)
	for i, tc := range []struct{ comm, cmdline, want string }{
		{"python3", "/usr/bin/python3.12\x00x", "python3"},
		{"tritonserver-pr", "/opt/tritonserver-prod\x00--key=secret\x00", "tritonserver-prod"},
		{"ray::TrainWorke", "ray::TrainWorker.run --token=secret\x00\x00", "ray::TrainWorker.run"},
		{"fifteen-letters", "", "fifteen-letters"},
		{"fifteen-letters", "/bin/other\x00", "fifteen-letters"},
		{"fifteen-letters", "fifteen-letters" + strings.Repeat("x", 100), "fifteen-letters"},
		{"a b) (c", "", "a b) (c"},
		{"bad\x01\xffname", "", "bad ?name"},
	} {
		pid := 100 + i
		tr.process(pid, 1, tc.comm, tc.cmdline, 0, 1, "0::/\n")
		info, err := tr.reader("").Read(pid)
		require.NoError(t, err)
		assert.Equal(t, tc.want, info.Name, tc.comm)
		assert.NotContains(t, info.Name, "secret")
	}
}

func TestAProcessThatHasEnded(t *testing.T) {
	r := newTree(t, initialNamespace).reader("")
	_, err := r.Read(99)
	assert.ErrorIs(t, err, ErrGone)
	_, err = r.Start(99)
	assert.ErrorIs(t, err, ErrGone)
}

func TestAReusedPID(t *testing.T) {
	tr := newTree(t, initialNamespace)
	tr.process(50, 1, "old", "", 0, 100, "0::/\n")
	r := tr.reader("")
	before, err := r.Start(50)
	require.NoError(t, err)
	tr.process(50, 1, "new", "", 0, 200, "0::/\n")
	after, err := r.Start(50)
	require.NoError(t, err)
	assert.NotEqual(t, before, after)
}

// D15: pids are the host's; in a container they belong to other processes.
func TestWhosePIDs(t *testing.T) {
	own := newTree(t, container)
	own.process(1, 0, "agent", "", 0, 1, "0::/\n")
	assert.False(t, own.reader("").HostPIDs(), "process 2 does not exist")
	own.process(2, 1, "sh", "", 0x00400000, 1, "0::/\n")
	assert.False(t, own.reader("").HostPIDs(), "process 2 is a shell")
	own.process(2, 0, "kthreadd", "", 0x00400000, 1, "0::/\n")
	assert.False(t, own.reader("").HostPIDs(), "process 2 is named like a kernel thread")

	mounted := newTree(t, container)
	mounted.process(2, 0, "kthreadd", "", 0x00208040, 1, "0::/\n")
	assert.True(t, mounted.reader("").HostPIDs(), "the tree was mounted from the host")
}

func TestARootThatIsNotThere(t *testing.T) {
	_, err := New(Options{Root: filepath.Join(t.TempDir(), "none")})
	assert.ErrorContains(t, err, "open the tree of processes")
}

func FuzzPasswd(f *testing.F) {
	f.Add("root:x:0:0:::\n")
	f.Add(":::\n\x00\xff:x:1:")
	f.Fuzz(func(t *testing.T, text string) {
		for uid, name := range parsePasswd(strings.NewReader(text)) {
			if strings.ContainsAny(name, "\n\x00") || strings.ContainsAny(uid, "\n:") {
				t.Errorf("%q: %q", uid, name)
			}
		}
	})
}

func TestThisProcess(t *testing.T) {
	r, err := New(Options{})
	if err != nil {
		t.Skipf("needs a proc file system: %v", err)
	}
	info, err := r.Read(os.Getpid())
	require.NoError(t, err)
	program := filepath.Base(os.Args[0])
	assert.True(t, strings.HasPrefix(program, info.Name), "%s is the name of %s", info.Name, program)
	assert.Equal(t, strconv.Itoa(os.Getuid()), info.UID)
	assert.NotEmpty(t, info.Cgroups)
	boot, err := r.Boot()
	require.NoError(t, err)
	assert.True(t, boot.Before(time.Now()))
}
