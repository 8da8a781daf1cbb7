package history

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const oneSample = `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"up"},"values":[[1793400000,"1"]]}]}}`

// slowly answers everything after a while, and counts how many requests run at the same time.
func slowly(d time.Duration, most *atomic.Int32) *http.Client {
	var running atomic.Int32
	return &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		select {
		case <-time.After(d):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(oneSample)), Request: r}, nil
	})}
}

func TestRequestsToOneServerQueueUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var most atomic.Int32
		e := openAt(t, Endpoint{ID: "north-a", URL: "http://a.invalid", HTTP: slowly(time.Second, &most), Concurrency: 3, Timeout: 2500 * time.Millisecond}).endpoints[0]
		began := time.Now()
		var wg sync.WaitGroup
		var failed atomic.Int32
		for range 10 {
			wg.Go(func() {
				_, err := e.query(t.Context(), instantPath, nil)
				if err == nil {
					return
				}
				failed.Add(1)
				if want := "north-a: no answer within 2.5s"; !strings.HasPrefix(err.Error(), want) && !strings.HasPrefix(err.Error(),
					"north-a: 3 requests to this server were running all the time, so this one was never sent; raise the endpoint's concurrency") {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
		// Two rounds of three are answered, the third is under way when the time is over, and the tenth never gets its turn.
		if most.Load() != 3 || failed.Load() != 4 || time.Since(began) != 2500*time.Millisecond {
			t.Errorf("%d at once, %d failed, %s", most.Load(), failed.Load(), time.Since(began))
		}
	})
}

func TestWhoeverGivesUpLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1)
		if err := q.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.enter(ctx); !errors.Is(err, errQueued) {
			t.Errorf("got %v", err)
		}
		q.leave()
		if err := q.enter(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A server that hangs keeps neither the agents nor the answers of other clusters back.
func TestAgentsOfAHungServerAreNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late atomic.Bool
		agent := func(node string) string {
			return `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"node":"` + node + `","instance":"` + node + `:9847"},"value":[1793400000,"1"]}]}}`
		}
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			node := "quick"
			if r.URL.Host == "slow.invalid" {
				node = "slow"
				select {
				case <-time.After(10 * time.Second):
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
				late.Store(true)
			}
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(agent(node))), Request: r}, nil
		})}
		h := openAt(t, Endpoint{ID: "slow", Cluster: "south", URL: "http://slow.invalid", HTTP: client}, Endpoint{ID: "quick", Cluster: "north", URL: "http://quick.invalid", HTTP: client})
		defer h.Close()
		began := time.Now()
		agents, notices := h.Agents(t.Context())
		if len(agents) != 1 || agents[0].Node != "quick" || time.Since(began) != agentGrace {
			t.Errorf("got %v after %s", agents, time.Since(began))
		}
		wantNotice(t, notices, "slow: has not answered yet; the agents that it knows are added as soon as it does")
		time.Sleep(10 * time.Second)
		if agents, notices = h.Agents(t.Context()); len(agents) != 2 || len(notices) > 0 || !late.Load() {
			t.Errorf("later: %v, %v", agents, notices)
		}
		if took := time.Since(began); took != agentGrace+10*time.Second {
			t.Errorf("the second call took %s", took-agentGrace-10*time.Second)
		}
	})
}

// As long as nobody has answered there is nothing to show, and what is under way ends with its owner.
func TestOnlyServerIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var most atomic.Int32
		h := openAt(t, Endpoint{ID: "a", Cluster: "north", URL: "http://a.invalid", HTTP: slowly(7*time.Second, &most)})
		began := time.Now()
		if _, notices := h.Agents(t.Context()); len(notices) > 0 || time.Since(began) != 7*time.Second {
			t.Errorf("%v after %s", notices, time.Since(began))
		}
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if agents, notices := h.Agents(ctx); len(agents) > 0 || len(notices) != 1 {
			t.Errorf("%v %v", agents, notices)
		}
		h.Close()
		synctest.Wait()
		if agents, notices := h.Agents(t.Context()); len(agents) > 0 || len(notices) != 1 {
			t.Errorf("after the end: %v %v", agents, notices)
		}
	})
}
