package stamp

import (
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestDue(t *testing.T) {
	dir := t.TempDir()
	s := Stamp{
		File:    filepath.Join(dir, "stamps", "web"),
		Outputs: []string{filepath.Join(dir, "dist", "module.js")},
		Inputs:  []string{filepath.Join(dir, "src"), filepath.Join(dir, "package.json")},
		Extra:   []string{"production"},
	}
	write(t, filepath.Join(dir, "src", "a.ts"), "a")
	write(t, s.Outputs[0], "built")

	run := func(why string, want bool) {
		t.Helper()
		due, hash, err := s.Due()
		if err != nil {
			t.Fatal(err)
		}
		if due != want {
			t.Errorf("%s: due is %v, want %v", why, due, want)
		}
		if err := s.Done(hash); err != nil {
			t.Fatal(err)
		}
	}
	run("never ran", true)
	run("nothing changed", false)
	write(t, filepath.Join(dir, "src", "a.ts"), "b")
	run("a file changed", true)
	write(t, filepath.Join(dir, "src", "deep", "b.ts"), "b")
	run("a file was added", true)
	write(t, filepath.Join(dir, "package.json"), "{}")
	run("an absent input appeared", true)
	write(t, filepath.Join(dir, "src", "node_modules", "x.js"), "x")
	run("installed packages do not count", false)
	if err := os.Rename(filepath.Join(dir, "src", "a.ts"), filepath.Join(dir, "src", "c.ts")); err != nil {
		t.Fatal(err)
	}
	run("a file was renamed", true)
	s.Extra = []string{"development"}
	run("a flag changed", true)
	if err := os.Remove(s.Outputs[0]); err != nil {
		t.Fatal(err)
	}
	run("an output is missing", true)
}
