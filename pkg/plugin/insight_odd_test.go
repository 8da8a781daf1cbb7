package plugin

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

// oddFleets are what servers may have of GPUs that nobody would think of.
func oddFleets() map[string]func(*promtest.Store) {
	all := func(s *promtest.Store, node string, i int, value func(name string, second int) float64, labels ...string) {
		for _, name := range []string{
			"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_MEMORY_TEMP", "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_FB_USED",
			"DCGM_FI_DEV_FB_FREE", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_DRAM_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
			"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
			"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "DCGM_FI_DEV_ROW_REMAP_FAILURE", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_PROF_PCIE_RX_BYTES",
		} {
			of := map[string]string{
				"__name__": name, "gpu": fmt.Sprint(i), "UUID": fmt.Sprintf("GPU-%s-%d", node, i), "modelName": "NVIDIA H100 80GB HBM3", "Hostname": node,
				"instance": node + ":9400", "job": "dcgm",
			}
			for n := 0; n < len(labels); n += 2 {
				of[labels[n]] = labels[n+1]
			}
			var points []promtest.Point
			for second := -900; second <= 900; second += 15 {
				if v := value(name, second); v != absentSample {
					points = append(points, promtest.Point{Time: recordedAt.Add(time.Duration(second) * time.Second).UnixMilli(), Value: v})
				}
			}
			s.Add(of, points...)
		}
	}
	constant := func(v float64) func(string, int) float64 { return func(string, int) float64 { return v } }
	return map[string]func(*promtest.Store){
		"no GPU":            func(*promtest.Store) {},
		"one GPU":           func(s *promtest.Store) { all(s, "n1", 0, constant(50)) },
		"nothing but zeros": func(s *promtest.Store) { all(s, "n1", 0, constant(0)) },
		"no numbers":        func(s *promtest.Store) { all(s, "n1", 0, constant(math.NaN())) },
		"infinite": func(s *promtest.Store) {
			all(s, "n1", 0, constant(math.Inf(1)))
			all(s, "n1", 1, constant(math.Inf(-1)))
		},
		"the largest": func(s *promtest.Store) {
			all(s, "n1", 0, constant(math.MaxFloat64))
			all(s, "n1", 1, constant(-math.MaxFloat64))
		},
		"the smallest": func(s *promtest.Store) { all(s, "n1", 0, constant(math.SmallestNonzeroFloat64)) },
		"blanks of exporters": func(s *promtest.Store) {
			all(s, "n1", 0, constant(9223372036854775794))
			all(s, "n1", 1, constant(2147483632))
		},
		"falling counters": func(s *promtest.Store) {
			all(s, "n1", 0, func(_ string, second int) float64 { return float64(-second) })
		},
		"wrong units": func(s *promtest.Store) {
			all(s, "n1", 0, func(name string, _ int) float64 {
				return map[string]float64{"DCGM_FI_DEV_GPU_UTIL": 9000, "DCGM_FI_DEV_POWER_USAGE": 6e5, "DCGM_FI_PROF_SM_ACTIVE": 97, "DCGM_FI_DEV_FB_USED": 6e10, "DCGM_FI_DEV_FB_FREE": 1}[name]
			})
		},
		"one sample": func(s *promtest.Store) {
			all(s, "n1", 0, func(_ string, second int) float64 {
				if second == 300 {
					return 40
				}
				return absentSample
			})
		},
		"only the future": func(s *promtest.Store) {
			all(s, "n1", 0, func(_ string, second int) float64 {
				if second > 700 {
					return 40
				}
				return absentSample
			})
		},
		"all XIDs": func(s *promtest.Store) {
			all(s, "n1", 0, func(name string, second int) float64 {
				if name == "DCGM_FI_DEV_XID_ERRORS" {
					return float64((second+900)/15*7%200 + 1)
				}
				return 50
			})
		},
		"moved to another node": func(s *promtest.Store) {
			first := func(_ string, second int) float64 {
				if second > 200 {
					return absentSample
				}
				return 50
			}
			all(s, "n1", 0, first)
			all(s, "n2", 0, func(name string, second int) float64 { return first(name, 401-second) }, "UUID", "GPU-n1-0")
		},
		"split anew": func(s *promtest.Store) {
			for i, profile := range []string{"1g.10gb", "3g.40gb"} {
				for id := range 3 {
					all(s, "n1", 0, func(_ string, second int) float64 {
						if second > 200 == (i == 0) {
							return absentSample
						}
						return 50
					}, "GPU_I_ID", fmt.Sprint(7+i*3+id), "GPU_I_PROFILE", profile)
				}
			}
		},
		"one UUID on two nodes": func(s *promtest.Store) {
			all(s, "n1", 0, constant(50))
			all(s, "n2", 0, constant(60), "UUID", "GPU-n1-0")
		},
		"names of no use": func(s *promtest.Store) { all(s, "n1", 0, constant(50), "UUID", "", "modelName", "", "Hostname", "") },
	}
}

// absentSample is no sample at all.
const absentSample = -12345.5

// Whatever there is of GPUs, and whenever it is asked for, each query of a judgement has an answer without a panic and with finite
// numbers, and one that shows nothing says why.
func TestJudgementsOfOddFleets(t *testing.T) {
	now := recordedAt.Add(10 * time.Minute)
	ranges := map[string]backend.TimeRange{
		"ten minutes": {From: now.Add(-10 * time.Minute), To: now}, "a second": {From: now.Add(-time.Second), To: now}, "a year": {From: now.AddDate(-1, 0, 0), To: now},
		"the future": {From: now.Add(time.Hour), To: now.Add(2 * time.Hour)}, "no time": {From: now, To: now}, "turned round": {From: now, To: now.Add(-time.Hour)},
		"long ago": {From: time.UnixMilli(1).UTC(), To: time.UnixMilli(60_000).UTC()},
	}
	for fleet, fill := range oddFleets() {
		t.Run(fleet, func(t *testing.T) {
			d := exported(t, fill)
			for span, over := range ranges {
				if fleet != "one GPU" && span != "ten minutes" {
					continue // what is odd about time does not depend on what is odd about GPUs
				}
				for _, scope := range []string{"", `,"nodes":["elsewhere"]`} {
					if scope != "" && fleet != "one GPU" {
						continue
					}
					askOddly(t, d, span+scope, over, scope)
				}
			}
		})
	}
}

func askOddly(t *testing.T, d *Datasource, who string, over backend.TimeRange, scope string) {
	t.Helper()
	for _, headers := range []map[string]string{nil, {"FromAlert": "true"}} {
		request := &backend.QueryDataRequest{Headers: headers}
		for name, more := range judging() {
			queryType, _, _ := strings.Cut(name, " ")
			raw := strings.TrimSuffix(fmt.Sprintf(`{"queryType":%q%s,%s`, queryType, scope, more), ",") + "}"
			request.Queries = append(request.Queries, backend.DataQuery{RefID: name, QueryType: queryType, JSON: []byte(raw), TimeRange: over, MaxDataPoints: 500, Interval: time.Second})
		}
		answers, err := d.QueryData(t.Context(), request)
		if err != nil {
			t.Fatalf("%s: %v", who, err)
		}
		for _, q := range request.Queries {
			at := fmt.Sprintf("%s over %s, for rules: %v", q.RefID, who, headers != nil)
			answer, ok := answers.Responses[q.RefID]
			if !ok || answer.Error == nil && len(answer.Frames) == 0 {
				t.Errorf("%s: no answer", at)
				continue
			}
			if answer.Error != nil {
				if strings.Contains(answer.Error.Error(), "panic") || answer.Status/100 != 4 {
					t.Errorf("%s: %d %v", at, answer.Status, answer.Error)
				}
				continue
			}
			numbers(t, at, answer)
			rows := 0
			for _, frame := range answer.Frames {
				rows += frame.Rows()
				if node, at := frame.FieldByName("node"); scope != "" && at >= 0 && node.Len() > 0 {
					t.Errorf("%s: %q has rows of what nothing was asked of", who, frame.Name)
				}
			}
			if rows == 0 && noticeTexts(answer.Frames) == "" && q.RefID != "events" {
				t.Errorf("%s: nothing, and no word", at)
			}
		}
	}
}
