package anomaly

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// sound says what is wrong with an answer: numbers that are none, bands that are upside down.
func sound(a Answer) error {
	for _, r := range a.Results {
		for _, p := range r.Points {
			for _, v := range []float64{p.Value, p.Expected, p.Lower, p.Upper, p.Z} {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return fmt.Errorf("point is no number: %+v", p)
				}
			}
			if p.Lower > p.Upper || math.Abs(p.Z) > mostZ || p.Flag && !p.Measured {
				return fmt.Errorf("point is odd: %+v", p)
			}
		}
		for _, e := range r.Episodes {
			if e.End <= e.Start || math.IsNaN(e.Value) || math.IsNaN(e.Score) || math.IsNaN(e.Evidence.Limit) {
				return fmt.Errorf("episode: %+v", e)
			}
		}
		if r.Text == "" || strings.Contains(r.Text, "NaN") || strings.Contains(r.Text, "Inf") {
			return fmt.Errorf("text: %q", r.Text)
		}
	}
	return nil
}

func FuzzJudge(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, uint8(60), uint8(4), 1e9, uint8(0))
	f.Add([]byte(strings.Repeat("\xff\x00\xfe\xfd\x10\x10\x10\x10", 60)), uint8(240), uint8(6), 1e300, uint8(1))
	f.Add([]byte(strings.Repeat("abcdabcd", 100)), uint8(30), uint8(1), -1.0, uint8(2))
	f.Add([]byte{}, uint8(0), uint8(0), math.NaN(), uint8(3))
	f.Fuzz(func(t *testing.T, raw []byte, minutes, gpus uint8, huge float64, mode uint8) {
		n := int(gpus)%12 + 1
		if len(raw) > 20_000 {
			t.Skip()
		}
		step := time.Duration(int(minutes)+1) * time.Minute
		subjects := make([]insight.Subject, n)
		for i := range subjects {
			subjects[i] = insight.Subject{
				Device: gpu.Device{Identity: gpu.Identity{UUID: fmt.Sprint(i)}, Model: "A100"},
				Owners: []gpu.Owner{{Pod: fmt.Sprintf("p-%d", i)}}, Class: insight.Class(strings.Repeat("x", i%2)),
			}
		}
		from := time.UnixMilli(int64(mode) * 1_000_000_000_00)
		g := insight.NewGrid(from, from.Add(time.Duration(len(raw)/n)*step), step, subjects)
		metrics := []string{"gpu_sm_active_ratio", "gpu_power_watts"}
		for i := range n {
			values := make([]float64, len(g.Times))
			for k := range values {
				switch b := raw[k*n+i]; b {
				case 255:
					values[k] = math.NaN()
				case 254:
					values[k] = huge
				case 253:
					values[k] = -huge
				default:
					values[k] = float64(b)
				}
			}
			g.Set(insight.Field{Metric: metrics[i%2*int(mode%2)]}, i, values)
		}
		for _, against := range []Against{History, Job, Model} {
			for _, metric := range metrics {
				if err := sound(Judge(g, nil, nil, Options{Metric: metric, Against: against, Hours: float64(mode)}, DefaultLimits())); err != nil {
					t.Fatalf("%s %s: %v", against, metric, err)
				}
			}
		}
		for _, below := range []bool{false, true} {
			l := Learn(g, insight.Field{Metric: metrics[0]}, insight.Unclassified, below, DefaultLimits())
			for _, v := range []float64{l.Warn.Value, l.Warn.PerWeek, l.Critical.Value, l.Critical.PerWeek, l.P1, l.P50, l.P99, l.Weeks} {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("%+v", l)
				}
			}
		}
	})
}
