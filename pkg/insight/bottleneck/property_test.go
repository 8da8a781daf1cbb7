package bottleneck

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// scene is what any input may look like: values of any kind, absent ones, jobs that share pods, MIG instances.
type scene struct {
	subjects  []insight.Subject
	workloads []insight.Workload
	values    map[insight.Field][][]float64 // by subject, nil where it has none
	work      map[insight.Field][][]float64
	steps     int
	step      time.Duration
}

func anyScene(random *rand.Rand, steps int, wild bool) *scene {
	s := &scene{steps: steps, step: time.Minute, values: map[insight.Field][][]float64{}, work: map[insight.Field][][]float64{}}
	models := []string{"NVIDIA H100 80GB HBM3", "NVIDIA A100 80GB PCIe", "Tesla T4", "Unheard of"}
	jobs := 1 + random.IntN(3)
	model := models[random.IntN(len(models))]
	for i := range 1 + random.IntN(9) {
		subject := insight.Subject{Device: gpu.Device{Identity: gpu.Identity{Node: "n", UUID: fmt.Sprint("GPU-", i)}, Index: i, Model: model}}
		if random.IntN(6) == 0 {
			subject.GPUInstance = "1"
		}
		switch random.IntN(jobs + 1) {
		case 0:
		case 1:
			subject.Owners = []gpu.Owner{{SlurmJob: "7"}}
			if random.IntN(2) == 0 {
				s.workloads = append(s.workloads, insight.Workload{Node: "n", Job: "7", Rank: fmt.Sprint(i)})
			}
		default:
			subject.Owners = []gpu.Owner{{Namespace: "ml", Pod: fmt.Sprint("p", i)}}
			s.workloads = append(s.workloads, insight.Workload{Namespace: "ml", Pod: fmt.Sprint("p", i), Job: "j", Rank: fmt.Sprint(i)})
		}
		subject.Class = []insight.Class{insight.Unclassified, insight.Training, insight.Inference}[random.IntN(3)]
		s.subjects = append(s.subjects, subject)
	}
	fill := func(into map[insight.Field][][]float64, f insight.Field, n int, most float64) {
		rows := make([][]float64, n)
		share := random.Float64()
		for i := range rows {
			if random.IntN(5) == 0 {
				continue
			}
			rows[i] = make([]float64, s.steps)
			base := random.Float64()
			if random.IntN(3) == 0 {
				base = share
			}
			for t := range rows[i] {
				v := base
				if random.IntN(3) == 0 {
					v = random.Float64()
				}
				rows[i][t] = v * most
				if wild && random.IntN(10) == 0 {
					rows[i][t] = []float64{math.NaN(), -1, 1e300, 2147483632, math.MaxFloat64, 5e-324, 0}[random.IntN(7)]
				}
			}
		}
		into[f] = rows
	}
	usual := [columns]float64{smClock: 2e9, smClockMax: 2e9, reasons: 200, memUsed: 8e10, memFree: 1e10, memTotal: 8e10, memReserved: 1e9,
		pcieReceive: 6e10, pcieReceiveTotal: 6e10, pcieTransmit: 1e9, pcieTransmitTotal: 1e9, linkGenerationMax: 6, linkWidthMax: 16,
		nvlinkTransmit: 4e11, nvlinkReceive: 4e11, nvlinkThroughput: 8e11, power: 700, powerLimit: 700}
	for c, from := range sources() {
		most := usual[c]
		if most == 0 {
			most = 1
		}
		if random.IntN(8) > 0 {
			fill(s.values, from.field, len(s.subjects), most)
		}
	}
	for v, rows := range s.values {
		if v.Metric == "gpu_clock_event_reasons" && !wild {
			for _, row := range rows {
				for t := range row {
					row[t] = math.Floor(row[t])
				}
			}
		}
	}
	for c, from := range workSources() {
		if random.IntN(4) > 0 {
			fill(s.work, from.field, len(s.workloads), []float64{2, 1, 1, 0.1, 0.1, 1, 0.1}[c])
		}
	}
	return s
}

// grids makes the grids, with subjects and workloads in the order given, which may be nil.
func (s *scene) grids(devices, workloads []int) (*insight.Devices, *insight.Workloads) {
	from := time.Unix(1_700_000_000, 0)
	to := from.Add(time.Duration(s.steps) * s.step)
	return grid(from, to, s.step, s.subjects, s.values, devices), grid(from, to, s.step, s.workloads, s.work, workloads)
}

func grid[S any](from, to time.Time, step time.Duration, subjects []S, values map[insight.Field][][]float64, order []int) *insight.Grid[S] {
	if order == nil {
		for i := range subjects {
			order = append(order, i)
		}
	}
	ordered := make([]S, len(subjects))
	for at, i := range order {
		ordered[at] = subjects[i]
	}
	g := insight.NewGrid(from, to, step, ordered)
	for f, rows := range values {
		for at, i := range order {
			if rows[i] != nil {
				g.Set(f, at, slices.Clone(rows[i]))
			}
		}
	}
	return g
}

func (s *scene) judge(t testing.TB, limits Limits, devices, workloads []int) *Report {
	d, w := s.grids(devices, workloads)
	report, err := Judge(d, w, limits)
	require.NoError(t, err)
	return report
}

// tell writes everything that is said of a timeline, but for positions in grids.
func tell(t *Timeline) string {
	var b strings.Builder
	for _, i := range t.Intervals {
		r := i.Reason()
		fmt.Fprintln(&b, i.From, i.To, i.Verdict, i.Secondary, i.Nearest, i.Confidence, r.Text, r.Action.Text, r.Evidence, i.Notes(), i.Missing(), i.Counts())
	}
	return b.String()
}

func sound(t testing.TB, s *scene, report *Report) {
	check := func(line *Timeline) {
		require.NotEmpty(t, line.Intervals)
		at := int64(1_700_000_000_000)
		for _, i := range line.Intervals {
			require.Equal(t, at, i.From, "intervals without gaps")
			require.Greater(t, i.To, i.From)
			require.False(t, i.Secondary.Has(i.Verdict))
			require.Equal(t, i.Verdict == Unknown && i.notes&lostCounters == 0, i.Confidence == insight.NoConfidence)
			at = i.To
			r := i.Reason()
			require.NotEmpty(t, r.Text)
			for _, e := range r.Evidence {
				require.False(t, math.IsNaN(e.Value) || math.IsInf(e.Value, 0), e.Text)
				require.NotContains(t, e.Text, "NaN")
				require.NotContains(t, e.Text, "Inf")
			}
		}
		require.Equal(t, int64(1_700_000_000_000)+int64(s.steps)*s.step.Milliseconds(), at)
		sum := 0.0
		for _, share := range line.Shares() {
			sum += share
		}
		require.InDelta(t, 1, sum, 1e-9)
	}
	require.Len(t, report.Devices, len(s.subjects))
	for d := range report.Devices {
		check(&report.Devices[d])
	}
	for i := range report.Jobs {
		check(&report.Jobs[i].Timeline)
	}
}

func TestOrderOfSubjectsChangesNothing(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		s := anyScene(random, 1+random.IntN(20), true)
		report := s.judge(t, DefaultLimits(), nil, nil)
		sound(t, s, report)
		devices, workloads := random.Perm(len(s.subjects)), random.Perm(len(s.workloads))
		other := s.judge(t, DefaultLimits(), devices, workloads)
		for at, i := range devices {
			require.Equal(t, tell(&report.Devices[i]), tell(&other.Devices[at]), "seed %d", seed)
		}
		require.Len(t, other.Jobs, len(report.Jobs))
		for i := range report.Jobs {
			require.Equal(t, report.Jobs[i].Name, other.Jobs[i].Name)
			require.Equal(t, tell(&report.Jobs[i].Timeline), tell(&other.Jobs[i].Timeline), "seed %d", seed)
		}
	}
}

func TestScaleOfTimeChangesNothing(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 2))
		s := anyScene(random, 1+random.IntN(30), false)
		limits := DefaultLimits()
		report := s.judge(t, limits, nil, nil)
		s.step *= 15
		limits.Default["windowSeconds"] *= 15
		limits.Default["holdSeconds"] *= 15
		other := s.judge(t, limits, nil, nil)
		for d := range report.Devices {
			require.Len(t, other.Devices[d].Intervals, len(report.Devices[d].Intervals))
			for i, interval := range report.Devices[d].Intervals {
				require.Equal(t, interval.Verdict, other.Devices[d].Intervals[i].Verdict, "seed %d", seed)
				require.Equal(t, interval.Reason().Text, other.Devices[d].Intervals[i].Judgement.Reason().Text)
				require.Equal(t, (interval.To-interval.From)*15, other.Devices[d].Intervals[i].To-other.Devices[d].Intervals[i].From)
			}
		}
	}
}

// More absent data never gives more confidence in a verdict. When what spoke for it is gone another one takes its place, which
// may rest on better signs, but never with high confidence that was not there before. One window without history: what was
// before is another matter.
func TestAbsentDataNeverRaisesConfidence(t *testing.T) {
	limits := DefaultLimits()
	limits.Default["stick"] = 0
	fell := 0
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 3))
		s := anyScene(random, 5, false)
		report := s.judge(t, limits, nil, nil)
		var gone []string
		for _, from := range []map[insight.Field][][]float64{s.values, s.work} {
			for _, f := range slices.Concat(Fields(), WorkloadFields()) {
				rows, has := from[f]
				if !has {
					continue
				}
				for i := range rows {
					if rows[i] != nil && random.IntN(12) == 0 {
						rows[i] = nil
						gone = append(gone, fmt.Sprint(f, i))
					}
				}
			}
		}
		other := s.judge(t, limits, nil, nil)
		for d := range report.Devices {
			before, after := report.Devices[d].Now(), other.Devices[d].Now()
			if after.Confidence < before.Confidence {
				fell++
			}
			most := before.Confidence
			if after.Verdict != before.Verdict {
				most = max(most, insight.Medium)
			}
			if !assert.LessOrEqual(t, after.Confidence, most, "seed %d device %d: %v became %v without %v", seed, d, before.Verdict, after.Verdict, gone) {
				return
			}
		}
	}
	assert.Greater(t, fell, 100, "the test must have something to see")
}

func FuzzJudge(f *testing.F) {
	f.Add(uint64(1), uint64(2), []byte{})
	f.Add(uint64(7), uint64(9), binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.NaN())))
	f.Add(uint64(8), uint64(3), binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.Inf(1))))
	f.Fuzz(func(t *testing.T, a, b uint64, raw []byte) {
		random := rand.New(rand.NewPCG(a, b))
		s := anyScene(random, random.IntN(12), true)
		for i := 0; i+8 <= len(raw); i += 8 {
			v := math.Float64frombits(binary.LittleEndian.Uint64(raw[i:]))
			fields := Fields()
			rows := s.values[fields[random.IntN(len(fields))]]
			if len(rows) > 0 && s.steps > 0 {
				if row := rows[random.IntN(len(rows))]; row != nil {
					row[random.IntN(len(row))] = v
				}
			}
		}
		report := s.judge(t, DefaultLimits(), nil, nil)
		if s.steps > 0 {
			sound(t, s, report)
		}
	})
}
