package export

import (
	"compress/gzip"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/simulate"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

var update = flag.Bool("update", false, "rewrite testdata")

var start = time.Unix(1_800_000_000, 0)

func node() snapshot.Node {
	return snapshot.Node{
		Cluster: "north", Name: `rack "4" \ 7`, Version: "1.2.3", Source: "simulate", Epoch: "e", Period: time.Second,
	}
}

func setup(t testing.TB, n snapshot.Node) (*Exporter, *snapshot.Store, *snapshot.Rows) {
	t.Helper()
	c, err := catalog.Load()
	require.NoError(t, err)
	rows, err := snapshot.LoadRows(c)
	require.NoError(t, err)
	store := snapshot.NewStore(9*time.Second, 1<<24)
	e, err := New(Options{
		Store: store, Node: n, Identity: Identity{Address: "10.0.0.7:9847", Scheme: "https"}, Catalog: c,
		Settings: Settings{Window: DefaultWindow, Windowed: FastGroups(), MaxProcesses: 2},
		Owners:   &snapshot.Latest[snapshot.OwnerList]{}, Processes: &snapshot.Latest[snapshot.ProcessList]{},
	})
	require.NoError(t, err)
	return e, store, rows
}

// split is a board with one MIG instance, and a board that is lost.
func split(n snapshot.Node, rows *snapshot.Rows) *snapshot.Frame {
	board := gpu.Device{
		Identity: gpu.Identity{UUID: "GPU-1"}, Index: 0, Model: "NVIDIA H200", PCIBusID: "00000000:1A:00.0", MIGEnabled: true,
	}
	instance := board
	instance.GPUInstance, instance.ComputeInstance, instance.MIGProfile, instance.MIGUUID = "7", "0", "1g.18gb", "MIG-1"
	lost := gpu.Device{Identity: gpu.Identity{UUID: "GPU-2"}, Index: 1, Model: "NVIDIA H200", PCIBusID: "00000000:40:00.0"}
	s := snapshot.NewSchema(n, "590.48.01", []gpu.Device{board, instance, lost}, device.AllGroups, rows)
	values := make([]device.Values, 3)
	values[0].Fill(gpu.NotSupported)
	values[0].Set(device.Power, 295.01)
	values[0].Set(device.ECCCorrected, 0)
	values[0].Set(device.SMClock, 1.98e9)
	values[0].Set(device.ClockEventReasons, 4)
	values[0].Set(device.PerformanceState, 0)
	values[1].Fill(gpu.NotSupported)
	values[1].Set(device.MemoryTotal, 18253611008)
	values[1].Set(device.SMActive, 0.4321)
	values[2].Fill(gpu.Lost)
	values[2].Set(device.XIDLast, 79)
	sampled := &[device.NumGroups]time.Time{device.GroupPower: start.Add(-200 * time.Millisecond), device.GroupECC: start.Add(-4 * time.Second)}
	return &snapshot.Frame{
		Time: start, Schema: s, Readings: s.Flatten(values), Sampled: sampled,
		Extents: []device.Extent{{Device: 0, Metric: device.Power, Min: 280, Mean: 300.1236, Max: 690.5, Count: 40}},
		Status: &snapshot.Status{
			Source: snapshot.Condition{State: snapshot.StateOK}, Versions: device.Versions{NVML: "13.590.48.01", CUDA: "13.1"},
			Boards: []snapshot.Board{
				{
					Device: s.Devices[0], Condition: snapshot.Condition{State: snapshot.StateOK},
					Facts: device.Facts{
						Serial: "1650522003820", Brand: "Nvidia", Architecture: "Hopper", ComputeCapability: "9.0", VBIOS: "96.00.BC.00.01",
						InfoROM: "G520.0280.00.06", BoardPart: "692-2G520-0280-000", Minor: 0, MemoryBusBits: 6144, Cores: 16896,
						Placements: map[string]device.Placement{"7": {Start: 0, Size: 1}},
					},
					Events: []snapshot.EventCount{{Kind: device.EventLayoutChanged, Count: 3, Last: start}},
				},
				{
					Device: s.Devices[2], Condition: snapshot.Condition{State: snapshot.StateLost}, LastXID: 79,
					XIDs:  []snapshot.XIDCount{{Code: 31, Count: 2, Last: start.Add(-time.Hour)}, {Code: 79, Count: 1, Last: start}},
					Facts: device.Facts{Minor: -1, MemoryBusBits: -1, Cores: -1},
				},
			},
		},
	}
}

func TestGolden(t *testing.T) {
	e, store, rows := setup(t, node())
	require.NoError(t, store.Append(split(node(), rows)))
	e.o.Owners.Set(&snapshot.OwnerList{Owners: []device.Owner{
		{UUID: "GPU-1", GPUInstance: "7", Namespace: "ml", Pod: "train-0", Container: "main", Replica: "2", Source: "kubelet"},
		{UUID: "GPU-1", GPUInstance: "7", Namespace: "ml", Pod: "train-0", Container: "main", Replica: "2", Source: "kubelet"},
		{UUID: "GPU-2", SlurmJob: "17", SlurmStep: "0", User: "ali", Source: "slurm"},
		{UUID: "GPU-2", Namespace: "lab", Pod: "mps-2", Source: "cgroup", Conflict: device.NotGiven},
		{UUID: "GPU-9", Pod: "of another node"},
	}})
	e.o.Processes.Set(&snapshot.ProcessList{Processes: []snapshot.Process{
		{Process: device.Process{PID: 7, Memory: gpu.Read(1 << 20), SM: gpu.Read(0.25)}, UUID: "GPU-2", Name: `"p"`, User: "ali"},
		{Process: device.Process{PID: 9, Memory: gpu.Read(1 << 30), SM: gpu.Absent(gpu.NoData)}, UUID: "GPU-2"},
		{Process: device.Process{PID: 8, Memory: gpu.Read(1 << 10)}, UUID: "GPU-2", Name: "the third"},
		{Process: device.Process{PID: 9, Memory: gpu.Read(1 << 29)}, UUID: "GPU-2"},
	}})
	got := e.Append(nil, start)
	const path = "testdata/split.prom"
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "run go test with -update when the change is meant")
}

func TestAbsentIsNeverZero(t *testing.T) {
	e, store, rows := setup(t, node())
	assert.Contains(t, string(e.Append(nil, start)), "warpwatch_agent_info", "before the first sample, too")
	require.NoError(t, store.Append(split(node(), rows)))
	text := string(e.Append(nil, start))
	assert.NotContains(t, text, "gpu_utilization_ratio")
	assert.NotContains(t, text, `gpu_power_watts{cluster="north",node="rack \"4\" \\ 7",gpu="1"`)
	assert.Contains(t, text, `gpu_xid_errors_total{cluster="north",node="rack \"4\" \\ 7",gpu="1",gpu_uuid="GPU-2",model="NVIDIA H200",xid="31"} 2`)

	old := string(e.Append(nil, start.Add(time.Minute)))
	assert.NotContains(t, old, "gpu_power_watts", "readings of a minute ago are not readings of now")
	assert.NotContains(t, old, "_window_max")
	assert.Contains(t, old, "gpu_info")
}

func TestTextIsWhatPrometheusExpects(t *testing.T) {
	for name, mig := range map[string]bool{"whole": false, "split": true} {
		t.Run(name, func(t *testing.T) {
			n := node()
			n.Cluster = ""
			e, store, rows := setup(t, n)
			frame := simulated(t, n, rows, mig)
			frame.Sampled = &[device.NumGroups]time.Time{device.GroupPower: frame.Time}
			frame.Status.Boards[0].XIDs = []snapshot.XIDCount{{Code: 79, Count: 1, Last: frame.Time}}
			frame.Status.Boards[0].Events = []snapshot.EventCount{{Kind: device.EventLost, Count: 1}}
			require.NoError(t, store.Append(frame))
			last := frame.Schema.Devices[len(frame.Schema.Devices)-1]
			e.o.Owners.Set(&snapshot.OwnerList{Owners: []device.Owner{{UUID: last.UUID, GPUInstance: last.GPUInstance, Pod: "p"}}})
			e.o.Processes.Set(&snapshot.ProcessList{Processes: []snapshot.Process{{
				Process: device.Process{PID: 1, GPUInstance: last.GPUInstance, Memory: gpu.Read(1), SM: gpu.Read(1)}, UUID: last.UUID,
			}}})
			own := prometheus.NewRegistry()
			own.MustRegister(collectors.NewGoCollector())
			server := httptest.NewServer(Handler(HandlerOptions{Exporter: e, Own: own, Logger: slog.New(slog.DiscardHandler)}))
			defer server.Close()

			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
			require.NoError(t, err)
			request.Header.Set("Accept-Encoding", "gzip")
			response, err := server.Client().Do(request)
			require.NoError(t, err)
			defer response.Body.Close()
			assert.Equal(t, "gzip", response.Header.Get("Content-Encoding"))
			z, err := gzip.NewReader(response.Body)
			require.NoError(t, err)
			body, err := io.ReadAll(z)
			require.NoError(t, err)

			parser := expfmt.NewTextParser(model.UTF8Validation)
			families, err := parser.TextToMetricFamilies(strings.NewReader(string(body)))
			require.NoError(t, err)
			for name := range helps() {
				if name != migInfo || mig {
					_, ok := families[name]
					assert.True(t, ok, name)
				}
			}
			seen := map[string]bool{}
			for _, f := range families {
				for _, m := range f.GetMetric() {
					key := f.GetName() + m.String()
					assert.False(t, seen[key], key)
					seen[key] = true
				}
			}
			problems, err := promlint.New(strings.NewReader(string(body))).Lint()
			require.NoError(t, err)
			for _, p := range problems {
				// Written as the catalogue has it: a time series of codes and one of totals would be called otherwise.
				t.Log(p.Metric, p.Text)
			}
			assert.Empty(t, problems)
		})
	}
}

func simulated(t testing.TB, n snapshot.Node, rows *snapshot.Rows, mig bool) *snapshot.Frame {
	t.Helper()
	m, err := simulate.ModelNamed("H200")
	require.NoError(t, err)
	o := simulate.Options{Node: "n", GPUs: 8, Model: m, Profile: simulate.Mixed}
	if mig {
		o.MIG = m.DefaultMIG
	}
	source, err := simulate.New(o, time.Now)
	require.NoError(t, err)
	found, err := source.Inventory(t.Context())
	require.NoError(t, err)
	var devices []gpu.Device
	var values []device.Values
	status := &snapshot.Status{Source: snapshot.Condition{State: snapshot.StateOK}}
	now := time.Now()
	for _, b := range found.Boards {
		v := make([]device.Values, len(b.Devices()))
		require.NoError(t, b.Sample(t.Context(), now, device.AllGroups, &device.Sample{Values: v}))
		devices, values = append(devices, b.Devices()...), append(values, v...)
		status.Boards = append(status.Boards, snapshot.Board{
			Device: b.Devices()[0], Condition: snapshot.Condition{State: snapshot.StateOK}, Facts: b.Facts(),
		})
	}
	s := snapshot.NewSchema(n, found.Driver, devices, device.AllGroups, rows)
	return &snapshot.Frame{Time: now, Schema: s, Readings: s.Flatten(values), Status: status}
}

func TestAcceptsGzip(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "gzip": true, "deflate, gzip;q=1.0": true, "gzip;q=0": false, "identity": false, "gzip; q=0": false,
	} {
		assert.Equal(t, want, acceptsGzip(&http.Request{Header: http.Header{"Accept-Encoding": {accept}}}), accept)
	}
}
