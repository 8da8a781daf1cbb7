package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func fixed(targets ...Target) func(context.Context) ([]Target, []gpu.Notice, error) {
	return func(context.Context) ([]Target, []gpu.Notice, error) { return targets, nil, nil }
}

func at(cluster, node, address string) Target {
	return Target{Cluster: cluster, Node: node, Address: address}
}

func addresses(targets []Target) []string {
	var list []string
	for _, t := range targets {
		list = append(list, t.Address)
	}
	return list
}

func texts(notices []gpu.Notice) string { return joined(notices) }

func TestFinderMerges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFinder([]Source{
			{Name: "static", Find: fixed(at("", "", "N1:9847"), at("north", "", "n2.example.com.:9847"), at("", "", "[::ffff:10.0.0.3]:9847"))},
			{Name: "prometheus", Every: 30 * time.Second, Find: fixed(
				Target{Cluster: "north", Node: "n1", Address: "n1:9847", Scheme: "https"}, at("north", "n2", "n2.example.com:9847"),
				at("south", "n2", "n2.example.com:9847"), at("north", "n3", "10.0.0.3:9847"))},
			{Name: "dns", Every: 30 * time.Second, Find: fixed(Target{Cluster: "north", Address: "n1:9847", Scheme: "http"}, at("north", "", "n4:9847"))},
		})
		defer f.Close()
		targets, notices, err := f.Targets(t.Context())
		require.NoError(t, err)
		require.Empty(t, notices)
		require.Equal(t, []Target{
			{Cluster: "north", Node: "n1", Address: "N1:9847", Scheme: "https", Found: "static, prometheus, dns"},
			{Cluster: "north", Node: "n2", Address: "n2.example.com.:9847", Found: "static, prometheus"},
			{Cluster: "north", Node: "n3", Address: "[::ffff:10.0.0.3]:9847", Found: "static, prometheus"},
			{Cluster: "south", Node: "n2", Address: "n2.example.com:9847", Found: "prometheus"},
			{Cluster: "north", Address: "n4:9847", Found: "dns"},
		}, targets)
		require.Equal(t, 30*time.Second, f.Pace())
	})
}

// One source that fails keeps what it told before, and takes nothing from the others.
func TestFinderKeepsTheLastGoodAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var err error
		list := []Target{at("north", "", "d1:9847"), at("north", "", "d2:9847")}
		asked := 0
		f := NewFinder([]Source{
			{Name: "static", Find: fixed(at("", "", "s1:9847"))},
			{Name: "dnssrv+_a._tcp.x", Every: 30 * time.Second, Find: func(context.Context) ([]Target, []gpu.Notice, error) {
				asked++
				return list, nil, err
			}},
		})
		defer f.Close()
		targets, _, failure := f.Targets(t.Context())
		require.NoError(t, failure)
		require.Len(t, targets, 3)

		err, list = errors.New("DNS does not answer about _a._tcp.x"), nil
		_, _, _ = f.Targets(t.Context())
		require.Equal(t, 1, asked, "not yet its turn")
		time.Sleep(30 * time.Second)
		targets, notices, failure := f.Targets(t.Context())
		require.NoError(t, failure)
		require.Equal(t, []string{"s1:9847", "d1:9847", "d2:9847"}, addresses(targets))
		require.Equal(t, "Agents cannot be looked for by dnssrv+_a._tcp.x: DNS does not answer about _a._tcp.x; the 2 that it named at 00:00:00 UTC stay.", texts(notices))
		require.Equal(t, gpu.Warning, notices[0].Severity)
		status := f.Sources()
		require.Equal(t, []int{1, 2}, []int{status[0].Found, status[1].Found})
		require.Error(t, status[1].Err)

		// It is asked again sooner than usual.
		err = nil
		time.Sleep(5 * time.Second)
		targets, notices, failure = f.Targets(t.Context())
		require.NoError(t, failure)
		require.Empty(t, notices)
		require.Equal(t, []string{"s1:9847"}, addresses(targets), "gone is gone when the source says so")
		require.Equal(t, 3, asked)
	})
}

// A Prometheus that hangs does not delay the agents that are found otherwise; what it says at last is added at once.
func TestFinderDoesNotWaitForTheHung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		f := NewFinder([]Source{
			{Name: "static", Find: fixed(at("", "", "s1:9847"))},
			{Name: "prometheus", Every: 30 * time.Second, Find: func(ctx context.Context) ([]Target, []gpu.Notice, error) {
				select {
				case <-release:
					return []Target{at("north", "p1", "p1:9847")}, nil, nil
				case <-ctx.Done():
					return nil, nil, ctx.Err()
				}
			}},
		})
		defer f.Close()
		began := time.Now()
		targets, notices, err := f.Targets(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"s1:9847"}, addresses(targets))
		require.Equal(t, findGrace, time.Since(began))
		require.Equal(t, "Agents are still being looked for by prometheus; those found are added.", texts(notices))
		require.True(t, f.Sources()[1].Asking)

		close(release)
		<-f.Changed()
		targets, notices, err = f.Targets(t.Context())
		require.NoError(t, err)
		require.Empty(t, notices)
		require.Equal(t, []string{"s1:9847", "p1:9847"}, addresses(targets))
	})
}

func TestFinderKnowsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := func(ctx context.Context) ([]Target, []gpu.Notice, error) {
			<-ctx.Done()
			return nil, nil, ctx.Err()
		}
		f := NewFinder([]Source{{Name: "prometheus", Every: 30 * time.Second, Find: hung}})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, _, err := f.Targets(ctx)
		require.EqualError(t, err, "by prometheus: no answer yet")
		_, _, err = f.Targets(t.Context())
		require.EqualError(t, err, "by prometheus: no answer within 20s")
		f.Close()
		_, _, err = f.Targets(t.Context())
		require.Error(t, err)

		empty := NewFinder([]Source{{Name: "prometheus", Find: fixed()}})
		defer empty.Close()
		targets, notices, err := empty.Targets(t.Context())
		require.NoError(t, err)
		require.Empty(t, targets)
		require.Empty(t, notices)

		partly := NewFinder([]Source{{Name: "prometheus", Find: func(context.Context) ([]Target, []gpu.Notice, error) {
			return nil, []gpu.Notice{{Severity: gpu.Warning, Text: "north-b: refused."}}, nil
		}}})
		defer partly.Close()
		_, _, err = partly.Targets(t.Context())
		require.EqualError(t, err, "north-b: refused")
	})
}

func TestFinderIsBounded(t *testing.T) {
	many := make([]Target, maxTargets+7)
	for i := range many {
		many[i] = at("north", "", fmt.Sprintf("n%d:9847", i))
	}
	f := NewFinder([]Source{{Name: "static", Find: fixed(many...)}})
	defer f.Close()
	targets, notices, err := f.Targets(t.Context())
	require.NoError(t, err)
	require.Len(t, targets, maxTargets)
	require.Contains(t, texts(notices), "7 of 25007 agents are left out")
}

// The hub asks again as soon as a source that was late has answered.
func TestHubHearsOfLateSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed := make(chan struct{}, 1)
		list := []Target{at("north", "n1", "n1:9847")}
		var asked atomic.Int32
		var mu sync.Mutex
		allow, err := ParseAllowList([]string{"10.0.0.0/8"})
		require.NoError(t, err)
		h := NewHub(Config{Allow: allow, TargetsChanged: changed, Targets: func(context.Context) ([]Target, []gpu.Notice, error) {
			asked.Add(1)
			mu.Lock()
			defer mu.Unlock()
			return list, nil, nil
		}})
		defer h.Close()
		sub := h.Subscribe(Select{Match: func(Target) bool { return false }})
		defer sub.Close()
		synctest.Wait()
		mu.Lock()
		list = append(list, at("north", "n2", "n2:9847"))
		mu.Unlock()
		changed <- struct{}{}
		synctest.Wait()
		nodes, err := h.Nodes(t.Context())
		require.NoError(t, err)
		require.Len(t, nodes, 2)
		require.EqualValues(t, 2, asked.Load())
		time.Sleep(31 * time.Second)
		synctest.Wait()
		require.EqualValues(t, 3, asked.Load())
		time.Sleep(30 * time.Second)
		synctest.Wait()
		require.EqualValues(t, 4, asked.Load(), "every pace, not every other")
	})
}
