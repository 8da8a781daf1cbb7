package build

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/internal/console"
	"github.com/warpwatch/warpwatch/internal/stamp"
)

func testBuilder(t *testing.T) (Builder, *strings.Builder) {
	t.Helper()
	var out strings.Builder
	return Builder{Root: t.TempDir(), Console: console.NewPlain(&out)}, &out
}

func TestAFailedToolShowsItsLog(t *testing.T) {
	b, _ := testBuilder(t)
	err := b.step("front end", stamp.Stamp{}, func(p *console.Progress) error {
		return b.run(t.Context(), "front end", p, command{argv: []string{"sh", "-c", "echo module not found; exit 2"}})
	})
	for _, want := range []string{"front end: sh -c", "exit status 2", "module not found", filepath.Join("logs", "front-end.log")} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

func TestAStepThatFailedRunsAgain(t *testing.T) {
	b, _ := testBuilder(t)
	if err := os.WriteFile(filepath.Join(b.Root, "in"), []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	runs := 0
	step := func(fail error) error {
		return b.step("page", stamp.Stamp{Inputs: []string{"in"}}, func(*console.Progress) error { runs++; return fail })
	}
	if err := step(os.ErrInvalid); err == nil {
		t.Error("the failure was lost")
	}
	for range 2 {
		if err := step(nil); err != nil {
			t.Fatal(err)
		}
	}
	if runs != 2 {
		t.Errorf("ran %d times, want once for the failure and once more", runs)
	}
}

func TestAToolThatIsCancelledEnds(t *testing.T) {
	b, _ := testBuilder(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	err := b.Console.Step("slow", func(p *console.Progress) error {
		return b.run(ctx, "slow", p, command{argv: []string{"sleep", "60"}})
	})
	if err == nil || time.Since(start) > 5*time.Second {
		t.Errorf("got %v after %s", err, time.Since(start))
	}
}

func TestVersionComesFromThePackage(t *testing.T) {
	b, _ := testBuilder(t)
	for text, want := range map[string]string{`{"version":"1.2.3"}`: "1.2.3", `{}`: "", `{`: ""} {
		if err := os.WriteFile(filepath.Join(b.Root, "package.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := b.Version()
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
}

func TestServerVersion(t *testing.T) {
	for module, want := range map[string]string{"v0.316.0\n": "3.16.0", "v0.303.1": "3.3.1", "v1.2.3": "unknown", "": "unknown"} {
		if got := serverVersion(module); got != want {
			t.Errorf("%q: got %q, want %q", module, got, want)
		}
	}
}
