package collect

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/wish"
)

func TestTickFor(t *testing.T) {
	for _, c := range []struct{ tick, least, wished, want int }{
		{1000, 100, 0, 1000},
		{1000, 100, 100, 100},
		{1000, 100, 1, 100},
		{1000, 100, 150, 125},
		{1000, 130, 150, 200}, // 125 is less than the least
		{1000, 300, 300, 500},
		{1000, 100, 999, 500},
		{1000, 100, 1000, 1000},
		{1000, 100, 5000, 1000},
		{1000, 0, 100, 1000},
		{997, 100, 100, 997}, // has no parts in whole milliseconds
		{250, 100, 100, 125},
		{100, 100, 10, 100},
		{60_000, 100, 100, 100},
		{1000, 2000, 100, 1000},
	} {
		ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
		s := Schedule{Tick: ms(c.tick), MinTick: ms(c.least)}
		assert.Equal(t, ms(c.want), s.tickFor(ms(c.wished)), "%+v", c)
	}
}

// heard makes readers' wishes count, in a book that it leaves in book.
func heard(book **wish.Book) func(*Options) {
	return func(o *Options) {
		*book = wish.NewBook()
		o.Wishes = *book
		o.Schedule = NewSchedule(device.Standard, ClassIntervals(time.Second))
		o.Schedule.MinTick = 100 * time.Millisecond
	}
}

func TestSamplesComeAsOftenAsReadersWish(t *testing.T) {
	var book *wish.Book
	runWith(t, 2, heard(&book), func(b *bench) {
		b.wait(10500 * time.Millisecond)
		base := b.store.Newest().Schema
		assert.EqualValues(t, 1000, base.Wire.GetPeriodMs())
		assert.EqualValues(t, 100, base.Wire.GetMinPeriodMs())
		before := b.store.Newest().Seq
		w := book.Join()
		w.Set(100 * time.Millisecond)
		b.wait(5 * time.Second)
		raised := b.store.Newest()
		assert.InDelta(t, before+50, raised.Seq, 1)
		assert.EqualValues(t, 100, raised.Schema.Wire.GetPeriodMs())
		period, err := b.figure("warpwatch_agent_period_seconds")
		require.NoError(t, err)
		assert.Equal(t, 0.1, period)
		for i, c := range raised.Schema.Columns {
			if c.Metric == device.ThrottlePower {
				assert.EqualValues(t, 5000, raised.Schema.Wire.Columns[i].GetIntervalMs(), "slow ones stay")
			}
		}
		board := b.boards[0]
		assert.Greater(t, len(board.measured(device.GroupPower)), 55)
		assert.LessOrEqual(t, len(board.measured(device.GroupThrottling)), 5)
		for _, f := range b.past() {
			for i, c := range f.Schema.Columns {
				if c.Metric == device.Power && f.Seq > 2 {
					assert.True(t, f.Readings[i].OK(), "no hole at %s", f.Time)
				}
			}
		}

		// It goes, and comes back in time: nobody notices.
		w.Leave()
		b.wait(14 * time.Second)
		w.Set(100 * time.Millisecond)
		b.wait(14 * time.Second)
		assert.Same(t, raised.Schema, b.store.Newest().Schema)
		w.Leave()
		b.wait(14900 * time.Millisecond)
		assert.Same(t, raised.Schema, b.store.Newest().Schema)
		b.wait(1300 * time.Millisecond)
		assert.Same(t, base, b.store.Newest().Schema, "the same as before, so that the past holds it once")
		last := b.store.Newest()
		b.wait(5 * time.Second)
		assert.Equal(t, last.Seq+5, b.store.Newest().Seq)
		missed, err := b.figure("warpwatch_agent_missed_periods_total")
		require.NoError(t, err)
		assert.Zero(t, missed)
		assert.EqualValues(t, 0, b.store.Newest().Time.UnixMilli()%1000)
	})
}

func TestWishesAreUnheardWhenSwitchedOff(t *testing.T) {
	var book *wish.Book
	runWith(t, 1, func(o *Options) {
		heard(&book)(o)
		o.Schedule.MinTick = 0
	}, func(b *bench) {
		b.wait(2 * time.Second)
		book.Join().Set(100 * time.Millisecond)
		b.wait(5 * time.Second)
		f := b.store.Newest()
		assert.EqualValues(t, 1000, f.Schema.Wire.GetPeriodMs())
		assert.Zero(t, f.Schema.Wire.GetMinPeriodMs())

		// A reload may let them be heard, at another pace.
		s := NewSchedule(device.Standard, ClassIntervals(2*time.Second))
		s.MinTick = 200 * time.Millisecond
		b.collector.Reconfigure(s)
		b.wait(time.Second)
		assert.EqualValues(t, 200, b.store.Newest().Schema.Wire.GetPeriodMs())
		assert.EqualValues(t, 200, b.store.Newest().Schema.Wire.GetMinPeriodMs())
	})
}

// A GPU that was taken away is not shown for ever; one that hangs or fails is.
func TestALostGPUIsForgotten(t *testing.T) {
	runWith(t, 3, func(o *Options) {
		o.Schedule = NewSchedule(device.Standard, ClassIntervals(time.Second))
		o.Schedule.ForgetAfter = time.Hour
	}, func(b *bench) {
		b.wait(3 * time.Second)
		b.source.set(func() { b.source.boards = []device.Board{b.boards[0], b.boards[2]} })
		b.wait(59 * time.Minute)
		assert.Len(t, b.store.Newest().Schema.Devices, 3)
		b.wait(2 * time.Minute)
		f := b.store.Newest()
		assert.Len(t, f.Schema.Devices, 2)
		assert.Len(t, f.Status.Boards, 2)
		assert.True(t, b.power(2).OK())
		happened := b.happened()
		assert.Contains(t, happened[len(happened)-1], "GPU-1 forgotten agent: it is lost since ")
		b.source.set(func() { b.source.boards = []device.Board{b.boards[0], b.boards[1], b.boards[2]} })
		b.wait(15 * time.Second)
		assert.True(t, b.power(1).OK(), "it is new")
	})
}
