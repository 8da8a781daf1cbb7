package history

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

func TestCheck(t *testing.T) {
	info := func(headers map[string]string, body string) http.Handler {
		s := &promtest.Store{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for k, v := range headers {
				w.Header().Set(k, v)
			}
			switch {
			case r.URL.Path == "/api/v1/status/buildinfo" && body != "":
				_, _ = io.WriteString(w, body)
			case r.URL.Path == "/api/v1/stores" && headers["X-Test"] == "thanos":
				_, _ = io.WriteString(w, `{"status":"success","data":{}}`)
			case r.URL.Path == "/api/v1/status/buildinfo":
				http.NotFound(w, r)
			default:
				s.ServeHTTP(w, r)
			}
		})
	}
	for _, tc := range []struct {
		handler          http.Handler
		flavour, version string
	}{
		{&promtest.Store{}, "Prometheus", "3.9.1"},
		{info(nil, `{"status":"success","data":{"application":"Cortex","version":"v1.19.0"}}`), "Cortex", "1.19.0"},
		{info(nil, `{"status":"success","data":{"application":"Grafana Mimir","version":"2.17.0","features":{"ruler_config_api":"true"}}}`), "Mimir", "2.17.0"},
		{info(map[string]string{"X-Server-Hostname": "vm-0"}, `{"status":"success","data":{"version":"2.24.0"}}`), "VictoriaMetrics", ""},
		{info(map[string]string{"X-Test": "thanos"}, `{"status":"success","data":{"version":"0.42.0"}}`), "Thanos", "0.42.0"},
		{info(nil, ""), "Prometheus", ""},
	} {
		h := openAt(t, Endpoint{ID: "p", Cluster: "north", URL: promtest.Serve(t, tc.handler)})
		got := h.Check(context.Background())
		if len(got) != 1 || got[0].Flavour != tc.flavour || got[0].Version != tc.version || got[0].Err != nil || got[0].ID != "p" || got[0].Cluster != "north" {
			t.Errorf("%s: %+v", tc.flavour, got)
		}
	}
	bad := openAt(t, Endpoint{ID: "p", URL: promtest.Serve(t, status(401, "", ""))}).Check(context.Background())
	var failed *Error
	if !errors.As(bad[0].Err, &failed) || failed.Kind != KindUnauthorized {
		t.Errorf("%+v", bad)
	}
}

// Servers that are reached may still lack what dashboards need, and then say so.
func TestCheckSaysWhatIsMissing(t *testing.T) {
	check := func(handler http.Handler) EndpointStatus {
		return openAt(t, Endpoint{ID: "p", Cluster: "north", URL: promtest.Serve(t, handler), Replica: true}).Check(context.Background())[0]
	}
	got := check(&promtest.Store{})
	if got.Err != nil || got.Dialects == nil || len(got.Dialects) > 0 || !got.Replica || len(got.Hints) != 1 ||
		!strings.HasPrefix(got.Hints[0], "It has no series of a GPU exporter that the catalogue knows: let it scrape warpwatch-agent") {
		t.Errorf("nothing: %+v", got)
	}
	got = check(exposition(t, "exporter_4_8.prom"))
	if !slices.Equal(got.Dialects, []string{"dcgm"}) || len(got.Hints) > 1 {
		t.Errorf("dcgm: %+v", got)
	}
	s := &promtest.Store{}
	s.Constant(map[string]string{"__name__": "nvidia_smi_gpu_info", "uuid": "1"}, 1)
	s.Constant(map[string]string{"__name__": "gpu_power_watts", "gpu_uuid": "GPU-1"}, 1)
	got = check(s)
	if want := []string{"warpwatch", "nvidia_smi"}; !slices.Equal(got.Dialects, want) {
		t.Errorf("got %v, want %v", got.Dialects, want)
	}
	if want := "No exporter measures gpu_utilization_ratio, gpu_sm_active_ratio, gpu_memory_used_bytes, gpu_temperature_celsius; " +
		"a query of the type coverage says what to turn on."; !slices.Contains(got.Hints, want) {
		t.Errorf("got %q", got.Hints)
	}
	got = check(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/v1/label") {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		s.ServeHTTP(w, r)
	}))
	if got.Dialects != nil || len(got.Hints) != 1 || !strings.Contains(got.Hints[0], "does not list the names of its series") {
		t.Errorf("names are refused: %+v", got)
	}
	victoria := exposition(t, "exporter_4_8.prom")
	victoria.Constant(map[string]string{"__name__": "vm_app_version", "version": "victoria-metrics-20260901-tags-v1.137.0", "short_version": "v1.137.0"}, 1)
	got = check(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Server-Hostname", "vm-0")
		victoria.ServeHTTP(w, r)
	}))
	if got.Flavour != "VictoriaMetrics" || got.Version != "1.137.0" || !strings.Contains(strings.Join(got.Hints, " "), "-search.latencyOffset") {
		t.Errorf("VictoriaMetrics: %+v", got)
	}
}
