package query

import (
	"slices"
	"strings"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestJudgementsForgetWhatTheyDoNotUse(t *testing.T) {
	for raw, want := range map[string]string{
		`{"queryType":"bottleneck","metric":"x","legend":"x","format":"table","live":true,"kinds":["xid"],"nodes":["b","a"],"minStep":"30s"}`: `{"queryType":"bottleneck","schemaVersion":1,"nodes":["a","b"],"minStep":"30s"}`,
		`{"queryType":"health","source":"live","maxRows":5,"options":{ "b":1.50 , "a":["x"]}}`:                                                `{"queryType":"health","schemaVersion":1,"source":"live","maxRows":5,"options":{"a":["x"],"b":1.50}}`,
		`{"queryType":"anomaly","maxSeries":10,"reduce":{"mode":"bands"},"options":{"metric":"gpu_power_watts"}}`:                             `{"queryType":"anomaly","schemaVersion":1,"maxSeries":10,"options":{"metric":"gpu_power_watts"}}`,
		`{"queryType":"health","options":{}}`:                                 `{"queryType":"health","schemaVersion":1}`,
		`{"queryType":"health","options":null}`:                               `{"queryType":"health","schemaVersion":1}`,
		`{"queryType":"metric","metric":"gpu_power_watts","options":{"a":1}}`: `{"queryType":"metric","schemaVersion":1,"metric":"gpu_power_watts"}`,
		`{"queryType":"inventory","options":{"a":1}}`:                         `{"queryType":"inventory","schemaVersion":1}`,
	} {
		q, err := Parse([]byte(raw), "")
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if got := string(q.Canonical()); got != want {
			t.Errorf("%s:\n got %s\nwant %s", raw, got, want)
		}
		again, err := Parse(q.Canonical(), "")
		if err != nil || again.Hash() != q.Hash() {
			t.Errorf("%s: read back: %s, %v", raw, again.Canonical(), err)
		}
	}
}

func TestOptionsSayWhatToChange(t *testing.T) {
	type options struct {
		Least int      `json:"least"`
		Names []string `json:"names,omitempty"`

		Deep *map[string]struct {
			Low float64 `json:"low"`
		} `json:"deep"`
	}
	for raw, want := range map[string]string{
		`[1]`:                       `field "options": must be an object, like {"key": "value"}`,
		`"x"`:                       `field "options": must be an object`,
		`{"most":1}`:                `field "options": "most" is not known; use least, names or deep`,
		`{"least":"x"}`:             `field "options": least is a string; it must be a whole number`,
		`{"deep":{"a":{"high":1}}}`: `field "options": "deep.a.high" is not known; use low`,
		`{"names":"x"}`:             `field "options": names is a string; it must be a list`,
		`{"a":"` + strings.Repeat("x", maxOptions) + `"}`: `bytes long; at most 16384 are accepted`,
	} {
		q, err := Parse([]byte(`{"queryType":"health","options":`+raw+`}`), "")
		if err == nil {
			err = q.DecodeOptions(&options{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s:\n got %v\nwant %s", raw, err, want)
		}
	}
	q, err := Parse([]byte(`{"queryType":"health","options":{"least":7}}`), "")
	if err != nil {
		t.Fatal(err)
	}
	got := options{Least: 1, Names: []string{"usual"}}
	if err := q.DecodeOptions(&got); err != nil || got.Least != 7 || !slices.Equal(got.Names, []string{"usual"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := q.DecodeOptions(&struct{}{}); err == nil || err.Error() != `field "options": "least" is not known; a query of type health takes none` {
		t.Error(err)
	}
	if !q.Judges() || (Query{Type: TypeMetric}).Judges() {
		t.Error("which types judge")
	}
}

func TestBoardsOfInstances(t *testing.T) {
	board := gpu.Device{Identity: gpu.Identity{UUID: "GPU-1"}}
	for name, scope := range map[string]Scope{
		"exact":  {MIGs: []string{"GPU-1/7"}},
		"regex":  {MIGs: []string{"/GPU-.*/"}},
		"filter": {filters: []Filter{{Key: "mig_profile", Operator: "=", Values: []string{"1g.18gb"}}}},
	} {
		if scope.Matches(board) {
			t.Errorf("%s: the board is selected already", name)
		}
		boards, err := scope.WithoutInstances()
		if err != nil || !boards.Matches(board) {
			t.Errorf("%s: the board is not selected: %v", name, err)
		}
	}
	narrow, _ := Scope{MIGs: []string{"GPU-1/7"}}.WithoutInstances()
	if narrow.Matches(gpu.Device{Identity: gpu.Identity{UUID: "GPU-2"}}) {
		t.Error("another board is selected")
	}
}
