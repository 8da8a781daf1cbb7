// Command backfill fills the database of a stopped Prometheus with the past that a fleet would have had: it asks the
// agent's simulator and reads exposition files, and writes blocks with Prometheus' own tsdb package. On a database that
// has data it writes only what is missing since the newest sample.
//
//	backfill plan.json
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "usage: backfill plan.json")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	plan, err := readPlan(args[0])
	if err == nil {
		err = fill(ctx, plan, time.Now(), stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "backfill:", err)
		return 1
	}
	return 0
}
