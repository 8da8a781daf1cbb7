package plugin

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

const (
	adasToken = "Bearer ada-secret-1"
	adasID    = "ada-id-secret-2"
)

// callAs makes every kind of call that a user can, and returns what was said to each.
func callAs(t *testing.T, d *Datasource, headers map[string]string) map[string]string {
	t.Helper()
	said := map[string]string{}
	for name, q := range map[string]string{
		"metric":          metricQuery(),
		"metric, table":   metricQuery(`"format":"table"`),
		"metric of a pod": metricQuery(`"pods":["train-0"]`),
		"promql":          `{"queryType":"promql","expr":"DCGM_FI_DEV_POWER_USAGE"}`,
		"promql, instant": `{"queryType":"promql","expr":"DCGM_FI_DEV_POWER_USAGE","instant":true}`,
		"coverage":        `{"queryType":"coverage"}`,
		"workload":        `{"queryType":"metric","metric":"serve_requests_running"}`,
	} {
		response, err := d.QueryData(t.Context(), &backend.QueryDataRequest{Headers: headers, Queries: []backend.DataQuery{{
			RefID: "A", JSON: json.RawMessage(q), QueryType: queryTypeIn(q), MaxDataPoints: 100, TimeRange: backend.TimeRange{From: recordedAt, To: recordedAt.Add(10 * time.Minute)},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		said[name] = noticeTexts(response.Responses["A"].Frames)
		if failed := response.Responses["A"].Error; failed != nil {
			said[name] = "error: " + failed.Error()
		}
	}
	list := map[string][]string{}
	for name, value := range headers {
		list[name] = []string{value}
	}
	for _, path := range []string{"variables?kind=gpu", "variables?kind=pod&from=1793400000000&to=1793400600000", "coverage", "metrics"} {
		bare, _, _ := strings.Cut(path, "?")
		err := d.CallResource(t.Context(), &backend.CallResourceRequest{Method: "GET", Path: bare, URL: path, Headers: list},
			backend.CallResourceResponseSenderFunc(func(r *backend.CallResourceResponse) error {
				said["resource "+path] += string(r.Body)
				return nil
			}))
		if err != nil {
			t.Fatal(err)
		}
	}
	health, err := d.CheckHealth(t.Context(), &backend.CheckHealthRequest{Headers: headers})
	if err != nil {
		t.Fatal(err)
	}
	said["health"] = health.Message + string(health.JSONDetails)
	return said
}

// B09: whoever asks is known to the server in every call of theirs, and nothing is asked for nobody. Tokens are in no message.
func TestCaseIdentityIsForwardedEverywhere(t *testing.T) {
	open := func(t *testing.T) (*scripted, *Datasource) {
		s := &scripted{Store: &promtest.Store{}}
		gpusNamed(s.Store, []string{"n1"})
		f := openEndpoint(t, map[string]any{"url": promtest.Serve(t, s), "oauthPassThru": true}, map[string]any{"oauthPassThru": true}, nil)
		f.now = func() time.Time { return recordedAt.Add(10 * time.Minute) }
		return s, f.Datasource
	}
	ada := map[string]string{backend.OAuthIdentityTokenHeaderName: adasToken, backend.OAuthIdentityIDTokenHeaderName: adasID}
	t.Run("a user", func(t *testing.T) {
		s, d := open(t)
		said := callAs(t, d, ada)
		paths := map[string]bool{}
		for _, one := range s.all {
			paths[one.path] = true
			if one.header.Get("Authorization") != adasToken || one.header.Get("X-Id-Token") != adasID {
				t.Errorf("%s was sent with %q and %q", one.path, one.header.Get("Authorization"), one.header.Get("X-Id-Token"))
			}
		}
		for _, path := range []string{rangePath, instantPath, "/api/v1/series", "/api/v1/labels", "/api/v1/metadata", "/api/v1/label/__name__/values"} {
			if !paths[path] {
				t.Errorf("%s was never asked", path)
			}
		}
		for name, text := range said {
			if strings.HasPrefix(text, "error") || strings.Contains(text, "secret") {
				t.Errorf("%s: %s", name, text)
			}
		}
	})
	for name, headers := range map[string]map[string]string{
		"an alert rule":        {"FromAlert": "true"},
		"nobody":               {},
		"an empty token":       {backend.OAuthIdentityTokenHeaderName: "", backend.OAuthIdentityIDTokenHeaderName: ""},
		"a session of Grafana": {backend.CookiesHeaderName: "grafana_session=secret"},
	} {
		t.Run(name, func(t *testing.T) {
			s, d := open(t)
			said := callAs(t, d, headers)
			for _, one := range s.all {
				t.Errorf("%s was asked, with %q", one.path, one.header.Get("Authorization"))
			}
			for call, text := range said {
				if call != "resource metrics" && !strings.Contains(text, "this request has none: alert rules, public dashboards") || strings.Contains(text, "secret") {
					t.Errorf("%s: %q", call, text)
				}
			}
		})
	}
	// What one user was answered is not there for the next, who may see something else.
	t.Run("two users", func(t *testing.T) {
		s, d := open(t)
		s.instead = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Authorization") == adasToken {
				return false
			}
			status(403, "application/json", `{"status":"error","error":"not yours"}`)(w, r)
			return true
		}
		for range 2 {
			callAs(t, d, ada)
		}
		for name, text := range callAs(t, d, map[string]string{backend.OAuthIdentityTokenHeaderName: "Bearer bob"}) {
			if name != "resource metrics" && !strings.Contains(text, "access is denied (403)") {
				t.Errorf("%s: %q", name, text)
			}
		}
	})
}

// sleeping answers after a while, unless the request is cancelled before.
type sleeping struct {
	takes     time.Duration
	cancelled atomic.Int64 // how long the last cancelled request lasted
	timeout   atomic.Value
}

func (s *sleeping) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	if req.URL.Path == rangePath {
		_ = req.ParseForm()
		s.timeout.Store(req.Form.Get("timeout"))
		select {
		case <-time.After(s.takes):
		case <-req.Context().Done():
			s.cancelled.Store(int64(time.Since(began)))
			return nil, req.Context().Err()
		}
	}
	store := &promtest.Store{}
	gpusNamed(store, []string{"n1"})
	return served(store, req)
}
