package otlp

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	otelmetric "go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/node-agent/internal/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// agent is a receiver with a store and a clock.
type agent struct {
	*Receiver
	t     testing.TB
	store *workload.Store
	clock *clock
	log   bytes.Buffer
}

func newAgent(t testing.TB, o Options, l workload.Limits) *agent {
	t.Helper()
	a := &agent{t: t, clock: &clock{time.Unix(1_800_000_000, 0)}}
	a.store = workload.New(workload.Options{Node: "n1", Limits: l, Now: a.clock.Now})
	o.Store, o.Node, o.Now, o.Logger = a.store, "n1", a.clock.Now, slog.New(slog.NewTextHandler(&a.log, nil))
	r, err := New(o)
	require.NoError(t, err)
	a.Receiver = r
	return a
}

func (a *agent) post(body []byte, headers ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, "/v1/metrics", bytes.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, req)
	return w
}

// json sends metrics of one resource and returns what the answer says about rejected points.
func (a *agent) json(resource, metrics string) (rejected, message string) {
	a.t.Helper()
	w := a.post([]byte(`{"resourceMetrics":[{"resource":{"attributes":[`+resource+`]},"scopeMetrics":[{"metrics":[`+metrics+`]}]}]}`),
		"Content-Type", "application/json")
	require.Equal(a.t, http.StatusOK, w.Code, w.Body.String())
	var answer struct {
		PartialSuccess struct{ RejectedDataPoints, ErrorMessage string }
	}
	require.NoError(a.t, json.Unmarshal(w.Body.Bytes(), &answer))
	return answer.PartialSuccess.RejectedDataPoints, answer.PartialSuccess.ErrorMessage
}

// lines are the series on /metrics, without comments.
func (a *agent) lines() string {
	var b strings.Builder
	for line := range strings.Lines(string(a.store.Append(nil))) {
		if !strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func zipped(t testing.TB, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(body)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

const oneGauge = `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"train_loss","gauge":{"dataPoints":[{"asDouble":2.5}]}}]}]}]}`

func TestEncodings(t *testing.T) {
	a := newAgent(t, Options{}, workload.Limits{})
	w := a.post([]byte(oneGauge), "Content-Type", "application/json; charset=utf-8")
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Equal(t, "{}", w.Body.String())
	assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
	assert.Equal(t, "train_loss{node=\"n1\"} 2.5\n", a.lines())
	w = a.post(zipped(t, []byte(strings.Replace(oneGauge, "2.5", "3.5", 1))), "Content-Type", "application/json", "Content-Encoding", "gzip")
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Equal(t, "train_loss{node=\"n1\"} 3.5\n", a.lines())

	w = a.post(nil, "Content-Type", "application/x-protobuf")
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Empty(t, w.Body.Bytes())
	assert.Equal(t, "application/x-protobuf", w.Header().Get("Content-Type"))
}

func TestAnswersToBadRequests(t *testing.T) {
	bomb := zipped(t, bytes.Repeat([]byte(" "), 1<<20))
	for name, c := range map[string]struct {
		body    []byte
		headers []string
		status  int
		message string
	}{
		"other type":      {[]byte("{}"), []string{"Content-Type", "text/plain"}, 415, `the content type is "text/plain"`},
		"no type":         {[]byte("{}"), nil, 415, "send application/x-protobuf or application/json"},
		"other packing":   {nil, []string{"Content-Type", "application/json", "Content-Encoding", "zstd"}, 415, "gzip only"},
		"no JSON":         {[]byte("{"), []string{"Content-Type", "application/json"}, 400, "not an OTLP metrics request"},
		"no gzip":         {[]byte("abc"), []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}, 400, "read the body"},
		"half gzip":       {zipped(t, []byte(oneGauge))[:50], []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}, 400, "read the body"},
		"large":           {make([]byte, 5000), []string{"Content-Type", "application/json"}, 413, "larger than 4000 bytes"},
		"bomb":            {bomb, []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}, 413, "larger than 8000 bytes"},
		"JSON of nothing": {[]byte(`{"resourceMetrics":[` + strings.Repeat(`{},`, 200) + `{}]}`), []string{"Content-Type", "application/json"}, 413, "more than 100 points"},
		"deep": {[]byte(`{"resourceMetrics":[{"resource":{"attributes":[{"key":"a","value":` + strings.Repeat(`{"arrayValue":{"values":[`, 40) +
			strings.Repeat(`]}}`, 40) + `}]}}]}`), []string{"Content-Type", "application/json"}, 400, "not an OTLP metrics request"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, Options{BodyBytes: 4000, TextBytes: 8000, Messages: 100}, workload.Limits{})
			w := a.post(c.body, c.headers...)
			assert.Equal(t, c.status, w.Code)
			var status struct {
				Code    int
				Message string
			}
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &status), w.Body.String())
			assert.Equal(t, codeInvalid, status.Code)
			assert.Contains(t, status.Message, c.message)
			assert.Empty(t, w.Header().Get("Retry-After"), "to send the same again is of no use")
			assert.Contains(t, a.log.String(), "refused")
		})
	}
	a := newAgent(t, Options{Messages: 100}, workload.Limits{})
	w := a.post([]byte{0xff, 0xff}, "Content-Type", "application/x-protobuf")
	assert.Equal(t, 400, w.Code)
	assert.Equal(t, []byte{0x08, codeInvalid, 0x12}, w.Body.Bytes()[:3], "a google.rpc.Status")
	w = a.post(bytes.Repeat([]byte{0x0a, 0x00}, 101), "Content-Type", "application/x-protobuf")
	assert.Equal(t, 413, w.Code)

	req := httptest.NewRequest(http.MethodGet, "/v1/metrics", nil)
	get := httptest.NewRecorder()
	a.ServeHTTP(get, req)
	assert.Equal(t, http.StatusMethodNotAllowed, get.Code)
	assert.Equal(t, http.MethodPost, get.Header().Get("Allow"))
}

func TestPartialSuccess(t *testing.T) {
	a := newAgent(t, Options{}, workload.Limits{})
	rejected, message := a.json(``, `
		{"name":"train_loss","gauge":{"dataPoints":[{"asDouble":1}]}},
		{"name":"hw.gpu.io","unit":"By","gauge":{"dataPoints":[{"asDouble":1},{"asDouble":2,"attributes":[{"key":"a","value":{"stringValue":"b"}}]}]}},
		{"name":"empty","gauge":{"dataPoints":[{}]}}`)
	assert.Equal(t, "3", rejected)
	assert.Contains(t, message, `"empty": a point has no value`)
	assert.Contains(t, message, "otlp from 192.0.2.1: hw_gpu_io_bytes: names that begin with hw_gpu are kept")
	assert.Equal(t, "train_loss{node=\"n1\"} 1\n", a.lines())

	w := httptest.NewRecorder()
	answerer{}.success(w, 3, "why")
	var answer collector.ExportMetricsServiceResponse
	require.NoError(t, proto.Unmarshal(w.Body.Bytes(), &answer))
	assert.EqualValues(t, 3, answer.GetPartialSuccess().GetRejectedDataPoints())
	assert.Equal(t, "why", answer.GetPartialSuccess().GetErrorMessage())
}

func TestNoRoom(t *testing.T) {
	a := newAgent(t, Options{}, workload.Limits{LinesPerInput: 1})
	assert.Equal(t, 200, a.post([]byte(oneGauge), "Content-Type", "application/json").Code)
	w := a.post([]byte(strings.Replace(oneGauge, "train_loss", "train_other", 1)), "Content-Type", "application/json")
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Equal(t, "30", w.Header().Get("Retry-After"))
	assert.Contains(t, w.Body.String(), `"code":8`)
	a.clock.now = a.clock.now.Add(6 * time.Minute)
	assert.Equal(t, 200, a.post([]byte(strings.Replace(oneGauge, "train_loss", "train_other", 1)), "Content-Type", "application/json").Code)

	a = newAgent(t, Options{Streams: 1}, workload.Limits{})
	rejected, message := a.json(``, `{"name":"a","gauge":{"dataPoints":[{"asDouble":1}]}},{"name":"b","gauge":{"dataPoints":[{"asDouble":1}]}}`)
	assert.Equal(t, "1", rejected)
	assert.Contains(t, message, "remembers as many series as it may")
}

func TestBusy(t *testing.T) {
	a := newAgent(t, Options{Concurrency: 1}, workload.Limits{})
	read, write := io.Pipe()
	done := make(chan int)
	go func() {
		req := httptest.NewRequest(http.MethodPost, "/v1/metrics", read)
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		a.ServeHTTP(w, req)
		done <- w.Code
	}()
	_, err := write.Write([]byte("{")) // returns when the first request is being read
	require.NoError(t, err)
	w := a.post([]byte(oneGauge), "Content-Type", "application/json")
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
	assert.Equal(t, "1", w.Header().Get("Retry-After"))
	_, err = write.Write([]byte("}"))
	require.NoError(t, err)
	require.NoError(t, write.Close())
	assert.Equal(t, 200, <-done)
}

// What the SDK of OpenTelemetry sends is what arrives.
func TestTheSDK(t *testing.T) {
	a := newAgent(t, Options{}, workload.Limits{})
	server := httptest.NewServer(a)
	defer server.Close()
	exporter, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpointURL(server.URL+"/v1/metrics"),
		otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression),
		otlpmetrichttp.WithTemporalitySelector(sdk.DeltaTemporalitySelector),
		otlpmetrichttp.WithAggregationSelector(func(k sdk.InstrumentKind) sdk.Aggregation {
			if k == sdk.InstrumentKindHistogram {
				return sdk.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}
			}
			return sdk.DefaultAggregationSelector(k)
		}))
	require.NoError(t, err)
	provider := sdk.NewMeterProvider(sdk.WithReader(sdk.NewPeriodicReader(exporter, sdk.WithInterval(time.Hour))))
	meter := provider.Meter("test")
	steps, err := meter.Int64Counter("train.steps", otelmetric.WithUnit("{step}"))
	require.NoError(t, err)
	loss, err := meter.Float64Gauge("train.loss")
	require.NoError(t, err)
	wait, err := meter.Float64Histogram("serve.queue", otelmetric.WithUnit("ms"))
	require.NoError(t, err)
	for range 2 {
		steps.Add(t.Context(), 5)
		loss.Record(t.Context(), 0.5)
		wait.Record(t.Context(), 100)
		wait.Record(t.Context(), 1500)
		require.NoError(t, provider.ForceFlush(t.Context()))
	}
	require.NoError(t, provider.Shutdown(t.Context()))
	text := a.lines()
	assert.Contains(t, text, "train_steps_total{")
	assert.Regexp(t, `(?m)^train_steps_total\{.*\} 10$`, text)
	assert.Regexp(t, `(?m)^train_loss\{.*\} 0.5$`, text)
	assert.Regexp(t, `(?m)^serve_queue_seconds_count\{.*\} 4$`, text)
	assert.Regexp(t, `(?m)^serve_queue_seconds_sum\{.*\} 3.2$`, text)
	assert.LessOrEqual(t, strings.Count(text, "serve_queue_seconds_bucket"), maxExponential+2)
}
