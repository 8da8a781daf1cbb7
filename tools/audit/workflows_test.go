package audit

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

const workflows = "../../.github/workflows/*.yaml"

func files(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(workflows)
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Fatalf("there are no workflows at %s", workflows)
	}
	return names
}

func TestWorkflows(t *testing.T) {
	var report strings.Builder
	linter, err := actionlint.NewLinter(&report, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	problems, err := linter.LintFiles(files(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) > 0 {
		t.Error(report.String())
	}
}

// A tag can be moved to other code, a commit cannot.
func TestActionsArePinned(t *testing.T) {
	pinned := regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	uses := regexp.MustCompile(`(?m)^[\s-]*uses:\s*(.+)$`)
	for _, name := range files(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range uses.FindAllStringSubmatch(string(text), -1) {
			if !pinned.MatchString(found[1]) {
				t.Errorf("%s: %q is not pinned to a commit, with its version after it", name, found[1])
			}
		}
	}
}

// What a workflow may do is said where somebody looks for it, and is nothing by default.
func TestPermissionsAreGiven(t *testing.T) {
	for _, name := range files(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\npermissions:\n  contents: read\n") {
			t.Errorf("%s does not begin with reading alone", name)
		}
	}
}
