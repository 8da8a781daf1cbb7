package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// gapPatience is how long an answer with gaps waits for what other replicas have there.
const gapPatience = 2 * time.Second

// errLost is the cause of a context that ended because another replica was faster.
var errLost = errors.New("another replica has answered")

// gapped is an answer that can tell whether something is missing that another replica may have.
type gapped interface{ gaps() bool }

// askAll is fanOut without exception: there is an outcome for each endpoint, in their order.
func askAll[T any](ctx context.Context, endpoints []*endpoint, ask func(context.Context, *endpoint) (T, error)) []outcome[T] {
	outcomes := make([]outcome[T], len(endpoints))
	var wg sync.WaitGroup
	for i, e := range endpoints {
		wg.Go(func() {
			value, err := ask(ctx, e)
			outcomes[i] = outcome[T]{e, value, e.asError(ctx, err)}
		})
	}
	wg.Wait()
	return outcomes
}

// replicaGroups puts the replicas of each cluster together; every other endpoint is a group of its own.
func replicaGroups(endpoints []*endpoint) [][]*endpoint {
	var groups [][]*endpoint
	at := map[string]int{}
	for _, e := range endpoints {
		if i, ok := at[e.Cluster]; ok && e.Replica {
			groups[i] = append(groups[i], e)
			continue
		}
		if e.Replica {
			at[e.Cluster] = len(groups)
		}
		groups = append(groups, []*endpoint{e})
	}
	return groups
}

// contest is one question to several replicas.
type contest[T any] struct {
	ask     func(context.Context, *endpoint) (T, error)
	waiting []*endpoint     // not asked yet, the best first
	running []*endpoint     // asked, and silent so far
	answers chan outcome[T] // has room for all, so that nobody waits to be heard
	all     sync.WaitGroup
}

// race asks the best of some replicas; the next one, too, when that is slow; and the next when it fails. The first good
// answer ends it, unless it has gaps: then the others are asked to fill them. It returns what was answered, the first
// answer first, and what failed. All goroutines have ended by then.
func race[T any](ctx context.Context, replicas []*endpoint, ask func(context.Context, *endpoint) (T, error)) []outcome[T] {
	ctx, lose := context.WithCancelCause(ctx)
	c := contest[T]{ask: ask, waiting: byHealth(ctx, replicas, replicas[0].now()), answers: make(chan outcome[T], len(replicas))}
	defer c.all.Wait()
	defer lose(errLost)
	var failed []outcome[T]
	first := c.start(ctx)
	slow := time.NewTimer(first.pulse.patience(first.Timeout, first.now()))
	defer slow.Stop()
	spares := map[*endpoint]bool{}
	for len(c.running) > 0 {
		select {
		case <-slow.C:
			switch {
			case len(c.waiting) == 0:
			case first.pulse.spare():
				next := c.start(ctx)
				spares[next] = true
				slow.Reset(next.pulse.patience(next.Timeout, next.now()))
			default: // there may be spares again when those of others have turned out to be needed
				slow.Reset(leastPatience)
			}
		case o := <-c.answers:
			c.heard(o)
			switch {
			case o.err == nil:
				if spares[o.endpoint] {
					first.pulse.needed()
				}
				return append(append([]outcome[T]{o}, c.fill(ctx, o)...), failed...)
			case ctx.Err() != nil || isBadQuery(o.err):
				// Another replica would say the same.
				return append([]outcome[T]{o}, failed...)
			}
			failed = append(failed, o)
			if len(c.running) == 0 && len(c.waiting) > 0 {
				next := c.start(ctx)
				slow.Reset(next.pulse.patience(next.Timeout, next.now()))
			}
		}
	}
	return failed
}

// start asks the next replica.
func (c *contest[T]) start(ctx context.Context) *endpoint {
	e := c.waiting[0]
	c.waiting = c.waiting[1:]
	c.running = append(c.running, e)
	e.pulse.ask()
	c.all.Go(func() {
		began := e.now()
		value, err := c.ask(ctx, e)
		e.note(ctx, e.now().Sub(began), err)
		c.answers <- outcome[T]{e, value, e.asError(ctx, err)}
	})
	return e
}

func (c *contest[T]) heard(o outcome[T]) {
	c.running = slices.DeleteFunc(c.running, func(e *endpoint) bool { return e == o.endpoint })
}

// note remembers how an endpoint did.
func (e *endpoint) note(ctx context.Context, took time.Duration, err error) {
	switch {
	case err == nil:
		e.pulse.recovered()
		e.pulse.answered(took, e.now())
	case errors.Is(context.Cause(ctx), errLost):
		e.pulse.answered(took, e.now()) // at least
	case ctx.Err() != nil:
	case isBadQuery(err):
		e.pulse.recovered()
	case (e.Permit != nil || e.tenant(ctx) != "") && isTheCallers(err):
	default:
		e.pulse.failed(e.now())
	}
}

// fill asks the other replicas for what is missing from an answer, if anything is. Those that would take long are not
// waited for.
func (c *contest[T]) fill(ctx context.Context, o outcome[T]) []outcome[T] {
	if answer, ok := any(o.value).(gapped); !ok || !answer.gaps() {
		return nil
	}
	var filled []outcome[T]
	gaveUp := func(e *endpoint, kind Kind, why string) {
		filled = append(filled, outcome[T]{endpoint: e, err: &Error{Endpoint: e.ID, Kind: kind, Message: why + ", so gaps in the answer may remain"}})
	}
	for len(c.waiting) > 0 {
		if e := c.waiting[0]; e.pulse.ails(e.now()) {
			c.waiting = c.waiting[1:]
			gaveUp(e, KindUnavailable, "it failed a moment ago and was not asked again")
			continue
		}
		c.start(ctx)
	}
	enough := time.NewTimer(gapPatience)
	defer enough.Stop()
	for len(c.running) > 0 {
		select {
		case other := <-c.answers:
			c.heard(other)
			filled = append(filled, other)
		case <-enough.C:
			for _, e := range c.running {
				e.pulse.failed(e.now())
				gaveUp(e, KindTimeout, fmt.Sprintf("no answer within %s", gapPatience))
			}
			return filled
		}
	}
	return filled
}

func isBadQuery(err error) bool {
	var failed *Error
	return errors.As(err, &failed) && failed.Kind == KindBadQuery
}

// isTheCallers reports whether it is because of who asks that they got no answer: what one tenant may not do, or has done
// too often, says nothing about others.
func isTheCallers(err error) bool {
	var failed *Error
	return errors.As(err, &failed) && (failed.Kind == KindUnauthorized || failed.Kind == KindThrottled)
}

// asError makes every error an *Error, also that of a caller who gave up while another's request was under way.
func (e *endpoint) asError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	if ctx.Err() != nil {
		return e.transportError(ctx, err)
	}
	return &Error{Endpoint: e.ID, Kind: KindUnavailable, Message: err.Error(), cause: err}
}

// partMissing begins the notice of a server that did not answer and that no other stands in for.
const partMissing = "Part of the history is missing: "

// anyMissing reports whether one of the notices of split is such a notice.
func anyMissing(notices []gpu.Notice) bool {
	return slices.ContainsFunc(notices, func(n gpu.Notice) bool { return strings.HasPrefix(n.Text, partMissing) })
}

// split separates what was answered from what failed. With an answer, failures are notices, one for each endpoint;
// without, they are the error. A replica that another stood in for is no loss.
func split[T any](outcomes []outcome[T]) (good []outcome[T], notices []gpu.Notice, err error) {
	var errs []error
	covered := map[string]bool{} // clusters of which a replica answered
	for _, o := range outcomes {
		if o.err == nil && o.endpoint.Replica {
			covered[o.endpoint.Cluster] = true
		}
	}
	for _, o := range outcomes {
		if o.err == nil {
			good = append(good, o)
			continue
		}
		errs = append(errs, o.err)
		n := gpu.Notice{Severity: o.endpoint.failure, Text: partMissing + o.err.Error() + "."}
		if o.endpoint.Replica && covered[o.endpoint.Cluster] {
			n = gpu.Notice{Severity: gpu.Info, Text: "Another replica answered instead: " + o.err.Error() + "."}
		}
		notices = append(notices, n)
	}
	if len(good) > 0 {
		return good, notices, nil
	}
	return nil, nil, joined(errs)
}
