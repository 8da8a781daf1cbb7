package plugin

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// defaultFields adds what dcgm-exporter shows of a GPU when nobody configured it.
func defaultFields(s *promtest.Store, node string, i int, busy float64, more ...string) {
	for name, value := range map[string]float64{
		"DCGM_FI_DEV_GPU_UTIL": 100 * busy, "DCGM_FI_DEV_POWER_USAGE": 100 + 550*busy, "DCGM_FI_DEV_GPU_TEMP": 40 + 20*busy,
		"DCGM_FI_DEV_SM_CLOCK": 1900, "DCGM_FI_DEV_FB_USED": 30000, "DCGM_FI_DEV_FB_FREE": 50000, "DCGM_FI_PROF_GR_ENGINE_ACTIVE": busy,
		"DCGM_FI_PROF_DRAM_ACTIVE": busy / 4, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": busy * 0.7,
	} {
		dcgm(s, name, node, i, func(second int) float64 {
			if name == "DCGM_FI_DEV_POWER_USAGE" {
				return value + float64(second/15%7)/8 // as a board that is looked at
			}
			return value
		}, more...)
	}
}

// askedAlert is the answer that an alert rule has.
func askedAlert(t *testing.T, d *Datasource, raw string) data.Frames {
	t.Helper()
	response, err := d.QueryData(t.Context(), &backend.QueryDataRequest{Headers: map[string]string{"FromAlert": "true"}, Queries: []backend.DataQuery{{
		RefID: "A", JSON: []byte(raw), QueryType: queryTypeIn(raw), TimeRange: backend.TimeRange{From: recordedAt, To: recordedAt.Add(10 * time.Minute)},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if answer := response.Responses["A"]; answer.Error != nil {
		t.Fatal(answer.Error)
	}
	return response.Responses["A"].Frames
}

// The default fields alone give an answer, with low confidence and one notice of what to add.
func TestBottleneckFromDefaultFields(t *testing.T) {
	d := exported(t, func(s *promtest.Store) {
		defaultFields(s, "n1", 0, 0.95)
		defaultFields(s, "n1", 1, 0)
	})
	all := answerTo(t, d, `{"queryType":"bottleneck","minStep":"1m"}`)
	if len(all) != 3 {
		t.Fatalf("%d frames", len(all))
	}
	states := all[0]
	if states.Rows() != 10 || len(states.Fields) != 3 || states.Fields[0].At(0).(time.Time).UnixMilli() != recordedAt.UnixMilli() {
		t.Fatalf("%d rows of %d fields from %v", states.Rows(), len(states.Fields), states.Fields[0].At(0))
	}
	for i, want := range []string{"compute", "idle"} {
		f := states.Fields[i+1]
		for row := range states.Rows() {
			if got := f.At(row).(*string); got == nil || *got != want {
				t.Fatalf("%s: row %d is %v", f.Config.DisplayNameFromDS, row, got)
			}
		}
		mapped := f.Config.Mappings[0].(data.ValueMapper)[want]
		if mapped.Color == "" || f.Labels["gpu_uuid"] == "" {
			t.Errorf("%s: %+v %v", f.Config.DisplayNameFromDS, mapped, f.Labels)
		}
	}
	// Worst first: what is worth knowing before what is well.
	wantCells(t, all[1], "node,gpu,verdict,severity,confidence,compute,idle,who_acts",
		"n1|1|idle|info|low|0|1|user", "n1|0|compute|ok|low|1|0|user")
	wantCells(t, all[2], "time,gpu,verdict", cellTexts(t, all[2], "time", "gpu", "verdict")...)
	if all[2].Rows() != 2 {
		t.Errorf("%d spells", all[2].Rows())
	}
	text := noticeTexts(all)
	if strings.Count(text, "Not measured here") != 1 || !strings.Contains(text, "DCGM_FI_PROF_SM_ACTIVE, gauge, ") {
		t.Errorf("notices %s", text)
	}
}

func TestBottleneckShowsOneOfItsFrames(t *testing.T) {
	d := exported(t, func(s *promtest.Store) { defaultFields(s, "n1", 0, 0.95) })
	for show, want := range map[string]string{"timeline": "bottleneck", "summary": "bottleneck_summary", "reasons": "bottleneck_reasons"} {
		all := answerTo(t, d, `{"queryType":"bottleneck","options":{"show":"`+show+`"}}`)
		if len(all) != 1 || all[0].Name != want || !strings.Contains(noticeTexts(all), "Not measured here") {
			t.Errorf("%s: %d frames, %s", show, len(all), all[0].Name)
		}
	}
}

func TestBottleneckForRules(t *testing.T) {
	d := exported(t, func(s *promtest.Store) {
		defaultFields(s, "n1", 0, 0.95)
		defaultFields(s, "n1", 1, 0)
	})
	all := askedAlert(t, d, `{"queryType":"bottleneck"}`)
	if len(all) != 1 || all[0].Meta.Type != data.FrameTypeNumericLong {
		t.Fatalf("%d frames, %+v", len(all), all[0].Meta)
	}
	wantCells(t, all[0], "gpu,verdict,share", "0|compute|1", "1|idle|1")
	wantCells(t, askedAlert(t, d, `{"queryType":"bottleneck","options":{"verdict":"idle"}}`)[0], "gpu,verdict,share", "0|idle|0", "1|idle|1")
}

func TestBottleneckOfInstancesAndJobs(t *testing.T) {
	owner := []string{"pod", "train-0", "namespace", "ml", "container", "main"}
	d := exported(t, func(s *promtest.Store) {
		for _, id := range []string{"1", "2"} {
			mig := append([]string{"GPU_I_ID", id, "GPU_I_PROFILE", "3g.40gb"}, owner...)
			dcgm(s, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "n1", 0, steady(0), mig...)
			dcgm(s, "DCGM_FI_DEV_FB_USED", "n1", 0, steady(1000), mig...)
		}
		dcgm(s, "DCGM_FI_DEV_POWER_USAGE", "n1", 0, steady(90))
	})
	all := answerTo(t, d, `{"queryType":"bottleneck","options":{"show":"summary"}}`)
	got := cellTexts(t, all[0], "mig_id", "job", "verdict")
	if len(got) != 4 || !slices.Contains(got, "1||idle") || !slices.Contains(got, "2||idle") || !slices.ContainsFunc(got, func(row string) bool { return strings.HasSuffix(row, "train-0|idle") }) {
		t.Errorf("got %q", got)
	}
	only := answerTo(t, d, `{"queryType":"bottleneck","options":{"show":"summary","of":"jobs"}}`)
	if only[0].Rows() != 1 {
		t.Errorf("jobs %q", cellTexts(t, only[0], "job", "verdict"))
	}
}

func TestBottleneckFromAgents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1", Metrics: []string{power, "gpu_sm_active_ratio", "gpu_utilization_ratio"}})
		f.frames(t, 10*time.Minute, `{"queryType":"bottleneck","source":"live"}`) // connects
		time.Sleep(10 * time.Minute)
		all := f.frames(t, 5*time.Minute, `{"queryType":"bottleneck","source":"live","options":{"show":"summary"}}`)
		if got := cellTexts(t, all[0], "gpu"); !slices.Equal(got, []string{"0", "1"}) {
			t.Errorf("got %q, %s", got, noticeTexts(all))
		}
	})
}

// An answer without any subject says why, and mistakes say what to write.
func TestBottleneckOfNothing(t *testing.T) {
	d := exported(t, func(s *promtest.Store) { defaultFields(s, "n1", 0, 0.95) })
	all := answerTo(t, d, `{"queryType":"bottleneck","nodes":["n7"]}`)
	if len(all) != 3 || !strings.Contains(noticeTexts(all), "No GPU or MIG instance of the selection is known") {
		t.Errorf("%d frames: %s", len(all), noticeTexts(all))
	}
	if got := askedAlert(t, d, `{"queryType":"bottleneck","nodes":["n7"]}`); len(got) != 1 || len(got[0].Fields) != 0 {
		t.Errorf("rules read %+v", got)
	}
	f := &fleet{Datasource: d}
	for raw, want := range map[string]string{
		`{"off":"jobs"}`:                    `field "options": "off" is not known; use of, limits, show or verdict`,
		`{"of":"nodes"}`:                    `field "options": of: "nodes" must be gpus, jobs or nothing`,
		`{"show":"all"}`:                    `field "options": show: "all" is not known; use timeline, summary, reasons`,
		`{"verdict":"bad"}`:                 `field "options": verdict: "bad" is not known; use unknown, idle`,
		`{"limits":{"default":{"idle":7}}}`: `field "options": limits: default.idle: 7 must be from`,
	} {
		answer := f.ask(t, time.Hour, nil, map[string]string{"A": `{"queryType":"bottleneck","options":` + raw + `}`})["A"]
		if answer.Error == nil || !strings.Contains(answer.Error.Error(), want) || answer.Status != 400 {
			t.Errorf("%s:\n got %v\nwant %s", raw, answer.Error, want)
		}
	}
}

func TestLimitsOfSettings(t *testing.T) {
	stored := func(limits string) backend.DataSourceInstanceSettings {
		return backend.DataSourceInstanceSettings{JSONData: []byte(`{"clusters":[{"name":"n","endpoints":[{"id":"a","url":"http://127.0.0.1:1"}]}],"agents":{"discovery":"off"},"insight":{"limits":` + limits + `}}`)}
	}
	d := openDatasource(t, stored(`{"bottleneck":{"default":{"idle":0.02}}}`))
	if limits, err := d.bottleneckLimits(); err != nil || limits.Default["idle"] != 0.02 || d.broken != nil {
		t.Errorf("%v, %v, %v", limits.Default["idle"], err, d.broken)
	}
	instance, err := NewDatasource(t.Context(), stored(`{"bottleneck":{"default":{"idel":0.02}}}`))
	if err != nil {
		t.Fatal(err)
	}
	d = instance.(*Datasource)
	t.Cleanup(d.Dispose)
	if d.broken == nil || !strings.Contains(d.broken.Error(), "insight.limits.bottleneck: ") {
		t.Errorf("got %v", d.broken)
	}
}
