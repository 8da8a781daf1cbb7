package history

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// dcgm are the labels of a series of dcgm-exporter.
func dcgm(name string, i int, more ...string) map[string]string {
	labels := map[string]string{"__name__": name, "gpu": fmt.Sprint(i), "UUID": fmt.Sprintf("GPU-%d", i), "modelName": "NVIDIA H100 80GB HBM3",
		"Hostname": "n1", "instance": "n1:9400", "job": "dcgm"}
	for at := 0; at < len(more); at += 2 {
		labels[more[at]] = more[at+1]
	}
	return labels
}

func every(step time.Duration, values ...float64) []promtest.Point {
	points := make([]promtest.Point, len(values))
	for i, v := range values {
		points[i] = promtest.Point{Time: t0*1000 + int64(i)*step.Milliseconds(), Value: v}
	}
	return points
}

func names(devices []gpu.Device) string {
	var list []string
	for _, d := range devices {
		list = append(list, d.Name())
	}
	return strings.Join(list, ", ")
}

func notNotice(t *testing.T, notices []gpu.Notice, text string) {
	t.Helper()
	for _, n := range notices {
		if strings.Contains(n.Text, text) {
			t.Errorf("notice %q", n.Text)
		}
	}
}

func TestLastXIDIsTheNewestCode(t *testing.T) {
	h := open(t, recorded(t, "xid_sticky_range.json"))
	w := window(9570, 30*time.Second)
	result := askOver(t, h, "gpu_xid_last", "", w)
	if len(result.Series) != 1 {
		t.Fatalf("got %d series", len(result.Series))
	}
	var codes []float64
	var starts []int64
	for i, v := range result.Series[0].Values {
		if len(codes) == 0 || v != codes[len(codes)-1] {
			codes, starts = append(codes, v), append(starts, result.Series[0].Times[i]/1000-t0)
		}
	}
	if fmt.Sprint(codes, starts) != "[0 31 94] [0 300 9000]" {
		t.Errorf("codes %v from %v", codes, starts)
	}
	wantNotice(t, result.Notices, "gpu_xid_last is the last code, not a count: 94 on rack1-gpu01 · GPU 0 · H100 80GB HBM3 since "+clock((t0+9000)*1000))
	wantNotice(t, result.Notices, "the same code again does not show. gpu_xid_errors_total counts each")
	now := askOver(t, h, "gpu_xid_last", `"instant":true`, w)
	if got := last(now); len(got) != 1 || got["rack1-gpu01 · GPU 0 · H100 80GB HBM3"] != 94 {
		t.Errorf("now: %v", got)
	}

	// A smaller code after a larger one, while the server still repeats the old series.
	s := &promtest.Store{}
	s.Add(dcgm("DCGM_FI_DEV_XID_ERROR", 0, "err_code", "94"), every(time.Minute, 94, 94, 94)...)
	s.Add(dcgm("DCGM_FI_DEV_XID_ERROR", 0, "err_code", "13"), promtest.Point{Time: (t0 + 180) * 1000, Value: 13}, promtest.Point{Time: (t0 + 600) * 1000, Value: 13})
	if got := ask(t, open(t, s), "gpu_xid_last", "").Series[0].Values; fmt.Sprint(got[2:5]) != "[94 13 13]" {
		t.Errorf("got %v", got)
	}
	quiet := &promtest.Store{}
	quiet.Constant(dcgm("DCGM_FI_DEV_XID_ERRORS", 0, "err_code", "0"), 0)
	wantQuiet(t, ask(t, open(t, quiet), "gpu_xid_last", ""))
	text := ask(t, open(t, exposition(t, "xid_errmsg.prom")), "gpu_xid_last", "")
	wantLast(t, text, map[string]float64{"rack1-gpu01 · GPU 0 · H100 80GB HBM3": 45, "rack1-gpu01 · GPU 1 · H100 80GB HBM3": 999})
	wantNotice(t, text.Notices, "45 on rack1-gpu01 · GPU 0 · H100 80GB HBM3 since before this range, 999 (unknown) on rack1-gpu01")
}

func TestProfilingThatDiedIsNotIdle(t *testing.T) {
	h := open(t, recorded(t, "prof_zero.json"))
	for _, scope := range []string{"", `"instant":true`, `"nodes":["rack1-gpu01"]`} {
		result := ask(t, h, "gpu_graphics_engine_active_ratio", scope)
		wantLast(t, result, map[string]float64{"rack1-gpu01 · GPU 1 · H100 80GB HBM3": 0.987})
		wantNotice(t, result.Notices, "while gpu_utilization_ratio is high on rack1-gpu01 · GPU 0 · H100 80GB HBM3: profiling has stopped there, the GPU is not idle")
	}
	wantLast(t, ask(t, h, "gpu_utilization_ratio", ""), map[string]float64{
		"rack1-gpu01 · GPU 0 · H100 80GB HBM3": 1, "rack1-gpu01 · GPU 1 · H100 80GB HBM3": 0.99})

	// An idle GPU, one that profiles nothing in the new names, one that died midway, one without utilization.
	s := &promtest.Store{}
	s.Constant(dcgm("DCGM_FI_DEV_GPU_UTIL", 0), 0)
	s.Constant(dcgm("DCGM_FI_PROF_SM_ACTIVE", 0), 0)
	s.Constant(dcgm("DCGM_FI_DEV_GPU_UTIL_RATIO", 1), 0.98)
	s.Constant(dcgm("DCGM_FI_PROF_SM_UTIL_RATIO", 1), 0)
	s.Constant(dcgm("DCGM_FI_DEV_GPU_UTIL", 2), 97)
	s.Add(dcgm("DCGM_FI_PROF_SM_ACTIVE", 2), every(time.Minute, .8, .8, .8, 0, 0, 0, 0, 0, 0, 0, 0)...)
	s.Constant(dcgm("DCGM_FI_PROF_SM_ACTIVE", 3), 0)
	s.Constant(dcgm("DCGM_FI_DEV_GPU_UTIL", 4), 30)
	s.Constant(dcgm("DCGM_FI_PROF_SM_ACTIVE", 4), 0)
	result := ask(t, open(t, s), "gpu_sm_active_ratio", "")
	n := func(i int) string { return fmt.Sprintf("n1 · GPU %d · H100 80GB HBM3", i) }
	wantLast(t, result, map[string]float64{n(0): 0, n(2): 0.8, n(3): 0, n(4): 0})
	wantNotice(t, result.Notices, "gpu_sm_active_ratio is 0 in 19 samples while gpu_utilization_ratio is high on "+n(1)+", "+n(2)+": profiling has stopped there")
}

func TestFrozenExporterIsSaid(t *testing.T) {
	h := open(t, recorded(t, "frozen_range.json"))
	w := window(3570, 30*time.Second)
	for _, metric := range []string{"gpu_utilization_ratio", "gpu_power_watts"} {
		wantNotice(t, askOver(t, h, metric, "", w).Notices,
			"The values of rack1-gpu01 · GPU 0 · H100 80GB HBM3 have not changed since "+clock((t0+150)*1000)+", not even the power: the exporter seems to repeat old ones.")
	}
	wantQuiet(t, askOver(t, h, "gpu_power_watts", "", window(300, 30*time.Second)))

	steady := func(power func(i int) float64, util float64) Result {
		s := &promtest.Store{}
		var watts []float64
		for i := range 120 {
			watts = append(watts, power(i))
		}
		s.Add(dcgm("DCGM_FI_DEV_POWER_USAGE", 0), every(30*time.Second, watts...)...)
		s.Constant(dcgm("DCGM_FI_DEV_GPU_UTIL", 0), util)
		return askOver(t, open(t, s), "gpu_utilization_ratio", "", w)
	}
	for name, quiet := range map[string]Result{
		"idle, power jitters":    steady(func(i int) float64 { return 61.2 + float64(i%3)/10 }, 0),
		"steady work":            steady(func(i int) float64 { return 300.5 + float64(i%7) }, 25),
		"full, power at a limit": steady(func(int) float64 { return 699.9 }, 100),
		"whole watts":            steady(func(int) float64 { return 9 }, 25),
	} {
		if len(quiet.Notices) > 0 {
			t.Errorf("%s: %v", name, quiet.Notices)
		}
	}
	frozen := steady(func(i int) float64 { return 300.5 + float64(min(i, 30)) }, 25)
	wantNotice(t, frozen.Notices, "have not changed since "+clock((t0+900)*1000))
}

func TestDevicesWithoutTheMetricAreListed(t *testing.T) {
	partial := open(t, exposition(t, "mig_partial.prom"))
	for metric, want := range map[string]string{
		"gpu_memory_temperature_celsius":   "",
		"gpu_graphics_engine_active_ratio": "rack1-gpu01 · GPU 1 · MIG 3g.40gb #2, rack1-gpu01 · GPU 2 · H100 80GB HBM3",
		"gpu_memory_used_bytes":            "rack1-gpu01 · GPU 0 · MIG 3g.40gb #1, rack1-gpu01 · GPU 0 · MIG 3g.40gb #2",
		"gpu_utilization_ratio":            "rack1-gpu01 · GPU 1 · MIG 3g.40gb #2",
	} {
		result := ask(t, partial, metric, "")
		if got := names(result.Absent); got != want {
			t.Errorf("%s: absent are %s, want %s", metric, got, want)
		}
	}
	if notice, ok := AbsentNotice("gpu_memory_used_bytes", ask(t, partial, "gpu_memory_used_bytes", "").Absent, 3); !ok || notice.Text !=
		"gpu_memory_used_bytes is not reported for 2 of 5 devices: rack1-gpu01 · GPU 0 · MIG 3g.40gb #1, rack1-gpu01 · GPU 0 · MIG 3g.40gb #2." {
		t.Errorf("notice %q", notice.Text)
	}
	for _, scope := range []string{`"gpus":["GPU-5e1f0002-0a00-4a00-8b00-000000000002"]`, `"namespaces":["team-a"]`, `"nodes":["elsewhere"]`} {
		if got := ask(t, partial, "gpu_memory_used_bytes", scope).Absent; len(got) > 0 {
			t.Errorf("scope %s: absent are %s", scope, names(got))
		}
	}
	mixed := exposition(t, "vgpu_guest.prom", "exporter_4_9.prom")
	result := ask(t, open(t, mixed), "gpu_temperature_celsius", "")
	if notice, _ := AbsentNotice("gpu_temperature_celsius", result.Absent, 2); notice.Text !=
		"gpu_temperature_celsius is not reported for 1 of 3 devices (not available on vGPUs): vm-lab-3 · GPU 0 · GRID A100X 20C." {
		t.Errorf("notice %q", notice.Text)
	}
	guest := open(t, exposition(t, "vgpu_guest.prom"))
	wantNotice(t, ask(t, guest, "gpu_power_watts", "").Notices, "It is not available on vGPUs")
	wantLast(t, ask(t, guest, "gpu_vgpu_license_status", ""), map[string]float64{"vm-lab-3 · GPU 0 · GRID A100X 20C": 0})
}

func TestWhatMIGDoesNotHaveIsSaid(t *testing.T) {
	h := open(t, exposition(t, "mig_no_util.prom"))
	for _, metric := range []string{"gpu_memory_utilization_ratio", "gpu_encoder_utilization_ratio", "gpu_decoder_utilization_ratio"} {
		wantNotice(t, ask(t, h, metric, "").Notices, "NVIDIA does not report it for GPUs that are split into MIG instances.")
	}
	// Beside a GPU that is not split.
	mixed := open(t, exposition(t, "mig_no_util.prom", "exporter_4_9.prom"))
	result := ask(t, mixed, "gpu_memory_utilization_ratio", "")
	wantNotice(t, result.Notices, "NVIDIA reports no gpu_memory_utilization_ratio for GPUs that are split into MIG instances; 1 is one in the selection.")
	if len(result.Series) != 2 || len(result.Absent) > 0 {
		t.Errorf("%d series, absent %s", len(result.Series), names(result.Absent))
	}
	if got := ask(t, mixed, "gpu_utilization_ratio", ""); len(got.Series) != 5 {
		t.Errorf("utilization: %v", last(got))
	}
	mig := `"migs":["GPU-5e1f0000-0a00-4a00-8b00-000000000000/7"]`
	wantNotice(t, ask(t, h, "gpu_temperature_celsius", mig).Notices, "gpu_temperature_celsius is a figure of the whole GPU, which a MIG instance has no part of: select the GPU.")
	if got := ask(t, h, "gpu_utilization_ratio", mig); len(got.Series) != 1 {
		t.Errorf("instance: %v", last(got))
	}
}

func TestExporterThatIsDownIsNamed(t *testing.T) {
	s := exposition(t, "exporter_4_8.prom")
	up := func(job, instance string, value float64, more ...string) {
		labels := map[string]string{"__name__": "up", "job": job, "instance": instance}
		for i := 0; i < len(more); i += 2 {
			labels[more[i]] = more[i+1]
		}
		s.Constant(labels, value)
	}
	up("dcgm", "10.9.0.1:9400", 1)
	up("dcgm", "10.9.0.7:9400", 0)
	up("nvidia-dcgm-exporter", "10.9.0.8:9400", 0, "node", "gpu-08")
	up("node-exporter", "10.9.0.9:9100", 0)
	h := open(t, s)
	result := ask(t, h, "gpu_power_watts", "")
	wantNotice(t, result.Notices, "Prometheus cannot scrape 2 exporters of GPU metrics: 10.9.0.7:9400 (job dcgm), 10.9.0.8:9400 (job nvidia-dcgm-exporter, node gpu-08).")
	if len(result.Series) != 2 {
		t.Errorf("got %d series", len(result.Series))
	}
	wantNotice(t, ask(t, h, "gpu_power_watts", `"nodes":["gpu-08"]`).Notices, "cannot scrape 1 exporter of GPU metrics: 10.9.0.8:9400")
	wantQuiet(t, ask(t, h, "gpu_power_watts", `"nodes":["old-node"]`))
}

func TestSharedGPUIsSaidForItsPods(t *testing.T) {
	h := open(t, exposition(t, "timeslice.prom"))
	for _, metric := range []string{"gpu_graphics_engine_active_ratio", "gpu_power_watts"} {
		one := ask(t, h, metric, `"pods":["work-1"]`)
		if len(one.Series) != 1 {
			t.Errorf("%s: %v", metric, last(one))
		}
		wantNotice(t, one.Notices, "Shared: rack1-gpu01 · GPU 0 · T4 by 3 pods. A value is the whole device's, not one pod's, unless the exporter tells pods apart.")
	}
	// With virtual GPUs switched on, memory and utilization come once for the device and once for each pod's own part.
	s := &promtest.Store{}
	s.Constant(dcgm("DCGM_FI_DEV_FB_USED", 0), 9000)
	s.Constant(dcgm("DCGM_FI_DEV_FB_USED", 0, "pod", "work-1", "namespace", "lab", "vgpu", "0"), 4000)
	s.Constant(dcgm("DCGM_FI_DEV_FB_USED", 0, "pod", "work-2", "namespace", "lab", "vgpu", "1"), 5000)
	parts := open(t, s)
	wantLast(t, ask(t, parts, "gpu_memory_used_bytes", ""), map[string]float64{"n1 · GPU 0 · H100 80GB HBM3": 9000 << 20})
	wantLast(t, ask(t, parts, "gpu_memory_used_bytes", `"pods":["work-1"]`), map[string]float64{"n1 · GPU 0 · H100 80GB HBM3": 4000 << 20})
	alone := open(t, exposition(t, "empty_pod.prom"))
	wantQuiet(t, ask(t, alone, "gpu_utilization_ratio", `"pods":["train-a-0"]`))
}

func TestRatiosOfInstancesAreNotAddedUp(t *testing.T) {
	h := open(t, exposition(t, "mig_sum.prom"))
	if got := last(ask(t, h, "gpu_graphics_engine_active_ratio", "")); len(got) != 4 {
		t.Errorf("got %v", got)
	}
	q, err := query.Parse([]byte(`{"metric":"gpu_graphics_engine_active_ratio","aggregateBy":"node","aggregation":"sum"}`), query.TypeMetric)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.MetricIn(mustCatalog(t)); err == nil || !strings.Contains(err.Error(), "sum of gpu_graphics_engine_active_ratio says nothing; use") {
		t.Errorf("got %v", err)
	}
}

// Exporters of old write DCGM's "no value" for counters, too. Its rate is not 0.
func TestCounterWithoutAValueHasNoRate(t *testing.T) {
	s := &promtest.Store{}
	s.Constant(dcgm("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 0), 9223372036854775794)
	s.Add(dcgm("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 1), counting(300_000)...)
	s.Constant(dcgm("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 2), 41900322417)
	result := ask(t, open(t, s), "gpu_energy_joules_total", "")
	wantLast(t, result, map[string]float64{"n1 · GPU 1 · H100 80GB HBM3": 300, "n1 · GPU 2 · H100 80GB HBM3": 0})
}

// A table of now says when its values are of some minutes ago.
func TestOldSamplesAreSaidInATable(t *testing.T) {
	s := &promtest.Store{}
	s.Add(dcgm("DCGM_FI_DEV_GPU_UTIL", 0), every(15*time.Second, 88, 88, 88, 88, 88)...)
	s.Add(dcgm("DCGM_FI_DEV_GPU_UTIL", 1), every(15*time.Second, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50)...)
	// Gone from one exporter, but not from the other.
	s.Add(dcgm("DCGM_FI_DEV_GPU_UTIL", 2), every(15*time.Second, 70)...)
	s.Constant(map[string]string{"__name__": "nvidia_smi_utilization_gpu_ratio", "uuid": "GPU-2", "instance": "n1:9835"}, 0.6)
	s.Constant(dcgm("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 3, "GPU_I_ID", "7"), 0.5)
	for _, scope := range []string{`"instant":true`, `"instant":true,"nodes":["n1"]`} {
		result := askOver(t, open(t, s), "gpu_utilization_ratio", scope, window(240, 15*time.Second))
		if len(result.Series) != 4 {
			t.Errorf("%s: %v", scope, last(result))
		}
		replica := &promtest.Store{}
		for i := range 4 {
			replica.Constant(dcgm("DCGM_FI_DEV_GPU_UTIL", i), 1)
		}
		notNotice(t, askOver(t, open(t, s, replica), "gpu_utilization_ratio", scope, window(240, 15*time.Second)).Notices, "not of now")
		wantNotice(t, result.Notices, "The last samples in Prometheus are not of now: n1 · GPU 0 · H100 80GB HBM3 at "+clock((t0+60)*1000)+". Where")
	}
}

// The past is asked for where values fit several units. That the server finds it too much is no reason to show nothing.
func TestUnitsAreInDoubtWhereThePastIsNotToBeHad(t *testing.T) {
	s := &promtest.Store{}
	s.Constant(map[string]string{"__name__": "DCGM_FI_DEV_GPU_UTIL_RATIO", "UUID": "GPU-1", "gpu": "0", "hostname": "a", "instance": "a:9400"}, 1)
	h := openAt(t, Endpoint{ID: "p", Cluster: "north", URL: promtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		if strings.Contains(r.Form.Get("query"), "max_over_time") {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory in query execution"}`)
			return
		}
		s.ServeHTTP(w, r)
	}))})
	result := ask(t, h, "gpu_utilization_ratio", "")
	if result.Err != nil || len(result.Series) != 1 {
		t.Fatalf("%v, %d series", result.Err, len(result.Series))
	}
	wantNotice(t, result.Notices, "The unit of DCGM_FI_DEV_GPU_UTIL_RATIO at a:9400 is not certain")
}
