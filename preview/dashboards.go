package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// dashboard is one file of the dashboards' folder. The files are read on every request, so that an edit shows on reload.
type dashboard struct {
	UID   string   `json:"uid"`
	Title string   `json:"title"`
	Tags  []string `json:"tags"`

	raw json.RawMessage
}

// readDashboards reads every JSON file of a folder, sorted by title.
func readDashboards(dir string) ([]dashboard, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("list dashboards in %s: %w", dir, err)
	}
	all := make([]dashboard, 0, len(paths))
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read dashboard: %w", err)
		}
		d := dashboard{raw: raw}
		if err := json.Unmarshal(raw, &d); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if d.UID == "" {
			d.UID = strings.TrimSuffix(filepath.Base(path), ".json")
		}
		all = append(all, d)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Title < all[j].Title })
	return all, nil
}

// searchHit is an entry of Grafana's GET /api/search.
type searchHit struct {
	UID   string   `json:"uid"`
	Title string   `json:"title"`
	Type  string   `json:"type"`
	URL   string   `json:"url"`
	Tags  []string `json:"tags"`
}

func (h *host) handleSearch(w http.ResponseWriter, _ *http.Request) {
	all, err := readDashboards(h.opts.dashboards)
	if err != nil {
		writeJSON(w, http.StatusInternalServerError, errorBody{err.Error()})
		return
	}
	hits := make([]searchHit, 0, len(all))
	for _, d := range all {
		hits = append(hits, searchHit{UID: d.UID, Title: d.Title, Type: "dash-db", URL: "/d/" + d.UID, Tags: d.Tags})
	}
	writeJSON(w, http.StatusOK, hits)
}

// handleDashboard answers Grafana's GET /api/dashboards/uid/{uid}.
func (h *host) handleDashboard(w http.ResponseWriter, r *http.Request) {
	all, err := readDashboards(h.opts.dashboards)
	if err != nil {
		writeJSON(w, http.StatusInternalServerError, errorBody{err.Error()})
		return
	}
	uid := r.PathValue("uid")
	for _, d := range all {
		if d.UID == uid {
			writeJSON(w, http.StatusOK, map[string]any{
				"meta":      map[string]any{"canSave": false, "canEdit": false, "provisioned": true, "url": "/d/" + d.UID},
				"dashboard": d.raw,
			})
			return
		}
	}
	writeJSON(w, http.StatusNotFound, errorBody{fmt.Sprintf("no dashboard with the uid %q in %s", uid, h.opts.dashboards)})
}
