package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/warpwatch/warpwatch/internal/supervise"
)

// loneDatasource is the uid of the data source of a fleet of one kind.
func loneDatasource(cluster string) string { return datasourceUID + "-" + cluster }

func (f Folder) datasources() string { return filepath.Join(string(f), "datasources") }

// startLone starts what the fleets of one kind need beside their agents: a Prometheus each, and one preview for all, so that
// neither browser tests nor Grafana meet their data sources.
func (s *Stack) startLone(ctx context.Context) error {
	if s.lone == nil {
		return nil
	}
	if err := s.writeLoneDatasources(); err != nil {
		return err
	}
	if err := together(ctx, s.lone, s.prometheuses(s.topology.Lone)); err != nil {
		return err
	}
	_, err := s.lone.Start(ctx, supervise.Spec{
		Name: "preview-lone", Path: s.builder().Bin("preview"), Dir: s.options.Root, Args: s.previewArgs(s.folder.datasources(), s.topology.LonePort),
		Ready: supervise.HTTP(s.client, url(s.topology.LonePort)+"/api/datasources/uid/"+loneDatasource(s.topology.Lone[0].Name)+"/health"),
	})
	return err
}

// stopLone ends the fleets of one kind, which the browser tests do without.
func (s *Stack) stopLone() {
	if s.lone != nil {
		s.lone.Stop(stopGrace)
		s.lone = nil
	}
}

// datasourceFile is a provisioning file of Grafana.
type datasourceFile struct {
	APIVersion  int              `yaml:"apiVersion"`
	Datasources []datasourceSpec `yaml:"datasources"`
}

type datasourceSpec struct {
	Name     string         `yaml:"name"`
	UID      string         `yaml:"uid"`
	Type     string         `yaml:"type"`
	Access   string         `yaml:"access"`
	JSONData map[string]any `yaml:"jsonData"`
}

func (s *Stack) writeLoneDatasources() error {
	file := datasourceFile{APIVersion: 1}
	for _, c := range s.topology.Lone {
		file.Datasources = append(file.Datasources, datasourceSpec{
			Name: c.Name, UID: loneDatasource(c.Name), Type: "warpwatch-gpu-datasource", Access: "proxy",
			JSONData: map[string]any{
				"clusters": []any{map[string]any{
					"name": c.Name, "endpoints": []any{map[string]any{"id": c.Name, "url": url(c.PrometheusPort), "auth": "none", "timeout": "30s"}},
				}},
				"scrapeInterval": "15s",
				"agents":         map[string]any{"discovery": "prometheus", "scheme": "http", "auth": "none", "allow": []string{"127.0.0.1"}},
			},
		})
	}
	text, err := yaml.Marshal(file)
	if err != nil {
		return fmt.Errorf("write data sources: %w", err)
	}
	if err := os.MkdirAll(s.folder.datasources(), 0o755); err != nil {
		return fmt.Errorf("write data sources: %w", err)
	}
	if err := os.WriteFile(filepath.Join(s.folder.datasources(), "lone.yaml"), text, 0o644); err != nil {
		return fmt.Errorf("write data sources: %w", err)
	}
	return nil
}
