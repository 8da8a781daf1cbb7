package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

func stored(t *testing.T, agents map[string]any, secure map[string]string) backend.DataSourceInstanceSettings {
	t.Helper()
	return backend.DataSourceInstanceSettings{JSONData: mustJSON(t, map[string]any{"agents": agents}), DecryptedSecureJSONData: secure}
}

// bearer makes an agent on loopback that wants a token.
func bearer(t *testing.T, node, token string, tls bool) *agenttest.Agent {
	t.Helper()
	a := agenttest.New(t, agenttest.Options{Node: node, TLS: tls, Want: http.Header{"Authorization": {"Bearer " + token}}})
	a.Start(func(int) []gpu.Reading { return readings(2) })
	return a
}

// Each group's credentials go to its hosts and nowhere else, and agents that several sources name are one.
func TestCredentialsGoToTheirHostsOnly(t *testing.T) {
	inside, outside := bearer(t, "n1", "inner", false), bearer(t, "n2", "outer", false)
	innerAddress := inside.Target().Address
	_, port, _ := strings.Cut(innerAddress, ":")
	d := openDatasource(t, stored(t, map[string]any{
		"static": []any{map[string]any{"cluster": "north", "address": "localhost:" + port}, map[string]any{"address": outside.Target().Address}},
		"files":  []any{map[string]any{"name": "racks", "cluster": "north", "content": "- targets: ['" + outside.Target().Address + "']"}},
		"allow":  []string{"localhost", "127.0.0.1"}, "auth": "bearer", "headers": []string{"X-Outer"},
		"groups": []any{map[string]any{"id": "in", "hosts": []string{"localhost"}, "auth": "bearer", "headers": []string{"X-Inner"}}},
	}, map[string]string{
		"agents_token": "outer", "agents_header_X-Outer": "o", "agentgroup_in_token": "inner", "agentgroup_in_header_X-Inner": "i",
	}))
	f := &fleet{Datasource: d}
	got := f.frames(t, time.Minute, metricQuery(`"source":"live"`, `"instant":true`))
	if got[0].Rows() != 4 {
		t.Fatalf("%d rows: %s", got[0].Rows(), noticeTexts(got))
	}
	for _, h := range inside.Headers() {
		if h.Get("Authorization") != "Bearer inner" || h.Get("X-Inner") != "i" || h.Get("X-Outer") != "" {
			t.Errorf("inside was sent %v", h)
		}
	}
	for _, h := range outside.Headers() {
		if h.Get("Authorization") != "Bearer outer" || h.Get("X-Outer") != "o" || h.Get("X-Inner") != "" {
			t.Errorf("outside was sent %v", h)
		}
	}
	_, body := f.resource(t, http.MethodGet, "agents/page")
	var page agentsAnswer
	if err := json.Unmarshal([]byte(body), &page); err != nil || page.Matched != 2 || page.States["connected"] != 2 || len(page.Sources) != 2 {
		t.Fatalf("%v: %s", err, body)
	}
	for _, a := range page.Agents {
		if a.LastSeen == nil || a.Node == "n2" && a.Found != "static, racks" || a.Node == "n1" && a.Found != "static" {
			t.Errorf("agent %+v", a)
		}
	}
	_, _, verbose := f.health(t)
	for _, part := range []string{"Agents by static: 2 found.", "Agents by racks: 1 found.", "Clocks of agents: at most"} {
		if !strings.Contains(verbose, part) {
			t.Errorf("%q is not in %q", part, verbose)
		}
	}
	if strings.Contains(body+verbose, "inner") || strings.Contains(body+verbose, "outer") {
		t.Error("a token shows")
	}
}

// A label that says http does not get credentials sent in clear which are meant for TLS.
func TestCredentialsForTLSAreNotSentInClear(t *testing.T) {
	agent := bearer(t, "n1", "inner", false)
	d := openDatasource(t, stored(t, map[string]any{
		"files": []any{map[string]any{"content": []any{map[string]any{"targets": []string{agent.Target().Address}, "labels": map[string]string{"__scheme__": "http"}}}}},
		"allow": []string{"127.0.0.1"}, "auth": "bearer", "scheme": "https",
	}, map[string]string{"agents_token": "inner"}))
	f := &fleet{Datasource: d}
	answer := f.ask(t, time.Minute, nil, map[string]string{"A": metricQuery(`"source":"live"`, `"instant":true`)})["A"]
	if text := noticeTexts(answer.Frames) + fmt.Sprint(answer.Error); !strings.Contains(text, "credentials would be readable") {
		t.Errorf("got %s", text)
	}
	if agent.Accepted() > 0 {
		t.Error("it was connected to")
	}
}

// C27: a rotated token makes a new data source. Streams of the old one end with the reason, and its token is sent no more.
func TestRotatedToken(t *testing.T) {
	agent := bearer(t, "n1", "old", false)
	agents := map[string]any{"static": []any{map[string]any{"address": agent.Target().Address}}, "allow": []string{"127.0.0.1"}, "auth": "bearer"}
	before := openDatasource(t, stored(t, agents, map[string]string{"agents_token": "old"}))
	sub := before.live.Subscribe(live.Select{})
	for update := range sub.C() {
		if update.Schema != nil {
			break
		}
	}
	before.Dispose()
	for range sub.C() {
	}
	if !errors.Is(sub.Err(), live.ErrClosed) {
		t.Errorf("the stream ended with %v", sub.Err())
	}
	sent := len(agent.Headers())
	after := openDatasource(t, stored(t, agents, map[string]string{"agents_token": "new"}))
	got := after.live.Window(t.Context(), live.Select{Since: time.Now(), Wait: 2 * time.Second})
	if len(got.Nodes) != 1 || got.Nodes[0].State != live.Refused {
		t.Errorf("nodes %+v", got.Nodes)
	}
	for _, h := range agent.Headers()[sent:] {
		if h.Get("Authorization") != "Bearer new" {
			t.Errorf("sent %v", h)
		}
	}
	if len(agent.Headers()) == sent {
		t.Error("the new token was not sent")
	}
}

// A Prometheus that never answers does not delay agents that are listed.
func TestAHungPrometheusDelaysNobody(t *testing.T) {
	release := make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(hung.Close)
	t.Cleanup(func() { close(release) })
	agent := bearer(t, "n1", "t", false)
	s := backend.DataSourceInstanceSettings{
		JSONData: mustJSON(t, map[string]any{
			"clusters": []any{map[string]any{"name": "north", "endpoints": []any{map[string]any{"id": "a", "url": hung.URL}}}},
			"agents": map[string]any{
				"discovery": "prometheus", "static": []any{map[string]any{"cluster": "north", "address": agent.Target().Address}},
				"allow": []string{"127.0.0.1"}, "auth": "bearer",
			},
		}),
		DecryptedSecureJSONData: map[string]string{"agents_token": "t"},
	}
	d := openDatasource(t, s)
	got := d.live.Window(t.Context(), live.Select{Metric: power, Since: time.Now().Add(-time.Minute), Wait: 15 * time.Second})
	if len(got.Nodes) != 1 || !got.Nodes[0].State.Streams() {
		t.Errorf("nodes %+v, %v", got.Nodes, got.Notices)
	}
	text := strings.Join(textsOf(got.Notices), " ")
	if !strings.Contains(text, "still being looked for by prometheus") {
		t.Errorf("notices %q", text)
	}
}

// A fleet is read page by page.
func TestResourceAgentsPage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		for i := range 12_500 {
			f.targets = append(f.targets, live.Target{Cluster: []string{"north", "south"}[i%2], Node: fmt.Sprintf("n%05d", i), Address: fmt.Sprintf("n%05d:9847", i), Scheme: "http", Found: "prometheus"})
		}
		f.targets = append(f.targets, live.Target{Cluster: "north", Node: "odd", Address: "169.254.169.254:9847"})
		for _, test := range []struct {
			query          string
			rows, matched  int
			first, notices string
		}{
			{"", 100, 12_501, "n00000", "Showing 100 of 12501 agents"},
			{"limit=1000&offset=12000", 501, 12_501, "n11499", "Showing 501 of 12501"},
			{"state=refused", 1, 1, "odd", ""},
			{"state=refused&state=idle&cluster=south&limit=2&offset=1", 2, 6250, "n00003", "Showing 2 of 6250"},
			{"search=N0123", 10, 10, "n01230", ""},
			{"state=connected", 0, 0, "", ""},
		} {
			status, body := f.resource(t, http.MethodGet, "agents/page?"+test.query)
			var page agentsAnswer
			if err := json.Unmarshal([]byte(body), &page); err != nil || status != http.StatusOK {
				t.Fatalf("%s: %d %v", test.query, status, err)
			}
			if len(page.Agents) != test.rows || page.Matched != test.matched || page.States["idle"] != 12_500 || page.States["refused"] != 1 {
				t.Errorf("%s: %d rows of %d, %v", test.query, len(page.Agents), page.Matched, page.States)
			}
			if test.rows > 0 && page.Agents[0].Node != test.first {
				t.Errorf("%s: first %s", test.query, page.Agents[0].Node)
			}
			if text := fmt.Sprint(page.Notices); test.notices == "" && len(page.Notices) > 0 || !strings.Contains(text, test.notices) {
				t.Errorf("%s: notices %s", test.query, text)
			}
			if len(body) > 500_000 {
				t.Errorf("%s: %d bytes", test.query, len(body))
			}
		}
		for query, want := range map[string]string{
			"state=odd": `state \"odd\" is not known`, "limit=0": "between 1 and 1000", "limit=x": "out of range", "offset=-1": "not a number of agents", "rack=1": `parameter \"rack\"`,
		} {
			if status, body := f.resource(t, http.MethodGet, "agents/page?"+query); status != http.StatusBadRequest || !strings.Contains(body, want) {
				t.Errorf("%s: %d %s", query, status, body)
			}
		}
	})
}

// Of many agents a check tries some from all over, and what it says stays short.
func TestCheckHealthOfManyAgents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		for i := range 3000 {
			f.targets = append(f.targets, live.Target{Cluster: "north", Node: fmt.Sprintf("n%04d", i), Address: fmt.Sprintf("n%04d:9847", i), Scheme: "http"})
		}
		f.targets = append(f.targets, live.Target{Cluster: "x", Node: "odd", Address: "169.254.169.254:9847"})
		_, message, verbose := f.health(t)
		if !strings.Contains(message, "agents 0/32 connected, 0 GPUs (tried 32 of 3001 agents; 1 more are not allowed or refuse)") {
			t.Errorf("message %q", message)
		}
		if len(verbose) > 4000 || !strings.Contains(verbose, "and 21 more") {
			t.Errorf("details of %d bytes: %s", len(verbose), verbose)
		}
	})
}
