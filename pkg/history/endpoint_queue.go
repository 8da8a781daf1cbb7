package history

import (
	"context"
	"errors"
	"fmt"
)

// queue lets so many requests to a server run at the same time, and the others wait.
type queue chan struct{}

func newQueue(atOnce int) queue { return make(queue, atOnce) }

// enter waits for a place. It fails with errQueued when ctx ends before.
func (q queue) enter(ctx context.Context) error {
	select {
	case q <- struct{}{}:
		return nil
	default:
	}
	select {
	case q <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errQueued
	}
}

func (q queue) leave() { <-q }

// errQueued is that there was no place among the requests to a server.
var errQueued = errors.New("other requests were in the way")

// crowdedOut says what to do about too many requests. ctx is the request's own context.
func (e *endpoint) crowdedOut(ctx context.Context) *Error {
	out := e.transportError(ctx, errQueued)
	if out.Kind == KindTimeout {
		out.Message = fmt.Sprintf("%d requests to this server were running all the time, so this one was never sent; "+
			"raise the endpoint's concurrency or its timeout, or refresh less often", cap(e.queue))
	}
	return out
}
