package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/genproto/pluginv2"
)

// handleResource passes GET /api/datasources/uid/{uid}/resources/{path...} on to the plugin and its answer back. The first
// message of the plugin's stream carries status and headers, every one a piece of the body.
func (h *host) handleResource(w http.ResponseWriter, r *http.Request) {
	pluginContext, err := h.pluginContext(r.PathValue("uid"))
	if err != nil {
		writeJSON(w, http.StatusNotFound, errorBody{err.Error()})
		return
	}
	services, err := h.plugin.get()
	if err != nil {
		h.writePluginError(w, err)
		return
	}
	path := r.PathValue("path")
	url := path
	if r.URL.RawQuery != "" {
		url += "?" + r.URL.RawQuery
	}
	stream, err := services.resource.CallResource(r.Context(), &pluginv2.CallResourceRequest{
		PluginContext: backend.ToProto().PluginContext(pluginContext),
		Path:          path,
		Method:        r.Method,
		Url:           url,
		Headers:       resourceHeaders(r.Header),
	})
	if err != nil {
		h.writePluginError(w, fmt.Errorf("call the resource %s: %w", path, err))
		return
	}
	first := true
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			if first {
				h.writePluginError(w, fmt.Errorf("call the resource %s: %w", path, err))
			} else {
				h.log.Warn("a resource's answer broke off", "path", path, "error", err)
			}
			return
		}
		if first {
			first = false
			for _, name := range slices.Sorted(maps.Keys(part.GetHeaders())) {
				w.Header()[http.CanonicalHeaderKey(name)] = part.GetHeaders()[name].GetValues()
			}
			w.Header().Del("Set-Cookie")
			w.WriteHeader(int(part.GetCode()))
		}
		if _, err := w.Write(part.GetBody()); err != nil {
			h.log.Debug("a browser left before it had the whole resource", "path", path, "error", err)
			return
		}
	}
}

func resourceHeaders(header http.Header) map[string]*pluginv2.StringList {
	headers := map[string]*pluginv2.StringList{}
	for _, name := range []string{"Accept", "Accept-Language", "X-Datasource-Uid", "X-Plugin-Id"} {
		if values := header.Values(name); len(values) > 0 {
			headers[name] = &pluginv2.StringList{Values: values}
		}
	}
	return headers
}

// health is Grafana's answer to GET /api/datasources/uid/{uid}/health.
type health struct {
	Status  string          `json:"status"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details,omitempty"`
}

// handleHealth answers 200 when the data source works, 400 when its check found something wrong.
func (h *host) handleHealth(w http.ResponseWriter, r *http.Request) {
	pluginContext, err := h.pluginContext(r.PathValue("uid"))
	if err != nil {
		writeJSON(w, http.StatusNotFound, errorBody{err.Error()})
		return
	}
	services, err := h.plugin.get()
	if err != nil {
		h.writePluginError(w, err)
		return
	}
	result, err := services.diagnostics.CheckHealth(r.Context(), &pluginv2.CheckHealthRequest{
		PluginContext: backend.ToProto().PluginContext(pluginContext),
	})
	if err != nil {
		h.writePluginError(w, fmt.Errorf("check the data source's health: %w", err))
		return
	}
	status := http.StatusOK
	if result.GetStatus() != pluginv2.CheckHealthResponse_OK {
		status = http.StatusBadRequest
	}
	writeJSON(w, status, health{Status: result.GetStatus().String(), Message: result.GetMessage(), Details: result.GetJsonDetails()})
}
