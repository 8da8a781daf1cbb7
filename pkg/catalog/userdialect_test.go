package catalog

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// understood reads dialects and takes them in.
func understood(c *Catalog, text []byte) (*Catalog, error) {
	dialects, err := ParseDialects(text)
	if err != nil {
		return nil, err
	}
	return c.With(dialects)
}

func TestRejectedDialectsSayWhy(t *testing.T) {
	c := mustLoad(t)
	files, err := filepath.Glob("testdata/rejected/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = understood(c, text)
		if err == nil {
			t.Errorf("%s is accepted", file)
			continue
		}
		golden := strings.TrimSuffix(file, ".json") + ".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(err.Error()+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, _ := os.ReadFile(golden)
		if err.Error()+"\n" != string(want) {
			t.Errorf("%s:\n got %s\nwant %s", file, err, want)
		}
	}
}

func TestDialectsHaveLimits(t *testing.T) {
	long := strings.Repeat("x", longestUserName+1)
	var many []string
	for i := range maxUserSeries + 1 {
		many = append(many, fmt.Sprintf(`"acme_%d": "gpu_power_watts"`, i))
	}
	for text, want := range map[string]string{
		`[` + strings.Repeat(" ", maxDialectsJSON) + `]`:                                            "dialects: 262146 bytes are more than 262144",
		`[` + strings.Repeat("{},", maxUserDialects) + `{}]`:                                        "dialects: 21 dialects are more than 20",
		`[{"name":"acme","series":{` + strings.Join(many, ",") + `}}]`:                              "dialects[0].series: must have 1 to 200 entries, not 201",
		`[{"name":"acme","series":{"` + long + `":"gpu_power_watts"}}]`:                             `dialects[0].series["` + long[:longestShown] + `"…]: 201 bytes are more than 200`,
		`[{"name":"` + long + `","series":{"a":"gpu_power_watts"}}]`:                                "dialects[0].name: 201 bytes are more than 200",
		`[{"name":"a","labels":{"uuid":["` + strings.Repeat(`","`, 10) + `"]},"series":{"a":"b"}}]`: "dialects[0].labels.uuid: must have 1 to 10 entries, not 11",
	} {
		if _, err := ParseDialects([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

const acme = `[{"name": "acme",
  "labels": {"uuid": ["card"], "node": "machine", "index": ["slot"], "model": ["product"], "job": ["batch"],
             "owner": {"pod": "workload", "namespace": "team"}},
  "series": {"acme_power_kw": {"metric": "gpu_power_watts", "unit": "watts"},
             "acme_busy": {"metric": "gpu_utilization_ratio", "unit": "percent", "only": {"engine": ["compute"]}},
             "acme_clock": {"metric": "gpu_sm_clock_hertz", "unit": "auto_hertz"},
             "acme_ttft": {"metric": "serve_ttft_seconds", "unit": "milliseconds"},
             "acme_energy": {"metric": "gpu_energy_joules_total", "unit": "kilowatt_hours"}}}]`

func TestUsersDialectIsUnderstood(t *testing.T) {
	plain := mustLoad(t)
	c, err := understood(plain, []byte(acme))
	if err != nil {
		t.Fatal(err)
	}
	labels := LabelMap{"card": "GPU-5e1f0003-0a00-4a00-8b00-000000000003", "machine": "m7", "slot": "3", "product": "H100", "workload": "w-0", "team": "lab", "batch": "9"}
	d, owner, ok := c.Identify(labels)
	want := gpu.Device{Identity: gpu.Identity{Node: "m7", UUID: labels["card"]}, Index: 3, Model: "H100"}
	if !ok || d != want || owner != (Owner{Namespace: "lab", Pod: "w-0", Job: "9"}) {
		t.Errorf("got %+v %+v", d, owner)
	}
	if w, _ := c.ResolveWorkload(labels); w != (Workload{Node: "m7", Namespace: "lab", Pod: "w-0", Job: "9", Model: "H100"}) {
		t.Errorf("workload %+v", w)
	}
	busy, ok := c.SourceOf("gpu_utilization_ratio", "ACME_busy")
	if !ok || busy.Dialect != "acme" || busy.Conversion.Apply(87) != 0.87 || busy.Accepts(LabelMap{"engine": "copy"}) || !busy.Accepts(LabelMap{"engine": "compute"}) {
		t.Errorf("busy: %+v", busy)
	}
	m, _ := c.Metric("gpu_utilization_ratio")
	if last := m.Sources[len(m.Sources)-1]; last.Series != "acme_busy" || last.Rank != len(m.Sources)-1 {
		t.Errorf("the user's come last: %+v", last)
	}
	if s, _ := c.SourceOf("gpu_energy_joules_total", "acme_energy"); s.Conversion.Apply(1) != 3.6e6 {
		t.Errorf("energy: %+v", s)
	}
	clock, _ := c.SourceOf("gpu_sm_clock_hertz", "acme_clock")
	if got, _, certain := c.DecideUnit(clock, "", 1980); !certain || got.Apply(1980) != 1980e6 {
		t.Errorf("clock: %+v", got)
	}
	if _, ok := c.SourceOf("serve_ttft_seconds", "acme_ttft_bucket"); !ok {
		t.Error("the buckets of a histogram are not known")
	}
	if f := c.FilterFor("acme_busy"); f.Dialect != "acme" || f.UUID[0] != "card" || f.Node[0] != "machine" || len(f.MIGID) == 0 {
		t.Errorf("filter %+v", f)
	}
	if f := c.FilterFor("DCGM_FI_DEV_GPU_UTIL"); f.Dialect != DCGM {
		t.Errorf("filter of DCGM %+v", f)
	}
	if !c.NamesOwners("acme") || c.Dialects()[len(c.Dialects())-1] != "acme" || !slices.Contains(c.GroupLabels(), "card") ||
		!slices.Contains(c.IdentityLabels(), "machine") || !strings.Contains(c.NamePattern(), "acme_") {
		t.Error("a list lacks the dialect")
	}
	if got := c.Enable("gpu_power_watts", "acme"); got != "The exporter writes acme_power_kw." {
		t.Error(got)
	}
	for _, m := range c.Metrics() {
		for i, s := range m.Sources {
			if s.Rank != i {
				t.Errorf("%s: %+v", m.Name, s)
			}
		}
	}
}

// A user's dialect changes nothing but what it adds, and nothing of the catalogue it is added to.
func TestUsersDialectLeavesTheOthers(t *testing.T) {
	plain, untouched := mustLoad(t), mustLoad(t)
	c, err := understood(plain, []byte(acme))
	if err != nil {
		t.Fatal(err)
	}
	if len(plain.Lookup("acme_busy")) > 0 || plain.FilterFor("acme_busy").Dialect != Warpwatch || len(plain.Dialects()) != len(untouched.Dialects()) {
		t.Error("the catalogue itself changed")
	}
	if _, ok := plain.Resolve(LabelMap{"card": "GPU-1"}); ok {
		t.Error("the catalogue's labels changed")
	}
	for _, m := range untouched.Metrics() {
		for _, s := range m.Sources {
			for _, other := range []*Catalog{plain, c} {
				got, ok := other.SourceOf(m.Name, s.Series)
				if !ok || got.Conversion != s.Conversion || got.Rank != s.Rank || got.Part != s.Part {
					t.Errorf("%s of %s: %+v", s.Series, m.Name, got)
				}
			}
		}
	}
	for _, nothing := range []string{"", "null", " \n", "[]"} {
		if got, err := understood(plain, []byte(nothing)); err != nil || got != plain {
			t.Errorf("%q: %v", nothing, err)
		}
	}
}

// Exporters whose names have nothing in common are known by each name.
func TestUsersDialectWithoutACommonBeginning(t *testing.T) {
	c, err := understood(mustLoad(t), []byte(`[{"name": "mixed", "labels": {"uuid": "id"}, "series": {"power": "gpu_power_watts", "gpu_heat": "gpu_temperature_celsius"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	if f := c.FilterFor("gpu_heat"); f.Dialect != "mixed" {
		t.Errorf("%+v", f)
	}
	if f := c.FilterFor("gpu_power_watts"); f.Dialect != Warpwatch {
		t.Errorf("the agent's series belong to %s", f.Dialect)
	}
}

func FuzzParseDialects(f *testing.F) {
	c := mustLoad(f)
	files, _ := filepath.Glob("testdata/rejected/*.json")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		f.Add(text)
	}
	f.Add([]byte(acme))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := understood(c, text)
		if (err == nil) == (got == nil) {
			t.Fatalf("%v, %v", got, err)
		}
		if err != nil && len(err.Error()) > 20_000 {
			t.Errorf("%d bytes of error", len(err.Error()))
		}
	})
}
