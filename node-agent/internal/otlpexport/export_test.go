package otlpexport

import (
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

var testNode = snapshot.Node{Cluster: "north", Name: "n1", Version: "1.2.3", Epoch: "e1", Period: time.Second}

// testSchema has a GPU with all metrics and one with a MIG instance.
func testSchema(t testing.TB) *snapshot.Schema {
	t.Helper()
	c, err := catalog.Load()
	require.NoError(t, err)
	whole := gpu.Device{Identity: gpu.Identity{Cluster: "north", Node: "n1", UUID: "GPU-a"}, Model: "NVIDIA H200", Driver: "590.48.01"}
	split := gpu.Device{Identity: gpu.Identity{Cluster: "north", Node: "n1", UUID: "GPU-b"}, Index: 1, Model: "NVIDIA H200", MIGEnabled: true}
	slice := split
	slice.GPUInstance, slice.MIGProfile, slice.MIGUUID = "7", "1g.18gb", "MIG-c"
	s := &snapshot.Schema{Node: testNode, Devices: []gpu.Device{whole, split, slice}, Wire: &wire.Schema{}}
	for i, d := range s.Devices {
		for m := range device.NumMetrics {
			row, ok := c.Metric(m.String())
			require.True(t, ok, m.String())
			if !d.IsMIG() || m.PerInstance() {
				s.Columns = append(s.Columns, snapshot.Column{Device: i, Metric: m, Row: row})
				s.Wire.Columns = append(s.Wire.Columns, &wire.Column{
					Device: uint32(i), Metric: m.String(), Multiplier: row.Multiplier, Divisor: row.Divisor,
				})
			}
		}
	}
	return s
}

// testFrame has nothing but what set says, by device and metric.
func testFrame(s *snapshot.Schema, at time.Time, set map[int]map[device.Metric]float64) *snapshot.Frame {
	f := &snapshot.Frame{Time: at, Schema: s, Readings: make([]gpu.Reading, len(s.Columns)), Status: &snapshot.Status{}}
	for i, c := range s.Columns {
		f.Readings[i] = gpu.Absent(gpu.NotSupported)
		if v, ok := set[c.Device][c.Metric]; ok {
			f.Readings[i] = gpu.Read(v)
		}
	}
	for i, d := range s.Devices {
		if !d.IsMIG() {
			f.Status.Boards = append(f.Status.Boards, snapshot.Board{Device: s.Devices[i], Condition: snapshot.Condition{State: snapshot.StateOK}})
		}
	}
	return f
}

// receiver is a collector.
type receiver struct {
	*httptest.Server
	requests chan *http.Request
	got      chan *collector.ExportMetricsServiceRequest
}

func newReceiver(t *testing.T, answer func(http.ResponseWriter)) *receiver {
	r := &receiver{requests: make(chan *http.Request, 100), got: make(chan *collector.ExportMetricsServiceRequest, 100)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var body io.Reader = req.Body
		if req.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(body)
			if !assert.NoError(t, err) {
				return
			}
			body = z
		}
		raw, err := io.ReadAll(body)
		assert.NoError(t, err)
		var m collector.ExportMetricsServiceRequest
		if assert.NoError(t, proto.Unmarshal(raw, &m)) {
			r.requests <- req
			r.got <- &m
		}
		answer(w)
	}))
	t.Cleanup(r.Close)
	return r
}

// points are the received series as "name{attributes but those of the device} unit" and value.
func points(m *collector.ExportMetricsServiceRequest) map[string]float64 {
	all := map[string]float64{}
	for _, metric := range m.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics() {
		var list []*metrics.NumberDataPoint
		mark := ""
		switch d := metric.GetData().(type) {
		case *metrics.Metric_Gauge:
			list = d.Gauge.GetDataPoints()
		case *metrics.Metric_Sum:
			list = d.Sum.GetDataPoints()
			mark = " sum"
			if d.Sum.GetIsMonotonic() {
				mark = " counter"
			}
		}
		for _, p := range list {
			a := attributes(p.GetAttributes())
			var extra []string
			for _, kv := range p.GetAttributes() {
				switch kv.GetKey() {
				case "hw.id", "hw.name", "hw.vendor", "hw.model", "hw.driver_version", "hw.parent":
				default:
					extra = append(extra, kv.GetKey()+"="+kv.GetValue().GetStringValue())
				}
			}
			all[a["hw.id"]+" "+metric.GetName()+"{"+strings.Join(extra, ",")+"} "+metric.GetUnit()+mark] = p.GetAsDouble()
		}
	}
	return all
}

func attributes(list []*common.KeyValue) map[string]string {
	all := map[string]string{}
	for _, kv := range list {
		all[kv.GetKey()] = kv.GetValue().GetStringValue()
	}
	return all
}

// start runs an exporter and returns what stops it and waits for its end.
func start(t *testing.T, o Options) (e *Exporter, stop func()) {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	e, err := New(o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	return e, func() {
		cancel()
		assert.NoError(t, <-ended)
	}
}

func TestWhatACollectorGets(t *testing.T) {
	r := newReceiver(t, func(http.ResponseWriter) {})
	secret := filepath.Join(t.TempDir(), "headers")
	require.NoError(t, os.WriteFile(secret, []byte("Authorization: Bearer one\n"), 0o600))
	store := snapshot.NewStore(1*time.Second, 1<<24)
	frame := testFrame(testSchema(t), time.Now(), map[int]map[device.Metric]float64{
		0: {
			device.Utilization: 0.9, device.EncoderUtilization: 0.1, device.DecoderUtilization: 0, device.MemoryUtilization: 0.4,
			device.MemoryTotal: 200, device.MemoryUsed: 50, device.Power: 627.4, device.PowerLimit: 700, device.Energy: 1e6,
			device.Temperature: 52, device.MemoryTemperature: 40, device.SMActive: 0.7, device.ThrottlePower: 3,
			device.PCIeTransmit: 1e9, device.ECCUncorrected: 2, device.PCIeReplayErrors: 4, device.GraphicsEngineActive: 0.8,
			device.RecoveryAction: 1, device.ECCUncorrectedAt.At(2): 2, device.LinkReceive.At(17): 5,
		},
		2: {device.MemoryTotal: 100, device.MemoryUsed: 25},
	})
	frame.Status.Boards[0].XIDs = []snapshot.XIDCount{{Code: 48, Count: 2}}
	frame.Status.Boards[1].Condition.State = snapshot.StateLost
	require.NoError(t, store.Append(frame))
	registry := prometheus.NewRegistry()
	e, stop := start(t, Options{
		Config: Config{Endpoint: r.URL, HeadersFile: secret, Interval: time.Hour}, Store: store, Node: testNode, Registerer: registry,
	})
	stop() // the last export

	req, got := <-r.requests, <-r.got
	assert.Equal(t, "/v1/metrics", req.URL.Path)
	assert.Equal(t, "application/x-protobuf", req.Header.Get("Content-Type"))
	assert.Equal(t, "Bearer one", req.Header.Get("Authorization"))
	resource := attributes(got.GetResourceMetrics()[0].GetResource().GetAttributes())
	assert.Equal(t, "warpwatch-agent", resource["service.name"])
	assert.Equal(t, "n1", resource["host.name"])
	assert.Equal(t, "north", resource["warpwatch.cluster"])
	assert.Equal(t, map[string]float64{
		"GPU-a hw.gpu.utilization{hw.gpu.task=general} 1":                                       0.9,
		"GPU-a hw.gpu.utilization{hw.gpu.task=encoder} 1":                                       0.1,
		"GPU-a hw.gpu.utilization{hw.gpu.task=decoder} 1":                                       0,
		"GPU-a hw.gpu.memory.controller.utilization{} 1":                                        0.4,
		"GPU-a hw.gpu.memory.limit{} By sum":                                                    200,
		"GPU-a hw.gpu.memory.usage{} By sum":                                                    50,
		"GPU-a hw.gpu.memory.utilization{} 1":                                                   0.25,
		"GPU-a hw.power{hw.type=gpu} W":                                                         627.4,
		"GPU-a hw.gpu.power.limit{} W":                                                          700,
		"GPU-a hw.energy{hw.type=gpu} J counter":                                                1e6,
		"GPU-a hw.temperature{hw.sensor_location=gpu,hw.type=gpu} Cel":                          52,
		"GPU-a hw.temperature{hw.sensor_location=memory,hw.type=gpu} Cel":                       40,
		"GPU-a hw.gpu.sm.active{} 1":                                                            0.7,
		"GPU-a hw.gpu.graphics_engine_active{} 1":                                               0.8,
		"GPU-a hw.gpu.throttle.power{} s counter":                                               3,
		"GPU-a hw.gpu.pcie.transmit{} By/s":                                                     1e9,
		"GPU-a hw.gpu.pcie.replay_errors{} 1 counter":                                           4,
		"GPU-a hw.gpu.recovery_action{} 1":                                                      1,
		"GPU-a hw.errors{error.type=uncorrected,hw.type=gpu} {error} counter":                   2,
		"GPU-a hw.gpu.ecc.location_uncorrected_errors{hw.gpu.location=device_memory} 1 counter": 2,
		"GPU-a hw.gpu.nvlink.link_receive{hw.gpu.link=17} By counter":                           5,
		"GPU-a hw.gpu.xid.errors{hw.gpu.xid=48} {error} counter":                                2,
		"GPU-a hw.status{hw.state=ok,hw.type=gpu} 1 sum":                                        0,
		"GPU-a hw.status{hw.state=degraded,hw.type=gpu} 1 sum":                                  1,
		"GPU-a hw.status{hw.state=failed,hw.type=gpu} 1 sum":                                    0,
		"GPU-b hw.status{hw.state=ok,hw.type=gpu} 1 sum":                                        0,
		"GPU-b hw.status{hw.state=degraded,hw.type=gpu} 1 sum":                                  0,
		"GPU-b hw.status{hw.state=failed,hw.type=gpu} 1 sum":                                    1,
		"MIG-c hw.gpu.memory.limit{} By sum":                                                    100,
		"MIG-c hw.gpu.memory.usage{} By sum":                                                    25,
		"MIG-c hw.gpu.memory.utilization{} 1":                                                   0.25,
	}, points(got), "all that was measured, and nothing that was not")
	for _, m := range got.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics() {
		if m.GetName() == "hw.gpu.memory.limit" {
			mig := attributes(m.GetSum().GetDataPoints()[1].GetAttributes())
			assert.Equal(t, "GPU-b", mig["hw.parent"])
			assert.Equal(t, "NVIDIA", mig["hw.vendor"])
			assert.Equal(t, "NVIDIA H200", mig["hw.model"])
		}
	}
	assert.Equal(t, snapshot.StateOK, e.Condition().State)
	assert.EqualValues(t, 1, testutil.ToFloat64(e.sent.exports.WithLabelValues("success")))
	assert.Zero(t, testutil.ToFloat64(e.sent.exports.WithLabelValues("failure")))
	assert.NotZero(t, testutil.ToFloat64(e.sent.last))
	families, err := registry.Gather()
	require.NoError(t, err)
	assert.Empty(t, families, "its figures go with it, so that a reload can bring new ones")
}

func TestFailuresAreAStateAndOneLine(t *testing.T) {
	elsewhere := newReceiver(t, func(http.ResponseWriter) {})
	for name, test := range map[string]struct {
		answer func(http.ResponseWriter)
		want   string
	}{
		"refused": {func(w http.ResponseWriter) { http.Error(w, "who are you?", http.StatusUnauthorized) }, "401 Unauthorized"},
		"a parrot": {func(w http.ResponseWriter) {
			http.Error(w, "X-Key: hunter2; Authorization: hunter2 is not a token", http.StatusForbidden)
		}, "Authorization: <hidden> is not"},
		"a book": {func(w http.ResponseWriter) { http.Error(w, strings.Repeat("x", 100<<10), http.StatusBadRequest) }, ""},
		"redirect": {func(w http.ResponseWriter) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "307"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReceiver(t, test.answer)
			store := snapshot.NewStore(1*time.Second, 1<<24)
			require.NoError(t, store.Append(testFrame(testSchema(t), time.Now(), map[int]map[device.Metric]float64{0: {device.Power: 1}})))
			secret := filepath.Join(t.TempDir(), "headers")
			require.NoError(t, os.WriteFile(secret, []byte("X-Key: hunter2\nAuthorization: Bearer hunter2\n"), 0o600))
			var log strings.Builder
			e, stop := start(t, Options{
				Config: Config{Endpoint: r.URL, HeadersFile: secret, Interval: time.Second}, Store: store, Node: testNode,
				Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			<-r.got
			<-r.got
			stop()
			is := e.Condition()
			assert.Equal(t, snapshot.StateFailed, is.State)
			assert.Contains(t, is.Reason, test.want)
			assert.Less(t, len(is.Reason), 400)
			assert.NotContains(t, is.Reason+log.String(), "hunter2")
			assert.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
			assert.Empty(t, elsewhere.got, "headers go to the configured collector only")
		})
	}
}

func TestNothingIsExportedBeforeTheFirstSample(t *testing.T) {
	r := newReceiver(t, func(http.ResponseWriter) {})
	e, stop := start(t, Options{Config: Config{Endpoint: r.URL}, Store: snapshot.NewStore(1*time.Second, 1<<24), Node: testNode})
	stop()
	assert.Empty(t, r.got)
	assert.Equal(t, snapshot.StateStarting, e.Condition().State)
}
