package plugin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

func rowsOfCoverage(f *fleet) history.Coverage {
	watts, _ := f.catalog.Metric("gpu_power_watts")
	ttft, _ := f.catalog.Metric("serve_ttft_seconds")
	return history.Coverage{
		Executed: "group()", Notices: []gpu.Notice{{Severity: gpu.Warning, Text: "p1 is down"}},
		Rows: []history.CoverageRow{
			{Cluster: "north", Endpoint: "p0", Metric: watts, Dialect: "dcgm", Status: history.Covered, Covered: 4, Total: 4, Targets: 2, Series: "DCGM_FI_DEV_POWER_USAGE", Unit: "watts", Why: "recognised by its name"},
			{Cluster: "north", Metric: ttft, Dialect: "vllm", Status: history.Missing, Total: 1, Unit: "seconds", Why: "no", Enable: "do this"},
		},
	}
}

func TestCoverageQuery(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		f.past.coverage = rowsOfCoverage(f)
		frame := f.frames(t, time.Hour, `{"queryType":"coverage","clusters":["north"]}`)[0]
		if frame.Meta.Type != data.FrameTypeTable || frame.Name != "coverage" || len(frame.Meta.Notices) != 1 || frame.Meta.ExecutedQueryString != "group()" {
			t.Errorf("meta %+v", frame.Meta)
		}
		var names []string
		var cells [2][]any
		for _, field := range frame.Fields {
			names = append(names, field.Name)
			for row := range cells {
				cells[row] = append(cells[row], field.At(row))
			}
		}
		want := []string{
			"cluster", "endpoint", "metric", "family", "unit", "status", "covered", "total", "exporters", "dialect", "series", "series unit", "why", "passed over", "enable", "help",
		}
		if !slices.Equal(names, want) {
			t.Errorf("columns %v", names)
		}
		for row, want := range []string{
			"[north p0 gpu_power_watts power watts ok 4 4 2 dcgm DCGM_FI_DEV_POWER_USAGE watts recognised by its name   ]",
			"[north  serve_ttft_seconds latency seconds missing 0 1 0 vllm  seconds no  do this ]",
		} {
			if got := fmt.Sprint(cells[row]); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
	})
}

func TestCoverageResource(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		f.past.coverage = rowsOfCoverage(f)
		status, body := f.resource(t, http.MethodGet, "coverage?cluster=north&model=$__all")
		var got coverageAnswer
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusOK {
			t.Fatalf("%d, %v: %s", status, err, body)
		}
		if len(got.Rows) != 2 || len(got.Notices) != 1 || got.Rows[0].Subject != "device" || got.Rows[1].Subject != "workload" || got.Rows[1].Enable != "do this" {
			t.Errorf("got %+v", got)
		}
		if status, body := f.resource(t, http.MethodGet, "coverage?rack=1"); status != http.StatusBadRequest {
			t.Errorf("%d %s", status, body)
		}
		if status, _ := f.resource(t, http.MethodGet, "coverage?node=/(/"); status != http.StatusBadRequest {
			t.Errorf("%d for no regular expression", status)
		}
		f.past.coverage.Err = &history.Error{Endpoint: "p0", Kind: history.KindTimeout, Message: "no answer"}
		if status, _ := f.resource(t, http.MethodGet, "coverage"); status != http.StatusGatewayTimeout {
			t.Errorf("%d for a server that does not answer", status)
		}
	})
}

// Metrics of workloads make the same frames as those of GPUs, named by what tells their lines apart.
func TestWorkloadsInFrames(t *testing.T) {
	s := &promtest.Store{}
	for _, one := range []struct{ pod, series string }{{"vllm-0", "vllm:num_requests_running"}, {"sglang-0", "sglang:num_running_reqs"}} {
		s.Constant(map[string]string{"__name__": one.series, "pod": one.pod, "namespace": "lab", "model_name": "llama", "instance": "10.0.0.1:8000"}, 3)
	}
	known, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	past, err := history.New([]history.Endpoint{{ID: "p0", Cluster: "north", URL: promtest.Serve(t, s)}}, known, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(past.Close)
	d := &Datasource{catalog: known, history: past, handovers: newHandovers(), logger: backend.Logger, now: func() time.Time { return time.Unix(1793400600, 0) }}
	ask := func(raw string) data.Frames {
		t.Helper()
		frames, err := d.answer(t.Context(), backend.DataQuery{
			JSON: json.RawMessage(raw), MaxDataPoints: 100, TimeRange: backend.TimeRange{From: time.Unix(1793400000, 0), To: time.Unix(1793400600, 0)},
		}, false)
		if err != nil {
			t.Fatal(err)
		}
		return frames
	}
	wide := ask(`{"metric":"serve_requests_running"}`)[0]
	if len(wide.Fields) != 3 || wide.Fields[1].Name != "sglang-0" || wide.Fields[2].Name != "vllm-0" || wide.Fields[2].Labels.String() != "cluster=north, model=llama, namespace=lab, pod=vllm-0" {
		t.Errorf("got %v %v", wide.Fields, wide.Meta.Notices)
	}
	if unit := wide.Fields[1].Config.Unit; unit != "short" {
		t.Errorf("unit %q", unit)
	}
	sum := ask(`{"metric":"serve_requests_running","aggregateBy":"namespace","aggregation":"sum"}`)[0]
	if len(sum.Fields) != 2 || sum.Fields[1].Name != "north · lab" {
		t.Errorf("got %v", sum.Fields)
	}
	table := ask(`{"metric":"serve_requests_running","format":"table"}`)[0]
	if rows, _ := table.RowLen(); rows != 2 || table.Meta.Type != data.FrameTypeNumericLong {
		t.Errorf("table: %d rows, %v", rows, table.Meta)
	}
	live := ask(`{"metric":"serve_requests_running","source":"live"}`)[0]
	if len(live.Fields) != 0 || len(live.Meta.Notices) != 1 {
		t.Errorf("live: %v", live.Meta.Notices)
	}
}
