// Command bench runs the benchmarks that have a goal and prints a line for each:
//
//	bench <name> ours=<value> rival=<what> <value> ratio=<x> goal=<x> ok|SHORT
//
// Both sides of a ratio are measured in the same run of the same process, so that the machine's mood cancels out.
//
//	bench <checkout> [name…]
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprintln(stderr, "usage: bench checkout [name…]")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measureAll(ctx, args[0], args[1:], stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

// measureAll measures the named entries, or all. A goal that is missed is reported and is no error.
func measureAll(ctx context.Context, checkout string, names []string, stdout, stderr io.Writer) error {
	entries, err := readEntries()
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(entries, func(e entry) bool { return e.Name == name }) {
			return fmt.Errorf("there is no benchmark %q", name)
		}
	}
	runs := map[string]results{} // entries that share a run are read from the same one
	for _, e := range entries {
		if len(names) > 0 && !slices.Contains(names, e.Name) {
			continue
		}
		measured, found := runs[e.key()]
		if !found {
			fmt.Fprintf(stderr, "measuring %s: %s\n", e.Name, e.About)
			if measured, err = e.measure(ctx, checkout); err != nil {
				return fmt.Errorf("%s: %w", e.Name, err)
			}
			runs[e.key()] = measured
		}
		line, err := e.report(measured)
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		fmt.Fprintln(stdout, line)
	}
	return nil
}

func (e entry) key() string { return e.Dir + " " + e.Package + " " + e.Run }

func (e entry) measure(ctx context.Context, checkout string) (results, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run=^$", "-bench="+e.Run, "-benchmem", "-count="+strconv.Itoa(e.Count),
		"-benchtime="+e.Benchtime, e.Package)
	cmd.Dir = filepath.Join(checkout, e.Dir)
	// The product's packages are built as the product is.
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%v: %w\n%s%s", cmd.Args, err, out.String(), stderr.String())
	}
	return parse(&out)
}
