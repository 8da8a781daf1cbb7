package plugin

import (
	"fmt"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// When a shared cache is left alone, and for how long. Whoever asks for an answer waits for it up to its time limit, which is
// nothing to do with every query.
const (
	breakAfter  = 3 // failures in a row
	sharedRetry = 10 * time.Second
	longestRest = 2 * time.Minute
)

// breaker keeps callers from something that fails again and again. The zero value lets everybody through.
type breaker struct {
	now func() time.Time // nil for time.Now

	mu       sync.Mutex
	failures int // in a row
	rest     time.Duration
	until    time.Time // when it may be tried again; zero when it works
	trying   bool      // one caller tries whether it works again
	untold   bool      // that it is left alone
}

func (b *breaker) time() time.Time {
	if b.now == nil {
		return time.Now()
	}
	return b.now()
}

// enter reports whether the caller may go on; it must then say how it went with leave. After a rest one caller at a time may,
// until it works.
func (b *breaker) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.until.IsZero():
		return true
	case b.trying || b.time().Before(b.until):
		return false
	}
	b.trying = true
	return true
}

// outcome of a call that a breaker let through.
type outcome uint8

const (
	worked outcome = iota
	failed
	gaveUp // the caller did, which says nothing
)

func (b *breaker) leave(how outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
	switch how {
	case worked:
		b.failures, b.rest, b.until, b.untold = 0, 0, time.Time{}, false
	case failed:
		if b.failures++; b.failures < breakAfter {
			return
		}
		b.untold = b.untold || b.until.IsZero()
		b.rest = min(max(2*b.rest, sharedRetry), longestRest)
		b.until = b.time().Add(b.rest)
	case gaveUp:
	}
}

// notice is what to tell of it, once each time that it begins to fail.
func (b *breaker) notice() []gpu.Notice {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.untold {
		return nil
	}
	b.untold = false
	return []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
		"The shared cache (cache.remote) does not answer in time and is left alone for now; queries ask Prometheus instead. It is tried again every %s to %s: "+
			"look at its servers, or take it out of the data source's settings.", sharedRetry, longestRest)}}
}
