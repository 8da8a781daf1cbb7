package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/live"
)

// testdata is a file of this package's testdata.
func testdata(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// smi is what the table of nvidia-smi says of a device. Empty is N/A.
type smi struct{ gpu, instance, watts, used, total, percent string }

// readSMI reads GPUs and MIG devices out of the text that nvidia-smi writes for people.
func readSMI(t *testing.T, text []byte) []smi {
	t.Helper()
	board := regexp.MustCompile(`(?m)^\|\s+(\d+)\s+NVIDIA .*\n\|.*?(\d+)W /.*?\|\s+(?:(\d+)MiB /\s*(\d+)MiB|N/A)\s*\|\s+(?:(\d+)%|N/A)`)
	instance := regexp.MustCompile(`(?m)^\|\s+(\d+)\s+(\d+)\s+\d+\s+\d+\s+\|\s+(\d+)MiB / (\d+)MiB`)
	var all []smi
	for _, found := range board.FindAllSubmatch(text, -1) {
		all = append(all, smi{string(found[1]), "", string(found[2]), string(found[3]), string(found[4]), string(found[5])})
	}
	for _, found := range instance.FindAllSubmatch(text, -1) {
		all = append(all, smi{string(found[1]), string(found[2]), "", string(found[3]), string(found[4]), ""})
	}
	if len(all) != 4 {
		t.Fatalf("%d devices in the text: %v", len(all), all)
	}
	return all
}

// cells are the rows of a table, each as the texts of some columns.
func cells(t *testing.T, all data.Frames, columns ...string) []string {
	t.Helper()
	var rows []string
	for _, frame := range all {
		for i := range frame.Rows() {
			var row []string
			for _, name := range columns {
				field, _ := frame.FieldByName(name)
				if field == nil {
					t.Fatalf("no column %q", name)
				}
				text := "none"
				if v, ok := field.ConcreteAt(i); ok {
					text = fmt.Sprint(v)
				}
				row = append(row, text)
			}
			rows = append(rows, strings.Join(row, " "))
		}
	}
	return rows
}

// A30: one GPU is split, the next is not. The memory of the first is its instances'; of the board there is nothing, and
// no zero in its place, whatever the exporter writes for "N/A".
func TestCaseSplitGPUBesideAWholeOne(t *testing.T) {
	devices := readSMI(t, testdata(t, "smi_mig.txt"))
	const uuid = "GPU-5e1f000%s-0a00-4a00-8b00-000000000000"
	dcgm := func(missing string, each map[string]string) func(*promtest.Store) {
		return func(s *promtest.Store) {
			var text bytes.Buffer
			for _, d := range devices {
				labels := fmt.Sprintf(`gpu="%s",UUID="`+uuid+`",modelName="NVIDIA H100 NVL",Hostname="rack1-gpu01"`, d.gpu, d.gpu)
				if d.instance != "" {
					labels += fmt.Sprintf(`,GPU_I_ID="%s",GPU_I_PROFILE="3g.47gb"`, d.instance)
				}
				for name, of := range map[string]string{"FB_USED": d.used, "GPU_UTIL": d.percent, "POWER_USAGE": d.watts} {
					if of == "" {
						of = missing
						if each != nil {
							of = each[name]
						}
					}
					if of != "" && (d.instance == "" || name == "FB_USED") {
						fmt.Fprintf(&text, "DCGM_FI_DEV_%s{%s} %s\n", name, labels, of)
					}
				}
			}
			if err := s.Exposition(&text, map[string]string{"instance": "10.9.0.1:9400", "job": "dcgm"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, fill := range map[string]func(*promtest.Store){
		"DCGM leaves it out":           dcgm("", nil),
		"DCGM's int64 blank":           dcgm("9223372036854775794", nil),
		"DCGM's int32 blank":           dcgm("2147483634", nil),
		"DCGM's float blank":           dcgm("140737488355328", nil),
		"not a number":                 dcgm("NaN", nil),
		"exporter without utilization": dcgm("", map[string]string{"FB_USED": "9223372036854775792"}),
	} {
		t.Run(name, func(t *testing.T) {
			d := exported(t, fill)
			got := cells(t, answerTo(t, d, `{"queryType":"metric","metric":"gpu_memory_used_bytes","format":"table"}`), "gpu", "mig_id", "gpu_memory_used_bytes")
			slices.Sort(got)
			if want := []string{"0 1 5.3477376e+07", "0 2 5.3477376e+07", "1  6.3987253248e+10"}; !slices.Equal(got, want) {
				t.Errorf("rows %q, want %q", got, want)
			}
			if v := lastOf(t, answerTo(t, d, `{"queryType":"metric","metric":"gpu_memory_used_bytes"}`)); len(v) != 3 {
				t.Errorf("lines %v", v)
			}
			util := answerTo(t, d, `{"queryType":"metric","metric":"gpu_utilization_ratio"}`)
			if v := lastOf(t, util); len(v) != 1 || v["rack1-gpu01 · GPU 1 · H100 NVL"] != 0.97 {
				t.Errorf("utilization %v", v)
			}
			// A board that is split is no GPU that is idle, nor one that is lost.
			if v := lastOf(t, answerTo(t, d, `{"queryType":"metric","metric":"gpu_power_watts"}`)); len(v) != 2 {
				t.Errorf("power %v", v)
			}
			if v := lastOf(t, answerTo(t, d, `{"queryType":"metric","metric":"gpu_utilization_ratio","aggregateBy":"node"}`)); v["north · rack1-gpu01"] != 0.97 && v["rack1-gpu01"] != 0.97 {
				t.Errorf("a split board counts as idle: %v", v)
			}
			if _, body := callResource(t, d, "GET", "variables?kind=mig"); strings.Count(body, `"value"`) != 2 {
				t.Errorf("instances %s", body)
			}
		})
	}
}

// agentsOf is agents that measured some series, in place of the data source's own.
func agentsOf(d *Datasource, result live.WindowResult) {
	d.live.Close()
	d.live = still{result: result}
}

// still is agents whose samples are all at hand, and who have no more.
type still struct {
	present
	result live.WindowResult
}

func (s still) Nodes(context.Context) ([]live.NodeStatus, error) { return s.result.Nodes, nil }

func (s still) Window(context.Context, live.Select) live.WindowResult {
	result := s.result
	result.Series = slices.Clone(result.Series)
	return result
}

func (s still) Devices() []gpu.Device { return nil }
func (s still) Close()                {}

// A37: the exporter measures every 30 s and is scraped every 5 s, the agent measures every second. Nothing is smoothed,
// nothing is invented at the seam, and the seam is told.
func TestCaseStairsMeetLiveSamples(t *testing.T) {
	var file struct {
		History json.RawMessage
		Live    struct {
			UUID  string
			Times []int64   `json:"ts_ms"`
			Watts []float64 `json:"power_w"`
		}
	}
	if err := json.Unmarshal(testdata(t, "plateau_range.json"), &file); err != nil {
		t.Fatal(err)
	}
	s := &promtest.Store{}
	if err := s.Answer(file.History); err != nil {
		t.Fatal(err)
	}
	now := recordedAt.Add(186 * time.Second)
	open := func(t *testing.T) *Datasource {
		stored := fmt.Sprintf(`{"scrapeInterval":"5s","clusters":[{"name":"north","endpoints":[{"id":"a","url":%q}]}],"agents":{"discovery":"off"}}`, promtest.Serve(t, s))
		d := openDatasource(t, backend.DataSourceInstanceSettings{JSONData: []byte(stored)})
		d.now = func() time.Time { return now }
		agentsOf(d, live.WindowResult{Period: time.Second, Series: []gpu.Series{{
			Device: gpu.Device{Identity: gpu.Identity{Cluster: "north", Node: "rack1-gpu01", UUID: file.Live.UUID}, Model: "NVIDIA H100 80GB HBM3"},
			Times:  file.Live.Times, Values: file.Live.Watts,
		}}})
		return d
	}
	ask := func(t *testing.T, q string, headers map[string]string) data.Frames {
		t.Helper()
		response, err := open(t).QueryData(t.Context(), &backend.QueryDataRequest{Headers: headers, Queries: []backend.DataQuery{{
			RefID: "A", JSON: json.RawMessage(q), QueryType: queryTypeIn(q), MaxDataPoints: 1000, TimeRange: backend.TimeRange{From: recordedAt, To: now},
		}}})
		if err != nil || response.Responses["A"].Error != nil {
			t.Fatal(err, response.Responses["A"].Error)
		}
		return response.Responses["A"].Frames
	}
	want := map[int64]float64{}
	for at := int64(0); at < 180; at += 5 {
		want[recordedAt.UnixMilli()+at*1000] = []float64{70, 310, 68, 305, 72, 300}[at/30]
	}
	for i, at := range file.Live.Times {
		want[at] = file.Live.Watts[i]
	}
	for name, headers := range map[string]map[string]string{"panel": nil, "alert": {"FromAlert": "true"}} {
		t.Run(name, func(t *testing.T) {
			got := ask(t, metricQuery(), headers)
			seen := 0
			times, values := column(got[0], 1)
			for i, v := range values {
				if v == nil {
					continue
				}
				seen++
				if w, ok := want[times[i]]; !ok || w != *v {
					t.Errorf("%v at %d, want %v", *v, times[i]-recordedAt.UnixMilli(), w)
				}
			}
			if seen != len(want) {
				t.Errorf("%d samples, want %d", seen, len(want))
			}
			if text := noticeTexts(got); !strings.Contains(text, "info: Until 22:43:00 UTC these are Prometheus' samples, of which each value is repeated for 30s") {
				t.Errorf("notices %q", text)
			}
		})
	}
	text := noticeTexts(ask(t, `{"queryType":"promql","expr":"rate(DCGM_FI_DEV_POWER_USAGE[20s])"}`, nil))
	if !strings.Contains(text, "warning: rate() of DCGM_FI_DEV_POWER_USAGE looks at 20s") {
		t.Errorf("notices %q", text)
	}
	// A line that the agents do not continue has no seam.
	if text := noticeTexts(ask(t, metricQuery(`"source":"history"`), nil)); text != "" {
		t.Errorf("history alone says %q", text)
	}
}

// A38: labels say that two pods use GPU 1, though all four are on GPU 0. Each GPU has its own utilization, once.
func TestCasePodsOnTheWrongGPU(t *testing.T) {
	var file struct{ Exporter json.RawMessage }
	if err := json.Unmarshal(testdata(t, "mps_wrong_gpu.json"), &file); err != nil {
		t.Fatal(err)
	}
	d := exported(t, func(s *promtest.Store) {
		if err := s.Answer(file.Exporter); err != nil {
			t.Fatal(err)
		}
	})
	d.now = func() time.Time { return recordedAt }
	for _, format := range []string{"table", "time_series"} {
		response, err := d.QueryData(t.Context(), &backend.QueryDataRequest{Queries: []backend.DataQuery{{
			RefID: "A", JSON: json.RawMessage(`{"queryType":"metric","metric":"gpu_utilization_ratio","format":"` + format + `"}`), MaxDataPoints: 10,
			QueryType: "metric", TimeRange: backend.TimeRange{From: recordedAt.Add(-time.Minute), To: recordedAt},
		}}})
		if err != nil || response.Responses["A"].Error != nil {
			t.Fatal(err, response.Responses["A"].Error)
		}
		got := response.Responses["A"].Frames
		if format == "table" {
			rows := cells(t, got, "gpu", "gpu_utilization_ratio")
			if want := []string{"0 0.38", "1 0"}; !slices.Equal(rows, want) {
				t.Errorf("rows %q", rows)
			}
			continue
		}
		if v := lastOf(t, got); len(v) != 2 || v["rack1-gpu01 · GPU 0 · RTX A4000"] != 0.38 || v["rack1-gpu01 · GPU 1 · RTX A4000"] != 0 {
			t.Errorf("lines %v", v)
		}
	}
}
