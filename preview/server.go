package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path"
	"strings"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/hashicorp/go-hclog"
)

// host ties the plugin's process, its data sources, Live and the HTTP endpoints together.
type host struct {
	opts        options
	url         string
	log         hclog.Logger
	app         manifest
	plugin      *backendPlugin
	panels      map[string]manifest // by id
	datasources []datasource
	live        *live
}

// newHost reads all that is configured and starts nothing.
func newHost(opts options, url string, log hclog.Logger) (*host, error) {
	app, err := readManifest(opts.dist)
	if err != nil {
		return nil, err
	}
	source, err := readManifest(path.Join(opts.dist, "datasource"))
	if err != nil {
		return nil, err
	}
	datasources, err := readDatasources(opts.datasources, source.ID)
	if err != nil {
		return nil, err
	}
	if _, err := readDashboards(opts.dashboards); err != nil {
		return nil, err
	}
	panels, err := readPanels(opts.dist)
	if err != nil {
		return nil, err
	}
	h := &host{opts: opts, url: url, log: log, app: app, panels: panels, plugin: newBackendPlugin(source, log), datasources: datasources}
	h.live, err = newLive(h.plugin, h.pluginContext, log.Named("live"), defaultStreamTimes)
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (h *host) start(ctx context.Context) error {
	if err := h.plugin.start(ctx); err != nil {
		return err
	}
	if err := h.live.start(ctx); err != nil {
		h.plugin.stop()
		return err
	}
	return nil
}

func (h *host) stop() {
	h.live.stop()
	h.plugin.stop()
}

// datasource finds a data source by its uid; an empty uid means the first.
func (h *host) datasource(uid string) (datasource, error) {
	for _, d := range h.datasources {
		if uid == "" || d.UID == uid {
			return d, nil
		}
	}
	return datasource{}, fmt.Errorf("no data source with the uid %q is provisioned", uid)
}

func (h *host) pluginContext(uid string) (backend.PluginContext, error) {
	d, err := h.datasource(uid)
	if err != nil {
		return backend.PluginContext{}, err
	}
	return d.pluginContext(h.plugin.manifest, h.url)
}

// handler is the whole HTTP interface. Nothing in it changes anything, and no other origin may use it.
func (h *host) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/ds/query", h.handleQuery)
	mux.HandleFunc("GET /api/datasources", h.handleDatasources)
	mux.HandleFunc("GET /api/datasources/uid/{uid}", h.handleDatasource)
	mux.HandleFunc("GET /api/datasources/uid/{uid}/health", h.handleHealth)
	mux.HandleFunc("GET /api/datasources/uid/{uid}/resources/{path...}", h.handleResource)
	mux.HandleFunc("GET /api/frontend/settings", h.handleFrontendSettings)
	mux.HandleFunc("GET /api/search", h.handleSearch)
	mux.HandleFunc("GET /api/dashboards/uid/{uid}", h.handleDashboard)
	mux.HandleFunc("GET /api/health", h.handleOwnHealth)
	mux.Handle("GET /api/live/ws", h.live.handler())
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, http.StatusNotFound, errorBody{fmt.Sprintf("%s %s is not among the endpoints of Grafana that the preview serves", r.Method, r.URL.Path)})
	})
	mux.Handle("GET /public/plugins/"+h.app.ID+"/", http.StripPrefix("/public/plugins/"+h.app.ID, pluginFiles(h.opts.dist)))
	mux.Handle("GET /public/plugins/"+h.plugin.manifest.ID+"/", http.StripPrefix("/public/plugins/"+h.plugin.manifest.ID, pluginFiles(h.plugin.manifest.dir)))
	for id, panel := range h.panels {
		mux.Handle("GET /public/plugins/"+id+"/", http.StripPrefix("/public/plugins/"+id, pluginFiles(panel.dir)))
	}
	mux.Handle("GET /public/", http.StripPrefix("/public", http.FileServerFS(os.DirFS(h.opts.page))))
	mux.HandleFunc("/", h.handlePage)

	sameOrigin := http.NewCrossOriginProtection()
	return guardHost(sameOrigin.Handler(mux))
}

// guardHost refuses requests whose Host is not this machine's: a page of another site could otherwise reach the preview by a
// name of its own that it lets point to 127.0.0.1 (DNS rebinding).
func guardHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			name = r.Host
		}
		if !isLoopbackHost(name) {
			writeJSON(w, http.StatusForbidden, errorBody{fmt.Sprintf("host %q is not this machine; open the preview as http://127.0.0.1 or http://localhost", r.Host)})
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("X-Frame-Options", "DENY")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-cache")
		next.ServeHTTP(w, r)
	})
}

// pluginFiles serves a plugin's folder without its executables, as Grafana does.
func pluginFiles(dir string) http.Handler {
	files := http.FileServerFS(os.DirFS(dir))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(path.Base(r.URL.Path), "gpx_") || strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		files.ServeHTTP(w, r)
	})
}

// handlePage serves the page for every address of its own; it finds its way by the address in the browser.
func (h *host) handlePage(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "the page can only be read", http.StatusMethodNotAllowed)
		return
	}
	html, err := os.ReadFile(path.Join(h.opts.page, "index.html"))
	if err != nil {
		h.log.Error("the page is not built", "error", err)
		http.Error(w, "The preview's page is not built: run `npm run build:preview`.", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if _, err := w.Write(html); err != nil {
		h.log.Debug("a browser left before it had the page", "error", err)
	}
}

// handleOwnHealth answers Grafana's GET /api/health; it is 503 while the plugin's process is down.
func (h *host) handleOwnHealth(w http.ResponseWriter, _ *http.Request) {
	status := http.StatusOK
	body := map[string]string{"database": "ok", "version": grafanaVersion, "preview": "ok"}
	if _, err := h.plugin.get(); err != nil {
		status, body["preview"] = http.StatusServiceUnavailable, err.Error()
	}
	writeJSON(w, status, body)
}

func (h *host) writePluginError(w http.ResponseWriter, err error) {
	h.log.Error("the plugin did not answer", "error", err)
	status := http.StatusInternalServerError
	if errors.Is(err, errPluginDown) {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, errorBody{err.Error()})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		http.Error(w, fmt.Sprintf(`{"message":"encode the answer: %s"}`, err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(raw) // the browser is gone: there is no one left to tell
}
