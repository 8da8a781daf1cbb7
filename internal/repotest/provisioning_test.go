package repotest

import (
	"encoding/json"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/warpwatch/warpwatch/internal/demo"
)

func TestTheDataSourceKnowsTheDemosClusters(t *testing.T) {
	var file struct {
		Datasources []struct {
			UID      string         `yaml:"uid"`
			Type     string         `yaml:"type"`
			JSONData map[string]any `yaml:"jsonData"`
		} `yaml:"datasources"`
	}
	if err := yaml.Unmarshal(read(t, "provisioning/datasources/gpu.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Datasources) != 1 || file.Datasources[0].UID != "warpwatch" || file.Datasources[0].Type != "warpwatch-gpu-datasource" {
		t.Fatalf("data sources %+v", file.Datasources)
	}
	text, err := json.Marshal(file.Datasources[0].JSONData)
	if err != nil {
		t.Fatal(err)
	}
	var settings struct {
		Clusters []struct {
			Name string `json:"name"`
		} `json:"clusters"`
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		t.Fatal(err)
	}
	topology, err := demo.FixedPorts("")
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range topology.Clusters {
		if i >= len(settings.Clusters) || settings.Clusters[i].Name != c.Name {
			t.Errorf("cluster %d of the data source is not %s", i, c.Name)
		}
	}
}
