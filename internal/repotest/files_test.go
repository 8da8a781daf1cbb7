package repotest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the repository, from this package.
const root = "../.."

// tracked are the files of the repository that git knows or would add.
func tracked(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("needs a git checkout: %v", err)
	}
	var files []string
	for _, name := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if info, err := os.Lstat(filepath.Join(root, name)); err == nil && info.Mode().IsRegular() {
			files = append(files, name)
		}
	}
	return files
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// maxLines is where a source file holds more than one idea.
const maxLines = 500

func TestSourceFilesAreShort(t *testing.T) {
	for _, name := range tracked(t) {
		switch filepath.Ext(name) {
		case ".go", ".ts", ".tsx":
		default:
			continue
		}
		text := read(t, name)
		if strings.HasPrefix(name, ".config/") || bytes.Contains(text, []byte("\n// Code generated ")) || strings.HasSuffix(name, ".pb.go") {
			continue
		}
		if n := bytes.Count(text, []byte("\n")); n > maxLines {
			t.Errorf("%s has %d lines, at most %d: split it by idea", name, n, maxLines)
		}
	}
}

// Unfinished work belongs into an issue, where someone sees it.
func TestNothingIsLeftToDo(t *testing.T) {
	marker := regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)
	for _, name := range tracked(t) {
		switch filepath.Ext(name) {
		case ".go", ".ts", ".tsx", ".yaml", ".yml", ".proto", ".sh":
		default:
			continue
		}
		if strings.HasPrefix(name, ".config/") || name == "internal/repotest/files_test.go" {
			continue
		}
		for i, line := range strings.Split(string(read(t, name)), "\n") {
			if found := marker.FindString(line); found != "" {
				t.Errorf("%s:%d: %s", name, i+1, found)
			}
		}
	}
}

// Paths of one machine mean nothing on another.
func TestNoPathsOfOneMachine(t *testing.T) {
	private := regexp.MustCompile(`(^|[^\w./-])(/home/\w+/|/Users/\w+/|/root/\w)`)
	for _, name := range tracked(t) {
		text := read(t, name)
		if bytes.IndexByte(text, 0) >= 0 || strings.HasPrefix(name, ".config/") || strings.HasSuffix(name, ".prom") {
			continue
		}
		for i, line := range strings.Split(string(text), "\n") {
			if found := private.FindString(line); found != "" {
				t.Errorf("%s:%d: %s", name, i+1, strings.TrimSpace(found))
			}
		}
	}
}

// These modules of tools build on the product's own, and break when its requirements moved without theirs.
func TestToolsFollowTheProductsModule(t *testing.T) {
	for _, module := range []string{"tools", "tools/deploy"} {
		cmd := exec.Command("go", "list", "-m", "github.com/warpwatch/warpwatch")
		cmd.Dir = filepath.Join(root, module)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("run `go mod tidy` in %s: %v: %s", module, err, out)
		}
	}
}
