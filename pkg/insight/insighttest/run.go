package insighttest

import (
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// Eval judges a scenario and writes the answer as lines.
type Eval func(s *Scenario, args []string) ([]string, error)

// Evals are the judgements that a script may call, by the word behind eval.
type Evals map[string]Eval

// Run runs all scripts of a package, a subtest for each file in testdata and each of its eval lines.
func Run(t *testing.T, scripts embed.FS, evals Evals) {
	t.Helper()
	const dir = "testdata"
	entries, err := scripts.ReadDir(dir)
	if err != nil {
		t.Fatalf("find scripts: %v", err)
	}
	ran := 0
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".test") {
			continue
		}
		ran++
		t.Run(strings.TrimSuffix(entry.Name(), ".test"), func(t *testing.T) {
			text, err := scripts.ReadFile(dir + "/" + entry.Name())
			if err != nil {
				t.Fatalf("read script: %v", err)
			}
			checks, err := Parse(string(text), evals)
			if err != nil {
				t.Fatalf("%s:%v", entry.Name(), err)
			}
			for _, c := range checks {
				t.Run(fmt.Sprintf("line %d", c.Line), func(t *testing.T) {
					if err := c.Verify(); err != nil {
						t.Errorf("%s:%v", entry.Name(), err)
					}
				})
			}
		})
	}
	if ran == 0 {
		t.Fatal("there is no script in testdata")
	}
}

// Check is an eval line with what was loaded before it and what it must answer.
type Check struct {
	Line     int // in the script, from 1
	Name     string
	Args     []string
	Want     []string
	Scenario *Scenario
	eval     Eval
}

// Parse reads a script. Errors begin with the number of the line.
func Parse(script string, evals Evals) ([]*Check, error) {
	metrics, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	var (
		checks []*Check
		now    = newLoaded(metrics)
		block  string
	)
	for i, raw := range strings.Split(script, "\n") {
		line := raw
		if block != "eval" || !indented(raw) || strings.HasPrefix(strings.TrimSpace(raw), "#") {
			line = withoutComment(raw)
		}
		text := strings.TrimSpace(line)
		if text == "" {
			continue
		}
		fail := func(err error) error { return fmt.Errorf("%d: %w", i+1, err) }
		if indented(line) {
			switch block {
			case "load":
				err = now.line(text)
			case "eval":
				last := checks[len(checks)-1]
				last.Want = append(last.Want, strings.Join(strings.Fields(text), " "))
			default:
				err = errors.New("an indented line must stand below load or eval")
			}
			if err != nil {
				return nil, fail(err)
			}
			continue
		}
		words, err := split(text)
		if err != nil {
			return nil, fail(err)
		}
		switch block = words[0]; block {
		case "load":
			err = now.begin(words[1:])
		case "clear":
			now = newLoaded(metrics)
		case "eval":
			var c *Check
			if c, err = newCheck(i+1, words[1:], evals, now); err == nil {
				checks = append(checks, c)
			}
		default:
			err = fmt.Errorf("%q is none of load, eval and clear", block)
		}
		if err != nil {
			return nil, fail(err)
		}
	}
	return checks, nil
}

func newCheck(line int, words []string, evals Evals, now *loaded) (*Check, error) {
	if now.step == 0 {
		return nil, errors.New("eval: nothing has been loaded")
	}
	if len(words) == 0 || evals[words[0]] == nil {
		return nil, fmt.Errorf("eval: %q is not one that this package can judge", strings.Join(words, " "))
	}
	steps, err := now.steps()
	if err != nil {
		return nil, err
	}
	return &Check{Line: line, Name: words[0], Args: words[1:], Scenario: now.scenario(steps), eval: evals[words[0]]}, nil
}

// Verify judges the scenario and compares. The error shows where the answer differs.
func (c *Check) Verify() error {
	got, err := c.eval(c.Scenario, c.Args)
	const failing = "fail"
	if len(c.Want) == 1 && (c.Want[0] == failing || strings.HasPrefix(c.Want[0], failing+" ")) {
		text := strings.TrimSpace(strings.TrimPrefix(c.Want[0], failing))
		switch {
		case err == nil:
			return fmt.Errorf("%d: eval %s: expected an error with %q, got %d lines", c.Line, c.Name, text, len(got))
		case !strings.Contains(err.Error(), text):
			return fmt.Errorf("%d: eval %s: expected an error with %q, got: %w", c.Line, c.Name, text, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%d: eval %s: %w", c.Line, c.Name, err)
	}
	if text, same := difference(c.Want, got); !same {
		return fmt.Errorf("%d: eval %s differs (- expected, + answered):\n%s", c.Line, c.Name, text)
	}
	return nil
}

func indented(line string) bool { return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") }

// withoutComment cuts what follows a # that stands at the start or behind a blank, outside of quotes.
func withoutComment(line string) string {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == '#' && !quoted && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return line[:i]
		}
	}
	return line
}

// split cuts a line at blanks, but not those in quotes or between labels. Quotes around a whole word are taken off.
func split(text string) ([]string, error) {
	var words []string
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		_, rest, notLabels := cutLabels(text)
		switch {
		case text[0] == '"':
			quoted, err := strconv.QuotedPrefix(text)
			if err != nil {
				return nil, fmt.Errorf("%q has no closing quote", text)
			}
			word, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", quoted, err)
			}
			words, text = append(words, word), text[len(quoted):]
		case notLabels == nil:
			words, text = append(words, text[:len(text)-len(rest)]), rest
		default:
			end := strings.IndexAny(text, " \t")
			if end < 0 {
				end = len(text)
			}
			words, text = append(words, text[:end]), text[end:]
		}
	}
	return words, nil
}
