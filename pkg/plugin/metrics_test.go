package plugin

import (
	"testing"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/prometheus/client_golang/prometheus"
)

// Instances of all data sources, before and after a change of their settings, count into the same metrics.
func TestMetricsSurviveInstances(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	create, err := Factory(registry)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		instance, err := create(t.Context(), backend.DataSourceInstanceSettings{JSONData: []byte(`{}`)})
		if err != nil {
			t.Fatal(err)
		}
		instance.(*Datasource).Dispose()
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range families {
		names[f.GetName()] = true
	}
	if !names["warpwatch_history_cache_requests_total"] || !names["warpwatch_history_cache_bytes"] {
		t.Errorf("got %v", names)
	}
	if _, err := Factory(registry); err == nil {
		t.Error("the metrics were registered twice")
	}
}
