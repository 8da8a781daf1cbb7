package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/prometheus/prometheus/tsdb"
)

// commitEvery bounds the samples of one transaction.
const commitEvery = 50_000

// settle turns what a stopped Prometheus left in its head into blocks, and returns the time of the newest sample.
// Blocks that are written later would otherwise hide the older part of the write-ahead log from Prometheus, which
// replays only what is newer than the newest block.
func settle(ctx context.Context, dir string) (newest int64, found bool, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, false, fmt.Errorf("make data folder: %w", err)
	}
	options := tsdb.DefaultOptions()
	options.RetentionDuration = 0 // what is too old is Prometheus' decision
	db, err := tsdb.Open(dir, quiet(), nil, options, nil)
	if err != nil {
		return 0, false, fmt.Errorf("open database %s: %w", dir, err)
	}
	defer func() {
		if cerr := db.Close(); cerr != nil && err == nil {
			err = fmt.Errorf("close database %s: %w", dir, cerr)
		}
	}()
	db.DisableCompactions()

	if head := db.Head(); head.NumSeries() > 0 && head.MaxTime() != math.MinInt64 {
		for _, part := range blocks(span{head.MinTime(), head.MaxTime() + 1}) {
			if err := ctx.Err(); err != nil {
				return 0, false, err
			}
			if err := db.CompactHead(tsdb.NewRangeHead(head, part.from, part.to-1)); err != nil {
				return 0, false, fmt.Errorf("write head of %s: %w", dir, err)
			}
		}
	}
	for _, b := range db.Blocks() {
		newest, found = max(newest, b.Meta().MaxTime-1), true
	}
	return newest, found, nil
}

// writeBlock stores every source's samples of one span as a block and returns how many there were.
func writeBlock(ctx context.Context, dir string, number int, s span, f feed) (n int, err error) {
	// The writer's head takes samples that are at most half its range older than the newest. Sources come one after
	// the other, so its range must hold the block twice.
	writer, err := tsdb.NewBlockWriter(quiet(), dir, 2*(s.to-s.from)+1)
	if err != nil {
		return 0, err
	}
	defer func() {
		if cerr := writer.Close(); cerr != nil && err == nil {
			err = cerr
		}
	}()
	for _, p := range f {
		stored, err := appendAll(ctx, writer, number, s, p)
		n += stored
		if err != nil {
			return n, err
		}
	}
	if n == 0 {
		return 0, nil
	}
	if _, err := writer.Flush(ctx); err != nil {
		return n, err
	}
	return n, nil
}

func appendAll(ctx context.Context, writer *tsdb.BlockWriter, number int, s span, p *pull) (n int, err error) {
	app := writer.Appender(ctx)
	open := 0
	err = p.before(s.to, func(t tick) error {
		for _, sample := range t.samples {
			line := sample.series
			if line.block != number {
				line.block, line.ref = number, 0
			}
			if line.ref, err = app.Append(line.ref, line.labels, t.time, sample.value); err != nil {
				return fmt.Errorf("%s: %w", line.labels, err)
			}
		}
		n += len(t.samples)
		if open += len(t.samples); open < commitEvery {
			return nil
		}
		open = 0
		if err := app.Commit(); err != nil {
			return err
		}
		app = writer.Appender(ctx)
		return ctx.Err()
	})
	if err != nil {
		return n, errors.Join(err, app.Rollback())
	}
	return n, app.Commit()
}
