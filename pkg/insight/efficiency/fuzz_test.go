package efficiency

import (
	"encoding/binary"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/insighttest"
)

// dice are the values that a fuzzer chose, one after the other.
type dice struct{ raw []byte }

func (d *dice) byte() byte {
	if len(d.raw) == 0 {
		return 0
	}
	b := d.raw[0]
	d.raw = d.raw[1:]
	return b
}

// value is any number at all, often an ordinary one.
func (d *dice) value() float64 {
	switch b := d.byte(); b % 8 {
	case 0:
		return math.NaN()
	case 1:
		return math.MaxFloat64
	case 2:
		return -1
	case 3:
		var bits [8]byte
		for i := range bits {
			bits[i] = d.byte()
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(bits[:]))
	case 4:
		return math.Float64frombits(uint64(b)) // hardly above 0
	default:
		return float64(b) / 128
	}
}

func FuzzMeasure(f *testing.F) {
	f.Add([]byte{}, 2.5, 1.2)
	f.Add([]byte{7, 5, 200, 3, 1, 255, 0, 14, 31, 8, 77, 90, 1, 1, 2, 2, 3, 3, 250, 249, 248, 61, 62, 63}, 0.0, 0.0)
	f.Add([]byte("a fleet out of nothing but these words, with instances and jobs"), math.MaxFloat64, math.Inf(1))
	f.Fuzz(func(t *testing.T, raw []byte, perHour, pue float64) {
		if len(raw) > 4096 {
			return
		}
		d := &dice{raw}
		steps := int(d.byte()%9) + 1
		step := []time.Duration{time.Millisecond, time.Minute, 7 * time.Minute, time.Hour, 3000 * time.Hour}[d.byte()%5]
		from := insighttest.Start
		if d.byte()%4 == 0 {
			from = time.UnixMilli(-1e12) // before 1970
		}
		profiles := []string{"", "1g.10gb", "3g.40gb", "7g.80gb", "9g.1gb", "1c.2g.20gb", "nonsense"}
		names := []string{"", "a", "b"}
		var subjects []insight.Subject
		boards := map[gpu.Identity]bool{}
		alone := 0
		for range d.byte()%8 + 1 {
			var s insight.Subject
			s.Node, s.UUID, s.Model = names[d.byte()%3], names[d.byte()%3], []string{"NVIDIA H100", "", "A30"}[d.byte()%3]
			if b := d.byte(); b%2 == 0 {
				s.GPUInstance, s.MIGProfile = names[b/2%2+1], profiles[d.byte()%7]
				s.ComputeInstance = names[d.byte()%3]
			}
			for range d.byte() % 4 {
				s.Owners = append(s.Owners, gpu.Owner{Pod: names[d.byte()%3], SlurmJob: names[d.byte()%3], Source: names[d.byte()%3], Conflict: []string{"", notGiven}[d.byte()%2]})
			}
			subjects = append(subjects, s)
			if s.UUID == "" {
				alone++
			} else {
				boards[s.Parent()] = true
			}
		}
		g := insight.NewGrid(from, from.Add(time.Duration(steps)*step), step, subjects)
		workers := []insight.Workload{{Pod: "a", Job: "b"}, {Pod: "b", Model: "m"}, {Job: "a"}}
		w := insight.NewGrid(from, from.Add(time.Duration(steps)*step), step, workers)
		for _, field := range Fields() {
			for i := range subjects {
				if d.byte()%3 > 0 {
					g.Set(field, i, d.row(steps))
				}
			}
		}
		for _, field := range WorkloadFields() {
			for i := range workers {
				if d.byte()%3 > 0 {
					w.Set(field, i, d.row(steps))
				}
			}
		}
		tariff := Tariff{Currency: "EUR", PUE: pue, CarbonKgPerKWh: d.value(), EnergyPerKWh: d.value(), Prices: []Price{{PerGPUHour: perHour}}}
		limits := DefaultLimits()
		limits.IdleActivity, limits.IdleMinutes = d.value(), d.value()*60
		in := Input{Devices: g, Workloads: w}
		for range d.byte() % 4 {
			at := from.UnixMilli() + int64(d.byte())*step.Milliseconds()/8
			in.Tenures = append(in.Tenures, Tenure{Subject: int(d.byte()%9) - 1, From: at, To: at + int64(d.byte())*step.Milliseconds()/8, Owners: []gpu.Owner{{Pod: "a"}}})
		}
		for _, mode := range Modes() {
			result := Measure(in, limits, tariff, Options{By: []By{ByPod, ByModel, "?"}, Charge: mode, JobGPUs: int(d.byte()) - 5})
			finite(t, reflect.ValueOf(*result), "result")
			want := float64(len(boards)+alone) * float64(steps) * step.Hours()
			if got := result.Total.Hours.Total(); math.Abs(got-want) > closeTo*want {
				t.Fatalf("%v GPU-hours of %v", got, want)
			}
		}
	})
}

func (d *dice) row(steps int) []float64 {
	values := make([]float64, steps)
	for i := range values {
		values[i] = d.value()
	}
	return values
}

func FuzzBudget(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7}, int64(1_770_000_000), 1000.0)
	f.Add([]byte{}, int64(0), math.NaN())
	f.Fuzz(func(t *testing.T, raw []byte, now int64, budget float64) {
		if len(raw) > 4096 || now > 1e11 || now < -1e11 {
			return
		}
		d := &dice{raw}
		at := time.Unix(now, 0).UTC()
		var days []Spending
		for i := 0; len(d.raw) > 0; i++ {
			days = append(days, Spending{Day: at.AddDate(0, 0, -i), Amount: d.value(), Known: d.value()})
		}
		o := Budget(days, budget, at)
		if math.IsNaN(budget) || math.IsInf(budget, 0) {
			o.Budget = 0
		}
		finite(t, reflect.ValueOf(o), "Outlook")
		if o.Low > o.High || o.Forecast < o.MonthToDate-closeTo*math.Abs(o.MonthToDate) {
			t.Fatalf("%+v", o)
		}
	})
}
