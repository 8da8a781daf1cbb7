package live

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func TestClock(t *testing.T) {
	t.Run("a round trip is halved", func(t *testing.T) {
		var c clock
		c.exchange(noon.Add(90*time.Second+500*time.Millisecond), noon, noon.Add(time.Second))
		require.Equal(t, 90*time.Second, c.offset)
		require.Equal(t, 90*time.Second, c.correction)
		require.Equal(t, noon, c.correct(noon.Add(90*time.Second)))
	})
	t.Run("a little is left alone", func(t *testing.T) {
		for _, off := range []time.Duration{0, time.Second, -time.Second, 300 * time.Millisecond} {
			var c clock
			c.exchange(noon.Add(off), noon, noon)
			require.Equal(t, off, c.offset)
			require.Zero(t, c.correction)
		}
	})
	t.Run("samples keep their place in the second", func(t *testing.T) {
		for off := -5 * time.Second; off < 5*time.Second; off += 70 * time.Millisecond {
			var c clock
			c.exchange(noon.Add(off), noon, noon)
			require.Zero(t, c.correction%time.Second)
			require.LessOrEqual(t, (off - c.correction).Abs(), time.Second)
		}
	})
	t.Run("it does not flutter around a limit", func(t *testing.T) {
		var c clock
		c.exchange(noon.Add(2500*time.Millisecond), noon, noon)
		first := c.correction
		for i := range 100 {
			at := noon.Add(time.Duration(i) * time.Second)
			c.bound(at.Add(2500*time.Millisecond+time.Duration(i%7-3)*50*time.Millisecond), at, time.Second)
			require.Equal(t, first, c.correction)
		}
	})
	t.Run("what is late on its way does not lower it", func(t *testing.T) {
		var c clock
		c.exchange(noon, noon, noon)
		for i := range 200 {
			at := noon.Add(time.Duration(i) * 100 * time.Millisecond)
			delay := 3 * time.Second
			if i%20 == 0 {
				delay = 0
			}
			c.bound(at.Add(-delay), at, 100*time.Millisecond)
			require.Zero(t, c.offset)
		}
	})
	t.Run("a clock that went back by less than a period is noticed", func(t *testing.T) {
		var c clock
		c.exchange(noon, noon, noon)
		for i := range 12 {
			at := noon.Add(time.Duration(i) * 10 * time.Second)
			c.bound(at.Add(-4*time.Second), at, 10*time.Second)
		}
		require.Equal(t, -4*time.Second, c.correction)
	})
}
