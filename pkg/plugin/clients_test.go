package plugin

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// Each server gets its own credentials and no other's, and the headers that the settings add.
func TestEndpointCredentials(t *testing.T) {
	var mu sync.Mutex
	got := map[string]http.Header{}
	var urls []string
	for range 3 {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			got["http://"+r.Host] = r.Header.Clone()
			mu.Unlock()
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"vector","result":[]}}`))
		}))
		defer server.Close()
		urls = append(urls, server.URL)
	}
	stored := backend.DataSourceInstanceSettings{
		JSONData: mustJSON(t, map[string]any{
			"httpHeaderName1": "X-Scope-OrgID", "agents": map[string]any{"discovery": "off"},
			"clusters": []any{map[string]any{"name": "north", "endpoints": []any{
				map[string]any{"id": "a", "url": urls[0], "auth": "basic", "user": "u"},
				map[string]any{"id": "b", "url": urls[1], "auth": "bearer"},
				map[string]any{"id": "c", "url": urls[2]},
			}}},
		}),
		DecryptedSecureJSONData: map[string]string{"endpoint_a_password": "p", "endpoint_b_token": "t", "httpHeaderValue1": "team-a"},
	}
	f := &fleet{Datasource: openDatasource(t, stored)}
	f.frames(t, time.Hour, `{"queryType":"promql","expr":"up"}`)
	for i, want := range []string{"Basic dTpw", "Bearer t", ""} {
		header := got[urls[i]]
		if header.Get("Authorization") != want || header.Get("X-Scope-OrgID") != "team-a" {
			t.Errorf("endpoint %d got %q, tenant %q; want %q", i, header.Get("Authorization"), header.Get("X-Scope-OrgID"), want)
		}
	}
}

// Agents get their own credentials, and nothing that Grafana or a server is told (grafana/grafana#80698).
func TestAgentCredentials(t *testing.T) {
	agent := agenttest.New(t, agenttest.Options{Node: "n1", Cluster: "north", Want: http.Header{"Authorization": {"Bearer agent-token"}}})
	agent.Tick(readings(2)...)
	stored := backend.DataSourceInstanceSettings{
		JSONData: mustJSON(t, map[string]any{
			"httpHeaderName1": "X-Scope-OrgID",
			"agents": map[string]any{
				"discovery": "static", "auth": "bearer", "allow": []string{"127.0.0.0/8"},
				"static": []any{map[string]any{"cluster": "north", "address": agent.Target().Address}},
			},
		}),
		DecryptedSecureJSONData: map[string]string{"agents_token": "agent-token", "httpHeaderValue1": "team-a"},
	}
	f := &fleet{Datasource: openDatasource(t, stored)}
	got := f.frames(t, time.Minute, metricQuery(`"source":"live"`, `"instant":true`))
	if got[0].Rows() != 2 {
		t.Fatalf("%d rows: %s", got[0].Rows(), noticeTexts(got))
	}
	for _, header := range agent.Headers() {
		if header.Get("X-Scope-OrgID") != "" || header.Get("Authorization") != "Bearer agent-token" {
			t.Errorf("the agent was sent %v", header)
		}
	}
}

func TestAgentHeader(t *testing.T) {
	for want, auth := range map[string]settings.Auth{
		"":           {Method: settings.NoAuth},
		"Basic dTpw": {Method: settings.BasicAuth, User: "u", Secret: settings.NewSecret("p")},
		"Bearer t":   {Method: settings.BearerAuth, Secret: settings.NewSecret("t")},
	} {
		if got := agentHeader(settings.Access{Auth: auth}).Get("Authorization"); got != want {
			t.Errorf("%s: %q, want %q", auth.Method, got, want)
		}
	}
}

func mustJSON(t *testing.T, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// openDatasource makes a data source of settings that can be used.
func openDatasource(t *testing.T, stored backend.DataSourceInstanceSettings) *Datasource {
	t.Helper()
	instance, err := NewDatasource(t.Context(), stored)
	if err != nil {
		t.Fatal(err)
	}
	d := instance.(*Datasource)
	t.Cleanup(d.Dispose)
	if d.broken != nil {
		t.Fatal(d.broken)
	}
	return d
}
