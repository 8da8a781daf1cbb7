package history

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"
)

const (
	// hungShare is how long others wait for a server that did not answer in time when it was last asked.
	hungShare = 2 * time.Second
	// listShare is how long a list of devices, which people wait for before they can choose, waits for servers of which nothing
	// is known.
	listShare = 5 * time.Second
)

// errLeft is the cause of a context that ended because the answers of others were enough.
var errLeft = errors.New("others have answered")

// outcome is what came of asking one server.
type outcome[T any] struct {
	endpoint *endpoint
	value    T
	err      error
}

// fanOut asks all endpoints at the same time and waits for all. Each has its own time limit, so a slow one takes no time
// from the others; but one that did not answer in time when it was last asked is given a share of it only, once others have
// answered. Of the replicas of a cluster only one is asked as long as it answers soon, and without gaps; a replica that was
// not needed has no outcome.
func fanOut[T any](ctx context.Context, endpoints []*endpoint, ask func(context.Context, *endpoint) (T, error)) []outcome[T] {
	return spread(ctx, endpoints, 0, ask)
}

// fanOutSoon is fanOut for what people wait for with a list to choose from: no server is waited for long once others have answered.
func fanOutSoon[T any](ctx context.Context, endpoints []*endpoint, ask func(context.Context, *endpoint) (T, error)) []outcome[T] {
	return spread(ctx, endpoints, listShare, ask)
}

// spread is fanOut where every group has a share of the time, 0 for no limit.
func spread[T any](ctx context.Context, endpoints []*endpoint, share time.Duration, ask func(context.Context, *endpoint) (T, error)) []outcome[T] {
	groups := replicaGroups(endpoints)
	outcomes := make([][]outcome[T], len(groups))
	began := time.Now()
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	ready := make(chan int, len(groups))
	var all sync.WaitGroup
	shares := make([]time.Duration, len(groups))
	for i, group := range groups {
		shares[i] = shareOf(group, share)
		all.Go(func() {
			outcomes[i] = askGroup(ctx, group, ask)
			ready <- i
		})
	}
	late := lateOf(ready, shares, began, func(i int) bool {
		return slices.ContainsFunc(outcomes[i], func(o outcome[T]) bool { return o.err == nil })
	})
	if len(late) > 0 {
		leave(errLeft)
	}
	all.Wait()
	for i := range late {
		for n, o := range outcomes[i] {
			if o.err != nil {
				o.endpoint.probe(ctx)
				outcomes[i][n].err = o.endpoint.left(shares[i])
			}
		}
	}
	return slices.Concat(outcomes...)
}

// lateOf waits for groups, and returns those that are not worth waiting for. Without an answer from any all are.
func lateOf(ready <-chan int, shares []time.Duration, began time.Time, isGood func(int) bool) map[int]bool {
	waiting := map[int]bool{}
	for i := range shares {
		waiting[i] = true
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	answered := false
	for len(waiting) > 0 {
		patience, limited := time.Duration(0), answered
		for i := range waiting {
			limited = limited && shares[i] > 0
			patience = max(patience, shares[i])
		}
		var enough <-chan time.Time
		if limited {
			timer.Reset(patience - time.Since(began))
			enough = timer.C
		}
		select {
		case i := <-ready:
			delete(waiting, i)
			answered = answered || isGood(i)
		case <-enough:
			return waiting
		}
	}
	return nil
}

// shareOf is the share of a group. Where one of its replicas may answer soon the group is as good as that.
func shareOf(group []*endpoint, share time.Duration) time.Duration {
	for _, e := range group {
		if !e.hung.Load() {
			return share
		}
	}
	return hungShare
}

// askGroup asks one server, or some replicas as a contest.
func askGroup[T any](ctx context.Context, group []*endpoint, ask func(context.Context, *endpoint) (T, error)) []outcome[T] {
	if len(group) > 1 {
		return race(ctx, group, ask)
	}
	value, err := ask(ctx, group[0])
	return []outcome[T]{{group[0], value, group[0].asError(ctx, err)}}
}

// left is that a server was not waited for.
func (e *endpoint) left(share time.Duration) *Error {
	why := "it is slower than others"
	if e.hung.Load() {
		why = "it did not answer in time when it was last asked"
	}
	return &Error{Endpoint: e.ID, Kind: KindTimeout, Message: fmt.Sprintf(
		"no answer within %s, and it was not waited for longer because %s; it is asked again with the next query", share, why)}
}

// probe asks a server that was not waited for something small, to find out whether it answers again. It does not wait, and one
// at a time is under way.
func (e *endpoint) probe(ctx context.Context) {
	if e.background == nil || !e.hung.Load() || !e.probing.CompareAndSwap(false, true) {
		return
	}
	started := e.background.run(ctx, func(ctx context.Context) {
		defer e.probing.Store(false)
		_, _ = e.query(ctx, instantPath, url.Values{"query": {"1"}}) // notes by itself how it went
	})
	if !started {
		e.probing.Store(false)
	}
}
