package live

import "time"

// Limits of the clock correction.
const (
	// tolerated is how far an agent's clock may be off before its samples are moved. Clocks kept by NTP stay far below.
	tolerated = time.Second
	// clockWindow is how long measurements that say a clock went back must agree.
	clockWindow = 5 * time.Second
)

// clock measures how far an agent's clock is off and says by how much its samples are to be moved.
//
// The first measurement is a round trip: the agent's clock in the schema against the middle of the time between the
// request and its answer. After it every heartbeat and every fresh sample is a bound: it was on its way for some time,
// so the agent's clock is at least that far ahead. A bound above the offset therefore raises it at once. An offset is
// lowered when all of five seconds (and of five periods) say so, or when the samples' time jumps back.
//
// The correction is the offset rounded to a whole second, and only when the offset is above one second; it changes
// only when the offset has moved more than a second from it. Samples keep their place within the second, so they stay
// on the beat they were taken on and fall one to each bin of a grid, and a clock that is only a little off is left alone.
type clock struct {
	offset     time.Duration
	correction time.Duration

	start time.Time // of the window
	n     int
	max   time.Duration // highest bound in the window
}

// exchange takes the agent's clock out of the answer to a request.
func (c *clock) exchange(agent, sent, received time.Time) {
	c.set(agent.Sub(sent.Add(received.Sub(sent) / 2)))
	c.n = 0
}

// bound takes the agent's clock out of something that it sent by itself. period is how often that comes.
func (c *clock) bound(agent, received time.Time, period time.Duration) {
	m := agent.Sub(received)
	if m > c.offset {
		c.set(m)
	}
	if c.n == 0 {
		c.start, c.max = received, m
	}
	c.n++
	c.max = max(c.max, m)
	if received.Sub(c.start) < max(clockWindow, 5*period) || c.n < 5 {
		return
	}
	if c.max < c.offset-tolerated {
		c.set(c.max)
	}
	c.n = 0
}

// jumpedBack takes the time of a fresh sample that is before the one before it.
func (c *clock) jumpedBack(agent, received time.Time) {
	c.set(agent.Sub(received))
	c.n = 0
}

func (c *clock) set(offset time.Duration) {
	c.offset = offset
	if (offset - c.correction).Abs() <= tolerated {
		return
	}
	c.correction = 0
	if offset.Abs() > tolerated {
		c.correction = offset.Round(time.Second)
	}
}

// correct is a time of the agent's on the plugin's clock.
func (c *clock) correct(t time.Time) time.Time { return t.Add(-c.correction) }
