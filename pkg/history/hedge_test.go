package history

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

// watts is a replica's memory of one GPU: the points from first to last minute, but for those that it missed.
func watts(first, last int64, missed ...int64) *promtest.Store {
	s := &promtest.Store{}
	var points []promtest.Point
	for i := first; i <= last; i++ {
		if !slices.Contains(missed, i) {
			points = append(points, promtest.Point{Time: (t0 + 60*i) * 1000, Value: float64(100 + i)})
		}
	}
	s.Add(map[string]string{"__name__": "gpu_power_watts", "node": "a", "gpu": "0", "gpu_uuid": "GPU-1"}, points...)
	return s
}

func openReplicas(t *testing.T, handlers ...http.Handler) *History {
	t.Helper()
	var endpoints []Endpoint
	for i, handler := range handlers {
		endpoints = append(endpoints, Endpoint{
			ID: fmt.Sprintf("r%d", i), Cluster: "north", URL: promtest.Serve(t, handler), Replica: true, Timeout: 20 * time.Second,
		})
	}
	return openAt(t, endpoints...)
}

func rangesAskedOf(s *promtest.Store) (n int) {
	for _, request := range s.Requests() {
		if strings.HasPrefix(request, "POST "+rangePath) {
			n++
		}
	}
	return n
}

var wholeWatts = []float64{100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110}

func TestOneReplicaIsAsked(t *testing.T) {
	a, b := watts(0, 10), watts(0, 10)
	h := openReplicas(t, a, b)
	result := ask(t, h, "gpu_power_watts", "")
	if len(result.Series) != 1 || !slices.Equal(result.Series[0].Values, wholeWatts) {
		t.Errorf("got %+v", result.Series)
	}
	wantQuiet(t, result)
	if promql := promQL(t, h, `{"expr":"gpu_power_watts"}`); len(promql.Series) != 1 || !slices.Equal(promql.Series[0].Values, wholeWatts) {
		t.Errorf("got %+v", promql.Series)
	}
	if rangesAskedOf(a) != 2 || len(b.Requests()) > 0 {
		t.Errorf("asked %q and %q", a.Requests(), b.Requests())
	}
}

// Two servers that scrape the same were each down for a while, at different times.
func TestGapsOfOneReplicaAreFilledFromAnother(t *testing.T) {
	for name, gap := range map[string][2]*promtest.Store{
		"early": {watts(0, 2), watts(2, 10)}, "late": {watts(5, 10), watts(0, 5)},
		// Prometheus repeats a value for five minutes, so that only longer gaps show.
		"middle": {watts(0, 10, 1, 2, 3, 4, 5, 6, 7), watts(1, 10)},
	} {
		h := openReplicas(t, gap[0], gap[1])
		result := ask(t, h, "gpu_power_watts", "")
		if len(result.Series) != 1 || len(result.Series[0].Values) != 11 {
			t.Errorf("%s: got %+v", name, result.Series)
		}
		wantQuiet(t, result)
		if promql := promQL(t, h, `{"expr":"gpu_power_watts"}`); len(promql.Series) != 1 || len(promql.Series[0].Values) != 11 || len(promql.Notices) > 0 {
			t.Errorf("%s: got %+v", name, promql)
		}
	}
}

// A replica that cannot reach some nodes has no gaps: it does not know that there is more.
func TestReplicaThatIsCutOffFromNodes(t *testing.T) {
	part, whole := watts(0, 10), watts(0, 10)
	whole.Constant(map[string]string{"__name__": "gpu_power_watts", "node": "b", "gpu": "0", "gpu_uuid": "GPU-2"}, 7)
	h := openReplicas(t, part, whole)
	if devices, notices := h.Devices(context.Background()); len(devices) != 2 || len(notices) > 0 {
		t.Errorf("devices %v, notices %v", devices, notices)
	}
	wantLast(t, ask(t, h, "gpu_power_watts", ""), map[string]float64{"a · GPU 0": 110, "b · GPU 0": 7})
}

func TestReplicaStandsInForOneThatFails(t *testing.T) {
	good := watts(0, 10)
	asked := 0
	h := openReplicas(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		status(503, "text/plain", "")(w, r)
	}), good)
	result := promQL(t, h, `{"expr":"gpu_power_watts"}`)
	if result.Err != nil || len(result.Series) != 1 || len(result.Notices) != 1 {
		t.Fatalf("%+v", result)
	}
	want := "Another replica answered instead: r0: the server answered 503 Service Unavailable; try again later."
	if n := result.Notices[0]; n.Text != want || n.Severity != gpu.Info {
		t.Errorf("got %v", n)
	}
	if again := promQL(t, h, `{"expr":"gpu_power_watts+0"}`); again.Err == nil && len(again.Notices) > 0 || asked != 1 {
		t.Errorf("it was asked %d times: %+v", asked, again)
	}
}

// A query that one replica does not accept is not tried on the next.
func TestBadQueryIsNotPassedOn(t *testing.T) {
	other := watts(0, 10)
	h := openReplicas(t, status(422, "application/json", string(fixture(t, "error_422.json"))), other)
	result := promQL(t, h, `{"expr":"up"}`)
	if result.Err == nil || !strings.Contains(result.Err.Error(), "many-to-many") || len(other.Requests()) > 0 {
		t.Errorf("%v; asked %q", result.Err, other.Requests())
	}
}

func TestFailedEndpointIsANoticeOfTheChosenLevel(t *testing.T) {
	for _, level := range []gpu.Severity{gpu.Info, gpu.Warning, gpu.Error} {
		h, err := New([]Endpoint{
			{ID: "good", Cluster: "north", URL: promtest.Serve(t, watts(0, 10))}, {ID: "bad", Cluster: "south", URL: promtest.Serve(t, status(500, "", ""))},
		}, mustCatalog(t), Options{FailedEndpoint: &level})
		if err != nil {
			t.Fatal(err)
		}
		result := promQL(t, h, `{"expr":"gpu_power_watts"}`)
		if len(result.Notices) != 1 || result.Notices[0].Severity != level {
			t.Errorf("got %v, want one of level %d", result.Notices, level)
		}
	}
}

// rivals are replicas that exist in name only.
func rivals(t *testing.T, n int) []*endpoint {
	t.Helper()
	var specs []Endpoint
	for i := range n {
		specs = append(specs, Endpoint{ID: fmt.Sprintf("r%d", i), Cluster: "north", URL: "http://replica.invalid", Replica: true})
	}
	return openAt(t, specs...).endpoints
}

// raced is what a race among replicas was like, each of which answers by its own function.
func raced(t *testing.T, replicas []*endpoint, answers ...func(context.Context) (string, error)) (got []outcome[string], took time.Duration, asked []string) {
	t.Helper()
	var mu sync.Mutex
	began := time.Now()
	got = race(t.Context(), replicas, func(ctx context.Context, e *endpoint) (string, error) {
		mu.Lock()
		asked = append(asked, e.ID)
		mu.Unlock()
		return answers[slices.Index(replicas, e)](ctx)
	})
	return got, time.Since(began), asked
}

func after(d time.Duration, value string, err error) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		select {
		case <-time.After(d):
			return value, err
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

func TestSlowReplicaIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replicas := rivals(t, 2)
		stalled, quick := after(time.Hour, "", nil), after(10*time.Millisecond, "quick", nil)
		got, took, asked := raced(t, replicas, stalled, quick)
		if len(got) != 1 || got[0].value != "quick" || took != defaultPatience+10*time.Millisecond || len(asked) != 2 {
			t.Errorf("got %v in %s of %v", got, took, asked)
		}
		// It has shown how slow it is, so it is not the first to be asked any more.
		if got, took, asked = raced(t, replicas, stalled, quick); got[0].value != "quick" || took != 10*time.Millisecond || len(asked) != 1 {
			t.Errorf("afterwards: %v in %s of %v", got, took, asked)
		}
		// After a while it gets another chance.
		time.Sleep(forgets + time.Second)
		if _, _, asked = raced(t, replicas, quick, quick); asked[0] != "r0" {
			t.Errorf("later: %v", asked)
		}
	})
}

// What counts as slow is learnt.
func TestPatienceIsWhatNineteenOfTwentyTake(t *testing.T) {
	var p pulse
	now := time.Unix(t0, 0)
	for i := range 40 {
		if got := p.patience(time.Minute, now); i < enough && got != defaultPatience {
			t.Errorf("patience %s after %d answers", got, i)
		}
		p.answered(time.Duration(100+10*(i%20))*time.Millisecond, now)
	}
	if got := p.patience(time.Minute, now); got != 280*time.Millisecond {
		t.Errorf("patience %s", got)
	}
	if got := p.patience(time.Second/2, now); got != 250*time.Millisecond {
		t.Errorf("patience %s, though the time limit is half a second", got)
	}
}

// When every replica is slow, asking all of them for everything would make it worse.
func TestSpareRequestsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replicas := rivals(t, 2)
		both := 0
		for range 100 {
			if _, _, asked := raced(t, replicas, after(10*time.Second, "", nil), after(10*time.Second, "", nil)); len(asked) > 1 {
				both++
			}
			time.Sleep(forgets + time.Second) // so that patience stays short
		}
		if most := spareBurst + 100/spareShare; both == 0 || both > most {
			t.Errorf("%d of 100 requests were sent twice; at most %d may be", both, most)
		}
	})
}

// A dashboard is opened just when a replica begins to hang: nobody knows yet, and every panel asks it first.
func TestManyPanelsAndAReplicaThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replicas := rivals(t, 2)
		hung, quick := after(30*time.Second, "", nil), after(10*time.Millisecond, "quick", nil)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if got, took, _ := raced(t, replicas, hung, quick); len(got) != 1 || got[0].value != "quick" || took > 2*defaultPatience {
					t.Errorf("got %v after %s", got, took)
				}
			})
		}
		wg.Wait()
	})
}

func TestNextReplicaIsAskedAtOnceWhenOneFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replicas := rivals(t, 3)
		down := after(time.Millisecond, "", &Error{Endpoint: "x", Kind: KindUnreachable, Message: "down"})
		got, took, asked := raced(t, replicas, down, down, after(0, "third", nil))
		if got[0].value != "third" || len(got) != 3 || took != 2*time.Millisecond || len(asked) != 3 {
			t.Errorf("got %v in %s of %v", got, took, asked)
		}
		if _, _, asked = raced(t, replicas, down, down, after(0, "third", nil)); !slices.Equal(asked, []string{"r2"}) {
			t.Errorf("afterwards %v were asked", asked)
		}
		all, _, _ := raced(t, replicas, down, down, down)
		if good, _, err := split(all); len(good) > 0 || !strings.HasPrefix(err.Error(), "none of 3 servers answered") {
			t.Errorf("all down: %v", err)
		}
	})
}

type gappy string

func (gappy) gaps() bool { return true }

func TestGapsAreNotWaitedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replicas := rivals(t, 2)
		ask := func(ctx context.Context, e *endpoint) (gappy, error) {
			if e.ID == "r1" {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return "some", nil
		}
		began := time.Now()
		good, notices, err := split(race(t.Context(), replicas, ask))
		if err != nil || len(good) != 1 || time.Since(began) != gapPatience || len(notices) != 1 ||
			notices[0].Text != "Another replica answered instead: r1: no answer within 2s, so gaps in the answer may remain." {
			t.Errorf("%v %v %v after %s", good, notices, err, time.Since(began))
		}
		began = time.Now()
		_, notices, _ = split(race(t.Context(), replicas, ask))
		if time.Since(began) != 0 || len(notices) != 1 || !strings.Contains(notices[0].Text, "it failed a moment ago and was not asked again") {
			t.Errorf("%v after %s", notices, time.Since(began))
		}
	})
}

func TestCallerWhoGivesUpIsNoFailureOfTheReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replicas := rivals(t, 2)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		got := race(ctx, replicas, func(ctx context.Context, _ *endpoint) (string, error) { return after(time.Hour, "", nil)(ctx) })
		var failed *Error
		if len(got) != 1 || !errors.As(got[0].err, &failed) || failed.Kind != KindTimeout || replicas[0].pulse.ails(time.Now()) {
			t.Errorf("got %+v", got)
		}
	})
}

// What a server says to one user is no reason to ask others' questions elsewhere.
func TestTenantWhoIsRefusedIsNoFailureOfTheReplica(t *testing.T) {
	for kind, ails := range map[Kind]bool{KindUnauthorized: false, KindThrottled: false, KindUnavailable: true} {
		e := rivals(t, 1)[0]
		e.tenant = func(context.Context) string { return "ada" }
		e.note(t.Context(), time.Second, &Error{Endpoint: "r0", Kind: kind})
		if got := e.pulse.ails(time.Now()); got != ails {
			t.Errorf("%s: ailing %v", kind, got)
		}
		e = rivals(t, 1)[0]
		if e.note(t.Context(), time.Second, &Error{Endpoint: "r0", Kind: kind}); !e.pulse.ails(time.Now()) {
			t.Errorf("%s for all: not ailing", kind)
		}
	}
}

// Shards are asked each, next to the replicas of the same cluster, and other clusters.
func TestGroupsOfReplicas(t *testing.T) {
	var endpoints []*endpoint
	for _, one := range []string{"north a", "north A", "south b", "north c", "south C", "north D", "south d"} {
		cluster, id, _ := strings.Cut(one, " ")
		endpoints = append(endpoints, &endpoint{Endpoint: Endpoint{ID: id, Cluster: cluster, Replica: id == strings.ToUpper(id)}})
	}
	var got []string
	for _, group := range replicaGroups(endpoints) {
		text := ""
		for _, e := range group {
			text += e.ID
		}
		got = append(got, text)
	}
	if want := []string{"a", "AD", "b", "c", "C", "d"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
