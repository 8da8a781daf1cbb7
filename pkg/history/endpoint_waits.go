package history

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// mostWaits is how many tenants' waits are remembered; of more each may ask once too often.
const mostWaits = 1024

// waits are for how long a server does not want to be asked: a server that cannot answer by anybody, and one that limits
// requests by the tenant who made too many.
type waits struct {
	mu    sync.Mutex
	of    map[string]answerAfter // by tenant
	ofAll answerAfter
}

// answerAfter is when to ask again, and the status that it came with.
type answerAfter struct {
	until  time.Time
	status int
}

// ask notes what came with Retry-After.
func (w *waits) ask(tenant string, status int, now time.Time, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := answerAfter{now.Add(d), status}
	if status >= http.StatusInternalServerError {
		w.ofAll = next
		return
	}
	for old, one := range w.of {
		if !now.Before(one.until) {
			delete(w.of, old)
		}
	}
	if w.of == nil {
		w.of = map[string]answerAfter{}
	}
	if _, known := w.of[tenant]; known || len(w.of) < mostWaits {
		w.of[tenant] = next
	}
}

// left is how long the tenant is yet to wait, with the status that said so.
func (w *waits) left(tenant string, now time.Time) (d time.Duration, status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	longest := w.ofAll
	if own := w.of[tenant]; own.until.After(longest.until) {
		longest = own
	}
	return longest.until.Sub(now), longest.status
}

// blocked is an error as long as the server has asked not to be asked by whoever asks now.
func (e *endpoint) blocked(ctx context.Context) error {
	left, status := e.waits.left(e.tenant(ctx), e.now())
	if left <= 0 {
		return nil
	}
	out := &Error{
		Endpoint: e.ID, Status: status, Kind: KindUnavailable, RetryAfter: left,
		Message: fmt.Sprintf("the server asked with its last answer (%d) to wait before the next request%s", status, wait(left)),
	}
	if status == http.StatusTooManyRequests {
		out.Kind = KindThrottled
	}
	return out
}
