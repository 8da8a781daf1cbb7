package demo

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// Folder is where a stack keeps what it needs and what it writes.
type Folder string

// Logs is the folder of the log files.
func (f Folder) Logs() string { return filepath.Join(string(f), "logs") }

// State is the file that tells tests where everything is.
func (f Folder) State() string { return filepath.Join(string(f), "state.json") }

func (f Folder) lock() string { return filepath.Join(string(f), "lock") }

func (f Folder) grafana() string { return filepath.Join(string(f), "grafana") }

func (f Folder) prometheus(cluster string) string {
	return filepath.Join(string(f), "prometheus", cluster)
}

func (f Folder) data(cluster string) string { return filepath.Join(f.prometheus(cluster), "data") }

// agentJob is the job under which Prometheus scrapes our agents, as provisioning/prometheus/prometheus.yml names it.
const agentJob = "warpwatch-agent"

// instance is the node's agent as Prometheus calls it. It is not the address it is scraped at, so that a series goes on
// when the ports change.
func (n Node) instance() string { return n.Name + ":9847" }

// targetGroup is an entry of a file_sd file.
type targetGroup struct {
	Targets []string          `yaml:"targets"`
	Labels  map[string]string `yaml:"labels"`
}

// targets are the cluster's file_sd files: name and groups.
func (t Topology) targets(c Cluster) map[string][]targetGroup {
	files := map[string][]targetGroup{}
	for _, n := range c.Nodes {
		files["agents.yaml"] = append(files["agents.yaml"], group(n.Port, n.instance(), "/metrics"))
	}
	for _, e := range c.Exporters {
		name := e.Job + ".yaml"
		files[name] = append(files[name], group(t.ReplayPort, e.Instance, "/"+e.File+"/metrics"))
	}
	return files
}

func group(port int, instance, path string) targetGroup {
	return targetGroup{Targets: []string{address(port)}, Labels: map[string]string{"instance": instance, "__metrics_path__": path}}
}

// writePrometheus puts the repository's configuration and rules beside the cluster's own targets.
func writePrometheus(root string, f Folder, t Topology, c Cluster) error {
	dir := f.prometheus(c.Name)
	for _, sub := range []string{"targets", "rules"} {
		path := filepath.Join(dir, sub)
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("write configuration of Prometheus: %w", err)
		}
		if err := os.MkdirAll(path, 0o755); err != nil {
			return fmt.Errorf("write configuration of Prometheus: %w", err)
		}
	}
	rules, err := filepath.Glob(filepath.Join(root, "dashboards", "rules", "*.rules.yaml"))
	if err != nil {
		return fmt.Errorf("find rules: %w", err)
	}
	copies := map[string]string{filepath.Join(root, "provisioning", "prometheus", "prometheus.yml"): filepath.Join(dir, "prometheus.yml")}
	for _, r := range rules {
		copies[r] = filepath.Join(dir, "rules", filepath.Base(r))
	}
	for from, to := range copies {
		text, err := os.ReadFile(from)
		if err != nil {
			return fmt.Errorf("write configuration of Prometheus: %w", err)
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return fmt.Errorf("write configuration of Prometheus: %w", err)
		}
	}
	for name, groups := range t.targets(c) {
		text, err := yaml.Marshal(groups)
		if err != nil {
			return fmt.Errorf("write targets: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, "targets", name), text, 0o644); err != nil {
			return fmt.Errorf("write targets: %w", err)
		}
	}
	return nil
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
