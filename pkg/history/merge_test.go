package history

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

const uuid = "5e1f0000-0a00-4a00-8b00-000000000000"

// threeExporters report one GPU under three names of its node; the agent was installed five minutes after t0.
func threeExporters() *promtest.Store {
	s := &promtest.Store{}
	var agent, dcgm []promtest.Point
	for i := range int64(11) {
		if i >= 5 {
			agent = append(agent, promtest.Point{Time: (t0 + 60*i) * 1000, Value: 0.5})
		}
		dcgm = append(dcgm, promtest.Point{Time: (t0 + 60*i) * 1000, Value: 40})
	}
	s.Add(map[string]string{"__name__": "gpu_utilization_ratio", "node": "gpu-01", "gpu": "3", "gpu_uuid": "GPU-" + uuid,
		"model": "NVIDIA H200", "instance": "gpu-01:9847"}, agent...)
	s.Constant(map[string]string{"__name__": "gpu_info", "node": "gpu-01", "gpu": "3", "gpu_uuid": "GPU-" + uuid,
		"model": "NVIDIA H200", "instance": "gpu-01:9847", "driver_version": "590.48.01"}, 1)
	s.Add(map[string]string{"__name__": "DCGM_FI_DEV_GPU_UTIL", "Hostname": "ip-10-0-0-1", "gpu": "3", "UUID": "GPU-" + uuid,
		"modelName": "NVIDIA H200", "instance": "10.0.0.1:9400"}, dcgm...)
	s.Constant(map[string]string{"__name__": "nvidia_smi_utilization_gpu_ratio", "uuid": uuid, "instance": "10.0.0.1:9835"}, 0.3)
	s.Constant(map[string]string{"__name__": "nvidia_smi_gpu_info", "uuid": uuid, "name": "NVIDIA H200", "index": "3", "instance": "10.0.0.1:9835"}, 1)
	s.Constant(map[string]string{"__name__": "nvidia_smi_temperature_gpu", "uuid": uuid, "instance": "10.0.0.1:9835"}, 52)
	return s
}

func TestBestDialectCountsAndOthersFill(t *testing.T) {
	h := open(t, threeExporters())
	for _, scope := range []string{"", `"nodes":["gpu-01"]`, `"gpus":["GPU-` + uuid + `"]`} {
		result := ask(t, h, "gpu_utilization_ratio", scope)
		if len(result.Series) != 1 || result.Series[0].Device.Name() != "gpu-01 · GPU 3 · H200" {
			t.Fatalf("scope %s: got %+v\nasked %s", scope, result.Series, result.Executed)
		}
		if got := result.Series[0].Values; !slices.Equal(got, []float64{0.4, 0.4, 0.4, 0.4, 0.4, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}) {
			t.Errorf("scope %s: got %v", scope, got)
		}
		wantQuiet(t, result)
	}
	if got := ask(t, h, "gpu_utilization_ratio", `"nodes":["ip-10-0-0-1"]`); len(got.Series) != 0 {
		t.Errorf("the node is called gpu-01, but its other name selects %+v", got.Series)
	}
	// What only the third exporter reports is on the same device.
	wantLast(t, ask(t, h, "gpu_temperature_celsius", `"nodes":["gpu-01"],"models":["H200"]`), map[string]float64{"gpu-01 · GPU 3 · H200": 52})
	devices, notices := h.Devices(context.Background())
	if len(devices) != 1 || devices[0].Driver != "590.48.01" || len(notices) > 0 {
		t.Errorf("devices %+v, notices %v", devices, notices)
	}
}

func TestRealCaptureOfNvidiaGPUExporter(t *testing.T) {
	s := &promtest.Store{}
	scrape(t, s, "nvidia_gpu_exporter_h200.prom", map[string]string{"instance": "gpu-05:9835", "job": "nvidia"})
	h := open(t, s)
	for metric, want := range map[string]float64{
		"gpu_memory_total_bytes": 150754820096, "gpu_memory_reserved_bytes": 643825664, "gpu_sm_clock_hertz": 1.98e9,
		"gpu_memory_clock_hertz": 3.201e9, "gpu_utilization_ratio": 1, "gpu_power_limit_watts": 700, "gpu_pcie_link_generation": 5,
		"gpu_pcie_link_width": 16, "gpu_recovery_action": 0, "gpu_temperature_margin_celsius": 35,
	} {
		result := ask(t, h, metric, "")
		wantLast(t, result, map[string]float64{"gpu-05 · GPU 0 · H200": want})
		wantQuiet(t, result)
	}
}

// counting makes a counter that rises by perSecond.
func counting(perSecond float64) (points []promtest.Point) {
	for i := int64(-40); i <= 40; i++ {
		points = append(points, promtest.Point{Time: (t0 + 15*i) * 1000, Value: 1e6 + float64(i+40)*15*perSecond})
	}
	return points
}

func TestCounterIsARate(t *testing.T) {
	s := &promtest.Store{}
	s.Add(map[string]string{"__name__": "gpu_energy_joules_total", "node": "a", "gpu": "0", "gpu_uuid": "GPU-1"}, counting(600)...)
	s.Add(map[string]string{"__name__": "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "Hostname": "b", "gpu": "0", "UUID": "GPU-2", "pod": "x"}, counting(300_000)...)
	s.Add(map[string]string{"__name__": "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "Hostname": "b", "gpu": "0", "UUID": "GPU-2", "pod": "y"}, counting(300_000)...)
	h := open(t, s)
	result := ask(t, h, "gpu_energy_joules_total", "")
	wantLast(t, result, map[string]float64{"a · GPU 0": 600, "b · GPU 0": 300})
	for _, part := range []string{
		`label_replace(rate({__name__="gpu_energy_joules_total"}[4m]),"warpwatch_source","gpu_energy_joules_total","","")`, " or label_replace(rate(",
	} {
		if !strings.Contains(result.Executed, part) {
			t.Errorf("asked %s", result.Executed)
		}
	}
	wantLast(t, ask(t, h, "gpu_energy_joules_total", `"nodes":["b"]`), map[string]float64{"b · GPU 0": 300})
}

func TestNVLinkBandwidthIsARateAlready(t *testing.T) {
	s := &promtest.Store{}
	s.Constant(map[string]string{"__name__": "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "Hostname": "a", "gpu": "0", "UUID": "GPU-1"}, 1500)
	result := ask(t, open(t, s), "gpu_nvlink_throughput_bytes_per_second", "")
	wantLast(t, result, map[string]float64{"a · GPU 0": 1500 * 1024000})
	if strings.Contains(result.Executed, "rate(") {
		t.Errorf("asked %s", result.Executed)
	}
}

func TestXIDsOfOneGPUAddUp(t *testing.T) {
	s := &promtest.Store{}
	for xid, perSecond := range map[string]float64{"31": 0.01, "79": 0.02} {
		for _, instance := range []string{"a:9847", "b:9847"} { // scraped twice
			s.Add(map[string]string{"__name__": "gpu_xid_errors_total", "node": "a", "gpu": "0", "gpu_uuid": "GPU-1", "xid": xid, "instance": instance},
				counting(perSecond)...)
		}
	}
	result := ask(t, open(t, s), "gpu_xid_errors_total", "")
	if got := last(result)["a · GPU 0"]; len(result.Series) != 1 || math.Abs(got-0.03) > 1e-9 {
		t.Errorf("got %v", last(result))
	}
}

func TestReplicasAreOneAnswer(t *testing.T) {
	replica := func(name string, from, to int64) *promtest.Store {
		s := &promtest.Store{}
		var points []promtest.Point
		for i := from; i <= to; i++ {
			points = append(points, promtest.Point{Time: (t0 + 60*i) * 1000, Value: float64(100 + i)})
		}
		s.Add(map[string]string{"__name__": "gpu_power_watts", "node": "a", "gpu": "0", "gpu_uuid": "GPU-1", "replica": name}, points...)
		return s
	}
	h := open(t, replica("r0", 0, 2), replica("r1", 2, 10))
	result := ask(t, h, "gpu_power_watts", "")
	if len(result.Series) != 1 || !slices.Equal(result.Series[0].Values, []float64{100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110}) {
		t.Errorf("got %+v", result.Series)
	}
}

func TestClustersAreKeptApart(t *testing.T) {
	store := func(v float64) *promtest.Store {
		s := &promtest.Store{}
		s.Constant(map[string]string{"__name__": "gpu_power_watts", "node": "a", "gpu": "0", "gpu_uuid": "GPU-1"}, v)
		return s
	}
	h := openAt(t, Endpoint{ID: "n", Cluster: "north", URL: promtest.Serve(t, store(1))}, Endpoint{ID: "s", Cluster: "south", URL: promtest.Serve(t, store(2))})
	result := ask(t, h, "gpu_power_watts", "")
	if len(result.Series) != 2 || result.Series[0].Device.Cluster != "north" || result.Series[1].Values[0] != 2 {
		t.Errorf("got %+v", result.Series)
	}
	if got := ask(t, h, "gpu_power_watts", `"clusters":["south"]`); len(got.Series) != 1 || got.Series[0].Device.Cluster != "south" {
		t.Errorf("got %+v", got.Series)
	}
	none := ask(t, h, "gpu_power_watts", `"clusters":["east"]`)
	wantNotice(t, none.Notices, "No Prometheus serves the selected clusters (east); the data source knows north, south.")
}

func TestInstantMetric(t *testing.T) {
	h := open(t, threeExporters())
	result := ask(t, h, "gpu_utilization_ratio", `"instant":true`)
	if len(result.Series) != 1 || !slices.Equal(result.Series[0].Times, []int64{(t0 + 600) * 1000}) || result.Series[0].Values[0] != 0.5 || result.Step != 0 {
		t.Errorf("got %+v", result)
	}
}

func TestSeriesThatEndedIsSaid(t *testing.T) {
	var file struct{ API json.RawMessage }
	if err := json.Unmarshal(fixture(t, "lookback_range.json"), &file); err != nil {
		t.Fatal(err)
	}
	s := &promtest.Store{}
	if err := s.Answer(file.API); err != nil {
		t.Fatal(err)
	}
	h := open(t, s)
	result := askOver(t, h, "gpu_utilization_ratio", "", window(900, 30*time.Second))
	if len(result.Series) != 1 {
		t.Fatalf("got %+v", result.Series)
	}
	wantNotice(t, result.Notices, "1 GPU stopped reporting before the end of the range, the last at")
	wantNotice(t, result.Notices, "Prometheus repeats its last value for up to 5 minutes")
}

func TestSeriesWithoutUUIDIsSaid(t *testing.T) {
	s := &promtest.Store{}
	s.Constant(map[string]string{"__name__": "gpu_power_watts", "node": "a", "gpu": "0"}, 1)
	result := ask(t, open(t, s), "gpu_power_watts", "")
	wantNotice(t, result.Notices, "1 series of gpu_power_watts carry no GPU UUID (label gpu_uuid, UUID or uuid), so they cannot be shown.")
}

func TestDeviceWithoutAnyValueIsSaid(t *testing.T) {
	s := &promtest.Store{}
	s.Constant(map[string]string{"__name__": "DCGM_FI_DEV_MEMORY_TEMP", "Hostname": "a", "gpu": "0", "UUID": "GPU-1"}, 9223372036854775794)
	s.Constant(map[string]string{"__name__": "DCGM_FI_DEV_MEMORY_TEMP", "Hostname": "a", "gpu": "1", "UUID": "GPU-2"}, 43)
	result := ask(t, open(t, s), "gpu_memory_temperature_celsius", "")
	wantLast(t, result, map[string]float64{"a · GPU 1": 43})
	wantNotice(t, result.Notices, "11 samples of gpu_memory_temperature_celsius on 1 device mean that there is no value, and are not shown.")
	wantNotice(t, result.Notices, "1 device is without a single value of gpu_memory_temperature_celsius in this range.")
}

func TestManyNodesAreAskedInTheBody(t *testing.T) {
	s := &promtest.Store{}
	var nodes []string
	for i := range 600 {
		name := strings.Repeat("n", 36) + "-" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676))
		nodes = append(nodes, `"`+name+`"`)
		if i < 3 {
			s.Constant(map[string]string{"__name__": "gpu_power_watts", "node": name, "gpu": "0", "gpu_uuid": "GPU-" + name}, 1)
		}
	}
	result := ask(t, open(t, s), "gpu_power_watts", `"nodes":[`+strings.Join(nodes, ",")+`]`)
	if len(result.Series) != 3 {
		t.Errorf("got %d series", len(result.Series))
	}
	for _, request := range s.Requests() {
		if !strings.HasPrefix(request, "POST ") {
			t.Errorf("%.100s", request)
		}
	}
}

func TestOneRequestForAllNamesOfAGauge(t *testing.T) {
	s := exposition(t, "exporter_4_8.prom", "exporter_4_9.prom")
	h := open(t, s)
	ask(t, h, "gpu_power_watts", "")
	before := len(s.Requests())
	ask(t, h, "gpu_temperature_celsius", "")
	if got := s.Requests()[before:]; len(got) != 1 || !strings.HasPrefix(got[0], `POST /api/v1/query_range {__name__=~"DCGM_FI_DEV_GPU_TEMP|DCGM_FI_DEV_GPU_TEMP_CELSIUS"}`) {
		t.Errorf("the second metric asked %q", got)
	}
}

func TestGridPutsForeignTimesOnThePointBefore(t *testing.T) {
	w := query.NewWindow(query.WindowOptions{From: time.Unix(t0, 0), To: time.Unix(t0+120, 0), MinStep: time.Minute})
	g := gridOf(false, w)
	for at, want := range map[int64]int{t0*1000 - 1: -1, t0 * 1000: 0, (t0 + 59) * 1000: 0, (t0 + 60) * 1000: 1, (t0 + 120) * 1000: 2, (t0 + 180) * 1000: -1} {
		if got := g.at(at); got != want {
			t.Errorf("%d: got %d, want %d", at, got, want)
		}
	}
}

func TestDevicesOfAllServers(t *testing.T) {
	a, b := threeExporters(), exposition(t, "mig_no_util.prom")
	h := open(t, a, b)
	devices, _ := h.Devices(context.Background())
	if !slices.IsSortedFunc(devices, compareDevices) || len(devices) < 4 {
		t.Errorf("got %v", devices)
	}
	for _, d := range devices {
		if d.Cluster != "north" {
			t.Errorf("%+v", d)
		}
	}
	asked := len(a.Requests())
	h.Devices(context.Background())
	if len(a.Requests()) != asked {
		t.Error("devices were asked for again at once")
	}
}

func TestAgents(t *testing.T) {
	s := &promtest.Store{}
	add := func(labels ...string) {
		m := map[string]string{"__name__": "warpwatch_agent_info"}
		for i := 0; i < len(labels); i += 2 {
			m[labels[i]] = labels[i+1]
		}
		s.Constant(m, 1)
	}
	add("node", "b", "version", "0.1.0", "instance", "10.0.0.2:9847")
	add("node", "a", "version", "0.1.0", "instance", "10.0.0.1:9847", "address", "a.gpu.example.com:9847", "scheme", "https", "source", "nvml")
	add("node", "c", "instance", "c-without-port")
	h := open(t, s, s)
	agents, notices := h.Agents(context.Background())
	want := []Agent{
		{Cluster: "north", Node: "a", Address: "a.gpu.example.com:9847", Scheme: "https", Version: "0.1.0"},
		{Cluster: "north", Node: "b", Address: "10.0.0.2:9847", Version: "0.1.0"},
	}
	if !slices.Equal(agents, want) || len(notices) > 0 {
		t.Errorf("got %+v, %v", agents, notices)
	}
}

// While a server is down the agents that it told of stay; those of servers that answer come and go, as does what a failed
// replica alone remembers. Otherwise addresses would add up for as long as anything is down.
func TestAgentsOfAServerThatIsDown(t *testing.T) {
	now := time.Unix(t0, 0)
	nodes := map[string]string{"a": "n0", "b": "n1", "c": "n2", "d": "n2"}
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		node := nodes[r.URL.Host]
		if node == "" {
			return nil, errors.New("down")
		}
		body := `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"node":"` + node + `","instance":"` + node + `:9847"},"value":[1793400000,"1"]}]}}`
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})}
	var endpoints []Endpoint
	for _, id := range []string{"a", "b", "c", "d"} {
		endpoints = append(endpoints, Endpoint{ID: id, Cluster: "north", URL: "http://" + id, HTTP: client, Replica: id > "b"})
	}
	h, err := New(endpoints, mustCatalog(t), Options{now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, step := range []struct {
		change  map[string]string
		want    string
		trouble bool
	}{
		{nil, "n0 n1 n2", false},
		{map[string]string{"a": "", "b": "n3"}, "n0 n2 n3", true},
		{map[string]string{"b": "n4", "c": "", "d": "n5"}, "n0 n4 n5", true},
		{map[string]string{"b": "", "d": ""}, "n0 n2 n4 n5", true},
		{map[string]string{"a": "n6", "b": "n4", "c": "n5", "d": "n5"}, "n4 n5 n6", false},
	} {
		maps.Copy(nodes, step.change)
		now = now.Add(time.Minute)
		agents, notices := h.Agents(t.Context())
		var got []string
		for _, a := range agents {
			got = append(got, a.Node)
		}
		if strings.Join(got, " ") != step.want || (len(notices) > 0) != step.trouble {
			t.Errorf("%v: got %v, %v", step.change, got, notices)
		}
	}
}

func TestRosterKeepsTheBestName(t *testing.T) {
	r := roster{}
	key := keyFor("", "GPU-1", "")
	r[key] = &resident{device: gpu.Device{Identity: gpu.Identity{Node: "ip", UUID: "GPU-1"}, Index: -1, Driver: "1"}, rank: 1}
	other := roster{key: {device: gpu.Device{Identity: gpu.Identity{Node: "gpu-01", UUID: "GPU-1"}, Index: 3}, rank: 0}}
	r.take(other)
	if got := r[key].device; got.Node != "gpu-01" || got.Index != 3 || got.Driver != "1" {
		t.Errorf("got %+v", got)
	}
	if other[key].device.Driver != "" {
		t.Error("the other roster was changed")
	}
}
