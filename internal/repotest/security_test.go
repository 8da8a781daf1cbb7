package repotest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// claim is a test that the threat model names: its folder and its name, between backticks.
var claim = regexp.MustCompile("`([a-z][a-z/-]*)` `((?:Test|Fuzz)\\w+)`")

// What the threat model claims is held by tests that there are.
func TestTheThreatModelNamesTests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "user", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	claims := claim.FindAllStringSubmatch(string(text), -1)
	if named := regexp.MustCompile("`(?:Test|Fuzz)\\w+`").FindAllString(string(text), -1); len(named) != len(claims) || len(claims) < 40 {
		t.Errorf("%d tests are named, %d of them with their folder", len(named), len(claims))
	}
	for _, c := range claims {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(c[1]), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(source), "\nfunc "+c[2]+"(")
		}
		if !found {
			t.Errorf("there is no %s in %s", c[2], c[1])
		}
	}
}
