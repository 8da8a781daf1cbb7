package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestInsight(t *testing.T) {
	s, err := Parse([]byte(`{"agents":{"discovery":"off"},"clusters":[{"name":"n","endpoints":[{"id":"a","url":"http://p:9090"}]}],"insight":{
		"limits":{"health":{"marginCelsius":8}}, "currency":" EUR ",
		"prices":[{"model":"H100","cluster":"north","perGPUHour":2.5,"currency":"USD"},{"perGPUHour":1}],
		"energy":{"pricePerKWh":0.2,"carbonKgPerKWh":0.38,"pue":1.3},
		"budgets":[{"name":"team","month":10000,"namespace":"/ml-.*/"}],
		"classes":[{"class":"training","namespace":"/ml-.*/"},{"class":"inference","pod":"serve-0"},{"class":"training","user":"ada","job":"/[0-9]+/"}]}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	in := s.Insight
	if in.Currency != "EUR" || len(in.Prices) != 2 || in.Prices[0].PerGPUHour != 2.5 || in.Energy.PUE != 1.3 || len(in.Budgets) != 1 || string(in.Limits["health"]) != `{"marginCelsius":8}` {
		t.Errorf("got %+v", in)
	}
	for i, owners := range map[int][]gpu.Owner{
		0: {{Namespace: "ml-a", Pod: "x"}},
		1: {{Namespace: "web", Pod: "serve-0"}},
		2: {{SlurmJob: "4711", User: "ada"}},
	} {
		for _, o := range owners {
			for j, rule := range in.Classes {
				if got := rule.Matches(o); got != (i == j) {
					t.Errorf("rule %d of %+v: %v", j, o, got)
				}
			}
		}
	}
	if in.Classes[0].Matches(gpu.Owner{}) || in.Classes[0].Matches(gpu.Owner{Namespace: "x-ml-a", Pod: "p"}) {
		t.Error("a rule fits nobody, or a part of a name")
	}
	if s, _ := Parse(nil, nil); s.Insight.Currency != "USD" || s.Insight.Energy.PUE != 0 || len(s.Unknown) != 0 {
		t.Errorf("defaults %+v", s.Insight)
	}
	if s, _ := Parse([]byte(`{"insight":{"limits":"{\"health\":{}}"}}`), nil); len(s.Insight.Limits) != 1 {
		t.Errorf("as text: %+v", s.Insight)
	}
}

func TestPlacesAndMaintenance(t *testing.T) {
	s, err := Parse([]byte(`{"clusters":[{"name":"n","endpoints":[{"id":"a","url":"http://p:9090"}]}],"insight":{
		"places":{"rack":[" cabinet "],"leaf":[]},
		"maintenance":[{"cluster":"north","node":"/n[12]/","from":"2026-01-05T08:00:00Z","until":"2026-01-05T10:00:00+01:00","by":"mk","why":"fans"},
			{"gpu":"GPU-7","from":"2026-01-05T08:00:00Z","until":"2026-01-05T09:00:00Z"}]}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := s.Insight.Places
	if len(p.Rack) != 1 || p.Rack[0] != "cabinet" || len(p.Leaf) != 0 || len(p.Power) == 0 || len(p.Fabric) == 0 {
		t.Errorf("places %+v", p)
	}
	at := time.Date(2026, 1, 5, 8, 30, 0, 0, time.UTC)
	for i, c := range []struct {
		cluster, node, uuid string
		at                  time.Time
		by                  int // of the list, -1 for none
	}{
		{"north", "n1", "", at, 0}, {"north", "n2", "GPU-1", at, 0}, {"north", "n12", "", at, -1}, {"south", "n1", "", at, -1},
		{"north", "n1", "", at.Add(-31 * time.Minute), -1}, {"north", "n1", "", at.Add(30 * time.Minute), -1},
		{"south", "n9", "GPU-7", at, 1}, {"south", "n9", "", at, -1},
	} {
		for j, m := range s.Insight.Maintenance {
			if got := m.Covers(c.cluster, c.node, c.uuid, c.at); got != (j == c.by) {
				t.Errorf("case %d: entry %d covers: %v", i, j, got)
			}
		}
	}
}

func TestInsightSaysWhatToChange(t *testing.T) {
	for raw, want := range map[string]string{
		`{"limits":[]}`:                                  `insight.limits: is not an object`,
		`{"limits":{"helth":{}}}`:                        `insight.limits: "helth" has no limits: write bottleneck, health`,
		`{"limits":{"health":3}}`:                        `insight.limits.health: is not an object`,
		`{"prices":[{"model":"H100","perGPUHour":-1}]}`:  `insight.prices[0].perGPUHour: -1 is not an amount`,
		`{"energy":{"pue":0.5}}`:                         `insight.energy.pue: 0.5 is out of range`,
		`{"budgets":[{"name":"x"}]}`:                     `insight.budgets[0].month: is not set`,
		`{"budgets":[{"month":1}]}`:                      `insight.budgets[0].name: is empty`,
		`{"classes":[{"class":"batch","pod":"x"}]}`:      `insight.classes[0].class: "batch" is not a class of work: write training or inference`,
		`{"classes":[{"class":"training"}]}`:             `insight.classes[0]: fits everything`,
		`{"classes":[{"class":"training","pod":"/[/"}]}`: `insight.classes[0].pod: "/[/" is not a regular expression`,
		`{"places":{"rack":["data-rack"]}}`:              `insight.places.rack: "data-rack" is no name of a label`,
		`{"maintenance":[{"from":"2026-01-05T08:00:00Z","until":"2026-01-05T09:00:00Z"}]}`:               `insight.maintenance[0]: is of everything`,
		`{"maintenance":[{"node":"n1","from":"tomorrow","until":"2026-01-05T09:00:00Z"}]}`:               `insight.maintenance[0].from: "tomorrow" is no time: write it as`,
		`{"maintenance":[{"node":"n1","from":"2026-01-05T09:00:00Z","until":"2026-01-05T09:00:00Z"}]}`:   `insight.maintenance[0].until: is not after from`,
		`{"maintenance":[{"node":"/n[/","from":"2026-01-05T08:00:00Z","until":"2026-01-05T09:00:00Z"}]}`: `insight.maintenance[0].node: "/n[/" is not a regular expression`,
		`{"currency":"all the money"}`: `insight.currency: "all the money" is not a currency`,
	} {
		if _, err := Parse([]byte(`{"insight":`+raw+`}`), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", raw, err, want)
		}
	}
	s, _ := Parse([]byte(`{"insight":{"currancy":"EUR"}}`), nil)
	if len(s.Unknown) != 1 || s.Unknown[0] != "insight.currancy" {
		t.Errorf("unknown %v", s.Unknown)
	}
}
