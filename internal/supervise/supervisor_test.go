package supervise

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func shell(name, script string) Spec {
	return Spec{Name: name, Path: "/bin/sh", Args: []string{"-c", script}}
}

func newSupervisor(t *testing.T, env ...string) *Supervisor {
	t.Helper()
	s, err := New(filepath.Join(t.TempDir(), "logs"), env...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(time.Second) })
	return s
}

func fileExists(path string) func(context.Context) error {
	return func(context.Context) error {
		_, err := os.Stat(path)
		return err
	}
}

func TestStartWaitsUntilReady(t *testing.T) {
	s := newSupervisor(t)
	mark := filepath.Join(t.TempDir(), "ready")
	spec := shell("late", "sleep 0.3; touch "+mark+"; sleep 60")
	spec.Ready = fileExists(mark)
	if _, err := s.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Error("Start returned before the process was ready")
	}
}

func TestStartOfAProcessThatEndsShowsItsLog(t *testing.T) {
	s := newSupervisor(t)
	spec := shell("broken", "echo no such licence; exit 3")
	spec.Ready = func(context.Context) error { return errors.New("connection refused") }
	_, err := s.Start(t.Context(), spec)
	for _, want := range []string{"start broken", "exit status 3", "no such licence", "broken.log"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

func TestStartGivesUp(t *testing.T) {
	s := newSupervisor(t)
	spec := shell("mute", "sleep 60")
	spec.Ready, spec.Within = func(context.Context) error { return errors.New("connection refused") }, 200*time.Millisecond
	_, err := s.Start(t.Context(), spec)
	if err == nil || !strings.Contains(err.Error(), "not ready after 200ms: connection refused") {
		t.Errorf("got %v", err)
	}
}

func TestStopEndsGroupsThatIgnoreIt(t *testing.T) {
	s := newSupervisor(t)
	dir := t.TempDir()
	child := filepath.Join(dir, "child")
	spec := shell("stubborn", `trap "" TERM; sh -c 'trap "" TERM; echo $$ > `+child+`.tmp; mv `+child+`.tmp `+child+`; while :; do sleep 1; done' & while :; do sleep 1; done`)
	spec.Ready = fileExists(child)
	p, err := s.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	s.Stop(200 * time.Millisecond)
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("stopping took %s", took)
	}
	text, err := os.ReadFile(child)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{p.PID, pid} {
		if !gone(pid) {
			t.Errorf("process %d is still running", pid)
		}
	}
}

// gone waits a moment for a killed orphan to be reaped by whoever inherited it.
func gone(pid int) bool {
	for range 50 {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid) {
			return true
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false
}

func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestExitsTellsOfAProcessThatEnds(t *testing.T) {
	s := newSupervisor(t)
	if _, err := s.Start(t.Context(), shell("short", "exit 4")); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-s.Exits():
		if e.Name != "short" || e.Err == nil || e.Err.Error() != "exit status 4" {
			t.Errorf("got %+v", e)
		}
	case <-time.After(5 * time.Second):
		t.Error("nothing was reported")
	}
}

func TestStraysAreFoundByTheirEnvironment(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	mark := "WARPWATCH_TEST_MARK=" + t.TempDir()
	cmd := exec.Command("sleep", "60")
	cmd.Env = append(os.Environ(), mark)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	strays, err := Strays(mark)
	if err != nil {
		t.Fatal(err)
	}
	if len(strays) != 1 || strays[0].PID != cmd.Process.Pid || strays[0].Name != "sleep" {
		t.Errorf("found %+v, want sleep %d", strays, cmd.Process.Pid)
	}
	for _, stray := range strays {
		if err := stray.Kill(); err != nil {
			t.Error(err)
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the stray was not killed")
	}
}
