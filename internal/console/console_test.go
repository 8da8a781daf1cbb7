package console

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestStep(t *testing.T) {
	tests := []struct {
		name string
		do   func(*Progress) error
		want string
	}{
		{"a quick step that says nothing is silent", func(*Progress) error { return nil }, ""},
		{"a note is printed", func(p *Progress) error { p.Note("%d packages", 3); return nil }, "  build: 3 packages (0s)\n"},
		{"a failure is printed", func(*Progress) error { return errors.New("disk full") }, "  build: not done (after 0s)\n"},
		{"progress is printed now and then", func(p *Progress) error {
			p.printed = time.Now().Add(-time.Minute)
			p.Update("%d of 9", 1)
			p.Update("%d of 9", 2)
			return nil
		}, "  build: 1 of 9 (0s so far)\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			err := NewPlain(&out).Step("build", test.do)
			if (err != nil) != strings.Contains(test.name, "failure") {
				t.Errorf("error %v", err)
			}
			if out.String() != test.want {
				t.Errorf("printed %q, want %q", out.String(), test.want)
			}
		})
	}
}

func TestATerminalLineIsOverwritten(t *testing.T) {
	var out strings.Builder
	c := &Console{out: &out, terminal: true}
	if err := c.Step("build", func(p *Progress) error {
		p.printed = time.Time{}
		p.Update("half")
		p.Note("done")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := "\r\033[K  build: half (0s so far)\r\033[K  build: done (0s)\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}
