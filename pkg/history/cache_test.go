package history

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

func TestCacheLoadsOnceAndForgetsCancelledLoads(t *testing.T) {
	var c cache[int]
	now := time.Unix(t0, 0)
	c.setUp(func() time.Time { return now })
	var loads atomic.Int32
	load := func(context.Context) (int, error) { return int(loads.Add(1)), nil }
	for range 3 {
		if v, err := c.get(context.Background(), "a", time.Minute, load); v != 1 || err != nil {
			t.Errorf("got %d, %v", v, err)
		}
	}
	if v, _ := c.get(context.Background(), "b", time.Minute, load); v != 2 {
		t.Errorf("another tenant's value: %d", v)
	}
	now = now.Add(2 * time.Minute)
	if v, _ := c.get(context.Background(), "a", time.Minute, load); v != 3 {
		t.Errorf("an old value: %d", v)
	}
	if len(c.entries) != 1 {
		t.Errorf("%d entries are kept", len(c.entries))
	}

	// The first in line gives up; the second gets a value of its own.
	ctx, cancel := context.WithCancel(context.Background())
	started := make(chan struct{})
	first := make(chan error)
	go func() {
		_, err := c.get(ctx, "c", time.Minute, func(ctx context.Context) (int, error) {
			close(started)
			<-ctx.Done()
			return 0, ctx.Err()
		})
		first <- err
	}()
	<-started
	second := make(chan int)
	go func() {
		v, err := c.get(context.Background(), "c", time.Minute, load)
		if err != nil {
			t.Error(err)
		}
		second <- v
	}()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if v := <-second; v != 4 {
		t.Errorf("got %d", v)
	}

	boom := errors.New("boom")
	for range 2 {
		_, err := c.get(context.Background(), "d", time.Minute, func(context.Context) (int, error) { loads.Add(1); return 0, boom })
		if !errors.Is(err, boom) {
			t.Errorf("got %v", err)
		}
	}
	if loads.Load() != 5 {
		t.Errorf("a failure is remembered for a moment, but there were %d loads", loads.Load())
	}
	now = now.Add(failureTTL)
	if v, err := c.get(context.Background(), "d", time.Minute, load); err != nil || v != 6 {
		t.Errorf("got %d, %v", v, err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = c.get(context.Background(), "e", time.Minute, func(context.Context) (int, error) { panic("x") })
	}()
	if v, err := c.get(context.Background(), "e", time.Minute, load); err != nil || v != 7 {
		t.Errorf("after a panic: %d, %v", v, err)
	}
}

func TestTenantsDoNotShare(t *testing.T) {
	type key struct{}
	s := exposition(t, "exporter_4_8.prom")
	h, err := New([]Endpoint{{ID: "p", URL: promtest.Serve(t, s)}}, mustCatalog(t), Options{
		Tenant: func(ctx context.Context) string { return fmt.Sprint(ctx.Value(key{})) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []string{"a", "a", "b"} {
		h.Devices(context.WithValue(context.Background(), key{}, tenant))
	}
	queries := 0
	for _, request := range s.Requests() {
		if strings.Contains(request, "/api/v1/query ") {
			queries++
		}
	}
	if queries != 2 {
		t.Errorf("%d queries for two tenants", queries)
	}
}

// A server that had nothing is asked again soon: it may have been started just now.
func TestNothingIsRememberedShortly(t *testing.T) {
	c := cache[[]int]{empty: func(v []int) bool { return len(v) == 0 }}
	now := time.Unix(t0, 0)
	c.setUp(func() time.Time { return now })
	value := []int(nil)
	load := func(context.Context) ([]int, error) { return value, nil }
	ask := func() int {
		got, err := c.get(context.Background(), "a", time.Minute, load)
		if err != nil {
			t.Fatal(err)
		}
		return len(got)
	}
	if ask() != 0 {
		t.Fatal("something came of nothing")
	}
	value = []int{1}
	if now = now.Add(emptyTTL - 1); ask() != 0 {
		t.Error("nothing is not remembered at all")
	}
	if now = now.Add(2); ask() != 1 {
		t.Error("nothing is remembered too long")
	}
	value = nil
	if now = now.Add(30 * time.Second); ask() != 1 {
		t.Error("something is forgotten too soon")
	}
}
