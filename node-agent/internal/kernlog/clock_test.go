package kernlog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// machine is a clock whose hands the test moves.
type machine struct {
	wall      time.Time
	monotonic time.Duration
}

func (m *machine) now() (time.Time, time.Duration) { return m.wall, m.monotonic }

func (m *machine) pass(d time.Duration) {
	m.wall = m.wall.Add(d)
	m.monotonic += d
}

func TestRecordsAreDatedByTheTimeSinceBoot(t *testing.T) {
	m := &machine{wall: now, monotonic: time.Hour}
	c := &clock{now: m.now}
	assert.Equal(t, now.Add(-10*time.Minute), c.time(50*time.Minute))
	assert.Equal(t, now, c.time(time.Hour+time.Second), "never in the future")

	m.wall = m.wall.Add(time.Hour) // somebody sets the clock
	assert.Equal(t, now.Add(time.Hour-10*time.Minute), c.time(50*time.Minute))
}

func TestTheDriftOfTheLogsClockIsLearned(t *testing.T) {
	m := &machine{wall: now, monotonic: 100 * time.Hour}
	c := &clock{now: m.now}
	const drift = 20 * time.Second
	c.arrived(m.monotonic - drift)
	assert.Equal(t, m.wall, c.time(m.monotonic-drift))
	assert.Equal(t, m.wall.Add(-time.Second), c.time(m.monotonic-drift-time.Second))

	// The reader was stopped for half a minute. Records that waited for it are not taken for new ones.
	stamp := m.monotonic - drift
	m.pass(30 * time.Second)
	c.arrived(stamp + time.Second)
	assert.WithinDuration(t, m.wall.Add(-29*time.Second), c.time(stamp+time.Second), 50*time.Millisecond)

	// A drift that goes on is followed.
	for range 1000 {
		m.pass(time.Minute)
		stamp += time.Minute - 10*time.Millisecond
		c.arrived(stamp)
	}
	assert.WithinDuration(t, m.wall, c.time(stamp), 50*time.Millisecond)
}

func TestSleepOfTheMachineIsNoTime(t *testing.T) {
	m := &machine{wall: now, monotonic: time.Hour}
	c := &clock{now: m.now}
	c.arrived(time.Hour)
	m.wall = m.wall.Add(8 * time.Hour) // and the monotonic clock stands still, as the log's does
	m.pass(time.Second)
	c.arrived(time.Hour + time.Second)
	assert.Equal(t, m.wall, c.time(time.Hour+time.Second))
}
