package frames_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/grafana/grafana-plugin-sdk-go/experimental"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const start = 1793400000000 // Unix milliseconds, a multiple of 15 s

func golden(t *testing.T, name string, answer ...*data.Frame) {
	t.Helper()
	experimental.CheckGoldenJSONResponse(t, "testdata", name, &backend.DataResponse{Frames: answer}, *update)
}

func board(cluster, node string, index int) gpu.Device {
	return gpu.Device{
		Identity: gpu.Identity{Cluster: cluster, Node: node, UUID: fmt.Sprintf("GPU-5e1f%04d-0a00-4a00-8b00-000000000000", index)},
		Index:    index, Model: "NVIDIA H200",
	}
}

func slice(parent gpu.Device, id, profile string) gpu.Device {
	parent.GPUInstance, parent.MIGProfile, parent.MIGEnabled = id, profile, true
	return parent
}

func every(step time.Duration, values ...float64) ([]int64, []float64) {
	times := make([]int64, len(values))
	for i := range values {
		times[i] = start + int64(i)*step.Milliseconds()
	}
	return times, values
}

func series(d gpu.Device, step time.Duration, values ...float64) gpu.Series {
	s := gpu.Series{Device: d}
	s.Times, s.Values = every(step, values...)
	return s
}

func TestWide(t *testing.T) {
	a, b := board("north", "node-1", 0), slice(board("north", "node-1", 1), "7", "1g.18gb")
	late := series(b, 15*time.Second, 0.5, math.NaN(), math.Inf(1))
	for i := range late.Times {
		late.Times[i] += 15_000
	}
	all := []gpu.Series{series(a, 15*time.Second, 0.1, 0.2, 0.3, 0.4), late}
	frame := frames.Wide(all, frames.Options{
		Metric: "gpu_sm_active_ratio", Description: "Share of time a warp was resident.", Unit: gpu.Ratio,
		Naming: frames.NamingFor(all, ""), Step: 15 * time.Second, Executed: "max by (x) (y)",
		Notices: []gpu.Notice{{Severity: gpu.Warning, Text: "agent node-2: refused"}},
		Custom:  map[string]any{"live": map[string]any{"path": "q/00"}},
	})
	golden(t, "wide", frame)
	if got := frame.Fields[2].At(3); got.(*float64) != nil {
		t.Errorf("an infinite value is shown as %v", got)
	}
}

// With nothing to show, each shape answers with a typed frame, and one without fields (grafana/grafana#125740).
func TestEmptyFramesAreTyped(t *testing.T) {
	o := frames.Options{Metric: "gpu_power_watts", Executed: "x", Notices: []gpu.Notice{{Text: "nothing matches"}}}
	golden(t, "empty", frames.Wide(nil, o), frames.Multi(nil, o)[0], frames.Latest(nil, o), frames.Long(nil, o))
}

// A live channel's schema has its fields before the first row.
func TestWideSchemaWithoutRows(t *testing.T) {
	frame := frames.Wide([]gpu.Series{{Device: board("", "node-1", 0)}}, frames.Options{Metric: "gpu_power_watts", Unit: gpu.Watts})
	if len(frame.Fields) != 2 || frame.Rows() != 0 {
		t.Fatalf("%d fields, %d rows", len(frame.Fields), frame.Rows())
	}
}

func TestMulti(t *testing.T) {
	first := gpu.Series{Labels: map[string]string{"__name__": "up", "job": "dcgm"}}
	first.Times, first.Values = every(time.Minute, 1, 0)
	second := gpu.Series{Labels: map[string]string{}}
	second.Times, second.Values = every(30*time.Second, 2)
	all := []gpu.Series{first, second}
	golden(t, "multi", frames.Multi(all, frames.Options{
		Metric: "sum(up)", Naming: frames.NamingFor(all, ""), Step: time.Minute, Executed: "sum(up)",
		Notices: []gpu.Notice{{Severity: gpu.Info, Text: "one"}},
	})...)
}

func TestTables(t *testing.T) {
	all := []gpu.Series{
		series(board("north", "node-1", 3), time.Second, 1, 400),
		series(slice(board("north", "node-1", 4), "0", "7g.141gb"), time.Second, 300, math.NaN()),
		{Device: board("north", "node-2", -1)},
	}
	o := frames.Options{Metric: "gpu_power_watts", Unit: gpu.Watts, Naming: frames.NamingFor(all, "")}
	golden(t, "latest", frames.Latest(all, o))
	golden(t, "long", frames.Long(all, o))
	groups := []gpu.Series{{Labels: map[string]string{"node": "node-1", "cluster": "north"}, Times: []int64{start}, Values: []float64{7}}}
	golden(t, "latest_groups", frames.Latest(groups, frames.Options{Metric: "gpu_power_watts", Unit: gpu.Watts}))
}

// prometheusSeries reads the shape of a Prometheus answer that the captured cases have.
func prometheusSeries(t *testing.T, file string) []gpu.Series {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
				Value  *[2]any
			}
		}
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		t.Fatal(err)
	}
	var all []gpu.Series
	for _, r := range answer.Data.Result {
		s := gpu.Series{Labels: r.Metric}
		if r.Value != nil {
			r.Values = append(r.Values, *r.Value)
		}
		for _, v := range r.Values {
			n, err := strconv.ParseFloat(v[1].(string), 64)
			if err != nil {
				t.Fatal(err)
			}
			s.Times, s.Values = append(s.Times, int64(v[0].(float64)*1000)), append(s.Values, n)
		}
		all = append(all, s)
	}
	return all
}

// NaN and infinite values are gaps in valid JSON, and a series of nothing else says so (grafana/grafana#13055).
func TestNotANumberIsAGap(t *testing.T) {
	all := prometheusSeries(t, "nan_inf.json")
	naming := frames.NamingFor(all, "")
	notices := frames.Silent(all, naming)
	if len(notices) != 1 || !strings.Contains(notices[0].Text, `1 of 2 series hold no number`) || !strings.Contains(notices[0].Text, `x{gpu="1"}`) {
		t.Errorf("notices %v", notices)
	}
	nameless := frames.Silent([]gpu.Series{{Times: []int64{0}, Values: []float64{math.NaN()}}}, frames.Naming{})
	if want := "1 of 1 series hold no number in this range (NaN or infinite): one without labels."; len(nameless) != 1 || nameless[0].Text != want {
		t.Errorf("got %v, want %s", nameless, want)
	}
	golden(t, "nan_inf", frames.Multi(all, frames.Options{Metric: "x", Naming: naming, Step: 30 * time.Second, Notices: notices})...)
	golden(t, "nan_inf_table", frames.Latest(all, frames.Options{Metric: "x", Naming: naming}))
}

// Label values of any text arrive as they are, as labels and as cells (cnieg/gitlab-tokens-exporter#221).
func TestLabelValuesAreKept(t *testing.T) {
	all := prometheusSeries(t, "label_values.json")
	table := frames.Latest(all, frames.Options{Naming: frames.NamingFor(all, "")})
	job, _ := table.FieldByName("job")
	multi := frames.Multi(all, frames.Options{Naming: frames.NamingFor(all, "")})
	for i, s := range all {
		if job.At(i) != s.Labels["job"] {
			t.Errorf("cell %q for %q", job.At(i), s.Labels["job"])
		}
		for name, value := range s.Labels {
			if name != "__name__" && multi[i].Fields[1].Labels[name] != value {
				t.Errorf("label %s=%q for %q", name, multi[i].Fields[1].Labels[name], value)
			}
		}
	}
}

// Names come from labels, are distinct, and do not depend on which other series are shown in the frame (grafana/mqtt-datasource#39).
func TestNames(t *testing.T) {
	north, south := board("north", "node-1", 0), board("south", "node-1", 0)
	replaced := board("north", "node-1", 0)
	replaced.UUID = "GPU-ffff0000-0a00-4a00-8b00-000000000000"
	tests := []struct {
		name    string
		devices []gpu.Device
		legend  string
		display []string
		field   []string
	}{
		{name: "one cluster", devices: []gpu.Device{north, board("north", "node-1", 1)}, display: []string{"node-1 · GPU 0 · H200", "node-1 · GPU 1 · H200"}},
		{name: "two clusters", devices: []gpu.Device{north, south}, display: []string{"north · node-1 · GPU 0 · H200", "south · node-1 · GPU 0 · H200"}},
		{name: "MIG", devices: []gpu.Device{slice(north, "7", "1g.18gb")}, display: []string{"node-1 · GPU 0 · MIG 1g.18gb #7"}},
		{
			name: "legend", devices: []gpu.Device{slice(north, "7", "1g.18gb"), south}, legend: "{{ node }}/{{gpu}} {{mig_profile}}{{nothing}} {{",
			display: []string{"node-1/0 1g.18gb {{", "node-1/0  {{"},
			field:   []string{"north · node-1 · GPU 0 · MIG 1g.18gb #7", "south · node-1 · GPU 0 · H200"},
		},
		{name: "legend with name", devices: []gpu.Device{north}, legend: "{{name}}!", display: []string{"node-1 · GPU 0 · H200!"}, field: []string{"node-1 · GPU 0 · H200"}},
		{
			name: "GPU replaced", devices: []gpu.Device{north, replaced}, display: []string{"node-1 · GPU 0 · H200", "node-1 · GPU 0 · H200"},
			field: []string{
				`node-1 · GPU 0 · H200 {cluster="north", node="node-1", gpu="0", gpu_uuid="GPU-5e1f0000-0a00-4a00-8b00-000000000000", model="NVIDIA H200"}`,
				`node-1 · GPU 0 · H200 {cluster="north", node="node-1", gpu="0", gpu_uuid="GPU-ffff0000-0a00-4a00-8b00-000000000000", model="NVIDIA H200"}`,
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var all []gpu.Series
			for _, d := range test.devices {
				all = append(all, gpu.Series{Device: d})
			}
			if test.field == nil {
				test.field = test.display
			}
			naming := frames.NamingFor(all, test.legend)
			frame := frames.Wide(all, frames.Options{Naming: naming})
			for i, field := range frame.Fields[1:] {
				if field.Config.DisplayNameFromDS != test.display[i] || field.Name != test.field[i] {
					t.Errorf("display %q, name %q; want %q, %q", field.Config.DisplayNameFromDS, field.Name, test.display[i], test.field[i])
				}
			}
			alone := frames.Wide(all[len(all)-1:], frames.Options{Naming: naming})
			if got, want := alone.Fields[1].Config.DisplayNameFromDS, test.display[len(all)-1]; got != want {
				t.Errorf("alone it is called %q, want %q", got, want)
			}
		})
	}
}

func TestGroupNames(t *testing.T) {
	all := []gpu.Series{{Labels: map[string]string{"node": "node-1", "cluster": "north"}}, {Labels: map[string]string{"model": "NVIDIA H200"}}}
	frame := frames.Wide(all, frames.Options{Naming: frames.NamingFor(all, "")})
	if a, b := frame.Fields[1].Name, frame.Fields[2].Name; a != "north · node-1" || b != "NVIDIA H200" {
		t.Errorf("%q, %q", a, b)
	}
}

// What is labelled with a name of its own is called that, not by all its labels.
func TestALegendNamesWhatHasAName(t *testing.T) {
	all := []gpu.Series{{Labels: map[string]string{"name": "node-1 · GPU 0", "line": "lower"}}}
	frame := frames.Wide(all, frames.Options{Naming: frames.Naming{Legend: "{{name}} {{line}}"}})
	if got := frame.Fields[1].Config.DisplayNameFromDS; got != "node-1 · GPU 0 lower" {
		t.Errorf("it is called %q", got)
	}
}

func TestSortIsByIdentity(t *testing.T) {
	b := board("north", "node-1", 1)
	all := []gpu.Series{
		{Labels: map[string]string{"node": "b"}}, {Device: slice(b, "10", "")}, {Device: board("south", "node-0", 0)},
		{Device: slice(b, "9", "")}, {Device: b}, {Labels: map[string]string{"node": "a"}},
	}
	frames.Sort(all)
	want := []gpu.Series{
		{Labels: map[string]string{"node": "a"}}, {Labels: map[string]string{"node": "b"}}, {Device: b},
		{Device: slice(b, "9", "")}, {Device: slice(b, "10", "")}, {Device: board("south", "node-0", 0)},
	}
	if !reflect.DeepEqual(all, want) {
		t.Errorf("got %v", all)
	}
}

// What a browser cannot show is cut with a notice that says how much (grafana/grafana#132073).
func TestLimits(t *testing.T) {
	many := make([]gpu.Series, 7000)
	for i := range many {
		many[i] = gpu.Series{Device: board("north", fmt.Sprintf("node-%04d", i), 0), Times: []int64{start}, Values: []float64{1}}
	}
	shown, notices := frames.Limit(many)
	if len(shown) != frames.MaxSeries || len(notices) != 1 || !strings.HasPrefix(notices[0].Text, "Showing 1000 of 7000 series: ") {
		t.Errorf("%d series, notices %v", len(shown), notices)
	}
	long := []gpu.Series{{Times: make([]int64, 11_000)}}
	for range 600 {
		long = append(long, long[0])
	}
	if shown, notices := frames.Limit(long); len(shown)*11_000 > frames.MaxCells || len(notices) != 1 {
		t.Errorf("%d series of 11000 points, notices %v", len(shown), notices)
	}
	if shown, notices := frames.Limit(many[:5]); len(shown) != 5 || notices != nil {
		t.Errorf("%d series, notices %v", len(shown), notices)
	}
	table := frames.Long([]gpu.Series{{Times: make([]int64, 15_000), Values: make([]float64, 15_000)}, {Times: make([]int64, 15_000), Values: make([]float64, 15_000)}}, frames.Options{})
	if table.Rows() != 15_000 || len(table.Meta.Notices) != 1 {
		t.Errorf("%d rows, notices %v", table.Rows(), table.Meta.Notices)
	}
}

// Every canonical unit has one of Grafana's.
func TestUnits(t *testing.T) {
	for unit, want := range map[gpu.Unit]string{
		gpu.Bytes: "bytes", gpu.BytesPerSecond: "Bps", gpu.Seconds: "s", gpu.Watts: "watt", gpu.Joules: "joule", gpu.Hertz: "hertz",
		gpu.Celsius: "celsius", gpu.Ratio: "percentunit", gpu.Count: "short", gpu.Code: "none", "": "",
	} {
		frame := frames.Wide([]gpu.Series{{Device: board("", "n", 0)}}, frames.Options{Unit: unit})
		if got := frame.Fields[1].Config.Unit; got != want {
			t.Errorf("%q is shown as %q, want %q", unit, got, want)
		}
	}
	rate := frames.Wide([]gpu.Series{{Device: board("", "n", 0)}}, frames.Options{Unit: gpu.Count, Rate: true})
	if got := rate.Fields[1].Config.Unit; got != "cps" {
		t.Errorf("events per second are shown as %q", got)
	}
}

// No frame ever has a null time (grafana/grafana#130379), whatever the series are.
func TestTimesAreNeverNull(t *testing.T) {
	odd := gpu.Series{Device: board("", "n", 1), Times: []int64{start + 1, start + 3}, Values: []float64{1, 2}}
	frame := frames.Wide([]gpu.Series{series(board("", "n", 0), time.Second, 1, 2), odd}, frames.Options{})
	if frame.Fields[0].Type() != data.FieldTypeTime {
		t.Fatalf("time is %s", frame.Fields[0].Type())
	}
	for i := 1; i < frame.Rows(); i++ {
		if !frame.Fields[0].At(i).(time.Time).After(frame.Fields[0].At(i - 1).(time.Time)) {
			t.Errorf("row %d is not after the row before it", i)
		}
	}
	if frame.Rows() != 4 {
		t.Errorf("%d rows", frame.Rows())
	}
}

func BenchmarkWide(b *testing.B) {
	all := make([]gpu.Series, 1000)
	for i := range all {
		all[i] = series(board("north", fmt.Sprintf("node-%03d", i), 0), 15*time.Second, make([]float64, 1000)...)
	}
	o := frames.Options{Metric: "gpu_power_watts", Unit: gpu.Watts}
	for b.Loop() {
		frames.Wide(all, o)
	}
}
