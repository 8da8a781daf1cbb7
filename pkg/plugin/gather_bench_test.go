package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// copies is a server of many nodes that all are like the one in a store, whose name is oneNode. It answers what it was asked
// before from memory, so that its own work does not show.
type copies struct {
	store *promtest.Store
	nodes int

	mu    sync.Mutex
	known map[string][]byte
}

const oneNode = "node-00000"

func (c *copies) RoundTrip(req *http.Request) (*http.Response, error) {
	var sent []byte
	if req.Body != nil {
		sent, _ = io.ReadAll(req.Body)
	}
	if form, err := url.ParseQuery(string(sent)); err == nil { // deadlines differ
		form.Del("timeout")
		sent = []byte(form.Encode())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := req.URL.String() + " " + string(sent)
	body, ok := c.known[key]
	if !ok {
		again := httptest.NewRequest(req.Method, req.URL.String(), bytes.NewReader(sent))
		again.Header.Set("Content-Type", req.Header.Get("Content-Type"))
		w := httptest.NewRecorder()
		c.store.ServeHTTP(w, again)
		if w.Code != http.StatusOK {
			return w.Result(), nil
		}
		body = c.multiplied(w.Body.Bytes())
		c.known[key] = body
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

// multiplied is an answer with the series of each node in the place of those of one.
func (c *copies) multiplied(body []byte) []byte {
	var outer struct {
		Status string          `json:"status"`
		Data   json.RawMessage `json:"data"`
	}
	var result struct {
		ResultType string            `json:"resultType"`
		Result     []json.RawMessage `json:"result"`
	}
	var list []json.RawMessage
	if json.Unmarshal(body, &outer) != nil || !bytes.Contains(outer.Data, []byte(oneNode)) {
		return body
	}
	if json.Unmarshal(outer.Data, &list) == nil {
		return []byte(`{"status":"success","data":[` + c.each(list) + `]}`)
	}
	if json.Unmarshal(outer.Data, &result) != nil || result.ResultType == "" {
		return body
	}
	return []byte(`{"status":"success","data":{"resultType":"` + result.ResultType + `","result":[` + c.each(result.Result) + `]}}`)
}

func (c *copies) each(list []json.RawMessage) string {
	var out strings.Builder
	for _, one := range list {
		n := 1
		if bytes.Contains(one, []byte(oneNode)) {
			n = c.nodes
		}
		for i := range n {
			if out.Len() > 0 {
				out.WriteByte(',')
			}
			out.Write(bytes.ReplaceAll(one, []byte(oneNode), fmt.Appendf(nil, "node-%05d", i)))
		}
	}
	return out.String()
}

// gatheredFleet is a data source that has nothing but a Prometheus with nodes of eight GPUs with the default fields of dcgm-exporter,
// and some more.
func gatheredFleet(b *testing.B, gpus int) (*Datasource, *copies) {
	b.Helper()
	store := &promtest.Store{}
	for i := range 8 {
		for name, value := range map[string]func(second int) float64{
			"DCGM_FI_DEV_SM_CLOCK": steady(1900), "DCGM_FI_DEV_MEM_CLOCK": steady(2619), "DCGM_FI_DEV_MEMORY_TEMP": steady(70), "DCGM_FI_DEV_GPU_TEMP": steady(60),
			"DCGM_FI_DEV_POWER_USAGE":              func(second int) float64 { return 600 + float64(second/15%7)/8 + float64(i) },
			"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": func(second int) float64 { return 1e9 + 600e3*float64(second) },
			"DCGM_FI_DEV_PCIE_REPLAY_COUNTER":      steady(3), "DCGM_FI_DEV_GPU_UTIL": steady(99), "DCGM_FI_DEV_MEM_COPY_UTIL": steady(40), "DCGM_FI_DEV_XID_ERRORS": steady(0),
			"DCGM_FI_DEV_FB_USED": steady(60000), "DCGM_FI_DEV_FB_FREE": steady(20000), "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": steady(0),
			"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS": steady(0), "DCGM_FI_DEV_ROW_REMAP_FAILURE": steady(0), "DCGM_FI_PROF_GR_ENGINE_ACTIVE": steady(0.97),
			"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": steady(0.6), "DCGM_FI_PROF_DRAM_ACTIVE": steady(0.4), "DCGM_FI_PROF_SM_ACTIVE": steady(0.9),
			"DCGM_FI_PROF_PCIE_TX_BYTES": steady(2e9), "DCGM_FI_PROF_PCIE_RX_BYTES": steady(3e9), "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": steady(0),
		} {
			labels := map[string]string{
				"__name__": name, "gpu": fmt.Sprint(i), "UUID": fmt.Sprintf("GPU-%s-%d", oneNode, i), "modelName": "NVIDIA H100 80GB HBM3", "Hostname": oneNode,
				"instance": oneNode + ":9400", "job": "dcgm", "device": fmt.Sprintf("nvidia%d", i), "pci_bus_id": fmt.Sprintf("00000000:%02X:00.0", i),
				"DCGM_FI_DRIVER_VERSION": "570.86.15",
			}
			var points []promtest.Point
			for s := -3 * 3600; s <= 600; s += 60 {
				if v := value(s); !math.IsNaN(v) {
					points = append(points, promtest.Point{Time: recordedAt.Add(time.Duration(s) * time.Second).UnixMilli(), Value: v})
				}
			}
			store.Add(labels, points...)
		}
	}
	known, err := catalog.Load()
	if err != nil {
		b.Fatal(err)
	}
	server := &copies{store: store, nodes: gpus / 8, known: map[string][]byte{}}
	past, err := history.New([]history.Endpoint{{
		ID: "a", Cluster: "north", URL: "http://prometheus", HTTP: &http.Client{Transport: server},
	}}, known, history.Options{CacheBytes: -1, MaxAnswerBytes: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	d := &Datasource{
		settings: settings.Settings{ScrapeInterval: time.Minute, Clusters: []settings.Cluster{{Name: "north"}}}, catalog: known, history: past,
		live: live.NewHub(live.Config{}), handovers: newHandovers(), logger: backend.Logger, now: func() time.Time { return recordedAt.Add(10 * time.Minute) },
	}
	b.Cleanup(d.live.Close)
	b.Cleanup(past.Close)
	return d, server
}

// replay is a client that is answered with one body whatever it asks for.
type replay struct{ body []byte }

func (replay) URL(path string, _ map[string]string) *url.URL { return &url.URL{Path: path} }

func (r replay) Do(context.Context, *http.Request) (*http.Response, []byte, error) {
	return &http.Response{StatusCode: http.StatusOK}, r.body, nil
}

// mapped reads all that the server was asked with client_golang, and keeps the newest sample of each label set in maps: less
// than what a judgement needs.
func (c *copies) mapped(b *testing.B) map[string]map[string]float64 {
	b.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]map[string]float64{}
	for question, body := range c.known {
		newest := map[string]float64{}
		client := v1.NewAPI(replay{body})
		switch {
		case strings.Contains(question, "/query_range "):
			got, _, _, err := client.QueryRange(b.Context(), "x", v1.Range{Start: time.Unix(0, 0), End: time.Unix(1, 0), Step: time.Second})
			if err != nil {
				b.Fatal(err)
			}
			for _, s := range got.(model.Matrix) {
				newest[s.Metric.String()] = float64(s.Values[len(s.Values)-1].Value)
			}
		case strings.Contains(question, "/query "):
			got, _, _, err := client.Query(b.Context(), "x", time.Unix(0, 0))
			if err != nil {
				b.Fatal(err)
			}
			for _, s := range got.(model.Vector) {
				newest[s.Metric.String()] = float64(s.Value)
			}
		}
		all[question] = newest
	}
	return all
}

// The names in the benchmark runner are insight-gather and insight-query: a whole answer about all GPUs of a fleet, from the bodies
// that Prometheus sends to frames, what a GPU takes of that beside what one takes in a tenth of the fleet.
func BenchmarkGather(b *testing.B) {
	for _, gpus := range []int{10_000, 100_000} {
		d, server := gatheredFleet(b, gpus)
		for _, kind := range []string{query.TypeHealth, query.TypeBottleneck} {
			b.Run(fmt.Sprintf("%s-%d", kind, gpus), func(b *testing.B) {
				ask := func() {
					got, err := d.answer(b.Context(), backend.DataQuery{
						RefID: "A", JSON: []byte(`{"queryType":"` + kind + `","source":"history","minStep":"5m"}`), QueryType: kind, MaxDataPoints: 1000,
						TimeRange: backend.TimeRange{From: d.now().Add(-time.Hour), To: d.now()},
					}, false)
					if err != nil || got[0].Rows() == 0 {
						b.Fatal(err)
					}
				}
				ask() // the server learns what it is asked
				b.ReportAllocs()
				before := cpuTime(b)
				for b.Loop() {
					ask()
				}
				each := float64(b.N) * float64(gpus)
				spent := cpuTime(b) - before
				b.ReportMetric(float64(spent.Nanoseconds())/each, "cpu-nanos-each")
				b.ReportMetric(spent.Seconds()/float64(b.N), "cpu-seconds")
			})
			if kind != query.TypeHealth || gpus > 10_000 {
				continue
			}
			b.Run(fmt.Sprintf("client_golang-%d", gpus), func(b *testing.B) {
				b.ReportAllocs()
				before := cpuTime(b)
				for b.Loop() {
					if got := server.mapped(b); len(got) == 0 {
						b.Fatal("nothing was asked for")
					}
				}
				b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/float64(b.N)/float64(gpus), "cpu-nanos-each")
			})
		}
	}
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
