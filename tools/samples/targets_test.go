package samples

import (
	"path/filepath"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	_ "github.com/prometheus/prometheus/discovery/consul"     // registers itself
	_ "github.com/prometheus/prometheus/discovery/dns"        // registers itself
	_ "github.com/prometheus/prometheus/discovery/file"       // registers itself
	_ "github.com/prometheus/prometheus/discovery/kubernetes" // registers itself
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/scrape"
)

const discovery = "../../provisioning/prometheus/discovery/"

func job(t *testing.T, file, name string) *config.ScrapeConfig {
	t.Helper()
	c, err := config.LoadFile(filepath.FromSlash(discovery+file), false, promslog.NewNopLogger())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.ScrapeConfigs {
		if s.JobName == name {
			return s
		}
	}
	t.Fatalf("%s has no job %s", file, name)
	return nil
}

// target is the labels of a target as it is scraped, empty when it is dropped.
func target(t *testing.T, s *config.ScrapeConfig, found model.LabelSet) map[string]string {
	t.Helper()
	set, err := scrape.PopulateLabels(labels.NewBuilder(labels.EmptyLabels()), s, found, model.LabelSet{})
	if err != nil {
		t.Fatal(err)
	}
	return set.Map()
}

// Pods of an exporter get a node, keep their address as instance, and no label that workloads have.
func TestTargetsAreLabelled(t *testing.T) {
	pod := model.LabelSet{
		"__address__": "10.1.2.3:9847", "__meta_kubernetes_pod_name": "warpwatch-agent-x7k", "__meta_kubernetes_namespace": "warpwatch",
		"__meta_kubernetes_pod_container_name": "agent", "__meta_kubernetes_pod_container_port_name": "metrics",
		"__meta_kubernetes_pod_phase": "Running", "__meta_kubernetes_pod_node_name": "gpu-01",
	}
	for _, tc := range []struct {
		file, job string
		found     model.LabelSet
		want      map[string]string
	}{
		{"kubernetes.yml", "warpwatch-agent", pod, map[string]string{"job": "warpwatch-agent", "instance": "10.1.2.3:9847", "node": "gpu-01"}},
		{"kubernetes.yml", "dcgm-exporter", pod, map[string]string{"job": "dcgm-exporter", "instance": "10.1.2.3:9847", "node": "gpu-01"}},
		{"consul.yml", "consul", model.LabelSet{
			"__address__": "10.0.0.7:9847", "__meta_consul_service": "warpwatch-agent", "__meta_consul_node": "gpu-07", "__meta_consul_dc": "ams1",
			"__meta_consul_service_metadata_rack": "r12",
		}, map[string]string{"job": "warpwatch-agent", "instance": "10.0.0.7:9847", "node": "gpu-07", "datacenter": "ams1", "rack": "r12"}},
		{"file.yml", "dcgm-exporter", model.LabelSet{"__address__": "10.0.4.17:9400", "node": "gpu-17"},
			map[string]string{"job": "dcgm-exporter", "instance": "10.0.4.17:9400", "node": "gpu-17"}},
		{"file.yml", "nvidia-gpu-exporter", model.LabelSet{"__address__": "ws-1.example.com:9835"},
			map[string]string{"job": "nvidia-gpu-exporter", "instance": "ws-1.example.com:9835", "node": "ws-1.example.com"}},
		{"dns.yml", "warpwatch-agent", model.LabelSet{"__address__": "gpu-03.example.com:9847", "__meta_dns_srv_record_target": "gpu-03.example.com."},
			map[string]string{"job": "warpwatch-agent", "instance": "gpu-03.example.com:9847", "node": "gpu-03"}},
	} {
		got := target(t, job(t, tc.file, tc.job), tc.found)
		for name, value := range tc.want {
			if got[name] != value {
				t.Errorf("%s: %s: %s is %q, want %q", tc.file, tc.job, name, got[name], value)
			}
		}
		for _, name := range []string{"pod", "namespace", "container", "gpu_uuid", "UUID"} {
			if got[name] != "" {
				t.Errorf("%s: %s: a target has the label %s, which workloads and GPUs have", tc.file, tc.job, name)
			}
		}
	}
}

func TestPodsOfKubernetesAreChosen(t *testing.T) {
	agents := job(t, "kubernetes.yml", "warpwatch-agent")
	for what, found := range map[string]model.LabelSet{
		"another port":     {"__address__": "a:1", "__meta_kubernetes_pod_container_port_name": "debug", "__meta_kubernetes_pod_phase": "Running"},
		"a pod that ended": {"__address__": "a:1", "__meta_kubernetes_pod_container_port_name": "metrics", "__meta_kubernetes_pod_phase": "Succeeded"},
	} {
		if got := target(t, agents, found); len(got) != 0 {
			t.Errorf("%s is scraped: %v", what, got)
		}
	}
	workloads := job(t, "kubernetes.yml", "workloads")
	server := model.LabelSet{
		"__address__": "10.1.2.9:80", "__meta_kubernetes_pod_phase": "Running", "__meta_kubernetes_pod_annotation_prometheus_io_scrape": "true",
		"__meta_kubernetes_pod_annotation_prometheus_io_port": "8000", "__meta_kubernetes_pod_annotation_prometheus_io_interval": "5s",
		"__meta_kubernetes_namespace": "chat", "__meta_kubernetes_pod_name": "vllm-0", "__meta_kubernetes_pod_label_app": "vllm",
	}
	got := target(t, workloads, server)
	for name, value := range map[string]string{
		"__address__": "10.1.2.9:8000", "__scrape_interval__": "5s", "__scrape_timeout__": "5s", "namespace": "chat", "pod": "vllm-0", "__metrics_path__": "/metrics",
	} {
		if got[name] != value {
			t.Errorf("%s is %q, want %q", name, got[name], value)
		}
	}
	server["__meta_kubernetes_pod_label_app"] = "nvidia-dcgm-exporter"
	if got := target(t, workloads, server); len(got) != 0 {
		t.Errorf("an exporter of GPUs is scraped as a workload: %v", got)
	}
}

// Every file that a configuration names is there, but for those that a site has of its own.
func TestFilesOfTargetsAreThere(t *testing.T) {
	for _, name := range []string{"agents*.yaml", "dcgm-exporter*.yaml", "nvidia-gpu-exporter*.yaml"} {
		if found, err := filepath.Glob(discovery + "targets/" + name); err != nil || len(found) == 0 {
			t.Errorf("there is no targets/%s (%v)", name, err)
		}
	}
}
