package collect

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestSamplesAreAlignedAndComplete(t *testing.T) {
	run(t, 2, func(b *bench) {
		b.wait(10500 * time.Millisecond)
		frames := b.past()
		assert.GreaterOrEqual(t, len(frames), 9)
		for i, f := range frames {
			assert.Zero(t, f.Time.UnixNano()%int64(time.Second))
			if i > 0 {
				assert.Equal(t, time.Second, f.Time.Sub(frames[i-1].Time))
				assert.Equal(t, frames[i-1].Seq+1, f.Seq)
			}
		}
		newest := b.store.Newest()
		assert.Equal(t, gpu.Read(float64(newest.Time.Unix())), b.power(1))
		assert.Equal(t, snapshot.StateOK, newest.Status.Source.State)
		assert.Equal(t, "n1", newest.Schema.Devices[0].Node)
		assert.Equal(t, gpu.Read(0), b.reading(0, device.XIDLast), "none was reported")
	})
}

// D01: one of eight falls off the bus. Seven go on.
func TestOneLostBoard(t *testing.T) {
	run(t, 8, func(b *bench) {
		b.wait(5 * time.Second)
		b.boards[3].set(func() { b.boards[3].err = fmt.Errorf("sample GPU 3: %w", device.ErrLost) })
		b.source.events <- device.Event{Kind: device.EventXID, UUID: "GPU-3", XID: 79, Time: time.Now()}
		b.wait(2 * time.Second)
		assert.Equal(t, gpu.Absent(gpu.Lost), b.power(3))
		assert.True(t, b.power(2).OK())
		assert.Equal(t, gpu.Read(79), b.reading(3, device.XIDLast))
		assert.Equal(t, snapshot.StateLost, b.board(3).Condition.State)
		assert.EqualValues(t, 79, b.board(3).XIDs[0].Code)
		assert.True(t, b.store.Newest().Status.Alive())

		b.boards[3].set(func() { b.boards[3].err = nil })
		b.wait(2 * time.Second)
		assert.True(t, b.power(3).OK())
		assert.Equal(t, snapshot.StateOK, b.board(3).Condition.State)
	})
}

// D02: the driver just lists one less. It stays, as lost; nobody else takes its place.
func TestVanishedBoard(t *testing.T) {
	run(t, 3, func(b *bench) {
		b.wait(3 * time.Second)
		first := b.store.Newest().Schema
		moved := newBoard(2)
		moved.devices[0].Index = 1
		b.source.set(func() { b.source.boards = []device.Board{b.boards[0], moved} })
		b.wait(15 * time.Second)
		f := b.store.Newest()
		assert.Len(t, f.Schema.Devices, 3)
		assert.NotSame(t, first, f.Schema, "an index changed")
		assert.Equal(t, gpu.Absent(gpu.Lost), b.power(1))
		assert.True(t, b.power(2).OK())
		assert.Contains(t, b.board(1).Condition.Reason, "does not list this GPU any more")

		b.source.set(func() { b.source.boards = []device.Board{b.boards[0], b.boards[1], b.boards[2]} })
		b.wait(15 * time.Second)
		assert.True(t, b.power(1).OK())
	})
}

// A call that hangs stalls one board: its readings stop, the others' do not even come late.
func TestHungBoard(t *testing.T) {
	run(t, 2, func(b *bench) {
		b.wait(3 * time.Second)
		release := make(chan struct{})
		b.boards[0].set(func() { b.boards[0].hang = release })
		b.wait(3 * time.Second)
		assert.Equal(t, gpu.Absent(gpu.NoData), b.power(0), "nothing is repeated")
		assert.True(t, b.power(1).OK())
		b.wait(5 * time.Second)
		assert.Equal(t, gpu.Absent(gpu.Lost), b.power(0))
		assert.Equal(t, snapshot.StateHung, b.board(0).Condition.State)
		before := b.store.Newest().Seq
		b.wait(5 * time.Second)
		assert.EqualValues(t, before+5, b.store.Newest().Seq)

		b.boards[0].set(func() { b.boards[0].hang = nil })
		close(release)
		b.wait(2 * time.Second)
		assert.True(t, b.power(0).OK())
		assert.Equal(t, snapshot.StateOK, b.board(0).Condition.State)
	})
}

func TestHungBoardDoesNotKeepTheAgentFromLeaving(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.wait(2 * time.Second)
		hang := make(chan struct{})
		b.boards[0].set(func() { b.boards[0].hang = hang })
		b.wait(2 * time.Second)
		b.last = func() { close(hang) }
	})
}

// A board that needs most of a period is published a tick late, and not never.
func TestSlowBoard(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.boards[0].set(func() { b.boards[0].slow = 900 * time.Millisecond })
		b.wait(10 * time.Second)
		frames := b.past()
		taken := 0
		for _, f := range frames {
			for i, c := range f.Schema.Columns {
				if c.Metric == device.Power && f.Readings[i].OK() {
					taken++
				}
			}
		}
		assert.Greater(t, taken, 4)
	})
}

// D04, D27: no driver at first, which is no reason to end.
func TestDriverComesLater(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.source.set(func() { b.source.open = fmt.Errorf("open: %w", device.ErrNoDriver) })
		b.wait(5 * time.Second)
		f := b.store.Newest()
		require.NotNil(t, f)
		assert.Equal(t, snapshot.StateNoDriver, f.Status.Source.State)
		assert.Empty(t, f.Schema.Devices)
		assert.True(t, f.Status.Alive())
		b.source.set(func() { b.source.open = nil })
		b.wait(40 * time.Second)
		assert.True(t, b.power(0).OK())
	})
}

// D25: a board appears while the agent runs, then the library has to be opened again for another.
func TestHotPlug(t *testing.T) {
	run(t, 0, func(b *bench) {
		b.wait(3 * time.Second)
		assert.Empty(t, b.store.Newest().Schema.Devices)
		b.source.set(func() { b.source.boards = []device.Board{newBoard(0)} })
		b.wait(15 * time.Second)
		assert.Len(t, b.store.Newest().Schema.Devices, 1)
		b.source.set(func() { b.source.inventory = device.ErrChanged })
		b.wait(11 * time.Second)
		b.source.set(func() {
			b.source.inventory = nil
			b.source.boards = []device.Board{newBoard(0), newBoard(1)}
		})
		b.wait(30 * time.Second)
		assert.Len(t, b.store.Newest().Schema.Devices, 2)
		assert.True(t, b.power(0).OK())
		assert.True(t, b.power(1).OK())
		assert.Greater(t, b.source.opens, 1)
	})
}

// D21: the container loses its devices. The agent says so and asks to be replaced.
func TestAccessIsLost(t *testing.T) {
	run(t, 2, func(b *bench) {
		b.wait(3 * time.Second)
		for _, board := range b.boards {
			board.set(func() { board.err = fmt.Errorf("sample: %w", device.ErrNoAccess) })
		}
		b.source.set(func() { b.source.open = fmt.Errorf("open: %w", device.ErrNoAccess) })
		b.wait(5 * time.Second)
		assert.Equal(t, gpu.Absent(gpu.NoPermission), b.power(0))
		assert.Equal(t, snapshot.StateNoAccess, b.store.Newest().Status.Source.State)
		assert.False(t, b.store.Newest().Status.Alive())
		assert.Greater(t, b.source.opens, 1)
	})
}

func TestMIGChangeIsNoticedAtOnce(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.wait(1500 * time.Millisecond)
		split := newBoard(0)
		split.devices[0].MIGEnabled = true
		instance := split.devices[0]
		instance.GPUInstance = "3"
		split.devices = append(split.devices, instance)
		b.source.set(func() { b.source.boards = []device.Board{split} })
		b.source.events <- device.Event{Kind: device.EventLayoutChanged}
		b.wait(2 * time.Second)
		assert.Len(t, b.store.Newest().Schema.Devices, 2)
		assert.True(t, b.power(0).OK())
	})
}

func TestUnreadableBoardsAreNamed(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.source.set(func() { b.source.unreadable = []error{fmt.Errorf("open GPU 3: %w", device.ErrLost)} })
		b.wait(12 * time.Second)
		assert.Equal(t, "1 of the GPUs that the driver counts cannot be opened: open GPU 3: the GPU does not answer",
			b.store.Newest().Status.Source.Reason)
	})
}

func TestXIDsWithoutEvents(t *testing.T) {
	c, err := catalog.Load()
	require.NoError(t, err)
	rows, err := snapshot.LoadRows(c)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{noEvents: true, boards: []device.Board{newBoard(0)}}
		b := &bench{t: t, source: source, store: snapshot.NewStore(9*time.Second, 1<<24), begin: make(chan struct{})}
		collector := New(Options{
			Source: source, Store: b.store, Rows: rows, Metrics: NewMetrics(prometheus.NewRegistry()),
			Node: snapshot.Node{Period: time.Second}, Logger: slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- collector.Run(ctx) }()
		b.wait(3 * time.Second)
		assert.Equal(t, gpu.NotSupported, b.reading(0, device.XIDLast).State)
		cancel()
		require.NoError(t, <-done)
	})
}

// A driver that lists one GPU twice: nothing of it is shown for the other, or held when it is gone.
func TestOneUUIDTwice(t *testing.T) {
	run(t, 2, func(b *bench) {
		twin := newBoard(0)
		twin.devices[0].Index = 1
		split := newBoard(0)
		split.devices = append(split.devices, gpu.Device{Identity: gpu.Identity{UUID: "GPU-0", GPUInstance: "1"}})
		b.source.boards = []device.Board{b.boards[0], split, twin}
		b.wait(12 * time.Second)
		assert.Len(t, b.store.Newest().Status.Boards, 1)
		assert.Contains(t, b.store.Newest().Status.Source.Reason, "GPU 1 says that it is GPU-0, as another does")
		assert.True(t, b.power(0).OK())
		assert.Zero(t, twin.samples+split.samples)
		b.source.set(func() { b.source.boards = nil })
		b.wait(10 * time.Second)
		assert.Equal(t, snapshot.StateLost, b.board(0).Condition.State)
		assert.False(t, b.power(0).OK())
	})
}
