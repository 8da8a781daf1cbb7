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

	"github.com/warpwatch/warpwatch/dashboards/rules"
	"github.com/warpwatch/warpwatch/pkg/query"
)

var update = flag.Bool("update", false, "write the alert rules that Grafana is provisioned with from those of Prometheus")

const packHead = `# The alert rules of dashboards/rules for Grafana, on the same recording rules, which Prometheus must have.
# Written by ` + "`go test ./internal/repotest -run Grafana -update`" + ` from dashboards/rules/alerts*.rules.yaml. Do not edit. A $ is written twice
# because Grafana replaces variables of its environment in these files.
`

func TestGrafanaHasTheAlertsOfPrometheus(t *testing.T) {
	shipped, err := rules.Shipped()
	require.NoError(t, err)
	var want bytes.Buffer
	require.NoError(t, rules.Write(&want, shipped, rules.GrafanaAlerts, packHead))
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
		var file rules.GrafanaFile
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
func checkQueries(t *testing.T, r rules.GrafanaRule) {
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
