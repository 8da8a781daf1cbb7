package repotest

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fence      = regexp.MustCompile("(?ms)^ *```.*?^ *```[ \\t]*$")
	inlineCode = regexp.MustCompile("`[^`\\n]*`")
	comment    = regexp.MustCompile(`(?s)<!--.*?-->`)
	link       = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	unslugged  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors are the ids that GitHub gives to the headings of a page.
func anchors(markdown string) map[string]bool {
	ids := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(fence.ReplaceAllString(markdown, ""), -1) {
		title := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(h[1], "$1")
		base := strings.ReplaceAll(unslugged.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
		id := base
		for n := 1; ids[id]; n++ {
			id = fmt.Sprintf("%s-%d", base, n)
		}
		ids[id] = true
	}
	return ids
}

// links are the targets of a page's links, without those in code.
func links(markdown string) []string {
	for _, without := range []*regexp.Regexp{fence, inlineCode, comment} {
		markdown = without.ReplaceAllString(markdown, "")
	}
	var targets []string
	for _, l := range link.FindAllStringSubmatch(markdown, -1) {
		targets = append(targets, l[1])
	}
	return targets
}

// broken says what is wrong with a link of a page; empty when it leads somewhere, or out of the repository.
func broken(page, target string, readPage func(string) (string, error)) string {
	u, err := url.Parse(target)
	if err != nil {
		return err.Error()
	}
	if u.Scheme != "" || u.Host != "" {
		return ""
	}
	to := page
	if u.Path != "" {
		to = path.Join(path.Dir(page), u.Path)
	}
	if strings.HasPrefix(to, "../") || strings.HasPrefix(u.Path, "/") {
		return "leads out of the repository"
	}
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(to))); err != nil {
		return "there is no " + to
	}
	if u.Fragment == "" || path.Ext(to) != ".md" {
		return ""
	}
	text, err := readPage(to)
	if err != nil {
		return err.Error()
	}
	if !anchors(text)[u.Fragment] {
		return fmt.Sprintf("%s has no heading #%s", to, u.Fragment)
	}
	return ""
}

func readText(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	return string(text), err
}

func TestLinksOfPagesLeadSomewhere(t *testing.T) {
	checked := 0
	for _, name := range tracked(t) {
		if path.Ext(name) != ".md" || strings.HasPrefix(name, ".config/") {
			continue
		}
		for _, target := range links(string(read(t, name))) {
			checked++
			if problem := broken(name, target, readText); problem != "" {
				t.Errorf("%s: (%s): %s", name, target, problem)
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d links were found", checked)
	}
}

// The index has every page, so that none can be lost.
func TestTheIndexHasEveryPage(t *testing.T) {
	listed := map[string]bool{}
	for _, index := range []string{"docs/README.md", "docs/decisions/README.md"} {
		for _, target := range links(string(read(t, index))) {
			page, _, _ := strings.Cut(target, "#")
			listed[path.Join(path.Dir(index), page)] = true
		}
	}
	for _, name := range tracked(t) {
		if strings.HasPrefix(name, "docs/") && path.Ext(name) == ".md" && name != "docs/README.md" && !listed[name] {
			t.Errorf("%s is in no index", name)
		}
	}
}

func TestBrokenLinksAreSeen(t *testing.T) {
	page := "# Two words, `code` & more\n## Same\n## Same\n```\n# no heading\n[no](link.md)\n```\n`[no](code.md)` [yes](a.md#b)\n"
	for _, id := range []string{"two-words-code--more", "same", "same-1"} {
		if !anchors(page)[id] {
			t.Errorf("no anchor %s in %v", id, anchors(page))
		}
	}
	if len(anchors(page)) != 3 {
		t.Errorf("anchors %v", anchors(page))
	}
	if got := links(page); len(got) != 1 || got[0] != "a.md#b" {
		t.Errorf("links %v", got)
	}
	given := func(string) (string, error) { return page, nil }
	for target, want := range map[string]bool{
		"https://example.com/nothing": false,
		"#same-1":                     false,
		"#other":                      true,
		"LICENSE":                     false,
		"docs/no-such-page.md":        true,
		"../outside.md":               true,
		"/absolute.md":                true,
	} {
		if problem := broken("README.md", target, given); (problem != "") != want {
			t.Errorf("%s: %q", target, problem)
		}
	}
}
