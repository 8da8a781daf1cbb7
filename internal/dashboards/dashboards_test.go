package dashboards

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/query"
)

const root = "../.."

func known(t *testing.T) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What lies in the repository is what the generator writes.
func TestFilesAreAsGenerated(t *testing.T) {
	files, err := Files(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what internal/dashboards makes (%v): run `go tool mage dashboards`", name, err)
		}
	}
	written, err := filepath.Glob(filepath.Join(root, "dashboards", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(written) != len(Boards()) {
		t.Errorf("dashboards/ has %d files, there are %d boards", len(written), len(Boards()))
	}
}

func TestARevisionRisesWithTheContents(t *testing.T) {
	c, b := known(t), sre()
	path := filepath.Join(t.TempDir(), "b.json")
	for step, want := range []string{`"revision": 1,`, `"revision": 1,`, `"revision": 2,`} {
		if step == 2 {
			b.Question = "Another?"
		}
		text, err := b.next(path, c)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("step %d: no %s", step, want)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// eachQuery is called for every query of every board.
func eachQuery(t *testing.T, visit func(b Board, p Panel, q Query, text []byte)) {
	t.Helper()
	c := known(t)
	for _, b := range Boards() {
		for _, s := range b.Sections {
			for _, p := range s.Panels {
				for _, q := range p.Queries {
					text, err := json.Marshal(q.document("A", b.Variables, c))
					if err != nil {
						t.Fatal(err)
					}
					visit(b, p, q, text)
				}
			}
		}
	}
}

func TestQueriesParseAndNameMetricsOfTheCatalogue(t *testing.T) {
	c := known(t)
	eachQuery(t, func(b Board, p Panel, q Query, text []byte) {
		text = []byte(strings.ReplaceAll(string(text), `"$mig"`, `"GPU-1/1"`)) // no instance until the browser replaced it
		parsed, err := query.Parse(text, q.Type)
		if err != nil {
			t.Errorf("%s / %s: %v", b.File, p.Title, err)
			return
		}
		if q.Type == query.TypeMetric {
			if _, err := parsed.MetricIn(c); err != nil {
				t.Errorf("%s / %s: %v", b.File, p.Title, err)
			}
		}
		if name, is := q.options()["metric"].(string); is {
			if _, found := c.Metric(name); !found {
				t.Errorf("%s / %s: options name %q, which the catalogue does not know", b.File, p.Title, name)
			}
		}
	})
}

// Judgements are about a window that the board has, and that people can change.
func TestBoardsWithJudgementsHaveAWindow(t *testing.T) {
	for _, b := range Boards() {
		if b.judges() != (b.Window != "") || b.Window != "" && !slices.Contains(windows(), b.Window) {
			t.Errorf("%s: window %q, and it judges: %t", b.File, b.Window, b.judges())
		}
	}
}

// The numbers on top must not be the agent's alone without saying so.
func TestFirstRowsWorkWithDefaultExportersOrSayWhatTheyNeed(t *testing.T) {
	c := known(t)
	for _, b := range Boards() {
		if len(b.Sections) == 0 || b.Sections[0].Title != "" || len(b.Sections[0].Panels) == 0 {
			t.Errorf("%s has no answer above its sections", b.File)
			continue
		}
		width := uint32(0)
		for _, p := range b.Sections[0].Panels {
			width += p.W
			for _, name := range metricsOf(p.Queries) {
				m, _ := c.Metric(name)
				others := slices.ContainsFunc(m.Sources, func(s catalog.Source) bool { return s.Dialect != catalog.Warpwatch })
				if !others && b.Needs == "" {
					t.Errorf("%s / %s: only the agent has %s, and the board does not say so", b.File, p.Title, name)
				}
			}
		}
		if width%gridWidth != 0 {
			t.Errorf("%s: the numbers on top are %d wide in all, want rows of %d", b.File, width, gridWidth)
		}
		if !strings.HasSuffix(b.Question, "?") {
			t.Errorf("%s asks nothing: %q", b.File, b.Question)
		}
	}
}

func TestDescriptionsAreWhole(t *testing.T) {
	c := known(t)
	for _, b := range Boards() {
		for _, s := range b.Sections {
			for _, p := range s.Panels {
				for part, text := range map[string]string{"shows": p.Help.Shows, "matters": p.Help.Matters, "do": p.Help.Do} {
					if len(text) < 10 || strings.HasSuffix(text, "..") {
						t.Errorf("%s / %s: %s is %q", b.File, p.Title, part, text)
					}
				}
				if p.Help.SMI == "" && smiOf(p.Queries, c) == "none" {
					t.Errorf("%s / %s: neither it nor the catalogue says how a node shows it", b.File, p.Title)
				}
			}
		}
	}
}

func TestSMIOfMetrics(t *testing.T) {
	c := known(t)
	for names, want := range map[string]string{
		"gpu_power_watts gpu_power_limit_watts": "`nvidia-smi --query-gpu=power.draw.average,enforced.power.limit --format=csv`",
		"gpu_sm_active_ratio":                   "none; `dcgmi dmon -e 1002`",
		"gpu_xid_last":                          "none; `dmesg -T | grep -i xid`",
		"gpu_nvlink_receive_bytes_per_second":   "`nvidia-smi nvlink -gt d`",
		"gpu_memory_used_ratio":                 "`nvidia-smi --query-gpu=memory.used,memory.total --format=csv`",
		"gpu_energy_joules_total":               "none; NVML alone has it",
		"serve_ttft_seconds":                    "none: it is a number of the workload, not of the GPU",
	} {
		var queries []Query
		for _, name := range strings.Fields(names) {
			queries = append(queries, metric(name))
		}
		if got := smiOf(queries, c); got != want {
			t.Errorf("%s: %s, want %s", names, got, want)
		}
	}
}

// Links name boards that there are, with variables that they have.
func TestDrillDownsLeadSomewhere(t *testing.T) {
	files := map[string]Board{}
	for _, b := range Boards() {
		files[b.File] = b
	}
	for _, b := range Boards() {
		for _, s := range b.Sections {
			for _, p := range s.Panels {
				for _, col := range p.look.columns {
					if _, found := files[col.link]; col.link != "" && !found {
						t.Errorf("%s / %s links to %s", b.File, p.Title, col.link)
					}
				}
			}
		}
	}
}
