package main

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// instanceSettings is a data source as Grafana's browser code knows it. It carries no secret, only which ones are set.
type instanceSettings struct {
	ID               int64           `json:"id"`
	UID              string          `json:"uid"`
	OrgID            int64           `json:"orgId"`
	Type             string          `json:"type"`
	Name             string          `json:"name"`
	URL              string          `json:"url"`
	User             string          `json:"user"`
	Access           string          `json:"access"`
	IsDefault        bool            `json:"isDefault"`
	ReadOnly         bool            `json:"readOnly"`
	JSONData         json.RawMessage `json:"jsonData"`
	SecureJSONFields map[string]bool `json:"secureJsonFields"`
	Meta             json.RawMessage `json:"meta"`
}

func (h *host) instanceSettings(d datasource) (instanceSettings, error) {
	jsonData, err := d.jsonData()
	if err != nil {
		return instanceSettings{}, err
	}
	meta, err := pluginMeta(h.plugin.manifest)
	if err != nil {
		return instanceSettings{}, err
	}
	return instanceSettings{
		ID: d.id, UID: d.UID, OrgID: 1, Type: d.Type, Name: d.Name, URL: d.URL, User: d.User, Access: "proxy",
		IsDefault: d.IsDefault, ReadOnly: true, JSONData: jsonData, SecureJSONFields: d.secureFields(), Meta: meta,
	}, nil
}

// pluginMeta is a plugin.json with the fields that Grafana adds for the browser.
func pluginMeta(m manifest) (json.RawMessage, error) {
	meta := map[string]any{}
	if err := json.Unmarshal(m.raw, &meta); err != nil {
		return nil, fmt.Errorf("read plugin.json of %s: %w", m.ID, err)
	}
	base := "public/plugins/" + m.ID
	meta["module"] = base + "/module.js"
	meta["baseUrl"] = base
	meta["signature"] = "unsigned"
	raw, err := json.Marshal(meta)
	if err != nil {
		return nil, fmt.Errorf("encode plugin.json of %s: %w", m.ID, err)
	}
	return raw, nil
}

// handleDatasources answers GET /api/datasources.
func (h *host) handleDatasources(w http.ResponseWriter, _ *http.Request) {
	list := make([]instanceSettings, 0, len(h.datasources))
	for _, d := range h.datasources {
		settings, err := h.instanceSettings(d)
		if err != nil {
			writeJSON(w, http.StatusInternalServerError, errorBody{err.Error()})
			return
		}
		list = append(list, settings)
	}
	writeJSON(w, http.StatusOK, list)
}

// handleDatasource answers GET /api/datasources/uid/{uid}.
func (h *host) handleDatasource(w http.ResponseWriter, r *http.Request) {
	d, err := h.datasource(r.PathValue("uid"))
	if err != nil {
		writeJSON(w, http.StatusNotFound, errorBody{err.Error()})
		return
	}
	settings, err := h.instanceSettings(d)
	if err != nil {
		writeJSON(w, http.StatusInternalServerError, errorBody{err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, settings)
}

// handleFrontendSettings answers GET /api/frontend/settings with what @grafana/runtime's config takes from it.
func (h *host) handleFrontendSettings(w http.ResponseWriter, _ *http.Request) {
	byName := map[string]instanceSettings{}
	defaultName := h.datasources[0].Name
	for _, d := range h.datasources {
		settings, err := h.instanceSettings(d)
		if err != nil {
			writeJSON(w, http.StatusInternalServerError, errorBody{err.Error()})
			return
		}
		byName[d.Name] = settings
		if d.IsDefault {
			defaultName = d.Name
		}
	}
	panels := map[string]json.RawMessage{}
	for id, panel := range h.panels {
		meta, err := pluginMeta(panel)
		if err != nil {
			writeJSON(w, http.StatusInternalServerError, errorBody{err.Error()})
			return
		}
		panels[id] = meta
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"panels":            panels,
		"appUrl":            h.url + "/",
		"appSubUrl":         "",
		"buildInfo":         map[string]any{"version": grafanaVersion, "edition": "Open Source", "env": "production", "versionString": "Warpwatch preview"},
		"datasources":       byName,
		"defaultDatasource": defaultName,
		"featureToggles":    map[string]bool{},
		"liveEnabled":       true,
		"apps":              map[string]any{h.app.ID: map[string]any{"id": h.app.ID, "version": h.app.Info.Version, "path": "public/plugins/" + h.app.ID + "/module.js"}},
	})
}
