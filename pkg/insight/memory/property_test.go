package memory

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/insighttest"
)

// fleet is jobs with ranks on GPUs of nodes of eight, of all kinds. Devices and workloads are put in in the order asked for.
func fleet(jobs, ranks, steps int, order []int) Input {
	n := jobs * ranks
	subjects := make([]insight.Subject, n)
	workloads := make([]insight.Workload, n)
	from, to := insighttest.Start, insighttest.Start.Add(time.Duration(steps)*time.Minute)
	for i, at := range order {
		job, rank := i/ranks, i%ranks
		node := fmt.Sprintf("n%d-%d", job, rank/8)
		subjects[at] = insight.Subject{
			Device: gpu.Device{Identity: gpu.Identity{Node: node, UUID: fmt.Sprintf("GPU-%d", i)}, Index: rank % 8},
			Owners: []gpu.Owner{{SlurmJob: fmt.Sprint(job)}},
		}
		workloads[at] = insight.Workload{Node: node, Job: fmt.Sprint(job), Rank: fmt.Sprint(rank)}
	}
	in := Input{
		Devices:   insight.NewGrid(from, to, time.Minute, subjects),
		Workloads: insight.NewGrid(from, to, time.Minute, workloads),
	}
	for i, at := range order {
		source := rand.New(rand.NewPCG(uint64(i), 7))
		fill := func(base, slope, noise float64) []float64 {
			values := make([]float64, steps)
			for t := range values {
				values[t] = base + slope*float64(t) + noise*source.Float64()
			}
			return values
		}
		base, slope := (60+20*source.Float64())*gibi, 0.0
		if i%5 == 0 {
			slope = 0.1 * gibi
		}
		used := fill(base, slope, gibi/4)
		free := make([]float64, steps)
		for t := range free {
			free[t] = 90*gibi - used[t]
		}
		in.Devices.Set(insight.Field{Metric: usedBytes}, at, used)
		in.Devices.Set(insight.Field{Metric: usedBytes, Of: insight.Max}, at, used)
		in.Devices.Set(insight.Field{Metric: freeBytes}, at, free)
		in.Devices.Set(insight.Field{Metric: smActive}, at, fill(float64(i%3)/3, 0, 0.01))
		in.Workloads.Set(insight.Field{Metric: allocated, Of: insight.Max}, at, fill(40*gibi, 0, gibi))
		in.Workloads.Set(insight.Field{Metric: held}, at, fill(50*gibi, 0, 10*gibi))
		in.Workloads.Set(insight.Field{Metric: retries, Of: insight.Rise}, at, fill(0, 0, 0.1))
	}
	return in
}

func sequence(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// The order of subjects and of workloads changes nothing but where a verdict stands.
func TestOrderDoesNotMatter(t *testing.T) {
	const jobs, ranks = 6, 12
	plain := Judge(fleet(jobs, ranks, 30, sequence(jobs*ranks)), DefaultLimits(), Options{})
	for seed := range uint64(5) {
		order := rand.New(rand.NewPCG(seed, 1)).Perm(jobs * ranks)
		shuffled := Judge(fleet(jobs, ranks, 30, order), DefaultLimits(), Options{})
		for i, at := range order {
			want, got := plain.Verdicts[i], shuffled.Verdicts[at]
			want.Subject, got.Subject = 0, 0
			require.Equal(t, text(want), text(got))
		}
		require.Len(t, shuffled.Owners, jobs)
		for i := range plain.Owners {
			want, got := plain.Owners[i], shuffled.Owners[i]
			want.Devices, got.Devices = nil, nil
			require.Equal(t, text(want), text(got))
		}
	}
}

// text is a value with what its pointers point to.
func text(v any) string {
	var b []byte
	written, err := json.Marshal(scrub(reflect.ValueOf(v)))
	if err != nil {
		return err.Error()
	}
	return string(append(b, written...))
}

// scrub turns a value into maps and lists, NaN into null: what evidence that has no limit has.
func scrub(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return scrub(v.Elem())
	case reflect.Struct:
		fields := map[string]any{}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fields[v.Type().Field(i).Name] = scrub(v.Field(i))
			}
		}
		return fields
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = scrub(v.Index(i))
		}
		return list
	case reflect.Float64:
		if math.IsNaN(v.Float()) {
			return nil
		}
		return v.Float()
	default:
		return v.Interface()
	}
}

// finite fails for a number that is none, but for limits of evidence.
func finite(t *testing.T, at string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			finite(t, at, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "Limit" {
				finite(t, at+"."+name, v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			finite(t, fmt.Sprintf("%s[%d]", at, i), v.Index(i))
		}
	case reflect.Float64:
		if math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
			t.Errorf("%s is %v", at, v.Float())
		}
	default:
	}
}

// FuzzJudge puts any numbers in any field: nothing but numbers comes out.
func FuzzJudge(f *testing.F) {
	seed := func(values ...float64) {
		var raw []byte
		for _, v := range values {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
		}
		f.Add(raw, uint8(3), int64(time.Minute))
	}
	seed(1, 2, 3)
	seed(math.NaN(), math.Inf(1), math.MaxFloat64, math.SmallestNonzeroFloat64, -1, 0, 1e18, 5e17)
	seed(0.86, 0.87, 0.88, 0.9, 0.91, 0.93, 0.94, 0.95, 0.97, 0.98, 60, 60, 61, 30, 20, 10, 1e-300)
	f.Fuzz(func(t *testing.T, raw []byte, kinds uint8, step int64) {
		var numbers []float64
		for ; len(raw) >= 8 && len(numbers) < 2000; raw = raw[8:] {
			numbers = append(numbers, math.Float64frombits(binary.LittleEndian.Uint64(raw)))
		}
		if len(numbers) == 0 || step < int64(time.Millisecond) || step > int64(100*24*time.Hour) {
			return
		}
		const steps = 40
		var at int
		next := func() []float64 {
			values := make([]float64, steps)
			for i := range values {
				values[i] = numbers[at%len(numbers)]
				at++
			}
			return values
		}
		subjects := []insight.Subject{
			{Device: gpu.Device{Identity: gpu.Identity{UUID: "a"}}, Owners: []gpu.Owner{{Pod: "p"}}},
			{Device: gpu.Device{Identity: gpu.Identity{UUID: "b"}, Model: "H100"}, Class: insight.Inference},
			{Device: gpu.Device{Identity: gpu.Identity{UUID: "b", GPUInstance: "1"}}, Owners: []gpu.Owner{{SlurmJob: "j"}, {User: "u"}}},
			{Device: gpu.Device{Identity: gpu.Identity{UUID: "c"}}},
		}
		from := insighttest.Start
		to := from.Add(time.Duration(step) * steps)
		in := Input{
			Devices:     insight.NewGrid(from, to, time.Duration(step), subjects),
			Workloads:   insight.NewGrid(from, to, time.Duration(step), []insight.Workload{{Pod: "p"}, {Job: "j"}, {Job: "j", Rank: "1"}}),
			OwnersKnown: kinds&1 > 0,
		}
		for i, field := range Fields() {
			for row := range subjects {
				if (int(kinds)+i+row)%3 > 0 {
					in.Devices.Set(field, row, next())
				}
			}
		}
		for i, field := range WorkloadFields() {
			for row := range 3 {
				if (int(kinds)+i+row)%4 > 0 {
					in.Workloads.Set(field, row, next())
				}
			}
		}
		result := Judge(in, DefaultLimits(), Options{Batch: float64(kinds), StaticBytes: float64(kinds) * 1e9})
		assert.Len(t, result.Verdicts, len(subjects))
		finite(t, "result", reflect.ValueOf(result))
	})
}

// What more jobs cost: a thousand jobs of a hundred ranks against a tenth of them.
func BenchmarkMemory(b *testing.B) {
	const ranks, steps = 100, 30
	measure := func(in Input) time.Duration {
		start := time.Now()
		Judge(in, DefaultLimits(), Options{})
		return time.Since(start)
	}
	small, large := fleet(100, ranks, steps, sequence(100*ranks)), fleet(1000, ranks, steps, sequence(1000*ranks))
	var one, ten time.Duration
	for b.Loop() {
		for range 10 { // as much work as the large one, so that both see the same machine
			one += measure(small)
		}
		ten += measure(large)
	}
	b.ReportMetric(ten.Seconds()/float64(b.N), "sec/pass")
	b.ReportMetric(ten.Seconds()/one.Seconds(), "growth")
}
