package catalog

import (
	"math"
	"testing"
)

func TestDecideUnit(t *testing.T) {
	c := mustLoad(t)
	for _, tc := range []struct {
		unit, help string
		max        float64
		want, why  string
		certain    bool
	}{
		{"auto", "GPU utilization (in %).", 87, "percent", "the largest value, 87, can only be in per cent", true},
		{"auto", "", 87, "percent", "the largest value, 87, can only be in per cent", true},
		{"auto", "", 0.87, "ratio", "the largest value, 0.87, can only be in ratio", true},
		{"auto", "GPU utilization (in %).", 0.87, "ratio", `the largest value, 0.87, can only be in ratio, though the HELP text says "in %"`, true},
		{"auto", "Ratio of time the GPU is busy.", 87, "percent", `the largest value, 87, can only be in per cent, though the HELP text says "ratio"`, true},
		{"auto", "GPU utilization (in %).", 1, "percent", `the HELP text says "in %"`, true},
		{"auto", "Ratio of time.", 1, "", `the HELP text says "ratio"`, true},
		{"auto", "GPU UTILIZATION PERCENTAGE", 0, "percent", `the HELP text says "percent"`, true},
		{"auto", "Utilization.", 1, "", "the largest value, 1, fits several units, and the HELP text names none; taken to be in ratio", false},
		{"auto", "Utilization.", 0, "", "there are no values above 0, and the HELP text names no unit; taken to be in ratio", false},
		{"auto", "", math.NaN(), "", "there are no values above 0, and the HELP text names no unit; taken to be in ratio", false},
		{"auto_hertz", "", 1980, "megahertz", "the largest value, 1980, can only be in MHz", true},
		{"auto_hertz", "", 1.98e9, "", "the largest value, 1980000000, can only be in Hz", true},
		{"auto_hertz", "", 500000, "", "the largest value, 500000, fits no unit that acme_x may have", false},
		{"auto_bytes", "", 59960, "mebibytes", "the largest value, 59960, can only be in MiB", true},
		{"auto_bytes", "", 62872616960, "", "the largest value, 6.287261696e+10, can only be in bytes", true},
		{"auto_joules", "Energy (in mJ).", 4e10, "millijoules", `the HELP text says "in mj"`, true},
		{"auto_joules", "Energy.", 4e10, "", "the largest value, 4e+10, fits several units, and the HELP text names none; taken to be in J", false},
		{"auto_seconds", "Latency (ms)", 12, "milliseconds", `the HELP text says "(ms)"`, true},
		{"auto_watts", "", 311402, "milliwatts", "the largest value, 311402, can only be in mW", true},
		{"auto_watts", "", 311.4, "", "the largest value, 311.4, can only be in W", true},
		{"", "(in %)", 87, "", "the unit of acme_x is known", true},
		{"percent", "Ratio", 0.5, "percent", "the unit of acme_x is known", true},
	} {
		source := Source{Series: "acme_x", Conversion: Conversion{Unit: tc.unit, Multiplier: 1, Divisor: 1}}
		_, source.Conversion.Auto = c.openUnits[tc.unit]
		got, why, certain := c.DecideUnit(source, tc.help, tc.max)
		unit := got.Unit
		if _, known := c.conversions[unit]; !known && tc.want == "" {
			unit = ""
		}
		if unit != tc.want || certain != tc.certain || got.Auto || got.Divisor == 0 {
			t.Errorf("%s %q %v: got %+v, %v, want %q, %v", tc.unit, tc.help, tc.max, got, certain, tc.want, tc.certain)
		}
		if why != tc.why {
			t.Errorf("%s %q %v:\n got %s\nwant %s", tc.unit, tc.help, tc.max, why, tc.why)
		}
	}
}

// A source of the files is decided like one from the settings, and as before from values alone.
func TestDecide(t *testing.T) {
	c := mustLoad(t)
	for _, tc := range []struct {
		unit    string
		values  []float64
		want    float64 // what 50 becomes
		certain bool
	}{
		{"auto", []float64{0, 87}, 0.5, true},
		{"auto", []float64{0, 0.87}, 50, true},
		{"auto_hertz", []float64{0, 1755}, 50e6, true},
		{"auto_hertz", []float64{0, 1.755e9}, 50, true},
		{"auto_bytes", []float64{0, 59960}, 50 << 20, true},
		{"auto_bytes", nil, 50, false},
		{"auto_watts", []float64{300000, 4294967295}, 0.05, true},
	} {
		var e Evidence
		for _, v := range tc.values {
			c.Observe(&e, v)
		}
		got, certain := c.Decide(Conversion{Unit: tc.unit, Multiplier: 1, Divisor: 1, Auto: true}, e)
		if got.Apply(50) != tc.want || certain != tc.certain {
			t.Errorf("%s %v: got %+v, %v", tc.unit, tc.values, got, certain)
		}
	}
}

func TestOpenUnitsAreWholeTables(t *testing.T) {
	c := mustLoad(t)
	for name, candidates := range c.openUnits {
		own, ok := c.conversions[name]
		if !ok || len(candidates) < 2 {
			t.Errorf("%s: %v", name, candidates)
		}
		for _, one := range candidates {
			if to := c.conversions[one.Unit].To; one.Name == "" || one.Unit != "" && to != own.To {
				t.Errorf("%s: %+v is in %s", name, one, to)
			}
		}
	}
	for _, m := range c.Metrics() {
		for _, s := range m.Sources {
			if s.Conversion.Auto != (len(c.openUnits[s.Conversion.Unit]) > 0) {
				t.Errorf("%s: %+v", s.Series, s.Conversion)
			}
		}
	}
}
