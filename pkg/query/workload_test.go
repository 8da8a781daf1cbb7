package query

import (
	"strings"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/catalog"
)

func TestCoverageKeepsTheScopeOnly(t *testing.T) {
	q := mustParse(t, `{"refId":"A","queryType":"coverage","nodes":["n1"],"metric":"gpu_power_watts","aggregateBy":"node","expr":"up","live":true,
		"instant":true,"format":"table","adhocFilters":[{"key":"model","operator":"=","value":"H200"}]}`, "")
	if got, want := string(q.Canonical()), `{"queryType":"coverage","schemaVersion":1,"nodes":["n1"],"models":["H200"]}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	again := mustParse(t, string(q.Canonical()), "")
	if again.Hash() != q.Hash() || again.Type != TypeCoverage {
		t.Errorf("read back: %+v", again)
	}
}

func TestMatchesWorkload(t *testing.T) {
	w := catalog.Workload{Cluster: "north", Node: "n1", Namespace: "lab", Pod: "llm-0", Model: "llama", Job: "7"}
	for text, want := range map[string]bool{
		`{"metric":"serve_ttft_seconds"}`:                                                                         true,
		`{"metric":"serve_ttft_seconds","nodes":["n1"]}`:                                                          true,
		`{"metric":"serve_ttft_seconds","nodes":["n2"]}`:                                                          false,
		`{"metric":"serve_ttft_seconds","models":["/ll.*/"]}`:                                                     true,
		`{"metric":"serve_ttft_seconds","models":["H200"]}`:                                                       false,
		`{"metric":"serve_ttft_seconds","pods":["unassigned"]}`:                                                   false,
		`{"metric":"serve_ttft_seconds","namespaces":["lab"]}`:                                                    true,
		`{"metric":"serve_ttft_seconds","jobs":["8"]}`:                                                            false,
		`{"metric":"serve_ttft_seconds","gpus":["GPU-1"]}`:                                                        true,
		`{"metric":"serve_ttft_seconds","adhocFilters":[{"key":"gpu","operator":"=","value":"3"}]}`:               true,
		`{"metric":"serve_ttft_seconds","adhocFilters":[{"key":"exported_pod","operator":"!=","value":"llm-0"}]}`: false,
	} {
		q := mustParse(t, text, TypeMetric)
		if got := q.Scope.MatchesWorkload(w); got != want {
			t.Errorf("%s: got %v", text, got)
		}
		if got, want := q.Scope.SelectsGPUs(), strings.Contains(text, `"gpus"`) || strings.Contains(text, `"key":"gpu"`); got != want {
			t.Errorf("%s: selects GPUs: got %v", text, got)
		}
	}
}

func TestAggregationsOfWorkloads(t *testing.T) {
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"metric":"serve_ttft_seconds","aggregation":"p95"}`:                                  "",
		`{"metric":"serve_ttft_seconds","aggregation":"p99","aggregateBy":"pod"}`:              "",
		`{"metric":"serve_ttft_seconds","aggregation":"max"}`:                                  `field "aggregation": max of serve_ttft_seconds says nothing; use p95, p50, p99 or avg`,
		`{"metric":"gpu_power_watts","aggregation":"p95"}`:                                     `field "aggregation": p95 of gpu_power_watts is known over the devices of a node, cluster, model, namespace or job, and over a range only`,
		`{"metric":"gpu_power_watts","aggregation":"p95","aggregateBy":"node","instant":true}`: `field "aggregation": p95 of gpu_power_watts is known over the devices of a node,`,
		`{"metric":"gpu_power_watts","aggregateBy":"job","instant":true}`:                      `field "aggregateBy": gpu_power_watts by job is known over a range only, from recording rules; choose the format time_series`,
		`{"metric":"gpu_power_watts","aggregation":"p99","aggregateBy":"node"}`:                `field "aggregation": p99 of gpu_power_watts says nothing; use `,
		`{"metric":"gpu_power_watts","aggregateBy":"pod"}`:                                     `field "aggregateBy": gpu_power_watts is a metric of devices, not of what runs on them; use identity, node, cluster or model`,
		`{"metric":"serve_requests_total","aggregateBy":"job","aggregation":"sum"}`:            "",
	} {
		q := mustParse(t, text, TypeMetric)
		_, err := q.MetricIn(c)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: got %v\nwant %s", text, err, want)
		}
	}
}
