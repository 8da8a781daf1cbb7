package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// packed are the agent's packages, made of a program that is none.
func packed(t *testing.T) map[string][]byte {
	t.Helper()
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	staged, out := t.TempDir(), t.TempDir()
	for _, name := range []string{"warpwatch-agent", "warpwatch-agent.service", "THIRD_PARTY_NOTICES.txt"} {
		if err := os.WriteFile(filepath.Join(staged, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(".") // packages goes to the checkout; the test's end brings us back
	err = packages(t.Context(), []string{
		"-root=" + here, "-name=warpwatch-agent", "-version=1.2.3", "-time=2026-01-02T03:04:05Z", "-arch=arm64", "-glibc=2.34",
		"-config=node-agent/deploy/packages/nfpm.yaml", "-staged=" + staged, "-out=" + out,
	})
	if err != nil {
		t.Fatal(err)
	}
	made := map[string][]byte{}
	for _, name := range []string{"warpwatch-agent_1.2.3-1_arm64.deb", "warpwatch-agent-1.2.3-1.aarch64.rpm"} {
		if made[name], err = os.ReadFile(filepath.Join(out, name)); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

func TestPackagesAreTheSameAgain(t *testing.T) {
	start, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	first := packed(t)
	if err := os.Chdir(start); err != nil {
		t.Fatal(err)
	}
	for name, content := range packed(t) {
		if !bytes.Equal(content, first[name]) {
			t.Errorf("%s differs when it is made again", name)
		}
	}
}

func TestDebianReadsThePackage(t *testing.T) {
	dpkg, err := exec.LookPath("dpkg-deb")
	if err != nil {
		t.Skip("needs dpkg-deb")
	}
	file := filepath.Join(t.TempDir(), "agent.deb")
	if err := os.WriteFile(file, packed(t)["warpwatch-agent_1.2.3-1_arm64.deb"], 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), dpkg, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("dpkg-deb %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	control := ask("--field", file)
	for _, want := range []string{"Package: warpwatch-agent\n", "Version: 1.2.3-1\n", "Architecture: arm64\n", "Depends: libc6 (>= 2.34), passwd\n"} {
		if !strings.Contains(control, want) {
			t.Errorf("no %q in\n%s", want, control)
		}
	}
	contents := ask("--contents", file)
	for _, want := range []string{
		"-rwxr-xr-x root/root", "./usr/bin/warpwatch-agent\n", "./usr/lib/systemd/system/warpwatch-agent.service\n",
		"drwxr-x--- root/warpwatch-agent", "./etc/warpwatch/agent.yaml\n", "./usr/share/doc/warpwatch-agent/copyright\n",
	} {
		if !strings.Contains(contents, want) {
			t.Errorf("no %q in\n%s", want, contents)
		}
	}
	if conffiles := ask("--info", file, "conffiles"); conffiles != "/etc/default/warpwatch-agent\n/etc/warpwatch/agent.yaml\n" {
		t.Errorf("conffiles are %q", conffiles)
	}
}
