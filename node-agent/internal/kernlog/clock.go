package kernlog

import (
	"time"

	"golang.org/x/sys/unix"
)

// clock tells when a record was written, of which the kernel says only how long after boot.
//
// The log's clock and CLOCK_MONOTONIC both stand still while the machine sleeps, but only the latter is disciplined by
// NTP: they drift apart, by seconds a day. A record that arrives while the reader waits for one tells by how much. The
// offset to the time of day is taken anew for every record, so that a step of the clock spoils none after it.
//
// Records from before the agent are less exact: they are dated by the drift at its start, which is not known, and too
// late by the time the machine slept since. No record is ever in the future.
type clock struct {
	now     func() (wall time.Time, monotonic time.Duration)
	ahead   time.Duration // of the monotonic clock before the log's
	learned time.Duration // when ahead was measured, 0 for never
}

// maxDrift is one part in so many: more than crystals do, and less than a reader that was not given the CPU for a while.
const maxDrift = 1000

// arrived learns from a record that was read as soon as it was written.
func (c *clock) arrived(stamp time.Duration) {
	_, now := c.now()
	// However late the reader wakes up, the difference only becomes larger by it.
	ahead := now - stamp
	if c.learned != 0 {
		ahead = min(ahead, c.ahead+(now-c.learned)/maxDrift)
	}
	c.ahead, c.learned = ahead, now
}

// time is when a record was written.
func (c *clock) time(stamp time.Duration) time.Time {
	wall, now := c.now()
	return wall.Add(-max(0, now-stamp-c.ahead)).Round(time.Millisecond)
}

// systemClock reads the machine's clocks.
func systemClock() (time.Time, time.Duration) {
	var t unix.Timespec
	// It cannot fail for a clock that every kernel has; 0 would date a record to the time that it was read.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return time.Now().Round(0), time.Duration(t.Nano())
}
