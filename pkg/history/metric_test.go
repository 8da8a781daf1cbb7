package history

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// t0 is the first time of the recorded answers.
const t0 = 1793400000

func mustCatalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// open makes a history of stores, each an endpoint "p0", "p1" … of the cluster "north".
func open(t testing.TB, stores ...*promtest.Store) *History {
	t.Helper()
	var endpoints []Endpoint
	for i, s := range stores {
		endpoints = append(endpoints, Endpoint{ID: fmt.Sprintf("p%d", i), Cluster: "north", URL: promtest.Serve(t, s)})
	}
	return openAt(t, endpoints...)
}

func openAt(t testing.TB, endpoints ...Endpoint) *History {
	t.Helper()
	h, err := New(endpoints, mustCatalog(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// exposition fills a store from files of testdata; "instance" tells their targets apart.
func exposition(t testing.TB, files ...string) *promtest.Store {
	t.Helper()
	s := &promtest.Store{}
	for i, name := range files {
		scrape(t, s, name, map[string]string{"instance": fmt.Sprintf("10.9.0.%d:9400", i+1), "job": "dcgm"})
	}
	return s
}

func scrape(t testing.TB, s *promtest.Store, name string, labels map[string]string) {
	t.Helper()
	file, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := s.Exposition(file, labels); err != nil {
		t.Fatal(err)
	}
}

func recorded(t testing.TB, name string) *promtest.Store {
	t.Helper()
	s := &promtest.Store{}
	if err := s.Answer(fixture(t, name)); err != nil {
		t.Fatal(err)
	}
	return s
}

func window(seconds int64, step time.Duration) query.Window {
	return query.NewWindow(query.WindowOptions{
		From: time.Unix(t0, 0), To: time.Unix(t0+seconds, 0), MaxDataPoints: 11000, MinStep: step, ScrapeInterval: step,
	})
}

// ask answers a metric over the first ten minutes.
func ask(t testing.TB, h *History, metric, scope string) Result {
	t.Helper()
	return askOver(t, h, metric, scope, window(600, time.Minute))
}

func askOver(t testing.TB, h *History, metric, scope string, w query.Window) Result {
	t.Helper()
	if scope != "" {
		scope = "," + scope
	}
	q, err := query.Parse([]byte(`{"metric":"`+metric+`"`+scope+`}`), query.TypeMetric)
	if err != nil {
		t.Fatal(err)
	}
	m, err := q.MetricIn(mustCatalog(t))
	if err != nil {
		t.Fatal(err)
	}
	result := h.Metric(context.Background(), q, m, w)
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	for _, s := range result.Series {
		if len(s.Times) != len(s.Values) || !rising(s.Times) {
			t.Fatalf("%s: %d times, %d values", s.Device.Name(), len(s.Times), len(s.Values))
		}
	}
	return result
}

// last is the last value of each device, by name.
func last(result Result) map[string]float64 {
	values := map[string]float64{}
	for _, s := range result.Series {
		values[s.Device.Name()] = s.Values[len(s.Values)-1]
	}
	return values
}

func near(got, want map[string]float64, tolerance float64) bool {
	return maps.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) <= tolerance*math.Abs(b) })
}

func wantLast(t *testing.T, result Result, want map[string]float64) {
	t.Helper()
	if got := last(result); !near(got, want, 1e-9) {
		t.Errorf("got  %v\nwant %v\nasked %s\nnotices %v", got, want, result.Executed, result.Notices)
	}
}

func wantNotice(t *testing.T, notices []gpu.Notice, text string) {
	t.Helper()
	if !slices.ContainsFunc(notices, func(n gpu.Notice) bool { return strings.Contains(n.Text, text) }) {
		t.Errorf("no notice says %q:\n%v", text, notices)
	}
}

func wantQuiet(t *testing.T, result Result) {
	t.Helper()
	if len(result.Notices) > 0 {
		t.Errorf("notices %v", result.Notices)
	}
}

// Two generations of one exporter in the middle of an upgrade.
func TestMetricAcrossExporterGenerations(t *testing.T) {
	h := open(t, exposition(t, "exporter_4_8.prom", "exporter_4_9.prom"))
	old, fresh := "old-node · GPU 0 · H100 80GB HBM3", "new-node · GPU 0 · H100 80GB HBM3"
	old1, fresh1 := "old-node · GPU 1 · H100 80GB HBM3", "new-node · GPU 1 · H100 80GB HBM3"
	for metric, want := range map[string]float64{
		"gpu_utilization_ratio":            0.87,
		"gpu_memory_utilization_ratio":     0.31,
		"gpu_sm_clock_hertz":               1755e6,
		"gpu_memory_clock_hertz":           2619e6,
		"gpu_power_watts":                  311.402,
		"gpu_temperature_celsius":          41,
		"gpu_memory_used_bytes":            59960 * 1048576,
		"gpu_memory_reserved_bytes":        565 * 1048576,
		"gpu_graphics_engine_active_ratio": 0.861,
	} {
		result := ask(t, h, metric, "")
		if got := last(result); !near(got, map[string]float64{old: want, old1: want, fresh: want, fresh1: want}, 1e-6) {
			t.Errorf("%s: got %v, want %v on each\n%s %v", metric, got, want, result.Executed, result.Notices)
		}
		wantQuiet(t, result)
	}
	// The old generation reports no total, so it is the sum of its parts.
	total := ask(t, h, "gpu_memory_total_bytes", "")
	if got := last(total); math.Abs(got[old]-81559*1048576) > 1 || got[fresh] != 85520809984 {
		t.Errorf("total: got %v", got)
	}
	result := ask(t, h, "gpu_xid_last", "")
	if got := last(result); len(got) != 4 || got[old] != 0 {
		t.Errorf("XID: got %v", got)
	}
	for _, d := range result.Series {
		if d.Device.Driver == "" {
			t.Errorf("%s: the driver's version is missing", d.Device.Name())
		}
	}
}

func TestMetricUnderEverySpellingOfTheHost(t *testing.T) {
	h := open(t, exposition(t, "hostname_case.prom"))
	result := ask(t, h, "gpu_utilization_ratio", "")
	wantLast(t, result, map[string]float64{
		"legacy-01 · GPU 0 · H100 80GB HBM3": 0.12, "current-01 · GPU 0 · H100 80GB HBM3": 0.34, "both-01 · GPU 0 · H100 80GB HBM3": 0.56,
		"relabelled-01 · GPU 0 · H100 80GB HBM3": 0.78, "relabelled-02 · GPU 0 · H100 80GB HBM3": 0.9, "10.9.0.1 · GPU 0 · H100 80GB HBM3": 0.11,
	})
	for _, node := range []string{"legacy-01", "current-01", "both-01", "relabelled-01", "relabelled-02", "10.9.0.1"} {
		one := ask(t, h, "gpu_utilization_ratio", `"nodes":["`+node+`"]`)
		if got := last(one); len(got) != 1 || one.Series[0].Device.Node != node {
			t.Errorf("scope %s: got %v, asked %s", node, got, one.Executed)
		}
	}
	if got := last(ask(t, h, "gpu_utilization_ratio", `"nodes":["stale-name"]`)); len(got) != 0 {
		t.Errorf("a name that lost against a better one selects %v", got)
	}
	if got := last(ask(t, h, "gpu_utilization_ratio", `"nodes":["/relabelled-.*/"]`)); len(got) != 2 {
		t.Errorf("expression: got %v", got)
	}
}

func TestMetricWithUselessHosts(t *testing.T) {
	h := open(t, recorded(t, "hostname_useless.json"))
	wantLast(t, ask(t, h, "gpu_utilization_ratio", ""), map[string]float64{
		"10.9.0.11 · GPU 0 · H100 80GB HBM3": 0.1, "10.9.0.12 · GPU 0 · H100 80GB HBM3": 0.2, "10.9.0.13 · GPU 0 · H100 80GB HBM3": 0.3,
		"render-07 · GPU 0 · H100 80GB HBM3": 0.4,
	})
	devices, notices := h.Devices(context.Background())
	if len(devices) != 4 {
		t.Errorf("devices: %v", devices)
	}
	wantNotice(t, notices, `An exporter's host label is "localhost" (and 1 more like it), which names no node; the label "instance" names the node instead.`)
}

func TestMetricDropsGarbage(t *testing.T) {
	h := open(t, recorded(t, "util_garbage_range.json"))
	result := askOver(t, h, "gpu_utilization_ratio", "", window(39*60, time.Minute))
	if len(result.Series) != 2 {
		t.Fatalf("got %d series", len(result.Series))
	}
	for _, s := range result.Series {
		gaps, largest := 0, 0.0
		for _, v := range s.Values {
			if math.IsNaN(v) {
				gaps++
				continue
			}
			largest = max(largest, v)
		}
		if s.Device.Index == 0 && gaps != 5 || largest > 1 {
			t.Errorf("%s: %d gaps, at most %v", s.Device.Name(), gaps, largest)
		}
	}
	wantNotice(t, result.Notices, "4 samples of gpu_utilization_ratio on 1 device cannot be true (up to 875770417) and are not shown")
	wantNotice(t, result.Notices, "1 sample of gpu_utilization_ratio on 1 device mean that there is no value")
	other := askOver(t, h, "gpu_utilization_ratio", `"gpus":["GPU-5e1f0001-0a00-4a00-8b00-000000000001"]`, window(39*60, time.Minute))
	wantQuiet(t, other)
}

func TestMetricOfMIGInstancesWithoutUtilization(t *testing.T) {
	h := open(t, exposition(t, "mig_no_util.prom"))
	result := ask(t, h, "gpu_utilization_ratio", "")
	want := map[string]float64{}
	for _, s := range ask(t, h, "gpu_graphics_engine_active_ratio", "").Series {
		want[s.Device.Name()] = s.Values[0]
	}
	if len(want) < 2 {
		t.Fatalf("instances: %v", want)
	}
	wantLast(t, result, want)
	wantNotice(t, result.Notices, "NVIDIA reports no gpu_utilization_ratio for MIG instances; theirs is gpu_graphics_engine_active_ratio.")
	for _, s := range result.Series {
		if !s.Device.IsMIG() {
			t.Errorf("%s is no instance", s.Device.Name())
		}
	}
	// Temperature is a fact of the board, however many instances repeat it.
	temperature := ask(t, h, "gpu_temperature_celsius", "")
	if len(temperature.Series) != 1 || temperature.Series[0].Device.IsMIG() || !temperature.Series[0].Device.MIGEnabled {
		t.Errorf("temperature: %+v", temperature.Series)
	}
}

func TestProfileIsNoPartOfTheIdentity(t *testing.T) {
	s := exposition(t, "profile_mismatch.prom")
	agent := map[string]string{"__name__": "gpu_memory_used_bytes", "node": "rack1-gpu01", "gpu": "0", "model": "NVIDIA H100 NVL",
		"gpu_uuid": "GPU-5e1f0000-0a00-4a00-8b00-000000000000", "mig_id": "7", "mig_profile": "1g.12gb", "instance": "rack1-gpu01:9847"}
	s.Constant(agent, 12<<20)
	info := maps.Clone(agent)
	info["__name__"] = "gpu_mig_info"
	info["mig_uuid"], info["compute_instance_id"] = "MIG-1", "0"
	s.Constant(info, 1)
	result := ask(t, open(t, s), "gpu_memory_used_bytes", "")
	wantLast(t, result, map[string]float64{
		"rack1-gpu01 · GPU 0 · MIG 1g.12gb #7": 12 << 20, // the driver's name for it, not the exporter's
		"rack1-gpu01 · GPU 0 · MIG 1g.11gb #8": 12 << 20,
		"rack1-gpu01 · GPU 1 · MIG 7g.79gb #0": 37 << 20,
	})
}

func TestMissingCellsStayEmpty(t *testing.T) {
	h := open(t, exposition(t, "mig_partial.prom"))
	devices, _ := h.Devices(context.Background())
	instances, whole := 0, 0
	for _, d := range devices {
		if d.IsMIG() {
			instances++
		} else {
			whole++
		}
	}
	if instances != 4 || whole != 3 {
		t.Errorf("%d instances, %d boards: %v", instances, whole, devices)
	}
	for metric, want := range map[string]int{"gpu_graphics_engine_active_ratio": 3, "gpu_memory_used_bytes": 3, "gpu_memory_temperature_celsius": 2} {
		if got := ask(t, h, metric, ""); len(got.Series) < want-1 || len(got.Series) > want+1 {
			t.Errorf("%s: %d series", metric, len(got.Series))
		}
	}
	for _, s := range ask(t, h, "gpu_memory_used_bytes", "").Series {
		if s.Device.UUID == "GPU-5e1f0000-0a00-4a00-8b00-000000000000" {
			t.Errorf("%s has another's memory: %v", s.Device.Name(), s.Values)
		}
	}
}

func TestRatioAboveOneIsKeptAndSaid(t *testing.T) {
	result := ask(t, open(t, exposition(t, "mig_ratio_over_one.prom")), "gpu_sm_active_ratio", "")
	if got := last(result)["rack1-gpu01 · GPU 3 · MIG 1g.10gb #9"]; got != 1.17 {
		t.Errorf("got %v", last(result))
	}
	wantNotice(t, result.Notices, "11 samples of gpu_sm_active_ratio on 1 device are above 1, as measured.")
}

func TestScopeByOwner(t *testing.T) {
	h := open(t, recorded(t, "exported_pod.json"))
	g := func(i int) string { return fmt.Sprintf("rack1-gpu01 · GPU %d · RTX 4090", i) }
	for scope, want := range map[string]map[string]float64{
		``:                               {g(0): 0.71, g(1): 0, g(2): 0.99},
		`"pods":["notebook-ana-0"]`:      {g(0): 0.71},
		`"pods":["/.*/"]`:                {g(0): 0.71, g(2): 0.99},
		`"pods":["dcgm-exporter-7h2qk"]`: {},
		`"namespaces":["lab"]`:           {g(0): 0.71, g(2): 0.99},
		`"namespaces":["gpu-mon"]`:       {},
		`"namespaces":["unassigned"]`:    {g(1): 0},
		`"pods":["unassigned"]`:          {g(1): 0},
	} {
		wantLast(t, ask(t, h, "gpu_utilization_ratio", scope), want)
	}
	empty := open(t, exposition(t, "empty_pod.prom"))
	if got := last(ask(t, empty, "gpu_utilization_ratio", `"pods":["unassigned"]`)); len(got) != 2 {
		t.Errorf("unassigned: %v", got)
	}
	if got := last(ask(t, empty, "gpu_utilization_ratio", `"pods":["train-a-0"]`)); len(got) != 1 {
		t.Errorf("assigned: %v", got)
	}
}

func TestTimeSlicesAreOneGPU(t *testing.T) {
	h := open(t, exposition(t, "timeslice.prom"))
	wantLast(t, ask(t, h, "gpu_graphics_engine_active_ratio", ""), map[string]float64{"rack1-gpu01 · GPU 0 · T4": 0.642})
	wantLast(t, ask(t, h, "gpu_power_watts", ""), map[string]float64{"rack1-gpu01 · GPU 0 · T4": 61.5})
}

func TestMetricOfTheFirstExporters(t *testing.T) {
	h := open(t, exposition(t, "legacy_1x.prom"))
	for metric, want := range map[string]float64{
		"gpu_sm_clock_hertz": 615e6, "gpu_memory_clock_hertz": 5001e6, "gpu_temperature_celsius": 49, "gpu_power_watts": 27.415,
		"gpu_utilization_ratio": 0, "gpu_memory_used_bytes": 11005 * 1048576,
	} {
		wantLast(t, ask(t, h, metric, ""), map[string]float64{"10.9.0.1 · GPU 0": want})
	}
}

func TestVGPUIsListedWithoutTemperature(t *testing.T) {
	h := open(t, exposition(t, "vgpu_guest.prom"))
	devices, _ := h.Devices(context.Background())
	if len(devices) != 1 || devices[0].Name() != "vm-lab-3 · GPU 0 · GRID A100X 20C" {
		t.Errorf("devices: %v", devices)
	}
	wantLast(t, ask(t, h, "gpu_utilization_ratio", ""), map[string]float64{"vm-lab-3 · GPU 0 · GRID A100X 20C": 0.17})
	result := ask(t, h, "gpu_temperature_celsius", "")
	wantNotice(t, result.Notices, "No exporter reports gpu_temperature_celsius: none of its series (gpu_temperature_celsius, DCGM_FI_DEV_GPU_TEMP, "+
		"DCGM_FI_DEV_GPU_TEMP_CELSIUS, dcgm_gpu_temp and 7 more) exists in Prometheus.")
}

func TestScopeByModelInAnySpelling(t *testing.T) {
	h := open(t, recorded(t, "model_names.json"))
	for _, model := range []string{"NVIDIA T400 4GB", "NVIDIA-T400-4GB", "T400 4GB"} {
		if got := last(ask(t, h, "gpu_power_watts", `"models":["`+model+`"]`)); len(got) != 2 {
			t.Errorf("%s: got %v", model, got)
		}
	}
}

func TestNameInLowerCase(t *testing.T) {
	s := &promtest.Store{}
	s.Constant(map[string]string{"__name__": "dcgm_fi_dev_gpu_util", "UUID": "GPU-1", "gpu": "0", "hostname": "n1"}, 55)
	wantLast(t, ask(t, open(t, s), "gpu_utilization_ratio", ""), map[string]float64{"n1 · GPU 0": 0.55})
}

// One name that is per cent on one target and a ratio on another.
func TestUnitIsDecidedForEachTarget(t *testing.T) {
	const name = "DCGM_FI_DEV_GPU_UTIL_RATIO"
	labels := func(uuid, instance string) map[string]string {
		return map[string]string{"__name__": name, "UUID": uuid, "gpu": "0", "hostname": instance, "instance": instance + ":9400", "job": "dcgm"}
	}
	points := func(values ...float64) (list []promtest.Point) {
		for i, v := range values {
			list = append(list, promtest.Point{Time: (t0 - 7200 + int64(i)*60) * 1000, Value: v})
		}
		return list
	}
	steady := func(value float64) []float64 { return slices.Repeat([]float64{value}, 140) }
	s := &promtest.Store{}
	s.Add(labels("GPU-a", "percent"), points(steady(87)...)...)
	s.Add(labels("GPU-b", "ratio"), points(steady(0.87)...)...)
	s.Add(labels("GPU-c", "idle"), points(steady(0)...)...)
	// At 1 for as long as the panel shows, but busier in the hours before: per cent.
	s.Add(labels("GPU-d", "was-busy"), points(append(slices.Repeat([]float64{64}, 60), slices.Repeat([]float64{1}, 80)...)...)...)
	s.Add(labels("GPU-e", "full"), points(steady(1)...)...)
	// Nearly idle for as long as anyone remembers, but with a label that went when the ratios came.
	old := labels("GPU-f", "old")
	old["DCGM_FI_DRIVER_VERSION"] = "580.00.01"
	s.Add(old, points(steady(1)...)...)
	// Two nodes behind one collector.
	for node, value := range map[string]float64{"node-p": 64, "node-r": 0.64} {
		behind := labels("GPU-"+node, node)
		behind["instance"] = "collector:8889"
		s.Add(behind, points(steady(value)...)...)
	}
	wantLast(t, ask(t, open(t, s), "gpu_utilization_ratio", ""), map[string]float64{
		"percent · GPU 0": 0.87, "ratio · GPU 0": 0.87, "idle · GPU 0": 0, "was-busy · GPU 0": 0.01, "full · GPU 0": 1,
		"old · GPU 0": 0.01, "node-p · GPU 0": 0.64, "node-r · GPU 0": 0.64,
	})
}
