// Package compose checks docker-compose.yaml with the code that `docker compose config` is made of, where there is no
// Docker.
package compose

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v3"
)

const root = "../.."

func load(t *testing.T, profiles ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yaml")}, cli.WithProfiles(profiles), cli.WithName("warpwatch"))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func TestTheGPUOfThisMachineNeedsItsProfile(t *testing.T) {
	want := []string{"exporters", "grafana", "north-gpu-01", "north-gpu-02", "prometheus-north", "prometheus-south", "south-gpu-01"}
	names := load(t).ServiceNames()
	slices.Sort(names)
	if !slices.Equal(names, want) {
		t.Errorf("services %v, want %v", names, want)
	}
	if names := load(t, "gpu").ServiceNames(); !slices.Contains(names, "local-gpu") {
		t.Errorf("services with the profile gpu: %v", names)
	}
}

func TestWhatIsMountedIsThere(t *testing.T) {
	for name, service := range load(t, "gpu").Services {
		for _, v := range service.Volumes {
			if v.Type != types.VolumeTypeBind || filepath.Base(v.Source) == "dist" { // dist is built
				continue
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s mounts %s: %v", name, v.Source, err)
			}
		}
		if service.Build != nil {
			if _, err := os.Stat(filepath.Join(service.Build.Context, service.Build.Dockerfile)); err != nil {
				t.Errorf("%s is built from %v", name, err)
			}
		}
		for _, p := range service.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes port %s to the network; it has no log-in", name, p.Published)
			}
		}
	}
}

// Every scraped name is one of a service, and in the domain that the data source may dial.
func TestTargetsAreServices(t *testing.T) {
	aliases := map[string]bool{}
	for _, service := range load(t, "gpu").Services {
		for _, network := range service.Networks {
			if network != nil {
				for _, a := range network.Aliases {
					aliases[a] = true
				}
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "provisioning", "prometheus", "compose", "*", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no targets (%v)", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var groups []struct {
			Targets []string `yaml:"targets"`
		}
		if err := yaml.Unmarshal(text, &groups); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		for _, g := range groups {
			for _, target := range g.Targets {
				host, _, _ := strings.Cut(target, ":")
				if !aliases[host] || !strings.HasSuffix(host, ".gpu.internal") {
					t.Errorf("%s: %s is no service", f, target)
				}
			}
		}
	}
}
