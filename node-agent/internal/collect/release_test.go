package collect

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestRelease(t *testing.T) {
	run(t, 2, func(b *bench) {
		b.wait(3500 * time.Millisecond)
		b.boards[0].set(func() { b.boards[0].slow = 600 * time.Millisecond })
		b.wait(600 * time.Millisecond) // it is in a sample now
		started := time.Now()
		require.NoError(t, b.collector.Release(b.t.Context(), time.Minute))
		assert.LessOrEqual(t, time.Since(started), time.Second, "the sample under way, and no other")
		b.source.set(func() { assert.Equal(t, b.source.opens, b.source.closes, "nothing is open") })
		samples := b.boards[1].samples
		b.wait(5 * time.Second)
		f := b.store.Newest()
		assert.Equal(t, samples, b.boards[1].samples)
		assert.Equal(t, snapshot.StateReleased, f.Status.Source.State)
		assert.Equal(t, "the agent was told to let go of the GPUs until 00:01:04 UTC", f.Status.Source.Reason)
		assert.Equal(t, snapshot.StateReleased, b.board(0).Condition.State)
		assert.Less(t, f.Status.Source.Since.Sub(started), time.Second)
		assert.Equal(t, gpu.Absent(gpu.NoData), b.power(1))
		assert.Less(t, time.Since(f.Time), time.Second, "frames go on")
		assert.True(t, f.Status.Alive())

		// Once more, for longer; then it is over.
		require.NoError(t, b.collector.Release(b.t.Context(), 2*time.Minute))
		b.wait(115 * time.Second)
		assert.Equal(t, snapshot.StateReleased, b.store.Newest().Status.Source.State)
		b.wait(10 * time.Second)
		assert.True(t, b.power(1).OK())
		assert.Equal(t, snapshot.StateOK, b.board(0).Condition.State)
		assert.Empty(t, b.happened(), "nobody was lost")
	})
}

// A board that is never idle is let go all the same: nothing new is started.
func TestReleaseOfABusyBoard(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.boards[0].slow = 999 * time.Millisecond
		b.wait(4105 * time.Millisecond)
		require.NoError(t, b.collector.Release(b.t.Context(), time.Minute))
		b.wait(time.Second)
		assert.Equal(t, snapshot.StateReleased, b.board(0).Condition.State)
	})
}

func TestResume(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.collector.Resume() // nothing to resume
		b.wait(3 * time.Second)
		require.NoError(t, b.collector.Release(b.t.Context(), 0))
		b.wait(3 * time.Second)
		assert.False(t, b.power(0).OK())
		b.source.set(func() { b.source.boards = []device.Board{newBoard(0), newBoard(1)} })
		b.collector.Resume()
		b.wait(2 * time.Second)
		assert.True(t, b.power(0).OK())
		assert.True(t, b.power(1).OK())
	})
}

// Nothing is closed under a call that hangs: the answer says so, and sampling goes on.
func TestReleaseWithAHungBoard(t *testing.T) {
	run(t, 2, func(b *bench) {
		b.wait(3500 * time.Millisecond)
		hang := make(chan struct{})
		b.boards[1].set(func() { b.boards[1].hang = hang })
		b.wait(time.Second)
		ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
		defer cancel()
		err := b.collector.Release(ctx, time.Minute)
		require.EqualError(t, err, "let go of the GPUs: a call to the driver for GPU 1 does not come back, and the driver cannot be closed under it; the node may need a reboot")
		b.wait(2 * time.Second)
		assert.True(t, b.power(0).OK(), "the other goes on")
		assert.Equal(t, snapshot.StateOK, b.store.Newest().Status.Source.State)

		b.boards[1].set(func() { b.boards[1].hang = nil })
		close(hang)
		b.wait(2 * time.Second)
		require.NoError(t, b.collector.Release(ctx, time.Minute))
		b.wait(2 * time.Second)
		assert.Equal(t, snapshot.StateReleased, b.board(1).Condition.State)
	})
}

// Closing may hang, too. Whoever asked is told, and the frames go on.
func TestReleaseWithAHungDriver(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.wait(3500 * time.Millisecond)
		hang := make(chan struct{})
		b.source.set(func() { b.source.hangClose = hang })
		ctx, cancel := context.WithTimeout(b.t.Context(), 10*time.Second)
		defer cancel()
		err := b.collector.Release(ctx, time.Minute)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "the driver does not come back from being closed")
		b.wait(time.Second)
		assert.Less(t, time.Since(b.store.Newest().Time), time.Second)
		close(hang)
		b.wait(time.Second)
		assert.Equal(t, snapshot.StateReleased, b.store.Newest().Status.Source.State)
	})
}

func TestReleaseGivesUpWithItsContext(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.wait(3500 * time.Millisecond)
		hang := make(chan struct{})
		b.boards[0].set(func() { b.boards[0].hang = hang })
		b.wait(time.Second)
		ctx, cancel := context.WithTimeout(b.t.Context(), 100*time.Millisecond)
		defer cancel()
		assert.ErrorContains(t, b.collector.Release(ctx, time.Minute), "a call to the driver for GPU 0 does not come back")
		b.boards[0].set(func() { b.boards[0].hang = nil })
		close(hang)
		b.wait(2 * time.Second)
		assert.True(t, b.power(0).OK(), "sampling went on")
	})
}

func TestReleaseWithoutADriver(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.source.set(func() { b.source.open = fmt.Errorf("open: %w", device.ErrNoDriver) })
		b.wait(5 * time.Second)
		require.NoError(t, b.collector.Release(b.t.Context(), time.Minute))
		opens := b.opened()
		b.source.set(func() { b.source.open = nil })
		b.wait(40 * time.Second)
		assert.Equal(t, opens, b.opened())
		b.wait(30 * time.Second)
		assert.True(t, b.power(0).OK())
	})
}

func TestReleaseIsRefused(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.wait(time.Second)
		for _, d := range []time.Duration{-time.Second, time.Hour} {
			assert.EqualError(t, b.collector.Release(b.t.Context(), d),
				fmt.Sprintf("let go of the GPUs for %s: must be more than 0s and at most 10m0s", d))
		}
		b.last = func() {
			assert.ErrorIs(t, b.collector.Release(context.Background(), time.Minute), errStopped)
			b.collector.Emit(device.Event{}) // nobody is there any more, and nobody waits
		}
	})
}

// The driver is upgraded underneath: samples fail with a mismatch, the library cannot be opened, then everything is fine.
func TestDriverIsUpgraded(t *testing.T) {
	run(t, 2, func(b *bench) {
		b.wait(3500 * time.Millisecond)
		mismatch := fmt.Errorf("sample: %w", device.ErrMismatch)
		for _, board := range b.boards {
			board.set(func() { board.err = mismatch })
		}
		b.source.set(func() { b.source.open = mismatch })
		b.wait(6 * time.Second)
		f := b.store.Newest()
		assert.Equal(t, snapshot.StateMismatch, f.Status.Source.State)
		assert.Equal(t, snapshot.StateFailed, b.board(0).Condition.State)
		assert.Equal(t, gpu.Absent(gpu.NoData), b.power(0))
		b.source.set(func() {
			b.source.open = nil
			b.source.boards = []device.Board{newBoard(0), newBoard(1)}
		})
		b.wait(35 * time.Second)
		assert.Equal(t, snapshot.StateOK, b.store.Newest().Status.Source.State)
		assert.True(t, b.power(1).OK())
	})
}
