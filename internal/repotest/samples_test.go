package repotest

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/warpwatch/warpwatch/dashboards/rules"
	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// samples are the folders of a Prometheus and of the data source that reads it.
func samples(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "provisioning", "samples", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	names := make([]string, len(found))
	for i, path := range found {
		names[i] = "provisioning/samples/" + filepath.Base(path)
	}
	return names
}

type dataSources struct {
	APIVersion  int `yaml:"apiVersion"`
	Datasources []struct {
		Name           string            `yaml:"name"`
		UID            string            `yaml:"uid"`
		Type           string            `yaml:"type"`
		Access         string            `yaml:"access"`
		IsDefault      bool              `yaml:"isDefault"`
		Editable       bool              `yaml:"editable"`
		JSONData       map[string]any    `yaml:"jsonData"`
		SecureJSONData map[string]string `yaml:"secureJsonData"`
	} `yaml:"datasources"`
}

// strictly reads YAML without keys that nobody reads.
func strictly(t *testing.T, name string, into any) {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader(read(t, name)))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(into), name)
}

func TestTheDataSourceTakesItsProvisioning(t *testing.T) {
	files := []string{"provisioning/datasources/gpu.yaml"}
	for _, folder := range samples(t) {
		files = append(files, folder+"/datasource.yaml")
	}
	for _, name := range files {
		var file dataSources
		strictly(t, name, &file)
		assert.Equal(t, 1, file.APIVersion, name)
		assert.NotEmpty(t, file.Datasources, name)
		uids := map[string]bool{}
		for _, d := range file.Datasources {
			assert.Equal(t, "warpwatch-gpu-datasource", d.Type, name)
			assert.Equal(t, "proxy", d.Access, name)
			assert.False(t, uids[d.UID], "%s: the uid %s is there twice", name, d.UID)
			uids[d.UID] = true
			text := string(jsonOf(t, d.JSONData))
			for _, variable := range []string{"$WARPWATCH_PROMETHEUS_NORTH", "$WARPWATCH_PROMETHEUS_SOUTH"} {
				text = strings.ReplaceAll(text, variable, "http://prometheus:9090")
			}
			s, err := settings.Parse([]byte(text), d.SecureJSONData)
			require.NoError(t, err, "%s: %s", name, d.Name)
			assert.Empty(t, s.Unknown, "%s: %s: keys that mean nothing", name, d.Name)
			assert.Positive(t, s.EndpointCount(), name)
		}
	}
}

// scrapes is what the tests look at of a configuration that promtool checks as a whole.
type scrapes struct {
	Global struct {
		External map[string]string `yaml:"external_labels"`
	} `yaml:"global"`
	Scrapes []struct {
		Job    string              `yaml:"job_name"`
		Honor  bool                `yaml:"honor_labels"`
		Params map[string][]string `yaml:"params"`
	} `yaml:"scrape_configs"`
	Write []struct {
		Relabel []struct {
			Source []string `yaml:"source_labels"`
			Regex  string   `yaml:"regex"`
			Action string   `yaml:"action"`
		} `yaml:"write_relabel_configs"`
	} `yaml:"remote_write"`
}

func scrapesOf(t *testing.T, name string) scrapes {
	t.Helper()
	var s scrapes
	require.NoError(t, yaml.Unmarshal(read(t, name), &s), name)
	return s
}

// Without it Prometheus calls the workload's labels exported_pod and so on, and the exporter's pod stands where the workload's does
// elsewhere.
func TestSamplesKeepTheLabelsOfWorkloads(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "provisioning", "prometheus", "discovery", "*.yml"))
	require.NoError(t, err)
	require.Len(t, files, 4)
	names := []string{}
	for _, path := range files {
		names = append(names, "provisioning/prometheus/discovery/"+filepath.Base(path))
	}
	for _, folder := range samples(t) {
		names = append(names, folder+"/prometheus.yml")
	}
	for _, name := range names {
		s := scrapesOf(t, name)
		require.NotEmpty(t, s.Scrapes, name)
		for _, job := range s.Scrapes {
			assert.Equal(t, job.Job != "workloads", job.Honor, "%s: honor_labels of %s", name, job.Job)
		}
		if !strings.Contains(name, "federation") {
			assert.NotEmpty(t, s.Global.External["cluster"], "%s: clusters are told apart by it", name)
		}
	}
}

// writtenNames are all names that exporters and the shipped rules write, and those that Prometheus makes itself.
func writtenNames(t *testing.T) map[string]bool {
	t.Helper()
	c, err := catalog.Load()
	require.NoError(t, err)
	names := map[string]bool{"ALERTS": true, "up": true, "warpwatch_agent_info": true, "gpu_owner_info": true}
	for _, m := range c.Metrics() {
		for _, s := range m.Sources {
			names[s.Series] = true
		}
	}
	for _, info := range c.Info() {
		names[info.Series] = true
	}
	shipped, err := rules.Shipped()
	require.NoError(t, err)
	for _, g := range shipped {
		for _, r := range g.Rules {
			names[r.Record] = true
		}
	}
	return names
}

// checkNames looks whether each alternative of a regular expression is, or fits, the name of something.
func checkNames(t *testing.T, regex, where string, known map[string]bool) {
	t.Helper()
	for _, part := range alternativesOf(regex) {
		pattern, err := regexp.Compile("^(?:" + part + ")$")
		require.NoError(t, err, where)
		fits := known[part]
		for name := range known {
			fits = fits || pattern.MatchString(name)
		}
		assert.True(t, fits, "%s: nothing writes %s", where, part)
	}
}

// alternativesOf splits a regular expression at the bars that are in no parentheses.
func alternativesOf(regex string) (parts []string) {
	depth, from := 0, 0
	for i, c := range regex {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case '|':
			if depth == 0 {
				parts = append(parts, regex[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, regex[from:])
}

func TestSamplesNameWhatIsWritten(t *testing.T) {
	known := writtenNames(t)
	kept, matched := 0, 0
	for _, folder := range samples(t) {
		name := folder + "/prometheus.yml"
		s := scrapesOf(t, name)
		for _, w := range s.Write {
			for _, r := range w.Relabel {
				assert.Equal(t, []string{"__name__"}, r.Source, name)
				assert.Equal(t, "keep", r.Action, name)
				checkNames(t, r.Regex, name, known)
				kept++
			}
		}
		for _, job := range s.Scrapes {
			for _, match := range job.Params["match[]"] {
				matchers, err := parser.NewParser(parser.Options{}).ParseMetricSelector(match)
				require.NoError(t, err, name)
				for _, m := range matchers {
					if m.Name == model.MetricNameLabel {
						checkNames(t, m.Value, name, known)
						matched++
					}
				}
			}
		}
	}
	assert.Equal(t, 1, kept, "lists of names to keep")
	assert.Equal(t, 3, matched, "selectors of federation")
}

// What the planner reads over long ranges must be among what is sent on.
func TestSamplesSendOnWhatIsRecorded(t *testing.T) {
	var keep *regexp.Regexp
	for _, w := range scrapesOf(t, "provisioning/samples/remote-write/prometheus.yml").Write {
		keep = regexp.MustCompile("^(?:" + w.Relabel[0].Regex + ")$")
	}
	require.NotNil(t, keep)
	federated := regexp.MustCompile(`^gpu:.+_by_(node|cluster|job)$`)
	assert.Contains(t, string(read(t, "provisioning/samples/federation/prometheus.yml")), strings.Trim(federated.String(), "^$"))
	shipped, err := rules.Shipped()
	require.NoError(t, err)
	rollups := 0
	for _, g := range shipped {
		for _, r := range g.Rules {
			if r.Record == "" {
				continue
			}
			assert.True(t, keep.MatchString(r.Record), "the long store is not sent %s", r.Record)
			if federated.MatchString(r.Record) {
				rollups++
			}
		}
	}
	assert.Greater(t, rollups, 100)
}
