package plugin

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/backend/resource/httpadapter"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
)

var _ backend.CallResourceHandler = (*Datasource)(nil)

// resourceTimeout bounds every resource: an editor or a variable waits for it.
const resourceTimeout = 20 * time.Second

// CallResource serves what editors and variables need, as JSON. Everything is a GET and reads only.
func (d *Datasource) CallResource(ctx context.Context, req *backend.CallResourceRequest, sender backend.CallResourceResponseSender) error {
	ctx, cancel := context.WithTimeout(withTenant(ctx, req.GetHTTPHeaders()), resourceTimeout)
	defer cancel()
	return d.resources.CallResource(ctx, req, sender)
}

func (d *Datasource) newResources() backend.CallResourceHandler {
	mux := http.NewServeMux()
	for path, handler := range map[string]func(*http.Request) (any, error){
		"metrics":   d.serveMetrics,
		"variables": d.serveVariables,
		"agents":    d.serveAgents,
		"coverage":  d.serveCoverage,
		"rules":     d.serveRules,

		"agents/page": d.serveAgentsPage,
	} {
		mux.HandleFunc("/"+path, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				w.Header().Set("Allow", http.MethodGet)
				d.respond(w, r, http.StatusMethodNotAllowed, errorBody{"only GET is accepted"})
				return
			}
			answer, err := handler(r)
			if err != nil {
				response := d.failure(r.Context(), err)
				d.respond(w, r, int(response.Status), errorBody{response.Error.Error()})
				return
			}
			d.respond(w, r, http.StatusOK, answer)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		d.respond(w, r, http.StatusNotFound, errorBody{"there is no such resource: metrics, variables, agents, coverage and rules are served"})
	})
	return httpadapter.New(mux)
}

type errorBody struct {
	Error string `json:"error"`
}

// respond encodes before it writes, so that an answer is never half an error.
func (d *Datasource) respond(w http.ResponseWriter, r *http.Request, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		d.logger.FromContext(r.Context()).Error("Encode a resource", "path", r.URL.Path, "error", err)
		status, raw = http.StatusInternalServerError, []byte(`{"error":"the answer could not be encoded"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if _, err := w.Write(raw); err != nil {
		d.logger.FromContext(r.Context()).Debug("Send a resource", "path", r.URL.Path, "error", err)
	}
}

type metricInfo struct {
	Name         string   `json:"name"`
	Unit         gpu.Unit `json:"unit"`
	Kind         string   `json:"kind"`
	Family       string   `json:"family"`
	Help         string   `json:"help"`
	Caveat       string   `json:"caveat"`
	NvidiaSMI    string   `json:"nvidiaSmi"`
	Aggregations []string `json:"aggregations"`
	Subject      string   `json:"subject"` // what it is of: "device" or "workload"
}

// serveMetrics is the catalogue, for the query editor. It needs no settings.
func (d *Datasource) serveMetrics(*http.Request) (any, error) {
	infos := []metricInfo{}
	for _, m := range d.catalog.Metrics() {
		subject := "device"
		if m.Subject != catalog.SubjectDevice {
			subject = string(m.Subject)
		}
		infos = append(infos, metricInfo{
			Name: m.Name, Unit: m.Unit, Kind: string(m.Kind), Family: m.Family, Help: m.Help, Caveat: m.Caveat,
			NvidiaSMI: m.NvidiaSMI, Aggregations: m.Aggregations, Subject: subject,
		})
	}
	return infos, nil
}

type noticeInfo struct {
	Severity string `json:"severity"`
	Text     string `json:"text"`
}

type variablesAnswer struct {
	Values  []variable   `json:"values"`
	Notices []noticeInfo `json:"notices"`
}

// serveVariables lists the choices of a kind within what parent variables have chosen, and within a time range.
func (d *Datasource) serveVariables(r *http.Request) (any, error) {
	asked, err := readVariableQuery(r.URL.Query(), d.now())
	if err != nil {
		return nil, badInput(err)
	}
	members, notices, err := d.members(r.Context(), asked)
	if err != nil {
		return nil, err
	}
	values, more := variableValues(members, asked.kind, asked.scope, asked.search)
	return variablesAnswer{Values: values, Notices: d.noticeInfos(slices.Concat(notices, more))}, nil
}

// chosen leaves out what Grafana sends for "All", which restricts nothing.
func chosen(values []string) []string {
	for _, v := range values {
		if v == "$__all" || v == ".*" {
			return nil
		}
	}
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
}

func (d *Datasource) noticeInfos(notices []gpu.Notice) []noticeInfo {
	infos := []noticeInfo{}
	for _, n := range d.shown(notices) {
		severity := "info"
		switch n.Severity {
		case gpu.Warning:
			severity = "warning"
		case gpu.Error:
			severity = "error"
		}
		infos = append(infos, noticeInfo{severity, n.Text})
	}
	return infos
}

// devices are those of history and of the agents, each once. Where history knows none, agents are asked.
func (d *Datasource) devices(ctx context.Context) ([]gpu.Device, []gpu.Notice, error) {
	if d.broken != nil {
		return nil, nil, d.unusable()
	}
	devices, notices := d.history.Devices(ctx)
	known := make(map[board]bool, len(devices))
	for _, device := range devices {
		known[boardOf(device)] = true
	}
	if len(devices) == 0 {
		got := d.live.Window(ctx, live.Select{Since: d.now(), Wait: liveWait})
		notices = append(notices, got.Notices...)
	}
	for _, device := range d.live.Devices() {
		if !known[boardOf(device)] {
			known[boardOf(device)] = true
			devices = append(devices, device)
		}
	}
	return devices, notices, nil
}
