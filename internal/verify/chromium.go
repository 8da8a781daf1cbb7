package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// chromiumVariable names a browser that is not on PATH.
const chromiumVariable = "CHROMIUM"

// findChromium is the browser for the end-to-end tests: the one that CHROMIUM names, one on PATH, or Debian's package,
// which is installed where that is allowed.
func findChromium(ctx context.Context, r *run) (string, error) {
	if path := os.Getenv(chromiumVariable); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s names no browser: %w", chromiumVariable, err)
		}
		return path, nil
	}
	if path, found := onPath(); found {
		return path, nil
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return "", errors.New("the browser tests need Chromium: install it (Debian and Ubuntu: sudo apt-get install chromium), or set " +
			chromiumVariable + " to a Chromium or Chrome")
	}
	r.console.Print("  installing Debian's chromium")
	env := []string{"DEBIAN_FRONTEND=noninteractive"}
	if err := r.tool(ctx, "", env, apt, "update", "-qq"); err != nil {
		return "", err
	}
	if err := r.tool(ctx, "", env, apt, "install", "-y", "-qq", "--no-install-recommends", "chromium"); err != nil {
		return "", err
	}
	if path, found := onPath(); found {
		return path, nil
	}
	return "", errors.New("apt-get installed the package chromium, but no chromium is on PATH")
}

func onPath() (string, bool) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}
