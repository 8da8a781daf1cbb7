package history

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

func TestRecordedNamesRulesThatAreEvaluated(t *testing.T) {
	s := &promtest.Store{}
	now := time.Now()
	for _, name := range []string{
		"gpu:power_watts:sum_by_node", "node:gpu_reporting:count", "serve:workload:info", "gpu_power_watts", "instance:cpu:rate5m",
	} {
		s.Add(map[string]string{"__name__": name, "node": "n1"}, promtest.Point{Time: now.UnixMilli(), Value: 1})
	}
	var since atomic.Int64
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if start, err := strconv.ParseInt(r.FormValue("start"), 10, 64); err == nil {
			since.Store(start)
		}
		s.ServeHTTP(w, r)
	})
	h := openAt(t, Endpoint{ID: "p0", Cluster: "north", URL: promtest.Serve(t, server)})
	list, notices, err := h.Recorded(context.Background())
	if err != nil || len(notices) > 0 || len(list) != 1 {
		t.Fatal(list, notices, err)
	}
	want := []string{"gpu:power_watts:sum_by_node", "node:gpu_reporting:count", "serve:workload:info"}
	if got := list[0]; got.Cluster != "north" || got.Endpoint != "p0" || !slices.Equal(got.Names, want) {
		t.Errorf("%+v", got)
	}
	// Rules that were taken out long ago are not evaluated.
	if age := now.Unix() - since.Load(); age < 60 || age > 3600 {
		t.Errorf("asked for what was there since %d seconds", age)
	}
}

func TestRecordedSaysWhichServerCouldNot(t *testing.T) {
	refuses := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) })
	h := openAt(t, Endpoint{ID: "south", Cluster: "south", URL: promtest.Serve(t, &promtest.Store{})},
		Endpoint{ID: "north", Cluster: "north", URL: promtest.Serve(t, refuses)})
	list, notices, err := h.Recorded(context.Background())
	if err != nil || len(list) != 1 || list[0].Endpoint != "south" || list[0].Names == nil {
		t.Fatal(list, err)
	}
	if len(notices) != 1 || !strings.Contains(notices[0].Text, "north") {
		t.Error(notices)
	}
	if _, _, err := openAt(t, Endpoint{ID: "north", Cluster: "north", URL: promtest.Serve(t, refuses)}).Recorded(context.Background()); err == nil {
		t.Error("nobody answered, and no error")
	}
}
