// Package check asks a running stack everything that the bundled dashboards ask, and judges the answers: none may be an
// error, in another unit than its metric's, or empty without a reason that the panel shows.
package check

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Dashboard is what a dashboard's JSON asks.
type Dashboard struct {
	Title  string
	Panels []Panel
}

// Panel is a panel that asks something.
type Panel struct {
	Title   string
	Empty   string           // what the panel says where there is nothing
	Targets []map[string]any // queries, with their variables removed
}

type rawPanel struct {
	Title   string           `json:"title"`
	Type    string           `json:"type"`
	Targets []map[string]any `json:"targets"`
	Panels  []rawPanel       `json:"panels"` // of a collapsed row

	FieldConfig struct {
		Defaults struct {
			NoValue string `json:"noValue"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
}

// ReadDashboards reads every JSON file of a folder.
func ReadDashboards(dir string) ([]Dashboard, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("find dashboards: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("find dashboards: there is none in %s", dir)
	}
	sort.Strings(files)
	all := make([]Dashboard, 0, len(files))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("read dashboard: %w", err)
		}
		d, err := parseDashboard(text)
		if err != nil {
			return nil, fmt.Errorf("read dashboard %s: %w", f, err)
		}
		all = append(all, d)
	}
	return all, nil
}

func parseDashboard(text []byte) (Dashboard, error) {
	var raw struct {
		Title  string     `json:"title"`
		Panels []rawPanel `json:"panels"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return Dashboard{}, err
	}
	d := Dashboard{Title: raw.Title}
	var add func([]rawPanel)
	add = func(panels []rawPanel) {
		for _, p := range panels {
			add(p.Panels)
			if len(p.Targets) == 0 {
				continue
			}
			panel := Panel{Title: p.Title, Empty: p.FieldConfig.Defaults.NoValue}
			for _, target := range p.Targets {
				panel.Targets = append(panel.Targets, withoutVariables(target))
			}
			d.Panels = append(d.Panels, panel)
		}
	}
	add(raw.Panels)
	return d, nil
}

// withoutVariables is the query as the browser sends it when every variable is set to All: a scope that names a
// variable is lifted. The backend's own macros ($__interval) stay.
func withoutVariables(target map[string]any) map[string]any {
	query := make(map[string]any, len(target))
	for key, value := range target {
		list, isList := value.([]any)
		if !isList {
			query[key] = value
			continue
		}
		kept := []any{}
		for _, entry := range list {
			if text, isText := entry.(string); isText && strings.Contains(text, "$") {
				kept = kept[:0]
				break
			}
			kept = append(kept, entry)
		}
		if key == "migs" && len(list) > 0 && len(kept) == 0 {
			kept = append(kept, "/.+/") // any instance, but no board
		}
		query[key] = kept
	}
	return query
}
