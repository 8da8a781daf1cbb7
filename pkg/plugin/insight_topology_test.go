package plugin

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// connected adds what exporters show of the links of GPU i of a node when they are told to.
func connected(s *promtest.Store, node string, i int, lanes float64, labels ...string) {
	defaultFields(s, node, i, 0.9, labels...)
	for name, value := range map[string]float64{
		"DCGM_FI_DEV_PCIE_LINK_GEN": 5, "DCGM_FI_DEV_PCIE_LINK_WIDTH": lanes, "DCGM_FI_DEV_PCIE_MAX_LINK_GEN": 5, "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH": 16,
		"DCGM_FI_PROF_PCIE_TX_BYTES": 1e9, "DCGM_FI_PROF_PCIE_RX_BYTES": 2e9, "DCGM_FI_PROF_NVLINK_TX_BYTES": 5e10, "DCGM_FI_PROF_NVLINK_RX_BYTES": 5e10,
		"DCGM_FI_DEV_FABRIC_MANAGER_STATUS": 3,
	} {
		dcgm(s, name, node, i, steady(value), labels...)
	}
}

func TestTopology(t *testing.T) {
	d := exported(t, func(s *promtest.Store) {
		connected(s, "n1", 0, 16)
		connected(s, "n1", 1, 8)
	})
	all := answerTo(t, d, `{"queryType":"topology","minStep":"1m"}`)
	if len(all) != 2 || all[0].Name != "nodes" || all[1].Name != "edges" {
		t.Fatalf("%d frames", len(all))
	}
	for _, frame := range all {
		if frame.Meta.PreferredVisualization != frames.NodeGraph {
			t.Errorf("%s is shown as %q", frame.Name, frame.Meta.PreferredVisualization)
		}
	}
	wantCells(t, all[0], "title,subtitle,mainstat,secondarystat,arc__active,color,detail__kind,detail__state",
		"n1|north|2 GPUs|1 with a link in trouble|0|orange|host|degraded",
		"GPU 0|H100 80GB HBM3|90 %|NVLink 100 GB/s|0.9|green|gpu|ok",
		"GPU 1|H100 80GB HBM3|90 %|NVLink 100 GB/s|0|orange|gpu|degraded",
		"NVSwitch|inferred|2 GPUs|100 GB/s|0|green|nvswitch|ok")
	wantCells(t, all[1], "source,target,mainstat,secondarystat,color,detail__why",
		"host/north/n1|gpu/north/n1/GPU-n1-0|Gen5 ×16|↓ 2 GB/s ↑ 1 GB/s|green|",
		"host/north/n1|gpu/north/n1/GPU-n1-1|Gen5 ×8|↓ 2 GB/s ↑ 1 GB/s|orange|8 lanes of 16.",
		"gpu/north/n1/GPU-n1-0|nvlink/host/north/n1|NVLink, links not counted|↓ 50 GB/s ↑ 50 GB/s|green|",
		"gpu/north/n1/GPU-n1-1|nvlink/host/north/n1|NVLink, links not counted|↓ 50 GB/s ↑ 50 GB/s|green|")
	if text := noticeTexts(all); !strings.Contains(text, "Network cards are not measured") || !strings.Contains(text, "NVSwitches are inferred") {
		t.Errorf("notices %s", text)
	}
	rule := askedAlert(t, d, `{"queryType":"topology"}`)
	if len(rule) != 1 || rule[0].Meta.Type != data.FrameTypeNumericLong {
		t.Fatalf("rules read %d frames", len(rule))
	}
	wantCells(t, rule[0], "gpu,trouble", "0|0", "1|1")
	if got := cellTexts(t, askedAlert(t, d, `{"queryType":"topology","options":{"value":"nvlink"}}`)[0], "gpu", "nvlink"); !sameRows(got, []string{"0|0.111111111", "1|0.111111111"}) {
		t.Errorf("rules read %q", got)
	}
	if got := askedAlert(t, d, `{"queryType":"topology","options":{"value":"fragmentation"}}`)[0]; len(got.Fields) != 0 {
		t.Errorf("nothing is split, and rules read %q", cellTexts(t, got, "gpu"))
	}
}

// Links that nobody measures are not well, and rules read nothing of them.
func TestTopologyFromDefaultFields(t *testing.T) {
	d := exported(t, func(s *promtest.Store) { defaultFields(s, "n1", 0, 0.9) })
	all := answerTo(t, d, `{"queryType":"topology"}`)
	wantCells(t, all[1], "mainstat,color,strokeDasharray", "PCIe, not measured|purple|4 4")
	if text := noticeTexts(all); strings.Count(text, "Not measured here") != 1 || !strings.Contains(text, "gpu_pcie_link_generation") {
		t.Errorf("notices %s", text)
	}
	if rule := askedAlert(t, d, `{"queryType":"topology"}`)[0]; len(rule.Fields) != 0 {
		t.Errorf("rules read %q", cellTexts(t, rule, "gpu", "trouble"))
	}
}

func TestTopologyOfInstances(t *testing.T) {
	d := exported(t, func(s *promtest.Store) {
		dcgm(s, "DCGM_FI_DEV_POWER_USAGE", "n1", 0, steady(90))
		for _, id := range []string{"7", "8", "9"} {
			dcgm(s, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "n1", 0, steady(0.5), "GPU_I_ID", id, "GPU_I_PROFILE", "1g.10gb", "pod", "p"+id, "namespace", "ml", "container", "main")
		}
	})
	all := answerTo(t, d, `{"queryType":"topology","options":{"profile":"1g.10gb"}}`)
	wantCells(t, all[0], "title,mainstat,secondarystat,color,highlighted,detail__owner",
		"n1|1 GPU||green|false|", "GPU 0|3 instances||green|true|",
		"1g.10gb #7|50 %||green|false|ml/p7", "1g.10gb #8|50 %||green|false|ml/p8", "1g.10gb #9|50 %||green|false|ml/p9",
		"free|1g.20gb|fragmented 75 %|orange|true|")
	for profile, room := range map[string]string{"1g.10gb": "0|4", "2g.20gb": "0|0"} {
		wantCells(t, askedAlert(t, d, `{"queryType":"topology","options":{"value":"room","profile":"`+profile+`"}}`)[0], "gpu,room", room)
	}
	wantCells(t, askedAlert(t, d, `{"queryType":"topology","options":{"value":"fragmentation"}}`)[0], "gpu,fragmentation", "0|0.75")
}

// Of a job the whole nodes are drawn, and its GPUs are marked.
func TestTopologyOfAJob(t *testing.T) {
	d := exported(t, func(s *promtest.Store) {
		mine := []string{"pod", "train-0", "namespace", "ml", "container", "main"}
		connected(s, "n1", 0, 16, mine...)
		connected(s, "n1", 1, 16)
		connected(s, "n2", 0, 16, mine...)
		connected(s, "n3", 0, 16)
	})
	all := answerTo(t, d, `{"queryType":"topology","pods":["train-0"],"options":{"parts":["pcie","network"]}}`)
	got := cellTexts(t, all[0], "title", "detail__node", "highlighted")
	want := []string{"n1|n1|false", "GPU 0|n1|true", "GPU 1|n1|false", "n2|n2|false", "GPU 0|n2|true", "network||false"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestTopologyFromAgents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1", Metrics: []string{"gpu_pcie_link_width", "gpu_pcie_link_width_max"}})
		f.frames(t, 10*time.Minute, `{"queryType":"topology","source":"live"}`) // connects
		time.Sleep(10 * time.Minute)
		all := f.frames(t, 5*time.Minute, `{"queryType":"topology","source":"live"}`)
		if got := cellTexts(t, all[0], "title"); !slices.Equal(got, []string{"n1", "GPU 0", "GPU 1"}) {
			t.Errorf("got %q, %s", got, noticeTexts(all))
		}
	})
}

func TestTopologySaysWhatToChange(t *testing.T) {
	f := &fleet{Datasource: exported(t, func(s *promtest.Store) { defaultFields(s, "n1", 0, 0.9) })}
	for raw, want := range map[string]string{
		`{"value":"x"}`:             `field "options": value: "x" is not known; use trouble, pcie`,
		`{"value":"room"}`:          `field "options": profile: name the one that room is counted for`,
		`{"profile":"large"}`:       `field "options": profile: MIG profile "large" must be like 3g.40gb`,
		`{"parts":["ib"]}`:          `field "options": parts: "ib" is none of pcie, nvlink, mig and network`,
		`{"limits":{"minutes":-1}}`: `field "options": limits: minutes: -1 must be from 1 to 1440`,
	} {
		answer := f.ask(t, time.Hour, nil, map[string]string{"A": `{"queryType":"topology","options":` + raw + `}`})["A"]
		if answer.Error == nil || !strings.Contains(answer.Error.Error(), want) || answer.Status != 400 {
			t.Errorf("%s:\n got %v\nwant %s", raw, answer.Error, want)
		}
	}
	for _, raw := range []string{`{"queryType":"topology","nodes":["n7"]}`, `{"queryType":"topology","pods":["nobody"]}`} {
		all := answerTo(t, f.Datasource, raw)
		if text := noticeTexts(all); !strings.Contains(text, "No GPU or MIG instance of the selection is known") || all[0].Rows() != 0 {
			t.Errorf("%s: %s", raw, text)
		}
	}
}
