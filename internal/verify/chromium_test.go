package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func program(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFindChromium(t *testing.T) {
	t.Run("the one that is named", func(t *testing.T) {
		path := program(t, "my-browser")
		t.Setenv(chromiumVariable, path)
		if got, err := findChromium(t.Context(), &run{}); err != nil || got != path {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("a name that is wrong", func(t *testing.T) {
		t.Setenv(chromiumVariable, filepath.Join(t.TempDir(), "none"))
		if _, err := findChromium(t.Context(), &run{}); err == nil || !strings.Contains(err.Error(), "CHROMIUM names no browser") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("on PATH", func(t *testing.T) {
		path := program(t, "google-chrome")
		t.Setenv(chromiumVariable, "")
		t.Setenv("PATH", filepath.Dir(path))
		if got, err := findChromium(t.Context(), &run{}); err != nil || got != path {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("none, and nothing to install it with", func(t *testing.T) {
		t.Setenv(chromiumVariable, "")
		t.Setenv("PATH", t.TempDir())
		if _, err := findChromium(t.Context(), &run{}); err == nil || !strings.Contains(err.Error(), "apt-get install chromium") {
			t.Errorf("got %v", err)
		}
	})
}
