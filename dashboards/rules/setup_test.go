package rules

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what the app's page Setup knows of the rules")

// setupGroup is a group of recording rules as the page Setup names it.
type setupGroup struct {
	Name    string   `json:"name"`
	Records []string `json:"records"`
}

// The page Setup offers the rules also while no data source answers, so it carries them itself: what they record in one file, and
// their texts in another that is only loaded by who takes them.
func TestThePageSetupHasTheseRules(t *testing.T) {
	groups := of(t, Any)
	recorded := []setupGroup{}
	for _, g := range Of(groups, Recording) {
		one := setupGroup{Name: g.Name}
		seen := map[string]bool{}
		for _, r := range g.Rules {
			if !seen[r.Record] {
				seen[r.Record] = true
				one.Records = append(one.Records, r.Record)
			}
		}
		recorded = append(recorded, one)
	}
	texts := map[Kind]map[Format]string{}
	for _, kind := range []Kind{Recording, Alerts, Efficiency} {
		texts[kind] = map[Format]string{}
		for _, format := range Formats() {
			if kind == Recording && format == GrafanaAlerts {
				continue // what is recorded is for Prometheus
			}
			var text bytes.Buffer
			head := "# Rules of Warpwatch. docs/user/alerting.md says what each alert means.\n"
			require.NoError(t, Write(&text, Of(groups, kind), format, head))
			texts[kind][format] = text.String()
		}
	}
	requireWritten(t, "recorded.json", recorded)
	requireWritten(t, "ruleTexts.json", texts)
}

func requireWritten(t *testing.T, name string, content any) {
	t.Helper()
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(content))
	path := filepath.Join("..", "..", "src", "pages", "setup", name)
	if *update {
		require.NoError(t, os.WriteFile(path, want.Bytes(), 0o600))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.JSONEq(t, want.String(), string(got), "run `go test ./dashboards/rules -update`")
}
