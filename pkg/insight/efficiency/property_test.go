package efficiency

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/insighttest"
)

// fleetOf is a made-up fleet: what its subjects are, and what was measured of each.
type fleetOf struct {
	step     time.Duration
	steps    int
	subjects []insight.Subject
	values   []map[insight.Field][]float64
	tenures  []Tenure
	boards   int
}

// cut is the grid of some of the steps, and of subjects in another order.
func (f fleetOf) cut(from, to int, order []int) Input {
	subjects := make([]insight.Subject, len(order))
	for i, k := range order {
		subjects[i] = f.subjects[k]
	}
	start := insighttest.Start.Add(time.Duration(from) * f.step)
	g := insight.NewGrid(start, start.Add(time.Duration(to-from)*f.step), f.step, subjects)
	for i, k := range order {
		for field, values := range f.values[k] {
			g.Set(field, i, slices.Clone(values[from:to]))
		}
	}
	in := Input{Devices: g}
	for _, t := range f.tenures {
		t.Subject = slices.Index(order, t.Subject)
		in.Tenures = append(in.Tenures, t)
	}
	return in
}

func (f fleetOf) all() Input {
	order := make([]int, len(f.subjects))
	for i := range order {
		order[i] = i
	}
	return f.cut(0, f.steps, order)
}

// drawFleet draws a fleet. Without gaps everything that exists is always reported.
func drawFleet(t *rapid.T, gaps bool) fleetOf {
	f := fleetOf{step: rapid.SampledFrom([]time.Duration{time.Minute, 5 * time.Minute, 10 * time.Minute, time.Hour}).Draw(t, "step")}
	f.steps = int(time.Duration(rapid.IntRange(1, 4).Draw(t, "windows")) * time.Hour / f.step)
	owners := []gpu.Owner{{}, {Namespace: "ml", Pod: "a", Source: "kubelet"}, {Namespace: "ml", Pod: "b", Source: "kubelet"}, {SlurmJob: "7", User: "ann", Source: "slurm"}, {User: "eve", Source: "cgroup", Conflict: notGiven}}
	series := func(name string, of insight.Of, low, high float64) {
		values := make([]float64, f.steps)
		hold := rapid.IntRange(1, 40).Draw(t, "hold")
		var v float64
		for i := range values {
			if i%hold == 0 {
				v = rapid.OneOf(rapid.Just(low), rapid.Float64Range(low, high)).Draw(t, name)
				if gaps && rapid.IntRange(0, 4).Draw(t, "gap") == 0 {
					v = math.NaN()
				}
			}
			values[i] = v
		}
		f.values[len(f.values)-1][insight.Field{Metric: name, Of: of}] = values
	}
	add := func(d gpu.Device) {
		s := insight.Subject{Device: d}
		for range rapid.IntRange(0, 3).Draw(t, "owners") {
			s.Owners = append(s.Owners, rapid.SampledFrom(owners).Draw(t, "owner"))
		}
		f.subjects = append(f.subjects, s)
		f.values = append(f.values, map[insight.Field][]float64{})
		if !d.IsMIG() {
			series(power, "", 60, 700)
			if rapid.Bool().Draw(t, "counter") {
				series(energyTotal, insight.Rise, 0, 700*f.step.Seconds())
			}
			if rapid.IntRange(0, 5).Draw(t, "sick") == 0 {
				series(recovery, insight.Max, 0, 4)
			}
		}
		if gaps && rapid.IntRange(0, 4).Draw(t, "unmeasured") == 0 {
			return
		}
		series(smActive, "", 0, 0.2)
		series(memoryUsed, "", 0, 80<<30)
		series(processes, insight.Max, 0, 1)
	}
	profiles := []string{"1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "1c.3g.40gb", "7g.80gb", "", "1g.20gb"}
	for n := range rapid.IntRange(1, 6).Draw(t, "boards") {
		f.boards++
		d := gpu.Device{Identity: gpu.Identity{Cluster: fmt.Sprint("c", n%2), Node: fmt.Sprint("n", n%3), UUID: fmt.Sprint("GPU-", n)}, Model: rapid.SampledFrom([]string{"NVIDIA H100", "NVIDIA A30", "x"}).Draw(t, "model")}
		instances := rapid.IntRange(-2, 4).Draw(t, "instances")
		if instances <= 0 || rapid.Bool().Draw(t, "parent") {
			add(d)
		}
		for i := range max(0, instances) {
			d.GPUInstance, d.MIGProfile = fmt.Sprint(i), rapid.SampledFrom(profiles).Draw(t, "profile")
			add(d)
		}
	}
	if rapid.Bool().Draw(t, "tenures") {
		f.tenures = []Tenure{}
		for range rapid.IntRange(0, 6).Draw(t, "count") {
			from := rapid.Int64Range(-2, int64(f.steps)).Draw(t, "from")
			length := rapid.Int64Range(0, int64(f.steps)).Draw(t, "length")
			at := func(step int64) int64 { return insighttest.Start.UnixMilli() + step*f.step.Milliseconds() }
			f.tenures = append(f.tenures, Tenure{
				Subject: rapid.IntRange(0, len(f.subjects)-1).Draw(t, "subject"), From: at(from), To: at(from + length),
				Owners: []gpu.Owner{rapid.SampledFrom(owners).Draw(t, "owner")},
			})
		}
	}
	return f
}

func tariffOf() Tariff {
	return Tariff{Currency: "EUR", PUE: 1.3, CarbonKgPerKWh: 0.4, EnergyPerKWh: 0.2, Prices: []Price{{Model: "H100", PerGPUHour: 3}, {Model: "A30", PerGPUHour: 1, Currency: "USD"}}}
}

func measure(in Input, by []By, mode Mode) *Result {
	return Measure(in, DefaultLimits(), tariffOf(), Options{By: by, Charge: mode, Series: true})
}

const closeTo = 1e-9

func sameParts(t require.TestingT, want, got Parts, what string) {
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	for i := range w.NumField() {
		a, b := w.Field(i).Float(), g.Field(i).Float()
		assert.InDelta(t, a, b, closeTo*(1+math.Abs(a)), "%s %s", what, w.Type().Field(i).Name)
	}
}

// sum adds groups up.
func sum(groups []*Group) *Group {
	total := newGroup(nil)
	for _, g := range groups {
		total.sums.add(&g.sums, 1)
		total.GPUs += g.GPUs
		total.Unpriced += g.Unpriced
		for _, c := range g.Costs {
			to := total.cost(c.Currency)
			to.Parts.add(c.Parts, 1)
			to.Charge += zeroIfNaN(c.Charge)
			to.WastePerHour += c.WastePerHour
		}
	}
	return total
}

// sums must be the same but for rounding.
func sameSums(t require.TestingT, want, got *Group) {
	sameParts(t, want.sums.hours, got.sums.hours, "hours")
	sameParts(t, want.sums.joules, got.sums.joules, "joules")
	for _, pair := range [][2]float64{
		{want.sums.pool, got.sums.pool}, {want.sums.active, got.sums.active}, {want.sums.memory, got.sums.memory},
		{want.sums.most, got.sums.most}, {want.sums.energyKnown, got.sums.energyKnown}, {want.Unpriced, got.Unpriced},
	} {
		assert.InDelta(t, pair[0], pair[1], closeTo*(1+math.Abs(pair[0])))
	}
	for _, c := range want.Costs {
		other := got.cost(c.Currency)
		sameParts(t, c.Parts, other.Parts, c.Currency)
		if !math.IsNaN(c.Charge) && !math.IsNaN(other.Charge) { // a group of which nothing is known is NaN, beside others it is 0
			assert.InDelta(t, c.Charge, other.Charge, closeTo*(1+c.Charge))
		}
	}
}

func TestHoursAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFleet(t, true)
		mode := rapid.SampledFrom(Modes()).Draw(t, "mode")
		by := []By{rapid.SampledFrom(Dimensions()).Draw(t, "by")}
		result := measure(f.all(), by, mode)
		finite(t, reflect.ValueOf(*result), "result")
		want := float64(f.boards) * (time.Duration(f.steps) * f.step).Hours()
		assert.InDelta(t, want, result.Total.Hours.Total(), closeTo*want, "each GPU-hour is in one part")
		for i := range reflect.TypeFor[Parts]().NumField() {
			assert.GreaterOrEqual(t, reflect.ValueOf(result.Total.Hours).Field(i).Float(), 0.0)
		}
		assert.LessOrEqual(t, result.Total.Pool, result.Total.Hours.Unallocated+closeTo)
		together := sum(result.Groups)
		sameSums(t, result.Total, together)
		var steps Parts
		for _, gpus := range result.Timeline {
			steps.add(gpus, f.step.Hours())
		}
		sameParts(t, result.Total.Hours, steps, "timeline")
		for _, c := range result.Total.Costs {
			charged, daily, grouped := 0.0, 0.0, 0.0
			for _, g := range result.Groups {
				for _, day := range result.Days(g, c.Currency, time.UTC) {
					grouped += zeroIfNaN(day.Amount)
				}
			}
			for _, of := range result.Total.Charged {
				if of.Currency == c.Currency {
					for _, v := range of.Steps {
						charged += v
					}
				}
			}
			for _, day := range result.Days(result.Total, c.Currency, time.UTC) {
				daily += zeroIfNaN(day.Amount)
			}
			assert.InDelta(t, zeroIfNaN(c.Charge), charged, closeTo*(1+charged))
			assert.InDelta(t, charged, daily, closeTo*(1+charged))
			assert.InDelta(t, charged, grouped, closeTo*(1+charged))
			assert.InDelta(t, c.WastePerHour, together.cost(c.Currency).WastePerHour, closeTo)
		}
	})
}

func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFleet(t, true)
		order := make([]int, len(f.subjects))
		for i := range order {
			order[i] = i
		}
		one := measure(f.all(), []By{ByNode, ByPod}, ChargeMost)
		other := measure(f.cut(0, f.steps, rapid.Permutation(order).Draw(t, "order")), []By{ByNode, ByPod}, ChargeMost)
		sameSums(t, one.Total, other.Total)
		require.Len(t, other.Groups, len(one.Groups))
		for _, g := range one.Groups {
			at := slices.IndexFunc(other.Groups, func(o *Group) bool { return slices.Equal(o.Values, g.Values) })
			require.GreaterOrEqual(t, at, 0, g.Values)
			sameSums(t, g, other.Groups[at])
		}
		assert.Len(t, other.Idle, len(one.Idle))
		assert.Equal(t, fmt.Sprint(one.Fragments), fmt.Sprint(other.Fragments)) // NaN is not equal to itself
	})
}

// A range that is cut where a window of the idle rule ends is the sum of its parts.
func TestRangesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFleet(t, false)
		perHour := max(1, int(time.Hour/f.step))
		at := perHour * rapid.IntRange(0, f.steps/perHour).Draw(t, "cut")
		order := make([]int, len(f.subjects))
		for i := range order {
			order[i] = i
		}
		whole := measure(f.all(), nil, ChargeAllocated)
		halves := []*Group{measure(f.cut(0, at, order), nil, ChargeAllocated).Total, measure(f.cut(at, f.steps, order), nil, ChargeAllocated).Total}
		sameSums(t, whole.Total, sum(halves))
	})
}

// All energy that was measured is in some part, whoever it is given to.
func TestEnergyIsNeitherLostNorMade(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFleet(t, false)
		want := 0.0
		for i, s := range f.subjects {
			if s.IsMIG() {
				continue
			}
			if rise, ok := f.values[i][insight.Field{Metric: energyTotal, Of: insight.Rise}]; ok {
				for _, v := range rise {
					want += v
				}
				continue
			}
			for _, v := range f.values[i][insight.Field{Metric: power}] {
				want += v * f.step.Seconds()
			}
		}
		got := zeroIfNaN(measure(f.all(), nil, ChargeAllocated).Total.Energy.KWh.Total()) * joulesPerKWh
		assert.InDelta(t, want, got, closeTo*(1+want))
	})
}

// mayBeNaN are the fields that are not known at times.
func mayBeNaN() []string {
	return []string{
		"Ceiling", "Known", "MemoryGiBHours", "ChargeQuantity", "ChargeKnown", "Charge", "Estimated", "SiteKWh", "CarbonKg", "Activity", "PerHour", "Ratio", "Tokens", "TokensPerSecond", "TokensPerJoule",
		"JoulesPerToken", "CostPerMillion", "MFU", "ReachableMFU", "ReportedMFU", "Forecast", "Low", "High",
	}
}

// finite fails on what is infinite, and on NaN where there must be a number.
func finite(t interface{ Fatalf(string, ...any) }, v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Float64:
		if f := v.Float(); math.IsInf(f, 0) || math.IsNaN(f) && !slices.Contains(mayBeNaN(), name) {
			t.Fatalf("%s is %v", name, f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && !(field.Name == "KWh" && math.IsNaN(v.Field(i).Interface().(Parts).Used)) {
				finite(t, v.Field(i), field.Name)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			finite(t, v.Elem(), name)
		}
	case reflect.Slice:
		for i := range v.Len() {
			finite(t, v.Index(i), name)
		}
	default:
	}
}

// Boards that follow each other in the places of a node are as many GPUs as it has places, in every step.
func TestReplacedBoardsAreNoMoreGPUs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const steps = 24
		places := rapid.IntRange(1, 3).Draw(t, "places")
		var subjects []insight.Subject
		var values [][]float64
		for place := range places {
			at := 0
			for board := 0; at < steps; board++ {
				end := rapid.IntRange(at+1, steps).Draw(t, "end")
				if place == 0 {
					end = steps // the node is heard all the time
				}
				row := make([]float64, steps)
				for i := range row {
					if row[i] = math.NaN(); at <= i && i < end {
						row[i] = 0.5
					}
				}
				subjects = append(subjects, insight.Subject{
					Device: gpu.Device{Identity: gpu.Identity{Node: "n1", UUID: fmt.Sprintf("GPU-%d-%d", place, board)}, Index: place},
					Owners: []gpu.Owner{{Pod: "p"}},
				})
				values = append(values, row)
				at = end + rapid.IntRange(0, 3).Draw(t, "gap")
			}
		}
		start := time.UnixMilli(1767571200000)
		grid := insight.NewGrid(start, start.Add(steps*time.Minute), time.Minute, subjects)
		for i, row := range values {
			grid.Set(insight.Field{Metric: smActive}, i, row)
		}
		result := Measure(Input{Devices: grid}, DefaultLimits(), Tariff{}, Options{})
		for i, gpus := range result.Timeline {
			require.InDelta(t, places, gpus.Total(), 1e-9, "step %d", i)
		}
		require.InDelta(t, float64(places)*steps/60, result.Total.Hours.Total(), 1e-9)
	})
}
