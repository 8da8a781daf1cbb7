package stragglers

import (
	"encoding/binary"
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

// fleet is jobs whose ranks are on nodes of eight GPUs. In every third job a rank is slow, in every fourth a GPU's clock is low.
// Devices and workloads are put in in the order asked for.
func fleet(jobs, ranks, steps int, order []int) Input {
	n := jobs * ranks
	subjects, workloads := make([]insight.Subject, n), make([]insight.Workload, n)
	from, to := insighttest.Start, insighttest.Start.Add(time.Duration(steps)*time.Minute)
	for i, at := range order {
		job, rank := i/ranks, i%ranks
		node := fmt.Sprintf("n%d-%d", job, rank/8)
		subjects[at] = insight.Subject{
			Device: gpu.Device{Identity: gpu.Identity{Node: node, UUID: fmt.Sprintf("GPU-%d", i)}, Index: rank % 8, Model: "NVIDIA H100 80GB HBM3"},
			Owners: []gpu.Owner{{SlurmJob: fmt.Sprint(job)}},
		}
		workloads[at] = insight.Workload{Node: node, Job: fmt.Sprint(job), Rank: fmt.Sprint(rank)}
	}
	in := Input{
		Devices:   insight.NewGrid(from, to, time.Minute, subjects),
		Workloads: insight.NewGrid(from, to, time.Minute, workloads),
	}
	for i, at := range order {
		job, rank := i/ranks, i%ranks
		source := rand.New(rand.NewPCG(uint64(i), 11))
		fill := func(base, slope, noise float64) []float64 {
			values := make([]float64, steps)
			for t := range values {
				values[t] = base + slope*float64(t) + noise*source.Float64()
			}
			return values
		}
		exchange, clock := 1.0, 1.9e9
		if job%3 == 0 && rank == 3 {
			exchange = 0.5
		}
		if job%4 == 0 && rank == 3 {
			clock = 1.5e9
		}
		in.Workloads.Set(insight.Field{Metric: stepSeconds}, at, fill(2, 0, 0.02))
		in.Workloads.Set(insight.Field{Metric: exchangeSeconds}, at, fill(exchange, 0, 0.02))
		in.Workloads.Set(insight.Field{Metric: dataSeconds}, at, fill(0.1, 0, 0.02))
		in.Workloads.Set(insight.Field{Metric: checkpointTime}, at, fill(0.01, 0, 0.01))
		in.Workloads.Set(insight.Field{Metric: trainGPUs}, at, fill(float64(ranks), 0, 0))
		in.Workloads.Set(insight.Field{Metric: "train_step_total", Of: insight.Total}, at, fill(0, 30, 0))
		in.Devices.Set(insight.Field{Metric: smClock}, at, fill(clock, 0, 1e7))
		in.Devices.Set(insight.Field{Metric: power}, at, fill(550, 0, 40))
		in.Devices.Set(insight.Field{Metric: smActive}, at, fill(0.9, 0, 0.05))
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

// The order of devices and ranks changes nothing but where they stand.
func TestOrderDoesNotMatter(t *testing.T) {
	const jobs, ranks = 12, 20
	plain := Judge(fleet(jobs, ranks, 30, sequence(jobs*ranks)), DefaultLimits(), Options{})
	require.Len(t, plain, jobs)
	for seed := range uint64(5) {
		order := rand.New(rand.NewPCG(seed, 1)).Perm(jobs * ranks)
		shuffled := Judge(fleet(jobs, ranks, 30, order), DefaultLimits(), Options{})
		require.Len(t, shuffled, jobs)
		for i := range plain {
			require.Equal(t, withoutRows(plain[i]), withoutRows(shuffled[i]))
		}
	}
}

// withoutRows is a job as text, without indexes in grids.
func withoutRows(j Job) string {
	suspects := make([]Suspect, len(j.Suspects))
	for i, s := range j.Suspects {
		s.Workload, s.Device, s.deviceRows = 0, 0, nil
		suspects[i] = s
	}
	j.Ranks, j.Devices, j.Idle, j.Suspects = nil, nil, nil, nil
	text := func(v *float64) string {
		if v == nil {
			return "?"
		}
		return fmt.Sprint(*v)
	}
	numbers := ""
	for _, v := range []*float64{
		j.GPUs, j.LostGPUHours, j.Bubble.Planned, j.Bubble.Measured, j.Exchange.Value, j.Exchange.Least, j.Exchange.Most, j.Data.Value,
		j.Checkpoint.Value, j.Goodput.Ratio, j.Goodput.LostSteps,
	} {
		numbers += text(v) + " "
	}
	return fmt.Sprint(j.Name, j.ID, j.Severity, j.Confidence, j.Text, j.Reasons, j.Missing, j.Basis, j.Skew, suspects, numbers)
}

// Truth is known here: the slow ranks are found, and nobody else is.
func TestSlowRanksAreFound(t *testing.T) {
	const jobs, ranks = 60, 24
	for _, j := range Judge(fleet(jobs, ranks, 30, sequence(jobs*ranks)), DefaultLimits(), Options{}) {
		var job int
		_, err := fmt.Sscan(j.Name, &job)
		require.NoError(t, err)
		if job%3 > 0 {
			assert.Equal(t, Even, j.ID, j.Name)
			continue
		}
		require.Equal(t, Straggler, j.ID, j.Name)
		require.Len(t, j.Suspects, 1)
		assert.Equal(t, "3", j.Suspects[0].Rank)
		want := insight.Medium
		if job%4 == 0 {
			want = insight.High // the GPU's clock says the same
		}
		assert.Equal(t, want, j.Confidence, j.Name)
	}
}

// finite fails for a number that is none, but for limits of evidence and steps without a skew.
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
		if math.IsInf(v.Float(), 0) || math.IsNaN(v.Float()) && !skews(at) {
			t.Errorf("%s is %v", at, v.Float())
		}
	default:
	}
}

func skews(at string) bool {
	for i := range len(at) - 5 {
		if at[i:i+6] == ".Skew[" {
			return true
		}
	}
	return false
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
	seed(1, 1, 1, 1.5, 1, 1, 1, 1.5, 2, 0.5, 1e-300, 1e-9)
	f.Fuzz(func(t *testing.T, raw []byte, kinds uint8, step int64) {
		var numbers []float64
		for ; len(raw) >= 8 && len(numbers) < 2000; raw = raw[8:] {
			numbers = append(numbers, math.Float64frombits(binary.LittleEndian.Uint64(raw)))
		}
		if len(numbers) == 0 || step < int64(time.Millisecond) || step > int64(100*24*time.Hour) {
			return
		}
		const steps, members = 40, 6
		var at int
		next := func() []float64 {
			values := make([]float64, steps)
			for i := range values {
				values[i] = numbers[at%len(numbers)]
				at++
			}
			return values
		}
		var subjects []insight.Subject
		var workloads []insight.Workload
		for i := range members {
			node := fmt.Sprint("n", i/2)
			subjects = append(subjects, insight.Subject{
				Device: gpu.Device{Identity: gpu.Identity{Node: node, UUID: fmt.Sprint(i)}, Index: i}, Owners: []gpu.Owner{{Pod: fmt.Sprint("p-", i)}},
			})
			workloads = append(workloads, insight.Workload{Node: node, Pod: fmt.Sprint("p-", i), Rank: fmt.Sprint(i)})
		}
		subjects[members-1].GPUInstance = "1"
		from := insighttest.Start
		to := from.Add(time.Duration(step) * steps)
		in := Input{
			Devices:   insight.NewGrid(from, to, time.Duration(step), subjects),
			Workloads: insight.NewGrid(from, to, time.Duration(step), workloads),
		}
		for i, field := range Fields() {
			for row := range members {
				if (int(kinds)+i+row/3)%3 > 0 {
					in.Devices.Set(field, row, next())
				}
			}
		}
		for i, field := range WorkloadFields() {
			for row := range members {
				if (int(kinds)+i+row/3)%4 > 0 {
					in.Workloads.Set(field, row, next())
				}
			}
		}
		var options Options
		if kinds > 100 {
			options.Pipeline = &Pipeline{Stages: int(kinds), Microbatches: 1}
		}
		finite(t, "jobs", reflect.ValueOf(Judge(in, DefaultLimits(), options)))
		finite(t, "jobs without ranks", reflect.ValueOf(Judge(Input{Devices: in.Devices}, DefaultLimits(), options)))
	})
}

// What more jobs cost: a thousand jobs of a hundred ranks against a tenth of them.
func BenchmarkStragglers(b *testing.B) {
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
