package catalog

import (
	"slices"
	"testing"
)

func TestServersAndJobsAreUnderstood(t *testing.T) {
	c := mustLoad(t)
	type reading struct {
		metric   string
		value    float64
		workload Workload
	}
	chat := Workload{Namespace: "serving", Pod: "chat-0", Model: "llama-70b", Rank: "0", Instance: "10.9.1.4:8000"}
	chat1 := chat
	chat1.Rank = "1"
	want := []reading{
		{"serve_ttft_seconds", 31, chat},
		{"serve_tpot_seconds", 31, chat1},
		{"serve_kv_cache_ratio", 0.82, chat},
		{"serve_requests_waiting", 7, Workload{Namespace: "serving", Pod: "qwen-0", Model: "qwen", Instance: "10.9.1.5:30000"}},
		{"serve_generation_tokens_total", 4096, Workload{Model: "llama-8b", Instance: "10.9.1.6:8000"}},
		{"serve_queue_seconds", 12, Workload{Namespace: "serving", Pod: "tgi-0", Instance: "10.9.1.7:80"}},
		{"serve_queue_time_seconds_total", 2.5, Workload{Model: "resnet", Instance: "10.9.1.8:8002"}},
		{"serve_ttft_seconds", 5, Workload{Model: "chat", Instance: "10.9.1.8:8002"}},
		{"serve_requests_waiting", 3, Workload{Model: "tensorrt_llm", Instance: "10.9.1.8:8002"}},
		{"serve_ttft_seconds", 3, Workload{Model: "gpt-oss", Job: "gateway", Instance: "collector:8889"}},
		{"train_loss", 2.31, Workload{Node: "render-09", Job: "118342", Rank: "3", Instance: "render-09:9847"}},
		{"train_step_seconds", 5.12, Workload{Job: "pretrain", Rank: "63", Instance: "collector:8889"}},
		{"train_loss", 2.31, Workload{Job: "r7", Rank: "0", Instance: "bridge:9100"}},
		{"train_mfu_ratio", 0.415, Workload{Job: "r7", Rank: "0", Instance: "bridge:9100"}},
		{"train_allreduce_seconds", 0.18, Workload{Job: "ds", Rank: "2", Instance: "bridge:9100"}},
	}
	var got []reading
	for _, s := range samples(t, "serving.json") {
		for _, source := range c.Lookup(s.labels["__name__"]) {
			if !source.Accepts(s.labels) {
				continue
			}
			w, ok := c.ResolveWorkload(s.labels)
			if !ok {
				t.Errorf("no workload: %v", s.labels)
			}
			m, _ := c.Metric(source.Metric)
			value := s.value
			if m.Kind != Histogram { // what converts there is the bounds
				value = source.Conversion.Apply(value)
			}
			got = append(got, reading{source.Metric, value, w})
		}
	}
	for i, w := range want {
		if i >= len(got) || got[i] != w {
			t.Fatalf("%d:\n got %+v\nwant %+v", i, got[min(i, len(got)-1)], w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d readings, want %d", len(got), len(want))
	}
}

func TestResolveWorkload(t *testing.T) {
	c := mustLoad(t)
	if w, ok := c.ResolveWorkload(LabelMap{"le": "1"}); ok {
		t.Errorf("named by nothing: %+v", w)
	}
	w, ok := c.ResolveWorkload(LabelMap{
		"cluster": "west", "k8s.pod.name": "p", "k8s.namespace.name": "n", "k8s_node_name": "n1", "model_name": "[N/A]", "slurm_job_id": "7",
	})
	if want := (Workload{Cluster: "west", Node: "n1", Namespace: "n", Pod: "p", Job: "7"}); !ok || w != want {
		t.Errorf("got %+v, want %+v", w, want)
	}
	labels := c.WorkloadLabels()
	for _, label := range []string{"pod", "exported_pod", "namespace", "model_name", "rank", "job_id", "instance"} {
		if !slices.Contains(labels, label) {
			t.Errorf("%s is not among %q", label, labels)
		}
	}
}
