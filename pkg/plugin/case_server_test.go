package plugin

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

// sent is a request as a server got it.
type sent struct {
	method, path string
	form         url.Values
	header       http.Header
}

// scripted is a server with a store behind it. It writes down what it is asked, and may answer something else.
type scripted struct {
	*promtest.Store
	instead func(http.ResponseWriter, *http.Request) bool

	mu  sync.Mutex
	all []sent
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.all = append(s.all, sent{r.Method, r.URL.Path, r.Form, r.Header})
	s.mu.Unlock()
	if s.instead == nil || !s.instead(w, r) {
		s.Store.ServeHTTP(w, r)
	}
}

// to are the requests to a path since the last call.
func (s *scripted) to(path string) []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []sent
	for _, one := range s.all {
		if one.path == path {
			found = append(found, one)
		}
	}
	s.all = nil
	return found
}

const (
	rangePath   = "/api/v1/query_range"
	instantPath = "/api/v1/query"
)

// openScripted is a data source of one scripted server, at the time of the reports. more goes into the endpoint's settings.
func openScripted(t *testing.T, s *scripted, more map[string]any) *Datasource {
	t.Helper()
	if s.Store == nil {
		s.Store = &promtest.Store{}
	}
	endpoint := map[string]any{"id": "a", "url": promtest.Serve(t, s)}
	for key, value := range more {
		endpoint[key] = value
	}
	d := openDatasource(t, backend.DataSourceInstanceSettings{JSONData: mustJSON(t, map[string]any{
		"agents":   map[string]any{"discovery": "off"},
		"clusters": []any{map[string]any{"name": "north", "endpoints": []any{endpoint}}},
	})})
	d.now = func() time.Time { return recordedAt.Add(10 * time.Minute) }
	return d
}

// responseTo is the answer to one query of ten minutes.
func responseTo(ctx context.Context, t *testing.T, d *Datasource, q string) backend.DataResponse {
	t.Helper()
	response, err := d.QueryData(ctx, &backend.QueryDataRequest{Queries: []backend.DataQuery{{
		RefID: "A", JSON: json.RawMessage(q), QueryType: queryTypeIn(q), MaxDataPoints: 1000,
		TimeRange: backend.TimeRange{From: recordedAt, To: recordedAt.Add(10 * time.Minute)},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return response.Responses["A"]
}

// gpusNamed puts a GPU on each of some hosts, with its power and utilization.
func gpusNamed(s *promtest.Store, hosts []string) {
	for i, host := range hosts {
		for _, name := range []string{"DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_GPU_UTIL"} {
			s.Constant(map[string]string{
				"__name__": name, "Hostname": host, "host": host, "gpu": "0", "modelName": "NVIDIA H200", "instance": "10.9.0.1:9400", "job": "dcgm",
				"UUID": fmt.Sprintf("GPU-5e1f%04x-0a00-4a00-8b00-000000000000", i),
			}, float64(i))
		}
	}
}

// B03: no step is sent that servers refuse, whatever the range, and the step that is used is said.
func TestCaseNoStepIsRefused(t *testing.T) {
	var file struct {
		Cases []struct {
			Range  int64 `json:"range_s"`
			Wanted int64 `json:"wanted_step_s"`
			Points int64 `json:"max_data_points"`
			Least  int64 `json:"smallest_ok_step_s"`
		}
	}
	if err := json.Unmarshal(testdata(t, "points_limit.json"), &file); err != nil {
		t.Fatal(err)
	}
	s := &scripted{Store: &promtest.Store{}}
	gpusNamed(s.Store, []string{"n1"})
	d := openDatasource(t, backend.DataSourceInstanceSettings{JSONData: mustJSON(t, map[string]any{
		"agents": map[string]any{"discovery": "off"}, "scrapeInterval": "1s",
		"clusters": []any{map[string]any{"name": "north", "endpoints": []any{map[string]any{"id": "a", "url": promtest.Serve(t, s)}}}},
	})})
	to := recordedAt.Add(10 * time.Minute)
	d.now = func() time.Time { return to }
	for _, tc := range file.Cases {
		for _, raw := range []string{metricQuery(), `{"queryType":"promql","expr":"DCGM_FI_DEV_POWER_USAGE"}`, `{"queryType":"promql","expr":"DCGM_FI_DEV_POWER_USAGE","minStep":"1s"}`} {
			points := tc.Points
			if points == 0 {
				points = 1 << 40 // as many as the wanted step would give, or more
			}
			response, err := d.QueryData(t.Context(), &backend.QueryDataRequest{Queries: []backend.DataQuery{{
				RefID: "A", JSON: json.RawMessage(raw), QueryType: queryTypeIn(raw), MaxDataPoints: points, Interval: time.Duration(tc.Wanted) * time.Second,
				TimeRange: backend.TimeRange{From: to.Add(-time.Duration(tc.Range) * time.Second), To: to},
			}}})
			if err != nil || response.Responses["A"].Error != nil {
				t.Fatalf("%d s: %v %v", tc.Range, err, response.Responses["A"].Error)
			}
			if got := response.Responses["A"].Frames[0].Meta.ExecutedQueryString; !strings.Contains(got, "step ") {
				t.Errorf("%d s: executed %q", tc.Range, got)
			}
			for _, one := range s.to(rangePath) {
				start, _ := time.ParseDuration(one.form.Get("start") + "s")
				end, _ := time.ParseDuration(one.form.Get("end") + "s")
				step, err := time.ParseDuration(one.form.Get("step") + "s")
				if err != nil || step < time.Duration(tc.Least)*time.Second || step < time.Second || (end-start)/step > 11_000 {
					t.Errorf("%d s: step %s over %s, %v; the least is %d s", tc.Range, step, end-start, err, tc.Least)
				}
			}
		}
	}
	// What a server says of it all the same is explained, because its own hint is misleading.
	refusing := openScripted(t, &scripted{instead: func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == rangePath {
			status(400, "application/json", `{"status":"error","errorType":"bad_data","error":"exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)"}`)(w, r)
		}
		return r.URL.Path == rangePath
	}}, nil)
	answer := responseTo(t.Context(), t, refusing, `{"queryType":"promql","expr":"up"}`)
	if answer.Status != 400 || answer.Error == nil || !strings.Contains(answer.Error.Error(), "raise the minimum step of the query") {
		t.Errorf("%d %v", answer.Status, answer.Error)
	}
}

// B06: an answer that was cut off is no answer, and is tried again once at most.
func TestCaseAnswerIsCutOff(t *testing.T) {
	var zipped bytes.Buffer
	matrix := `{"status":"success","data":{"resultType":"matrix","result":[` + strings.TrimSuffix(strings.Repeat(
		fmt.Sprintf(`{"metric":{"__name__":"up","gpu":"0"},"values":[[%d,"1"],[%d,"2"]]},`, recordedAt.Unix(), recordedAt.Unix()+15), 50), ",") + `]}}`
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(matrix))
	_ = z.Close()
	flip := slices.Clone(zipped.Bytes())
	flip[len(flip)/2] ^= 0xff
	for name, test := range map[string]struct {
		encoding, body string
		length         int
	}{
		"60 % of a gzip stream":       {"gzip", string(zipped.Bytes()[:zipped.Len()*6/10]), 0},
		"gzip header alone":           {"gzip", string(zipped.Bytes()[:10]), 0},
		"half a gzip header":          {"gzip", string(zipped.Bytes()[:5]), 0},
		"gzip without its checksum":   {"gzip", string(zipped.Bytes()[:zipped.Len()-8]), 0},
		"a bit of the gzip is wrong":  {"gzip", string(flip), 0},
		"no gzip at all":              {"gzip", matrix, 0},
		"length too large":            {"", matrix, len(matrix) + 100},
		"length too large, half":      {"", matrix[:len(matrix)/2], len(matrix)},
		"JSON ends early":             {"", matrix[:len(matrix)*6/10], 0},
		"JSON ends before its braces": {"", matrix[:len(matrix)-1], 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{instead: func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != rangePath {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				if test.encoding != "" {
					w.Header().Set("Content-Encoding", test.encoding)
				}
				if test.length > 0 {
					w.Header().Set("Content-Length", fmt.Sprint(test.length))
				}
				_, _ = io.WriteString(w, test.body)
				return true
			}}
			d := openScripted(t, s, map[string]any{"compression": "on"})
			answer := responseTo(t.Context(), t, d, `{"queryType":"promql","expr":"up"}`)
			if answer.Error == nil || len(answer.Frames) > 0 {
				t.Fatalf("%d frames, error %v", len(answer.Frames), answer.Error)
			}
			if text := answer.Error.Error(); !strings.Contains(text, "a: the answer is incomplete") {
				t.Errorf("error %q", text)
			}
			if answer.Status != 502 || answer.ErrorSource != backend.ErrorSourceDownstream {
				t.Errorf("status %d from %s", answer.Status, answer.ErrorSource)
			}
			if n := len(s.to(rangePath)); n > 2 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// B08: 600 hosts of 40 letters are too long for a URL, so they go in the body; where no body is taken the message says what
// to do.
func TestCaseManyHosts(t *testing.T) {
	var hosts []string
	for i := range 600 {
		hosts = append(hosts, fmt.Sprintf("gpu-%035d", i))
	}
	list, _ := json.Marshal(hosts)
	queries := map[string]string{
		"metric":  `{"queryType":"metric","metric":"gpu_power_watts","maxSeries":1000,"nodes":` + string(list) + `}`,
		"promql":  `{"queryType":"promql","expr":"DCGM_FI_DEV_POWER_USAGE{Hostname=~\"(` + strings.Join(hosts, "|") + `)\"}"}`,
		"inject":  `{"queryType":"promql","expr":"DCGM_FI_DEV_POWER_USAGE","injectScope":true,"nodes":` + string(list) + `}`,
		"filters": `{"queryType":"promql","expr":"DCGM_FI_DEV_POWER_USAGE","adhocFilters":[{"key":"Hostname","operator":"=|","values":` + string(list) + `}]}`,
	}
	long := func(w http.ResponseWriter, r *http.Request) bool {
		if len(r.URL.RequestURI()) > 8<<10 {
			w.WriteHeader(http.StatusRequestURITooLong)
			return true
		}
		return false
	}
	s := &scripted{Store: &promtest.Store{}, instead: long}
	gpusNamed(s.Store, append(slices.Clone(hosts), "another"))
	d := openScripted(t, s, nil)
	for name, q := range queries {
		answer := responseTo(t.Context(), t, d, q)
		if answer.Error != nil {
			t.Errorf("%s: %v", name, answer.Error)
			continue
		}
		lines := 0
		for _, frame := range answer.Frames {
			lines += max(0, len(frame.Fields)-1)
		}
		if lines != 600 {
			t.Errorf("%s: %d lines", name, lines)
		}
	}
	getOnly := &scripted{Store: s.Store, instead: func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return true
		}
		return long(w, r)
	}}
	d = openScripted(t, getOnly, nil)
	answer := responseTo(t.Context(), t, d, queries["promql"])
	if answer.Error == nil || answer.Status != 400 || !strings.Contains(answer.Error.Error(), "a: the selection is too long for the server or a proxy (414); select fewer values") {
		t.Errorf("%d %v", answer.Status, answer.Error)
	}
}

// B13: what Grafana makes of a variable's values reaches the server as it is, and the same values in a scope, in filters and
// in variables select what they name and nothing else.
func TestCaseValuesOfVariables(t *testing.T) {
	var file struct {
		Template string `json:"query_tpl"`
		Cases    []struct {
			Multi    bool
			Template string `json:"query_tpl"`
			Values   []string
			Right    string
		}
	}
	if err := json.Unmarshal(testdata(t, "variable_escaping.json"), &file); err != nil {
		t.Fatal(err)
	}
	others := []string{"dXeXf", "d.e.f.g", "eh", "tnt_de_provider", "/aboutXashx", "foobar", `foo\\bar`, "Ada's 13 box", "A-B-C", "(a-b-c|d.e.f)"}
	odd := []string{"{x}", "a,b", "$1", "ä ö", "[0-9]+", ".*", "^x$", "a\nb", "<b>", "/x/", `a"b`, "`", "a|b", " a", "100%", "%41", "+"}
	hosts := slices.Concat(others, odd)
	sets := [][]string{}
	for _, tc := range file.Cases {
		sets = append(sets, tc.Values)
		for _, value := range tc.Values {
			if !slices.Contains(hosts, value) {
				hosts = append(hosts, value)
			}
		}
	}
	for _, value := range odd {
		if value != "/x/" { // which is a regular expression by our own rule
			sets = append(sets, []string{value}, []string{value, "d.e.f"})
		}
	}
	s := &scripted{Store: &promtest.Store{}}
	gpusNamed(s.Store, hosts)
	d := openScripted(t, s, nil)
	for _, tc := range file.Cases {
		if tc.Right == "" {
			continue
		}
		for _, instant := range []bool{false, true} {
			text, _ := json.Marshal(map[string]any{"queryType": "promql", "expr": tc.Right, "instant": instant})
			answer := responseTo(t.Context(), t, d, string(text))
			if answer.Error != nil {
				t.Fatal(tc.Right, answer.Error)
			}
			path := rangePath
			if instant {
				path = instantPath
			}
			if asked := s.to(path); len(asked) != 1 || asked[0].form.Get("query") != tc.Right {
				t.Errorf("asked %v, want %s", asked, tc.Right)
			}
			rows := 0
			for _, frame := range answer.Frames {
				if instant {
					rows += frame.Rows()
				} else {
					rows++
				}
			}
			if rows != len(tc.Values) {
				t.Errorf("%s: %d series", tc.Right, rows)
			}
		}
	}
	found := func(q map[string]any) []string {
		text, _ := json.Marshal(q)
		answer := responseTo(t.Context(), t, d, string(text))
		if answer.Error != nil {
			t.Fatal(string(text), answer.Error)
		}
		got := []string{}
		for _, frame := range answer.Frames {
			for _, field := range frame.Fields[min(1, len(frame.Fields)):] {
				host := field.Labels["node"]
				if host == "" {
					host = field.Labels["Hostname"]
				}
				got = append(got, host)
			}
		}
		slices.Sort(got)
		return got
	}
	for _, values := range sets {
		want := slices.Sorted(slices.Values(values))
		for name, got := range map[string][]string{
			"scope":    found(map[string]any{"queryType": "metric", "metric": "gpu_power_watts", "nodes": values}),
			"inject":   found(map[string]any{"queryType": "promql", "expr": "DCGM_FI_DEV_POWER_USAGE", "injectScope": true, "nodes": values}),
			"macro":    found(map[string]any{"queryType": "promql", "expr": "DCGM_FI_DEV_POWER_USAGE{$__gpu_filter}", "nodes": values}),
			"filters":  found(map[string]any{"queryType": "promql", "expr": "DCGM_FI_DEV_POWER_USAGE", "adhocFilters": []any{map[string]any{"key": "host", "operator": "=|", "values": values}}}),
			"filters2": found(map[string]any{"queryType": "metric", "metric": "gpu_power_watts", "adhocFilters": []any{map[string]any{"key": "node", "operator": "=|", "values": values}}}),
		} {
			if !slices.Equal(got, want) {
				t.Errorf("%s of %q: %q", name, values, got)
			}
		}
		if slices.Contains(values, ".*") { // which is how Grafana writes "All" for what resolves no variables
			continue
		}
		parameters := url.Values{"kind": {"gpu"}, "node": values}
		_, body := callResource(t, d, "GET", "variables?"+parameters.Encode())
		if n := strings.Count(body, `"value"`); n != len(values) {
			t.Errorf("variable of %q: %d choices in %s", values, n, body)
		}
	}
	// "=" with what is plainly a regular expression finds nothing, and says why.
	answer := responseTo(t.Context(), t, d, `{"queryType":"promql","expr":"DCGM_FI_DEV_GPU_UTIL{host=\"d\\\\.e\\\\.f\"}"}`)
	if text := noticeTexts(answer.Frames); answer.Error != nil || !strings.Contains(text, "use =~ for a variable that can have several values") {
		t.Errorf("%v: %q", answer.Error, text)
	}
}

// A dcgm-exporter that names no host is on the node that it is scraped at, in PromQL as in metric queries; one that calls
// every host localhost, too.
func TestCaseNodesOfExportersWithoutAHost(t *testing.T) {
	for name, host := range map[string]string{"no host": "", "localhost": "localhost"} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{Store: &promtest.Store{}}
			gpusNamed(s.Store, []string{"named"})
			for i, instance := range []string{"gpu01:9400", "gpu02:9400", "10.9.0.3:9400"} {
				labels := map[string]string{
					"__name__": "DCGM_FI_DEV_POWER_USAGE", "gpu": "0", "instance": instance, "job": "dcgm", "UUID": fmt.Sprintf("GPU-5e1f%04x-0a00-4a00-8b00-00000000000f", i),
				}
				if host != "" {
					labels["Hostname"] = host
				}
				s.Constant(labels, 1)
			}
			d := openScripted(t, s, nil)
			for node, want := range map[string]string{"gpu01": "gpu01:9400", "gpu02": "gpu02:9400", "10.9.0.3": "10.9.0.3:9400", "named": "10.9.0.1:9400"} {
				for _, expr := range []string{"DCGM_FI_DEV_POWER_USAGE", "max by (instance) (DCGM_FI_DEV_POWER_USAGE)", "max_over_time(DCGM_FI_DEV_POWER_USAGE[1m])"} {
					answer := responseTo(t.Context(), t, d, `{"queryType":"promql","expr":"`+expr+`","injectScope":true,"nodes":["`+node+`"]}`)
					if answer.Error != nil {
						t.Fatal(answer.Error)
					}
					if len(answer.Frames) != 1 || len(answer.Frames[0].Fields) != 2 || answer.Frames[0].Fields[1].Labels["instance"] != want {
						t.Errorf("%s on %s: %d frames, the first of %v", expr, node, len(answer.Frames), answer.Frames[0].Fields)
					}
				}
				answer := responseTo(t.Context(), t, d, `{"queryType":"metric","metric":"gpu_power_watts","nodes":["`+node+`"]}`)
				if answer.Error != nil || len(answer.Frames) != 1 || len(answer.Frames[0].Fields) != 2 {
					t.Errorf("metric on %s: %v", node, answer.Error)
				}
			}
			answer := responseTo(t.Context(), t, d, `{"queryType":"promql","expr":"DCGM_FI_DEV_POWER_USAGE{$__gpu_filter}","nodes":["gpu01"]}`)
			if text := noticeTexts(answer.Frames); !strings.Contains(text, "warning: $__gpu_filter does not select by node where") {
				t.Errorf("notices %q", text)
			}
		})
	}
}
