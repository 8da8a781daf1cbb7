package repotest

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// quotedNotice is what the first column of a table quotes, in italics.
var quotedNotice = regexp.MustCompile(`(?m)^\| \*([^*\n]+)\* \|`)

// Texts that the documentation explains are those that users see: each part between "…" is in the sources as it is written.
func TestNoticesOfTheDocumentationAreInTheSources(t *testing.T) {
	var sources strings.Builder
	for _, name := range tracked(t) {
		ours := strings.HasPrefix(name, "pkg/") || strings.HasPrefix(name, "src/") || strings.HasPrefix(name, "node-agent/")
		test := strings.HasSuffix(name, "_test.go") || strings.Contains(name, ".test.") || strings.Contains(name, "testdata/")
		switch path.Ext(name) {
		case ".go", ".ts", ".tsx", ".yaml":
			if ours && !test {
				sources.Write(read(t, name))
			}
		}
	}
	text := strings.ReplaceAll(sources.String(), `\"`, `"`)
	for page, least := range map[string]int{"docs/user/troubleshooting.md": 30, "docs/user/live.md": 12} {
		notices := quotedNotice.FindAllStringSubmatch(string(read(t, page)), -1)
		if len(notices) < least {
			t.Errorf("%s quotes %d notices, at least %d were expected", page, len(notices), least)
		}
		for _, notice := range notices {
			for _, part := range strings.Split(notice[1], "…") {
				if part = strings.TrimSpace(part); part != "" && !strings.Contains(text, part) {
					t.Errorf("%s quotes %q, which nothing says", page, part)
				}
			}
		}
	}
}
