package bottleneck

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// simulated is a fleet of jobs whose work and incidents are known. Work is simulated as what a GPU does, with noise: not as
// values beside limits.
type simulated struct {
	devices   *insight.Devices
	workloads *insight.Workloads
	truth     [][]Verdict // by device and step
	settled   [][]bool    // whether a whole window lies behind the last change
	suspects  []int       // of a waiting job's devices: the device that is waited for, -1
}

const (
	simulatedSteps = 180 // of half a minute
	simulatedGPUs  = 8   // of a job
)

// exporter is how much of a GPU is measured.
type exporter int

const (
	everything exporter = iota
	withoutApp
	defaults
)

// state is what a GPU and its process do in one step.
type state struct {
	v    [columns]float64
	work [workColumns]float64
}

// simulate makes a job for each kind of incident and kind of work.
func simulate(seed uint64, from exporter) *simulated {
	random := rand.New(rand.NewPCG(seed, 77))
	kinds := []Verdict{Idle, Thermal, PowerBrake, PowerLimited, MemoryCapacity, InputBound, Interconnect, WaitingOnRank,
		MemoryBandwidth, Compute, LaunchBound, Mixed, Unknown}
	works := []Verdict{Compute, MemoryBandwidth, Compute, LaunchBound, Mixed, Idle}
	start, step := time.Unix(1_700_000_000, 0), 30*time.Second
	var (
		subjects  []insight.Subject
		processes []insight.Workload
	)
	for j := range kinds {
		for i := range simulatedGPUs {
			job := fmt.Sprint("job-", j)
			subjects = append(subjects, insight.Subject{
				Device: gpu.Device{Identity: gpu.Identity{Node: fmt.Sprint("n", j), UUID: fmt.Sprint("GPU-", j, "-", i)}, Index: i, Model: "NVIDIA H100 80GB HBM3"},
				Owners: []gpu.Owner{{Namespace: "ml", Pod: fmt.Sprint(job, "-", i)}}, Class: insight.Training,
			})
			processes = append(processes, insight.Workload{Namespace: "ml", Pod: fmt.Sprint(job, "-", i), Job: job, Rank: fmt.Sprint(i)})
		}
	}
	end := start.Add(simulatedSteps * step)
	s := &simulated{devices: insight.NewGrid(start, end, step, subjects), workloads: insight.NewGrid(start, end, step, processes)}
	for j, incident := range kinds {
		work := works[random.IntN(len(works))]
		begin, until := 40+random.IntN(30), 110+random.IntN(40)
		slow := random.IntN(simulatedGPUs)
		worker, sufferer := newWorker(random, work), newWorker(random, incident) // GPUs of one job do the same
		one := incident == Thermal && random.IntN(2) == 0                        // heat on one GPU alone, of independent work
		for i := range simulatedGPUs {
			d := j*simulatedGPUs + i
			truth, settled := make([]Verdict, simulatedSteps), make([]bool, simulatedSteps)
			states := make([]state, simulatedSteps)
			for t := range truth {
				in := t >= begin && t < until && (!one || i == slow)
				truth[t] = work
				w := worker
				if in {
					truth[t], w = incident, sufferer
				}
				states[t] = w.at(t, incident == WaitingOnRank && i == slow && in)
				if incident == WaitingOnRank && i == slow && in {
					truth[t] = Thermal
				}
				changed := []int{begin, until}
				settled[t] = !slices.ContainsFunc(changed, func(c int) bool { return t >= c-1 && t < c+14 })
			}
			s.truth, s.settled = append(s.truth, truth), append(s.settled, settled)
			suspect := -1
			if incident == WaitingOnRank {
				suspect = j*simulatedGPUs + slow
			}
			s.suspects = append(s.suspects, suspect)
			s.put(d, states, from)
		}
	}
	return s
}

// put writes what the exporter would measure.
func (s *simulated) put(d int, states []state, from exporter) {
	for c, source := range sources() {
		byDefault := []column{utilization, graphicsActive, tensorActive, dramActive, smClock, memUsed, memFree, pcieReceive, pcieTransmit, power}
		if from == defaults && !slices.Contains(byDefault, column(c)) {
			continue
		}
		row := make([]float64, len(states))
		for t := range states {
			row[t] = states[t].v[c]
		}
		if !math.IsNaN(slices.Max(row)) || slices.ContainsFunc(row, func(v float64) bool { return !math.IsNaN(v) }) {
			s.devices.Set(source.field, d, row)
		}
	}
	if from != everything {
		return
	}
	for c, source := range workSources() {
		row := make([]float64, len(states))
		for t := range states {
			row[t] = states[t].work[c]
		}
		s.workloads.Set(source.field, d, row)
	}
}

// worker is one GPU that does one kind of work, the same all the time but for noise.
type worker struct {
	random   *rand.Rand
	kind     Verdict
	base     state
	strength float64 // 0 to 1: how bad an incident is
	variant  bool
	lost     bool
}

func newWorker(random *rand.Rand, kind Verdict) *worker {
	between := func(low, high float64) float64 { return low + (high-low)*random.Float64() }
	w := &worker{random: random, kind: kind, strength: random.Float64(), variant: random.IntN(2) == 0}
	b := &w.base
	for c := range b.v {
		b.v[c] = math.NaN()
	}
	v := &b.v
	// Compute, which other kinds depart from.
	v[smActive], v[tensorActive], v[dramActive] = between(0.81, 0.97), between(0.3, 0.75), between(0.2, 0.48)
	v[graphicsActive], v[utilization], v[occupancy] = 0.98, 0.99, between(0.35, 0.6)
	v[smClock], v[smClockMax], v[power], v[powerLimit] = between(1.88e9, 1.98e9), 1.98e9, between(560, 690), 700
	v[reasons], v[thermalSeconds], v[capSeconds], v[brakeSeconds] = 0, 0, between(0, 1), 0
	v[memUsed] = between(20e9, 70e9)
	v[memFree] = 84e9 - v[memUsed]
	v[pcieReceive], v[pcieTransmit] = between(0.5e9, 4e9), between(0.2e9, 2e9)
	v[nvlinkReceive], v[nvlinkTransmit] = between(20e9, 80e9), between(20e9, 80e9)
	step := between(0.5, 4)
	b.work = [workColumns]float64{stepSeconds: step, dataSeconds: step * between(0.002, 0.05), commSeconds: step * between(0.03, 0.15), kvCacheUsed: math.NaN(), preemptions: math.NaN()}
	switch kind {
	case Idle:
		v[smActive], v[tensorActive], v[dramActive], v[graphicsActive], v[utilization], v[occupancy] = between(0, 0.02), 0, between(0, 0.01), between(0, 0.03), between(0, 0.03), 0.01
		v[power], v[pcieReceive], v[pcieTransmit], v[reasons], v[capSeconds] = between(70, 120), between(0, 2e8), between(0, 1e8), 1, 0
		v[nvlinkReceive], v[nvlinkTransmit], v[smClock] = 0, 0, 3.45e8
		b.work[stepSeconds], b.work[dataSeconds], b.work[commSeconds] = math.NaN(), math.NaN(), math.NaN()
	case Thermal:
		v[smClock] = 1.98e9 * between(0.55, 0.94)
		v[thermalSeconds] = between(0.2, 1)
	case PowerBrake:
		v[smClock], v[brakeSeconds], v[power] = 1.98e9*between(0.25, 0.5), between(0.3, 1), between(250, 400)
	case PowerLimited:
		v[smClock], v[capSeconds] = 1.98e9*between(0.6, 0.89), between(0.6, 1)
	case MemoryCapacity:
		v[memUsed] = 84e9 * between(0.925, 0.99)
		v[memFree] = 84e9 - v[memUsed]
		b.work[allocRetries] = between(0.02, 0.5)
		v[smActive], v[tensorActive], v[power] = between(0.4, 0.6), between(0.15, 0.35), between(350, 500)
	case InputBound:
		v[smActive], v[tensorActive], v[dramActive] = between(0.08, 0.28), between(0.03, 0.1), between(0.03, 0.12)
		v[graphicsActive], v[utilization], v[power] = between(0.2, 0.5), between(0.25, 0.6), between(150, 280)
		v[pcieReceive] = between(25.5e9, 50e9)
		if w.variant {
			v[pcieReceive] = between(2e9, 8e9)
		}
		b.work[dataSeconds] = step * between(0.16, 0.7)
	case Interconnect:
		v[smActive], v[tensorActive], v[dramActive], v[power] = between(0.75, 0.9), between(0.3, 0.45), between(0.2, 0.3), between(350, 500)
		v[nvlinkReceive], v[nvlinkTransmit] = between(160e9, 280e9), between(160e9, 280e9)
		b.work[commSeconds] = step * between(0.26, 0.6)
	case WaitingOnRank:
		v[smActive], v[tensorActive], v[dramActive] = between(0.3, 0.95), between(0.002, 0.045), between(0.02, 0.1)
		v[graphicsActive], v[utilization], v[power] = 0.995, 1, between(200, 410)
		b.work[commSeconds] = step * between(0.6, 0.85)
	case MemoryBandwidth:
		v[smActive], v[tensorActive], v[dramActive] = between(0.45, 0.9), between(0.05, 0.4), between(0.51, 0.85)
		v[power] = between(380, 560)
	case LaunchBound:
		v[smActive], v[tensorActive], v[dramActive] = between(0.08, 0.29), between(0.02, 0.12), between(0.04, 0.2)
		v[graphicsActive], v[utilization], v[power] = between(0.82, 1), 1, between(150, 240)
		if w.variant {
			v[smActive], v[occupancy], v[power] = between(0.51, 0.74), between(0.05, 0.24), between(250, 400)
		}
	case Mixed:
		v[smActive], v[tensorActive], v[dramActive] = between(0.36, 0.76), between(0.1, 0.45), between(0.15, 0.47)
		v[graphicsActive], v[utilization], v[power] = between(0.6, 0.95), between(0.7, 1), between(300, 450)
	case Unknown:
		w.lost = w.variant
	}
	return w
}

// at is a step of the work. hot makes it the rank that all others wait for: its clock is down, and it never waits.
func (w *worker) at(t int, hot bool) state {
	s := w.base
	v := &s.v
	noise := func(c column, share float64) { v[c] *= 1 + share*w.random.NormFloat64() }
	switch {
	case w.kind == Unknown && !w.lost: // the exporter does not answer
		for c := range v {
			v[c] = math.NaN()
		}
		return s
	case w.kind == Unknown: // it answers, without profiling
		v[graphicsActive], v[smActive], v[tensorActive], v[dramActive], v[occupancy] = 0, 0, 0, 0, 0
		return s
	case hot:
		v[smActive], v[tensorActive], v[dramActive], v[power] = 0.9, 0.4, 0.3, 600
		v[smClock], v[reasons], v[thermalSeconds] = 1.98e9*(0.5+0.3*w.strength), 0x40, 0.9
		s.work[commSeconds] = s.work[stepSeconds] * 0.03
		return s
	}
	chance := w.random.Float64()
	switch w.kind {
	case Thermal:
		if chance < 0.4+0.6*w.strength {
			v[reasons] = []float64{0x20, 0x40, 0x48}[w.random.IntN(3)]
		}
	case PowerBrake:
		if chance < 0.5+0.5*w.strength {
			v[reasons] = 0x88
		}
	case PowerLimited:
		if chance < 0.9 {
			v[reasons] = 4
		}
	case Interconnect:
		if t%4 < 2 { // all GPUs of the job at once
			v[smActive], v[tensorActive] = 0.12, 0.03
		}
	case MemoryCapacity:
		if w.random.IntN(3) == 0 {
			v[smActive], v[tensorActive] = v[smActive]*0.2, v[tensorActive]*0.2
		}
	case Compute, Mixed, MemoryBandwidth:
		if chance < 0.5 {
			v[reasons] = 4 // the cap, without loss of clock
		}
	}
	for _, c := range [...]column{smActive, tensorActive, dramActive, occupancy, power, pcieReceive, pcieTransmit, nvlinkReceive, nvlinkTransmit} {
		noise(c, 0.1)
		v[c] = max(v[c], 0)
	}
	v[smActive], v[tensorActive] = min(v[smActive], 1), min(v[tensorActive], 1)
	noise(smClock, 0.01)
	v[smClock] = min(v[smClock], v[smClockMax])
	if w.random.IntN(50) == 0 { // a scrape that failed, or a sentinel
		v[smActive], v[tensorActive] = []float64{math.NaN(), 2147483632}[w.random.IntN(2)], math.NaN()
	}
	return s
}

// tally counts what was said against what is true, by verdict and step.
type tally struct{ right, said, is [Verdicts]float64 }

func (c *tally) add(s *simulated, report *Report) {
	for d := range report.Devices {
		for t, truth := range s.truth[d] {
			if !s.settled[d][t] {
				continue
			}
			got, _ := report.Devices[d].At(s.devices.Times[t])
			c.said[got.Verdict]++
			c.is[truth]++
			if got.Verdict == truth {
				c.right[truth]++
			}
		}
	}
}

func (c *tally) precision(v Verdict) float64 { return c.right[v] / max(c.said[v], 1) }
func (c *tally) recall(v Verdict) float64    { return c.right[v] / max(c.is[v], 1) }

func judged(t testing.TB, seed uint64, from exporter) (*simulated, *Report) {
	s := simulate(seed, from)
	report, err := Judge(s.devices, s.workloads, DefaultLimits())
	require.NoError(t, err)
	return s, report
}

func TestIncidentsAreFound(t *testing.T) {
	var c tally
	suspected, wrongly := 0, 0
	for seed := range uint64(12) {
		s, report := judged(t, seed, everything)
		c.add(s, report)
		for d := range report.Devices {
			for _, i := range report.Devices[d].Intervals {
				if i.Verdict == WaitingOnRank {
					suspected++
					if i.SuspectDevice != s.suspects[d] {
						wrongly++
						t.Logf("seed %d: %s waits for %s", seed, s.devices.Subjects[d].Name(), i.suspect)
					}
				}
			}
		}
	}
	assert.Positive(t, suspected)
	assert.LessOrEqual(t, wrongly, suspected/50, "wrong suspects of %d", suspected)
	for v := range Verdict(Verdicts) {
		t.Logf("%-17v precision %.3f recall %.3f of %.0f steps", v, c.precision(v), c.recall(v), c.is[v])
		assert.Positive(t, c.is[v], "%v is simulated", v)
		assert.GreaterOrEqual(t, c.precision(v), 0.95, "precision of %v", v)
		assert.GreaterOrEqual(t, c.recall(v), 0.95, "recall of %v", v)
	}
}

func TestWithDefaultFieldsNothingIsSure(t *testing.T) {
	for seed := range uint64(6) {
		_, report := judged(t, seed, defaults)
		for d := range report.Devices {
			for _, i := range report.Devices[d].Intervals {
				require.LessOrEqual(t, i.Confidence, insight.Low)
				if i.Verdict != Unknown {
					require.Contains(t, i.Missing(), "gpu_sm_active_ratio")
				}
			}
		}
	}
}

// BenchmarkIncidents reports precision and recall of each verdict on seeds that nothing was tuned on, and the share that is
// wrong by the worse of both.
func BenchmarkIncidents(b *testing.B) {
	const firstSeed, seeds = 1000, 12
	for _, from := range []exporter{everything, withoutApp} {
		var c tally
		for seed := range uint64(seeds) {
			s, report := judged(b, firstSeed+seed, from)
			c.add(s, report)
		}
		for v := range Verdict(Verdicts) {
			name := v.String()
			if from == withoutApp {
				name += "-without-app"
			}
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					_ = c.precision(v)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(c.precision(v), "precision")
				b.ReportMetric(c.recall(v), "recall")
				b.ReportMetric(1-min(c.precision(v), c.recall(v)), "wrong-share")
			})
		}
	}
}
