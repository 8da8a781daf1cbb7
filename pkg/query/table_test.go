package query

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestTablesForgetWhatTheyDoNotUse(t *testing.T) {
	for raw, want := range map[string]string{
		`{"queryType":"inventory","metric":"gpu_power_watts","aggregation":"max","legend":"x","maxRows":5,"nodes":["b","a"]}`: `{"queryType":"inventory","schemaVersion":1,"nodes":["a","b"],"maxRows":5}`,
		`{"queryType":"inventory","source":"history","live":false}`:                                                           `{"queryType":"inventory","schemaVersion":1,"source":"history","live":false}`,
		`{"queryType":"processes","source":"auto","instant":true}`:                                                            `{"queryType":"processes","schemaVersion":1}`,
		`{"queryType":"events","kinds":["xid","throttle","xid"],"minDuration":"60s","minStep":"30s"}`:                         `{"queryType":"events","schemaVersion":1,"minStep":"30s","kinds":["throttle","xid"],"minDuration":"1m"}`,
		`{"queryType":"events","options":{"windowMinutes":5,"group":true}}`:                                                   `{"queryType":"events","schemaVersion":1,"options":{"group":true,"windowMinutes":5}}`,
		`{"queryType":"metric","metric":"gpu_power_watts","kinds":["xid"],"maxRows":9,"minDuration":"1m"}`:                    `{"queryType":"metric","schemaVersion":1,"metric":"gpu_power_watts"}`,
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

func TestTablesRefuseWhatCannotBe(t *testing.T) {
	for raw, want := range map[string]string{
		`{"queryType":"processes","source":"history"}`:                                         `field "source": Prometheus knows no processes, agents do; use auto or live`,
		`{"queryType":"events","kinds":["xids"]}`:                                              `field "kinds": "xids" is not known; use xid, throttle,`,
		`{"queryType":"events","minDuration":"ten"}`:                                           `field "minDuration": "ten" is not a duration`,
		`{"queryType":"inventory","maxRows":0}`:                                                `field "maxRows": 0 is out of bounds`,
		`{"queryType":"inventory","maxRow":10}`:                                                `field "maxRow" is not known; did you mean "maxRows"?`,
		`{"queryType":"inventories"}`:                                                          `field "queryType": "inventories" is not known; use metric, promql, coverage, inventory, processes, events, bottleneck, health, efficiency, forecast, anomaly, memory, stragglers or topology`,
		`{"queryType":"inventory","adhocFilters":[{"key":"rack","operator":"=","value":"1"}]}`: `field "adhocFilters"`,
	} {
		if _, err := Parse([]byte(raw), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", raw, err, want)
		}
	}
}

func TestDefaultsOfTables(t *testing.T) {
	q, err := Parse([]byte(`{"queryType":"events"}`), "")
	if err != nil {
		t.Fatal(err)
	}
	if q.Rows() != DefaultRows || q.Shortest() != 10*time.Second || !q.WantsKind("xid") || !q.WantsKind("a kind of tomorrow") {
		t.Errorf("got %+v", q)
	}
	q.Kinds, q.MaxRows, q.MinDuration = []string{"xid"}, 7, time.Minute
	if q.Rows() != 7 || q.Shortest() != time.Minute || q.WantsKind("throttle") || !q.WantsKind("xid") {
		t.Errorf("got %+v", q)
	}
	if kinds := EventKinds(); len(slices.Compact(slices.Sorted(slices.Values(kinds)))) != len(kinds) {
		t.Error("a kind is listed twice")
	}
}

func TestAScopeWithoutOwners(t *testing.T) {
	q, err := Parse([]byte(`{"queryType":"inventory","nodes":["n1"],"pods":["p"],"namespaces":["a"],"adhocFilters":[{"key":"job","operator":"!=","value":"7"},{"key":"model","operator":"!=","value":"T4"}]}`), "")
	if err != nil {
		t.Fatal(err)
	}
	free, err := q.Scope.WithoutOwners()
	if err != nil {
		t.Fatal(err)
	}
	if free.ByOwner() || !q.Scope.ByOwner() || !free.MatchesNode("", "n1") || free.MatchesNode("", "n2") {
		t.Errorf("got %+v", free)
	}
	if device := (gpu.Device{Identity: gpu.Identity{Node: "n1"}, Model: "T4"}); free.Matches(device) {
		t.Error("the filter of models is lost")
	}
	some, err := free.OfGPUs([]string{"GPU-1"})
	if err != nil || !some.Matches(gpu.Device{Identity: gpu.Identity{Node: "n1", UUID: "GPU-1"}}) || some.Matches(gpu.Device{Identity: gpu.Identity{Node: "n1", UUID: "GPU-2"}}) {
		t.Errorf("got %+v, %v", some, err)
	}
}

func TestOwnersOfADevice(t *testing.T) {
	pod, job := gpu.Owner{Namespace: "ml", Pod: "train-0"}, gpu.Owner{SlurmJob: "4711"}
	for _, tc := range []struct {
		scope  string
		owners []gpu.Owner
		want   bool
	}{
		{``, nil, true},
		{`"pods":["train-0"]`, []gpu.Owner{job, pod}, true},
		{`"pods":["train-0"],"jobs":["4711"]`, []gpu.Owner{job, pod}, true},
		{`"pods":["train-1"]`, []gpu.Owner{job, pod}, false},
		{`"pods":["unassigned"]`, []gpu.Owner{job, pod}, false},
		{`"pods":["unassigned"]`, []gpu.Owner{job}, true},
		{`"jobs":["unassigned"]`, nil, true},
		{`"namespaces":["ml"]`, nil, false},
	} {
		q, err := Parse([]byte(`{"queryType":"inventory"`+strings.TrimSuffix(","+tc.scope, ",")+`}`), "")
		if err != nil {
			t.Fatal(err)
		}
		if got := q.Scope.MatchesOwners(tc.owners); got != tc.want {
			t.Errorf("%s of %v: got %v", tc.scope, tc.owners, got)
		}
	}
}
