package faults

import (
	"context"
	"flag"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/live"
)

var churn = flag.Duration("faults.churn", 4*time.Second, "how long subscribers join and leave at random; minutes for a soak")

// Subscribers join and leave at random, a thousand of them at least, while connections break: one that stays hears
// everything once, every one of them hears in order, and nothing is left of them.
func TestSubscribersJoinAndLeave(t *testing.T) {
	const nodes, atOnce, least = 2, 250, 1000
	var proxies []*proxy
	var addresses []string
	for _, name := range []string{"n1", "n2"} {
		a := startAgent(t, "--node-name="+name, "--simulate.gpus=2", "--collect.interval=200ms")
		p := newProxy(t, a.address)
		proxies, addresses = append(proxies, p), append(addresses, p.address())
	}
	s := newScene(t, addresses...)
	ctx, cancel := context.WithTimeout(t.Context(), *churn)
	defer cancel()
	var joined sync.WaitGroup
	var mu sync.Mutex
	total, disorders := 0, 0
	done := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return ctx.Err() != nil && total >= least
	}
	for range atOnce {
		joined.Go(func() {
			for !done() {
				bad := s.visit(t.Context())
				mu.Lock()
				total++
				disorders += bad
				mu.Unlock()
			}
		})
	}
	broken := make(chan struct{})
	go func() {
		defer close(broken)
		for !done() {
			time.Sleep(time.Duration(500+rand.IntN(1000)) * time.Millisecond)
			proxies[rand.IntN(nodes)].reset()
		}
	}()
	joined.Wait()
	<-broken
	t.Logf("%d subscribers", total)
	require.Zero(t, disorders)
	s.flowing(nodes)
	s.contiguous()
	s.held()
	s.grewNot()
	s.end(proxies[0], proxies[1])
}

// visit is what one panel does: it looks for a moment, in some way, and goes. It counts what comes in disorder.
func (s *scene) visit(ctx context.Context) (disorders int) {
	stay := time.Duration(rand.IntN(600)) * time.Millisecond
	selected := live.Select{Metric: power, Wait: stay, Events: rand.IntN(2) == 0, Processes: rand.IntN(4) == 0, Owners: rand.IntN(4) == 0}
	if rand.IntN(2) == 0 {
		selected.Since = time.Now().Add(-time.Duration(rand.IntN(5000)) * time.Millisecond)
	}
	if rand.IntN(3) == 0 {
		selected.Period = period
	}
	switch rand.IntN(4) {
	case 0:
		for _, line := range s.hub.Window(ctx, selected).Series {
			for i := 1; i < len(line.Times); i++ {
				if line.Times[i] <= line.Times[i-1] {
					disorders++
				}
			}
		}
		return disorders
	case 1:
		s.hub.Now(ctx, selected)
		return 0
	}
	sub := s.hub.Subscribe(selected)
	defer sub.Close()
	timer := time.NewTimer(stay)
	defer timer.Stop()
	newest := map[string]uint64{}
	for {
		select {
		case <-timer.C:
			return disorders
		case u, ok := <-sub.C():
			if !ok {
				return disorders + 1
			}
			if u.Schema == nil {
				continue
			}
			epoch := u.Schema.Wire.GetEpoch()
			if before := newest[epoch]; before != 0 && u.Sample.Seq != before+1+u.Dropped {
				disorders++
			}
			newest[epoch] = u.Sample.Seq
		}
	}
}

// contiguous checks that of each run every sample came once, and in order.
func (s *scene) contiguous() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Zero(s.t, s.lost, "this test was too slow")
	for _, e := range s.epochs {
		for i, got := range s.ticks[e][1:] {
			require.Equal(s.t, s.ticks[e][i].seq+1, got.seq, "run %s: every sample once and in order", e)
			require.True(s.t, got.time.After(s.ticks[e][i].time), "run %s", e)
		}
	}
}
