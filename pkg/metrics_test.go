package main

import (
	"strings"
	"testing"

	"github.com/grafana/grafana-plugin-sdk-go/genproto/pluginv2"
)

func TestGrafanaReadsTheMetricsOfTheCache(t *testing.T) {
	g := startPlugin(t)
	answer, err := g.diagnostics.CollectMetrics(t.Context(), &pluginv2.CollectMetricsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	text := string(answer.GetMetrics().GetPrometheus())
	for _, name := range []string{"warpwatch_history_cache_bytes", `warpwatch_history_cache_requests_total{result="hit"}`} {
		if !strings.Contains(text, name) {
			t.Errorf("%s is missing", name)
		}
	}
}
