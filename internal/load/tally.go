package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/internal/console"
)

// mostKinds is how many different failures are told.
const mostKinds = 10

// tally is what all viewers saw.
type tally struct {
	mu            sync.Mutex
	times         []time.Duration // of answers
	failures      int
	kinds         map[string]int // by their texts
	subscriptions int
	packets       int
	bytes         int
}

func (t *tally) took(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.times = append(t.times, d)
}

// fail counts a failure, unless it is that the time is over.
func (t *tally) fail(ctx context.Context, text string) {
	if ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kinds == nil {
		t.kinds = map[string]int{}
	}
	t.failures++
	if t.kinds[text] > 0 || len(t.kinds) < mostKinds {
		t.kinds[text]++
	}
}

func (t *tally) subscribed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.subscriptions++
}

func (t *tally) published(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.packets++
	t.bytes += n
}

// quantile is the time within which that share of sorted answers came.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)].Round(time.Millisecond)
}

func (t *tally) print(c *console.Console, h held) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sorted := slices.Sorted(slices.Values(t.times))
	c.Print("  answers        %d, %d failures", len(sorted), t.failures)
	c.Print("  time           p50 %s, p90 %s, p99 %s, at most %s", quantile(sorted, 0.5), quantile(sorted, 0.9), quantile(sorted, 0.99), quantile(sorted, 1))
	c.Print("  live           %d subscriptions, %d packets, %d MiB", t.subscriptions, t.packets, t.bytes>>20)
	c.Print("  plugin's RSS   %d MiB at the start, %d at most, %d at the end", h.start, h.peak, h.end)
}

// failed is an error when any answer failed, or when there was none.
func (t *tally) failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.failures == 0 && len(t.times) == 0:
		return errors.New("nobody got an answer")
	case t.failures == 0 && t.packets == 0:
		return errors.New("nothing went on live")
	case t.failures == 0:
		return nil
	}
	var kinds []string
	for text, n := range t.kinds {
		kinds = append(kinds, fmt.Sprintf("%d times: %.300s", n, text))
	}
	slices.Sort(kinds)
	return fmt.Errorf("%d failures, such as\n%s", t.failures, strings.Join(kinds, "\n"))
}
