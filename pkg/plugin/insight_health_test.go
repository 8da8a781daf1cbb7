package plugin

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

func sickFleet(t *testing.T) *Datasource {
	t.Helper()
	return exported(t, func(s *promtest.Store) {
		for i := range 3 {
			defaultFields(s, "n1", i, 0.9)
			dcgm(s, "DCGM_FI_DEV_XID_ERRORS", "n1", i, func(second int) float64 {
				if i == 1 && second >= 120 {
					return 79
				}
				return 0
			})
			dcgm(s, "DCGM_FI_DEV_ROW_REMAP_FAILURE", "n1", i, func(int) float64 { return float64(i / 2) })
		}
	})
}

// The worst comes first, with what to do and a link to its runbook; what is behind it is one incident.
func TestHealthFromPrometheus(t *testing.T) {
	all := answerTo(t, sickFleet(t), `{"queryType":"health"}`)
	if len(all) != 2 {
		t.Fatalf("%d frames", len(all))
	}
	wantCells(t, all[0], "of,gpu,verdict,severity,xid,who_acts,runbook,since,more,confidence",
		"gpu|1|xid-79|critical|79|operator|xid-79|22:42:00||low",
		"gpu|2|row-remap-failure|critical|–|operator|row-remap-failure|22:24:40||low",
		"gpu|0|ok|ok|–|||–||low")
	if got := cellTexts(t, all[0], "action")[0]; !strings.HasSuffix(got, "NVIDIA: RESTART_BM.") {
		t.Errorf("action %s", got)
	}
	runbook, _ := all[0].FieldByName("runbook")
	if links := runbook.Config.Links; len(links) != 1 || links[0].URL != "/a/warpwatch-gpu-app/runbooks/${__value.raw}" {
		t.Errorf("links %+v", links)
	}
	wantCells(t, all[1], "incident,scope,severity,gpus,devices,runbook",
		"gpu/n1/GPU-n1-1/xid-79|gpu|critical|1|n1 · GPU 1 · H100 80GB HBM3|xid-79",
		"gpu/n1/GPU-n1-2/row-remap-failure|gpu|critical|1|n1 · GPU 2 · H100 80GB HBM3|row-remap-failure")
	if text := noticeTexts(all); strings.Count(text, "Not measured here") != 1 || !strings.Contains(text, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL, counter, ") {
		t.Errorf("notices %s", text)
	}
	worse := answerTo(t, sickFleet(t), `{"queryType":"health","maxRows":1,"options":{"least":"warning","show":"gpus"}}`)
	wantCells(t, worse[0], "gpu", "1")
	if text := noticeTexts(worse); !strings.Contains(text, "Showing 1 of 2 GPUs, MIG instances and nodes, the worst first") {
		t.Errorf("notices %s", text)
	}
}

// What else is wrong with a GPU, and what an incident explains, is said in words.
func TestHealthNamesOtherReasons(t *testing.T) {
	d := exported(t, func(s *promtest.Store) {
		defaultFields(s, "n1", 0, 0.9)
		dcgm(s, "DCGM_FI_DEV_ROW_REMAP_FAILURE", "n1", 0, func(int) float64 { return 1 })
		dcgm(s, "DCGM_FI_DEV_XID_ERRORS", "n1", 0, func(second int) float64 {
			if second >= 120 {
				return 74
			}
			return 0
		})
	})
	all := answerTo(t, d, `{"queryType":"health"}`)
	wantCells(t, all[0], "verdict,more", "row-remap-failure|XID 74: NVLINK Error")
	wantCells(t, all[1], "verdict,explains", "row-remap-failure|XID 74: NVLINK Error")
}

// One row for panels of one number, and none where nobody could be judged: nothing is not taken for none.
func TestHealthCounts(t *testing.T) {
	const text = `{"queryType":"health","options":{"show":"counts"}}`
	wantCells(t, answerTo(t, sickFleet(t), text)[0], "critical,warning,unknown,info,ok", "2|0|0|0|1")
	nobody := answerTo(t, exported(t, func(*promtest.Store) {}), text)
	if n := nobody[0].Rows(); n != 0 {
		t.Errorf("%d rows where there is no GPU", n)
	}
}

// Where no agent is, nobody says that one reported a GPU lost.
func TestHealthOfAGPUThatVanishedFromPrometheus(t *testing.T) {
	d := exported(t, func(s *promtest.Store) {
		defaultFields(s, "n1", 0, 0.9)
		dcgm(s, "DCGM_FI_DEV_GPU_TEMP", "n1", 1, func(second int) float64 {
			if second > -300 {
				return math.NaN()
			}
			return 60
		})
	})
	all := answerTo(t, d, `{"queryType":"health","options":{"show":"gpus"}}`)
	wantCells(t, all[0], "gpu,verdict,severity,reason", "1|gpu-missing|critical|The GPU is gone: no exporter shows it any more.", "0|ok|ok|")
}

func TestHealthForRules(t *testing.T) {
	d := sickFleet(t)
	for value, want := range map[string][]string{
		"":          {"gpu,severity", "1|4", "2|4", "0|0"},
		"severity":  {"gpu,severity", "1|4", "2|4", "0|0"},
		"count":     {"severity,count", "critical|2", "warning|0", "unknown|0", "info|0", "ok|1"},
		"incidents": {"incident,severity,runbook", "gpu/n1/GPU-n1-1/xid-79|4|xid-79", "gpu/n1/GPU-n1-2/row-remap-failure|4|row-remap-failure"},
	} {
		all := askedAlert(t, d, `{"queryType":"health","options":{"value":"`+value+`"}}`)
		if len(all) != 1 || all[0].Meta.Type != data.FrameTypeNumericLong {
			t.Fatalf("%d frames", len(all))
		}
		wantCells(t, all[0], want[0], want[1:]...)
	}
	risk := askedAlert(t, d, `{"queryType":"health","options":{"value":"risk"}}`)[0]
	if v := risk.Fields[len(risk.Fields)-1].At(0).(*float64); v == nil || *v <= 0 || *v >= 1 {
		t.Errorf("risk %v", v)
	}
}

func TestHealthFromAgents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1", Metrics: []string{power, "gpu_pcie_replay_errors_total"}})
		f.frames(t, 10*time.Minute, `{"queryType":"health","source":"live"}`) // connects
		time.Sleep(10 * time.Minute)
		f.agents[0].Event(gpu.Event{Kind: gpu.KindXID, XID: 48, Device: boards("n1", 2)[1]})
		time.Sleep(2 * time.Minute)
		all := f.frames(t, 5*time.Minute, `{"queryType":"health","source":"live","options":{"show":"gpus"}}`)
		if got := cellTexts(t, all[0], "gpu", "verdict", "severity", "xid"); len(got) != 2 || got[0] != "1|xid-48|critical|48" {
			t.Errorf("got %q, %s", got, noticeTexts(all))
		}
	})
}

func TestHealthOfNothing(t *testing.T) {
	d := sickFleet(t)
	all := answerTo(t, d, `{"queryType":"health","nodes":["n7"]}`)
	if len(all) != 2 || all[0].Rows() != 0 || !strings.Contains(noticeTexts(all), "No GPU or MIG instance of the selection is known") {
		t.Errorf("%d frames: %s", len(all), noticeTexts(all))
	}
	if got := askedAlert(t, d, `{"queryType":"health","nodes":["n7"],"options":{"value":"count"}}`); len(got[0].Fields) != 0 {
		t.Errorf("rules read %+v", got[0])
	}
	f := &fleet{Datasource: d}
	for raw, want := range map[string]string{
		`{"lest":"ok"}`:         `field "options": "lest" is not known; use least, limits, show or value`,
		`{"least":"bad"}`:       `field "options": least: "bad" must be critical, warning, unknown, info, ok or nothing`,
		`{"value":"x"}`:         `field "options": value: "x" is not known; use severity, count, risk, incidents`,
		`{"show":"x"}`:          `field "options": show: "x" is not known; use gpus, incidents, counts`,
		`{"limits":{"busy":7}}`: `field "options": limits: busy: 7 must be from`,
	} {
		answer := f.ask(t, time.Hour, nil, map[string]string{"A": `{"queryType":"health","options":` + raw + `}`})["A"]
		if answer.Error == nil || !strings.Contains(answer.Error.Error(), want) || answer.Status != 400 {
			t.Errorf("%s:\n got %v\nwant %s", raw, answer.Error, want)
		}
	}
}
