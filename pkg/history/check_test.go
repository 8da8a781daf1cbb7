package history

import (
	"context"
	"errors"
	"io"
	"net/http"
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
