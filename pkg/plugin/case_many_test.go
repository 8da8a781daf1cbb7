package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

// immense is a server of many nodes with 16 GPUs of 7 instances each, and as many names of series as fit into 25 MB. It keeps
// to limits.
type immense struct {
	nodes  int
	metric string
}

func (i immense) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/api/v1/label/__name__/values":
		names := []string{strconv.Quote(i.metric)}
		limit, _ := strconv.Atoi(r.Form.Get("limit"))
		for n := 0; n < 400_000 && (limit == 0 || len(names) < limit); n++ {
			names = append(names, fmt.Sprintf(`"some_application_metric_with_a_long_name_and_a_number_%08d"`, n))
		}
		if strings.Contains(r.Form.Get("match[]"), "DCGM") { // a matcher narrows the list
			names = names[:1]
		}
		_, _ = io.WriteString(w, `{"status":"success","data":[`+strings.Join(names, ",")+`]}`)
	case r.URL.Path == "/api/v1/labels":
		_, _ = io.WriteString(w, `{"status":"success","data":["Hostname","UUID","gpu","GPU_I_ID","GPU_I_PROFILE","modelName","instance","job"]}`)
	case strings.Contains(r.Form.Get("query"), `"up"} == 0,"`), r.URL.Path == rangePath:
		i.series(w, r.URL.Path == rangePath, r.Form.Get("start"), strings.Contains(r.Form.Get("query"), "warpwatch_source"))
	default:
		_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
	}
}

func (i immense) series(w io.Writer, over bool, start string, tagged bool) {
	kind, comma := "vector", ""
	if over {
		kind = "matrix"
	}
	_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"`+kind+`","result":[`)
	for node := range i.nodes {
		for gpu := range 16 {
			for instance := 1; instance <= 7; instance++ {
				name := `"__name__":"` + i.metric + `"`
				if tagged {
					name = `"warpwatch_source":"dcgm"`
				}
				_, _ = fmt.Fprintf(w, `%s{"metric":{%s,"Hostname":"n%04d","UUID":"GPU-5e1f%04d-%04d-4a00-8b00-000000000000","gpu":"%d","GPU_I_ID":"%d","GPU_I_PROFILE":"1g.10gb","modelName":"NVIDIA H100","instance":"n%04d:9400","job":"dcgm"},`,
					comma, name, node, node, gpu, gpu, instance, node)
				if over {
					_, _ = fmt.Fprintf(w, `"values":[[%s,"%d"]]}`, start, node)
				} else {
					_, _ = fmt.Fprintf(w, `"value":[%d,"%d"]}`, recordedAt.Unix(), node)
				}
				comma = ","
			}
		}
	}
	_, _ = io.WriteString(w, `]}}`)
}

// B17: very many series are no error and no flood: lines become bands, PromQL is cut with "showing N of M", lists are asked
// for with a limit. Whoever computes with the answer has every line.
func TestCaseVeryManySeries(t *testing.T) {
	const nodes = 100 // 11,200 instances
	metric := &scripted{instead: func(w http.ResponseWriter, r *http.Request) bool {
		immense{nodes, "DCGM_FI_DEV_FB_USED"}.ServeHTTP(w, r)
		return true
	}}
	d := openScripted(t, metric, nil)
	columns := func(frames data.Frames) int {
		n := 0
		for _, frame := range frames {
			n += max(0, len(frame.Fields)-1)
		}
		return n
	}
	promQL := func(more string) string {
		return `{"queryType":"promql","expr":"DCGM_FI_DEV_FB_USED"` + more + `}`
	}
	for _, test := range []struct {
		name, query, notice string
		columns             int
	}{
		{"promql", promQL(""), `warning: Showing 1000 of 11200 series, the first by their labels. For all set "reduce" to "all" or "maxSeries" to 11200; `, 1000},
		{"promql, maxSeries", promQL(`,"maxSeries":20`), "Showing 20 of 11200 series", 20},
		{"promql, larger maxSeries", promQL(`,"maxSeries":20000`), "", 11_200},
		{"promql, all", promQL(`,"reduce":{"mode":"all"}`), "", 11_200},
		{"metric", `{"queryType":"metric","metric":"gpu_memory_used_bytes"}`, `Showing bands over 11200 lines`, 8},
		{"metric of nodes", `{"queryType":"metric","metric":"gpu_memory_used_bytes","aggregateBy":"node","aggregation":"sum"}`, "", nodes},
	} {
		answer := responseTo(t.Context(), t, d, test.query)
		if answer.Error != nil {
			t.Fatalf("%s: %v", test.name, answer.Error)
		}
		if got := columns(answer.Frames); got != test.columns {
			t.Errorf("%s: %d columns, want %d", test.name, got, test.columns)
		}
		if text := noticeTexts(answer.Frames); !strings.Contains(text, test.notice) || test.notice == "" && strings.Contains(text, "Showing") {
			t.Errorf("%s: notices %q", test.name, text)
		}
	}
	// A table, and a variable, are longer than anybody reads.
	answer := responseTo(t.Context(), t, d, `{"queryType":"metric","metric":"gpu_memory_used_bytes","format":"table"}`)
	if answer.Error != nil {
		t.Error(answer.Error)
	}
	if _, body := callResource(t, d, "GET", "variables?kind=mig"); strings.Count(body, `"value"`) != 1000 || !strings.Contains(body, "Showing 1000 of 11200 choices") {
		t.Errorf("variable %.200s", body)
	}
	for _, one := range metric.to("/api/v1/label/__name__/values") {
		if one.form.Get("limit") == "" {
			t.Errorf("a list without a limit: %v", one.form)
		}
	}
	response, err := d.QueryData(t.Context(), &backend.QueryDataRequest{Headers: map[string]string{"FromAlert": "true"}, Queries: []backend.DataQuery{{
		RefID: "A", JSON: json.RawMessage(promQL(`,"maxSeries":20`)), QueryType: "promql", MaxDataPoints: 1000,
		TimeRange: backend.TimeRange{From: recordedAt, To: recordedAt.Add(10 * time.Minute)},
	}}})
	if err != nil || columns(response.Responses["A"].Frames) != 11_200 {
		t.Errorf("an alert rule sees %d series, %v", columns(response.Responses["A"].Frames), err)
	}
}

// A list of names of 25 MB from a server that keeps to no limit costs what it is long, once, and the query is answered.
func TestCaseImmenseListOfNames(t *testing.T) {
	list := `{"status":"success","data":["DCGM_FI_DEV_POWER_USAGE"` + strings.Repeat(`,"some_application_metric_with_a_long_name_and_a_number"`, 25<<20/58) + `]}`
	s := &scripted{Store: &promtest.Store{}, instead: func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/api/v1/label/__name__/values" {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, list)
		return true
	}}
	gpusNamed(s.Store, []string{"n1"})
	d := openScripted(t, s, nil)
	for range 3 {
		answer := responseTo(context.Background(), t, d, metricQuery())
		if answer.Error != nil || len(answer.Frames) != 1 || len(answer.Frames[0].Fields) != 2 {
			t.Fatal(answer.Error, len(answer.Frames))
		}
	}
	if n := len(s.to("/api/v1/label/__name__/values")); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
