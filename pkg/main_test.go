package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/backend/grpcplugin"
	"github.com/grafana/grafana-plugin-sdk-go/config"
	"github.com/grafana/grafana-plugin-sdk-go/genproto/pluginv2"
	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// TestMain makes the test binary the plugin when it is started under the plugin's name, so that the tests speak the real
// protocol to a real process of this very code.
func TestMain(m *testing.M) {
	if strings.HasPrefix(filepath.Base(os.Args[0]), "gpx_") {
		os.Exit(run())
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/patrickmn/go-cache.(*janitor).Run"))
}

// grafana is the other end of the wire: what Grafana does with a backend plugin.
type grafana struct {
	data        pluginv2.DataClient
	resource    pluginv2.ResourceClient
	diagnostics pluginv2.DiagnosticsClient
	stream      pluginv2.StreamClient
}

func startPlugin(t *testing.T) grafana {
	t.Helper()
	return startPluginLogging(t, io.Discard)
}

// startPluginLogging is startPlugin with what the process writes to its log.
func startPluginLogging(t *testing.T, logged io.Writer) grafana {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "gpx_warpwatch")
	if err := os.Symlink(self, binary); err != nil {
		t.Fatal(err)
	}
	client := goplugin.NewClient(&goplugin.ClientConfig{
		Cmd: exec.Command(binary), Logger: hclog.NewNullLogger(), Stderr: logged, AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: grpcplugin.ProtocolVersion, MagicCookieKey: grpcplugin.MagicCookieKey, MagicCookieValue: grpcplugin.MagicCookieValue,
		},
		VersionedPlugins: map[int]goplugin.PluginSet{grpcplugin.ProtocolVersion: {
			"diagnostics": &grpcplugin.DiagnosticsGRPCPlugin{}, "resource": &grpcplugin.ResourceGRPCPlugin{},
			"data": &grpcplugin.DataGRPCPlugin{}, "stream": &grpcplugin.StreamGRPCPlugin{},
		}},
	})
	t.Cleanup(client.Kill)
	rpc, err := client.Client()
	if err != nil {
		t.Fatal(err)
	}
	return grafana{
		data: dispense[pluginv2.DataClient](t, rpc, "data"), resource: dispense[pluginv2.ResourceClient](t, rpc, "resource"),
		diagnostics: dispense[pluginv2.DiagnosticsClient](t, rpc, "diagnostics"), stream: dispense[pluginv2.StreamClient](t, rpc, "stream"),
	}
}

func dispense[T any](t *testing.T, rpc goplugin.ClientProtocol, name string) T {
	t.Helper()
	raw, err := rpc.Dispense(name)
	if err != nil {
		t.Fatal(err)
	}
	client, ok := raw.(T)
	if !ok {
		t.Fatalf("%s is a %T", name, raw)
	}
	return client
}

// prometheus holds gpu_power_watts of two GPUs and remembers what it was sent.
type prometheus struct {
	*httptest.Server
	mu     sync.Mutex
	tokens map[string]bool
}

func startPrometheus(t *testing.T) *prometheus {
	t.Helper()
	p := &prometheus{tokens: map[string]bool{}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *prometheus) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.tokens[r.Header.Get("Authorization")] = true
	p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Header.Get("If-None-Match") != "" {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if encoding := r.Header.Get("Accept-Encoding"); strings.Contains(encoding, "gzip") {
		packed := gzip.NewWriter(w)
		defer func() { _ = packed.Close() }() // the connection is gone when it fails
		w.Header().Set("Content-Encoding", "gzip")
		w = packedWriter{w, packed}
	}
	answer := ""
	switch r.URL.Path {
	case "/api/v1/query":
		answer = `{"status":"success","data":{"resultType":"vector","result":[]}}`
	case "/api/v1/label/__name__/values":
		answer = `{"status":"success","data":["gpu_power_watts"]}`
	case "/api/v1/labels":
		answer = `{"status":"success","data":["__name__","node","gpu","gpu_uuid","model"]}`
	case "/api/v1/status/buildinfo":
		answer = `{"status":"success","data":{"version":"3.8.0"}}`
	case "/api/v1/query_range":
		start, _ := strconv.ParseFloat(r.FormValue("start"), 64)
		end, _ := strconv.ParseFloat(r.FormValue("end"), 64)
		step, _ := strconv.ParseFloat(r.FormValue("step"), 64)
		var series []string
		for i := range 2 {
			var values []string
			for at := start; at <= end && step > 0; at += step {
				values = append(values, fmt.Sprintf(`[%.3f,"50"]`, at))
			}
			series = append(series, fmt.Sprintf(
				`{"metric":{"__name__":"gpu_power_watts","node":"n1","gpu":"%d","gpu_uuid":"GPU-n1-%d","model":"NVIDIA H200"},"values":[%s]}`,
				i, i, strings.Join(values, ",")))
		}
		answer = `{"status":"success","data":{"resultType":"matrix","result":[` + strings.Join(series, ",") + `]}}`
	}
	if answer == "" {
		w.WriteHeader(http.StatusNotFound)
	}
	_, _ = io.WriteString(w, answer)
}

// packedWriter is a response whose body is compressed, as Prometheus does for whoever accepts it.
type packedWriter struct {
	http.ResponseWriter
	body io.Writer
}

func (w packedWriter) Write(b []byte) (int, error) { return w.body.Write(b) }

func pluginContext(prometheusURL, agentAddress string, updated time.Time) *pluginv2.PluginContext {
	return backend.ToProto().PluginContext(backend.PluginContext{
		OrgID: 1, PluginID: "warpwatch-gpu-datasource", PluginVersion: "1.0.0", User: &backend.User{Login: "ada", Role: "Viewer"},
		GrafanaConfig: config.NewGrafanaCfg(map[string]string{config.AppURL: "http://localhost:3000/", config.ConcurrentQueryCount: "10"}),
		DataSourceInstanceSettings: &backend.DataSourceInstanceSettings{
			ID: 1, UID: "gpu", Type: "warpwatch-gpu-datasource", Name: "GPU", Updated: updated,
			JSONData: json.RawMessage(fmt.Sprintf(`{
				"clusters": [{"name": "north", "endpoints": [{"id": "north-a", "url": %q}]}],
				"agents": {"discovery": "static", "static": [{"cluster": "north", "address": %q}], "allow": ["127.0.0.1"], "auth": "bearer"}
			}`, prometheusURL, agentAddress)),
			DecryptedSecureJSONData: map[string]string{"agents_token": "agent-token"},
		},
	})
}

// Everything that Grafana asks of a data source, over the wire, to the plugin's own process.
func TestWire(t *testing.T) {
	server := startPrometheus(t)
	agent := agenttest.New(t, agenttest.Options{Node: "n1", Cluster: "north", Period: 200 * time.Millisecond})
	agent.Start(func(int) []gpu.Reading { return []gpu.Reading{gpu.Read(100), gpu.Read(101)} })
	g := startPlugin(t)
	plugin := pluginContext(server.URL, agent.Target().Address, time.Unix(1, 0))

	answers := g.query(t, plugin, map[string]string{
		"metric": `{"queryType":"metric","metric":"gpu_power_watts"}`,
		"promql": `{"queryType":"promql","expr":"gpu_power_watts"}`,
		"broken": `{"queryType":"metric","metric":`,
	})
	if broken := answers["broken"]; broken.Error == nil || broken.Status != http.StatusBadRequest || broken.ErrorSource != backend.ErrorSourceDownstream {
		t.Errorf("the broken query: %v (%d, %s)", broken.Error, broken.Status, broken.ErrorSource)
	}
	if promql := answers["promql"]; promql.Error != nil || len(promql.Frames) != 2 {
		t.Errorf("the PromQL query: %v, %d frames", promql.Error, len(promql.Frames))
	}
	metric := answers["metric"]
	if metric.Error != nil || len(metric.Frames) == 0 || len(metric.Frames[0].Fields) != 3 {
		t.Fatalf("the metric query: %v, %d frames", metric.Error, len(metric.Frames))
	}
	frame := metric.Frames[0]
	first, last := frame.Fields[1].At(0).(*float64), frame.Fields[1].At(frame.Rows()-1).(*float64)
	if first == nil || *first != 50 || last == nil || *last != 100 {
		t.Errorf("the line goes from %v to %v", first, last)
	}
	if tokens := server.sent(); !slices.Contains(tokens, "Bearer ada") {
		t.Errorf("Prometheus was sent %q, and not the user's token", tokens)
	}

	g.checkHealth(t, plugin)
	g.checkResources(t, plugin)
	g.checkStream(t, plugin, frame.Meta.Custom, server.URL, agent)
	for _, header := range agent.Headers() {
		if header.Get("Authorization") != "Bearer agent-token" {
			t.Errorf("the agent was sent %q", header.Get("Authorization"))
		}
	}
}

func (p *prometheus) sent() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.tokens))
}

func (g grafana) query(t *testing.T, plugin *pluginv2.PluginContext, queries map[string]string) backend.Responses {
	t.Helper()
	now := time.Now()
	req := &backend.QueryDataRequest{}
	req.SetHTTPHeader("Authorization", "Bearer ada")
	for ref, raw := range queries {
		req.Queries = append(req.Queries, backend.DataQuery{
			RefID: ref, JSON: json.RawMessage(raw), MaxDataPoints: 1000, TimeRange: backend.TimeRange{From: now.Add(-5 * time.Minute), To: now},
		})
	}
	proto := backend.ToProto().QueryDataRequest(req)
	proto.PluginContext = plugin
	sent, err := g.data.QueryData(t.Context(), proto)
	if err != nil {
		t.Fatal(err)
	}
	response, err := backend.FromProto().QueryDataResponse(sent)
	if err != nil {
		t.Fatal(err)
	}
	return response.Responses
}

func (g grafana) checkHealth(t *testing.T, plugin *pluginv2.PluginContext) {
	t.Helper()
	health, err := g.diagnostics.CheckHealth(t.Context(), &pluginv2.CheckHealthRequest{PluginContext: plugin})
	if err != nil {
		t.Fatal(err)
	}
	if health.Status != pluginv2.CheckHealthResponse_OK || !strings.HasPrefix(health.Message, "Prometheus north-a 3.8.0 ok (") ||
		!strings.HasSuffix(health.Message, "agents 1/1 connected, 2 GPUs") || !json.Valid(health.JsonDetails) {
		t.Errorf("health %s: %q, details %s", health.Status, health.Message, health.JsonDetails)
	}
}

func (g grafana) checkResources(t *testing.T, plugin *pluginv2.PluginContext) {
	t.Helper()
	for url, want := range map[string]string{
		"metrics":                           `"name":"gpu_power_watts"`,
		"variables?kind=gpu&cluster=north":  `{"value":"GPU-n1-0","text":"n1 · GPU 0 · H200"}`,
		"agents":                            `"state":"connected"`,
		"variables?kind=rack":               `"error":"kind \"rack\" is not known`,
		"variables?kind=node&cluster=north": `{"value":"n1","text":"n1"}`,
	} {
		if body := g.callResource(t, plugin, url); !json.Valid([]byte(body)) || !strings.Contains(body, want) {
			t.Errorf("%s: %s", url, body)
		}
	}
}

// callResource sends what a browser sends with every request. Most of it is about its own connection to Grafana.
func (g grafana) callResource(t *testing.T, plugin *pluginv2.PluginContext, url string) string {
	t.Helper()
	path, _, _ := strings.Cut(url, "?")
	call, err := g.resource.CallResource(t.Context(), &pluginv2.CallResourceRequest{
		PluginContext: plugin, Method: http.MethodGet, Path: path, Url: url,
		Headers: map[string]*pluginv2.StringList{
			"Accept-Encoding": {Values: []string{"gzip, deflate, br"}}, "If-None-Match": {Values: []string{"x"}},
			"Authorization": {Values: []string{"Bearer ada"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var body string
	for {
		part, err := call.Recv()
		if err != nil {
			return body
		}
		body += string(part.Body)
	}
}

// A page asks for its variables first, when nothing is remembered yet.
func TestWireOfAFreshDataSource(t *testing.T) {
	server := startPrometheus(t)
	body := startPlugin(t).callResource(t, pluginContext(server.URL, "127.0.0.1:1", time.Unix(1, 0)), "variables?kind=node")
	if body != `{"values":[],"notices":[]}` && !strings.HasPrefix(body, `{"values":[],"notices":[{"severity":"warning","text":"Agent`) {
		t.Errorf("variables: %s", body)
	}
}

// checkStream subscribes as a browser does, reads rows, and changes the data source's settings meanwhile.
func (g grafana) checkStream(t *testing.T, plugin *pluginv2.PluginContext, custom any, prometheusURL string, agent *agenttest.Agent) {
	t.Helper()
	var meta struct {
		Live struct {
			Path string          `json:"path"`
			Data json.RawMessage `json:"data"`
		} `json:"live"`
	}
	raw, err := json.Marshal(custom)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &meta); err != nil || meta.Live.Path == "" {
		t.Fatalf("no channel in %s: %v", raw, err)
	}
	subscription, err := g.stream.SubscribeStream(t.Context(), &pluginv2.SubscribeStreamRequest{PluginContext: plugin, Path: meta.Live.Path, Data: meta.Live.Data})
	if err != nil || subscription.Status != pluginv2.SubscribeStreamResponse_OK || !strings.Contains(string(subscription.Data), `"schema"`) {
		t.Fatalf("subscription: %v, %v", subscription, err)
	}
	published, err := g.stream.PublishStream(t.Context(), &pluginv2.PublishStreamRequest{PluginContext: plugin, Path: meta.Live.Path, Data: meta.Live.Data})
	if err != nil || published.Status != pluginv2.PublishStreamResponse_PERMISSION_DENIED {
		t.Errorf("publishing: %v, %v", published, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	run, err := g.stream.RunStream(ctx, &pluginv2.RunStreamRequest{PluginContext: plugin, Path: meta.Live.Path, Data: meta.Live.Data})
	if err != nil {
		t.Fatal(err)
	}
	// The first packet of a run says what its columns are, as what was told by an earlier run no longer counts. It may come before
	// the first row.
	first, err := run.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if text := string(first.Data); !strings.HasPrefix(text, `{"schema":`) || !strings.Contains(text, `"data":{"values":[`) {
		t.Errorf("the first packet is %s", text)
	}
	for range 2 {
		packet, err := run.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if text := string(packet.Data); !strings.HasPrefix(text, `{"data":{"values":[[`) || !strings.Contains(text, "[100") {
			t.Errorf("packet %s", text)
		}
	}

	// New settings: the old instance ends its streams with an error, and Grafana runs them on the new one.
	changed := pluginContext(prometheusURL, agent.Target().Address, time.Unix(2, 0))
	g.checkHealth(t, changed)
	for {
		_, err = run.Recv()
		if err != nil {
			break
		}
	}
	if !strings.Contains(err.Error(), "new settings") {
		t.Errorf("the old stream ended with %v", err)
	}
	again, err := g.stream.RunStream(ctx, &pluginv2.RunStreamRequest{PluginContext: changed, Path: meta.Live.Path, Data: meta.Live.Data})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Recv(); err != nil {
		t.Fatal(err)
	}
	cancel()
	for err == nil {
		_, err = again.Recv()
	}
	if status.Code(err) != codes.Canceled {
		t.Errorf("the new stream ended with %v", err)
	}
}
