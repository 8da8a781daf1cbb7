package plugin

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/warpwatch/warpwatch/pkg/history"
)

// Credentials are changed while dashboards refresh: nobody gets what was asked with others, and nothing is left behind.
func TestInstanceIsReopenedWithOtherCredentials(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		start, _ := strconv.ParseFloat(r.Form.Get("start"), 64)
		end, _ := strconv.ParseFloat(r.Form.Get("end"), 64)
		step, _ := strconv.ParseFloat(r.Form.Get("step"), 64)
		var values []string
		for at := start; at <= end && step > 0; at += step {
			values = append(values, fmt.Sprintf(`[%.0f,"1"]`, at))
		}
		_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"of":%q},"values":[%s]}]}}`,
			strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), strings.Join(values, ","))
	})
	registry := prometheus.NewPedanticRegistry()
	metrics, err := history.NewCacheMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 6 {
		token := fmt.Sprintf("token-%d", i)
		instance, err := newDatasource(t.Context(), backend.DataSourceInstanceSettings{
			UID: "same", DecryptedSecureJSONData: map[string]string{"endpoint_a_token": token},
			JSONData: mustJSON(t, map[string]any{"agents": map[string]any{"discovery": "off"}, "clusters": []any{map[string]any{
				"name": "north", "endpoints": []any{map[string]any{"id": "a", "url": url, "auth": "bearer"}},
			}}}),
		}, metrics)
		if err != nil {
			t.Fatal(err)
		}
		f := &fleet{Datasource: instance.(*Datasource)}
		asked := make(chan struct{}, 100)
		for range 4 {
			all.Go(func() {
				for range 5 {
					answer := f.ask(t, time.Hour, nil, map[string]string{"A": `{"queryType":"promql","expr":"gauge"}`})["A"]
					asked <- struct{}{}
					if answer.Error != nil || len(answer.Frames) != 1 || answer.Frames[0].Fields[1].Labels["of"] != token {
						t.Errorf("%s: %v %v", token, answer.Error, answer.Frames)
					}
				}
			})
		}
		<-asked
		f.Dispose() // the others still wait
	}
	all.Wait()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if strings.HasSuffix(family.GetName(), "cache_bytes") && family.GetMetric()[0].GetGauge().GetValue() != 0 {
			t.Errorf("%v bytes are left", family.GetMetric()[0].GetGauge().GetValue())
		}
	}
}
