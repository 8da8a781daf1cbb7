package history

import (
	"net/http"
	"sync/atomic"
	"time"
)

// theirClock is how far a server's clock is behind ours at least. Such a server repeats its newest samples at times that for it
// have yet to come, and what it says of them is no answer to keep.
type theirClock struct{ behind atomic.Int64 } // milliseconds

// hear compares the time that a server says it is with when it was asked.
func (c *theirClock) hear(header http.Header, asked time.Time) {
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return
	}
	latest := date.Add(time.Second) // it says whole seconds
	c.behind.Store(max(asked.Sub(latest).Milliseconds(), 0))
}
