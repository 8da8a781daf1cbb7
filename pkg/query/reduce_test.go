package query

import (
	"encoding/json"
	"testing"
)

// What an answer is reduced to is optional, has one canonical form, and is read back from it.
func TestReduce(t *testing.T) {
	for raw, want := range map[string]struct {
		reduce    Reduce
		canonical string
	}{
		`{}`:                                           {},
		`{"reduce":null,"maxSeries":null}`:             {},
		`{"reduce":{}}`:                                {},
		`{"reduce":{"mode":"auto","k":5}}`:             {},
		`{"reduce":{"mode":"bands","by":"max"}}`:       {Reduce{Mode: ReduceBands}, `,"reduce":{"mode":"bands"}`},
		`{"reduce":{"mode":"all"}}`:                    {Reduce{Mode: ReduceAll}, `,"reduce":{"mode":"all"}`},
		`{"reduce":{"mode":"heatmap"}}`:                {Reduce{Mode: ReduceHeatmap}, `,"reduce":{"mode":"heatmap"}`},
		`{"reduce":{"mode":"topk"}}`:                   {Reduce{Mode: ReduceTopK, K: 10, By: RankAvg}, `,"reduce":{"mode":"topk"}`},
		`{"reduce":{"by":"avg","k":10,"mode":"topk"}}`: {Reduce{Mode: ReduceTopK, K: 10, By: RankAvg}, `,"reduce":{"mode":"topk"}`},
		`{"reduce":{"mode":"bottomk","k":3,"by":"min"}}`: {
			Reduce{Mode: ReduceBottomK, K: 3, By: RankMin}, `,"reduce":{"mode":"bottomk","k":3,"by":"min"}`,
		},
	} {
		var fields map[string]any
		if err := json.Unmarshal([]byte(raw), &fields); err != nil {
			t.Fatal(err)
		}
		fields["metric"] = "gpu_power_watts"
		whole, _ := json.Marshal(fields)
		q := mustParse(t, string(whole), "")
		if q.Reduce != want.reduce {
			t.Errorf("%s: got %+v", raw, q.Reduce)
		}
		canonical := string(q.Canonical())
		if full := `{"queryType":"metric","schemaVersion":1,"metric":"gpu_power_watts"` + want.canonical + `}`; canonical != full {
			t.Errorf("%s:\n got %s\nwant %s", raw, canonical, full)
		}
		if again := mustParse(t, canonical, ""); again.Reduce != want.reduce || string(again.Canonical()) != canonical {
			t.Errorf("%s is read back as %+v", canonical, again.Reduce)
		}
	}
	q := mustParse(t, `{"metric":"x","maxSeries":250}`, "")
	if again := mustParse(t, string(q.Canonical()), ""); q.MaxSeries != 250 || again.MaxSeries != 250 {
		t.Errorf("limit %d, %d", q.MaxSeries, again.MaxSeries)
	}
	if q := mustParse(t, `{"expr":"up","maxSeries":5,"reduce":{"mode":"bands"}}`, TypePromQL); q.MaxSeries != 5 || q.Reduce != (Reduce{}) {
		t.Errorf("PromQL keeps %+v, %d", q.Reduce, q.MaxSeries)
	}
	q = mustParse(t, `{"expr":"up","maxSeries":5,"reduce":{"mode":"all"}}`, TypePromQL)
	if again := mustParse(t, string(q.Canonical()), ""); again.Reduce.Mode != ReduceAll || again.MaxSeries != 5 {
		t.Errorf("PromQL is read back as %+v, %d", again.Reduce, again.MaxSeries)
	}
}

func TestReduceErrors(t *testing.T) {
	for raw, want := range map[string]string{
		`{"metric":"x","reduce":"topk"}`:                                     `field "reduce": must be an object, like {"mode": "topk", "k": 5, "by": "max"}`,
		`{"metric":"x","reduce":[1]}`:                                        `field "reduce": must be an object, like {"mode": "topk", "k": 5, "by": "max"}`,
		`{"metric":"x","reduce":{"mode":"p99"}}`:                             `field "reduce": field "mode": "p99" is not known; use auto, bands, topk, bottomk, heatmap or all`,
		`{"metric":"x","reduce":{"mode":"topk","k":0}}`:                      `field "reduce": field "k": 0 is out of bounds; use a whole number from 1 to 1000`,
		`{"metric":"x","reduce":{"mode":"topk","k":2.5}}`:                    `field "reduce": field "k": must be a whole number from 1 to 1000`,
		`{"metric":"x","reduce":{"mode":"topk","by":"sum"}}`:                 `field "reduce": field "by": "sum" is not known; use avg, max, min or last`,
		`{"metric":"x","reduce":{"mode":"topk","n":3}}`:                      `field "reduce": field "n": is not known; use mode, k or by`,
		`{"metric":"x","maxSeries":0}`:                                       `field "maxSeries": 0 is out of bounds; use a whole number from 1 to 1000000`,
		`{"metric":"x","maxSeries":"9"}`:                                     `field "maxSeries": must be a whole number from 1 to 1000000`,
		`{"metric":"x","maxserie":9}`:                                        `field "maxserie" is not known; did you mean "maxSeries"?`,
		`{"metric":"x","instant":true,"reduce":{"mode":"heatmap"}}`:          `field "reduce": a heatmap needs a range; use bands, topk or bottomk for a table or one value a series`,
		`{"metric":"x","format":"table","reduce":{"mode":"heatmap","k":12}}`: `field "reduce": a heatmap needs a range; use bands, topk or bottomk for a table or one value a series`,
	} {
		if _, err := Parse(json.RawMessage(raw), ""); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", raw, err, want)
		}
	}
}
