package plugin

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// handled answers requests by a handler, without a network.
type handled struct{ http.Handler }

func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	return answer.Result(), nil
}

// judging are queries of every type that judges, by refId.
func judging() map[string]string {
	return map[string]string{
		"bottleneck": `"minStep":"1m"`, "health": ``, "efficiency": `"minStep":"1m","options":{"by":["node"]}`,
		"forecast capacity": `"minStep":"1m","options":{"of":"capacity"}`, "forecast memory": `"options":{"of":"memory"}`,
		"forecast temperature": `"options":{"of":"temperature"}`, "forecast errors": `"options":{"of":"errors"}`,
		"forecast metric": `"options":{"metric":"gpu_power_watts"}`, "anomaly history": `"options":{"metric":"gpu_power_watts"}`,
		"anomaly model": `"options":{"metric":"gpu_power_watts","against":"model"}`, "anomaly job": `"options":{"metric":"gpu_power_watts","against":"job"}`,
		"stragglers": ``, "memory": ``, "topology": ``, "events": ``,
	}
}

// reported is what one kind of exporter writes of a GPU, or of an instance of it.
type reported struct {
	values map[string]float64 // by series
	labels func(d gpu.Device) map[string]string
	mig    bool // the first GPU is split in two
	sparse bool // default fields: nothing may be sure
}

// exporters are those that the judgements must do with.
func exporters() map[string]reported {
	dcgmOf := func(node string) func(gpu.Device) map[string]string {
		return func(d gpu.Device) map[string]string {
			l := map[string]string{"gpu": fmt.Sprint(d.Index), "UUID": d.UUID, "modelName": d.Model, node: d.Node, "instance": d.Node + ":9400", "job": "dcgm"}
			if d.IsMIG() {
				l["GPU_I_ID"], l["GPU_I_PROFILE"] = d.GPUInstance, d.MIGProfile
			}
			return l
		}
	}
	old := map[string]float64{
		"DCGM_FI_DEV_GPU_UTIL": 90, "DCGM_FI_DEV_POWER_USAGE": 500, "DCGM_FI_DEV_GPU_TEMP": 60, "DCGM_FI_DEV_SM_CLOCK": 1900, "DCGM_FI_DEV_FB_USED": 30000,
		"DCGM_FI_DEV_FB_FREE": 50000, "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 0.9, "DCGM_FI_PROF_DRAM_ACTIVE": 0.2, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.6,
	}
	return map[string]reported{
		"agent": {
			values: map[string]float64{
				"gpu_utilization_ratio": 0.9, power: 500, temperature: 60, "gpu_sm_active_ratio": 0.8, "gpu_memory_used_bytes": 3e10, "gpu_memory_free_bytes": 5e10,
				"gpu_clock_event_reasons": 0, "gpu_recovery_action": 0,
			},
			labels: func(d gpu.Device) map[string]string {
				return map[string]string{"gpu": fmt.Sprint(d.Index), "gpu_uuid": d.UUID, "model": d.Model, "node": d.Node, "instance": d.Node + ":9847", "job": "agent"}
			},
		},
		"dcgm 4.8": {values: old, labels: dcgmOf("Hostname"), sparse: true},
		"dcgm 4.9": {
			values: map[string]float64{
				"DCGM_FI_DEV_GPU_UTIL_RATIO": 0.9, "DCGM_FI_DEV_BOARD_POWER_WATTS": 500, "DCGM_FI_DEV_GPU_TEMP_CELSIUS": 60, "DCGM_FI_DEV_SM_CLOCK_HERTZ": 1.9e9,
				"DCGM_FI_DEV_FB_USED_BYTES": 3e10, "DCGM_FI_DEV_FB_FREE_BYTES": 5e10, "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO": 0.9,
			},
			labels: dcgmOf("hostname"), sparse: true,
		},
		"MIG mixed": {values: old, labels: dcgmOf("Hostname"), mig: true, sparse: true},
	}
}

// boardsOf are two GPUs of a node, the first with two instances where it is split.
func boardsOf(node string, mig bool) []gpu.Device {
	list := agenttest.Devices(node, 2)
	if !mig {
		return list
	}
	for i, profile := range []string{"3g.71gb", "1g.18gb"} {
		instance := list[0]
		instance.GPUInstance, instance.MIGProfile, instance.MIGEnabled = fmt.Sprint(i+1), profile, true
		list = append(list, instance)
	}
	list[0].MIGEnabled = true
	return list
}

// fill adds a quarter of an hour up to now, with a sample that is no number in it.
func (e reported) fill(s *promtest.Store, node string, now time.Time) {
	for _, d := range boardsOf(node, e.mig) {
		for name, value := range e.values {
			if d.MIGEnabled && !d.IsMIG() && strings.Contains(name, "UTIL") {
				continue // the utilization of a GPU that is split is not told
			}
			labels := e.labels(d)
			labels["__name__"] = name
			var points []promtest.Point
			for at := now.Add(-15 * time.Minute); !at.After(now); at = at.Add(15 * time.Second) {
				v := value + value*float64(at.Unix()/15%7)/1000
				if at.Equal(now.Add(-5 * time.Minute)) {
					v = math.NaN()
				}
				points = append(points, promtest.Point{Time: at.UnixMilli(), Value: v})
			}
			s.Add(labels, points...)
		}
	}
}

// Every judgement answers, whoever measures: from history alone, from agents alone, and from both, for panels and for rules, with
// numbers that are numbers and a word on what is missing.
func TestJudgementsEverywhere(t *testing.T) {
	for name, exporter := range exporters() {
		for _, side := range []string{"history", "live", "auto"} {
			t.Run(name+"/"+side, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					var agents []agenttest.Options
					if side != "history" {
						agents = []agenttest.Options{{
							Node: "n1", Devices: boardsOf("n1", exporter.mig), Metrics: []string{power, temperature, "gpu_utilization_ratio", "gpu_memory_used_bytes"},
						}}
					}
					f := newFleet(t, agents...)
					store := &promtest.Store{}
					if side != "live" {
						past, err := history.New([]history.Endpoint{{ID: "a", Cluster: "north", URL: "http://prometheus", HTTP: &http.Client{Transport: handled{store}}, Timeout: time.Minute}},
							f.catalog, history.Options{ScrapeInterval: 15 * time.Second, CacheBytes: -1})
						if err != nil {
							t.Fatal(err)
						}
						f.history, f.settings.Clusters = past, []settings.Cluster{{Name: "north"}}
					}
					f.frames(t, time.Minute, `{"queryType":"inventory"}`) // connects
					time.Sleep(10 * time.Minute)
					exporter.fill(store, "n1", time.Now())
					everywhere(t, f, side, exporter)
				})
			})
		}
	}
}

func everywhere(t *testing.T, f *fleet, side string, exporter reported) {
	t.Helper()
	queries := map[string]string{}
	for name, more := range judging() {
		queryType, _, _ := strings.Cut(name, " ")
		queries[name] = strings.TrimSuffix(fmt.Sprintf(`{"queryType":%q,"source":%q,%s`, queryType, side, more), ",") + "}"
	}
	for _, headers := range []map[string]string{nil, {"FromAlert": "true"}} {
		answers := f.ask(t, 10*time.Minute, headers, queries)
		for name := range queries {
			who := name
			if headers != nil {
				who += " for rules"
			}
			answer, answered := answers[name]
			if !answered || answer.Error != nil || len(answer.Frames) == 0 {
				t.Errorf("%s: answered %v with %d frames, %v", who, answered, len(answer.Frames), answer.Error)
				continue
			}
			numbers(t, who, answer)
			rows := 0
			for _, frame := range answer.Frames {
				rows += frame.Rows()
				if headers != nil && len(frame.Fields) > 0 && !slices.Contains([]data.FrameType{data.FrameTypeNumericLong, data.FrameTypeNumericWide, data.FrameTypeNumericMulti}, frame.Meta.Type) {
					t.Errorf("%s: %q is %v", who, frame.Name, frame.Meta.Type)
				}
			}
			text := noticeTexts(answer.Frames)
			if rows == 0 && text == "" && !strings.HasPrefix(name, "events") {
				t.Errorf("%s: nothing, and no word", who)
			}
			lacking := slices.ContainsFunc([]string{"bottleneck", "health", "memory"}, func(has string) bool { return name == has })
			if lacking && !strings.Contains(text, "Not measured") {
				t.Errorf("%s: what is missing is not said: %s", who, text)
			}
			if lacking && rows < len(boardsOf("n1", exporter.mig))-1 {
				t.Errorf("%s: %d rows", who, rows)
			}
			if exporter.sparse && side == "history" && lacking {
				unsure(t, who, answer.Frames)
			}
		}
	}
}

// numbers fails on what is no finite number.
func numbers(t *testing.T, who string, answer backend.DataResponse) {
	t.Helper()
	for _, frame := range answer.Frames {
		if frame.Meta == nil || len(frame.Fields) > 0 && frame.Meta.Type == "" {
			t.Errorf("%s: a frame %q without a type", who, frame.Name)
		}
		for _, field := range frame.Fields {
			for i := range field.Len() {
				v, is := field.ConcreteAt(i)
				if number, float := v.(float64); is && float && (math.IsNaN(number) || math.IsInf(number, 0)) {
					t.Errorf("%s: %s of %q is %v", who, field.Name, frame.Name, number)
				}
			}
		}
	}
}

// unsure fails on a verdict that claims more than default fields can tell.
func unsure(t *testing.T, who string, all data.Frames) {
	t.Helper()
	for _, frame := range all {
		if field, at := frame.FieldByName("confidence"); at >= 0 {
			for i := range field.Len() {
				if v, ok := field.ConcreteAt(i); ok && v == "high" {
					t.Errorf("%s: row %d of %q is sure of itself", who, i, frame.Name)
				}
			}
		}
	}
}
