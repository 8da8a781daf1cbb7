package catalog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// samples reads an exposition file or an instant query's answer.
func samples(t *testing.T, name string) []sample {
	t.Helper()
	if !strings.Contains(name, "/") {
		name = filepath.Join("testdata", name)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []sample
	if filepath.Ext(name) == ".json" {
		var answer struct {
			Data struct {
				Result []struct {
					Metric LabelMap
					Value  []any
				}
			}
		}
		if err := json.NewDecoder(file).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		for _, r := range answer.Data.Result {
			s := sample{labels: r.Metric}
			if len(r.Value) == 2 {
				s.value, _ = strconv.ParseFloat(r.Value[1].(string), 64)
			}
			all = append(all, s)
		}
		return all
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sortedKeys(families) {
		for _, m := range families[name].Metric {
			s := sample{labels: LabelMap{"__name__": name}, help: families[name].GetHelp()}
			s.value = m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
			for _, pair := range m.Label {
				s.labels[pair.GetName()] = pair.GetValue()
			}
			all = append(all, s)
		}
	}
	return all
}

// series reads only the label sets.
func series(t *testing.T, name string) []LabelMap {
	t.Helper()
	var all []LabelMap
	for _, s := range samples(t, name) {
		all = append(all, s.labels)
	}
	return all
}

func sortedKeys(families map[string]*dto.MetricFamily) []string {
	names := make([]string, 0, len(families))
	for name := range families {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func nodes(t *testing.T, c *Catalog, all []LabelMap) (names, useless []string) {
	t.Helper()
	for _, labels := range all {
		id, ok := c.Resolve(labels)
		if !ok {
			t.Fatalf("not identified: %v", labels)
		}
		names, useless = append(names, id.Device.Node), append(useless, id.Useless)
	}
	return names, useless
}

func TestNodeIsFoundUnderEverySpelling(t *testing.T) {
	c := mustLoad(t)
	all := series(t, "hostname_case.prom")
	all[5]["instance"] = "10.9.0.16:9400" // what a scrape adds
	names, _ := nodes(t, c, all)
	want := []string{"legacy-01", "current-01", "both-01", "relabelled-01", "relabelled-02", "10.9.0.16"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

func TestUselessHostIsNotTheNode(t *testing.T) {
	names, useless := nodes(t, mustLoad(t), series(t, "hostname_useless.json"))
	if want := []string{"10.9.0.11", "10.9.0.12", "10.9.0.13", "render-07"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	if want := []string{"localhost", "localhost", "localhost", "nvidia-dcgm-exporter-x7k2p"}; !slices.Equal(useless, want) {
		t.Errorf("passed over %q, want %q", useless, want)
	}
}

func TestNode(t *testing.T) {
	c := mustLoad(t)
	for _, tc := range []struct {
		labels LabelMap
		node   string
	}{
		{LabelMap{"Hostname": "localhost"}, "localhost"}, // better than none
		{LabelMap{"Hostname": "3f2a9b1c77de", "instance": "gpu-07:9400"}, "gpu-07"},
		{LabelMap{"Hostname": "gpu-mon-7h2qk", "pod": "gpu-mon-7h2qk", "namespace": "monitoring", "instance": "10.9.3.4:9400"}, "10.9.3.4"},
		{LabelMap{"hostname": "gpu-mon-7h2qk", "pod": "gpu-mon-7h2qk", "node": "gpu-09", "exported_pod": "train-0"}, "gpu-09"},
		{LabelMap{"instance": "[fd00::7]:9400"}, "fd00::7"},
		{LabelMap{"instance": "fd00::7"}, "fd00::7"},
		{LabelMap{"Hostname": "LOCALHOST.localdomain", "k8s.node.name": "gpu-08"}, "gpu-08"},
		{LabelMap{}, ""},
	} {
		tc.labels["UUID"] = "GPU-1"
		d, _, ok := c.Identify(tc.labels)
		if !ok || d.Node != tc.node {
			t.Errorf("%v: got %q, %v, want %q", tc.labels, d.Node, ok, tc.node)
		}
	}
}

func TestOwnerIsTheWorkload(t *testing.T) {
	c := mustLoad(t)
	for file, want := range map[string][]Owner{
		"exported_pod.json": {
			{Namespace: "lab", Pod: "notebook-ana-0", Container: "nb"}, {}, {Namespace: "lab", Pod: "train-b-3", Container: "main"},
		},
		"empty_pod.prom": {{}, {Namespace: "team-a", Pod: "train-a-0", Container: "main"}, {}},
	} {
		for i, labels := range series(t, file) {
			if _, got, ok := c.Identify(labels); !ok || got != want[i] {
				t.Errorf("%s %d: got %+v, want %+v", file, i, got, want[i])
			}
		}
	}
	for _, exporter := range []LabelMap{
		{"pod": "gpu-mon-7h2qk", "namespace": "gpu-mon", "container": "nvidia-dcgm-exporter", "Hostname": "n1"},
		{"pod": "metrics-x1", "namespace": "gpu-mon", "container": "exporter", "Hostname": "n1"},
		{"pod": "metrics-x1", "namespace": "gpu-mon", "container": "main", "Hostname": "metrics-x1"},
		{"pod": "N/A", "namespace": "N/A"},
	} {
		exporter["UUID"] = "GPU-1"
		if _, got, _ := c.Identify(exporter); got != (Owner{}) {
			t.Errorf("%v: got %+v", exporter, got)
		}
	}
	old := LabelMap{"uuid": "GPU-1", "pod_name": "p", "pod_namespace": "n", "container_name": "c", "hpc_job": "118342"}
	if _, got, _ := c.Identify(old); got != (Owner{Namespace: "n", Pod: "p", Container: "c", Job: "118342"}) {
		t.Errorf("1.x labels: got %+v", got)
	}
}

func TestDeviceOfEveryDialect(t *testing.T) {
	c := mustLoad(t)
	for _, tc := range []struct {
		name   string
		labels LabelMap
		want   gpu.Device
	}{
		{"agent", LabelMap{"node": "n1", "gpu": "3", "gpu_uuid": "GPU-5e1f0000-0a00-4a00-8b00-000000000000", "model": "NVIDIA H200"},
			gpu.Device{Identity: gpu.Identity{Node: "n1", UUID: "GPU-5e1f0000-0a00-4a00-8b00-000000000000"}, Index: 3, Model: "NVIDIA H200"}},
		{"agent MIG", LabelMap{"node": "n1", "gpu": "0", "gpu_uuid": "GPU-1", "model": "NVIDIA H200", "mig_id": "0", "mig_profile": "7g.141gb"},
			gpu.Device{Identity: gpu.Identity{Node: "n1", UUID: "GPU-1", GPUInstance: "0"}, Model: "NVIDIA H200", MIGProfile: "7g.141gb", MIGEnabled: true}},
		{"agent info", LabelMap{"node": "n1", "gpu": "0", "gpu_uuid": "GPU-1", "model": "m", "pci_bus_id": "00000000:10:00.0", "driver_version": "590.48.01", "mig_enabled": "true"},
			gpu.Device{Identity: gpu.Identity{Node: "n1", UUID: "GPU-1"}, Model: "m", PCIBusID: "00000000:10:00.0", Driver: "590.48.01", MIGEnabled: true}},
		{"dcgm MIG", series(t, "profile_mismatch.prom")[0],
			gpu.Device{Identity: gpu.Identity{Node: "rack1-gpu01", UUID: "GPU-5e1f0000-0a00-4a00-8b00-000000000000", GPUInstance: "7"}, Model: "NVIDIA H100 NVL",
				MIGProfile: "1g.11gb", MIGEnabled: true, PCIBusID: "00000000:10:00.0", Driver: "550.00.01"}},
		{"dcgm 1.x", series(t, "legacy_1x.prom")[0],
			gpu.Device{Identity: gpu.Identity{UUID: "GPU-5e1f0000-0a00-4a00-8b00-000000000000"}}},
		{"nvlink lines", LabelMap{"gpu_uuid": "GPU-1", "model_name": "NVIDIA H100", "gpu": "1", "hostname": "h"},
			gpu.Device{Identity: gpu.Identity{Node: "h", UUID: "GPU-1"}, Index: 1, Model: "NVIDIA H100"}},
		{"bare UUID", LabelMap{"uuid": "5e1f0000-0a00-4a00-8b00-000000000000", "instance": "w1:9835", "name": "NVIDIA GeForce RTX 4090", "index": "0", "driver_version": "[N/A]"},
			gpu.Device{Identity: gpu.Identity{Node: "w1", UUID: "GPU-5e1f0000-0a00-4a00-8b00-000000000000"}, Model: "NVIDIA GeForce RTX 4090"}},
		{"dotted labels", series(t, "utf8_labels.json")[0],
			gpu.Device{Identity: gpu.Identity{Node: "rack1-gpu01", UUID: "GPU-5e1f0000-0a00-4a00-8b00-000000000000"}, Index: -1}},
	} {
		got, _, ok := c.Identify(tc.labels)
		if !ok || got != tc.want {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", tc.name, got, ok, tc.want)
		}
	}
	for _, labels := range []LabelMap{{}, {"gpu": "0", "hostname": "h"}, {"uuid": "MIG-5e1f0000-0a00-4a00-8b00-000000000000"}} {
		if d, _, ok := c.Identify(labels); ok {
			t.Errorf("%v: identified as %+v, though nothing names the GPU", labels, d)
		}
	}
}

func TestModelSpellingsAreOneModel(t *testing.T) {
	c := mustLoad(t)
	all := series(t, "model_names.json")
	a, _, _ := c.Identify(all[0])
	b, _, _ := c.Identify(all[1])
	if gpu.ShortModel(a.Model) != gpu.ShortModel(b.Model) {
		t.Errorf("%q and %q", a.Model, b.Model)
	}
}

func TestRealCaptureIsUnderstood(t *testing.T) {
	c := mustLoad(t)
	found, devices := map[string]bool{}, map[gpu.Identity]bool{}
	for _, labels := range series(t, "nvidia_gpu_exporter_h200_mig.prom") {
		sources := c.Lookup(labels["__name__"])
		if len(sources) == 0 {
			continue
		}
		found[sources[0].Metric] = true
		d, _, ok := c.Identify(labels)
		if !ok {
			t.Errorf("not identified: %v", labels)
		}
		devices[d.Identity] = true
	}
	if len(devices) != 1 {
		t.Errorf("one GPU, got %v", devices)
	}
	if len(found) < 20 || found["gpu_utilization_ratio"] {
		t.Errorf("found %d metrics (a MIG-enabled GPU has no utilization): %v", len(found), found)
	}
}

func TestIdentityLabelsHaveNoDuplicates(t *testing.T) {
	names := mustLoad(t).IdentityLabels()
	slices.Sort(names)
	if n := len(slices.Compact(slices.Clone(names))); n != len(names) {
		t.Errorf("%d of %d are unique: %q", n, len(names), names)
	}
}
