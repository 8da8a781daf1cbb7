package history

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// stalling is a server without a network that answers after a while.
type stalling struct {
	http.Handler
	takes atomic.Int64 // nanoseconds; negative for never
	asked atomic.Int32
}

func (s *stalling) RoundTrip(req *http.Request) (*http.Response, error) {
	s.asked.Add(1)
	takes := time.Duration(s.takes.Load())
	if takes < 0 {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	select {
	case <-req.Context().Done():
		return nil, req.Context().Err()
	case <-time.After(takes):
	}
	if err := req.ParseForm(); err != nil {
		return nil, err
	}
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, req)
	return recorder.Result(), nil
}

// twoClusters is a history of a server that answers at once and one that stalls, each with one GPU.
func twoClusters(t *testing.T) (*History, *stalling, *stalling) {
	t.Helper()
	servers := map[string]*stalling{}
	var endpoints []Endpoint
	for i, name := range []string{"north", "south"} {
		s := &promtest.Store{}
		s.Constant(map[string]string{
			"__name__": "DCGM_FI_DEV_POWER_USAGE", "gpu": "0", "UUID": "GPU-5e1f000" + string(rune('0'+i)) + "-0a00-4a00-8b00-000000000000", "Hostname": name + "1", "instance": name + "1:9400", "job": "dcgm",
		}, 100)
		servers[name] = &stalling{Handler: s}
		endpoints = append(endpoints, Endpoint{ID: name, Cluster: name, URL: "http://" + name, HTTP: &http.Client{Transport: servers[name]}})
	}
	h, err := New(endpoints, mustCatalog(t), Options{CacheBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h, servers["north"], servers["south"]
}

// A cluster that hangs costs its time limit once. Then answers are what the others have, with a notice, after a share of it;
// as soon as it answers again it is part of them.
func TestHungClusterIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _, south := twoClusters(t)
		q, err := query.Parse([]byte(`{"expr":"DCGM_FI_DEV_POWER_USAGE"}`), query.TypePromQL)
		if err != nil {
			t.Fatal(err)
		}
		ask := func() (Result, time.Duration) {
			began := time.Now()
			return h.PromQL(t.Context(), q, window(600, time.Minute)), time.Since(began)
		}
		if result, took := ask(); len(result.Series) != 2 || took != 0 {
			t.Fatalf("%d series after %s", len(result.Series), took)
		}
		south.takes.Store(-1)
		if result, took := ask(); len(result.Series) != 1 || took != DefaultTimeout || !strings.Contains(result.Notices[0].Text, "south: no answer within 30s") {
			t.Errorf("first: %d series after %s, %v", len(result.Series), took, result.Notices)
		}
		for range 5 {
			result, took := ask()
			if len(result.Series) != 1 || took != hungShare || len(result.Notices) != 1 ||
				!strings.Contains(result.Notices[0].Text, "south: no answer within 2s, and it was not waited for longer because it did not answer in time when it was last asked") {
				t.Errorf("%d series after %s, %v", len(result.Series), took, result.Notices)
			}
		}
		if n := south.asked.Load(); n > 10 {
			t.Errorf("a server that hangs was asked %d times", n)
		}
		// A slow one that answers in its time limit is no hung one: it is part of every answer again.
		south.takes.Store(int64(8 * time.Second))
		time.Sleep(DefaultTimeout) // what was sent before ends
		_, _ = ask()
		time.Sleep(10 * time.Second)
		if result, took := ask(); len(result.Series) != 2 || took != 8*time.Second || len(result.Notices) != 0 {
			t.Errorf("again: %d series after %s, %v", len(result.Series), took, result.Notices)
		}
	})
}

// Lists of devices wait for nobody long, even for the first time, and all of the time when nobody answers.
func TestListsDoNotWaitForAHungCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, north, south := twoClusters(t)
		south.takes.Store(-1)
		began := time.Now()
		devices, notices := h.Devices(t.Context())
		if len(devices) != 1 || len(notices) != 1 || time.Since(began) != listShare || !strings.Contains(notices[0].Text, "south: no answer within 5s, and it was not waited for longer because it is slower than others") {
			t.Errorf("%d devices after %s, %v", len(devices), time.Since(began), notices)
		}
		began = time.Now()
		members, notices, err := h.Members(t.Context(), query.Scope{}, time.Now().Add(-time.Hour), time.Now())
		if len(members) != 1 || len(notices) != 1 || err != nil || time.Since(began) > listShare {
			t.Errorf("%d members after %s, %v %v", len(members), time.Since(began), notices, err)
		}
		time.Sleep(time.Minute)
		north.takes.Store(-1)
		began = time.Now()
		if devices, notices := h.Devices(t.Context()); len(devices) != 0 || time.Since(began) != DefaultTimeout || !strings.Contains(notices[0].Text, "none of 2 servers answered") {
			t.Errorf("%d devices after %s, %v", len(devices), time.Since(began), notices)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		time.Sleep(time.Minute)
		began = time.Now()
		if _, _, err := h.Members(ctx, query.Scope{}, time.Now().Add(-time.Hour), time.Now()); !errors.Is(ctx.Err(), context.DeadlineExceeded) || err == nil || time.Since(began) > 0 {
			t.Errorf("a caller who gave up waits for %s, %v", time.Since(began), err)
		}
	})
}
