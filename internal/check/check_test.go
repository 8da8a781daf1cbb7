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
		{"good", frames("watt", 310.5, nil), 200, "15m 1 series 1 values watt", true},
		{"empty", frames("watt", nil, nil), 200, "over 15m: A: empty; warning: south does not answer", false},
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
			fleets := []Fleet{{
				Name: "mixed", Client: Client{URL: server.URL, Datasource: "warpwatch", HTTP: server.Client()}, Ranges: []time.Duration{15 * time.Minute},
				Variables: []string{"cluster"}, Agents: true,
			}}
			report, err := Run(t.Context(), fleets, []Dashboard{d}, &out)
			if cell := report.Rows[1].Cells[0]; (err == nil) != test.ok || (cell.Mark == MarkValue) != test.ok || !strings.Contains(cell.Text, test.want) {
				t.Errorf("error %v, cell %+v, want %q", err, cell, test.want)
			}
			if test.ok == strings.Contains(out.String(), "BAD   mixed: Node / Power: ") {
				t.Errorf("printed\n%s", out.String())
			}
		})
	}
}

// A panel may be dark where it says what to export, and a list may be empty where the panel says what that means; never where the
// fleet's agents measure it.
func TestReasonsOfDarkPanels(t *testing.T) {
	scrapes := map[string]any{"queryType": "promql", "expr": "max(scrape_duration_seconds)"}
	known, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	const says = "info: add DCGM_FI_PROF_SM_ACTIVE to the exporter's file"
	ttft, power := map[string]any{"metric": "serve_ttft_seconds"}, map[string]any{"metric": "gpu_power_watts"}
	for _, test := range []struct {
		query   map[string]any
		notices []string
		by      judged
		mark    string
		text    string
	}{
		{power, []string{says}, judged{agents: true}, MarkBad, ""},
		{power, []string{says}, judged{}, MarkDark, says},
		{power, []string{"info: there is nothing"}, judged{}, MarkBad, ""},
		{ttft, []string{"info: there is nothing", "info: serve_ttft_seconds: let the agent scrape the server"}, judged{agents: true}, MarkDark, "info: serve_ttft_seconds: let the agent scrape the server"},
		{ttft, nil, judged{empty: "no server is scraped"}, MarkBad, ""},
		{scrapes, nil, judged{}, MarkBad, ""},
		{scrapes, nil, judged{long: true}, MarkDark, "what Prometheus writes of its own scrapes begins with the stack, and steps may be longer than that"},
		{power, nil, judged{long: true}, MarkBad, ""},
		{map[string]any{"queryType": "events"}, nil, judged{empty: "No event in the range", agents: true}, MarkQuiet, "No event in the range"},
		{map[string]any{"queryType": "events"}, nil, judged{}, MarkBad, ""},
		{map[string]any{"metric": "gpu_tensor_active_ratio", "migs": []any{"/.+/"}}, []string{"info: No GPU has gpu_tensor_active_ratio."}, judged{empty: "no instances"}, MarkQuiet, "no instances"},
		{map[string]any{"metric": "gpu_tensor_active_ratio"}, []string{"info: No GPU has gpu_tensor_active_ratio."}, judged{empty: "no instances"}, MarkBad, ""},
		{map[string]any{"queryType": "health", "options": map[string]any{"show": "counts"}}, nil, judged{empty: "not known"}, MarkBad, ""},
		{map[string]any{"metric": "gpu_fan_speed_ratio"}, []string{says}, judged{agents: true}, MarkDark, says},
		{map[string]any{"metric": "gpu_nvlink_replay_errors_total"}, nil, judged{agents: true}, MarkBad, ""},
	} {
		if mark, text := reason(test.query, test.notices, known, test.by); mark != test.mark || text != test.text {
			t.Errorf("%v, %v, %+v: %s %q, want %s %q", test.query, test.notices, test.by, mark, text, test.mark, test.text)
		}
	}
}

func TestTheTableHasEveryReasonOnce(t *testing.T) {
	why := Cell{MarkDark, "info: export\nDCGM_FI_DEV_FAN"}
	got := Report{Fleets: []string{"a", "b"}, Rows: []Row{
		{"Node", "Fans", []Cell{{MarkValue, "1h 2 series"}, why}}, {"Heat", "Fans", []Cell{why, {MarkQuiet, "none"}}},
	}}.Markdown()
	for _, want := range []string{"| dashboard | panel | a | b |\n|---|---|---|---|\n", "| Node | Fans | value | dark (1) |\n| Heat | Fans | dark (1) | quiet (2) |\n\n1. info: export DCGM_FI_DEV_FAN\n2. none\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %q", got, want)
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
