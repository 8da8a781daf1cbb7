package catalog

import (
	"slices"
	"testing"
)

func TestOverTime(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ metric, aggregation, want string }{
		{"gpu_power_watts", "sum", "avg"},
		{"gpu_power_watts", "max", "max"},
		{"gpu_power_watts", "min", "min"},
		{"gpu_temperature_celsius", "avg", "max"},
		{"gpu_temperature_margin_celsius", "avg", "min"},
		{"gpu_clock_event_reasons", "max", "max"},
		{"gpu_xid_last", "", "max"},
		{"gpu_nvlink_link_active", "sum", ""},
		{"gpu_xid_errors_total", "sum", ""},
	} {
		m, ok := c.Metric(tc.metric)
		if got := m.OverTime(tc.aggregation); !ok || got != tc.want {
			t.Errorf("%s of %s: %q, want %q", tc.aggregation, tc.metric, got, tc.want)
		}
	}
}

func TestWindowSeries(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		metric, function string
		want             []string
	}{
		{"gpu_power_watts", "max", []string{"gpu_power_window_max_watts"}},
		{"gpu_power_watts", "min", []string{"gpu_power_window_min_watts"}},
		{"gpu_power_watts", "avg", nil},
		{"gpu_clock_event_reasons", "max", []string{"gpu_clock_event_reasons_window_max", "gpu_clock_event_reasons_window"}},
	} {
		m, _ := c.Metric(tc.metric)
		if got := m.WindowSeries(tc.function); !slices.Equal(got, tc.want) {
			t.Errorf("%s of %s: %v, want %v", tc.function, tc.metric, got, tc.want)
		}
	}
}

// Everything that means "no value" is either out of bounds or listed.
func TestBoundsLeaveNoSentinel(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Metrics() {
		if m.Kind != Gauge {
			continue
		}
		for _, s := range m.Sources {
			low, high := c.Bounds(m, s.Conversion)
			blanks := c.Blanks(low, high)
			for _, v := range []float64{2147483632, 2147483635, 4294967295, 140737488355328, 9.2e18, 9223372036854775794, -9.3e18} {
				if c.IsSentinel(v) && v >= low && v <= high && v < 9.2e18 && !slices.Contains(blanks, v) {
					t.Errorf("%s: %v of %s passes", m.Name, v, s.Series)
				}
			}
			if high <= 0 {
				t.Errorf("%s: at most %v of %s", m.Name, high, s.Series)
			}
		}
	}
}
