package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/config"
	"go.yaml.in/yaml/v3"
)

// datasource is one provisioned data source.
type datasource struct {
	Name           string            `yaml:"name"`
	UID            string            `yaml:"uid"`
	Type           string            `yaml:"type"`
	Access         string            `yaml:"access"`
	URL            string            `yaml:"url"`
	User           string            `yaml:"user"`
	BasicAuth      bool              `yaml:"basicAuth"`
	BasicAuthUser  string            `yaml:"basicAuthUser"`
	IsDefault      bool              `yaml:"isDefault"`
	JSONData       map[string]any    `yaml:"jsonData"`
	SecureJSONData map[string]string `yaml:"secureJsonData"`

	id      int64
	updated time.Time
}

// readDatasources reads Grafana's data source provisioning from a YAML file, or from every YAML file of a folder in the order
// of their names, and keeps those of the given plugin. $VAR and ${VAR} mean environment variables and $$ a dollar sign.
func readDatasources(path, pluginID string) ([]datasource, error) {
	files, err := yamlFiles(path)
	if err != nil {
		return nil, fmt.Errorf("read data sources: %w; name a provisioning file or folder with --datasources", err)
	}
	var all []datasource
	for _, file := range files {
		found, err := readDatasourceFile(file)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			if d.Type != pluginID {
				continue
			}
			if d.UID == "" || d.Name == "" {
				return nil, fmt.Errorf("read %s: every data source needs a name and a uid, dashboards refer to it", file)
			}
			if slices.ContainsFunc(all, func(o datasource) bool { return o.UID == d.UID || o.Name == d.Name }) {
				return nil, fmt.Errorf("read %s: data source %q (uid %q) is there twice", file, d.Name, d.UID)
			}
			d.id = int64(len(all) + 1)
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("read %s: no data source of type %s found", path, pluginID)
	}
	return all, nil
}

func yamlFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		ext := strings.ToLower(filepath.Ext(entry.Name()))
		if !entry.IsDir() && (ext == ".yaml" || ext == ".yml") {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	return files, nil
}

func readDatasourceFile(path string) ([]datasource, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read data sources: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read data sources: %w", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(raw, &document); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	expandVariables(&document)
	var file struct {
		Datasources []datasource `yaml:"datasources"`
	}
	if err := document.Decode(&file); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	for i := range file.Datasources {
		file.Datasources[i].updated = info.ModTime()
	}
	return file.Datasources, nil
}

// expandVariables replaces variables in scalars only, after the YAML was parsed, so that a value can never change the structure.
func expandVariables(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && strings.Contains(node.Value, "$") {
		node.Value = os.Expand(node.Value, func(name string) string {
			if name == "$" {
				return "$"
			}
			return os.Getenv(name)
		})
		if node.Style == 0 { // a plain scalar: its type follows from the new value
			node.Tag = ""
		}
	}
	for _, child := range node.Content {
		expandVariables(child)
	}
}

// pluginContext is what Grafana sends along with every request for this data source.
func (d datasource) pluginContext(m manifest, appURL string) (backend.PluginContext, error) {
	settings, err := d.jsonData()
	if err != nil {
		return backend.PluginContext{}, err
	}
	return backend.PluginContext{
		OrgID:         1,
		PluginID:      m.ID,
		PluginVersion: m.Info.Version,
		User:          &backend.User{Login: "preview", Name: "Preview", Email: "preview@localhost", Role: "Admin"},
		GrafanaConfig: config.NewGrafanaCfg(map[string]string{
			config.AppURL:                 appURL + "/",
			config.ConcurrentQueryCount:   "10",
			config.LiveClientQueueMaxSize: fmt.Sprint(liveQueueBytes),
		}),
		DataSourceInstanceSettings: &backend.DataSourceInstanceSettings{
			ID: d.id, UID: d.UID, Type: d.Type, Name: d.Name, URL: d.URL, User: d.User,
			BasicAuthEnabled: d.BasicAuth, BasicAuthUser: d.BasicAuthUser,
			JSONData: settings, DecryptedSecureJSONData: maps.Clone(d.SecureJSONData), Updated: d.updated,
		},
	}, nil
}

func (d datasource) jsonData() (json.RawMessage, error) {
	if d.JSONData == nil {
		return json.RawMessage("{}"), nil
	}
	raw, err := json.Marshal(d.JSONData)
	if err != nil {
		return nil, fmt.Errorf("encode jsonData of data source %s: %w", d.UID, err)
	}
	return raw, nil
}

// secureFields says which secrets are set, never what they are.
func (d datasource) secureFields() map[string]bool {
	fields := make(map[string]bool, len(d.SecureJSONData))
	for key := range d.SecureJSONData {
		fields[key] = true
	}
	return fields
}
