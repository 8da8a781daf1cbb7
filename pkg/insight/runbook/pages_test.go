package runbook

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

var update = flag.Bool("update", false, "write the runbooks that the app's pages show")

// mostXID is above every code of NVIDIA's catalogue.
const mostXID = 1024

type page struct {
	ID         string   `json:"id"`
	Title      string   `json:"title"`
	Alerts     []string `json:"alerts"`
	XIDs       []xid    `json:"xids"`
	Meaning    string   `json:"meaning"`
	Blast      string   `json:"blast"`
	Commands   []string `json:"commands"`
	Decision   string   `json:"decision"`
	Action     string   `json:"action"`
	Escalation string   `json:"escalation"`
	Recovery   string   `json:"recovery"`
	Links      []string `json:"links"`
}

type xid struct {
	Code uint64 `json:"code"`
	Text string `json:"text"`
}

// The app shows runbooks also while no data source answers, so it carries them itself.
func TestTheAppHasTheseRunbooks(t *testing.T) {
	codes := map[string][]xid{}
	for code := range uint64(mostXID) {
		if _, known := gpu.LookupXID(code); known {
			codes[ForXID(code)] = append(codes[ForXID(code)], xid{code, gpu.XIDText(code)})
		}
	}
	var pages []page
	for _, r := range All() {
		p := page{
			ID: r.ID, Title: r.Title, Alerts: r.Alerts, XIDs: codes[r.ID], Meaning: r.Meaning, Blast: r.Blast, Commands: r.Commands,
			Decision: r.Decision, Action: r.Action, Escalation: r.Escalation, Recovery: r.Recovery, Links: r.Links,
		}
		if p.Alerts == nil {
			p.Alerts = []string{}
		}
		if p.XIDs == nil {
			p.XIDs = []xid{}
		}
		if p.Links == nil {
			p.Links = []string{}
		}
		pages = append(pages, p)
	}
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")

	require.NoError(t, encoder.Encode(pages))
	path := filepath.Join("..", "..", "..", "src", "pages", "runbooks", "runbooks.json")
	if *update {
		require.NoError(t, os.WriteFile(path, want.Bytes(), 0o600))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.JSONEq(t, want.String(), string(got), "run `go test ./pkg/insight/runbook -update`")
}
