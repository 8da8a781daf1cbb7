package query

import (
	"encoding/json"
	"os"
	"testing"
	"time"
)

func at(seconds float64) time.Time { return time.UnixMilli(int64(seconds * 1000)) }

// points is how Prometheus counts them before it refuses a query.
func points(w Window) int64 { return int64(w.End().Sub(w.Start()) / w.Step) }

func TestStepIsNeverRefused(t *testing.T) {
	text, err := os.ReadFile("testdata/points_limit.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Range         int64 `json:"range_s"`
			Wanted        int64 `json:"wanted_step_s"`
			MaxDataPoints int64 `json:"max_data_points"`
			Smallest      int64 `json:"smallest_ok_step_s"`
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, tc := range file.Cases {
		length := time.Duration(tc.Range) * time.Second
		if got, want := FinestStep(length), time.Duration(max(tc.Smallest, 1))*time.Second; got != want {
			t.Errorf("range %s: finest step %s, want %s", length, got, want)
		}
		for _, offset := range []float64{0, 0.4, 59.999} {
			w := NewWindow(WindowOptions{
				From: at(1793400000 + offset), To: at(1793400000 + offset).Add(length), MaxDataPoints: max(tc.MaxDataPoints, 1<<40),
				MinStep: time.Duration(tc.Wanted) * time.Second, ScrapeInterval: time.Second,
			})
			if w.Step <= 0 || points(w) > MaxPoints {
				t.Errorf("range %s at +%g: step %s makes %d points", length, offset, w.Step, points(w))
			}
		}
	}
}

func TestNewWindow(t *testing.T) {
	from := at(1793400007)
	for _, tc := range []struct {
		name    string
		length  time.Duration
		options WindowOptions
		step    time.Duration
	}{
		{"an hour on 1000 pixels", time.Hour, WindowOptions{MaxDataPoints: 1000}, 15 * time.Second},
		{"the scrape interval is the floor", time.Minute, WindowOptions{MaxDataPoints: 1000, ScrapeInterval: 30 * time.Second}, 30 * time.Second},
		{"a day on 1000 pixels", 24 * time.Hour, WindowOptions{MaxDataPoints: 1000}, 2 * time.Minute},
		{"minimum step", time.Hour, WindowOptions{MaxDataPoints: 1000, MinStep: 5 * time.Minute}, 5 * time.Minute},
		{"two years on 100 pixels", 2 * 365 * 24 * time.Hour, WindowOptions{MaxDataPoints: 100}, 8 * 24 * time.Hour},
		{"nothing said", time.Hour, WindowOptions{}, 15 * time.Second},
		{"no length", 0, WindowOptions{MaxDataPoints: 1000}, 15 * time.Second},
		{"ends before it starts", -time.Hour, WindowOptions{MaxDataPoints: 1000}, 15 * time.Second},
	} {
		o := tc.options
		o.From, o.To = from, from.Add(tc.length)
		w := NewWindow(o)
		if w.Step != tc.step {
			t.Errorf("%s: step %s, want %s", tc.name, w.Step, tc.step)
		}
		if w.Start().After(w.From) || w.End().After(w.To) || w.From.Sub(w.Start()) >= w.Step || w.To.Sub(w.End()) >= w.Step ||
			w.Start().UnixMilli()%w.Step.Milliseconds() != 0 || w.End().UnixMilli()%w.Step.Milliseconds() != 0 {
			t.Errorf("%s: grid from %s to %s", tc.name, w.Start(), w.End())
		}
	}
}

func FuzzWindow(f *testing.F) {
	f.Add(int64(1793400000123), int64(1209600000), int64(7000), int64(0), int64(15000))
	f.Add(int64(-1), int64(1), int64(-5), int64(1), int64(0))
	f.Fuzz(func(t *testing.T, fromMS, lengthMS, pixels, minStepMS, scrapeMS int64) {
		const century = 100 * 365 * 24 * 3600 * 1000
		lengthMS, fromMS = lengthMS%century, fromMS%century
		w := NewWindow(WindowOptions{
			From: time.UnixMilli(fromMS), To: time.UnixMilli(fromMS + lengthMS), MaxDataPoints: pixels,
			MinStep: time.Duration(minStepMS%century) * time.Millisecond, ScrapeInterval: time.Duration(scrapeMS%century) * time.Millisecond,
		})
		if w.Step < time.Millisecond || w.Step%time.Millisecond != 0 || points(w) > MaxPoints || points(w) < 0 {
			t.Fatalf("%+v: %d points", w, points(w))
		}
	})
}

func TestRateInterval(t *testing.T) {
	for _, tc := range []struct{ step, scrape, want time.Duration }{
		{15 * time.Second, 15 * time.Second, time.Minute},
		{5 * time.Minute, 15 * time.Second, 5*time.Minute + 15*time.Second},
		{time.Second, 30 * time.Second, 2 * time.Minute},
	} {
		if got := (Window{Step: tc.step, ScrapeInterval: tc.scrape}).RateInterval(); got != tc.want {
			t.Errorf("%+v: got %s", tc, got)
		}
	}
}
