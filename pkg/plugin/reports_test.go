package plugin

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

// recordedAt is when the data of the reports was recorded.
var recordedAt = time.Unix(1793400000, 0)

// exported is a data source with nothing but a Prometheus that holds what exporters showed in public reports.
func exported(t *testing.T, fill func(*promtest.Store)) *Datasource {
	t.Helper()
	s := &promtest.Store{}
	fill(s)
	stored := backend.DataSourceInstanceSettings{JSONData: []byte(fmt.Sprintf(
		`{"clusters":[{"name":"north","endpoints":[{"id":"a","url":%q}]}],"agents":{"discovery":"off"}}`, promtest.Serve(t, s)))}
	instance, err := NewDatasource(t.Context(), stored)
	if err != nil {
		t.Fatal(err)
	}
	d := instance.(*Datasource)
	t.Cleanup(d.Dispose)
	d.now = func() time.Time { return recordedAt.Add(10 * time.Minute) }
	return d
}

// exposed adds a file of the history package's testdata, as one target shows it.
func exposed(t *testing.T, s *promtest.Store, name, instance string) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "history", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(name) == ".json" {
		err = s.Answer(body)
	} else {
		err = s.Exposition(strings.NewReader(string(body)), map[string]string{"instance": instance, "job": "dcgm"})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func answerTo(t *testing.T, d *Datasource, q string) data.Frames {
	t.Helper()
	response, err := d.QueryData(t.Context(), &backend.QueryDataRequest{Queries: []backend.DataQuery{{
		RefID: "A", JSON: json.RawMessage(q), QueryType: queryTypeIn(q), MaxDataPoints: 1000,
		TimeRange: backend.TimeRange{From: recordedAt, To: recordedAt.Add(10 * time.Minute)},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if answer := response.Responses["A"]; answer.Error != nil {
		t.Fatal(answer.Error)
	} else {
		return answer.Frames
	}
	return nil
}

// lastOf is the last value of every line, by its name.
func lastOf(t *testing.T, all data.Frames) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	for _, frame := range all {
		for i, field := range frame.Fields {
			if i == 0 || frame.Rows() == 0 {
				continue
			}
			if v, ok := field.At(frame.Rows() - 1).(*float64); ok && v != nil {
				values[field.Name] = *v
			}
		}
	}
	return values
}

func TestAveragesSayWhatTheyAreMadeOf(t *testing.T) {
	d := exported(t, func(s *promtest.Store) { exposed(t, s, "mig_sum.prom", "10.9.0.1:9400") })
	got := answerTo(t, d, `{"queryType":"metric","metric":"gpu_graphics_engine_active_ratio","aggregateBy":"node"}`)
	if v := lastOf(t, got); len(v) != 1 || fmt.Sprintf("%.3f", v["north · rack1-gpu01"]) != "0.769" {
		t.Errorf("got %v", v)
	}
	if text := noticeTexts(got); !strings.Contains(text, "info: Averages are over 1 GPU and 3 MIG instances; "+
		"a MIG instance's value is relative to the instance and counts by its part of the GPU's compute slices (1g of 7 counts 1/7).") {
		t.Errorf("notices %s", text)
	}
	busy := exported(t, func(s *promtest.Store) { exposed(t, s, "only_busy_gpus.prom", "10.9.0.1:9400") })
	got = answerTo(t, busy, `{"queryType":"metric","metric":"gpu_memory_used_bytes","aggregateBy":"node","aggregation":"avg"}`)
	if text := noticeTexts(got); text != "info: Averages are over 3 GPUs." {
		t.Errorf("notices %s", text)
	}
	// Another exporter knows of all eight.
	busy = exported(t, func(s *promtest.Store) {
		exposed(t, s, "only_busy_gpus.prom", "10.9.0.1:9400")
		for i := range 8 {
			uuid := fmt.Sprintf("5e1f%04x-0a00-4a00-8b00-%012x", i, i)
			s.Constant(map[string]string{"__name__": "nvidia_smi_gpu_info", "uuid": uuid, "index": fmt.Sprint(i), "name": "NVIDIA GeForce RTX 5090", "instance": "rack1-gpu01:9835"}, 1)
		}
	})
	got = answerTo(t, busy, `{"queryType":"metric","metric":"gpu_memory_used_bytes","aggregateBy":"node","aggregation":"avg"}`)
	if text := noticeTexts(got); !strings.Contains(text, "gpu_memory_used_bytes is not reported for 5 of 8 devices: "+
		"rack1-gpu01 · GPU 0 · RTX 5090, rack1-gpu01 · GPU 1 · RTX 5090, rack1-gpu01 · GPU 2 · RTX 5090 and 2 more.") {
		t.Errorf("notices %s", text)
	}
}

func TestModelsAreOneLineInAnySpelling(t *testing.T) {
	d := exported(t, func(s *promtest.Store) { exposed(t, s, "model_names.json", "") })
	got := answerTo(t, d, `{"queryType":"metric","metric":"gpu_power_watts","aggregateBy":"model"}`)
	if v := lastOf(t, got); len(v) != 1 || v["T400 4GB"] != 20 {
		t.Errorf("got %v", v)
	}
	status, body := callResource(t, d, "GET", "variables?kind=model")
	if status != 200 || strings.Count(body, `"text":"T400 4GB"`) != 1 {
		t.Errorf("%d %s", status, body)
	}
}

// What a user is told in the panel, for reports whose data alone would mislead.
func TestReportsReachThePanel(t *testing.T) {
	for name, test := range map[string]struct {
		fill  func(*promtest.Store)
		query string
		lines int
		want  string
	}{
		"profiling died": {func(s *promtest.Store) { exposed(t, s, "prof_zero.json", "") },
			`"metric":"gpu_graphics_engine_active_ratio"`, 1, "warning: gpu_graphics_engine_active_ratio is 0 in"},
		"XIDs": {func(s *promtest.Store) { exposed(t, s, "xid_errmsg.prom", "10.9.0.1:9400") },
			`"metric":"gpu_xid_last"`, 2, "info: gpu_xid_last is the last code, not a count: 45 on rack1-gpu01 · GPU 0 · H100 80GB HBM3"},
		"cells": {func(s *promtest.Store) { exposed(t, s, "mig_partial.prom", "10.9.0.1:9400") },
			`"metric":"gpu_memory_used_bytes"`, 3, "info: gpu_memory_used_bytes is not reported for 2 of 5 devices: rack1-gpu01 · GPU 0 · MIG 3g.40gb #1,"},
		"down": {func(s *promtest.Store) {
			exposed(t, s, "exporter_4_8.prom", "10.9.0.1:9400")
			s.Constant(map[string]string{"__name__": "up", "job": "dcgm", "instance": "10.9.0.2:9400"}, 0)
		}, `"metric":"gpu_power_watts"`, 2, "warning: Prometheus cannot scrape 1 exporter of GPU metrics: 10.9.0.2:9400 (job dcgm)."},
		"shared": {func(s *promtest.Store) { exposed(t, s, "timeslice.prom", "10.9.0.1:9400") },
			`"metric":"gpu_power_watts","pods":["work-2"]`, 1, "info: Shared: rack1-gpu01 · GPU 0 · T4 by 3 pods."},
		"ratio above 1": {func(s *promtest.Store) { exposed(t, s, "mig_ratio_over_one.prom", "10.9.0.1:9400") },
			`"metric":"gpu_sm_active_ratio","aggregateBy":"node","aggregation":"max"`, 1, "are above 1, as measured."},
	} {
		t.Run(name, func(t *testing.T) {
			d := exported(t, test.fill)
			for _, format := range []string{"", `,"format":"table"`} {
				got := answerTo(t, d, `{"queryType":"metric",`+test.query+format+`}`)
				if format == "" {
					if v := lastOf(t, got); len(v) != test.lines {
						t.Errorf("lines %v", v)
					}
				}
				if text := noticeTexts(got); !strings.Contains(text, test.want) {
					t.Errorf("format %q: notices %s", format, text)
				}
			}
		})
	}
}

// Series that are named like the agent's, of other vendors' GPUs and of what is no GPU at all.
func TestSeriesOfOthersAreNotShown(t *testing.T) {
	d := exported(t, func(s *promtest.Store) {
		for _, more := range []map[string]string{
			{"uuid": "0xdeadbeef", "vendor": "amd", "hostname": "rocm1"},
			{"uuid": "5e1f0001-0a00-4a00-8b00-000000000001", "pod": "train-0", "node": "k1"},
			{"gpu_uuid": "GPU-5e1f0000-0a00-4a00-8b00-000000000000", "gpu": "0", "node": "n1", "model": "NVIDIA H200"},
		} {
			for _, name := range []string{"gpu_memory_used_bytes", "gpu_info"} {
				labels := map[string]string{"__name__": name, "instance": "x:1"}
				for k, v := range more {
					labels[k] = v
				}
				s.Constant(labels, 1)
			}
		}
	})
	got := answerTo(t, d, `{"queryType":"metric","metric":"gpu_memory_used_bytes"}`)
	if v := lastOf(t, got); len(v) != 1 || v["n1 · GPU 0 · H200"] != 1 {
		t.Errorf("got %v", v)
	}
	if text := noticeTexts(got); text != "" {
		t.Errorf("notices %s", text)
	}
	if _, body := callResource(t, d, "GET", "variables?kind=gpu"); strings.Count(body, `"value"`) != 1 {
		t.Errorf("GPUs %s", body)
	}
}
