package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// exposure is what `systemd-analyze security` may come to, of 100. The rest is what it needs: devices, the network, the kernel's log.
const exposure = "25"

func TestSystemdTakesTheUnit(t *testing.T) {
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	text, err := os.ReadFile(filepath.Join(root, "node-agent", "deploy", "warpwatch-agent.service"))
	if err != nil {
		t.Fatal(err)
	}
	// The program itself is not installed here.
	installed := "ExecStart=/usr/local/bin/warpwatch-agent"
	if !strings.Contains(string(text), installed) {
		t.Fatalf("no %s", installed)
	}
	unit := filepath.Join(t.TempDir(), "warpwatch-agent.service")
	if err := os.WriteFile(unit, []byte(strings.Replace(string(text), installed, "ExecStart=/bin/true", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "verify", "--recursive-errors=no", unit).CombinedOutput()
	if err != nil || strings.Contains(string(out), "warpwatch-agent.service") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	if out, err := exec.Command(program, "security", "--offline=yes", "--threshold="+exposure, unit).CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}
