package history

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// finely is window with a sample every 15 seconds.
func finely(seconds int64, step time.Duration) query.Window {
	w := window(seconds, step)
	w.ScrapeInterval = 15 * time.Second
	return w
}

// every15 are samples of an hour, 300 but where others are given by their second.
func every15(others map[int64]float64) []promtest.Point {
	var points []promtest.Point
	for at := int64(-600); at <= 3600; at += 15 {
		v, ok := others[at]
		if !ok {
			v = 300
		}
		points = append(points, promtest.Point{Time: (t0 + at) * 1000, Value: v})
	}
	return points
}

func peakSeries(name, uuid string) map[string]string {
	return map[string]string{"__name__": name, "Hostname": "n1", "UUID": uuid, "gpu": "0", "modelName": "NVIDIA H100", "instance": "n1:9400", "job": "dcgm"}
}

const blank32, blank64 = 2147483632, 9223372036854775794

// at is the value of the only line at a second.
func valueAt(t *testing.T, r Result, second int64) float64 {
	t.Helper()
	if len(r.Series) != 1 {
		t.Fatalf("%d lines: %v\n%s", len(r.Series), r.Notices, r.Executed)
	}
	for i, ms := range r.Series[0].Times {
		if ms/1000-t0 == second {
			return r.Series[0].Values[i]
		}
	}
	return math.NaN()
}

// What happens between two points is in the next one, and a sample that means "no value" takes nothing with it.
func TestPointsAreOfAllSamples(t *testing.T) {
	// Of the 40 samples up to 1200 s one is a peak, one a dip; up to 2400 s there is a blank, too; up to 3000 s only blanks.
	values := map[int64]float64{705: 900, 900: 100, 1815: 800, 2100: 150, 2115: blank32}
	for at := int64(2415); at <= 3000; at += 15 {
		values[at] = blank32
	}
	for _, tc := range []struct {
		fn                        string
		plain, peak, mixed, blank float64
	}{
		{"max", 300, 900, 800, math.NaN()},
		{"min", 300, 100, 150, math.NaN()},
		{"avg", 300, 300 + (600-200)/40., 300 + (500-150)/39., math.NaN()},
	} {
		s := &promtest.Store{}
		s.Add(peakSeries("DCGM_FI_DEV_POWER_USAGE", "GPU-1"), every15(values)...)
		r := askOver(t, open(t, s), "gpu_power_watts", `"aggregation":"`+tc.fn+`"`, finely(3600, 10*time.Minute))
		for second, want := range map[int64]float64{600: tc.plain, 1200: tc.peak, 2400: tc.mixed, 3000: tc.blank, 3600: tc.plain} {
			if got := valueAt(t, r, second); !(math.Abs(got-want) < 1e-9) && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("%s at %d s: %v, want %v\n%s", tc.fn, second, got, want, r.Executed)
			}
		}
		blanks := 0
		for _, n := range r.Notices {
			if strings.Contains(n.Text, "2 samples of gpu_power_watts on 1 device") {
				blanks++
			}
		}
		if tc.fn != "min" && blanks != 1 {
			t.Errorf("%s: notices %v", tc.fn, r.Notices)
		}
	}
}

// Long steps would hide what means "no value" in a mean that looks right.
func TestMeansHideNoBlank(t *testing.T) {
	values := map[int64]float64{1500: blank32}
	s := &promtest.Store{}
	s.Add(peakSeries("DCGM_FI_DEV_FB_USED", "GPU-1"), every15(values)...)
	r := askOver(t, open(t, s), "gpu_memory_used_bytes", `"aggregation":"avg"`, finely(3600, 30*time.Minute))
	if got := valueAt(t, r, 3000); got != 300<<20 {
		t.Errorf("%v, want %v\n%s", got, 300<<20, r.Executed)
	}
	if !strings.Contains(r.Executed, "max_over_time") {
		t.Errorf("asked %s", r.Executed)
	}
}

// A blank of 64 bits beside the least.
func TestLeastIsNotABlank(t *testing.T) {
	s := &promtest.Store{}
	s.Add(peakSeries("DCGM_FI_DEV_POWER_USAGE", "GPU-1"), every15(map[int64]float64{1500: -blank64, 1515: 50})...)
	if got := valueAt(t, askOver(t, open(t, s), "gpu_power_watts", `"aggregation":"min"`, finely(3600, 10*time.Minute)), 1800); got != 50 {
		t.Errorf("%v", got)
	}
}

// Whole per cents have fractions as their means, and stay per cents.
func TestMeansOfPerCentAreNoRatios(t *testing.T) {
	values := map[int64]float64{}
	for at := int64(-600); at <= 3600; at += 15 {
		values[at] = float64((at / 15) & 1) // 0 and 1 %
	}
	values[-300] = 80
	s := &promtest.Store{}
	s.Add(peakSeries("DCGM_FI_DEV_GPU_UTIL_RATIO", "GPU-1"), every15(values)...)
	r := askOver(t, open(t, s), "gpu_utilization_ratio", "", finely(3600, 10*time.Minute))
	if got := valueAt(t, r, 1800); math.Abs(got-0.005) > 1e-9 {
		t.Errorf("%v, want half a per cent", got)
	}
}

// The agent saw more between two scrapes than a scrape does; also where steps are as fine as scrapes.
func TestAgentsWindowsKeepTheSpike(t *testing.T) {
	for _, step := range []time.Duration{15 * time.Second, 10 * time.Minute} {
		s := &promtest.Store{}
		for name, values := range map[string]map[int64]float64{
			"gpu_power_watts": {}, "gpu_power_window_max_watts": {1185: 950}, "gpu_power_window_min_watts": {1185: 20},
		} {
			s.Add(map[string]string{"__name__": name, "node": "n1", "gpu": "0", "gpu_uuid": "GPU-1", "model": "NVIDIA H100", "instance": "n1:9847", "job": "agent"},
				every15(values)...)
		}
		at := int64(1185)
		if step > time.Minute {
			at = 1200
		}
		h := open(t, s)
		for fn, want := range map[string]float64{"max": 950, "min": 20, "avg": 300} {
			if got := valueAt(t, askOver(t, h, "gpu_power_watts", `"aggregation":"`+fn+`"`, finely(3600, step)), at); got != want {
				t.Errorf("%s of %s: %v, want %v", fn, step, got, want)
			}
		}
	}
}

// A target that is scraped less often than the others has no gaps.
func TestPointsOfRareSamples(t *testing.T) {
	s := &promtest.Store{}
	for i, every := range []int64{15, 60, 120} {
		var points []promtest.Point
		for at := int64(-600); at <= 600; at += every {
			points = append(points, promtest.Point{Time: (t0 + at) * 1000, Value: 300})
		}
		s.Add(peakSeries("DCGM_FI_DEV_POWER_USAGE", fmt.Sprintf("GPU-%d", i)), points...)
	}
	r := askOver(t, open(t, s), "gpu_power_watts", "", finely(600, 30*time.Second))
	if len(r.Series) != 3 {
		t.Fatalf("%d lines", len(r.Series))
	}
	for _, one := range r.Series {
		if len(one.Values) != 21 {
			t.Errorf("%s: %d points", one.Device.UUID, len(one.Values))
		}
	}
}
