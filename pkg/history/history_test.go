package history

import (
	"context"
	"net/http"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

func TestWithoutEndpointsAnswersAreEmpty(t *testing.T) {
	h := openAt(t)
	if result := ask(t, h, "gpu_power_watts", ""); len(result.Series) > 0 || len(result.Notices) > 0 {
		t.Errorf("%+v", result)
	}
	if result := promQL(t, h, `{"expr":"up"}`); result.Err != nil || len(result.Series) > 0 {
		t.Errorf("%+v", result)
	}
	if devices, notices := h.Devices(context.Background()); len(devices) > 0 || len(notices) > 0 {
		t.Errorf("%v %v", devices, notices)
	}
}

func TestNewNamesTheWrongEndpoint(t *testing.T) {
	for _, tc := range []struct {
		endpoints []Endpoint
		want      string
	}{
		{[]Endpoint{{ID: "a", URL: "prometheus:9090"}}, `endpoint "a": the URL must be like http://host:9090, with http or https`},
		{[]Endpoint{{ID: "a", URL: ""}}, `endpoint "a": the URL must be like http://host:9090, with http or https`},
		{[]Endpoint{{ID: "a", URL: "http://ada:s3cret@host:x/"}}, `endpoint "a": the URL cannot be read: invalid port ":x" after host`},
		{[]Endpoint{{ID: "a", URL: "http://a"}, {ID: "a", URL: "http://b"}}, `endpoint "a" is listed twice; give each an id of its own`},
	} {
		if _, err := New(tc.endpoints, mustCatalog(t), Options{}); err == nil || err.Error() != tc.want {
			t.Errorf("got %v, want %s", err, tc.want)
		}
	}
	s := &promtest.Store{}
	s.Constant(map[string]string{"__name__": "up"}, 1)
	h := openAt(t, Endpoint{ID: "a", URL: promtest.Serve(t, http.StripPrefix("/prom", s)) + "/prom/api/v1/"})
	if result := promQL(t, h, `{"expr":"up"}`); result.Err != nil || len(result.Series) != 1 {
		t.Errorf("a URL with /api/v1: %+v", result)
	}
}
