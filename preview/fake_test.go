package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
)

// TestMain makes the test binary a data source plugin when it is started under a plugin's name, so that the tests speak the
// real protocol to a real process.
func TestMain(m *testing.M) {
	if strings.HasPrefix(filepath.Base(os.Args[0]), "gpx_") {
		fake := &fakePlugin{}
		err := backend.Manage("fake-datasource", backend.ServeOpts{
			QueryDataHandler: fake, CallResourceHandler: fake, CheckHealthHandler: fake, StreamHandler: fake,
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// fakePlugin answers predictably: refId "bad" fails, everything else is one point whose value is the number of data points asked for.
type fakePlugin struct{}

func (*fakePlugin) QueryData(_ context.Context, req *backend.QueryDataRequest) (*backend.QueryDataResponse, error) {
	response := backend.NewQueryDataResponse()
	for _, q := range req.Queries {
		if q.RefID == "bad" {
			response.Responses[q.RefID] = backend.DataResponse{Error: fmt.Errorf("metric: unknown"), Status: backend.StatusBadRequest, ErrorSource: backend.ErrorSourceDownstream}
			continue
		}
		frame := data.NewFrame("", data.NewField("time", nil, []time.Time{q.TimeRange.From}), data.NewField("value", data.Labels{"gpu": "0"}, []float64{float64(q.MaxDataPoints)}))
		frame.RefID = q.RefID
		frame.Meta = &data.FrameMeta{Custom: map[string]string{
			"uid": req.PluginContext.DataSourceInstanceSettings.UID, "panel": req.Headers["http_X-Panel-Id"],
			"range": q.TimeRange.To.Sub(q.TimeRange.From).String(), "interval": q.Interval.String(),
		}}
		response.Responses[q.RefID] = backend.DataResponse{Frames: data.Frames{frame}, Status: backend.StatusOK}
	}
	return response, nil
}

func (*fakePlugin) CallResource(_ context.Context, req *backend.CallResourceRequest, sender backend.CallResourceResponseSender) error {
	if req.Path == "die" {
		os.Exit(3)
	}
	body, err := json.Marshal(map[string]any{
		"path": req.Path, "url": req.URL, "cookie": req.Headers["Cookie"], "secret": req.PluginContext.DataSourceInstanceSettings.DecryptedSecureJSONData["token"],
	})
	if err != nil {
		return err
	}
	return sender.Send(&backend.CallResourceResponse{Status: 207, Headers: map[string][]string{"Content-Type": {"application/json"}, "Set-Cookie": {"a=b"}}, Body: body})
}

func (*fakePlugin) CheckHealth(context.Context, *backend.CheckHealthRequest) (*backend.CheckHealthResult, error) {
	return &backend.CheckHealthResult{Status: backend.HealthStatusError, Message: "1 of 2 endpoints answers", JSONDetails: []byte(`{"verboseMessage":"north"}`)}, nil
}

func (*fakePlugin) SubscribeStream(_ context.Context, req *backend.SubscribeStreamRequest) (*backend.SubscribeStreamResponse, error) {
	switch req.Path {
	case "missing":
		return &backend.SubscribeStreamResponse{Status: backend.SubscribeStreamStatusNotFound}, nil
	case "secret":
		return &backend.SubscribeStreamResponse{Status: backend.SubscribeStreamStatusPermissionDenied}, nil
	}
	initial, err := backend.NewInitialData(json.RawMessage(`{"schema":{"fields":[]},"echo":` + string(req.Data) + `}`))
	return &backend.SubscribeStreamResponse{Status: backend.SubscribeStreamStatusOK, InitialData: initial}, err
}

// RunStream sends a rising number every 20 ms; under the path "breaks" it fails after the second.
func (*fakePlugin) RunStream(ctx context.Context, req *backend.RunStreamRequest, sender *backend.StreamSender) error {
	for i := 1; ; i++ {
		if err := sender.SendJSON([]byte(fmt.Sprintf(`{"n":%d,"data":%s}`, i, req.Data))); err != nil {
			return err
		}
		if req.Path == "breaks" && i == 2 {
			return fmt.Errorf("agent lost")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (*fakePlugin) PublishStream(context.Context, *backend.PublishStreamRequest) (*backend.PublishStreamResponse, error) {
	return &backend.PublishStreamResponse{Status: backend.PublishStreamStatusPermissionDenied}, nil
}

// startHost starts a host with the fake plugin and short stream times, and stops it at the test's end.
func startHost(t *testing.T) *host {
	t.Helper()
	dist, page, dashboards := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, filepath.Join(dist, "plugin.json"), `{"id":"fake-app","type":"app","info":{"version":"1.2.3"}}`)
	write(t, filepath.Join(dist, "datasource", "plugin.json"), `{"id":"fake-datasource","name":"Fake","type":"datasource","executable":"gpx_fake","info":{"version":"1.2.3"}}`)
	write(t, filepath.Join(dist, "datasource", "module.js"), `define([], function () {});`)
	write(t, filepath.Join(page, "index.html"), `<title>preview</title>`)
	write(t, filepath.Join(dashboards, "gpu.json"), `{"uid":"gpu","title":"GPU node","tags":["role:sre"],"panels":[]}`)
	write(t, filepath.Join(dashboards, "provisioning.yaml"), `apiVersion: 1`)
	t.Setenv("PREVIEW_TEST_TOKEN", "s3cret")
	provisioning := filepath.Join(t.TempDir(), "ds.yaml")
	write(t, provisioning, `
apiVersion: 1
datasources:
  - {name: Other, uid: other, type: prometheus}
  - name: Fake
    uid: gpu
    type: fake-datasource
    jsonData: {cost: 5$$, clusters: [{name: north}]}
    secureJsonData: {token: "${PREVIEW_TEST_TOKEN}"}
`)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	executable := filepath.Join(dist, "datasource", "gpx_fake_"+runtime.GOOS+"_"+runtime.GOARCH)
	if err := os.WriteFile(executable, binary, 0o755); err != nil {
		t.Fatal(err)
	}

	h, err := newHost(options{dist: dist, datasources: provisioning, dashboards: dashboards, page: page}, "http://127.0.0.1:3000", hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	h.live.streams.times = streamTimes{check: 20 * time.Millisecond, misses: 3, backoff: 10 * time.Millisecond, maxBackoff: 40 * time.Millisecond}
	if err := h.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.stop)
	return h
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
