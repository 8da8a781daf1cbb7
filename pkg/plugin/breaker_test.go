package plugin

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/warpwatch/warpwatch/pkg/settings"
)

// hanging is a cache that answers nothing until somebody gives up.
type hanging struct{ asked, stored atomic.Int32 }

func (h *hanging) get(ctx context.Context, _ []string) (map[string][]byte, error) {
	h.asked.Add(1)
	<-ctx.Done()
	return nil, ctx.Err()
}

func (h *hanging) set(ctx context.Context, _ string, _ []byte, _ time.Duration) error {
	h.stored.Add(1)
	<-ctx.Done()
	return ctx.Err()
}

func (h *hanging) close() {}

// A cache that hangs costs a few queries its time limit, and then one in a while.
func TestSharedCacheThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hanging{}
		var failed, skipped atomic.Int32
		s := &sharedStore{connect: func() (store, error) { return h, nil }, timeout: 500 * time.Millisecond, slots: make(chan struct{}, sharedAtOnce),
			count: func(result string) { map[string]*atomic.Int32{"failed": &failed, "skipped": &skipped}[result].Add(1) }}
		defer s.close()
		began := time.Now()
		for range 100 {
			s.GetMulti(t.Context(), []string{"a"})
		}
		if took := time.Since(began); took != 1500*time.Millisecond || h.asked.Load() != breakAfter {
			t.Errorf("100 queries took %s, %d asked the cache", took, h.asked.Load())
		}
		if failed.Load() != breakAfter || skipped.Load() != 100-breakAfter {
			t.Errorf("counted %d failed, %d skipped", failed.Load(), skipped.Load())
		}
		if n := len(s.breaker.notice()); n != 1 {
			t.Errorf("%d notices", n)
		}
		if n := len(s.breaker.notice()); n != 0 {
			t.Errorf("told %d times more", n)
		}
		s.SetAsync("a", []byte("x"), time.Minute)
		synctest.Wait()
		if h.stored.Load() != 0 {
			t.Error("a cache that is left alone is stored to")
		}
		// One in ten seconds tries, then one in twenty, and nobody waits for it.
		time.Sleep(sharedRetry)
		go s.GetMulti(t.Context(), []string{"a"})
		synctest.Wait()
		began = time.Now()
		s.GetMulti(t.Context(), []string{"a"})
		if time.Since(began) != 0 {
			t.Error("a second caller tries at the same time")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		time.Sleep(sharedRetry)
		s.GetMulti(t.Context(), []string{"a"})
		if h.asked.Load() != breakAfter+1 {
			t.Errorf("asked %d times", h.asked.Load())
		}
		if n := len(s.breaker.notice()); n != 0 {
			t.Errorf("told again while it still hangs")
		}
	})
}

// What works again is used again, and told of when it fails again. Callers who give up say nothing about the cache.
func TestBreaker(t *testing.T) {
	now := time.Unix(0, 0)
	b := breaker{now: func() time.Time { return now }}
	for range 10 {
		b.enter()
		b.leave(gaveUp)
	}
	for round := range 2 {
		for range breakAfter {
			if !b.enter() {
				t.Fatal("left alone too early")
			}
			b.leave(failed)
		}
		if b.enter() || len(b.notice()) != 1 {
			t.Errorf("round %d: not left alone, or without a word", round)
		}
		now = now.Add(sharedRetry)
		if first, second := b.enter(), b.enter(); !first || second {
			t.Errorf("round %d: not one tries", round)
		}
		b.leave(worked)
		if first, second := b.enter(), b.enter(); !first || !second {
			t.Errorf("round %d: it works again and is not used", round)
		}
		b.leave(worked)
		b.leave(worked)
	}
	for range 20 {
		b.enter()
		b.leave(failed)
		now = now.Add(longestRest)
	}
	if b.rest != longestRest {
		t.Errorf("a rest of %s", b.rest)
	}
}

// The real clients, at a server that accepts connections and never answers.
func TestSharedCacheServersThatHang(t *testing.T) {
	for _, kind := range []string{"redis", "memcached"} {
		remote, stop := sharedCache(settings.RemoteCache{Type: kind, Addresses: []string{deaf(t)}, Timeout: 20 * time.Millisecond}, nil)
		for range 10 {
			if got := remote.GetMulti(t.Context(), []string{"a"}); len(got) > 0 {
				t.Errorf("%s: got %q", kind, got)
			}
		}
		if s := remote.(*sharedStore); len(s.breaker.notice()) != 1 {
			t.Errorf("%s: nothing is told", kind)
		}
		stop()
	}
}

// deaf is the address of a server that accepts connections and never answers.
func deaf(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		open.Wait()
	})
	open.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() { _, _ = io.Copy(io.Discard, connection) })
		}
	})
	return listener.Addr().String()
}
