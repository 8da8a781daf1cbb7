package faults

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/warpwatch/warpwatch/internal/build"
)

// patience is how long anything may take on a machine that has much else to do.
const patience = 60 * time.Second

// period is how far apart the agents' samples are.
const period = 100 * time.Millisecond

// binaries are the agents that tests start: two releases of it.
type binaries struct {
	mu    sync.Mutex
	dir   string
	built map[string]string
}

func (b *binaries) release(version string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if path, ok := b.built[version]; ok {
		return path, nil
	}
	path := filepath.Join(b.dir, "warpwatch-agent-"+version)
	cmd := exec.Command("go", "build", "-ldflags", "-s -w -X main.version="+version, "-o", path, "../../node-agent")
	cmd.Env = append(os.Environ(), append(build.CgoEnv(), "CGO_ENABLED=1")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the agent: %w: %s", err, out)
	}
	b.built[version] = path
	return path, nil
}

var releases = &binaries{built: map[string]string{}}

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "faults-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	releases.dir = dir
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// agent is a running process.
type agent struct {
	t       testing.TB
	version string
	address string
	args    []string
	cmd     *exec.Cmd
	log     string
}

const first, second = "1.0.0", "1.1.0"

// startAgent runs an agent on a port of its own until the test ends.
func startAgent(t testing.TB, args ...string) *agent {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	a := &agent{t: t, version: first, address: l.Addr().String(), args: args, log: filepath.Join(t.TempDir(), "agent.log")}
	require.NoError(t, l.Close())
	a.start()
	t.Cleanup(func() {
		a.stop(syscall.SIGKILL)
		if t.Failed() {
			raw, _ := os.ReadFile(a.log)
			t.Logf("the agent's log:\n%s", raw)
		}
	})
	return a
}

// start runs the process.
func (a *agent) start() {
	a.t.Helper()
	path, err := releases.release(a.version)
	require.NoError(a.t, err)
	out, err := os.OpenFile(a.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(a.t, err)
	defer func() { _ = out.Close() }()
	args := append([]string{"--source=simulate", "--simulate.profile=training", "--web.listen-address=" + a.address}, a.args...)
	if !slices.ContainsFunc(args, func(s string) bool { return strings.HasPrefix(s, "--collect.interval") }) {
		args = append(args, "--collect.interval="+period.String())
	}
	a.cmd = exec.Command(path, args...)
	a.cmd.Stdout, a.cmd.Stderr = out, out
	require.NoError(a.t, a.cmd.Start())
	a.await()
}

// await waits until the agent samples.
func (a *agent) await() {
	a.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	require.Eventually(a.t, func() bool {
		response, err := client.Get("http://" + a.address + "/-/ready")
		if err != nil {
			return false
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, patience, 20*time.Millisecond)
}

func (a *agent) signal(s os.Signal) {
	a.t.Helper()
	require.NoError(a.t, a.cmd.Process.Signal(s))
}

// stop ends the process and waits for it.
func (a *agent) stop(s os.Signal) {
	if a.cmd.ProcessState != nil {
		return
	}
	if err := a.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		a.t.Error(err)
	}
	_ = a.cmd.Wait() // it was killed
}

// within is a context for what may take as long as patience has.
func within(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), patience)
}
