package agentbench

import (
	"context"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// lateness notes by how much the samples of a source begin after the time that they are for.
type lateness struct {
	device.Source

	mu     sync.Mutex
	boards map[device.Board]device.Board
	late   []time.Duration
	count  bool
}

// Inventory implements device.Source.
func (l *lateness) Inventory(ctx context.Context) (device.Inventory, error) {
	found, err := l.Source.Inventory(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.boards == nil {
		l.boards = map[device.Board]device.Board{}
	}
	for i, b := range found.Boards {
		if l.boards[b] == nil {
			l.boards[b] = &lateBoard{Board: b, of: l}
		}
		found.Boards[i] = l.boards[b]
	}
	return found, err
}

// begin forgets what was noted so far, and notes from now on.
func (l *lateness) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late, l.count = make([]time.Duration, 0, 1<<16), true
}

// noted is what was noted.
func (l *lateness) noted() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count = false
	return l.late
}

type lateBoard struct {
	device.Board
	of *lateness
}

// Sample implements device.Board.
func (b *lateBoard) Sample(ctx context.Context, at time.Time, groups device.Groups, into *device.Sample) error {
	late := time.Since(at)
	b.of.mu.Lock()
	if b.of.count {
		b.of.late = append(b.of.late, late)
	}
	b.of.mu.Unlock()
	return b.Board.Sample(ctx, at, groups, into)
}
