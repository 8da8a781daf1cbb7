package repotest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/warpwatch/warpwatch/pkg/query"
)

var update = flag.Bool("update", false, "write the alert rules that Grafana is provisioned with from those of Prometheus")

type grafanaAlerts struct {
	APIVersion int            `yaml:"apiVersion"`
	Groups     []grafanaGroup `yaml:"groups"`
}

type grafanaGroup struct {
	Org      int           `yaml:"orgId"`
	Name     string        `yaml:"name"`
	Folder   string        `yaml:"folder"`
	Interval string        `yaml:"interval"`
	Rules    []grafanaRule `yaml:"rules"`
}

type grafanaRule struct {
	UID          string            `yaml:"uid"`
	Title        string            `yaml:"title"`
	Condition    string            `yaml:"condition"`
	Data         []grafanaQuery    `yaml:"data"`
	NoDataState  string            `yaml:"noDataState"`
	ExecErrState string            `yaml:"execErrState"`
	For          string            `yaml:"for"`
	Annotations  map[string]string `yaml:"annotations"`
	Labels       map[string]string `yaml:"labels"`
}

type grafanaQuery struct {
	Ref        string         `yaml:"refId"`
	Datasource string         `yaml:"datasourceUid"`
	Range      map[string]int `yaml:"relativeTimeRange"`
	Model      map[string]any `yaml:"model"`
}

const packHead = `# The alert rules of dashboards/rules for Grafana, on the same recording rules, which Prometheus must have.
# Written by ` + "`go test ./internal/repotest -run Grafana -update`" + ` from dashboards/rules/alerts*.rules.yaml. Do not edit. A $ is written twice
# because Grafana replaces variables of its environment in these files.
`

// pack are Prometheus' rules as Grafana's: an alert for each series that the expression leaves, whatever its value.
func pack(rules []alertRule) grafanaAlerts {
	out := grafanaAlerts{APIVersion: 1}
	seen := map[string]bool{}
	for _, r := range rules {
		if len(out.Groups) == 0 || out.Groups[len(out.Groups)-1].Name != r.group {
			folder := "GPU health"
			if r.Labels["axis"] == "efficiency" {
				folder = "GPU efficiency"
			}
			out.Groups = append(out.Groups, grafanaGroup{Org: 1, Name: r.group, Folder: folder, Interval: "1m"})
		}
		uid, title := "warpwatch-"+strings.ToLower(r.Alert), r.Alert
		if seen[uid] {
			uid, title = uid+"-"+r.Labels["severity"], title+" ("+r.Labels["severity"]+")"
		}
		seen[uid] = true
		annotations := map[string]string{}
		for name, text := range r.Annotations {
			annotations[name] = strings.ReplaceAll(strings.ReplaceAll(text, "$value", "$values.B.Value"), "$", "$$")
		}
		group := &out.Groups[len(out.Groups)-1]
		group.Rules = append(group.Rules, grafanaRule{
			UID: uid, Title: title, Condition: "C", NoDataState: "OK", ExecErrState: "Error", For: r.For, Labels: r.Labels, Annotations: annotations,
			Data: []grafanaQuery{
				{Ref: "A", Datasource: "warpwatch", Range: map[string]int{"from": 300, "to": 0}, Model: map[string]any{
					"refId": "A", "queryType": query.TypePromQL, "expr": r.Expr, "instant": true,
				}},
				{Ref: "B", Datasource: "__expr__", Range: map[string]int{"from": 0, "to": 0}, Model: map[string]any{
					"refId": "B", "type": "reduce", "expression": "A", "reducer": "last", "settings": map[string]any{"mode": "dropNN"},
				}},
				threshold(-1000000000),
			},
		})
	}
	return out
}

func threshold(above int) grafanaQuery {
	return grafanaQuery{Ref: "C", Datasource: "__expr__", Range: map[string]int{"from": 0, "to": 0}, Model: map[string]any{
		"refId": "C", "type": "threshold", "expression": "B",
		"conditions": []any{map[string]any{"evaluator": map[string]any{"type": "gt", "params": []any{above}}}},
	}}
}

func TestGrafanaHasTheAlertsOfPrometheus(t *testing.T) {
	var want bytes.Buffer
	want.WriteString(packHead)
	encoder := yaml.NewEncoder(&want)
	encoder.SetIndent(2)
	require.NoError(t, encoder.Encode(pack(alertRules(t))))
	const name = "provisioning/alerting/rules.yaml"
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), want.Bytes(), 0o600))
	}
	assert.Equal(t, want.String(), string(read(t, name)), "run `go test ./internal/repotest -run Grafana -update`")
}

// Grafana refuses to start over a provisioning file that it does not understand.
func TestGrafanaTakesTheAlerts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "provisioning", "alerting", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	uids := map[string]bool{}
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		decoder.KnownFields(true)
		var file grafanaAlerts
		require.NoError(t, decoder.Decode(&file), path)
		assert.Equal(t, 1, file.APIVersion, path)
		for _, group := range file.Groups {
			assert.NotEmpty(t, group.Folder, group.Name)
			for _, r := range group.Rules {
				assert.LessOrEqual(t, len(r.UID), 40, "%s: Grafana takes 40 characters", r.UID)
				assert.False(t, uids[r.UID], "%s is there twice", r.UID)
				uids[r.UID] = true
				checkAlert(t, r.Title, r.Labels, r.Annotations)
				for _, text := range r.Annotations {
					assert.NotContains(t, strings.ReplaceAll(text, "$$", ""), "$", "%s: a single $ is a variable of the environment", r.UID)
				}
				checkQueries(t, r)
			}
		}
	}
}

// checkQueries looks whether the chain of a rule's queries holds: ours first, then a number, then the condition on it.
func checkQueries(t *testing.T, r grafanaRule) {
	t.Helper()
	if !assert.Len(t, r.Data, 3, r.UID) {
		return
	}
	ours := r.Data[0]
	assert.Equal(t, "warpwatch", ours.Datasource, r.UID)
	assert.Positive(t, ours.Range["from"], r.UID)
	text, err := yaml.Marshal(ours.Model)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "$", r.UID)
	_, err = query.Parse(jsonOf(t, ours.Model), "")
	require.NoError(t, err, r.UID)
	for i, kind := range []string{"reduce", "threshold"} {
		q := r.Data[i+1]
		assert.Equal(t, "__expr__", q.Datasource, r.UID)
		assert.Equal(t, kind, q.Model["type"], r.UID)
		assert.Equal(t, r.Data[i].Ref, q.Model["expression"], r.UID)
		assert.Equal(t, q.Ref, q.Model["refId"], r.UID)
	}
	assert.Equal(t, r.Data[2].Ref, r.Condition, r.UID)
}
