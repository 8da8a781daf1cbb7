package plugin

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// framebuffer adds the memory of GPU i of node n1 in MiB, as dcgm-exporter shows it by default.
func framebuffer(s *promtest.Store, i int, used func(second int) float64, labels ...string) {
	const whole = 80000
	dcgm(s, "DCGM_FI_DEV_FB_USED", "n1", i, used, labels...)
	dcgm(s, "DCGM_FI_DEV_FB_FREE", "n1", i, func(second int) float64 { return whole - used(second) }, labels...)
	dcgm(s, "DCGM_FI_DEV_GPU_UTIL", "n1", i, steady(80), labels...)
}

func TestMemory(t *testing.T) {
	owner := []string{"pod", "train-0", "namespace", "ml", "container", "main"}
	d := exported(t, func(s *promtest.Store) {
		framebuffer(s, 0, steady(20000), owner...)
		framebuffer(s, 1, func(second int) float64 { return 20000 + 58000*float64(order(second >= 150 && second < 165)) }, owner...)
		s.Add(map[string]string{"__name__": "train_ooms_total", "pod": "train-0", "namespace": "ml", "job": "j", "rank": "0", "instance": "10.0.0.1:8000"},
			every15s(steady(0))...)
	})
	all := answerTo(t, d, `{"queryType":"memory","minStep":"1m"}`)
	if len(all) != 2 || all[0].Name != "memory" || all[1].Name != "memory_owners" {
		t.Fatalf("%d frames", len(all))
	}
	// A spike of one sample is the peak, however long the step; the worst comes first.
	wantCells(t, all[0], "gpu,verdict,severity,used,peak,peak_ratio,pod",
		"1|near-full|info|2.097152e+10|8.1788928e+10|0.975|train-0", "0|fits|ok|2.097152e+10|2.097152e+10|0.25|train-0")
	if got := cellTexts(t, all[1], "pod", "gpus", "verdict"); !slices.Equal(got, []string{"train-0|2|near-full"}) {
		t.Errorf("owners %q", got)
	}
	if text := noticeTexts(all); strings.Count(text, "Not measured here") != 1 {
		t.Errorf("notices %s", text)
	}
	rule := askedAlert(t, d, `{"queryType":"memory"}`)
	if len(rule) != 1 || rule[0].Meta.Type != data.FrameTypeNumericLong {
		t.Fatalf("rules read %d frames", len(rule))
	}
	wantCells(t, rule[0], "gpu,verdict,severity", "0|fits|0", "1|near-full|2")
	wantCells(t, askedAlert(t, d, `{"queryType":"memory","options":{"value":"peak"}}`)[0], "gpu,peak", "0|0.25", "1|0.975")
	if growing := askedAlert(t, d, `{"queryType":"memory","options":{"value":"hours_to_full"}}`)[0]; len(growing.Fields) != 0 {
		t.Errorf("nothing grows, and rules read %q", cellTexts(t, growing, "gpu"))
	}
}

func TestMemoryOfInstances(t *testing.T) {
	d := exported(t, func(s *promtest.Store) {
		framebuffer(s, 0, steady(20000))
		for _, id := range []string{"1", "2"} {
			dcgm(s, "DCGM_FI_DEV_FB_USED", "n1", 0, steady(1000), "GPU_I_ID", id, "GPU_I_PROFILE", "3g.40gb")
			dcgm(s, "DCGM_FI_DEV_FB_FREE", "n1", 0, steady(39000), "GPU_I_ID", id, "GPU_I_PROFILE", "3g.40gb")
		}
	})
	got := cellTexts(t, answerTo(t, d, `{"queryType":"memory","options":{"show":"gpus"}}`)[0], "mig_id", "verdict")
	slices.Sort(got)
	if want := []string{"1|fits", "2|fits", "|split"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	// What is split has no number of its own: its instances have.
	if rows := cellTexts(t, askedAlert(t, d, `{"queryType":"memory","options":{"value":"used"}}`)[0], "mig_id", "used"); !slices.Equal(rows, []string{"1|0.025", "2|0.025"}) {
		t.Errorf("rules read %q", rows)
	}
}

// training adds a job of eight ranks on GPUs of two nodes, the slow one of which takes a step longer outside of collectives.
func training(s *promtest.Store, slow int) {
	for rank := range 8 {
		node, pod := fmt.Sprintf("n%d", rank/4+1), fmt.Sprintf("train-%d", rank/4)
		owner := []string{"pod", pod, "namespace", "ml", "container", "main"}
		defaultFields(s, node, rank%4, 0.95, owner...)
		waits := 0.3
		if rank == slow {
			waits = 0.02
		}
		for name, value := range map[string]float64{"train_step_seconds": 1.5, "train_allreduce_seconds": waits} {
			s.Add(map[string]string{
				"__name__": name, "pod": pod, "namespace": "ml", "job": "llama", "rank": fmt.Sprint(rank), "node": node, "instance": "10.0.0.1:8000",
			}, every15s(steady(value))...)
		}
	}
}

func TestStragglers(t *testing.T) {
	d := exported(t, func(s *promtest.Store) { training(s, 5) })
	all := answerTo(t, d, `{"queryType":"stragglers","minStep":"1m"}`)
	if len(all) != 3 || all[2].Meta.Type != data.FrameTypeTimeSeriesWide {
		t.Fatalf("%d frames: %s", len(all), noticeTexts(all))
	}
	if got := cellTexts(t, all[0], "namespace", "job", "verdict", "ranks", "nodes"); !slices.Equal(got, []string{"ml|train|straggler|8|2"}) {
		t.Fatalf("jobs %q", got)
	}
	if got := cellTexts(t, all[1], "kind", "job", "rank", "node"); !slices.Equal(got, []string{"rank|train|5|n2"}) {
		t.Errorf("suspects %q", got)
	}
	if len(all[2].Fields) != 2 || all[2].Fields[1].Labels["job"] != "train" {
		t.Errorf("%d lines", len(all[2].Fields)-1)
	}
	wantCells(t, askedAlert(t, d, `{"queryType":"stragglers","options":{"value":"suspects"}}`)[0], "job,suspects", "train|1")
	even := exported(t, func(s *promtest.Store) { training(s, -1) })
	wantCells(t, askedAlert(t, even, `{"queryType":"stragglers"}`)[0], "job,verdict,severity", "train|even|0")
	none := exported(t, func(s *promtest.Store) { defaultFields(s, "n1", 0, 0.95) })
	if got := answerTo(t, none, `{"queryType":"stragglers"}`); !strings.Contains(noticeTexts(got), "No training job is known here") {
		t.Errorf("notices %s", noticeTexts(got))
	}
}

func TestMemoryAndStragglersFromAgents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1", Metrics: []string{"gpu_memory_used_bytes", "gpu_memory_free_bytes"}})
		f.frames(t, 10*time.Minute, `{"queryType":"memory","source":"live"}`) // connects
		time.Sleep(10 * time.Minute)
		all := f.frames(t, 5*time.Minute, `{"queryType":"memory","source":"live","options":{"show":"gpus"}}`)
		if got := cellTexts(t, all[0], "gpu", "used"); !slices.Equal(got, []string{"1|102", "0|100"}) {
			t.Errorf("got %q, %s", got, noticeTexts(all))
		}
		if got := noticeTexts(f.frames(t, 5*time.Minute, `{"queryType":"stragglers","source":"live"}`)); !strings.Contains(got, "No training job is known here") {
			t.Errorf("got %s", got)
		}
	})
}

func TestMemoryAndStragglersSayWhatToChange(t *testing.T) {
	f := &fleet{Datasource: exported(t, func(s *promtest.Store) { defaultFields(s, "n1", 0, 0.9) })}
	for raw, want := range map[string]string{
		`{"queryType":"memory","options":{"show":"x"}}`:                                `field "options": show: "x" is not known; use gpus, owners`,
		`{"queryType":"memory","options":{"value":"x"}}`:                               `field "options": value: "x" is not known; use severity, used`,
		`{"queryType":"memory","options":{"limits":{"nearFull":7}}}`:                   `field "options": limits: nearFull: 7`,
		`{"queryType":"memory","options":{"batches":7}}`:                               `field "options": "batches" is not known`,
		`{"queryType":"stragglers","options":{"value":"x"}}`:                           `field "options": value: "x" is not known; use severity, skew`,
		`{"queryType":"stragglers","options":{"pipeline":{"stages":-1}}}`:              `field "options": pipeline.stages`,
		`{"queryType":"stragglers","options":{"show":"everything"}}`:                   `field "options": show: "everything" is not known; use jobs, suspects, skew`,
		`{"queryType":"stragglers","options":{"limits":{"stepRatio":0.5},"show":"x"}}`: `field "options": limits: stepRatio: 0.5`,
	} {
		answer := f.ask(t, time.Hour, nil, map[string]string{"A": raw})["A"]
		if answer.Error == nil || !strings.Contains(answer.Error.Error(), want) || answer.Status != 400 {
			t.Errorf("%s:\n got %v\nwant %s", raw, answer.Error, want)
		}
	}
	for raw, want := range map[string]string{
		`{"queryType":"memory","nodes":["n7"]}`:     "No GPU or MIG instance of the selection is known",
		`{"queryType":"stragglers","nodes":["n7"]}`: "No GPU or MIG instance of the selection is known",
	} {
		if got := noticeTexts(answerTo(t, f.Datasource, raw)); !strings.Contains(got, want) {
			t.Errorf("%s: %s", raw, got)
		}
	}
}
