package check

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
)

const dashboard = `{"title": "Node", "panels": [
  {"title": "Row", "type": "row", "collapsed": true, "panels": [
    {"title": "Power", "type": "timeseries", "targets": [{"refId": "A", "queryType": "metric", "metric": "gpu_power_watts", "nodes": ["$node"], "models": ["H200"]}]}]},
  {"title": "Text", "type": "text"}]}`

func TestParseDashboardLooksIntoRowsAndLiftsVariables(t *testing.T) {
	d, err := parseDashboard([]byte(dashboard))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Panels) != 1 || d.Panels[0].Title != "Power" {
		t.Fatalf("panels %+v", d.Panels)
	}
	got, err := json.Marshal(d.Panels[0].Targets[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"metric":"gpu_power_watts","models":["H200"],"nodes":[],"queryType":"metric","refId":"A"}`; string(got) != want {
		t.Errorf("query %s, want %s", got, want)
	}
}

func frames(unit string, values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"results":{"A":{"status":200,"frames":[{"schema":{"fields":[{"name":"Time","type":"time"},
		{"name":"gpu_power_watts","type":"number","config":{"unit":%q}}],"meta":{"notices":[{"severity":"warning","text":"south does not answer"}]}},
		"data":{"values":[[1,2],%s]}}]}}}`, unit, text)
}

func TestRun(t *testing.T) {
	tests := []struct {
		name, answer string
		status       int
		want         string // in the output
		ok           bool
	}{
		{"good", frames("watt", 310.5, nil), 200, "ok    Node / Power: 15m 1 series 1 values watt", true},
		{"empty", frames("watt", nil, nil), 200, "BAD   Node / Power: over 15m: A: empty; warning: south does not answer", false},
		{"no frame", `{"results":{"A":{"status":200,"frames":[]}}}`, 200, "A: empty", false},
		{"wrong unit", frames("percent", 31.0, 32.0), 200, `field "gpu_power_watts" is in "percent", its metric in "watt"`, false},
		{"impossible value", frames("watt", 310500.0, 1.0), 200, "values from 1 to 310500, possible are 0 to 3000", false},
		{"error", `{"results":{"A":{"status":400,"error":"metric \"x\" is not known"}}}`, 400, `metric "x" is not known`, false},
		{"no answer", `{"results":{}}`, 200, "A has no answer", false},
		{"not JSON", `<html>502</html>`, 502, "502 Bad Gateway: <html>502</html>", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/resources/") {
					fmt.Fprint(w, `{"values":[{"value":"a","text":"a"}]}`)
					return
				}
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.answer)
			}))
			defer server.Close()
			d, err := parseDashboard([]byte(dashboard))
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			err = Run(t.Context(), Client{URL: server.URL, Datasource: "warpwatch", HTTP: server.Client()}, []Dashboard{d}, &out)
			if (err == nil) != test.ok || !strings.Contains(out.String(), test.want) {
				t.Errorf("error %v, printed\n%s\nwant %q", err, out.String(), test.want)
			}
		})
	}
}

// A panel may be dark where nobody measures it or nothing happened, never where the demo's agents measure it.
func TestReasonsOfDarkPanels(t *testing.T) {
	known, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	notice := []string{"info: nobody exports it"}
	for _, test := range []struct {
		query   map[string]any
		notices []string
		empty   string
		want    string
	}{
		{map[string]any{"metric": "gpu_power_watts"}, notice, "not exported", ""},
		{map[string]any{"metric": "serve_ttft_seconds"}, notice, "", notice[0]},
		{map[string]any{"metric": "serve_ttft_seconds"}, nil, "no server is scraped", ""},
		{map[string]any{"queryType": "events"}, nil, "No event in the range", "No event in the range"},
		{map[string]any{"queryType": "events"}, nil, "", ""},
		{map[string]any{"metric": "gpu_fan_speed_ratio"}, notice, "", notice[0]},
		{map[string]any{"metric": "gpu_nvlink_replay_errors_total"}, notice, "", notice[0]},
		{map[string]any{"metric": "gpu_nvlink_replay_errors_total"}, nil, "", ""},
	} {
		if got := reason(test.query, test.notices, known, test.empty); got != test.want {
			t.Errorf("%v, %v, %q: %q, want %q", test.query, test.notices, test.empty, got, test.want)
		}
	}
}

func TestTheQueryIsWhatABrowserSends(t *testing.T) {
	var got map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, `{"results":{}}`)
	}))
	defer server.Close()
	c := Client{URL: server.URL, Datasource: "warpwatch", HTTP: server.Client()}
	if _, err := c.query(context.Background(), []map[string]any{{"refId": "A", "metric": "m"}}, time.Hour); err != nil {
		t.Fatal(err)
	}
	query := got["queries"].([]any)[0].(map[string]any)
	if query["refId"] != "A" || query["maxDataPoints"] != 500.0 || query["datasource"].(map[string]any)["uid"] != "warpwatch" {
		t.Errorf("sent %v", query)
	}
	if fmt.Sprintf("%T", got["from"]) != "string" {
		t.Errorf("from is %T, want string", got["from"])
	}
}
