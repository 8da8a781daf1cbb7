package plugin

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// weeks adds a series of GPU i of node n1 with a sample every ten minutes over sixteen days until the data of the reports was
// recorded. Hours count from the beginning.
func weeks(s *promtest.Store, name string, i int, value func(hour float64) float64) {
	var points []promtest.Point
	for m := 0; m <= 16*24*60+10; m += 10 {
		points = append(points, promtest.Point{
			Time: recordedAt.Add(time.Duration(m-16*24*60) * time.Minute).UnixMilli(), Value: value(float64(m) / 60),
		})
	}
	s.Add(map[string]string{
		"__name__": name, "gpu": fmt.Sprint(i), "UUID": fmt.Sprintf("GPU-n1-%d", i), "modelName": "NVIDIA H100 80GB HBM3", "Hostname": "n1",
		"instance": "n1:9400", "job": "dcgm",
	}, points...)
}

func TestEfficiency(t *testing.T) {
	d := exported(t, func(s *promtest.Store) {
		defaultFields(s, "n1", 0, 0.95, "pod", "train-0", "namespace", "ml", "container", "main")
		defaultFields(s, "n1", 1, 0, "pod", "notebook", "namespace", "dev", "container", "main")
		defaultFields(s, "n1", 2, 0)
	})
	d.settings.Insight = settings.Insight{
		Currency: "EUR", Prices: []settings.Price{{Model: "H100", PerGPUHour: 6}}, Energy: settings.Energy{PUE: 1.5, CarbonKgPerKWh: 0.4},
		Budgets: []settings.Budget{{Name: "all", Month: 1000}, {Name: "ml", Month: 100, Namespace: "/m.*/"}},
	}
	all := answerTo(t, d, `{"queryType":"efficiency","minStep":"1m","options":{"by":["namespace"],"limits":{"idleMinutes":5}}}`)
	if len(all) != 5 {
		t.Fatalf("%d frames", len(all))
	}
	got := cellTexts(t, all[0], "namespace", "used_hours", "idle_hours", "unallocated_hours", "cost_allocated", "cost_idle", "currency")
	want := []string{"dev|0|0.16666666666666666|0|1|1|EUR", "ml|0.16666666666666666|0|0|1|0|EUR", "|0|0|0.16666666666666666|0|0|EUR"}
	if !sameRows(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if idle := cellTexts(t, all[2], "gpu", "pod", "per_hour"); !slices.Equal(idle, []string{"1|notebook|6"}) {
		t.Errorf("idle %q", idle)
	}
	if all[1].Rows() != 10 || all[1].Meta.Type != data.FrameTypeTimeSeriesWide {
		t.Errorf("timeline of %d rows", all[1].Rows())
	}
	if rows := cellTexts(t, all[4], "budget", "currency"); !slices.Equal(rows, []string{"all|EUR", "ml|EUR"}) {
		t.Errorf("budgets %q", rows)
	}
	if spent, at := all[4].FieldByName("month_to_date"); at < 0 || math.Abs(*spent.At(0).(*float64)-2) > 1e-6 || math.Abs(*spent.At(1).(*float64)-1) > 1e-6 {
		t.Errorf("spent %v", cellTexts(t, all[4], "month_to_date"))
	}
	wantDecimals(t, all[0], map[string]uint16{"gpus": 1, "allocated_hours": 1, "energy_kwh": 1, "cost_allocated": 2})
	wantDecimals(t, all[2], map[string]uint16{"per_hour": 2})
	owner, err := json.Marshal(all[0].Fields[0].Config.Mappings)
	if err != nil || !strings.Contains(string(owner), `"match":"empty"`) || !strings.Contains(string(owner), `"text":"nobody"`) {
		t.Errorf("what nobody has is shown as %s, %v", owner, err)
	}
	if since, at := all[2].FieldByName("since"); at < 0 || since.Config == nil || since.Config.Unit != "dateTimeAsIso" {
		t.Error("times of one minute are shown with milliseconds")
	}
	rule := askedAlert(t, d, `{"queryType":"efficiency","options":{"by":["namespace"],"value":"idle","limits":{"idleMinutes":5}}}`)
	if got := cellTexts(t, rule[0], "namespace", "idle"); !sameRows(got, []string{"dev|1", "ml|0", "|0"}) || len(rule) != 1 {
		t.Errorf("rules read %q", got)
	}
	if total := answerTo(t, d, `{"queryType":"efficiency","options":{"show":"groups"}}`); len(total) != 1 || total[0].Rows() != 1 {
		t.Errorf("all together: %d rows", total[0].Rows())
	}
}

func wantDecimals(t *testing.T, frame *data.Frame, want map[string]uint16) {
	t.Helper()
	for name, decimals := range want {
		if field, at := frame.FieldByName(name); at < 0 || field.Config.Decimals == nil || *field.Config.Decimals != decimals {
			t.Errorf("%s is not shown with %d decimals", name, decimals)
		}
	}
}

// Where nothing has a price there is no column of money.
func TestEfficiencyWithoutPrices(t *testing.T) {
	d := exported(t, func(s *promtest.Store) {
		defaultFields(s, "n1", 0, 0, "pod", "notebook", "namespace", "dev", "container", "main")
	})
	all := answerTo(t, d, `{"queryType":"efficiency","minStep":"1m","options":{"by":["model","namespace"],"limits":{"idleMinutes":5}}}`)
	wantCells(t, all[0], "namespace", "dev")
	wantCells(t, all[2], "gpu", "0")
	for _, frame := range all {
		for _, field := range frame.Fields {
			if field.Name == "currency" && frame.Name != "efficiency_budgets" || strings.HasPrefix(field.Name, "cost_") || field.Name == "charge" || field.Name == "per_hour" || field.Name == "waste_per_hour" {
				t.Errorf("%s has %s", frame.Name, field.Name)
			}
		}
	}
	if text := noticeTexts(all); !strings.Contains(text, "Unpriced, and in no amount of money") {
		t.Errorf("notices %s", text)
	}
}

// GPUs that nobody runs a job on have no peers there: an empty table says so.
func TestAnomalyWithoutJobs(t *testing.T) {
	d := exported(t, func(s *promtest.Store) { defaultFields(s, "n1", 0, 0.9) })
	const raw = `{"queryType":"anomaly","options":{"metric":"gpu_power_watts","against":"job"}}`
	for name, all := range map[string]data.Frames{"panel": answerTo(t, d, raw), "alert": askedAlert(t, d, raw)} {
		if text := noticeTexts(all); !strings.Contains(text, "info: Of none of 1 GPUs and MIG instances the job is known, so there are no peers to compare them with.") {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// What has no price costs nobody knows what: a rule has no row that is no number, and a word.
func TestCostWithoutPricesForRules(t *testing.T) {
	d := exported(t, func(s *promtest.Store) { defaultFields(s, "n1", 0, 0.9) })
	all := askedAlert(t, d, `{"queryType":"efficiency","options":{"value":"cost"}}`)
	if len(all) != 1 || len(all[0].Fields) != 0 || !strings.Contains(noticeTexts(all), "info: There is no number to read: cost is not known of any of 1 rows.") {
		t.Errorf("%d fields: %s", len(all[0].Fields), noticeTexts(all))
	}
	// Nor is what only its energy has a price of nothing, in any of the frames, and the models are named.
	d.settings.Insight = settings.Insight{Currency: "EUR", Energy: settings.Energy{PricePerKWh: 0.3}, Budgets: []settings.Budget{{Name: "all", Month: 100}}}
	all = answerTo(t, d, `{"queryType":"efficiency","options":{"charge":"allocated"}}`)
	if _, at := all[0].FieldByName("cost_allocated"); at >= 0 {
		t.Error("a column of money where no amount is known")
	}
	wantCells(t, all[4], "budget,month_to_date", "all|–")
	all = append(all, answerTo(t, d, `{"queryType":"efficiency","options":{"charge":"energy","show":"groups"}}`)...)
	wantCells(t, all[5], "cost_allocated,waste_per_hour", "–|–")
	if text := noticeTexts(all); strings.Count(text, "Unpriced, and in no amount of money: H100 80GB HBM3 (") != 2 || !strings.Contains(text, "insight.prices") {
		t.Errorf("notices %s", text)
	}
}

// sameRows compares rows in any order, numbers to nine digits.
func sameRows(got, want []string) bool {
	short := func(rows []string) []string {
		out := slices.Clone(rows)
		for i, row := range out {
			cells := strings.Split(row, "|")
			for n, cell := range cells {
				var v float64
				if _, err := fmt.Sscan(cell, &v); err == nil {
					cells[n] = fmt.Sprintf("%.9g", v)
				}
			}
			out[i] = strings.Join(cells, "|")
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(short(got), short(want))
}

func TestForecast(t *testing.T) {
	d := exported(t, func(s *promtest.Store) {
		weeks(s, "DCGM_FI_DEV_POWER_USAGE", 0, func(hour float64) float64 { return 100 + hour + 3*math.Sin(hour*7) })
		weeks(s, "DCGM_FI_DEV_POWER_USAGE", 1, func(hour float64) float64 { return 200 + 3*math.Sin(hour*7) })
	})
	raw := `{"queryType":"forecast","options":{"metric":"gpu_power_watts","horizonHours":48,"limit":520}}`
	all := answerTo(t, d, raw)
	if len(all) != 2 || all[0].Meta.Type != data.FrameTypeTimeSeriesWide {
		t.Fatalf("%d frames", len(all))
	}
	if n := len(all[0].Fields); n != 7 {
		t.Errorf("%d fields", n)
	}
	wantCells(t, all[1], "gpu,trend,outlook", "0|yes|likely", "1|no|no")
	if end := all[0].Fields[0].At(all[0].Rows() - 1).(time.Time); end.Before(recordedAt.Add(45 * time.Hour)) {
		t.Errorf("the lines end at %v", end)
	}
	hours := askedAlert(t, d, strings.Replace(raw, `"limit"`, `"alert":"hours","limit"`, 1))[0]
	if hours.Rows() != 1 {
		t.Fatalf("hours %q", cellTexts(t, hours, "gpu", "hours"))
	}
	if v := *hours.Fields[len(hours.Fields)-1].At(0).(*float64); v < 20 || v > 50 {
		t.Errorf("%g hours", v)
	}
	if slope := askedAlert(t, d, strings.Replace(raw, `"limit"`, `"alert":"slope","limit"`, 1))[0]; slope.Rows() != 2 {
		t.Errorf("slopes %q", cellTexts(t, slope, "gpu", "slope"))
	}
	empty := answerTo(t, d, `{"queryType":"forecast","options":{"of":"temperature"}}`)
	if text := noticeTexts(empty); empty[1].Rows() != 0 || !strings.Contains(text, "Not measured here") {
		t.Errorf("notices %s", text)
	}
}

func TestAnomaly(t *testing.T) {
	d := exported(t, func(s *promtest.Store) {
		for i := range 2 {
			weeks(s, "DCGM_FI_DEV_POWER_USAGE", i, func(hour float64) float64 {
				if i == 1 && hour > 16*24-1 {
					return 650
				}
				return 300 + 100*math.Sin(hour/24*2*math.Pi) + 5*math.Sin(hour*7)
			})
		}
	})
	raw := `{"queryType":"anomaly","options":{"metric":"gpu_power_watts","hours":6,"learn":true}}`
	all := answerTo(t, d, raw)
	if len(all) != 3 || all[0].Meta.Type != data.FrameTypeTimeSeriesWide {
		t.Fatalf("%d frames", len(all))
	}
	wantCells(t, all[1], "gpu,ongoing,value,against", "1|yes|650|history")
	if all[2].Rows() != 2 {
		t.Errorf("thresholds %q, %s", cellTexts(t, all[2], "severity", "threshold"), noticeTexts(all))
	}
	rule := askedAlert(t, d, raw)[0]
	scores := cellTexts(t, rule, "gpu", "score")
	if len(scores) != 2 || scores[0] != "0|0" || scores[1] == "1|0" {
		t.Errorf("rules read %q", scores)
	}
	// Two GPUs are too few to be each other's peers, and without history there is no band: no number, and a word.
	fresh := exported(t, func(s *promtest.Store) { defaultFields(s, "n1", 0, 0.9) })
	if got := answerTo(t, fresh, raw); !strings.Contains(noticeTexts(got), "1 of 1 lines have too little to be compared with yet") {
		t.Errorf("notices %s", noticeTexts(got))
	}
	if got := askedAlert(t, fresh, raw)[0]; got.Rows() != 0 {
		t.Errorf("rules read %q", cellTexts(t, got, "gpu", "score"))
	}
}

func TestJudgementsSayWhatToChange(t *testing.T) {
	d := exported(t, func(s *promtest.Store) { defaultFields(s, "n1", 0, 0.9) })
	f := &fleet{Datasource: d}
	for raw, want := range map[string]string{
		`{"queryType":"efficiency","options":{"by":["rack"]}}`:                            `"rack" is none of`,
		`{"queryType":"efficiency","options":{"value":"x"}}`:                              `field "options": value: "x" is not known; use efficiency, used`,
		`{"queryType":"efficiency","options":{"limits":{"idle":1}}}`:                      `field "options": limits: unknown field "idle"`,
		`{"queryType":"forecast"}`:                                                        `field "options": metric: name a metric`,
		`{"queryType":"forecast","options":{"metric":"gpu_powr_watts"}}`:                  `did you mean "gpu_power_watts"?`,
		`{"queryType":"forecast","options":{"of":"memory","historyHours":1e9}}`:           `field "options": historyHours: 1e+09 must be between 0 and 1440`,
		`{"queryType":"forecast","options":{"of":"memory","alert":"x"}}`:                  `field "options": alert: "x" is not known`,
		`{"queryType":"anomaly"}`:                                                         `field "options": metric: name a metric`,
		`{"queryType":"anomaly","options":{"metric":"gpu_power_watts","against":"x"}}`:    `against: "x" is none of`,
		`{"queryType":"anomaly","options":{"metric":"gpu_power_watts","limits":{"z":0}}}`: `field "options": limits: z: 0 must be between`,
	} {
		answer := f.ask(t, time.Hour, nil, map[string]string{"A": raw})["A"]
		if answer.Error == nil || !strings.Contains(answer.Error.Error(), want) || answer.Status != 400 {
			t.Errorf("%s:\n got %v\nwant %s", raw, answer.Error, want)
		}
	}
}
