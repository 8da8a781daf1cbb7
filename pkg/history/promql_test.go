package history

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// canonicalAnswer serves one body to every query.
func oneAnswer(t *testing.T, status int, body []byte) string {
	t.Helper()
	return promtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if _, err := w.Write(body); err != nil {
			t.Error(err)
		}
	}))
}

func promQL(t *testing.T, h *History, q string) Result {
	t.Helper()
	parsed, err := query.Parse([]byte(q), query.TypePromQL)
	if err != nil {
		t.Fatal(err)
	}
	return h.PromQL(context.Background(), parsed, window(600, time.Minute))
}

func TestPromQLKeepsNaNAndInfinity(t *testing.T) {
	h := openAt(t, Endpoint{ID: "p", URL: oneAnswer(t, 200, fixture(t, "nan_inf.json"))})
	result := promQL(t, h, `{"expr":"x"}`)
	if result.Err != nil || len(result.Series) != 2 {
		t.Fatalf("%+v", result)
	}
	v := result.Series[0].Values
	if !math.IsNaN(v[0]) || !math.IsInf(v[1], 1) || !math.IsInf(v[2], -1) || v[3] != 0.5 || v[4] != 1e-7 || !math.Signbit(v[5]) || v[6] != math.MaxFloat64 {
		t.Errorf("got %v", v)
	}
	if len(result.Series[1].Values) != 7 || result.Series[1].Labels["gpu"] != "1" {
		t.Errorf("the series of gaps is %+v", result.Series[1])
	}
}

func TestPromQLOfUTF8AndHardLabels(t *testing.T) {
	for _, name := range []string{"utf8_labels.json", "label_values.json"} {
		body := fixture(t, name)
		h := openAt(t, Endpoint{ID: "p", URL: oneAnswer(t, 200, body)})
		result := promQL(t, h, `{"expr":"x","instant":true}`)
		var want struct {
			Data struct {
				Result []struct{ Metric map[string]string }
			}
		}
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatal(err)
		}
		if result.Err != nil || len(result.Series) != len(want.Data.Result) {
			t.Fatalf("%s: %+v", name, result)
		}
		for i, s := range result.Series {
			for label, value := range want.Data.Result[i].Metric {
				if s.Labels[label] != value {
					t.Errorf("%s: label %q is %q, want %q", name, label, s.Labels[label], value)
				}
			}
		}
	}
}

func TestPromQLExpandsMacrosAndSaysSo(t *testing.T) {
	s := &promtest.Store{}
	s.Add(map[string]string{"__name__": "gpu_energy_joules_total", "node": "a", "gpu_uuid": "GPU-1"}, counting(10)...)
	s.Add(map[string]string{"__name__": "gpu_energy_joules_total", "node": "b", "gpu_uuid": "GPU-2"}, counting(20)...)
	h := open(t, s)
	result := promQL(t, h, `{"expr":"sum by (node) (rate(gpu_energy_joules_total{$__gpu_filter}[$__rate_interval]))","nodes":["b"]}`)
	if result.Err != nil || len(result.Series) != 1 || result.Series[0].Labels["node"] != "b" || math.Abs(result.Series[0].Values[0]-20) > 1e-9 {
		t.Errorf("%+v", result)
	}
	if want := `sum by (node) (rate(gpu_energy_joules_total{node=~"b"}[4m])) (step 1m0s)`; result.Executed != want {
		t.Errorf("executed %s", result.Executed)
	}
	unknown := promQL(t, h, `{"expr":"up{$__nodes}"}`)
	if unknown.Err == nil || !strings.Contains(unknown.Err.Error(), "macro $__nodes does not exist; use $__interval") {
		t.Errorf("got %v", unknown.Err)
	}
}

func TestPromQLFoldsReplicasAndNamesClusters(t *testing.T) {
	store := func(replica string, from, to int64) *promtest.Store {
		s := &promtest.Store{}
		var points []promtest.Point
		for i := from; i <= to; i++ {
			points = append(points, promtest.Point{Time: (t0 + 60*i) * 1000, Value: float64(i)})
		}
		s.Add(map[string]string{"__name__": "up", "job": "x", "prometheus_replica": replica}, points...)
		return s
	}
	url := func(s *promtest.Store) string { return promtest.Serve(t, s) }
	labels := []string{"prometheus_replica"}
	h := openAt(t,
		Endpoint{ID: "n0", Cluster: "north", URL: url(store("r0", 0, 1)), ReplicaLabels: labels},
		Endpoint{ID: "n1", Cluster: "north", URL: url(store("r1", 6, 10)), ReplicaLabels: labels},
		Endpoint{ID: "s0", Cluster: "south", URL: url(store("r0", 0, 10)), ReplicaLabels: labels})
	result := promQL(t, h, `{"expr":"up"}`)
	if result.Err != nil || len(result.Series) != 2 {
		t.Fatalf("%+v", result)
	}
	for _, s := range result.Series {
		if len(s.Times) != 11 || !rising(s.Times) || s.Labels["prometheus_replica"] != "" || s.Labels["cluster"] == "" {
			t.Errorf("%+v", s)
		}
	}
	one := promQL(t, h, `{"expr":"up","clusters":["south"]}`)
	if _, has := one.Series[0].Labels["cluster"]; has || len(one.Series) != 1 {
		t.Errorf("%+v", one.Series)
	}
}

func TestPromQLTellsWhatTheServerRemarks(t *testing.T) {
	h := openAt(t, Endpoint{ID: "p", URL: oneAnswer(t, 200, []byte(`{"status":"success","warnings":["store\ngone"],"infos":["PromQL info: metric might not be a counter"],
		"isPartial":true,"data":{"resultType":"matrix","result":[{"metric":{},"histograms":[[1,{}]]}]}}`))})
	result := promQL(t, h, `{"expr":"x"}`)
	for _, text := range []string{"p: store gone", "p: PromQL info: metric might not be a counter", "p: the answer is partial", "p: 1 series are native histograms"} {
		wantNotice(t, result.Notices, text)
	}
}

func TestUnion(t *testing.T) {
	times, values := union([]int64{1, 3, 5}, []float64{1, 3, 5}, []int64{2, 3, 6, 7}, []float64{20, 30, 60, 70})
	if !slices.Equal(times, []int64{1, 2, 3, 5, 6, 7}) || !slices.Equal(values, []float64{1, 20, 3, 5, 60, 70}) {
		t.Errorf("got %v %v", times, values)
	}
}

func TestPromQLSaysWhereEqualsShouldBeARegularExpression(t *testing.T) {
	s := &promtest.Store{}
	s.Constant(map[string]string{"__name__": "DCGM_FI_DEV_GPU_UTIL", "host": "d.e.f"}, 1)
	h := open(t, s)
	result := promQL(t, h, `{"expr":"DCGM_FI_DEV_GPU_UTIL{host=\"d\\\\.e\\\\.f\"}"}`)
	wantNotice(t, result.Notices, `host="d\\.e\\.f" compares with a regular expression: use =~ for a variable that can have several values.`)
	if result := promQL(t, h, `{"expr":"DCGM_FI_DEV_GPU_UTIL{host=~\"d\\\\.e\\\\.f\"}"}`); len(result.Series) != 1 || len(result.Notices) > 0 {
		t.Errorf("%+v", result)
	}
}
