package servers

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// answering is a server of a model: a histogram with exemplars, in OpenMetrics.
func answering() http.Handler {
	var scrapes atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
		n := scrapes.Add(1)
		fmt.Fprintf(w, `# HELP demo_latency_seconds Time to an answer.
# TYPE demo_latency_seconds histogram
demo_latency_seconds_bucket{le="0.5"} %d # {trace_id="t%d"} 0.25
demo_latency_seconds_bucket{le="1.0"} %d
demo_latency_seconds_bucket{le="+Inf"} %d
demo_latency_seconds_sum %d
demo_latency_seconds_count %d
# EOF
`, 2*n, n, 3*n, 4*n, 3*n, 4*n)
	})
}

// Prometheus' own exemplars and native histograms are read as it writes them.
func TestExemplarsAndNativeHistograms(t *testing.T) {
	t.Parallel()
	target := httptest.NewServer(answering())
	t.Cleanup(target.Close)
	scrapes := fmt.Sprintf(`scrape_configs:
  - job_name: serve
    convert_classic_histograms_to_nhcb: true
    static_configs: [{targets: [%[1]q]}]
  - job_name: classic
    static_configs: [{targets: [%[1]q]}]
`, strings.TrimPrefix(target.URL, "http://"))
	s := start(t, t.TempDir(), scrapes, "--enable-feature=exemplar-storage")
	h := open(t, history.Endpoint{ID: "p", Cluster: "north", URL: s.url})
	begin := time.Now().Add(-time.Minute)
	promql := func(expr, more string) history.Result {
		q, err := query.Parse([]byte(fmt.Sprintf(`{"queryType":"promql","expr":%q%s}`, expr, more)), query.TypePromQL)
		if err != nil {
			t.Fatal(err)
		}
		return h.PromQL(context.Background(), q, query.NewWindow(query.WindowOptions{From: begin, To: time.Now(), MinStep: time.Second, ScrapeInterval: time.Second}))
	}
	var native history.Result
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("error %v, %d native histograms, %d series, notices %v", native.Err, len(native.Histograms), len(native.Series), texts(native.Notices))
		}
	})
	until(t, "the histogram was scraped", func() bool { // each job scrapes at a moment of its own
		native = promql("demo_latency_seconds", "")
		return native.Err == nil && len(native.Histograms) == 1
	})
	// Of four answers two took up to 0.5 s, one up to 1 s, one longer.
	shares := map[float64]float64{}
	cells := native.Histograms[0].Cells
	newest := cells[len(cells)-1].Time
	total := 0.0
	for _, c := range cells {
		if c.Time == newest {
			shares[c.High] += c.Count
			total += c.Count
		}
	}
	if shares[0.5]/total != 0.5 || shares[1]/total != 0.25 {
		t.Errorf("the newest is %v", shares)
	}
	if got := promql("histogram_avg(demo_latency_seconds)", ""); got.Err != nil || len(got.Series) != 1 || got.Series[0].Values[0] != 0.75 {
		t.Errorf("mean: %+v", got)
	}
	var last history.Result
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("exemplars %v, notices %v, error %v", last.Exemplars, texts(last.Notices), last.Err)
		}
	})
	until(t, "there is an exemplar", func() bool {
		got := promql(`rate(demo_latency_seconds_bucket[1m])`, `,"exemplars":true`)
		last = got
		for _, e := range got.Exemplars {
			if e.Value == 0.25 {
				return true
			}
		}
		return false
	})
}
