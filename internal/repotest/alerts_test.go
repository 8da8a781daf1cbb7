package repotest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/dashboards/rules"
	"github.com/warpwatch/warpwatch/pkg/insight/runbook"
)

const runbookPages = "/a/warpwatch-gpu-app/runbooks/"

// alertRules are those of Prometheus.
func alertRules(t *testing.T) []rules.Rule {
	t.Helper()
	shipped, err := rules.Shipped()
	require.NoError(t, err)
	var found []rules.Rule
	for _, group := range shipped {
		for _, r := range group.Rules {
			if r.Alert != "" {
				found = append(found, r)
			}
		}
	}
	require.NotEmpty(t, found)
	return found
}

// checkAlert is what alerts of Prometheus and of Grafana have in common.
func checkAlert(t *testing.T, name string, labels, annotations map[string]string) {
	t.Helper()
	assert.Contains(t, []string{"critical", "warning", "info"}, labels["severity"], name)
	assert.Contains(t, []string{"health", "efficiency"}, labels["axis"], name)
	assert.False(t, labels["axis"] == "efficiency" && labels["severity"] == "critical", "%s: efficiency pages nobody", name)
	assert.NotEmpty(t, annotations["summary"], name)
	assert.NotEmpty(t, annotations["description"], name)
	id, local := strings.CutPrefix(annotations["runbook_url"], runbookPages)
	assert.True(t, local, "%s: runbook_url %q", name, annotations["runbook_url"])
	_, exists := runbook.Lookup(id)
	assert.True(t, exists, "%s: there is no runbook %q", name, id)
}

func TestAlertsLinkToTheirRunbooks(t *testing.T) {
	named := map[string]bool{}
	for _, r := range alertRules(t) {
		named[r.Alert] = true
		checkAlert(t, r.Alert, r.Labels, r.Annotations)
		assert.Equal(t, runbook.ForAlert(r.Alert), strings.TrimPrefix(r.Annotations["runbook_url"], runbookPages), r.Alert)
	}
	for _, r := range runbook.All() {
		for _, alert := range r.Alerts {
			assert.True(t, named[alert], "the runbook %s is for %s, which no rule is", r.ID, alert)
		}
	}
}

func TestEveryAlertIsTested(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "dashboards", "rules", "alerts*.test.yaml"))
	require.NoError(t, err)
	var tests strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		tests.Write(text)
	}
	for _, r := range alertRules(t) {
		assert.Contains(t, tests.String(), r.Alert, "no test of %s", r.Alert)
	}
	guide := string(read(t, "docs/user/alerting.md"))
	for _, r := range alertRules(t) {
		assert.Contains(t, guide, "`"+r.Alert+"`", "docs/user/alerting.md does not say what %s means", r.Alert)
	}
}

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return text
}
