package collect

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// A GPU that reports an error a hundred times a second floods neither the driver nor the log.
func TestFloodOfXIDs(t *testing.T) {
	var log bytes.Buffer
	runWith(t, 1, func(o *Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	}, func(b *bench) {
		b.wait(3500 * time.Millisecond)
		b.source.set(func() { b.source.lists = 0 })
		for range 1000 {
			b.source.events <- nvmlXID(0, 31)
			x := nvmlXID(0, 13)
			x.UUID = "GPU-of-another-node"
			b.source.events <- x
			time.Sleep(10 * time.Millisecond)
		}
		b.wait(2 * time.Second)
		assert.EqualValues(t, 1000, b.board(0).XIDs[0].Count, "all are counted")
		b.source.set(func() { assert.LessOrEqual(t, b.source.lists, 14, "once a second, and a first time at once") })
		assert.LessOrEqual(t, strings.Count(log.String(), "XID error"), 50)
	})
}

// Whoever writes to the log that the kernel's errors are read from makes no series without end.
func TestCodesWithoutEnd(t *testing.T) {
	withKernel(t, 0, func(b *bench, kernel *fakeKernel) {
		kernel.events <- kernelXID(0, 999, "") // D20: one that nobody knows yet
		for i := range uint64(3000) {
			kernel.events <- kernelXID(0, 1024+i, "")
		}
		x := nvmlXID(0, 1<<63)
		b.source.events <- x
		b.wait(time.Second)
		assert.Equal(t, []string{"GPU-0 xid kernel 999"}, b.happened())
		assert.Len(t, b.board(0).XIDs, 1)
		assert.EqualValues(t, 999, b.board(0).LastXID)
		assert.InDelta(t, 3001, testutil.ToFloat64(b.collector.o.Metrics.suppressed), 0)
	})
}

// A clock that is set back makes no event one too many until it is there again.
func TestEventsAfterTheClockWasSetBack(t *testing.T) {
	l, at := limits{}, time.Unix(1_800_000_000, 0)
	x := device.Event{Kind: device.EventXID, UUID: "GPU-0", XID: 31, Time: at}
	kept := 0
	for range 100 {
		if l.allow(x) {
			kept++
		}
	}
	assert.Equal(t, eventBurst, kept)
	x.Time = at.Add(-time.Hour)
	assert.False(t, l.allow(x))
	x.Time = x.Time.Add(time.Minute)
	assert.True(t, l.allow(x))
}

// A clock that is set back before a tick, in which a board hangs, does not make the others wait until it is there again.
func TestTickOfAClockThatWasSetBack(t *testing.T) {
	run(t, 2, func(b *bench) {
		hang := make(chan struct{})
		b.boards[1].hang = hang
		c := b.collector
		found, err := b.source.Inventory(b.t.Context())
		require.NoError(t, err)
		c.layout()
		c.apply(report{found: &found})
		started := time.Now()
		c.tick(b.t.Context(), started.Add(time.Hour))
		assert.Less(t, time.Since(started), time.Second)
		assert.True(t, b.power(0).OK())
		b.boards[1].set(func() { b.boards[1].hang = nil })
		close(hang)
	})
}

// However seldom is sampled, a board that hangs does not keep the agent from hearing of events and releases.
func TestHangInASlowSchedule(t *testing.T) {
	runWith(t, 2, func(o *Options) { o.Node.Period = time.Minute }, func(b *bench) {
		b.wait(90 * time.Second)
		hang := make(chan struct{})
		b.boards[1].set(func() { b.boards[1].hang = hang })
		b.wait(31 * time.Second) // the tick began a second ago
		started := time.Now()
		b.source.events <- nvmlXID(0, 31)
		assert.Less(t, time.Since(started), 5*time.Second)
		b.boards[1].set(func() { b.boards[1].hang = nil })
		close(hang)
		b.wait(time.Second)
	})
}
