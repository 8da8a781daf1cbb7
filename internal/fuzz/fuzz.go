// Package fuzz runs every fuzz target of the module for a while, one after the other. Their seeds alone run with the other tests.
package fuzz

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/internal/build"
	"github.com/warpwatch/warpwatch/internal/console"
)

// Target is one fuzz target.
type Target struct {
	Package string // as `go test` is given it: "./pkg/query"
	Name    string
}

// declaration is how a target begins.
var declaration = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)

// Targets are those of the module whose folder is root, in the order of their packages.
func Targets(root string) ([]Target, error) {
	var all []Target
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			return skipped(root, path, e)
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, found := range declaration.FindAllSubmatch(text, -1) {
			all = append(all, Target{Package: "./" + filepath.ToSlash(dir), Name: string(found[1])})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for fuzz targets: %w", err)
	}
	return all, nil
}

// skipped passes over folders that are no part of the module.
func skipped(root, path string, e fs.DirEntry) error {
	name := e.Name()
	if path == root {
		return nil
	}
	if strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata" || name == "dist" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

// DefaultTime is how long each target runs.
const DefaultTime = time.Minute

// Time reads FUZZ_TIME; "" is the default.
func Time(text string) (time.Duration, error) {
	if text == "" {
		return DefaultTime, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second {
		return 0, fmt.Errorf("FUZZ_TIME=%q must be a length of time from 1s on, such as 20s", text)
	}
	return d, nil
}

// Run runs all targets whose package or name has only in it, each for a time. It goes on after one that fails; what it found lies in
// testdata of its package, and is the beginning of a test.
func Run(ctx context.Context, root, only string, each time.Duration, c *console.Console) error {
	targets, err := Targets(root)
	if err != nil {
		return err
	}
	var failed []error
	for i, t := range targets {
		if !strings.Contains(t.Package+" "+t.Name, only) {
			continue
		}
		c.Heading("%d/%d %s %s", i+1, len(targets), t.Package, t.Name)
		cmd := exec.CommandContext(ctx, "go", "test", t.Package, "-run=^$", "-fuzz=^"+t.Name+"$", "-fuzztime="+each.String())
		cmd.Dir, cmd.Stdout, cmd.Stderr = root, os.Stdout, os.Stderr
		cmd.Env = append(os.Environ(), build.CgoEnv()...)
		cmd.WaitDelay = 5 * time.Second
		if err := cmd.Run(); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			failed = append(failed, fmt.Errorf("%s %s: %w", t.Package, t.Name, err))
		}
	}
	return errors.Join(failed...)
}
